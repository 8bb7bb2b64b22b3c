use serde::{Deserialize, Serialize};

/// Which anchor, if any, stands beside the question.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::EnumIter,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Condition {
    /// No anchor.
    Unanchored,
    /// The low anchor of the item.
    Low,
    /// The high anchor of the item.
    High,
}
