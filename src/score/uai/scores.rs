//! All cells of a store of cases, and what they say together.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{CaseCell, CaseMethod, Distribution, Measured, distribution, pulls, score_case_cell};
use crate::domain::{ModelName, Relevance, Suite, TaskName};
use crate::score::heard::Heard;
use crate::score::samples::cells;
use crate::score::stats::{
    IntervalMethod, Rank, benjamini_hochberg, bootstrap, mean, ranks, wilcoxon,
};
use crate::score::tier::resistance;
use crate::task::Catalog;

/// All scores of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseScores {
    /// How they were computed.
    pub method: CaseMethod,
    /// By model name, then in the order of the tasks.
    pub cells: Vec<CaseCell>,
    /// What the models of a task say together, in the order of the tasks.
    pub pathways: Vec<Pathway>,
    /// Ranks of the cells of a task by how little irrelevant anchors pull, control-free.
    pub ranks: BTreeMap<TaskName, BTreeMap<ModelName, Rank>>,
    /// Samples of tasks or cases that are not loaded, by what is missing.
    pub unknown: BTreeMap<String, usize>,
}

/// The usable cells of one task over models.
#[derive(Debug, Clone, PartialEq)]
pub struct Pathway {
    /// The task.
    pub task: TaskName,
    /// Unweighted mean over models, and their interval, models drawn anew.
    pub uai: BTreeMap<Relevance, Measured>,
    /// Mean of plausible minus irrelevant.
    pub disc: Option<Measured>,
    /// Models in which it is above 0.
    pub positive: usize,
    /// Two-sided signed-rank p of it over models, adjusted over tasks after Benjamini and Hochberg.
    pub p_adjusted: Option<f64>,
    /// Mean pull of plausible anchors by their distance.
    pub dose: BTreeMap<u8, Measured>,
    /// How the index of all cases of all models is spread.
    pub spread: BTreeMap<Relevance, Distribution>,
    /// Mean index of plausible anchors over all cases of all models by distance: of all, and without anchors at an end of
    /// the scale.
    pub boundary: BTreeMap<u8, (Measured, Option<Measured>)>,
}

/// Scores everything that the lines hold of cases.
#[must_use]
pub fn score_cases(heard: &[Heard], catalog: &Catalog, method: CaseMethod) -> CaseScores {
    let (cells, unknown) = cells(heard, catalog, Suite::Anchorbench);
    let scored: Vec<CaseCell> = cells
        .par_iter()
        .map(|cell| score_case_cell(cell, catalog, method))
        .collect();
    let order = |name: &TaskName| catalog.tasks.0.iter().position(|task| task.name == *name);
    let mut by_task: BTreeMap<Option<usize>, Vec<&CaseCell>> = BTreeMap::new();
    for cell in scored.iter().filter(|cell| cell.why.is_none()) {
        by_task.entry(order(&cell.task)).or_default().push(cell);
    }
    let mut pathways: Vec<Pathway> = by_task
        .values()
        .collect::<Vec<_>>()
        .par_iter()
        .map(|cells| pathway(cells))
        .collect();
    let p: Vec<f64> = pathways.iter().filter_map(|one| one.p_adjusted).collect();
    let tested = pathways.iter_mut().filter(|one| one.p_adjusted.is_some());
    for (pathway, adjusted) in tested.zip(benjamini_hochberg(&p)) {
        pathway.p_adjusted = Some(adjusted);
    }
    let ranks = by_task
        .values()
        .collect::<Vec<_>>()
        .par_iter()
        .map(|cells| (cells[0].task.clone(), ranked(cells, catalog)))
        .collect();
    CaseScores {
        method,
        pathways,
        ranks,
        cells: scored,
        unknown,
    }
}

/// Mean over models with its interval.
fn over_models(values: &[f64]) -> Option<Measured> {
    (!values.is_empty()).then(|| Measured {
        value: mean(values),
        interval: (values.len() > 1).then(|| bootstrap(values, IntervalMethod::Percentile)),
        n: values.len(),
    })
}

