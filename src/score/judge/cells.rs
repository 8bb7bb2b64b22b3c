//! Means of cells, and their contrasts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::calls::{Calls, Temperature};
use crate::domain::{Condition, Design, ItemId};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::EnumIter, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Contrast {
    /// C2 − C0: what the whole block with the earlier score does.
    Total,
    /// C1 − C0: what the word of a revision does.
    Framing,
    /// C2 − C1: what the block adds to that. It also adds the number of the attempt, so this is not the effect of the score.
    Incremental,
    /// Control − C0: what the same block does with a number that says nothing of the text.
    Control,
    /// C2 − control: what it does that the number is called an earlier score.
    Prior,
}

impl Contrast {
    /// The conditions, what is looked at first.
    #[must_use]
    pub fn of(self) -> [Condition; 2] {
        match self {
            Self::Total => [Condition::C2, Condition::C0],
            Self::Framing => [Condition::C1, Condition::C0],
            Self::Incremental => [Condition::C2, Condition::C1],
            Self::Control => [Condition::Control, Condition::C0],
            Self::Prior => [Condition::C2, Condition::Control],
        }
    }
}

/// What is averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The score on its scale.
    Score,
    /// The share of accepted calls.
    Acceptance,
}

/// The calls of a text at one temperature under one condition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Calls that were asked for.
    pub n: usize,
    /// Calls with a score.
    pub valid: usize,
    /// The same by earlier score where these take turns, else one part.
    parts: BTreeMap<u64, Part>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Part {
    valid: usize,
    sum: f64,
    accepted: usize,
}

impl Tally {
    /// The mean over the valid calls, of all parts with equal weights; `None` if a part has none.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of calls lie below 2^53"
    )]
    pub fn mean(&self, measure: Measure) -> Option<f64> {
        let of = |part: &Part| {
            let sum = match measure {
                Measure::Score => part.sum,
                Measure::Acceptance => part.accepted as f64,
            };
            (part.valid > 0).then(|| sum / part.valid as f64)
        };
        let means: Option<Vec<f64>> = self.parts.values().map(of).collect();
        mean_of(means?)
    }
}

/// The place of a cell.
pub type Place = (ItemId, Temperature, Condition);

/// All cells of a model and task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cells {
    /// By text, temperature and condition.
    pub tallies: BTreeMap<Place, Tally>,
    /// Category of each text.
    pub categories: BTreeMap<ItemId, Arc<str>>,
}

impl Cells {
    /// Adds the calls up.
    ///
    /// Where earlier scores take turns, each score has a mean of its own, and these are averaged with equal weights.
    #[must_use]
    pub fn new(calls: &Calls<'_>) -> Self {
        let mut cells = Self::default();
        for call in &calls.calls {
            let place = (call.item.clone(), call.temperature, call.condition);
            let tally = cells.tallies.entry(place).or_default();
            let shown = match &calls.design {
                Design::Fixed(_) => call.anchor.map_or(0, f64::to_bits),
                _ => 0,
            };
            let part = tally.parts.entry(shown).or_default();
            tally.n += 1;
            if let (Some(score), Some(accepted)) = (call.score(), call.accepted()) {
                tally.valid += 1;
                part.valid += 1;
                part.sum += score;
                part.accepted += usize::from(accepted);
            }
            if !cells.categories.contains_key(call.item) {
                cells
                    .categories
                    .insert(call.item.clone(), Arc::clone(&call.judging.category));
            }
        }
        cells
    }

    /// A mean of a cell.
    #[must_use]
    pub fn mean(
        &self,
        item: &ItemId,
        temperature: Temperature,
        condition: Condition,
        measure: Measure,
    ) -> Option<f64> {
        let place = (item.clone(), temperature, condition);
        self.tallies.get(&place)?.mean(measure)
    }

    /// Temperatures at which a text was asked under any condition.
    #[must_use]
    pub fn temperatures(&self, item: &ItemId) -> Vec<Temperature> {
        let first = (item.clone(), Temperature(None), Condition::Unanchored);
        let of_item = self.tallies.range(first..);
        let mut all: Vec<Temperature> = of_item
            .take_while(|((other, ..), _)| other == item)
            .map(|((_, temperature, _), _)| *temperature)
            .collect();
        all.dedup();
        all
    }

    /// A contrast of a text at a temperature; `None` if either cell has no valid call.
    #[must_use]
    pub fn contrast(
        &self,
        item: &ItemId,
        temperature: Temperature,
        contrast: Contrast,
        measure: Measure,
    ) -> Option<f64> {
        let [first, second] = contrast.of();
        let mean = |condition| self.mean(item, temperature, condition, measure);
        Some(mean(first)? - mean(second)?)
    }

    /// The effect on a text: the mean of its contrasts over temperatures, with equal weights. A temperature with an empty
    /// cell is left out.
    #[must_use]
    pub fn effect(&self, item: &ItemId, contrast: Contrast, measure: Measure) -> Option<f64> {
        let of = |temperature| self.contrast(item, temperature, contrast, measure);
        mean_of(self.temperatures(item).into_iter().filter_map(of))
    }

    /// The mean under a condition over temperatures, with equal weights.
    #[must_use]
    pub fn level(&self, item: &ItemId, condition: Condition, measure: Measure) -> Option<f64> {
        let of = |temperature| self.mean(item, temperature, condition, measure);
        mean_of(self.temperatures(item).into_iter().filter_map(of))
    }

    /// Conditions that were asked for any text.
    #[must_use]
    pub fn has(&self, condition: Condition) -> bool {
        self.tallies.keys().any(|(.., other)| *other == condition)
    }

    /// Calls asked and valid under a condition.
    #[must_use]
    pub fn counts(&self, condition: Condition) -> (usize, usize) {
        let of = self
            .tallies
            .iter()
            .filter(|((.., other), _)| *other == condition);
        of.fold((0, 0), |(n, valid), (_, tally)| {
            (n + tally.n, valid + tally.valid)
        })
    }
}

/// The mean of some values; `None` of none.
#[must_use]
pub fn mean_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum) = (0_u32, 0.0);
    for value in values {
        n += 1;
        sum += value;
    }
    (n > 0).then(|| sum / f64::from(n))
}
