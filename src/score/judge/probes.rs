//! How probable each digit is where the score begins.

use std::collections::BTreeMap;

use super::calls::{Call, Calls};
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
        Standard::Score { scale, .. } => digits_of(scored)
            .and_then(|mut digits| {
                for (place, digit) in (0_u8..).zip(&mut digits) {
                    let on_scale = scale
                        .clip(f64::from(place))
                        .total_cmp(&f64::from(place))
                        .is_eq();
                    *digit = digit.filter(|_| on_scale);
                }
                expected_digit(&digits)
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

/// The probe of some calls; `None` where no call tells of digits.
#[must_use]
pub fn probe(calls: &Calls<'_>) -> Option<Probe> {
    let told: Vec<(&Call<'_>, Digits)> = calls
        .calls
        .iter()
        .filter_map(|call| Some((call, *call.line.digits.as_deref()?)))
        .collect();
    if told.is_empty() {
        return None;
    }
    let categories = told
        .iter()
        .map(|(call, _)| (call.item.clone(), call.category.clone()));
    let universe = Universe::of_items(categories);
    let of = |item: &ItemId, condition: Condition| -> Vec<&(&Call<'_>, Digits)> {
        told.iter()
            .filter(|(call, _)| call.item == item && call.condition == condition)
            .collect()
    };
    let mean = |item: &ItemId, condition: Condition, digit: usize| {
        mean_of(
            of(item, condition)
                .iter()
                .filter_map(|(_, digits)| Some(digits[digit]?.exp())),
        )
    };
    let conditions: std::collections::BTreeSet<Condition> =
        told.iter().map(|(call, _)| call.condition).collect();
    let digits = conditions.iter().map(|condition| {
        let means = std::array::from_fn(|digit| {
            let items = universe.items.iter();
            mean_of(items.filter_map(|(item, _)| mean(item, *condition, digit)))
        });
        (*condition, means)
    });
    let slope = |item: &ItemId, digit: usize| -> Option<Line> {
        let of_item = of(item, Condition::C2);
        let points = of_item.iter();
        let points = points.filter_map(|(call, digits)| Some((call.anchor?, digits[digit]?.exp())));
        line(&points.collect::<Vec<_>>())
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
    let expected = |item: &ItemId, condition: Condition| {
        let of_item = of(item, condition);
        let means = of_item
            .iter()
            .filter_map(|(_, digits)| expected_digit(digits));
        mean_of(means)
    };
    let shift = universe
        .values(|item| Some(expected(item, Condition::C2)? - expected(item, Condition::C0)?));
    Some(Probe {
        model: calls.model.clone(),
        task: calls.task.clone(),
        texts: universe.items.len(),
        prompts: conditions
            .iter()
            .map(|condition| {
                let n = told
                    .iter()
                    .filter(|(call, _)| call.condition == *condition)
                    .count();
                (*condition, n)
            })
            .collect(),
        digits: digits.collect(),
        slopes,
        shift: universe.mean(&shift),
        held: mean_of(told.iter().map(|(_, digits)| {
            digits
                .iter()
                .flatten()
                .map(|score| score.exp())
                .sum::<f64>()
        })),
    })
}

/// The mean of the digits by their probabilities, made to add up to 1.
fn expected_digit(digits: &Digits) -> Option<f64> {
    let known = digits.iter().zip(0_u8..);
    let (sum, weighted) = known
        .filter_map(|(score, digit)| Some(((*score)?.exp(), f64::from(digit))))
        .fold((0.0, 0.0), |(sum, weighted), (p, digit)| {
            (sum + p, weighted + p * digit)
        });
    (sum > 0.0).then(|| weighted / sum)
}
