//! The estimate that the probabilities of candidate answers imply.

use crate::domain::{NoValue, Reading, Rule, Scored};
use crate::score::spinner::number;

/// The number with half of the candidates' probability below it.
///
/// Each candidate's share is spread evenly, on the scale of logarithms, from halfway to the candidate below to halfway to
/// the one above. `None` with fewer than two candidates above 0 that have a score.
#[must_use]
pub fn implied_median(scored: &Scored) -> Option<f64> {
    let targets = scored.scoring.targets.iter();
    let mut points: Vec<(f64, f64)> = targets
        .zip(&scored.log_probabilities)
        .filter_map(|(target, score)| Some((number(target)?, (*score)?)))
        .filter(|(value, score)| *value > 0.0 && score.is_finite())
        .map(|(value, score)| (value.ln(), score))
        .collect();
    if points.len() < 2 {
        return None;
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let largest = points
        .iter()
        .map(|point| point.1)
        .fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = points
        .iter()
        .map(|point| (point.1 - largest).exp())
        .collect();
    let half = weights.iter().sum::<f64>() / 2.0;
    let middle = |at: usize| f64::midpoint(points[at].0, points[at + 1].0);
    let last = points.len() - 1;
    let mut below = 0.0;
    for (at, weight) in weights.iter().enumerate() {
        if below + weight >= half {
            // The outermost cells are as wide outwards as inwards.
            let low = if at == 0 {
                2.0 * points[0].0 - middle(0)
            } else {
                middle(at - 1)
            };
            let high = if at == last {
                2.0 * points[last].0 - middle(last - 1)
            } else {
                middle(at)
            };
            let share = (half - below) / weight;
            return Some((low + share * (high - low)).exp());
        }
        below += weight;
    }
    None
}

/// Share of probability that the candidates hold together, 0 to 1.
#[must_use]
pub fn mass(scored: &Scored) -> f64 {
    scored
        .log_probabilities
        .iter()
        .flatten()
        .map(|score| score.exp())
        .sum()
}

/// Scored candidates read as an estimate.
pub(super) fn reading(scored: &Scored) -> Reading {
    Reading {
        value: implied_median(scored).ok_or(NoValue::NoNumber),
        rule: Rule::ImpliedMedian,
        comparison: None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Scoring, ScoringMode};

    fn scored(candidates: &[(&str, f64)]) -> Scored {
        Scored {
            scoring: Scoring {
                mode: ScoringMode::Exact,
                targets: candidates
                    .iter()
                    .map(|(text, _)| Arc::from(*text))
                    .collect(),
            },
            log_probabilities: candidates.iter().map(|(_, p)| Some(p.ln())).collect(),
            merged: 0,
            banzhaf: None,
        }
    }

    #[test]
    fn the_median_of_even_shares_lies_in_the_middle_on_the_scale_of_logarithms() {
        let median = implied_median(&scored(&[("10\n", 0.1), ("100\n", 0.1), ("1000\n", 0.1)]));
        assert!((median.unwrap() - 100.0).abs() < 1e-9);
        let median = implied_median(&scored(&[("10", 0.2), ("100", 0.2)])).unwrap();
        assert!((median - 1000_f64.sqrt()).abs() < 1e-9, "{median}");
        // Three quarters lie on the lower one: two thirds of its cell, which goes from 3.16 to 31.6.
        let median = implied_median(&scored(&[("10", 0.3), ("100", 0.1)])).unwrap();
        assert!(
            (median - 10_f64.powf(0.5 + 2.0 / 3.0)).abs() < 1e-9,
            "{median}"
        );
        assert!((mass(&scored(&[("10", 0.3), ("100", 0.1)])) - 0.4).abs() < 1e-12);
        assert_eq!(implied_median(&scored(&[("10", 1.0)])), None);
        assert_eq!(implied_median(&scored(&[("yes", 0.5), ("no", 0.5)])), None);
    }
}
