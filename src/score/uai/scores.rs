//! All cells of a store of cases, and what they say together.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::{
    CaseCell, CaseMethod, CaseTrials, Distribution, Measured, distribution, pulls, score_case_cell,
};
use crate::domain::{ItemId, ModelName, Relevance, Suite, TaskName};
use crate::score::heard::Heard;
use crate::score::samples::cells;
use crate::score::stats::{
    IntervalMethod, Rank, Ratio, Ratios, benjamini_hochberg, bootstrap, mean, ranks, wilcoxon,
};
use crate::score::tier::{covered, resistance};
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
    /// Ranks of the comparable cells of a task by how little irrelevant anchors pull, control-free.
    pub ranks: BTreeMap<TaskName, BTreeMap<ModelName, Rank>>,
    /// Samples of tasks or cases that are not loaded, by what is missing.
    pub unknown: BTreeMap<String, usize>,
}

/// The usable cells of one task over models, without those that were asked about much fewer cases than others.
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
    by_task.values_mut().for_each(keep_comparable);
    let mut pathways: Vec<Pathway> = by_task
        .values()
        .collect::<Vec<_>>()
        .par_iter()
        .map(|cells| pathway(cells))
        .collect();
    // Variants are a family of tests of their own: asking one does not touch the p of the tasks.
    let is_variant = |one: &Pathway| {
        let task = catalog.tasks.get(one.task.as_str());
        task.is_some_and(|task| task.variant_of.is_some())
    };
    for variants in [false, true] {
        let of_family = |one: &&mut Pathway| is_variant(one) == variants;
        let family = pathways.iter_mut().filter(of_family);
        let mut tested: Vec<&mut f64> = family.filter_map(|one| one.p_adjusted.as_mut()).collect();
        let p: Vec<f64> = tested.iter().map(|p| **p).collect();
        for (p, adjusted) in tested.iter_mut().zip(benjamini_hochberg(&p)) {
            **p = adjusted;
        }
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

/// Takes out the cells that were asked about less than 80 % of the cases of the largest: the mean of a handful of cases
/// is neither ranked among nor averaged with those of hundreds.
fn keep_comparable(cells: &mut Vec<&CaseCell>) {
    let most = cells.iter().map(|cell| cell.all.cases).max().unwrap_or(0);
    cells.retain(|cell| covered(cell.all.cases, most));
}

/// Mean over models with its interval, models drawn anew; `None` of none.
#[must_use]
pub fn over_models(values: &[f64]) -> Option<Measured> {
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
    let mut edges: BTreeMap<u8, ByCase> = BTreeMap::new();
    for cell in cells {
        for (offset, summary) in &cell.by_offset {
            let plausible = summary.families.get(&Relevance::Plausible);
            let pull = plausible.and_then(|family| family.uai);
            dose.entry(*offset)
                .or_default()
                .extend(pull.map(|pull| pull.value));
        }
        for case in pulls(&cell.cases, cell.baseline, cell.method.epsilon) {
            let CaseTrials { item, facts, .. } = &cell.cases[case.place];
            for directed in &case.directed {
                let Some(uai) = directed.uai else { continue };
                values.entry(directed.relevance).or_default().push(uai);
                if let (Relevance::Plausible, Some(offset)) = (directed.relevance, facts.offset) {
                    let at_end = directed.anchor.is_some_and(|a| a <= 0.0 || a >= 100.0);
                    let of_case = edges.entry(offset).or_default().entry(item).or_default();
                    of_case.push((uai, !at_end));
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
            .filter_map(|(offset, by_case)| Some((offset, boundary(&by_case)?)))
            .collect(),
    }
}

/// Values of each case, and whether the anchor lies within the scale.
type ByCase<'a> = BTreeMap<&'a ItemId, Vec<(f64, bool)>>;

/// The mean of the values of cases, and of those of them whose anchor lies within the scale; cases are drawn anew with all
/// their values.
fn boundary(by_case: &ByCase<'_>) -> Option<(Measured, Option<Measured>)> {
    let mut ratios = Ratios::new(2);
    let (mut all, mut inside) = (0, 0);
    for of_case in by_case.values() {
        ratios.cluster();
        for (value, within) in of_case {
            ratios.add(0, *value);
            all += 1;
            if *within {
                ratios.add(1, *value);
                inside += 1;
            }
        }
    }
    let means = [Ratio::Mean(0), Ratio::Mean(1)];
    let intervals = ratios.intervals(&means);
    let of = |column: usize, n: usize| {
        Some(Measured {
            value: ratios.value(means[column])?,
            interval: intervals[column],
            n,
        })
    };
    Some((of(0, all)?, of(1, inside)))
}

/// Ranks by the control-free pull of irrelevant anchors, case by case; a cell without any has none.
fn ranked(cells: &[&CaseCell], catalog: &Catalog) -> BTreeMap<ModelName, Rank> {
    let mut rows: Vec<(ModelName, BTreeMap<usize, f64>)> = Vec::new();
    for cell in cells {
        let mut row = BTreeMap::new();
        for case in pulls(&cell.cases, cell.baseline, cell.method.epsilon) {
            let item = &cell.cases[case.place].item;
            let place = catalog.cases.place(&cell.task, item);
            let pull = case.control_free(Relevance::Irrelevant, cell.method.epsilon);
            row.extend(place.zip(pull));
        }
        if !row.is_empty() {
            rows.push((cell.model.clone(), row));
        }
    }
    // Cases that nobody has a value of are no draws.
    let of_some: BTreeSet<usize> = rows
        .iter()
        .flat_map(|(_, row)| row.keys().copied())
        .collect();
    let values: Vec<Vec<Option<f64>>> = rows
        .iter()
        .map(|(_, row)| {
            of_some
                .iter()
                .map(|place| row.get(place).copied())
                .collect()
        })
        .collect();
    let ranks = ranks(&values, resistance);
    rows.into_iter()
        .map(|(model, _)| model)
        .zip(ranks)
        .collect()
}
