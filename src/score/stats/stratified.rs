//! Bootstraps whose draws keep strata as they are and are shared by everything that is compared.

use std::sync::Arc;

use super::draws::draws_below;
use super::{Interval, RESAMPLES, quantile};

/// Rows of places that are drawn with replacement, stratum by stratum, from one fixed seed.
///
/// All statistics of one row rest on the same draws, so that differences of models, contrasts and outcomes have intervals
/// of their own.
#[derive(Debug, Clone)]
pub struct Stratified {
    /// Of each stratum its rows, and where it begins.
    tables: Vec<(Arc<[u32]>, usize, usize)>,
    n: usize,
}

/// Streams of strata lie beyond those of other draws.
const STREAM: u64 = 1000;

impl Stratified {
    /// Draws for strata of these sizes; places count on from one stratum to the next.
    #[must_use]
    pub fn new(sizes: &[usize]) -> Self {
        let mut start = 0;
        let mut tables = Vec::new();
        for (size, stream) in sizes.iter().zip(STREAM..) {
            if *size > 0 {
                let rows = draws_below(*size, *size, RESAMPLES, stream);
                tables.push((rows, *size, start));
                start += size;
            }
        }
        Self { tables, n: start }
    }

    /// The value of a statistic in each of 10,000 resamples; those in which it has none are left out.
    pub fn resamples(&self, mut statistic: impl FnMut(&[usize]) -> Option<f64>) -> Vec<f64> {
        let mut drawn = vec![0; self.n];
        let mut values = Vec::with_capacity(RESAMPLES);
        for row in 0..RESAMPLES {
            for (table, size, start) in &self.tables {
                let places = &table[row * size..(row + 1) * size];
                for (into, place) in drawn[*start..start + size].iter_mut().zip(places) {
                    *into = start + *place as usize;
                }
            }
            values.extend(statistic(&drawn));
        }
        values
    }

    /// Whether anything varies: some stratum has two members.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.tables.iter().any(|(_, size, _)| *size > 1)
    }

    /// The 95 % percentile interval of a statistic; `None` where nothing varies.
    pub fn interval(&self, statistic: impl FnMut(&[usize]) -> Option<f64>) -> Option<Interval> {
        if !self.varies() {
            return None;
        }
        percentiles(self.resamples(statistic))
    }
}

/// The 2.5 and 97.5 % quantiles of resamples, by linear interpolation; `None` of nothing.
#[must_use]
pub fn percentiles(mut values: Vec<f64>) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    Some(Interval {
        low: quantile(&values, 0.025),
        high: quantile(&values, 0.975),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_keep_their_sizes_and_equal_values_have_no_width() {
        let draws = Stratified::new(&[3, 0, 2]);
        let inside = draws.resamples(|drawn| {
            let (first, second) = drawn.split_at(3);
            let held =
                first.iter().all(|at| *at < 3) && second.iter().all(|at| (3..5).contains(at));
            Some(f64::from(u8::from(held)))
        });
        assert_eq!(inside.len(), RESAMPLES);
        assert!(inside.iter().all(|held| *held == 1.0));
        let interval = draws.interval(|_| Some(0.3)).unwrap();
        assert_eq!((interval.low, interval.high), (0.3, 0.3));
        assert_eq!(Stratified::new(&[1, 1]).interval(|_| Some(1.0)), None);
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_scipy() {
        // scipy.stats.bootstrap((x,), numpy.mean, method="percentile", n_resamples=200_000) of
        // x = 2.1, 3.4, 1.9, 4.0, 2.7, 3.3, 2.2, 3.8: [2.40, 3.45] (a hundredth between seeds).
        let x = [2.1, 3.4, 1.9, 4.0, 2.7, 3.3, 2.2, 3.8];
        let draws = Stratified::new(&[x.len()]);
        let mean = |drawn: &[usize]| Some(drawn.iter().map(|at| x[*at]).sum::<f64>() / 8.0);
        let interval = draws.interval(mean).unwrap();
        assert!((interval.low - SCIPY[0]).abs() < 0.02, "{interval:?}");
        assert!((interval.high - SCIPY[1]).abs() < 0.02, "{interval:?}");
    }

    const SCIPY: [f64; 2] = [2.4, 3.45];
}
