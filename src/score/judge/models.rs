//! What belongs to a model, and to all models of a task together.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;
use strum::IntoEnumIterator;

use super::calls::{Calls, Temperature, gather};
use super::ceiling::{Ceiling, ceiling};
use super::cells::{Cells, Contrast, Measure, mean_of};
use super::effects::{Estimate, Gaps, Universe, cohens_d};
use super::joint::{Term, joint_model};
use super::labels::{Labels, labels};
use super::mitigation::{Mitigation, mitigations};
use super::probes::{Probe, probe};
use super::slopes::{Response, Slopes, response, slopes};
use crate::domain::{Condition, Design, ItemId, Loss, ModelName, Standard, TaskName};
use crate::score::heard::Heard;
use crate::score::stats::{Interval, deviation};
use crate::task::Catalog;

/// All scores of a store.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JudgeScores {
    /// Models that give scores, those of a task together.
    pub panels: Vec<Panel>,
    /// Strategies compared, by model and design.
    pub mitigations: Vec<Mitigation>,
    /// Models that give labels.
    pub labels: Vec<Labels>,
    /// Probabilities of digits.
    pub probes: Vec<Probe>,
}

/// The models of a task that judge by the same standard: they share texts and draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The task.
    pub task: TaskName,
    /// What the judges are told.
    pub strategy: Arc<str>,
    /// How earlier scores are chosen.
    pub design: Design,
    /// By what is judged.
    pub standard: Standard,
    /// Texts of each category.
    pub categories: Vec<(Arc<str>, usize)>,
    /// The models, by name.
    pub models: Vec<JudgeModel>,
    /// Effects by category: of each model, and of all together.
    pub by_category: Vec<CategoryEffect>,
    /// The joint model; `None` where its terms do not determine each other.
    pub joint: Option<Vec<Term>>,
    /// Mean total effect at each temperature, over models and texts with equal weights.
    pub by_temperature: BTreeMap<Temperature, f64>,
    /// The ceiling check.
    pub ceiling: Option<Ceiling>,
}

/// The total effect on the texts of a category.
#[derive(Debug, Clone, PartialEq)]
pub struct CategoryEffect {
    /// The category.
    pub category: Arc<str>,
    /// The model; `None` of all models together, with equal weights.
    pub model: Option<ModelName>,
    /// Texts.
    pub texts: usize,
    /// The effect; `None` if a text has none.
    pub total: Option<Estimate>,
    /// The same of acceptance, in shares.
    pub acceptance: Option<Estimate>,
}

/// How often the judge's own word on acceptance differs from what its score says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Emitted {
    /// Valid calls with such a word.
    pub said: usize,
    /// Those where it differs.
    pub differs: usize,
}

/// A model that gives scores.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeModel {
    /// The model.
    pub model: ModelName,
    /// Texts.
    pub texts: usize,
    /// Calls asked and valid, by condition.
    pub counts: BTreeMap<Condition, (usize, usize)>,
    /// Mean score by condition, over texts with equal weights.
    pub levels: BTreeMap<Condition, f64>,
    /// Share of acceptance by condition, likewise.
    pub accepted: BTreeMap<Condition, f64>,
    /// Effects on the score.
    pub effects: BTreeMap<Contrast, Estimate>,
    /// Effects on acceptance, in shares.
    pub acceptance: BTreeMap<Contrast, Estimate>,
    /// Cohen's d of the total effect, and the complete triplets behind it.
    pub cohens_d: (Option<f64>, usize),
    /// Whether the effect grows with the earlier score.
    pub slopes: Slopes,
    /// Shift and slope read together.
    pub response: Option<Response>,
    /// Total effect on each text.
    pub by_text: BTreeMap<ItemId, Option<f64>>,
    /// Every cell.
    pub cells: Cells,
    /// What cannot be computed.
    pub gaps: Gaps,
    /// Calls without a score, by condition and reason.
    pub losses: BTreeMap<Condition, BTreeMap<Loss, usize>>,
    /// Scores off their scale.
    pub clipped: usize,
    /// The judge's own word on acceptance.
    pub emitted: Emitted,
    /// Calls that were asked in another wording than today's; `None` where that is not known of any.
    pub other_wording: Option<usize>,
    /// Temperatures that were sent.
    pub temperatures: Vec<Temperature>,
    /// Settings that the server refused.
    pub dropped: Vec<String>,
    /// Standard deviation of the means of texts without a block: a judge that finds all texts alike has nothing to be
    /// pulled from.
    pub spread: Option<f64>,
}

