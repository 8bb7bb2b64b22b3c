//! Scores: pure functions of (stored lines, questions, tasks, method).
//!
//! `samples` turns lines into one outcome for each slot, `index` and `cell` score a cell, `model` what belongs to a model
//! over its tasks, `ranks` what belongs to a board. No files, no formats, no clock; chance comes from a fixed seed.

pub mod cell;
pub mod contrast;
pub mod heard;
mod implied;
pub mod index;
pub mod judge;
pub mod model;
pub mod noise;
mod people;
pub mod relief;
pub mod samples;
pub mod settings;
pub mod spinner;
pub mod stats;
pub mod tier;
pub mod uai;

use std::collections::BTreeMap;

use rayon::prelude::*;

pub use cell::{CellScore, ItemScore, Method, score_cell};
pub use heard::{Heard, Pool};
pub use implied::{implied_median, mass};
pub use index::Index;
pub use model::{ModelScore, score_model};
pub use samples::{Cell, CellSample, Outcome, cells};
pub use stats::{Interval, IntervalMethod, Rank};
pub use tier::TierScore;
pub use uai::{Baseline, CaseMethod, CaseScores, Clustering, score_cases};

use crate::domain::{Condition, ModelName, Suite, TaskName};
use crate::task::Catalog;
use cell::Adjusted;
use stats::{benjamini_hochberg, holm};
use tier::resistance;

/// All scores of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// How they were computed.
    pub method: Method,
    /// By model name, then in the order of the tasks.
    pub cells: Vec<CellScore>,
    /// By model name.
    pub models: Vec<ModelScore>,
    /// Ranks by resistance of the scored cells of each task.
    pub ranks: BTreeMap<TaskName, BTreeMap<ModelName, Rank>>,
    /// Samples of tasks or items that are not loaded, by what is missing.
    pub unknown: BTreeMap<String, usize>,
}

/// Scores everything that the lines hold.
#[must_use]
pub fn score(heard: &[Heard], catalog: &Catalog, method: Method) -> Scores {
    let bank = &catalog.bank;
    let (cells, unknown) = cells(heard, catalog, Suite::Wheel);
    let mut models = model::score_models(&cells, heard, bank);
    let mut scored: Vec<CellScore> = cells
        .par_iter()
        .map(|cell| score_cell(cell, baseline(cell, &cells), bank, method))
        .collect();
    adjust(&mut scored);
    for model in &mut models {
        let of = |task: &str| {
            scored
                .iter()
                .find(|cell| cell.model == model.model && cell.task.as_str() == task)
        };
        model.relief = of("classic")
            .zip(of("thinking"))
            .filter(|_| method.index != Index::Raw)
            .and_then(|(classic, thinking)| relief::relief(classic, thinking, method.interval));
    }
    Scores {
        method,
        ranks: ranks(&scored),
        cells: scored,
        models,
        unknown,
    }
}

/// The samples without an anchor that belong to a cell: its own, or those of the same model's task without anchors.
fn baseline<'a, 'b>(cell: &'a Cell<'b>, cells: &'a [Cell<'b>]) -> Option<&'a Cell<'b>> {
    if cell.task.conditions.contains(&Condition::Unanchored) {
        return Some(cell);
    }
    // Probabilities are compared with probabilities, replies with replies.
    let alike = |other: &&Cell<'_>| other.task.targets.is_some() == cell.task.targets.is_some();
    cells
        .iter()
        .filter(alike)
        .find(|other| other.model == cell.model && other.task.conditions == [Condition::Unanchored])
}

/// Adjusts the p values of all cells for their number; replies and probabilities are two families.
fn adjust(cells: &mut [CellScore]) {
    for by_probability in [false, true] {
        let tested =
            |cell: &&mut CellScore| cell.all.p.is_some() && cell.mass.is_some() == by_probability;
        let p: Vec<f64> = cells
            .iter_mut()
            .filter(tested)
            .filter_map(|cell| cell.all.p)
            .collect();
        let adjusted = holm(&p).into_iter().zip(benjamini_hochberg(&p));
        for (cell, (holm, benjamini_hochberg)) in cells.iter_mut().filter(tested).zip(adjusted) {
            cell.adjusted = Some(Adjusted {
                holm,
                benjamini_hochberg,
            });
        }
    }
}

/// Ranks the scored cells of each task.
fn ranks(cells: &[CellScore]) -> BTreeMap<TaskName, BTreeMap<ModelName, Rank>> {
    let mut by_task: BTreeMap<&TaskName, Vec<&CellScore>> = BTreeMap::new();
    for cell in cells
        .iter()
        .filter(|cell| cell.all.index.is_some() && cell.method.index != Index::Raw)
        // People are no competitors.
        .filter(|cell| cell.people.is_none())
    {
        by_task.entry(&cell.task).or_default().push(cell);
    }
    by_task
        .into_par_iter()
        .map(|(task, cells)| {
            let rows: Vec<Vec<Option<f64>>> = cells
                .iter()
                .map(|cell| cell.items.iter().map(|item| item.index).collect())
                .collect();
            let ranks = stats::ranks(&rows, resistance);
            let models = cells.iter().map(|cell| cell.model.clone());
            (task.clone(), models.zip(ranks).collect())
        })
        .collect()
}
