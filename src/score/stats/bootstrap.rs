use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};

use super::{Interval, quantile};

/// Resamples behind every bootstrap interval.
pub const RESAMPLES: usize = 10_000;

/// Seed of every bootstrap; the year of the wheel of fortune experiment.
pub const SEED: u64 = 1974;

/// 95 % percentile bootstrap interval of the mean: items are drawn with replacement.
///
/// Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13. The stream is `ChaCha12`, so the same
/// values give the same interval on every machine. Needs at least one value.
#[must_use]
pub fn bootstrap(values: &[f64]) -> Interval {
    let [interval] = bootstrap_means([values]);
    interval
}

/// As [`bootstrap`], for several values of each item, which are drawn together.
///
/// # Panics
/// The lists differ in length.
#[must_use]
pub fn bootstrap_means<const K: usize>(values: [&[f64]; K]) -> [Interval; K] {
    let n = values.first().map_or(0, |values| values.len());
    assert!(values.iter().all(|values| values.len() == n));
    bootstrap_all(n, |drawn| {
        values.map(|values| {
            #[expect(clippy::cast_precision_loss, reason = "lengths lie below 2^53")]
            let n = drawn.len() as f64;
            drawn.iter().map(|at| values[*at]).sum::<f64>() / n
        })
    })
}

/// As [`bootstrap`], for any statistic of the drawn places.
#[must_use]
pub fn bootstrap_by(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Interval {
    let [interval] = bootstrap_all(n, |drawn| [statistic(drawn)]);
    interval
}

fn bootstrap_all<const K: usize>(
    n: usize,
    statistics: impl Fn(&[usize]) -> [f64; K],
) -> [Interval; K] {
    let mut rng = ChaCha12Rng::seed_from_u64(SEED);
    let mut drawn = vec![0; n];
    let mut columns = [(); K].map(|()| Vec::with_capacity(RESAMPLES));
    for _ in 0..RESAMPLES {
        drawn.fill_with(|| rng.random_range(0..n));
        for (column, value) in columns.iter_mut().zip(statistics(&drawn)) {
            column.push(value);
        }
    }
    columns.map(|mut column| {
        column.sort_by(f64::total_cmp);
        Interval {
            low: quantile(&column, 0.025),
            high: quantile(&column, 0.975),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_close_to_that_of_scipy() {
        // scipy.stats.bootstrap((range(1, 21),), numpy.mean, n_resamples=100000, method="percentile",
        // random_state=1): [8.0, 13.0] to a tenth.
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        let interval = bootstrap(&values);
        assert!((interval.low - 8.0).abs() < 0.1, "{interval:?}");
        assert!((interval.high - 13.0).abs() < 0.1, "{interval:?}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(16))]
        #[test]
        fn ends_are_in_order_equal_values_have_no_width_and_the_seed_fixes_all(
            values in proptest::collection::vec(-1.0_f64..1.0, 2..30),
        ) {
            let interval = bootstrap(&values);
            proptest::prop_assert!(interval.low <= interval.high);
            proptest::prop_assert_eq!(interval, bootstrap(&values));
            let flat = bootstrap(&vec![values[0]; values.len()]);
            proptest::prop_assert!((flat.high - flat.low).abs() < 1e-12);
        }
    }
}
