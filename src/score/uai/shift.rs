//! What an anchor does to the error.

use super::CaseTrials;
use crate::domain::Condition;

/// Answers under anchors by what became of their error against the gold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares {
    /// Further from the gold than the control.
    pub harmful: usize,
    /// Closer to it.
    pub helpful: usize,
    /// As far.
    pub neutral: usize,
}

impl Shares {
    /// All of them.
    #[must_use]
    pub fn n(self) -> usize {
        self.harmful + self.helpful + self.neutral
    }

    fn add(&mut self, with: f64, without: f64) {
        if with > without {
            self.harmful += 1;
        } else if with < without {
            self.helpful += 1;
        } else {
            self.neutral += 1;
        }
    }
}

/// Errors under the anchors of one relevance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shift {
    /// All answers with an anchor.
    pub all: Shares,
    /// Those whose anchor lay closer to the gold than the control's answer.
    pub closer: Shares,
    /// Those whose anchor lay further away.
    pub farther: Shares,
    /// Those whose anchor lay as far.
    pub equidistant: Shares,
}

/// Counts the answers under some conditions, against the answers under `baseline`. Tolerance 0; epochs are averaged.
pub(super) fn shift(cases: &[CaseTrials], conditions: &[Condition], baseline: Condition) -> Shift {
    let mut shift = Shift::default();
    for case in cases {
        let gold = case.facts.gold;
        let Some(control) = case.mean(baseline) else {
            continue;
        };
        let without = (control - gold).abs();
        for condition in conditions {
            let anchors: Vec<f64> = case.answers(*condition).filter_map(|(_, a)| a).collect();
            let (Some(answer), false) = (case.mean(*condition), anchors.is_empty()) else {
                continue;
            };
            let with = (answer - gold).abs();
            let away = (crate::score::stats::mean(&anchors) - gold).abs();
            let by_distance = if away < without {
                &mut shift.closer
            } else if away > without {
                &mut shift.farther
            } else {
                &mut shift.equidistant
            };
            by_distance.add(with, without);
            shift.all.add(with, without);
        }
    }
    shift
}
