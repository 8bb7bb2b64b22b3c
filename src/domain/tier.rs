use serde::{Deserialize, Serialize};

/// How sure a model can be of the answer to a question.
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
pub enum Tier {
    /// A fact that every good model knows; the control.
    Known,
    /// A fact half remembered.
    Fuzzy,
    /// A guess; the reference only places the anchors and never grades accuracy.
    Fermi,
}
