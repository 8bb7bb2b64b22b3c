use serde::{Deserialize, Serialize};

use super::Suite;

/// What stands beside a question, and on which side of the truth it lies.
///
/// The first three belong to the wheel, the last ones to judges; the others belong to suites of cases, where a number comes
/// along in some channel with more or less right to be heard.
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
    /// A case as it is, asked in one turn. Of a judged text: the block of [`Condition::C2`], with a number that says nothing
    /// of the text.
    Control,
    /// A case asked in two turns without a number in the first.
    ControlTwostage,
    /// A low number that has nothing to do with the case.
    IrrelevantLow,
    /// A high number that has nothing to do with the case.
    IrrelevantHigh,
    /// A low estimate of some worth.
    PlausibleLow,
    /// A high estimate of some worth.
    PlausibleHigh,
    /// A low number that nobody could take for an estimate, such as a count of pages.
    PlaceboLow,
    /// A high number that nobody could take for an estimate.
    PlaceboHigh,
    /// A low estimate of specialists.
    AuthorityLow,
    /// A high estimate of specialists.
    AuthorityHigh,
    /// A low estimate with a hedge around it.
    MildLow,
    /// A high estimate with a hedge around it.
    MildHigh,
    /// A low estimate with much evidence behind it.
    StrongLow,
    /// A high estimate with much evidence behind it.
    StrongHigh,
    /// A low number without a word on what it is.
    NeutralLow,
    /// A high number without a word on what it is.
    NeutralHigh,
    /// A text to be judged as it is.
    C0,
    /// A text that is said to be a revision.
    C1,
    /// A text with the number of its attempt and an earlier verdict.
    C2,
}

/// How much right the anchor of a case has to be heard.
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
    strum::EnumIter,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
pub enum Relevance {
    /// None, and nobody could think so.
    Placebo,
    /// None.
    Irrelevant,
    /// Nothing is said of it.
    Neutral,
    /// A little.
    Mild,
    /// Some.
    Plausible,
    /// Much.
    Strong,
    /// It comes from specialists.
    Authority,
}

/// On which side of the truth an anchor is put.
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
    strum::EnumIter,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
pub enum Side {
    /// Below.
    Low,
    /// Above.
    High,
}

impl Condition {
    /// The anchor's relevance and side; `None` of controls and of the wheel's conditions.
    #[must_use]
    pub fn anchored(self) -> Option<(Relevance, Side)> {
        use Relevance::{Authority, Irrelevant, Mild, Neutral, Placebo, Plausible, Strong};
        Some(match self {
            Self::Unanchored
            | Self::Low
            | Self::High
            | Self::Control
            | Self::ControlTwostage
            | Self::C0
            | Self::C1
            | Self::C2 => {
                return None;
            }
            Self::IrrelevantLow => (Irrelevant, Side::Low),
            Self::IrrelevantHigh => (Irrelevant, Side::High),
            Self::PlausibleLow => (Plausible, Side::Low),
            Self::PlausibleHigh => (Plausible, Side::High),
            Self::PlaceboLow => (Placebo, Side::Low),
            Self::PlaceboHigh => (Placebo, Side::High),
            Self::AuthorityLow => (Authority, Side::Low),
            Self::AuthorityHigh => (Authority, Side::High),
            Self::MildLow => (Mild, Side::Low),
            Self::MildHigh => (Mild, Side::High),
            Self::StrongLow => (Strong, Side::Low),
            Self::StrongHigh => (Strong, Side::High),
            Self::NeutralLow => (Neutral, Side::Low),
            Self::NeutralHigh => (Neutral, Side::High),
        })
    }

    /// The side of the anchor, in whatever suite.
    #[must_use]
    pub fn side(self) -> Option<Side> {
        match self {
            Self::Low => Some(Side::Low),
            Self::High => Some(Side::High),
            other => other.anchored().map(|(_, side)| side),
        }
    }

    /// Whether a suite asks under it.
    #[must_use]
    pub fn is_of(self, suite: Suite) -> bool {
        match self {
            Self::Unanchored | Self::Low | Self::High => {
                matches!(suite, Suite::Wheel | Suite::Spinner)
            }
            Self::C0 | Self::C1 | Self::C2 => suite == Suite::Judge,
            Self::Control => matches!(suite, Suite::Judge | Suite::Anchorbench),
            _ => suite == Suite::Anchorbench,
        }
    }

    /// Whether a judge is shown numbers that are drawn for each trial.
    #[must_use]
    pub fn is_drawn(self, suite: Suite) -> bool {
        suite == Suite::Judge && matches!(self, Self::C2 | Self::Control)
    }

    /// The condition with an anchor of this relevance and side.
    #[must_use]
    pub fn of(relevance: Relevance, side: Side) -> Self {
        let (low, high) = match relevance {
            Relevance::Irrelevant => (Self::IrrelevantLow, Self::IrrelevantHigh),
            Relevance::Plausible => (Self::PlausibleLow, Self::PlausibleHigh),
            Relevance::Placebo => (Self::PlaceboLow, Self::PlaceboHigh),
            Relevance::Authority => (Self::AuthorityLow, Self::AuthorityHigh),
            Relevance::Mild => (Self::MildLow, Self::MildHigh),
            Relevance::Strong => (Self::StrongLow, Self::StrongHigh),
            Relevance::Neutral => (Self::NeutralLow, Self::NeutralHigh),
        };
        match side {
            Side::Low => low,
            Side::High => high,
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn every_relevance_and_side_has_a_condition_named_after_them() {
        for relevance in Relevance::iter() {
            for side in Side::iter() {
                let condition = Condition::of(relevance, side);
                assert_eq!(condition.anchored(), Some((relevance, side)));
                assert_eq!(condition.to_string(), format!("{relevance}_{side}"));
                assert_eq!(condition.to_string().parse(), Ok(condition));
            }
        }
    }
}
