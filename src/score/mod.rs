//! Scores: a pure function of the stored samples, the bank and the tasks.
//!
//! [`samples`] turns stored attempts into outcomes, [`log_ratio`] scores the cells of the wheel, [`model`] what
//! belongs to a model over its tasks. No files, no formats, no clock; chance comes from a fixed seed.

pub mod log_ratio;
pub mod model;
pub mod samples;
pub mod stats;

pub use log_ratio::{CellScore, ItemScore, TierScore, score_cell};
pub use model::{ModelScore, score_model};
pub use samples::{Cell, CellSample, Heard, Outcome, cells};
pub use stats::Interval;

use crate::bank::Bank;
use crate::task::Tasks;

/// All scores of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// By model name, then in the order of the tasks.
    pub cells: Vec<CellScore>,
    /// By model name.
    pub models: Vec<ModelScore>,
    /// Samples of tasks or items that are not loaded, by what is missing.
    pub unknown: std::collections::BTreeMap<String, usize>,
}

/// Scores everything that the lines hold.
#[must_use]
pub fn score(heard: &[Heard], bank: &Bank, tasks: &Tasks) -> Scores {
    let (cells, unknown) = cells(heard, bank, tasks);
    let mut models = model::score_models(&cells, heard, bank);
    let cells: Vec<CellScore> = cells.iter().map(|cell| score_cell(cell, bank)).collect();
    for model in &mut models {
        let of = |task: &str| {
            cells
                .iter()
                .find(|cell| cell.model == model.model && cell.task.as_str() == task)
        };
        model.relief = of("classic")
            .zip(of("thinking"))
            .and_then(|(classic, thinking)| log_ratio::relief(classic, thinking));
    }
    Scores {
        cells,
        models,
        unknown,
    }
}
