//! Intervals of means whose values come in clusters: each item brings all of its values along when it is drawn.

use super::Interval;
use super::bootstrap::tail;
use super::draws::draws;

/// Resamples behind each interval; ends move by some hundredths of the width between seeds.
const RESAMPLES: usize = 2000;

/// A statistic of clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ratio {
    /// The mean of the values of a column over all clusters.
    Mean(usize),
    /// The difference of the means of two columns.
    Difference(usize, usize),
}

/// Columns of values of clusters: of each cluster the sum of its values and their number.
#[derive(Debug, Clone)]
pub struct Ratios {
    columns: usize,
    /// Cluster after cluster, of each the sums and then the counts of all columns.
    rows: Vec<f64>,
}

impl Ratios {
    /// No cluster yet, and so many columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a cluster without values.
    pub fn cluster(&mut self) {
        self.rows.extend(std::iter::repeat_n(0.0, 2 * self.columns));
    }

    /// Adds a value to a column of the last cluster.
    ///
    /// # Panics
    /// There is no cluster yet.
    pub fn add(&mut self, column: usize, value: f64) {
        let start = self.rows.len() - 2 * self.columns;
        self.rows[start + column] += value;
        self.rows[start + self.columns + column] += 1.0;
    }

    /// The value of a statistic; `None` without values.
    #[must_use]
    pub fn value(&self, ratio: Ratio) -> Option<f64> {
        let mut total = vec![0.0; 2 * self.columns];
        for row in self.clusters() {
            add(&mut total, row);
        }
        of(ratio, |column| {
            let count = total[self.columns + column];
            (count > 0.0).then(|| total[column] / count)
        })
    }

    /// 95 % intervals of statistics: clusters drawn with replacement, 2,000 times, all statistics from the same draws,
    /// read off with [`tail`]. `None` of a statistic with values in fewer than two clusters.
    #[must_use]
    pub fn intervals(&self, ratios: &[Ratio]) -> Vec<Option<Interval>> {
        let n = self.rows.len().checked_div(2 * self.columns).unwrap_or(0);
        let with_values: Vec<usize> = (0..self.columns)
            .map(|column| {
                let counts = self.clusters().map(|row| row[self.columns + column]);
                counts.filter(|count| *count > 0.0).count()
            })
            .collect();
        let clusters: Vec<usize> = ratios
            .iter()
            .map(|ratio| match *ratio {
                Ratio::Mean(column) => with_values[column],
                Ratio::Difference(a, b) => with_values[a].min(with_values[b]),
            })
            .collect();
        let packed = Packed::new(self, &with_values);
        let mut resamples = vec![Vec::with_capacity(RESAMPLES); ratios.len()];
        let mut total = Vec::new();
        for drawn in draws(n, RESAMPLES, 0).chunks(n.max(1)) {
            packed.add_up(drawn, &mut total);
            for (values, ratio) in resamples.iter_mut().zip(ratios) {
                values.extend(of(*ratio, |column| packed.mean(&total, column)));
            }
        }
        resamples
            .into_iter()
            .zip(clusters)
            .map(|(values, clusters)| {
                (clusters > 1 && !values.is_empty()).then(|| ends(values, tail(clusters)))
            })
            .collect()
    }

    fn clusters(&self) -> impl Iterator<Item = &[f64]> {
        self.rows.chunks(2 * self.columns.max(1))
    }
}

fn of(ratio: Ratio, mean: impl Fn(usize) -> Option<f64>) -> Option<f64> {
    match ratio {
        Ratio::Mean(column) => mean(column),
        Ratio::Difference(a, b) => Some(mean(a)? - mean(b)?),
    }
}

/// Columns that are added up together: a cache line of numbers.
const LANES: usize = 8;

/// The table without what need not be added up: columns without values, and counts that are those of another column.
struct Packed {
    /// Some columns at a time the rows of all clusters, so that what is drawn from lies in the fastest cache and the sums
    /// in registers.
    slices: Vec<Vec<[f64; LANES]>>,
    /// Of each column the places of its sum and its count.
    places: Vec<Option<(usize, usize)>>,
}

