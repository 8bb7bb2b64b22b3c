//! Effects of earlier scores on models, with intervals over texts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::calls::{Calls, Temperature};
use super::cells::{Cells, Contrast, Measure, mean_of};
use crate::domain::{Condition, Design, ItemId};
use crate::score::stats::{Interval, Stratified, variance};

/// A value with its 95 % interval over texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its interval; `None` where no category has two texts.
    pub interval: Option<Interval>,
}

/// The texts that any of some models was asked about, in the order of their categories, and how they are drawn.
///
/// Texts are the sample: repeated calls make the mean of a cell precise, and are no replications. Every model, contrast and
/// outcome sees the same draws.
#[derive(Debug, Clone)]
pub struct Universe {
    /// Text and category.
    pub items: Vec<(ItemId, Arc<str>)>,
    draws: Stratified,
}

impl Universe {
    /// All texts of some cells.
    #[must_use]
    pub fn new<'a>(cells: impl IntoIterator<Item = &'a Cells>) -> Self {
        let all = cells.into_iter().flat_map(|cells| &cells.categories);
        Self::of_items(all.map(|(item, category)| (item.clone(), Arc::clone(category))))
    }

    /// Some texts with their categories; each may stand there often.
    #[must_use]
    pub fn of_items(items: impl IntoIterator<Item = (ItemId, Arc<str>)>) -> Self {
        let items = items.into_iter().map(|(item, category)| (category, item));
        let all: BTreeSet<(Arc<str>, ItemId)> = items.collect();
        let items = all.into_iter().map(|(category, item)| (item, category));
        Self::of(items.collect())
    }

    /// Whether some category has two texts, so that draws differ.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.draws.varies()
    }

    fn of(items: Vec<(ItemId, Arc<str>)>) -> Self {
        let sizes: Vec<usize> = items.chunk_by(|a, b| a.1 == b.1).map(<[_]>::len).collect();
        Self {
            draws: Stratified::new(&sizes),
            items,
        }
    }

    /// Leaves texts out.
    pub fn keep(&mut self, wanted: impl Fn(&ItemId) -> bool) {
        let mut items = std::mem::take(&mut self.items);
        items.retain(|(item, _)| wanted(item));
        *self = Self::of(items);
    }

    /// The categories and how many texts each has.
    #[must_use]
    pub fn categories(&self) -> Vec<(Arc<str>, usize)> {
        self.items
            .chunk_by(|a, b| a.1 == b.1)
            .map(|items| (Arc::clone(&items[0].1), items.len()))
            .collect()
    }

    /// A value of each text.
    pub fn values(&self, of: impl Fn(&ItemId) -> Option<f64>) -> Vec<Option<f64>> {
        self.items.iter().map(|(item, _)| of(item)).collect()
    }

    /// The mean over all texts with equal weights; `None` unless every text has a value.
    #[must_use]
    pub fn mean(&self, values: &[Option<f64>]) -> Option<Estimate> {
        let all: Option<Vec<f64>> = values.iter().copied().collect();
        let all = all.filter(|all| !all.is_empty())?;
        Some(Estimate {
            value: mean_of(all.iter().copied())?,
            interval: self
                .draws
                .interval(|drawn| mean_of(drawn.iter().map(|at| all[*at]))),
        })
    }

    /// The mean over the texts of a category.
    #[must_use]
    pub fn mean_of_category(&self, values: &[Option<f64>], category: &str) -> Option<Estimate> {
        let places = |drawn: &mut dyn Iterator<Item = usize>| -> Option<f64> {
            let of: Option<Vec<f64>> = drawn
                .filter(|at| *self.items[*at].1 == *category)
                .map(|at| values[at])
                .collect();
            mean_of(of?)
        };
        let n = self
            .items
            .iter()
            .filter(|(_, of)| **of == *category)
            .count();
        let value = places(&mut (0..self.items.len()))?;
        let interval = (n > 1)
            .then(|| {
                self.draws
                    .interval(|drawn| places(&mut drawn.iter().copied()))
            })
            .flatten();
        Some(Estimate { value, interval })
    }

    /// A ratio of sums over texts, such as a slope; texts without parts add nothing.
    #[must_use]
    pub fn ratio(&self, parts: &[Option<(f64, f64)>]) -> Option<Estimate> {
        let of = |drawn: &mut dyn Iterator<Item = usize>| {
            let (above, below) = drawn
                .filter_map(|at| parts[at])
                .fold((0.0, 0.0), |(a, b), (above, below)| (a + above, b + below));
            (below > 0.0).then(|| above / below)
        };
        let value = of(&mut (0..parts.len()))?;
        let with = parts.iter().filter(|part| part.is_some()).count();
        let interval = (with > 1)
            .then(|| self.draws.interval(|drawn| of(&mut drawn.iter().copied())))
            .flatten();
        Some(Estimate { value, interval })
    }

    /// The values of several statistics in each resample.
    pub fn resamples(
        &self,
        mut statistics: impl FnMut(&[usize]) -> Option<Vec<f64>>,
    ) -> Vec<Vec<f64>> {
        let mut columns: Vec<Vec<f64>> = Vec::new();
        self.draws.resamples(|drawn| {
            let values = statistics(drawn)?;
            columns.resize(values.len(), Vec::new());
            for (column, value) in columns.iter_mut().zip(values) {
                column.push(value);
            }
            None
        });
        columns
    }
}

