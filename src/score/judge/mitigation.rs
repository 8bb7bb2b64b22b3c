//! Strategies against earlier scores, compared by the effect that is left, never by raw means.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::calls::{Calls, Temperature};
use super::cells::{Cells, Contrast, Measure, mean_of};
use super::effects::{Estimate, Universe};
use super::slopes::{ROUNDING, Slopes, slopes};
use crate::domain::{Condition, Design, ItemId, ModelName, TaskName};
use crate::score::stats::{Interval, Stratified};

/// What is drawn anew for an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Drawn {
    /// Texts of each category.
    Texts,
    /// Calls of each condition and earlier score: there is one text, and the interval says nothing of others.
    Calls,
}

/// One strategy of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Mitigation {
    /// The model.
    pub model: ModelName,
    /// The task that asked.
    pub task: TaskName,
    /// What the judge was told.
    pub strategy: Arc<str>,
    /// How earlier scores were chosen; only strategies of one design are compared.
    pub design: Design,
    /// Texts that were judged under every strategy of the design.
    pub texts: usize,
    /// Calls with a score on these texts.
    pub valid: usize,
    /// Mean without a block.
    pub c0: Option<f64>,
    /// Mean with an earlier score; where these take turns, with equal weights.
    pub c2: Option<f64>,
    /// The difference.
    pub total: Option<Estimate>,
    /// What was drawn for the interval.
    pub drawn: Drawn,
    /// |effect| / |effect without a strategy| − 1: how much larger the effect is; `None` of the strategy `none`.
    pub change: Option<f64>,
    /// Effect minus effect without a strategy, with its interval; `None` of the strategy `none`.
    pub difference: Option<Estimate>,
    /// Slopes within C2.
    pub slopes: Slopes,
    /// Mean of prompt and reply tokens over all valid calls whose counts are known.
    pub tokens: Option<f64>,
    /// Tokens / tokens without a strategy − 1.
    pub more_tokens: Option<f64>,
}

/// The name of doing nothing.
pub const NONE: &str = "none";

