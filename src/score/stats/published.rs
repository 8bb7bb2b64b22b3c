//! The bootstrap of the published benchmark, to the last digit: numpy's legacy stream, values drawn one by one.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use rand_mt::Mt;

use super::{Interval, quantile};

/// Resamples there.
const RESAMPLES: usize = 2000;

/// Seed there.
const SEED: u32 = 42;

/// 95 % percentile interval of the mean of values that are drawn one by one: 2,000 resamples of
/// `numpy.random.RandomState(42)`, seeded anew for each list, so that the order of the values matters.
///
/// `None` of no values.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "the number of values")]
pub fn published_bootstrap(values: &[f64]) -> Option<Interval> {
    if values.is_empty() {
        return None;
    }
    let n = values.len();
    let mut means: Vec<f64> = places(n)
        .chunks(n)
        .map(|drawn| {
            let sum: f64 = drawn.iter().map(|at| values[*at as usize]).sum();
            sum / n as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    Some(Interval {
        low: quantile(&means, 0.025),
        high: quantile(&means, 0.975),
    })
}

/// `RandomState(42).randint(0, n, n)`, 2,000 times: words masked to the width of n − 1, those above it drawn anew.
fn places(n: usize) -> Arc<[u32]> {
    static TABLES: LazyLock<Mutex<HashMap<usize, Arc<[u32]>>>> = LazyLock::new(Mutex::default);
    let mut tables = TABLES.lock().expect("no panic while drawing");
    let make = || -> Arc<[u32]> {
        let mut words = Mt::new(SEED);
        let last = u32::try_from(n - 1).unwrap_or(u32::MAX);
        let mask = u32::MAX.checked_shr(last.leading_zeros()).unwrap_or(0);
        (0..n * RESAMPLES)
            .map(|_| {
                // One value needs no draw, and numpy makes none.
                if last == 0 {
                    return 0;
                }
                loop {
                    let word = words.next_u32() & mask;
                    if word <= last {
                        return word;
                    }
                }
            })
            .collect()
    };
    Arc::clone(tables.entry(n).or_insert_with(make))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_intervals_are_those_of_numpy() {
        // numpy.random.RandomState(42).randint(0, 24, 24)[:8]
        assert_eq!(places(24)[..8], [6, 19, 14, 10, 7, 20, 6, 18]);
        // The percentiles 2.5 and 97.5 of the means of 2,000 such draws from [1, 2, 4, 8, 16, 32].
        let interval = published_bootstrap(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]).unwrap();
        assert_eq!(
            (interval.low, interval.high),
            (3.166_666_666_666_666_5, 19.666_666_666_666_668)
        );
        let same = published_bootstrap(&[3.0]).unwrap();
        assert_eq!((same.low, same.high), (3.0, 3.0));
        assert_eq!(published_bootstrap(&[]), None);
    }
}