/// Fifths of the calls under C0 and under C2 that must have a score for an effect to be shown.
const COVERAGE_FIFTHS: usize = 4;

impl JudgeModel {
    /// Whether enough calls under C0 and under C2 have a score.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        [Condition::C0, Condition::C2].iter().all(|condition| {
            let counts = self.counts.get(condition);
            counts.is_some_and(|(n, valid)| *valid > 0 && valid * 5 >= n * COVERAGE_FIFTHS)
        })
    }

    /// Whether the total effect lies below 0 with its whole interval.
    #[must_use]
    pub fn is_below_zero(&self) -> bool {
        let total = self.effects.get(&Contrast::Total);
        let interval = total.and_then(|total| total.interval);
        interval.is_some_and(|Interval { high, .. }| high < 0.0)
    }
}

impl JudgeScores {
    /// Leaves out what does not belong to a selection of models and tasks. What is put together over models stays as it is.
    pub fn keep(&mut self, wanted: impl Fn(&ModelName, &TaskName) -> bool) {
        for panel in &mut self.panels {
            panel
                .models
                .retain(|model| wanted(&model.model, &panel.task));
        }
        self.panels.retain(|panel| !panel.models.is_empty());
        self.mitigations.retain(|row| wanted(&row.model, &row.task));
        self.labels.retain(|row| wanted(&row.model, &row.task));
        self.probes.retain(|row| wanted(&row.model, &row.task));
    }
}

