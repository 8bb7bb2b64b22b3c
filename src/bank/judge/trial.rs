//! Which numbers stand beside a text in each trial: drawn from a seed, so that they are known before anything is asked.

use std::sync::Arc;

use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};

use super::{Judged, Matter, Rubric};
use crate::domain::Design;

/// How the trials of a task are drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Trials {
    /// How earlier verdicts are chosen.
    pub anchors: Anchors,
    /// Numbers of attempts to choose from.
    pub attempts: Vec<u32>,
    /// Seed of the draws.
    pub seed: u32,
    /// What the judge is told against earlier verdicts; `none` is what others are compared with.
    pub strategy: Arc<str>,
}

/// How earlier verdicts are chosen.
#[derive(Debug, Clone, PartialEq)]
pub enum Anchors {
    /// Scores from the lowest up to, and never at, the threshold.
    BelowThreshold,
    /// Scores anywhere on the scale.
    WholeScale,
    /// These scores in turn.
    Values(Vec<f64>),
    /// A wrong label: the one that was really given, or one that is drawn once for each message.
    Label,
}

/// What a block beside a text says.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Number of the attempt.
    pub attempt: u32,
    /// The earlier verdict.
    pub prior: Prior,
}

/// An earlier verdict.
#[derive(Debug, Clone, PartialEq)]
pub enum Prior {
    /// A score.
    Score {
        /// As it stands in the prompt: two decimals.
        text: String,
        /// The same as a number.
        value: f64,
    },
    /// A label.
    Label(Arc<str>),
}

impl Prior {
    fn score(value: f64) -> Self {
        let text = format!("{value:.2}");
        Self::Score {
            value: text.parse().unwrap_or(value),
            text,
        }
    }
}

/// The smallest step between two scores that are shown.
const STEP: f64 = 0.01;

impl Trials {
    /// How earlier verdicts are chosen by a rubric.
    #[must_use]
    pub fn design(&self, rubric: &Rubric) -> Design {
        let scale = rubric.scale;
        match &self.anchors {
            Anchors::BelowThreshold => {
                let below = ((rubric.threshold - STEP) * 100.0).round() / 100.0;
                Design::Drawn([scale.from, below])
            }
            Anchors::WholeScale => Design::Drawn([scale.from, scale.to]),
            Anchors::Values(values) => Design::Fixed(values.clone()),
            Anchors::Label => Design::Label,
        }
    }

    /// How many trials of a condition that shows a verdict go with one of the others.
    #[must_use]
    pub fn for_one(&self) -> u32 {
        match &self.anchors {
            Anchors::Values(values) => u32::try_from(values.len()).unwrap_or(u32::MAX),
            _ => 1,
        }
    }

    /// The numbers of a trial, from 1. Each matter has a stream of its own, so that they depend on nothing else that is
    /// asked.
    #[must_use]
    pub fn trial(&self, judged: &Judged, trial: u32) -> Trial {
        let mut rng = self.stream(judged, trial);
        let attempt = match self.attempts.as_slice() {
            [] => 1,
            some => some[rng.random_range(0..some.len())],
        };
        let between = |rng: &mut ChaCha12Rng, [from, to]: [f64; 2]| {
            Prior::score(from + rng.random::<f64>() * (to - from))
        };
        let prior = match (&*judged.matter, self.design(&judged.rubric)) {
            (Matter::Message(message), _) => {
                let wrong: Vec<&Arc<str>> = judged
                    .rubric
                    .labelling
                    .labels
                    .iter()
                    .map(|(name, _)| name)
                    .filter(|name| **name != message.truth)
                    .collect();
                let given = message.prior.as_ref();
                let label = given
                    .filter(|prior| **prior != message.truth)
                    .unwrap_or_else(|| {
                        // The same in all trials and for all strategies.
                        wrong[self.stream(judged, 0).random_range(0..wrong.len())]
                    });
                Prior::Label(Arc::clone(label))
            }
            (Matter::Text(_), Design::Drawn(ends)) => between(&mut rng, ends),
            (Matter::Text(_), Design::Fixed(values)) => {
                let place = trial.saturating_sub(1) as usize % values.len().max(1);
                Prior::score(values.get(place).copied().unwrap_or_default())
            }
            (Matter::Text(_), Design::Label) => Prior::score(judged.rubric.scale.from),
        };
        Trial { attempt, prior }
    }

    fn stream(&self, judged: &Judged, trial: u32) -> ChaCha12Rng {
        let words = serde_json::json!([self.seed, judged.id(), trial]);
        let hash = blake3::hash(words.to_string().as_bytes());
        ChaCha12Rng::from_seed(*hash.as_bytes())
    }

    /// A trial whose numbers are the same for every text: what wordings are compared by.
    #[must_use]
    pub fn stand_in(&self, judged: &Judged) -> Trial {
        let prior = match &*judged.matter {
            Matter::Text(_) => Prior::score(judged.rubric.scale.from),
            Matter::Message(message) => Prior::Label(Arc::clone(&message.truth)),
        };
        Trial { attempt: 1, prior }
    }
}
