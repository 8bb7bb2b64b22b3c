//! Given answers, and how probable a model finds them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Field;

/// How the log-probability of an answer is taken from those of tokens.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ScoringMode {
    /// Prompt and answer are tokenized as one text, and the tokens after those of the prompt are summed.
    #[default]
    Exact,
    /// As the code of "Anchors in the Machine" does: the answer is tokenized by itself, and its ids are looked up at the last
    /// places of the whole text. No log-probability of the answer in the strict sense.
    Paper,
}

/// The answers that a model is to weigh, in order, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scoring {
    /// How tokens are counted.
    pub mode: ScoringMode,
    /// The answers, each after the prompt and one blank.
    pub targets: Arc<[Arc<str>]>,
}

/// What a model makes of given answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scored {
    /// What was asked.
    #[serde(flatten)]
    pub scoring: Scoring,
    /// Natural logarithm of the probability of each answer, in the order of the answers; null where there is none.
    pub log_probabilities: Vec<Option<f64>>,
    /// Answers whose first token begins within the prompt: theirs is the probability from that token on.
    #[serde(default)]
    pub merged: usize,
    /// Of scores that were made elsewhere, what each field adds to each answer (Banzhaf values, nats).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banzhaf: Option<BTreeMap<Field, Vec<Option<f64>>>>,
}
