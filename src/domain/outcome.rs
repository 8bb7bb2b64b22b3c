//! What a reply says, or why it says nothing that can be scored.

use serde::{Deserialize, Serialize};

/// The answer to "more or less than the anchor?".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Comparison {
    /// The quantity is said to be above the anchor.
    More,
    /// The quantity is said to be below the anchor.
    Less,
}

/// Why a visible reply holds no estimate.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum NoValue {
    /// The model declined.
    Refusal,
    /// Nothing visible came back.
    Empty,
    /// Text, but no number that could be an estimate.
    NoNumber,
    /// The format was echoed and not filled in.
    Placeholder,
    /// A range, a list, a bound, or several numbers without a label.
    Ambiguous,
    /// Another unit, currency or percent sign than the question asks for.
    UnitMismatch,
    /// Infinity, NaN, or beyond a 64-bit float.
    NotFinite,
    /// A number below or above the scale that was asked for.
    OffScale,
    /// No JSON object where one was asked for.
    NoObject,
    /// A JSON object without the field that was asked for.
    NoField,
    /// The field holds something that is no finite number.
    NotNumeric,
    /// A label outside the set.
    UnknownLabel,
}

/// The rule that read a reply, or found that it cannot be read.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Rule {
    /// Nothing is left once thinking blocks are dropped.
    NothingVisible,
    /// The last ESTIMATE label with a value.
    Label,
    /// The label's line shows its sum; the value stands after the last equals sign.
    LabelEquation,
    /// Labels with placeholders only.
    LabelPlaceholder,
    /// No label; the last line is one value.
    LastLine,
    /// No label; the last line is one boxed value.
    Boxed,
    /// No label; the whole reply holds one number.
    OnlyNumber,
    /// The reply declines.
    Declined,
    /// Only the comparison was answered.
    ComparisonOnly,
    /// No number anywhere.
    NoNumber,
    /// Several numbers and nothing that says which one is meant.
    SeveralNumbers,
    /// Candidate answers were scored; half of their probability lies below.
    ImpliedMedian,
    /// The rules of `AnchorBench`: a payload beside the text.
    Structured,
    /// The rules of `AnchorBench`: the last answer tag.
    XmlTag,
    /// The rules of `AnchorBench`: a phrase that declares an answer.
    FinalAnswer,
    /// The rules of `AnchorBench`: the integers of the text leave one.
    Regex,
    /// The rules of `AnchorBench`: the last number.
    LastNumber,
    /// The rules of `AnchorBench`: none of them found an answer.
    Failed,
}

/// A reply as read: the estimate or why there is none, the rule, and the comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The estimate in the unit of the question, finite; or why there is none.
    pub value: Result<f64, NoValue>,
    /// The rule that decided.
    pub rule: Rule,
    /// More or less, where the task asks for it and the reply says it.
    pub comparison: Option<Comparison>,
}

impl Reading {
    /// Whether the comparison and the estimate point to different sides of the anchor.
    ///
    /// "more than 310" and then 290 is a contradiction; an estimate equal to the anchor is none.
    #[must_use]
    pub fn contradicts(&self, anchor: f64) -> bool {
        match (self.comparison, self.value) {
            (Some(Comparison::More), Ok(value)) => value < anchor,
            (Some(Comparison::Less), Ok(value)) => value > anchor,
            _ => false,
        }
    }
}

/// Why a sample cannot be scored. The text form is the reason shown on boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// Wanted by the plan, not in the store.
    NotAsked,
    /// Every attempt failed; the class of the last failure.
    Failed(super::ErrorClass),
    /// The server or the model ended the reply as a refusal.
    Refused,
    /// The token budget ran out before the reply was complete.
    Truncated,
    /// The visible reply holds no estimate.
    Unread(NoValue),
    /// The estimate is zero or negative and has no logarithm.
    NotPositive,
    /// It was asked with another anchor than the rest of its question and condition.
    OtherAnchor,
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAsked => f.write_str("not_asked"),
            Self::Failed(class) => write!(f, "error:{class}"),
            Self::Refused => f.write_str("refusal"),
            Self::Truncated => f.write_str("truncated"),
            Self::Unread(why) => write!(f, "{why}"),
            Self::NotPositive => f.write_str("not_positive"),
            Self::OtherAnchor => f.write_str("other_anchor"),
        }
    }
}
