//! Bootstrap intervals: items are drawn with replacement, and within each drawn item its epochs.

use std::sync::Arc;

use super::draws::{draws, draws_below};
use super::normal::{cdf, quantile_of_normal};
use super::{Interval, mean, quantile};

/// Resamples behind every bootstrap interval.
pub const RESAMPLES: usize = 10_000;

/// Resamples of the epochs of one item, from which each resample of the items takes one.
pub(super) const INNER_ROWS: usize = 250;

/// How the ends of an interval are read off the resamples.
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
pub enum IntervalMethod {
    /// The 2.5 and 97.5 % quantiles of the resamples. Efron & Tibshirani (1993), An Introduction to the Bootstrap,
    /// chapter 13.
    #[default]
    Percentile,
    /// Quantiles corrected for bias and for a spread that changes with the value. Efron (1987), JASA 82, 171–185.
    Bca,
}

/// A value of one item, and what drawing its epochs anew does to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The value.
    pub value: f64,
    /// Differences of resamples from the value; empty if there was one epoch, of which nothing is known.
    deviations: Vec<f64>,
}

impl From<f64> for Spread {
    fn from(value: f64) -> Self {
        Self {
            value,
            deviations: Vec::new(),
        }
    }
}

impl Spread {
    /// 95 % percentile interval over the epochs alone; `None` if nothing is known of them.
    #[must_use]
    pub fn interval(&self) -> Option<Interval> {
        if self.deviations.is_empty() {
            return None;
        }
        let mut sorted = self.deviations.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Some(Interval {
            low: self.value + quantile(&sorted, 0.025),
            high: self.value + quantile(&sorted, 0.975),
        })
    }

    /// A value, and a statistic of the epochs under two conditions, each drawn with replacement, that gives the value if
    /// every epoch is drawn once.
    ///
    /// Needs at least one epoch on each side. With one on both sides there is nothing to draw.
    #[must_use]
    pub fn of(
        value: f64,
        low: &[f64],
        high: &[f64],
        statistic: impl Fn(&[f64], &[f64]) -> f64,
    ) -> Self {
        if low.len() < 2 && high.len() < 2 {
            return value.into();
        }
        let (lows, highs) = (
            draws(low.len(), INNER_ROWS, 1),
            draws(high.len(), INNER_ROWS, 2),
        );
        let mut drawn = (vec![0.0; low.len()], vec![0.0; high.len()]);
        let deviations = (0..INNER_ROWS)
            .map(|row| {
                pick(low, &lows, row, &mut drawn.0);
                pick(high, &highs, row, &mut drawn.1);
                statistic(&drawn.0, &drawn.1) - value
            })
            .collect();
        Self { value, deviations }
    }
}

fn pick(values: &[f64], table: &[u32], row: usize, into: &mut [f64]) {
    let n = values.len();
    for (place, at) in into.iter_mut().zip(&table[row * n..(row + 1) * n]) {
        *place = values[*at as usize];
    }
}

/// 95 % bootstrap interval of the mean of plain values.
///
/// The stream is `ChaCha12`, so the same values give the same interval on every machine. Needs at least one value.
#[must_use]
pub fn bootstrap(values: &[f64], method: IntervalMethod) -> Interval {
    let column: Vec<Spread> = values.iter().copied().map(Spread::from).collect();
    let [interval] = bootstrap_columns([&column], method, |[values]| [mean(values)]);
    interval
}

