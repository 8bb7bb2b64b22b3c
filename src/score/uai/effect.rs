//! Cohen's d of an anchored condition against its control.

use super::CaseTrials;
use crate::domain::Condition;
use crate::score::stats::{deviation, mean, variance};

/// Fewest cases with both answers.
const FEWEST: usize = 5;

/// Standardised differences between two conditions over the cases that answered both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Mean difference over √((s²₁ + s²₂)/2), with sample deviations.
    pub d_av: f64,
    /// Mean difference over the sample deviation of the differences; `None` if they are all alike.
    pub d_z: Option<f64>,
    /// The cases.
    pub n: usize,
}

/// Effect of `condition` against `baseline`; `None` with fewer than five cases or without any spread.
///
/// Source: Lakens (2013), Frontiers in Psychology 4:863, for the names.
#[must_use]
pub fn effect(cases: &[CaseTrials], condition: Condition, baseline: Condition) -> Option<Effect> {
    let pairs: Vec<(f64, f64)> = cases
        .iter()
        .filter_map(|case| Some((case.mean(condition)?, case.mean(baseline)?)))
        .collect();
    if pairs.len() < FEWEST {
        return None;
    }
    let (with, without): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let differences: Vec<f64> = pairs.iter().map(|(with, without)| with - without).collect();
    let moved = mean(&differences);
    let spread = f64::midpoint(variance(&with), variance(&without)).sqrt();
    let of_differences = deviation(&differences);
    (spread > 0.0).then(|| Effect {
        d_av: moved / spread,
        d_z: (of_differences > 0.0).then(|| moved / of_differences),
        n: pairs.len(),
    })
}