fn pathway(cells: &[&CaseCell]) -> Pathway {
    let of = |relevance: Relevance| -> Vec<f64> {
        let families = cells.iter().filter_map(|cell| cell.family(relevance));
        families
            .filter_map(|family| Some(family.uai?.value))
            .collect()
    };
    let relevances: Vec<Relevance> = cells[0].all.families.keys().copied().collect();
    let discs: Vec<f64> = cells
        .iter()
        .filter_map(|cell| Some(cell.all.disc?.value))
        .collect();
    let mut dose: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    let mut values: BTreeMap<Relevance, Vec<f64>> = BTreeMap::new();
    let mut edges: BTreeMap<u8, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for cell in cells {
        for (offset, summary) in &cell.by_offset {
            let plausible = summary.families.get(&Relevance::Plausible);
            let pull = plausible.and_then(|family| family.uai);
            dose.entry(*offset)
                .or_default()
                .extend(pull.map(|pull| pull.value));
        }
        for case in pulls(&cell.cases, cell.baseline, cell.method.epsilon) {
            let offset = cell.cases[case.place].facts.offset;
            for directed in &case.directed {
                let Some(uai) = directed.uai else { continue };
                values.entry(directed.relevance).or_default().push(uai);
                if let (Relevance::Plausible, Some(offset)) = (directed.relevance, offset) {
                    let (all, inside) = edges.entry(offset).or_default();
                    all.push(uai);
                    let at_end = directed.anchor.is_some_and(|a| a <= 0.0 || a >= 100.0);
                    inside.extend((!at_end).then_some(uai));
                }
            }
        }
    }
    Pathway {
        task: cells[0].task.clone(),
        uai: relevances
            .into_iter()
            .filter_map(|relevance| Some((relevance, over_models(&of(relevance))?)))
            .collect(),
        positive: discs.iter().filter(|disc| **disc > 0.0).count(),
        p_adjusted: wilcoxon(&discs),
        disc: over_models(&discs),
        dose: dose
            .into_iter()
            .filter_map(|(offset, values)| Some((offset, over_models(&values)?)))
            .collect(),
        spread: values
            .into_iter()
            .filter_map(|(relevance, values)| Some((relevance, distribution(&values)?)))
            .collect(),
        boundary: edges
            .into_iter()
            .filter_map(|(offset, (all, inside))| Some((offset, (plain(&all)?, plain(&inside)))))
            .collect(),
    }
}

/// A mean over many cases and models, with its normal interval.
#[expect(clippy::cast_precision_loss, reason = "a number of values")]
fn plain(values: &[f64]) -> Option<Measured> {
    (!values.is_empty()).then(|| {
        let value = mean(values);
        let half = 1.96 * (super::effect::variance(values) / values.len() as f64).sqrt();
        Measured {
            value,
            interval: half.is_finite().then_some(crate::score::stats::Interval {
                low: value - half,
                high: value + half,
            }),
            n: values.len(),
        }
    })
}

/// Ranks by the control-free pull of irrelevant anchors, case by case.
fn ranked(cells: &[&CaseCell], catalog: &Catalog) -> BTreeMap<ModelName, Rank> {
    let n = catalog.cases.of(&cells[0].task).len();
    let rows: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|cell| {
            let mut row = vec![None; n];
            for case in pulls(&cell.cases, cell.baseline, cell.method.epsilon) {
                let item = &cell.cases[case.place].item;
                if let Some(place) = catalog.cases.place(&cell.task, item) {
                    row[place] = case.control_free(Relevance::Irrelevant, cell.method.epsilon);
                }
            }
            row
        })
        .collect();
    // Cases that nobody was asked about are no draws.
    let asked: Vec<usize> = (0..n)
        .filter(|place| rows.iter().any(|row| row[*place].is_some()))
        .collect();
    let rows: Vec<Vec<Option<f64>>> = rows
        .into_iter()
        .map(|row| asked.iter().map(|place| row[*place]).collect())
        .collect();
    if asked.is_empty() {
        return BTreeMap::new();
    }
    let models = cells.iter().map(|cell| cell.model.clone());
    models.zip(ranks(&rows, resistance)).collect()
}
