//! Ranks with intervals: how far a place depends on which questions were asked.

use super::bootstrap::{INNER_ROWS, Level};
use super::draws::{draws, draws_below};
use super::{RESAMPLES, Spread};

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
/// Each row holds one competitor's items in the same order, `None` where an item has no value. All competitors are
/// judged by the same drawn items. Needs at least one value in each row.
#[must_use]
pub fn ranks(rows: &[Vec<Option<Spread>>], value: impl Fn(f64) -> f64) -> Vec<Rank> {
    let Some(n) = rows.first().map(Vec::len).filter(|n| *n > 0) else {
        return Vec::new();
    };
    let present: Vec<Vec<Spread>> = rows
        .iter()
        .map(|row| row.iter().flatten().cloned().collect())
        .collect();
    let levels: Vec<Level<'_>> = present.iter().map(|row| Level::new(row)).collect();
    // Where an item stands in the list of those that have a value.
    let places: Vec<Vec<Option<usize>>> = rows
        .iter()
        .map(|row| {
            let mut next = 0;
            row.iter()
                .map(|item| {
                    item.as_ref().map(|_| {
                        next += 1;
                        next - 1
                    })
                })
                .collect()
        })
        .collect();
    let point: Vec<f64> = present
        .iter()
        .map(|row| value(row.iter().map(|item| item.value).sum::<f64>() / count(row.len())))
        .collect();
    let items = draws(n, RESAMPLES, 0);
    let noise = draws_below(INNER_ROWS, n, RESAMPLES, 3);
    let mut found: Vec<Vec<usize>> = vec![Vec::with_capacity(RESAMPLES); rows.len()];
    let mut values = vec![0.0; rows.len()];
    for (drawn, noise) in items.chunks(n).zip(noise.chunks(n)) {
        for (k, own) in values.iter_mut().enumerate() {
            let (mut sum, mut used) = (0.0, 0);
            for (at, row) in drawn.iter().zip(noise) {
                if let Some(place) = places[k][*at as usize] {
                    // Another row for each competitor: their noise is not the same.
                    sum += levels[k].draw(place, (*row as usize + 37 * k) % INNER_ROWS);
                    used += 1;
                }
            }
            *own = if used > 0 {
                value(sum / count(used))
            } else {
                point[k]
            };
        }
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
                best: found[RESAMPLES / 40],
                worst: found[RESAMPLES - 1 - RESAMPLES / 40],
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

#[expect(clippy::cast_precision_loss, reason = "the number of items")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_differences_have_one_place_and_equals_share_theirs() {
        let row = |value: f64, wobble: f64| -> Vec<Option<Spread>> {
            let wave = |n: i32| if n % 2 == 0 { wobble } else { -wobble };
            (0..20)
                .map(|n| Some(Spread::from(value + wave(n))))
                .collect()
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
