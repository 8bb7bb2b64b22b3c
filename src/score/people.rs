//! People instead of models: each saw a question under one anchor only, so persons are what is drawn anew.

use std::collections::{BTreeMap, BTreeSet};

use super::cell::Method;
use super::index::Index;
use super::samples::{Cell, Outcome};
use super::stats::{RESAMPLES, draws_of, interval_of, random_signs};
use super::tier::TierScore;
use crate::bank::{Bank, Item};
use crate::domain::{Condition, PEOPLE, Tier};

/// Whether a cell holds answers of people. Their number stands as the epoch.
pub(super) fn is_people(cell: &Cell<'_>) -> bool {
    !cell.samples.is_empty()
        && cell
            .samples
            .iter()
            .all(|sample| &*sample.record.sent.provider == PEOPLE)
}

/// Persons with at least one usable estimate.
pub(super) fn count(cell: &Cell<'_>) -> usize {
    persons(cell).len()
}

fn persons(cell: &Cell<'_>) -> Vec<u32> {
    let all: BTreeSet<u32> = cell
        .samples
        .iter()
        .filter(|sample| matches!(sample.outcome, Outcome::Estimate(_)))
        .map(|sample| sample.slot.epoch)
        .collect();
    all.into_iter().collect()
}

/// The usable answers to one question: who, which side, and the prepared estimate.
struct Answers {
    anchors: (f64, f64),
    given: Vec<(usize, bool, f64)>,
}

/// Replaces what rests on questions as the unit: the interval of the mean index (by percentiles) comes from drawing persons
/// with replacement, all their answers with them; p from giving each person's low answers to the high side and the other way
/// round, by chance; and the spread between persons is no run-to-run noise.
pub(super) fn between_persons(
    score: &mut TierScore,
    cell: &Cell<'_>,
    bank: &Bank,
    tier: Option<Tier>,
    method: Method,
) {
    score.noise = None;
    score.halves = None;
    // Drawing persons anew adds noise to every question, and noise only adds to a size.
    score.sensitivity_interval = None;
    if score.index.is_none() || method.index == Index::Raw {
        return;
    }
    let persons = persons(cell);
    let places: BTreeMap<u32, usize> = persons.iter().copied().zip(0..).collect();
    let items: Vec<Answers> = bank
        .items
        .iter()
        .filter(|item| tier.is_none_or(|tier| item.tier == tier))
        .filter_map(|item| answers(cell, item, method.index, &places))
        .collect();
    let n = persons.len();
    if n < 2 {
        score.interval = None;
        score.p = None;
        return;
    }
    let drawn = draws_of(n, RESAMPLES);
    let mut means = Vec::new();
    for drawn in drawn.chunks(n) {
        let mut times = vec![0_usize; n];
        for person in drawn {
            times[*person as usize] += 1;
        }
        if let Some(mean) = mean_index(&items, method.index, |person| times[person], |_| false) {
            means.push(mean);
        }
    }
    score.interval = interval_of(means, n);
    let observed = score.index.unwrap_or_default().abs();
    let mut hits = 0_u32;
    let mut tried = 0_u32;
    for swapped in random_signs(n, RESAMPLES) {
        if let Some(mean) = mean_index(&items, method.index, |_| 1, |person| swapped[person]) {
            tried += 1;
            hits += u32::from(mean.abs() >= observed - 1e-12);
        }
    }
    score.p = score.p.map(|_| f64::from(hits + 1) / f64::from(tried + 1));
}

fn answers(
    cell: &Cell<'_>,
    item: &Item,
    index: Index,
    places: &BTreeMap<u32, usize>,
) -> Option<Answers> {
    let mut given = Vec::new();
    for (condition, high) in [(Condition::Low, false), (Condition::High, true)] {
        for sample in cell.of(item, condition) {
            if let Outcome::Estimate(value) = sample.outcome {
                let prepared = index.prepare(&[value]);
                given.push((*places.get(&sample.slot.epoch)?, high, prepared[0]));
            }
        }
    }
    let anchors = (item.anchors.low.get(), item.anchors.high.get());
    (!given.is_empty()).then_some(Answers { anchors, given })
}

/// Mean index over the questions that have answers on both sides.
fn mean_index(
    items: &[Answers],
    index: Index,
    times: impl Fn(usize) -> usize,
    swapped: impl Fn(usize) -> bool,
) -> Option<f64> {
    let (mut low, mut high) = (Vec::new(), Vec::new());
    let (mut sum, mut n) = (0.0, 0.0);
    for item in items {
        low.clear();
        high.clear();
        for (person, is_high, value) in &item.given {
            let side = if *is_high == swapped(*person) {
                &mut low
            } else {
                &mut high
            };
            side.extend(std::iter::repeat_n(*value, times(*person)));
        }
        if !low.is_empty() && !high.is_empty() {
            sum += index.of_prepared(&low, &high, item.anchors);
            n += 1.0;
        }
    }
    (n > 0.0).then(|| sum / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_persons_and_swap_sides() {
        let ln = f64::ln;
        let items = [Answers {
            anchors: (10.0, 100.0),
            given: vec![
                (0, false, ln(10.0)),
                (1, true, ln(100.0)),
                (2, true, ln(10.0)),
            ],
        }];
        let all = mean_index(&items, Index::LogAi, |_| 1, |_| false).unwrap();
        assert!((all - 0.5).abs() < 1e-12);
        let without = mean_index(
            &items,
            Index::LogAi,
            |person| usize::from(person != 2),
            |_| false,
        );
        assert!((without.unwrap() - 1.0).abs() < 1e-12);
        let swapped = mean_index(&items, Index::LogAi, |_| 1, |_| true).unwrap();
        assert!((swapped + 0.5).abs() < 1e-12);
        assert!(
            mean_index(
                &items,
                Index::LogAi,
                |person| usize::from(person == 0),
                |_| false
            )
            .is_none()
        );
    }
}
