//! Ranks with intervals: how far a place depends on which questions were asked.

use super::RESAMPLES;
use super::draws::draws;

/// A place among several, 1 being the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    /// One more than the number of those that are better.
    pub rank: usize,
    /// Best place within the 95 % interval.
    pub best: usize,
    /// Worst place within it.
    pub worst: usize,
}

/// Ranks by `value` of the mean over items, the largest first, with 95 % bootstrap intervals.
///
/// Each row holds one competitor's items in the same order, `None` where an item has no value; a row's mean is over the
/// items it has. The same items are drawn for all. Needs at least one value in each row.
#[must_use]
pub fn ranks(rows: &[Vec<Option<f64>>], value: impl Fn(f64) -> f64) -> Vec<Rank> {
    let Some(n) = rows.first().map(Vec::len).filter(|n| *n > 0) else {
        return Vec::new();
    };
    // Item after item the values of all rows, and how many of them there are.
    let width = 2 * rows.len();
    let mut table = vec![0.0; n * width];
    for (place, row) in rows.iter().enumerate() {
        for (at, item) in row.iter().enumerate() {
            if let Some(item) = item {
                table[at * width + place] = *item;
                table[at * width + rows.len() + place] = 1.0;
            }
        }
    }
    let mut total = vec![0.0; width];
    let mut add = |places: &mut dyn Iterator<Item = usize>, values: &mut [f64], without: &[f64]| {
        total.fill(0.0);
        for at in places {
            let item = &table[at * width..(at + 1) * width];
            for (total, item) in total.iter_mut().zip(item) {
                *total += item;
            }
        }
        let (sums, counts) = total.split_at(rows.len());
        for (place, own) in values.iter_mut().enumerate() {
            *own = if counts[place] > 0.0 {
                value(sums[place] / counts[place])
            } else {
                without[place]
            };
        }
    };
    let mut point = vec![0.0; rows.len()];
    let none = vec![f64::NEG_INFINITY; rows.len()];
    add(&mut (0..n), &mut point, &none);
    let mut found: Vec<Vec<usize>> = vec![Vec::with_capacity(RESAMPLES); rows.len()];
    let mut values = vec![0.0; rows.len()];
    for drawn in draws(n, RESAMPLES, 0).chunks(n) {
        let places = &mut drawn.iter().map(|at| *at as usize);
        add(places, &mut values, &point);
        for (all, rank) in found.iter_mut().zip(places_of(&values)) {
            all.push(rank);
        }
    }
    places_of(&point)
        .into_iter()
        .zip(found)
        .map(|(rank, mut found)| {
            found.sort_unstable();
            Rank {
                rank,
                best: found[RESAMPLES / 40].min(rank),
                worst: found[RESAMPLES - 1 - RESAMPLES / 40].max(rank),
            }
        })
        .collect()
}

/// The place of each value; equal values share the better one.
fn places_of(values: &[f64]) -> Vec<usize> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    values
        .iter()
        .map(|value| sorted.partition_point(|other| other > value) + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_differences_have_one_place_and_equals_share_theirs() {
        let row = |value: f64, wobble: f64| -> Vec<Option<f64>> {
            let wave = |n: i32| if n % 2 == 0 { wobble } else { -wobble };
            (0..20).map(|n| Some(value + wave(n))).collect()
        };
        let found = ranks(&[row(0.1, 0.02), row(0.8, 0.02), row(0.5, 0.02)], |mean| {
            1.0 - mean
        });
        let places: Vec<_> = found
            .iter()
            .map(|rank| (rank.best, rank.rank, rank.worst))
            .collect();
        assert_eq!(places, [(1, 1, 1), (3, 3, 3), (2, 2, 2)]);
        let equal = ranks(&[row(0.5, 0.3), row(0.5, 0.3)], |mean| 1.0 - mean);
        assert!(
            equal
                .iter()
                .all(|rank| (rank.rank, rank.best, rank.worst) == (1, 1, 1))
        );
        // Two that differ by less than the questions do may change places.
        let mut other = row(0.5, 0.3);
        other.rotate_left(1);
        let close = ranks(&[row(0.501, 0.3), other], |mean| 1.0 - mean);
        assert_eq!((close[0].best, close[0].rank, close[0].worst), (1, 2, 2));
    }
}
