//! Whether the effect grows with the earlier score, or comes with the mere presence of one.

use std::collections::BTreeMap;

use super::calls::{Call, Calls, Temperature};
use super::cells::{Cells, Measure};
use super::effects::{Estimate, Universe};
use crate::domain::{Condition, ItemId};
use crate::score::stats::{Interval, Line, line};

/// How the answer to an earlier score looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum Response {
    /// No clear shift, and a flat slope: nothing to be seen.
    Null,
    /// A clear shift and a flat slope: the block moves the score, its number hardly matters.
    ThresholdLike,
    /// A clear shift that grows with the earlier score.
    Graded,
    /// The score follows the number, but no clear shift is left over all numbers together.
    SlopeOnly,
    /// The score moves away from the number.
    Contrary,
    /// A clear shift, and a slope that is not known well enough to say whether it is flat.
    Unclear,
}

/// Slopes within C2 of a model and task: the change of the score for one point of the earlier score.
#[derive(Debug, Clone, PartialEq)]
pub struct Slopes {
    /// By text, over temperatures and trials.
    pub by_text: BTreeMap<ItemId, Line>,
    /// Within texts and temperatures, all texts together.
    pub all: Option<Estimate>,
    /// Valid calls that it rests on.
    pub n: usize,
    /// The lowest and the highest earlier score.
    pub range: Option<[f64; 2]>,
    /// How far scores lie from those without a block, as a share of the way to the earlier score; mean over texts.
    pub pull: Option<Estimate>,
}

/// Earlier scores and the scores given beside them.
type Points = Vec<(f64, f64)>;

/// A pull over less than this share of the scale is not computed, as in `AnchorBench`.
const NEAR: f64 = 0.03;

/// What is 0 but for rounding.
pub(super) const ROUNDING: f64 = 1e-9;

/// The slopes of the calls that show an earlier score.
#[must_use]
pub fn slopes(calls: &Calls<'_>, cells: &Cells, universe: &Universe) -> Slopes {
    let shown: Vec<(&Call<'_>, f64, f64)> = calls
        .calls
        .iter()
        .filter(|call| call.condition == Condition::C2)
        .filter_map(|call| Some((call, call.anchor?, call.score()?)))
        .collect();
    let mut by_cell: BTreeMap<&ItemId, BTreeMap<Temperature, Points>> = BTreeMap::new();
    let mut by_item: BTreeMap<&ItemId, Vec<(f64, f64)>> = BTreeMap::new();
    let length = calls.scale().map_or(0.0, |(scale, _)| scale.length());
    let mut pulls: BTreeMap<&ItemId, Vec<f64>> = BTreeMap::new();
    for (call, anchor, score) in &shown {
        let of_item = by_cell.entry(call.item).or_default();
        let points = of_item.entry(call.temperature).or_default();
        points.push((*anchor, *score));
        by_item
            .entry(call.item)
            .or_default()
            .push((*anchor, *score));
        let alone = cells.mean(call.item, call.temperature, Condition::C0, Measure::Score);
        if let Some(alone) = alone.filter(|alone| (anchor - alone).abs() >= NEAR * length) {
            let pull = (score - alone) / (anchor - alone);
            pulls.entry(call.item).or_default().push(pull);
        }
    }
    let parts: Vec<Option<(f64, f64)>> = universe
        .items
        .iter()
        .map(|(item, _)| {
            let sums = by_cell.get(item)?.values().map(|points| within(points));
            sums.reduce(|(a, b), (c, d)| (a + c, b + d))
        })
        .collect();
    let mut all = universe.ratio(&parts);
    if by_cell.len() == 1 && by_cell.values().all(|cells| cells.len() == 1) {
        // One text is no sample of texts; its own line has an interval over calls.
        let of_text = by_item.values().next().and_then(|points| line(points));
        all = all.map(|all| Estimate {
            interval: of_text.and_then(|line| line.interval),
            ..all
        });
    }
    let ends = shown.iter().map(|(_, anchor, _)| *anchor);
    let range = ends.fold(None, |range: Option<[f64; 2]>, anchor| {
        let [low, high] = range.unwrap_or([anchor; 2]);
        Some([low.min(anchor), high.max(anchor)])
    });
    let means: Vec<Option<f64>> = universe.values(|item| {
        let of = pulls.get(item)?;
        super::cells::mean_of(of.iter().copied())
    });
    Slopes {
        by_text: by_item
            .iter()
            .filter_map(|(item, points)| Some(((*item).clone(), line(points)?)))
            .collect(),
        all,
        n: shown.len(),
        range,
        pull: universe.mean(&means),
    }
}

/// Sums of products and of squares around the means of a cell.
fn within(points: &[(f64, f64)]) -> (f64, f64) {
    let mean = |of: fn(&(f64, f64)) -> f64| super::cells::mean_of(points.iter().map(of));
    let (x, y) = (mean(|(x, _)| *x), mean(|(_, y)| *y));
    let (x, y) = (x.unwrap_or_default(), y.unwrap_or_default());
    points.iter().fold((0.0, 0.0), |(xy, xx), (a, b)| {
        (xy + (a - x) * (b - y), xx + (a - x).powi(2))
    })
}

/// Reads shift and slope together.
///
/// The shift is clear if its interval leaves 0 out. The slope is flat if its interval holds 0 and the scores that it spans
/// over the range of earlier scores differ by less than a third of the shift; without a clear shift, if its interval holds
/// 0. `None` where an interval is not known.
#[must_use]
pub fn response(shift: Option<Estimate>, slopes: &Slopes) -> Option<Response> {
    let (shift, slope) = (shift?, slopes.all?);
    let [low, high] = slopes.range?;
    // Sums of equal scores may differ from 0 in their last bits.
    let holds_zero = |interval: Interval| interval.low <= ROUNDING && interval.high >= -ROUNDING;
    let clear = !holds_zero(shift.interval?);
    let still = holds_zero(slope.interval?);
    let small = slope.value.abs() * (high - low) < shift.value.abs() / 3.0;
    Some(match (clear, still) {
        (false, true) => Response::Null,
        (true, true) if small => Response::ThresholdLike,
        (true, true) => Response::Unclear,
        (_, false) if slope.value < 0.0 => Response::Contrary,
        (true, false) => Response::Graded,
        (false, false) => Response::SlopeOnly,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flat_slope_alone_says_nothing_and_an_unsure_one_is_not_called_graded() {
        let estimate = |value: f64, reach: f64| Estimate {
            value,
            interval: Some(Interval {
                low: value - reach,
                high: value + reach,
            }),
        };
        let read = |shift: Estimate, slope: Estimate| {
            let slopes = Slopes {
                by_text: BTreeMap::new(),
                all: Some(slope),
                n: 80,
                range: Some([1.0, 3.9]),
                pull: None,
            };
            response(Some(shift), &slopes).unwrap()
        };
        let shifted = estimate(-0.6, 0.1);
        let still = estimate(-0.1, 0.2);
        assert_eq!(read(shifted, estimate(0.01, 0.02)), Response::ThresholdLike);
        assert_eq!(read(shifted, estimate(0.1, 0.2)), Response::Unclear);
        assert_eq!(read(shifted, estimate(0.1, 0.05)), Response::Graded);
        assert_eq!(read(shifted, estimate(-0.1, 0.05)), Response::Contrary);
        assert_eq!(read(still, estimate(0.01, 0.02)), Response::Null);
        assert_eq!(read(still, estimate(0.1, 0.05)), Response::SlopeOnly);
    }
}