impl Packed {
    fn new(table: &Ratios, with_values: &[usize]) -> Self {
        let column = |at: usize| -> Vec<f64> { table.clusters().map(|row| row[at]).collect() };
        let mut kept: Vec<Vec<f64>> = Vec::new();
        let mut counts: Vec<(Vec<f64>, usize)> = Vec::new();
        let places = (0..table.columns)
            .map(|at| {
                if with_values[at] == 0 {
                    return None;
                }
                kept.push(column(at));
                let sum = kept.len() - 1;
                let own = column(table.columns + at);
                let same = counts.iter().find(|(known, _)| *known == own);
                let same = same.map(|(_, place)| *place);
                let count = same.unwrap_or_else(|| {
                    kept.push(own.clone());
                    counts.push((own, kept.len() - 1));
                    kept.len() - 1
                });
                Some((sum, count))
            })
            .collect();
        let slices = kept.chunks(LANES).map(|columns| {
            let row = |at: usize| {
                std::array::from_fn(|lane| columns.get(lane).map_or(0.0, |column| column[at]))
            };
            (0..table.clusters().count()).map(row).collect()
        });
        Self {
            slices: slices.collect(),
            places,
        }
    }

    /// The sums of the kept columns over the drawn clusters.
    fn add_up(&self, drawn: &[u32], total: &mut Vec<f64>) {
        total.clear();
        for slice in &self.slices {
            total.extend(sums(slice, drawn));
        }
    }

    fn mean(&self, total: &[f64], column: usize) -> Option<f64> {
        let (sum, count) = self.places[column]?;
        (total[count] > 0.0).then(|| total[sum] / total[count])
    }
}

/// Sums over drawn rows. A function of its own, and by value, so that the sums stay in registers.
#[inline(never)]
fn sums(rows: &[[f64; LANES]], drawn: &[u32]) -> [f64; LANES] {
    drawn.iter().fold([0.0; LANES], |sums, at| {
        let row = &rows[*at as usize];
        std::array::from_fn(|lane| sums[lane] + row[lane])
    })
}

fn add(total: &mut [f64], row: &[f64]) {
    for (total, value) in total.iter_mut().zip(row) {
        *total += value;
    }
}

/// The quantiles that leave out a share on each side, found without sorting everything.
fn ends(mut values: Vec<f64>, tail: f64) -> Interval {
    Interval {
        low: quantile_of(&mut values, tail),
        high: quantile_of(&mut values, 1.0 - tail),
    }
}

/// As [`super::quantile`], of values in any order.
fn quantile_of(values: &mut [f64], share: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the number of resamples")]
    let place = share * (values.len() - 1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in the slice"
    )]
    let below = place.floor() as usize;
    let (_, low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    let low = *low;
    let next = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    low + (place - place.floor()) * (next - low)
}

#[cfg(test)]
mod tests {
    use super::super::bootstrap::{IntervalMethod, bootstrap};
    use super::*;

    #[test]
    fn clusters_of_one_value_give_the_plain_bootstrap() {
        let values: Vec<f64> = (0..40).map(|n| f64::from(n * n % 37)).collect();
        let mut ratios = Ratios::new(1);
        for value in &values {
            ratios.cluster();
            ratios.add(0, *value);
        }
        let plain = bootstrap(&values, IntervalMethod::Percentile);
        let clustered = ratios.intervals(&[Ratio::Mean(0)])[0].unwrap();
        assert!(
            (plain.low - clustered.low).abs() < 0.4,
            "{plain:?} {clustered:?}"
        );
        assert!(
            (plain.high - clustered.high).abs() < 0.4,
            "{plain:?} {clustered:?}"
        );
    }

    #[test]
    fn values_that_repeat_within_a_cluster_add_no_certainty() {
        let width = |times: usize| {
            let mut ratios = Ratios::new(1);
            for n in 0..30 {
                ratios.cluster();
                for _ in 0..times {
                    ratios.add(0, f64::from(n % 7));
                }
            }
            let interval = ratios.intervals(&[Ratio::Mean(0)])[0].unwrap();
            interval.high - interval.low
        };
        assert!((width(1) - width(5)).abs() < 1e-12);
        let mut empty = Ratios::new(2);
        empty.cluster();
        empty.add(0, 1.0);
        assert_eq!(
            empty.intervals(&[Ratio::Mean(0), Ratio::Difference(0, 1)]),
            [None, None]
        );
        assert_eq!(empty.value(Ratio::Mean(1)), None);
    }
}