/// Scores everything that the lines hold of judges.
#[must_use]
pub fn score_judges(heard: &[Heard], catalog: &Catalog) -> JudgeScores {
    let all = gather(heard, catalog);
    let scored: Vec<(&Calls<'_>, Cells)> = all
        .par_iter()
        .filter(|calls| calls.scale().is_some())
        .map(|calls| (calls, Cells::new(calls)))
        .collect();
    let mut panels: Vec<Vec<&(&Calls<'_>, Cells)>> = Vec::new();
    for one in &scored {
        let same = |(calls, _): &(&Calls<'_>, Cells)| {
            let calls = *calls;
            (&calls.task, &calls.strategy, &calls.design)
                == (&one.0.task, &one.0.strategy, &one.0.design)
                && calls.standard == one.0.standard
        };
        match panels.iter_mut().find(|panel| same(panel[0])) {
            Some(panel) => panel.push(one),
            None => panels.push(vec![one]),
        }
    }
    let order = |task: &TaskName| {
        let tasks = &catalog.tasks.0;
        let place = tasks.iter().position(|known| known.name == *task);
        (place.unwrap_or(usize::MAX), task.clone())
    };
    let mut panels: Vec<Panel> = panels.par_iter().map(|panel| of_panel(panel)).collect();
    panels.sort_by_cached_key(|panel| order(&panel.task));
    JudgeScores {
        panels,
        mitigations: strategies(&scored),
        labels: of_labels(&all),
        probes: all.par_iter().filter_map(probe).collect(),
    }
}

/// Calls of one model that differ in their strategy only, compared.
fn strategies(scored: &[(&Calls<'_>, Cells)]) -> Vec<Mitigation> {
    let mut groups: Vec<Vec<(&Calls<'_>, &Cells)>> = Vec::new();
    for (calls, cells) in scored {
        let same = |(other, _): &(&Calls<'_>, &Cells)| {
            other.model == calls.model
                && other.design == calls.design
                && other.standard == calls.standard
                && other.by_probability == calls.by_probability
        };
        // A task of one's own may ask under a strategy that another asks under too.
        let new = |group: &Vec<(&Calls<'_>, &Cells)>| {
            same(&group[0])
                && group
                    .iter()
                    .all(|(other, _)| other.strategy != calls.strategy)
        };
        match groups.iter_mut().find(|group| new(group)) {
            Some(group) => group.push((calls, cells)),
            None => groups.push(vec![(calls, cells)]),
        }
    }
    let rows: Vec<Vec<Mitigation>> = groups.par_iter().map(|group| mitigations(group)).collect();
    rows.into_iter().flatten().collect()
}

fn of_labels(all: &[Calls<'_>]) -> Vec<Labels> {
    let mut groups: Vec<Vec<&Calls<'_>>> = Vec::new();
    for calls in all.iter().filter(|calls| calls.scale().is_none()) {
        let same = |group: &&mut Vec<&Calls<'_>>| {
            group[0].model == calls.model
                && group[0].standard == calls.standard
                && group[0].by_probability == calls.by_probability
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(calls),
            None => groups.push(vec![calls]),
        }
    }
    let rows: Vec<Vec<Labels>> = groups.par_iter().map(|group| labels(group)).collect();
    rows.into_iter().flatten().collect()
}

fn of_panel(panel: &[&(&Calls<'_>, Cells)]) -> Panel {
    let universe = Universe::new(panel.iter().map(|(_, cells)| cells));
    let first = panel[0].0;
    let models: Vec<JudgeModel> = panel
        .par_iter()
        .map(|(calls, cells)| of_model(calls, cells, &universe))
        .collect();
    // Models of which a text is missing would shift the sums; models that are not shown are in none.
    let whole: Vec<(ModelName, &Cells)> = panel
        .iter()
        .zip(&models)
        .filter(|(_, model)| model.gaps.texts.is_empty() && model.is_covered())
        .map(|((calls, cells), _)| (calls.model.clone(), cells))
        .collect();
    let scale = first.scale().map(|(scale, _)| scale);
    Panel {
        task: first.task.clone(),
        strategy: Arc::clone(&first.strategy),
        design: first.design.clone(),
        standard: first.standard.clone(),
        categories: universe.categories(),
        by_category: by_category(&universe, &whole),
        joint: (!whole.is_empty())
            .then(|| joint_model(&universe, &whole))
            .flatten(),
        by_temperature: by_temperature(&universe, &whole),
        ceiling: scale
            .filter(|_| !whole.is_empty())
            .map(|scale| ceiling(&universe, &whole, scale)),
        models,
    }
}

fn by_category(universe: &Universe, models: &[(ModelName, &Cells)]) -> Vec<CategoryEffect> {
    let values = |cells: &Cells, measure| {
        universe.values(|item| cells.effect(item, Contrast::Total, measure))
    };
    let mut rows = Vec::new();
    for (category, texts) in universe.categories() {
        let of = |model: Option<ModelName>, columns: &[&Cells]| {
            let estimate = |measure| {
                // The mean over models of each text first: weights are equal either way.
                let by_model: Vec<Vec<Option<f64>>> =
                    columns.iter().map(|cells| values(cells, measure)).collect();
                let mean = |at: usize| {
                    let all: Option<Vec<f64>> = by_model.iter().map(|values| values[at]).collect();
                    mean_of(all?)
                };
                let means: Vec<Option<f64>> = (0..universe.items.len()).map(mean).collect();
                universe.mean_of_category(&means, &category)
            };
            CategoryEffect {
                category: Arc::clone(&category),
                model,
                texts,
                total: estimate(Measure::Score),
                acceptance: estimate(Measure::Acceptance),
            }
        };
        for (model, cells) in models {
            rows.push(of(Some(model.clone()), &[*cells]));
        }
        if models.len() > 1 {
            let all: Vec<&Cells> = models.iter().map(|(_, cells)| *cells).collect();
            rows.push(of(None, &all));
        }
    }
    rows
}

fn by_temperature(
    universe: &Universe,
    models: &[(ModelName, &Cells)],
) -> BTreeMap<Temperature, f64> {
    let mut values: BTreeMap<Temperature, Vec<f64>> = BTreeMap::new();
    for (_, cells) in models {
        for (item, _) in &universe.items {
            for temperature in cells.temperatures(item) {
                let effect = cells.contrast(item, temperature, Contrast::Total, Measure::Score);
                values.entry(temperature).or_default().extend(effect);
            }
        }
    }
    let means = values.into_iter();
    means
        .filter_map(|(temperature, values)| Some((temperature, mean_of(values)?)))
        .collect()
}

fn of_model(calls: &Calls<'_>, cells: &Cells, universe: &Universe) -> JudgeModel {
    let estimates = |measure| -> BTreeMap<Contrast, Estimate> {
        Contrast::iter()
            .filter_map(|contrast| {
                let values = universe.values(|item| cells.effect(item, contrast, measure));
                Some((contrast, universe.mean(&values)?))
            })
            .collect()
    };
    let conditions: Vec<Condition> = [
        Condition::C0,
        Condition::C1,
        Condition::C2,
        Condition::Control,
    ]
    .into_iter()
    .filter(|condition| cells.has(*condition))
    .collect();
    let levels = |measure| -> BTreeMap<Condition, f64> {
        let of = |condition: &Condition| {
            let items = universe.items.iter();
            let level =
                mean_of(items.filter_map(|(item, _)| cells.level(item, *condition, measure)));
            Some((*condition, level?))
        };
        conditions.iter().filter_map(of).collect()
    };
    let effects = estimates(Measure::Score);
    let alone: Vec<f64> = cells
        .categories
        .keys()
        .filter_map(|item| cells.level(item, Condition::C0, Measure::Score))
        .collect();
    let slopes = slopes(calls, cells, universe);
    let mut losses: BTreeMap<Condition, BTreeMap<Loss, usize>> = BTreeMap::new();
    let mut emitted = Emitted::default();
    let mut known = false;
    let mut other_wording = 0;
    let mut temperatures: Vec<Temperature> = Vec::new();
    let mut dropped: Vec<String> = Vec::new();
    for call in &calls.calls {
        if let Err(loss) = call.given {
            *losses
                .entry(call.condition)
                .or_default()
                .entry(loss)
                .or_default() += 1;
        }
        if let (Some(said), Some(meant)) = (call.accept, call.accepted()) {
            emitted.said += 1;
            emitted.differs += usize::from(said != meant);
        }
        known |= call.current.is_some();
        other_wording += usize::from(call.current == Some(false));
        if !temperatures.contains(&call.temperature) {
            temperatures.push(call.temperature);
        }
        for name in &call.line.sent.dropped {
            if !dropped.contains(name) {
                dropped.push(name.clone());
            }
        }
    }
    temperatures.sort();
    dropped.sort();
    JudgeModel {
        model: calls.model.clone(),
        texts: cells.categories.len(),
        counts: conditions
            .iter()
            .map(|condition| (*condition, cells.counts(*condition)))
            .collect(),
        levels: levels(Measure::Score),
        accepted: levels(Measure::Acceptance),
        response: response(effects.get(&Contrast::Total).copied(), &slopes),
        effects,
        acceptance: estimates(Measure::Acceptance),
        cohens_d: cohens_d(calls),
        slopes,
        by_text: universe
            .items
            .iter()
            .map(|(item, _)| {
                let effect = cells.effect(item, Contrast::Total, Measure::Score);
                (item.clone(), effect)
            })
            .collect(),
        gaps: Gaps::new(universe, cells),
        losses,
        clipped: calls.calls.iter().filter(|call| call.clipped()).count(),
        emitted,
        other_wording: known.then_some(other_wording),
        temperatures,
        dropped,
        cells: cells.clone(),
        spread: (alone.len() > 1).then(|| deviation(&alone)),
    }
}
