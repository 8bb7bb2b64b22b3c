//! The index of one case.

use strum::IntoEnumIterator;

use super::CaseTrials;
use crate::domain::{Condition, Relevance, Side};

/// A case under one anchor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Directed {
    /// What the anchor is worth.
    pub relevance: Relevance,
    /// On which side it lies.
    pub side: Side,
    /// The answer under it, the mean over epochs.
    pub answer: f64,
    /// The anchor, the mean over epochs; `None` if the first reply gave none.
    pub anchor: Option<f64>,
    /// (answer − control) / (anchor − control), the mean over epochs; `None` without an anchor, or with one within
    /// epsilon of the control.
    pub uai: Option<f64>,
    /// Whether the answer moved towards the anchor, the mean over epochs; no move is none.
    pub towards: Option<f64>,
}

/// What a case gives.
#[derive(Debug, Clone, PartialEq)]
pub struct CasePull {
    /// Place among the cases of the cell.
    pub place: usize,
    /// The control's answer, the mean over epochs.
    pub control: f64,
    /// Under each anchor with a usable answer, in the order of the conditions.
    pub directed: Vec<Directed>,
}

impl CasePull {
    /// What the case gives under one anchor.
    #[must_use]
    pub fn at(&self, relevance: Relevance, side: Side) -> Option<&Directed> {
        self.directed
            .iter()
            .find(|directed| directed.relevance == relevance && directed.side == side)
    }

    /// (answer under high − answer under low) / (high − low anchor): a pull without a control, which a drift that any
    /// further sentence causes does not touch.
    ///
    /// `None` if a side is missing or the anchors lie closer than `epsilon`.
    #[must_use]
    pub fn control_free(&self, relevance: Relevance, epsilon: f64) -> Option<f64> {
        let (low, high) = (
            self.at(relevance, Side::Low)?,
            self.at(relevance, Side::High)?,
        );
        let gap = high.anchor? - low.anchor?;
        (gap.abs() >= epsilon).then(|| (high.answer - low.answer) / gap)
    }
}

/// The pull of each case with a usable control, measured from `baseline`.
///
/// Source of the index: Jacowitz & Kahneman (1995), whose low and high halves it is; of epsilon: `AnchorBench`, where exactly
/// 3 points stay in.
#[must_use]
pub fn pulls(cases: &[CaseTrials], baseline: Condition, epsilon: f64) -> Vec<CasePull> {
    cases
        .iter()
        .enumerate()
        .filter_map(|(place, case)| {
            let control = case.mean(baseline)?;
            let directed =
                Condition::iter().filter_map(|condition| direct(case, condition, control, epsilon));
            Some(CasePull {
                place,
                control,
                directed: directed.collect(),
            })
        })
        .collect()
}

fn direct(case: &CaseTrials, condition: Condition, control: f64, epsilon: f64) -> Option<Directed> {
    let (relevance, side) = condition.anchored()?;
    let answer = case.mean(condition)?;
    let mut sums = [0.0; 3];
    let mut counts = [0.0; 2];
    for (answer, anchor) in case.answers(condition) {
        let Some(anchor) = anchor else { continue };
        let (moved, away) = (answer - control, anchor - control);
        sums[0] += anchor;
        sums[1] += f64::from(u8::from(moved * away > 0.0));
        counts[0] += 1.0;
        if away.abs() >= epsilon {
            sums[2] += moved / away;
            counts[1] += 1.0;
        }
    }
    let mean = |sum: f64, count: f64| (count > 0.0).then(|| sum / count);
    Some(Directed {
        relevance,
        side,
        answer,
        anchor: mean(sums[0], counts[0]),
        uai: mean(sums[2], counts[1]),
        towards: mean(sums[1], counts[0]),
    })
}
