//! Which sample is meant, and when two samples are the same.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Condition, Conversation, ItemId, Scoring, TaskName};

/// Sampling and limits as asked for. `None` is not sent: the provider's default holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// Softmax temperature, 0 or above.
    pub temperature: Option<f64>,
    /// Nucleus mass, above 0 and up to 1.
    pub top_p: Option<f64>,
    /// Seed sent, or used by the in-process engine.
    pub seed: Option<u32>,
    /// Limit of generated tokens, reasoning included.
    pub max_output_tokens: Option<u32>,
    /// Reasoning effort in the provider's word.
    pub reasoning_effort: Option<String>,
    /// Further fields of the request body, added as they are. Absent in hashes and lines of samples without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_body: Option<serde_json::Value>,
}

/// A setting that a server may refuse.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::Display,
    strum::EnumString,
    strum::EnumIter,
)]
#[strum(serialize_all = "snake_case")]
pub enum Parameter {
    /// [`Sampling::temperature`].
    Temperature,
    /// [`Sampling::top_p`].
    TopP,
    /// [`Sampling::seed`].
    Seed,
    /// [`Sampling::max_output_tokens`].
    MaxOutputTokens,
    /// [`Sampling::reasoning_effort`].
    ReasoningEffort,
}

impl Sampling {
    /// Whether the parameter is asked for.
    #[must_use]
    pub fn has(&self, parameter: Parameter) -> bool {
        match parameter {
            Parameter::Temperature => self.temperature.is_some(),
            Parameter::TopP => self.top_p.is_some(),
            Parameter::Seed => self.seed.is_some(),
            Parameter::MaxOutputTokens => self.max_output_tokens.is_some(),
            Parameter::ReasoningEffort => self.reasoning_effort.is_some(),
        }
    }

    /// These settings with some left out.
    #[must_use]
    pub fn without<'a>(&self, dropped: impl IntoIterator<Item = &'a Parameter>) -> Self {
        let mut left = self.clone();
        for parameter in dropped {
            match parameter {
                Parameter::Temperature => left.temperature = None,
                Parameter::TopP => left.top_p = None,
                Parameter::Seed => left.seed = None,
                Parameter::MaxOutputTokens => left.max_output_tokens = None,
                Parameter::ReasoningEffort => left.reasoning_effort = None,
            }
        }
        left
    }
}

/// The place of a sample in a cell: item, condition and epoch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The task that asks.
    pub task: TaskName,
    /// The question asked.
    pub item: ItemId,
    /// The anchor beside it.
    pub condition: Condition,
    /// Which repetition, from 1.
    pub epoch: u32,
}

/// Identity of a sample: a hash of what is sent and the epoch.
///
/// A changed wording, temperature or limit is another sample; an unchanged one has been paid for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SampleKey(Arc<str>);

impl SampleKey {
    /// Hashes what is sent.
    ///
    /// `conversation` is the whole conversation with stand-ins for replies that are not known yet.
    #[must_use]
    pub fn new(
        model_id: &str,
        sampling: &Sampling,
        conversation: &Conversation,
        epoch: u32,
    ) -> Self {
        KeyBase::new(model_id, sampling, conversation).key(epoch)
    }

    /// 32 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What the keys of all epochs of a prompt share, hashed once.
#[derive(Debug, Clone)]
pub struct KeyBase(blake3::Hasher);

impl KeyBase {
    /// Hashes what is sent; see [`SampleKey::new`].
    #[must_use]
    pub fn new(model_id: &str, sampling: &Sampling, conversation: &Conversation) -> Self {
        Self::of(&serde_json::json!([model_id, sampling, conversation]))
    }

    fn of(sent: &serde_json::Value) -> Self {
        let sent = sent.to_string();
        let mut hasher = blake3::Hasher::new();
        // The list stays open for the epoch.
        hasher.update(&sent.as_bytes()[..sent.len() - 1]);
        Self(hasher)
    }

    /// The same of answers that are to be scored after the conversation.
    #[must_use]
    pub fn scoring(
        model_id: &str,
        sampling: &Sampling,
        conversation: &Conversation,
        scoring: &Scoring,
    ) -> Self {
        Self::of(&serde_json::json!([
            model_id,
            sampling,
            conversation,
            scoring
        ]))
    }

    /// The key of an epoch.
    #[must_use]
    pub fn key(&self, epoch: u32) -> SampleKey {
        let mut hasher = self.0.clone();
        hasher.update(format!(",{epoch}]").as_bytes());
        SampleKey(hasher.finalize().to_hex()[..32].into())
    }
}

impl fmt::Display for SampleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Role;

    #[test]
    fn a_changed_wording_setting_or_epoch_is_another_sample() {
        let mut conversation = Conversation::default();
        conversation.say(Role::User, "How high?");
        let plain = Sampling::default();
        let warm = Sampling {
            temperature: Some(1.0),
            ..Sampling::default()
        };
        let mut reworded = conversation.clone();
        reworded.0[0].content.push(' ');
        let key = SampleKey::new("m", &plain, &conversation, 1);
        assert_eq!(key, SampleKey::new("m", &plain, &conversation, 1));
        let whole = serde_json::json!(["m", plain, conversation, 1]).to_string();
        assert!(
            blake3::hash(whole.as_bytes())
                .to_hex()
                .starts_with(key.as_str())
        );
        for other in [
            SampleKey::new("n", &plain, &conversation, 1),
            SampleKey::new("m", &warm, &conversation, 1),
            SampleKey::new("m", &plain, &reworded, 1),
            SampleKey::new("m", &plain, &conversation, 2),
        ] {
            assert_ne!(key, other);
        }
    }
}
