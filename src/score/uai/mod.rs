//! How far a number in some channel pulls the answers to cases, and whether it had a right to.
//!
//! `trials` turns the samples of a cell into answers by case, `pull` gives the index of each case and direction, `summary`
//! the means over cases with their intervals, `rational` what a reader who weighs all evidence alike would grant,
//! `effect`, `shift` and `spread` further views, `cell` and `scores` put them together.
//!
//! Source: Borjigin, Hermann, Cyron & Aydin, `AnchorBench` (arXiv 2608.14320); where we differ it is said.

mod cell;
mod contrast;
mod effect;
mod pull;
mod rational;
mod scores;
mod shift;
mod spread;
mod summary;
mod trials;

pub use cell::{CaseCell, Noise, Tested, score_case_cell};
pub use contrast::{CaseContrast, Difference, adjust, contrast};
pub use effect::{Effect, effect};
pub use pull::{CasePull, Directed, pulls};
pub use rational::{Rational, ceiling, implied_weight};
pub use scores::{CaseScores, Pathway, over_models, score_cases};
pub use shift::{Shares, Shift};
pub use spread::{Distribution, distribution};
pub use summary::{Family, Summary};
pub use trials::{CaseTrials, Trial, trials};

use super::stats::Interval;
use crate::domain::Condition;

/// How cells of cases are scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CaseMethod {
    /// Directions whose anchor lies closer than this to the control's answer have no index; in points of the scale.
    pub epsilon: f64,
    /// What is drawn anew for intervals.
    pub intervals: Clustering,
    /// The control that pulls are measured from.
    pub baseline: Baseline,
}

impl Default for CaseMethod {
    fn default() -> Self {
        Self {
            epsilon: 3.0,
            intervals: Clustering::default(),
            baseline: Baseline::default(),
        }
    }
}

/// The control that pulls are measured from.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Baseline {
    /// The one in one turn; the other where it was not asked.
    #[default]
    Control,
    /// The one in two turns; the other where it was not asked.
    ControlTwostage,
}

impl Baseline {
    fn among(self, asked: impl Fn(Condition) -> bool) -> Condition {
        let order = match self {
            Self::Control => [Condition::Control, Condition::ControlTwostage],
            Self::ControlTwostage => [Condition::ControlTwostage, Condition::Control],
        };
        let found = order.into_iter().find(|condition| asked(*condition));
        found.unwrap_or(order[0])
    }
}

/// What is drawn anew for intervals.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Clustering {
    /// Cases, with all their conditions.
    #[default]
    Cases,
    /// Values one by one, as the published benchmark does: the two directions of a case, which share a control, count as
    /// independent. Ceilings assume five ratings.
    Published,
}

/// A mean with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The mean.
    pub value: f64,
    /// 95 % interval; `None` of a single case.
    pub interval: Option<Interval>,
    /// Values it is the mean of.
    pub n: usize,
}
