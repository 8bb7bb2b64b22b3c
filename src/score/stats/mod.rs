//! Statistics under the scores: means, medians, intervals, tests, ranks. Chance comes from one fixed seed.

mod bootstrap;
mod correction;
mod draws;
mod least_squares;
pub(in crate::score) mod normal;
mod numpy;
mod paired;
mod permutation;
mod predictive;
mod published;
mod ranks;
mod ratios;
mod stratified;
mod wilcoxon;
mod wilson;

pub use bootstrap::{
    IntervalMethod, RESAMPLES, Spread, bootstrap, bootstrap_by, bootstrap_columns, bootstrap_items,
    interval_of, tail,
};
pub use correction::{benjamini_hochberg, holm};
pub use draws::{SEED, draws_of, seed_words};
pub use least_squares::{Line, Normal, line};
pub use paired::{Test, deviation, paired_t, published_sign_flip, variance, wilcoxon_pratt};
pub use permutation::{random_signs, sign_flip, two_sample};
pub use predictive::{Predictive, predictive};
pub use published::published_bootstrap;
pub use ranks::{Rank, ranks};
pub use ratios::{Ratio, Ratios};
pub use stratified::{Stratified, percentiles};
pub use wilcoxon::wilcoxon;
pub use wilson::wilson;

/// A 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end, not below the lower.
    pub high: f64,
}

/// Arithmetic mean; NaN of nothing.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "lengths lie below 2^53")]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Median; the mean of the middle two of an even number.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Quantile of sorted values by linear interpolation between order statistics (type 7 of Hyndman & Fan 1996).
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "lengths lie below 2^53")]
    let place = share * (sorted.len() - 1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in the slice"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - place.floor()) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_numpy() {
        // numpy.quantile([1, 2, 4, 8], [0.025, 0.5, 0.975])
        let values = [1.0, 2.0, 4.0, 8.0];
        for (share, wanted) in [(0.025, 1.075), (0.5, 3.0), (0.975, 7.7)] {
            assert!((quantile(&values, share) - wanted).abs() < 1e-12);
        }
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }
}