/// The strategies of a model and design, of which one is `none`; nothing if there is only one.
#[must_use]
pub fn mitigations(of_design: &[(&Calls<'_>, &Cells)]) -> Vec<Mitigation> {
    let baseline = of_design.iter().find(|(calls, _)| &*calls.strategy == NONE);
    let Some((none, none_cells)) = baseline.filter(|_| of_design.len() > 1) else {
        return Vec::new();
    };
    let mut universe = Universe::new(of_design.iter().map(|(_, cells)| *cells));
    let effect = |cells: &Cells, item: &ItemId| cells.effect(item, Contrast::Total, Measure::Score);
    let common = |item: &ItemId| {
        of_design
            .iter()
            .all(|(_, cells)| effect(cells, item).is_some())
    };
    universe.keep(common);
    if universe.items.is_empty() {
        return Vec::new();
    }
    let drawn = if universe.items.len() == 1 {
        Drawn::Calls
    } else {
        Drawn::Texts
    };
    let base = resampled(none, none_cells, &universe, drawn, 0);
    let base_tokens = tokens(none, &universe);
    let mut rows: Vec<Mitigation> = of_design
        .iter()
        .zip(1..)
        .map(|((calls, cells), stream)| {
            let is_base = &*calls.strategy == NONE;
            let level = |condition| {
                let values = universe.items.iter();
                let values: Option<Vec<f64>> = values
                    .map(|(item, _)| cells.level(item, condition, Measure::Score))
                    .collect();
                mean_of(values?)
            };
            let own = if is_base {
                base.clone()
            } else {
                resampled(calls, cells, &universe, drawn, stream)
            };
            let total = own.estimate();
            let of_none = base.estimate();
            let both = total.zip(of_none).filter(|_| !is_base);
            let tokens = tokens(calls, &universe);
            Mitigation {
                model: calls.model.clone(),
                task: calls.task.clone(),
                strategy: Arc::clone(&calls.strategy),
                design: calls.design.clone(),
                texts: universe.items.len(),
                valid: valid(calls, &universe),
                c0: level(Condition::C0),
                c2: level(Condition::C2),
                total,
                drawn,
                change: both
                    .filter(|(_, none)| none.value.abs() > ROUNDING)
                    .map(|(own, none)| own.value.abs() / none.value.abs() - 1.0),
                difference: both.map(|(total, none)| Estimate {
                    value: total.value - none.value,
                    interval: own.minus(&base),
                }),
                slopes: slopes(calls, cells, &universe),
                tokens,
                more_tokens: tokens
                    .zip(base_tokens)
                    .filter(|(_, none)| !is_base && *none > 0.0)
                    .map(|(own, none)| own / none - 1.0),
            }
        })
        .collect();
    rows.sort_by_key(|row| (&*row.strategy != NONE, Arc::clone(&row.strategy)));
    rows
}

/// A value and its resamples.
#[derive(Debug, Clone, Default)]
struct Resampled {
    value: Option<f64>,
    resamples: Vec<f64>,
}

impl Resampled {
    fn estimate(&self) -> Option<Estimate> {
        Some(Estimate {
            value: self.value?,
            interval: crate::score::stats::percentiles(self.resamples.clone()),
        })
    }

    /// The interval of the difference, resample by resample.
    fn minus(&self, other: &Self) -> Option<Interval> {
        let pairs = self.resamples.iter().zip(&other.resamples);
        crate::score::stats::percentiles(pairs.map(|(a, b)| a - b).collect())
    }
}

fn resampled(
    calls: &Calls<'_>,
    cells: &Cells,
    universe: &Universe,
    drawn: Drawn,
    stream: usize,
) -> Resampled {
    let values = universe.values(|item| cells.effect(item, Contrast::Total, Measure::Score));
    let all: Option<Vec<f64>> = values.into_iter().collect();
    let Some(all) = all.filter(|all| !all.is_empty()) else {
        return Resampled::default();
    };
    let value = mean_of(all.iter().copied());
    let resamples = match drawn {
        Drawn::Texts => {
            let columns =
                universe.resamples(|drawn| Some(vec![mean_of(drawn.iter().map(|at| all[*at]))?]));
            columns
                .into_iter()
                .next()
                .filter(|_| universe.varies())
                .unwrap_or_default()
        }
        Drawn::Calls => by_calls(calls, &universe.items[0].0, stream),
    };
    Resampled { value, resamples }
}

/// Resamples of the effect on one text: the calls of each temperature, condition and earlier score are drawn anew.
fn by_calls(calls: &Calls<'_>, item: &ItemId, stream: usize) -> Vec<f64> {
    let mut strata: BTreeMap<(Temperature, Condition, u64), Vec<f64>> = BTreeMap::new();
    for call in calls.calls.iter().filter(|call| call.item == item) {
        let anchor = match (&calls.design, call.condition) {
            (Design::Fixed(_), Condition::C2) => call.anchor.unwrap_or_default().to_bits(),
            _ => 0,
        };
        if let (Some(score), Condition::C0 | Condition::C2) = (call.score(), call.condition) {
            let stratum = (call.temperature, call.condition, anchor);
            strata.entry(stratum).or_default().push(score);
        }
    }
    // Strategies are asked apart, and drawn apart: empty strata in front move the streams on.
    let sizes: Vec<usize> = strata.values().map(Vec::len).collect();
    let before = stream * sizes.len();
    let mut with_room = vec![0; before];
    with_room.extend(&sizes);
    let scores: Vec<f64> = strata.values().flatten().copied().collect();
    let temperatures: BTreeSet<Temperature> = strata
        .keys()
        .map(|(temperature, ..)| *temperature)
        .collect();
    Stratified::new(&with_room).resamples(|drawn| {
        let mut at = 0;
        let mut means: BTreeMap<(Temperature, Condition), Vec<f64>> = BTreeMap::new();
        for ((temperature, condition, _), values) in &strata {
            let places = &drawn[at..at + values.len()];
            at += values.len();
            let mean = mean_of(places.iter().map(|place| scores[*place]))?;
            means
                .entry((*temperature, *condition))
                .or_default()
                .push(mean);
        }
        let of = |temperature: &Temperature, condition| {
            mean_of(means.get(&(*temperature, condition))?.iter().copied())
        };
        let effects = temperatures.iter().filter_map(|temperature| {
            Some(of(temperature, Condition::C2)? - of(temperature, Condition::C0)?)
        });
        mean_of(effects)
    })
}

fn on<'a>(
    calls: &'a Calls<'_>,
    universe: &'a Universe,
) -> impl Iterator<Item = &'a super::calls::Call<'a>> {
    let items: BTreeSet<&ItemId> = universe.items.iter().map(|(item, _)| item).collect();
    calls.calls.iter().filter(move |call| {
        matches!(call.condition, Condition::C0 | Condition::C2)
            && call.score().is_some()
            && items.contains(call.item)
    })
}

fn valid(calls: &Calls<'_>, universe: &Universe) -> usize {
    on(calls, universe).count()
}

fn tokens(calls: &Calls<'_>, universe: &Universe) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of tokens lie below 2^53"
    )]
    mean_of(
        on(calls, universe)
            .filter_map(|call| call.tokens)
            .map(|tokens| tokens as f64),
    )
}
