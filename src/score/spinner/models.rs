use std::collections::BTreeMap;

use rayon::prelude::*;

use super::evidence::variations;
use super::variation::{VariationScores, score_variation};
use crate::domain::{Loss, ModelName, ScoringMode, TaskName};
use crate::score::heard::Heard;
use crate::score::stats::{Interval, Ratio, Ratios, mean, median};
use crate::task::Catalog;

/// All scores of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct SpinnerScores {
    /// Pairs of prompts, by model and mode.
    pub variations: Vec<VariationScores>,
    /// Models, each mode by itself.
    pub models: Vec<ModelScores>,
    /// Prompts without scores, by model, mode and reason.
    pub lost: BTreeMap<(ModelName, ScoringMode), BTreeMap<Loss, usize>>,
    /// Prompts with answers whose first token begins within the prompt, by model and mode.
    pub merged: BTreeMap<(ModelName, ScoringMode), usize>,
    /// Lines that belong to no stimulus that is loaded, by what is missing.
    pub unknown: BTreeMap<String, usize>,
}

/// The variations of a model, positive controls left out.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelScores {
    /// The model.
    pub model: ModelName,
    /// The task that asked.
    pub task: TaskName,
    /// How answers were scored; modes are never put together.
    pub mode: ScoringMode,
    /// Variations.
    pub n: usize,
    /// Whether every variation has values of its fields; else the composite lacks a part.
    pub attributed: bool,
    /// Sum of the composite over variations, as published.
    pub abss: f64,
    /// Its mean, with a 95 % interval, questions drawn anew.
    pub abss_mean: (f64, Option<Interval>),
    /// Parts of the sum: behaviour, attribution, agreement.
    pub parts: [f64; 3],
    /// Mean shift of the expected answer as a share of the distance of the anchors, with its interval.
    pub index: (f64, Option<Interval>),
    /// Mean share of probability that the answers hold, over variations and anchors.
    pub mass: f64,
    /// Difference of the medians of the expected answers under high and low anchors, by set of
    /// anchors.
    pub shift_of_medians: BTreeMap<String, f64>,
}

/// Scores everything that the lines hold of stimuli.
#[must_use]
pub fn score_spinner(heard: &[Heard], catalog: &Catalog) -> SpinnerScores {
    let gathered = variations(heard, catalog);
    let order = |one: &VariationScores| (one.model.clone(), one.task.clone(), one.mode);
    let mut scored: Vec<VariationScores> = gathered
        .variations
        .par_iter()
        .filter_map(score_variation)
        .collect();
    scored.sort_by_cached_key(|one| (order(one), one.item.clone()));
    let models = scored
        .chunk_by(|a, b| order(a) == order(b))
        .filter_map(of_model)
        .collect();
    SpinnerScores {
        variations: scored,
        models,
        lost: gathered.lost,
        merged: gathered.merged,
        unknown: gathered.unknown,
    }
}

fn of_model(all: &[VariationScores]) -> Option<ModelScores> {
    let counted: Vec<&VariationScores> = all.iter().filter(|one| !one.control).collect();
    let first = counted.first()?;
    let of = |value: &dyn Fn(&VariationScores) -> f64| -> Vec<f64> {
        counted.iter().map(|one| value(one)).collect()
    };
    // Both sets of anchors of a question come along when it is drawn.
    let question = |one: &VariationScores| one.item.as_str().split('-').next().map(str::to_owned);
    let measured = |values: &[f64]| {
        let mut table = Ratios::new(1);
        let of_variation: Vec<_> = counted.iter().zip(values).collect();
        for of_question in of_variation.chunk_by(|a, b| question(a.0) == question(b.0)) {
            table.cluster();
            for (_, value) in of_question {
                table.add(0, **value);
            }
        }
        (mean(values), table.intervals(&[Ratio::Mean(0)])[0])
    };
    let abss = of(&|one| one.abss.value);
    let parts: [&dyn Fn(&VariationScores) -> f64; 3] = [
        &|one| one.abss.rho * one.abss.behaviour * one.abss.w_behaviour,
        &|one| one.abss.rho * one.abss.attribution * one.abss.w_attribution,
        &|one| 0.15 * one.abss.concordance,
    ];
    let mut by_regime: BTreeMap<String, [Vec<f64>; 2]> = BTreeMap::new();
    for one in &counted {
        let both = by_regime.entry(one.regime.clone()).or_default();
        both[0].push(one.low.expected);
        both[1].push(one.high.expected);
    }
    Some(ModelScores {
        model: first.model.clone(),
        task: first.task.clone(),
        mode: first.mode,
        n: counted.len(),
        attributed: counted.iter().all(|one| one.is_attributed()),
        abss: abss.iter().sum(),
        abss_mean: measured(&abss),
        parts: parts.map(|part| of(part).iter().sum()),
        index: measured(&of(&VariationScores::index)),
        mass: mean(&of(&|one| f64::midpoint(one.low.mass, one.high.mass))),
        shift_of_medians: by_regime
            .into_iter()
            .filter_map(|(regime, [low, high])| Some((regime, median(&high)? - median(&low)?)))
            .collect(),
    })
}
