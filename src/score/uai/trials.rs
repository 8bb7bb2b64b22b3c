use std::collections::BTreeMap;

use crate::bank::cases::Facts;
use crate::domain::{Condition, ItemId, Loss};
use crate::score::samples::{Cell, Outcome};
use crate::task::Catalog;

/// One answer to a case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The condition.
    pub condition: Condition,
    /// Which repetition, from 1.
    pub epoch: u32,
    /// The number that stood in the prompt, or that the model gave in its first reply.
    pub anchor: Option<f64>,
    /// Whether the anchor is the model's own first reply.
    pub own_anchor: bool,
    /// The answer, 0 to 100, or why there is none.
    pub answer: Result<f64, Loss>,
}

/// All answers to a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseTrials {
    /// The case.
    pub item: ItemId,
    /// What is known of it.
    pub facts: Facts,
    /// The answers, by condition and epoch.
    pub trials: Vec<Trial>,
}

impl CaseTrials {
    /// Usable answers under a condition, with their anchors.
    pub fn answers(&self, condition: Condition) -> impl Iterator<Item = (f64, Option<f64>)> {
        let of = move |trial: &&Trial| trial.condition == condition;
        let trials = self.trials.iter().filter(of);
        trials.filter_map(|trial| Some((trial.answer.ok()?, trial.anchor)))
    }

    /// Mean of the usable answers under a condition.
    #[must_use]
    pub fn mean(&self, condition: Condition) -> Option<f64> {
        let (mut sum, mut n) = (0.0, 0.0);
        for (answer, _) in self.answers(condition) {
            sum += answer;
            n += 1.0;
        }
        (n > 0.0).then(|| sum / n)
    }
}

/// The answers of a cell by case, in the order of the set.
#[must_use]
pub fn trials(cell: &Cell<'_>, catalog: &Catalog) -> Vec<CaseTrials> {
    let mut by_place: BTreeMap<usize, CaseTrials> = BTreeMap::new();
    for samples in cell.samples.chunk_by(|a, b| a.slot.item == b.slot.item) {
        let item = &samples[0].slot.item;
        let place = catalog.cases.place(&cell.task.name, item);
        let (Some(place), Some(case)) = (place, catalog.case(&cell.task.name, item)) else {
            continue;
        };
        let trials = samples.iter().map(|sample| Trial {
            condition: sample.slot.condition,
            epoch: sample.slot.epoch,
            anchor: sample.anchor,
            own_anchor: sample.own_anchor,
            answer: match sample.outcome {
                Outcome::Estimate(value) => Ok(value),
                Outcome::Lost(loss) => Err(loss),
            },
        });
        let case = CaseTrials {
            item: item.clone(),
            facts: case.facts.clone(),
            trials: trials.collect(),
        };
        by_place.insert(place, case);
    }
    by_place.into_values().collect()
}
