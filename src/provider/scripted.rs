//! A respondent whose pull is known: it tries the whole way of a sample at no cost, and checks the scores.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Instant;

use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};

use super::{Answer, InProcessCall, ProviderError, Respondent};
use crate::domain::{Conversation, ErrorClass, Finish, Positive, Reply, Tier};

/// What the script knows of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Tier of the item.
    pub tier: Tier,
    /// Its reference.
    pub reference: Positive,
    /// The anchor shown, if one is.
    pub anchor: Option<Positive>,
}

/// Answers reference^(1−w) · anchor^w with a pull w for each tier, and the reference where no anchor is shown.
///
/// With noise s the answer is multiplied by e^(s·z), where z is a standard normal number drawn from the seed of the call.
#[derive(Debug)]
pub struct Scripted {
    pull: [f64; 3],
    noise: f64,
    facts: HashMap<Conversation, Facts>,
}

/// A script that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "the script `{0}` is not of the form pull=0.5, known=0,fuzzy=0.3,fermi=0.8 or pull=0.5,noise=0.2"
)]
pub struct ScriptedError(String);

impl Scripted {
    /// Reads a script such as `pull=0.5` or `known=0,fuzzy=0.3,fermi=0.8`.
    ///
    /// # Errors
    /// Another form.
    pub fn new(script: &str, facts: HashMap<Conversation, Facts>) -> Result<Self, ScriptedError> {
        let error = || ScriptedError(script.to_owned());
        let mut pull = [0.0; 3];
        let mut noise = 0.0;
        for part in script.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(error)?;
            let value: f64 = value.trim().parse().map_err(|_| error())?;
            if !value.is_finite() {
                return Err(error());
            }
            match name.trim() {
                "pull" => pull = [value; 3],
                "noise" => noise = value,
                tier => {
                    let tier: Tier = tier.parse().map_err(|_| error())?;
                    pull[tier as usize] = value;
                }
            }
        }
        Ok(Self { pull, noise, facts })
    }

    fn estimate(&self, facts: &Facts) -> f64 {
        let reference = facts.reference.get();
        match facts.anchor {
            None => reference,
            Some(anchor) => {
                let w = self.pull[facts.tier as usize];
                reference.powf(1.0 - w) * anchor.get().powf(w)
            }
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
        let facts = self.facts.get(call.conversation).ok_or_else(|| {
            ProviderError::local(
                ErrorClass::Engine,
                "the script does not know this conversation",
            )
        })?;
        Ok(Reply {
            text: format!(
                "ESTIMATE: {}",
                self.estimate(facts) * self.wobble(call.sampling.seed.unwrap_or(0))
            ),
            finish: Some(Finish::Stop),
            ..Reply::default()
        })
    }
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
