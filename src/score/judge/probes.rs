//! How probable each digit is where the score begins.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::calls::Calls;
use super::cells::mean_of;
use super::effects::{Estimate, Universe};
use crate::domain::{
    Condition, Digits, Given, ItemId, ModelName, NoValue, Scored, Standard, TaskName, Verdict,
};
use crate::score::stats::{Line, line};

/// The digits of a model and task.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The model.
    pub model: ModelName,
    /// The task that asked.
    pub task: TaskName,
    /// Texts.
    pub texts: usize,
    /// Prompts with probabilities, by condition.
    pub prompts: BTreeMap<Condition, usize>,
    /// Mean probability of each digit, by condition; over texts with equal weights.
    pub digits: BTreeMap<Condition, [Option<f64>; 10]>,
    /// Of each digit the change of its probability for one point of the earlier score, within C2: a line through all
    /// prompts of one text, else the mean slope of the texts with an interval over them.
    pub slopes: [Option<Estimate>; 10],
    /// Expected digit under C2 minus that under C0, the probabilities of the digits made to add up to 1.
    pub shift: Option<Estimate>,
    /// Mean share of probability that the told digits hold.
    pub held: Option<f64>,
}

/// The digits of scored answers, if these are digits.
#[must_use]
pub fn digits_of(scored: &Scored) -> Option<Digits> {
    let mut digits = [None; 10];
    for (target, score) in scored.scoring.targets.iter().zip(&scored.log_probabilities) {
        let digit = target.trim().parse::<usize>().ok();
        digits[digit.filter(|digit| *digit < 10)?] = *score;
    }
    digits.iter().any(Option::is_some).then_some(digits)
}

/// The verdict that scored answers come to: of digits the mean of those on the scale by their probabilities, of labels the
/// most probable one.
#[must_use]
pub fn likeliest(scored: &Scored, standard: &Standard) -> Verdict {
    let given = match standard {
        Standard::Score { .. } => digits_of(scored)
            .and_then(|digits| {
                expected_digit(&digits.map(|score| score.map_or(0.0, f64::exp)), standard)
            })
            .map(Given::Score),
        Standard::Label(labels) => {
            let scores = scored.scoring.targets.iter().zip(&scored.log_probabilities);
            let best = scores
                .filter_map(|(target, score)| Some((target, (*score)?)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            best.and_then(|(target, _)| {
                let said = target.trim().trim_matches('"');
                labels.iter().position(|label| **label == *said)
            })
            .map(Given::Label)
        }
    };
    Verdict {
        given: given.ok_or(NoValue::NoField),
        accept: None,
    }
}

/// What the calls on a text under one condition tell: the number that was shown, and the probability of each digit.
type Told = Vec<(Option<f64>, [f64; 10])>;

/// The same of all texts and conditions.
type All = BTreeMap<ItemId, BTreeMap<Condition, Told>>;

fn of<'a>(told: &'a All, item: &ItemId, condition: Condition) -> &'a [(Option<f64>, [f64; 10])] {
    let told = told.get(item).and_then(|of_item| of_item.get(&condition));
    told.map_or(&[], Vec::as_slice)
}

/// The probe of some calls; `None` where no call tells of digits.
///
/// Where a reply names the likeliest digits only, the others count as impossible: an upper bound of their probability is that
/// of the least likely one that is named. Digits that no reply names are unknown.
#[must_use]
pub fn probe(calls: &Calls<'_>) -> Option<Probe> {
    let mut told = All::new();
    let mut items = Vec::new();
    let mut named = [false; 10];
    let mut held = Vec::new();
    for call in &calls.calls {
        let Some(digits) = call.line.digits.as_deref() else {
            continue;
        };
        for (named, digit) in named.iter_mut().zip(digits) {
            *named |= digit.is_some();
        }
        let probabilities = digits.map(|score| score.map_or(0.0, f64::exp));
        held.push(probabilities.iter().sum());
        items.push((call.item.clone(), Arc::clone(&call.judging.category)));
        let of_item = told.entry(call.item.clone()).or_default();
        let told = of_item.entry(call.condition).or_default();
        told.push((call.anchor, probabilities));
    }
    if told.is_empty() {
        return None;
    }
    let universe = Universe::of_items(items);
    let mut prompts: BTreeMap<Condition, usize> = BTreeMap::new();
    for (condition, told) in told.values().flatten() {
        *prompts.entry(*condition).or_default() += told.len();
    }
    let digits = prompts.keys().map(|condition| {
        let means = std::array::from_fn(|digit| {
            let items = universe.items.iter();
            let means = items.filter_map(|(item, _)| {
                mean_of(of(&told, item, *condition).iter().map(|(_, p)| p[digit]))
            });
            mean_of(means).filter(|_| named[digit])
        });
        (*condition, means)
    });
    let slope = |item: &ItemId, digit: usize| -> Option<Line> {
        let points = of(&told, item, Condition::C2).iter();
        let points = points.filter_map(|(anchor, p)| Some(((*anchor)?, p[digit])));
        line(&points.collect::<Vec<_>>()).filter(|_| named[digit])
    };
    let slopes = std::array::from_fn(|digit| {
        if let [(item, _)] = universe.items.as_slice() {
            return slope(item, digit).map(|line| Estimate {
                value: line.slope,
                interval: line.interval,
            });
        }
        universe.mean(&universe.values(|item| Some(slope(item, digit)?.slope)))
    });
    let expected = |item: &ItemId, condition| {
        let told = of(&told, item, condition).iter();
        mean_of(told.filter_map(|(_, p)| expected_digit(p, &calls.standard)))
    };
    let shift = universe
        .values(|item| Some(expected(item, Condition::C2)? - expected(item, Condition::C0)?));
    Some(Probe {
        model: calls.model.clone(),
        task: calls.task.clone(),
        texts: universe.items.len(),
        digits: digits.collect(),
        prompts,
        slopes,
        shift: universe.mean(&shift),
        held: mean_of(held),
    })
}

/// The mean of the digits on the scale by their probabilities, made to add up to 1.
fn expected_digit(probabilities: &[f64; 10], standard: &Standard) -> Option<f64> {
    let Standard::Score { scale, .. } = standard else {
        return None;
    };
    let (sum, weighted) = (0_u8..)
        .map(f64::from)
        .zip(probabilities)
        .filter(|(digit, _)| (scale.from..=scale.to).contains(digit))
        .fold((0.0, 0.0), |(sum, weighted), (digit, p)| {
            (sum + p, weighted + p * digit)
        });
    (sum > 0.0).then(|| weighted / sum)
}