/// 95 % bootstrap intervals of statistics of columns of items that are drawn together.
///
/// Two levels: items with replacement, then for each drawn item one resample of its epochs. The spread between items
/// already holds the noise of their epochs, so the second level would count it twice; the items are therefore drawn
/// towards their mean by as much as the second level adds to the variance (Davison & Hinkley 1997, Bootstrap Methods and
/// their Application, section 3.8). With one epoch this is the bootstrap over items.
///
/// # Panics
/// The columns differ in length or are empty.
#[must_use]
pub fn bootstrap_columns<const C: usize, const K: usize>(
    columns: [&[Spread]; C],
    method: IntervalMethod,
    statistics: impl Fn([&[f64]; C]) -> [f64; K],
) -> [Interval; K] {
    let n = columns[0].len();
    assert!(n > 0 && columns.iter().all(|column| column.len() == n));
    let levels = columns.map(Level::new);
    let items = draws(n, RESAMPLES, 0);
    let noisy = levels.iter().any(|level| level.noisy);
    let rows = if noisy {
        draws_below(INNER_ROWS, n * C, RESAMPLES, 3)
    } else {
        Arc::default()
    };
    let mut buffers: [Vec<f64>; C] = std::array::from_fn(|_| vec![0.0; n]);
    let mut resamples: [Vec<f64>; K] = std::array::from_fn(|_| Vec::with_capacity(RESAMPLES));
    for resample in 0..RESAMPLES {
        let drawn = &items[resample * n..(resample + 1) * n];
        for (column, (level, buffer)) in levels.iter().zip(&mut buffers).enumerate() {
            if level.noisy {
                let start = (resample * C + column) * n;
                let rows = &rows[start..start + n];
                for ((value, at), row) in buffer.iter_mut().zip(drawn).zip(rows) {
                    *value = level.draw(*at as usize, *row as usize);
                }
            } else {
                for (value, at) in buffer.iter_mut().zip(drawn) {
                    *value = level.centers[*at as usize];
                }
            }
        }
        let values = statistics(std::array::from_fn(|column| buffers[column].as_slice()));
        for (all, value) in resamples.iter_mut().zip(values) {
            all.push(value);
        }
    }
    let plain = columns.map(|column| column.iter().map(|item| item.value).collect::<Vec<f64>>());
    let correction = (method == IntervalMethod::Bca).then(|| jackknife(&plain, &statistics));
    let mut correction = correction.into_iter().flatten();
    resamples.map(|mut resamples| {
        resamples.sort_unstable_by(f64::total_cmp);
        let (low, high) = match correction.next() {
            Some((point, acceleration)) => bca_shares(&resamples, point, acceleration),
            None => (0.025, 0.975),
        };
        Interval {
            low: quantile(&resamples, low),
            high: quantile(&resamples, high),
        }
    })
}

/// As [`bootstrap_columns`] for one statistic of the drawn places, without epochs.
///
/// Needs `n` above 0.
#[must_use]
pub fn bootstrap_by(n: usize, statistic: impl Fn(&[u32]) -> f64) -> Interval {
    let items = draws(n, RESAMPLES, 0);
    let mut resamples: Vec<f64> = items.chunks(n).map(statistic).collect();
    resamples.sort_unstable_by(f64::total_cmp);
    Interval {
        low: quantile(&resamples, 0.025),
        high: quantile(&resamples, 0.975),
    }
}

/// One column, ready to be drawn from.
pub(super) struct Level<'a> {
    items: &'a [Spread],
    /// The items' values, moved towards their mean.
    centers: Vec<f64>,
    noisy: bool,
}

impl<'a> Level<'a> {
    pub(super) fn new(items: &'a [Spread]) -> Self {
        let values: Vec<f64> = items.iter().map(|item| item.value).collect();
        let noisy = items.iter().any(|item| !item.deviations.is_empty());
        if !noisy {
            return Self {
                items,
                centers: values,
                noisy,
            };
        }
        let center = mean(&values);
        let square = |value: f64| value * value;
        let between = mean(
            &values
                .iter()
                .map(|value| square(value - center))
                .collect::<Vec<_>>(),
        );
        let of_item = |item: &Spread| {
            if item.deviations.is_empty() {
                return 0.0;
            }
            let middle = mean(&item.deviations);
            mean(
                &item
                    .deviations
                    .iter()
                    .map(|value| square(value - middle))
                    .collect::<Vec<_>>(),
            )
        };
        let within = mean(&items.iter().map(of_item).collect::<Vec<_>>());
        let share = if between > 0.0 {
            ((between - within) / between).max(0.0).sqrt()
        } else {
            0.0
        };
        Self {
            items,
            centers: values
                .iter()
                .map(|value| center + share * (value - center))
                .collect(),
            noisy,
        }
    }

    /// The value of an item with one resample of its epochs.
    pub(super) fn draw(&self, at: usize, row: usize) -> f64 {
        self.centers[at] + self.items[at].deviations.get(row).copied().unwrap_or(0.0)
    }
}

