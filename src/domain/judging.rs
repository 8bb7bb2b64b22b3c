//! What a judge is shown beside a text, by what standard it judges, and what it says.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::NoValue;

/// Scores that a judge can give.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// The lowest.
    pub from: f64,
    /// The highest, above the lowest.
    pub to: f64,
}

impl Scale {
    /// The nearest score on the scale.
    #[must_use]
    pub fn clip(self, score: f64) -> f64 {
        score.clamp(self.from, self.to)
    }

    /// The length of the scale.
    #[must_use]
    pub fn length(self) -> f64 {
        self.to - self.from
    }
}

/// What a verdict is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standard {
    /// A number on a scale.
    Score {
        /// The scale.
        scale: Scale,
        /// The lowest score that accepts the text.
        threshold: f64,
    },
    /// One of these labels.
    Label(Arc<[Arc<str>]>),
}

/// How earlier scores were chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// Uniformly between two numbers, with two decimals, anew for each trial.
    Drawn([f64; 2]),
    /// These values in turn.
    Fixed(Vec<f64>),
    /// A label in place of a score.
    Label,
}

impl std::fmt::Display for Design {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Drawn([from, to]) => write!(f, "{from} to {to}"),
            Self::Fixed(values) => {
                let values: Vec<String> = values.iter().map(ToString::to_string).collect();
                f.write_str(&values.join(", "))
            }
            Self::Label => f.write_str("label"),
        }
    }
}

/// What a call to a judge is about, beyond item and condition; part of its stored line, so that scores need no other file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judging {
    /// Kind of text.
    pub category: Arc<str>,
    /// What the judge is told against prior scores: `none`, `steps`, `warning`, or a name of a task of one's own.
    pub strategy: Arc<str>,
    /// How earlier scores were chosen.
    pub design: Design,
    /// By what a verdict is judged in turn.
    pub standard: Standard,
    /// Number of the attempt that was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Earlier label that belongs to this trial, shown or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior: Option<Arc<str>>,
    /// Whether the earlier label is one that was really given, and wrong (group A); else it was drawn from the wrong ones
    /// for a text that was labelled rightly (group B).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub earlier_error: bool,
    /// The right label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truth: Option<Arc<str>>,
    /// Hash over the prompts of the text under all conditions, with the same numbers each time: the wording. Not known of
    /// calls that were made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wording: Option<Arc<str>>,
    /// Of calls that were made elsewhere the run they belong to: trials of two runs are different trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Arc<str>>,
}

/// Natural logarithms of the probabilities of the digits 0 to 9 where a score begins; null of those that were not told.
pub type Digits = [Option<f64>; 10];

/// What a judge says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The score as given, before it is clipped to the scale, or the label; or why there is neither.
    pub given: Result<Given, NoValue>,
    /// Whether the judge says that it accepts.
    pub accept: Option<bool>,
}

/// A verdict that can be used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Given {
    /// A finite number.
    Score(f64),
    /// The place of a label in the set.
    Label(usize),
}
