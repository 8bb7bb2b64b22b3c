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
    /// (answer − control) / (anchor − control), the mean over epochs; `None` without an anchor or a control, or with an
    /// anchor within epsilon of the control.
    pub uai: Option<f64>,
    /// Whether the answer moved towards the anchor, the mean over epochs; no move is none. `None` without an anchor or a
    /// control.
    pub towards: Option<f64>,
}

/// What a case gives.
#[derive(Debug, Clone, PartialEq)]
pub struct CasePull {
    /// Place among the cases of the cell.
    pub place: usize,
    /// The control's answer, the mean over epochs; `None` without a usable one.
    pub control: Option<f64>,
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
        let (gap, moved) = self.between(relevance)?;
        (gap.abs() >= epsilon).then(|| moved / gap)
    }

    /// The distance of the high from the low anchor, and of the answers under them; `None` if a side is missing.
    pub(super) fn between(&self, relevance: Relevance) -> Option<(f64, f64)> {
        let (low, high) = (
            self.at(relevance, Side::Low)?,
            self.at(relevance, Side::High)?,
        );
        Some((high.anchor? - low.anchor?, high.answer - low.answer))
    }
}

/// The pull of each case with a usable answer, measured from `baseline`.
///
/// Source of the index: Jacowitz & Kahneman (1995), whose low and high halves it is; of epsilon: `AnchorBench`, where exactly
/// 3 points stay in.
#[must_use]
pub fn pulls(cases: &[CaseTrials], baseline: Condition, epsilon: f64) -> Vec<CasePull> {
    cases
        .iter()
        .enumerate()
        .filter_map(|(place, case)| {
            let control = case.mean(baseline);
            let directed: Vec<Directed> = Condition::iter()
                .filter_map(|condition| direct(case, condition, control, epsilon))
                .collect();
            (control.is_some() || !directed.is_empty()).then_some(CasePull {
                place,
                control,
                directed,
            })
        })
        .collect()
}

fn direct(
    case: &CaseTrials,
    condition: Condition,
    control: Option<f64>,
    epsilon: f64,
) -> Option<Directed> {
    let (relevance, side) = condition.anchored()?;
    let answer = case.mean(condition)?;
    // Of anchors, moves and indices.
    let (mut sums, mut counts) = ([0.0; 3], [0.0; 3]);
    for (answer, anchor) in case.answers(condition) {
        let Some(anchor) = anchor else { continue };
        sums[0] += anchor;
        counts[0] += 1.0;
        let Some(control) = control else { continue };
        let (moved, away) = (answer - control, anchor - control);
        sums[1] += f64::from(u8::from(moved * away > 0.0));
        counts[1] += 1.0;
        if away.abs() >= epsilon {
            sums[2] += moved / away;
            counts[2] += 1.0;
        }
    }
    let mean = |of: usize| (counts[of] > 0.0).then(|| sums[of] / counts[of]);
    Some(Directed {
        relevance,
        side,
        answer,
        anchor: mean(0),
        towards: mean(1),
        uai: mean(2),
    })
}
