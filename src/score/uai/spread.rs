//! How the index is spread over cases.

use crate::score::stats::{mean, quantile};

/// Shares and quantiles of the index over cases and directions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    /// Values.
    pub n: usize,
    /// Share from 0 to 1: no move up to a move onto the anchor.
    pub within: f64,
    /// Share above 1: beyond the anchor.
    pub beyond: f64,
    /// Share below 0: away from it.
    pub away: f64,
    /// Mean.
    pub mean: f64,
    /// Mean of the values clipped to 0..=1.
    pub capped: f64,
    /// Quantiles 5, 25, 50, 75 and 95 %.
    pub quantiles: [f64; 5],
}

/// The distribution of some values; `None` of none.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of values")]
pub fn distribution(values: &[f64]) -> Option<Distribution> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let beyond = sorted.iter().filter(|value| **value > 1.0).count() as f64;
    let away = sorted.iter().filter(|value| **value < 0.0).count() as f64;
    let capped: Vec<f64> = values.iter().map(|value| value.clamp(0.0, 1.0)).collect();
    Some(Distribution {
        n: sorted.len(),
        within: (n - beyond - away) / n,
        beyond: beyond / n,
        away: away / n,
        mean: mean(values),
        capped: mean(&capped),
        quantiles: [0.05, 0.25, 0.5, 0.75, 0.95].map(|share| quantile(&sorted, share)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_the_cap_bounds_the_mean() {
        let spread = distribution(&[-2.0, 0.0, 0.5, 1.0, 30.0]).unwrap();
        assert_eq!((spread.within, spread.beyond, spread.away), (0.6, 0.2, 0.2));
        assert_eq!((spread.mean, spread.capped), (5.9, 0.5));
        assert_eq!(spread.quantiles[2], 0.5);
        assert_eq!(distribution(&[]), None);
    }
}
