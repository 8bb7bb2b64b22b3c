//! A respondent whose pull is known: it tries the whole way of a sample at no cost, and checks the scores.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};
use strum::IntoEnumIterator;

use super::{Answer, InProcessCall, ProviderError, Respondent};
use crate::domain::{
    Conversation, ErrorClass, Finish, Positive, Relevance, Reply, Role, Scored, Scoring, Tier,
};

/// What the script knows of a conversation.
#[derive(Debug, Clone)]
pub enum Facts {
    /// A question.
    Question {
        /// Its tier.
        tier: Tier,
        /// Its reference.
        reference: Positive,
        /// The anchor shown, if one is.
        anchor: Option<Positive>,
    },
    /// A case, asked for the estimate.
    Case {
        /// What its evidence comes to.
        gold: f64,
        /// What the anchor is worth, if there is one.
        relevance: Option<Relevance>,
        /// The anchor; `None` if it is the number in the reply before.
        anchor: Option<f64>,
    },
    /// A share of a hundred.
    Share {
        /// The anchor shown, if one is.
        anchor: Option<f64>,
    },
    /// A text to be scored.
    Text {
        /// The script's own score.
        own: f64,
        /// The lowest score that accepts.
        threshold: f64,
        /// The earlier score, if one is shown.
        prior: Option<f64>,
        /// Whether a block of any kind stands beside the text.
        block: bool,
    },
    /// A message to be labelled.
    Message {
        /// The script's own label.
        own: Arc<str>,
        /// The earlier label, if one is shown.
        prior: Option<Arc<str>>,
        /// The label follows the earlier one if the script does so in more than this share of messages.
        resolve: f64,
    },
    /// An earlier turn, asked for a number.
    Number(f64),
    /// An earlier turn, asked for words.
    Words,
}

/// Answers reference^(1−w) · anchor^w with a pull w for each tier, and the reference where no anchor is shown; a case with
/// gold + w · (anchor − gold), with a pull for each relevance; a text to be judged with its own score + w · (earlier score −
/// own score), less a penalty where any block stands beside it; a message with the earlier label in a share of messages.
///
/// With noise s the answer is multiplied by e^(s·z), where z is a standard normal number drawn from the seed of the call.
#[derive(Debug)]
pub struct Scripted {
    pull: [f64; 3],
    case_pull: HashMap<Relevance, f64>,
    penalty: f64,
    follow: f64,
    noise: f64,
    facts: HashMap<Conversation, Facts>,
}

/// A script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "the script `{0}` is not of the form pull=0.5, known=0,fuzzy=0.3,fermi=0.8, pull=0.5,noise=0.2, irrelevant=0.1,plausible=0.4, or for judges pull=0.3,penalty=0.5,follow=0.4"
)]
pub struct ScriptedError(String);

impl Scripted {
    /// Reads a script such as `pull=0.5` or `known=0,fuzzy=0.3,fermi=0.8`.
    ///
    /// # Errors
    /// Another form.
    pub fn new(
        script: &str,
        facts: impl IntoIterator<Item = (Conversation, Facts)>,
    ) -> Result<Self, ScriptedError> {
        let error = || ScriptedError(script.to_owned());
        let mut pull = [0.0; 3];
        let mut case_pull = HashMap::new();
        let (mut noise, mut penalty, mut follow) = (0.0, 0.0, 0.0);
        for part in script.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(error)?;
            let value: f64 = value.trim().parse().map_err(|_| error())?;
            if !value.is_finite() {
                return Err(error());
            }
            match name.trim() {
                "pull" => {
                    pull = [value; 3];
                    case_pull = Relevance::iter()
                        .map(|relevance| (relevance, value))
                        .collect();
                }
                "noise" => noise = value,
                "penalty" => penalty = value,
                "follow" => follow = value,
                name => match (name.parse::<Tier>(), name.parse::<Relevance>()) {
                    (Ok(tier), _) => pull[tier as usize] = value,
                    (_, Ok(relevance)) => drop(case_pull.insert(relevance, value)),
                    _ => return Err(error()),
                },
            }
        }
        let facts = facts.into_iter();
        Ok(Self {
            pull,
            case_pull,
            penalty,
            follow,
            noise,
            facts: facts.map(|(said, facts)| (asked(&said), facts)).collect(),
        })
    }

    /// The answer to a conversation; `None` where words are asked for.
    fn estimate(&self, facts: &Facts, conversation: &Conversation) -> Option<f64> {
        match *facts {
            Facts::Question {
                reference,
                anchor: None,
                ..
            } => Some(reference.get()),
            Facts::Question {
                tier,
                reference,
                anchor: Some(anchor),
            } => {
                let w = self.pull[tier as usize];
                Some(reference.get().powf(1.0 - w) * anchor.get().powf(w))
            }
            Facts::Case {
                gold,
                relevance,
                anchor,
            } => {
                let w = relevance.and_then(|relevance| self.case_pull.get(&relevance));
                let anchor = anchor.or_else(|| number_before(conversation));
                Some(gold + w.unwrap_or(&0.0) * (anchor.unwrap_or(gold) - gold))
            }
            Facts::Share { anchor } => {
                let anchor = anchor.unwrap_or(SHARE);
                Some(SHARE + self.pull[0] * (anchor - SHARE))
            }
            Facts::Text {
                own, prior, block, ..
            } => {
                let pulled = own + self.pull[0] * (prior.unwrap_or(own) - own);
                Some(pulled - if block { self.penalty } else { 0.0 })
            }
            Facts::Number(value) => Some(value),
            Facts::Message { .. } | Facts::Words => None,
        }
    }

    /// The factor that noise puts on an answer.
    fn wobble(&self, seed: u32) -> f64 {
        let mut rng = ChaCha12Rng::seed_from_u64(u64::from(seed));
        // Box & Muller (1958), Ann. Math. Stat. 29, 610–611.
        let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
        let angle = std::f64::consts::TAU * rng.random::<f64>();
        (self.noise * radius * angle.cos()).exp()
    }

    fn answer_one(&self, call: &InProcessCall<'_>) -> Result<Reply, ProviderError> {
        let facts = self.facts.get(&asked(call.conversation)).ok_or_else(|| {
            ProviderError::local(
                ErrorClass::Engine,
                "the script does not know this conversation",
            )
        })?;
        let wobble = || self.wobble(call.sampling.seed.unwrap_or(0));
        if let Some(scoring) = call.scoring {
            if let Facts::Message {
                own,
                prior,
                resolve,
            } = facts
            {
                let followed = prior.as_ref().filter(|_| *resolve < self.follow);
                return Ok(Reply {
                    scored: Some(chosen(scoring, followed.unwrap_or(own))),
                    ..Reply::default()
                });
            }
            let estimate = self.estimate(facts, call.conversation);
            let spread = match facts {
                Facts::Share { .. } => Spread::Points(10.0),
                Facts::Text { .. } => Spread::Points(0.5),
                _ => Spread::Logarithm,
            };
            return Ok(Reply {
                scored: Some(weighed(scoring, estimate.unwrap_or(SHARE), spread)),
                ..Reply::default()
            });
        }
        let text = match (facts, self.estimate(facts, call.conversation)) {
            (Facts::Text { threshold, .. }, Some(value)) => {
                let score = value * wobble();
                let accept = score >= *threshold;
                serde_json::json!({"score": score, "accept": accept, "rationale": "by a script", "flags": []}).to_string()
            }
            (
                Facts::Message {
                    own,
                    prior,
                    resolve,
                },
                _,
            ) => {
                let followed = prior.as_ref().filter(|_| *resolve < self.follow);
                let label = followed.unwrap_or(own);
                serde_json::json!({"label": label, "rationale": "by a script"}).to_string()
            }
            (_, None) => "The ratings, and who gave them.".to_owned(),
            (Facts::Question { .. }, Some(value)) => format!("ESTIMATE: {}", value * wobble()),
            (_, Some(value)) => (value * wobble()).clamp(0.0, 100.0).to_string(),
        };
        // A reply goes on where its given start ends.
        let start = call.conversation.prefill().unwrap_or_default();
        let text = text.strip_prefix(start).map_or(text.clone(), str::to_owned);
        Ok(Reply {
            text,
            finish: Some(Finish::Stop),
            ..Reply::default()
        })
    }
}