/// The statistic of all items, and its acceleration from leaving out one item at a time.
fn jackknife<const C: usize, const K: usize>(
    columns: &[Vec<f64>; C],
    statistics: &impl Fn([&[f64]; C]) -> [f64; K],
) -> [(f64, f64); K] {
    let point = statistics(std::array::from_fn(|column| columns[column].as_slice()));
    let n = columns[0].len();
    let left: Vec<[f64; K]> = (0..n)
        .map(|out| {
            let without = columns.each_ref().map(|column| {
                let mut column = column.clone();
                column.remove(out);
                column
            });
            statistics(std::array::from_fn(|column| without[column].as_slice()))
        })
        .collect();
    std::array::from_fn(|k| {
        let values: Vec<f64> = left.iter().map(|values| values[k]).collect();
        let center = mean(&values);
        let (mut squares, mut cubes) = (0.0, 0.0);
        for value in &values {
            let difference = center - value;
            squares += difference * difference;
            cubes += difference * difference * difference;
        }
        let below = 6.0 * f64::powf(squares, 1.5);
        (point[k], if below > 0.0 { cubes / below } else { 0.0 })
    })
}

/// The shares of the sorted resamples that hold the ends of a corrected interval.
fn bca_shares(sorted: &[f64], point: f64, acceleration: f64) -> (f64, f64) {
    #[expect(clippy::cast_precision_loss, reason = "the number of resamples")]
    let n = sorted.len() as f64;
    let below = sorted.partition_point(|value| *value < point);
    let equal = sorted.partition_point(|value| *value <= point) - below;
    #[expect(clippy::cast_precision_loss, reason = "counts of resamples")]
    let share = (below as f64 + 0.5 * equal as f64) / n;
    // Resamples all on one side say nothing of the bias.
    if share <= 0.0 || share >= 1.0 {
        return (0.025, 0.975);
    }
    let bias = quantile_of_normal(share);
    let moved = |share: f64| {
        let z = bias + quantile_of_normal(share);
        cdf(bias + z / (1.0 - acceleration * z))
    };
    (moved(0.025), moved(0.975))
}

/// 95 % percentile interval of resamples; `None` of none.
#[must_use]
pub fn interval_of(mut resamples: Vec<f64>) -> Option<Interval> {
    resamples.sort_unstable_by(f64::total_cmp);
    (!resamples.is_empty()).then(|| Interval {
        low: quantile(&resamples, 0.025),
        high: quantile(&resamples, 0.975),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(interval: Interval, low: f64, high: f64, slack: f64) {
        assert!(
            (interval.low - low).abs() < slack && (interval.high - high).abs() < slack,
            "{interval:?}"
        );
    }

    #[test]
    fn the_interval_is_close_to_that_of_scipy() {
        // scipy.stats.bootstrap((range(1, 21),), numpy.mean, n_resamples=100000, method="percentile",
        // random_state=1): [8.0, 13.0] to a tenth.
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        near(
            bootstrap(&values, IntervalMethod::Percentile),
            8.0,
            13.0,
            0.1,
        );
    }

    #[test]
    fn corrected_intervals_are_close_to_those_of_scipy() {
        // scipy 1.17 bootstrap((exp(linspace(-1, 2, 15)),), numpy.mean, n_resamples=400000, rng=default_rng(1)):
        // method="percentile" [1.4631, 3.5794], method="BCa" [1.5643, 3.7565].
        let values: Vec<f64> = (0..15)
            .map(|n| f64::exp(-1.0 + 3.0 * f64::from(n) / 14.0))
            .collect();
        near(
            bootstrap(&values, IntervalMethod::Percentile),
            1.4631,
            3.5794,
            0.03,
        );
        near(
            bootstrap(&values, IntervalMethod::Bca),
            1.5643,
            3.7565,
            0.04,
        );
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(16))]
        #[test]
        fn ends_are_in_order_equal_values_have_no_width_and_the_seed_fixes_all(
            values in proptest::collection::vec(-1.0_f64..1.0, 2..30),
        ) {
            for method in [IntervalMethod::Percentile, IntervalMethod::Bca] {
                let interval = bootstrap(&values, method);
                proptest::prop_assert!(interval.low <= interval.high);
                proptest::prop_assert_eq!(interval, bootstrap(&values, method));
                let flat = bootstrap(&vec![values[0]; values.len()], method);
                proptest::prop_assert!((flat.high - flat.low).abs() < 1e-12);
            }
        }
    }
}