/// What cannot be computed, and why.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gaps {
    /// Text and temperature pairs that are left out, since one of their cells has no valid call.
    pub temperatures: Vec<(ItemId, Temperature)>,
    /// Texts without any pair of cells: the effect of the model is not defined.
    pub texts: Vec<ItemId>,
}

impl Gaps {
    /// The gaps of the total effect.
    #[must_use]
    pub fn new(universe: &Universe, cells: &Cells) -> Self {
        let mut gaps = Self::default();
        for (item, _) in &universe.items {
            if cells
                .effect(item, Contrast::Total, Measure::Score)
                .is_none()
            {
                gaps.texts.push(item.clone());
                continue;
            }
            for temperature in cells.temperatures(item) {
                let both = cells.contrast(item, temperature, Contrast::Total, Measure::Score);
                if both.is_none() {
                    gaps.temperatures.push((item.clone(), temperature));
                }
            }
        }
        gaps
    }
}

/// Text, temperature, run and number.
type Trial<'a> = (&'a ItemId, Temperature, Option<&'a str>, u32);

/// Cohen's d of the total effect, over the trials that are valid under C0, C1 and C2.
///
/// (mean C2 − mean C0) / √((s²C2 + s²C0) / 2) with variances of n − 1; descriptive, since texts and temperatures are pooled.
/// The second value is the number of complete triplets. `None` if nothing varies, or if earlier scores take turns: there a
/// trial under C0 has several under C2.
#[must_use]
pub fn cohens_d(calls: &Calls<'_>) -> (Option<f64>, usize) {
    if matches!(calls.design, Design::Fixed(_)) {
        return (None, 0);
    }
    let mut triplets: BTreeMap<Trial<'_>, [Option<f64>; 3]> = BTreeMap::new();
    for call in &calls.calls {
        let place = match call.condition {
            Condition::C0 => 0,
            Condition::C1 => 1,
            Condition::C2 => 2,
            _ => continue,
        };
        let run = call.judging.run.as_deref();
        let trial = (call.item, call.temperature, run, call.trial);
        triplets.entry(trial).or_default()[place] = call.score();
    }
    let complete: Vec<[f64; 2]> = triplets
        .values()
        .filter_map(|[c0, c1, c2]| {
            let (_, c0, c2) = ((*c1)?, (*c0)?, (*c2)?);
            Some([c0, c2])
        })
        .collect();
    let n = complete.len();
    let column = |at: usize| -> Vec<f64> { complete.iter().map(|pair| pair[at]).collect() };
    let (first, second) = (spread(&column(0)), spread(&column(1)));
    let d = first.zip(second).and_then(|((m0, v0), (m2, v2))| {
        let pooled = f64::midpoint(v0, v2);
        (pooled > 0.0).then(|| (m2 - m0) / pooled.sqrt())
    });
    (d, n)
}

/// Mean and variance with n − 1; `None` of fewer than two values. Equal values have no variance, whatever rounding says.
fn spread(values: &[f64]) -> Option<(f64, f64)> {
    let mean = mean_of(values.iter().copied())?;
    if values.len() < 2 {
        return None;
    }
    if values.iter().all(|value| *value == values[0]) {
        return Some((values[0], 0.0));
    }
    Some((mean, variance(values)))
}
