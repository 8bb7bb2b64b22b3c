//! How single values of judges are written.

use crate::domain::Condition;
use crate::publish::format::{UNKNOWN, UNSCORED, two, with_interval};
use crate::score::Interval;
use crate::score::judge::{Contrast, Estimate, JudgeModel, Response, Share};

/// A value with its interval; a dash if there is none.
pub(super) fn estimate(value: Option<Estimate>) -> String {
    value.map_or_else(
        || UNSCORED.to_owned(),
        |one| with_interval(one.value, one.interval),
    )
}

/// The same in hundredths: shares as percentages, their differences as points.
pub(super) fn points(value: Option<Estimate>) -> String {
    estimate(value.map(|one| Estimate {
        value: one.value * 100.0,
        interval: one.interval.map(|interval| Interval {
            low: interval.low * 100.0,
            high: interval.high * 100.0,
        }),
    }))
}

/// "21.62 % [16.22, 27.03] (48 of 222)".
pub(super) fn share(share: Option<&Share>) -> String {
    share.map_or_else(
        || UNSCORED.to_owned(),
        |share| {
            format!(
                "{} ({} of {})",
                points(Some(share.estimate)),
                share.k,
                share.n
            )
        },
    )
}

/// A mean without an interval.
pub(super) fn mean(value: Option<f64>) -> String {
    value.map_or_else(|| UNSCORED.to_owned(), two)
}

/// Why the effect of a model is not shown; `None` if it is.
pub(in crate::publish) fn why_not(model: &JudgeModel) -> Option<String> {
    for condition in [Condition::C0, Condition::C2] {
        match model.counts.get(&condition) {
            None => return Some(format!("{condition} was not asked")),
            Some((n, valid)) if *valid == 0 => {
                return Some(format!("none of {n} calls under {condition} has a score"));
            }
            Some(_) => {}
        }
    }
    if !model.gaps.texts.is_empty() {
        let n = model.gaps.texts.len();
        return Some(format!("texts without a pair of cells: {n}"));
    }
    if model.is_covered() {
        return None;
    }
    Some("fewer than 80 % of the calls under c0 or c2 have a score".to_owned())
}

/// An effect on scores that may be shown.
pub(super) fn effect(model: &JudgeModel, contrast: Contrast) -> String {
    match why_not(model) {
        Some(_) => UNSCORED.to_owned(),
        None => estimate(model.effects.get(&contrast).copied()),
    }
}

/// Shift and slope read together, in a word.
pub(super) fn reading(response: Option<Response>) -> String {
    response.map_or_else(
        || UNKNOWN.to_owned(),
        |response| match response {
            Response::Null => "no clear shift".to_owned(),
            Response::ThresholdLike => "threshold-like".to_owned(),
            Response::Graded => "graded".to_owned(),
            Response::SlopeOnly => "follows the number, no shift".to_owned(),
            Response::Contrary => "moves away from the number".to_owned(),
            Response::Unclear => "shift, slope not known well enough".to_owned(),
        },
    )
}

/// "79 of 80" for each condition that was asked.
pub(super) fn valid(model: &JudgeModel) -> String {
    let counts = model.counts.iter();
    let texts = counts.map(|(condition, (n, valid))| format!("{condition} {valid} of {n}"));
    texts.collect::<Vec<_>>().join(", ")
}

/// A small value with four digits and its interval.
pub(super) fn four(value: Estimate) -> String {
    let ends = value.interval.map_or_else(
        || UNKNOWN.to_owned(),
        |interval| format!("{:.4}, {:.4}", interval.low, interval.high),
    );
    format!("{:.4} [{ends}]", value.value)
}