/// The answer of the script to a share of a hundred, without an anchor.
const SHARE: f64 = 40.0;

/// Share of probability that the script gives to all given answers together.
const HELD: f64 = 0.5;

/// How widely the script spreads its probability.
#[derive(Debug, Clone, Copy)]
enum Spread {
    /// So many points.
    Points(f64),
    /// Half a unit on the scale of natural logarithms.
    Logarithm,
}

/// Normal densities around an estimate.
fn weighed(scoring: &Scoring, estimate: f64, spread: Spread) -> Scored {
    let density = |target: &Arc<str>| -> Option<f64> {
        let value: f64 = target.trim().trim_end_matches('%').parse().ok()?;
        let distance = match spread {
            Spread::Points(points) => (value - estimate) / points,
            Spread::Logarithm => (value / estimate).ln() / 0.5,
        };
        Some(-distance * distance / 2.0)
    };
    let densities: Vec<Option<f64>> = scoring.targets.iter().map(density).collect();
    let sum: f64 = densities
        .iter()
        .flatten()
        .map(|density| density.exp())
        .sum();
    let scale = (HELD / sum).ln();
    Scored {
        scoring: scoring.clone(),
        log_probabilities: densities
            .into_iter()
            .map(|density| density.map(|density| density + scale))
            .collect(),
        merged: 0,
        banzhaf: None,
    }
}

/// Most of what is held on one answer, the rest shared out.
fn chosen(scoring: &Scoring, label: &str) -> Scored {
    let share = |target: &Arc<str>| {
        let is_it = target.trim().trim_matches('"') == label;
        Some((HELD * if is_it { 0.9_f64 } else { 0.05 }).ln())
    };
    Scored {
        scoring: scoring.clone(),
        log_probabilities: scoring.targets.iter().map(share).collect(),
        merged: 0,
        banzhaf: None,
    }
}

/// What was asked, without what the model said on the way.
fn asked(conversation: &Conversation) -> Conversation {
    let messages = conversation.0.iter();
    let asked =
        messages.filter(|message| message.role != Role::Assistant || message.call.is_some());
    Conversation(asked.cloned().collect())
}

/// The number that the model gave last.
fn number_before(conversation: &Conversation) -> Option<f64> {
    let mut said = conversation.0.iter().rev();
    let last = said.find(|message| message.role == Role::Assistant && message.call.is_none())?;
    last.content.split_whitespace().next_back()?.parse().ok()
}

impl Respondent for Scripted {
    fn answer(
        &self,
        calls: &[InProcessCall<'_>],
        deliver: &mut (dyn FnMut(Answer) -> ControlFlow<()> + Send),
    ) {
        for (place, call) in calls.iter().enumerate() {
            let answer = Answer {
                call: place,
                started: Instant::now(),
                reply: self.answer_one(call),
            };
            if deliver(answer).is_break() {
                break;
            }
        }
    }

    fn workers(&self) -> usize {
        4
    }
}
