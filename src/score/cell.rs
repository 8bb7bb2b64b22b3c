//! Scores of one cell: a model under a task.

use std::collections::{BTreeMap, BTreeSet};

use strum::IntoEnumIterator;

use super::implied::mass;
use super::index::{Index, half};
use super::noise::{ItemNoise, item_interval, item_noise};
use super::people;
use super::samples::{Cell, Outcome};
use super::settings::{Settings, settings_of};
use super::stats::{Interval, IntervalMethod, Spread, mean, two_sample};
use super::tier::{TESTABLE, TierScore, summarise, unanchored};
use crate::bank::{Bank, Item};
use crate::domain::{Condition, ItemId, Loss, ModelName, TaskName, Tier};

/// How scores are computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Method {
    /// The index.
    pub index: Index,
    /// The intervals.
    pub interval: IntervalMethod,
}

/// One item of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemScore {
    /// The item.
    pub item: ItemId,
    /// Its tier.
    pub tier: Tier,
    /// Anchors shown, low and high.
    pub anchors: (Option<f64>, Option<f64>),
    /// Estimate under the low anchor over its epochs.
    pub low: Option<f64>,
    /// Estimate under the high anchor.
    pub high: Option<f64>,
    /// Estimate of the same model without an anchor, where it was asked.
    pub none: Option<f64>,
    /// Usable estimates under the low and the high anchor.
    pub epochs: (usize, usize),
    /// The index, where both estimates are usable.
    pub index: Option<f64>,
    /// The index with what its epochs do to it, for [`Index::LogAi`].
    pub spread: Option<Spread>,
    /// 95 % interval of it over the epochs alone; for [`Index::LogAi`] with at least two on each side.
    pub interval: Option<Interval>,
    /// Low and high half, see [`half`].
    pub halves: (Option<f64>, Option<f64>),
    /// Two-sided permutation p of the difference between the conditions within this item; for [`Index::Raw`], with at
    /// least four epochs on each side.
    pub p: Option<f64>,
    pub(super) noise: Option<ItemNoise>,
}

/// Scores of one model × task.
#[derive(Debug, Clone, PartialEq)]
pub struct CellScore {
    /// The model.
    pub model: ModelName,
    /// The task.
    pub task: TaskName,
    /// Whether the task compares anchors; otherwise there is no index to have.
    pub anchored: bool,
    /// How the scores were computed.
    pub method: Method,
    /// How many people answered, where it was people.
    pub people: Option<usize>,
    /// Over all items.
    pub all: TierScore,
    /// `all.p`, adjusted for the number of cells of the board.
    pub adjusted: Option<Adjusted>,
    /// By tier, for tiers with items in the bank.
    pub tiers: BTreeMap<Tier, TierScore>,
    /// By item, in the order of the bank.
    pub items: Vec<ItemScore>,
    /// Replies whose comparison and estimate point to different sides of the anchor.
    pub contradictions: usize,
    /// Replies that gave both a comparison and an estimate.
    pub comparisons: usize,
    /// Mean share of probability that the candidate answers hold, 0 to 1, where these were scored.
    pub mass: Option<f64>,
    /// Samples asked for, and those of items and conditions never asked.
    pub samples: usize,
    /// Samples without a usable estimate, by reason.
    pub losses: BTreeMap<Loss, usize>,
    /// Counted samples whose wording is not today's.
    pub other_wording: usize,
    /// Distinct settings among the counted samples, as sent.
    pub settings: Vec<Settings>,
    /// Highest epoch.
    pub epochs: u32,
}

/// A p value, adjusted for having looked at many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// After Holm: for a claim about this single cell.
    pub holm: f64,
    /// After Benjamini and Hochberg: for the board as a whole.
    pub benjamini_hochberg: f64,
}

/// Scores one cell. `baseline` is the same model's cell of the task without anchors.
#[must_use]
pub fn score_cell(
    cell: &Cell<'_>,
    baseline: Option<&Cell<'_>>,
    bank: &Bank,
    method: Method,
) -> CellScore {
    let anchored = cell.task.is_anchored();
    let items: Vec<ItemScore> = bank
        .items
        .iter()
        .map(|item| score_item(cell, baseline, item, method.index))
        .collect();
    let of_people = people::is_people(cell);
    let summary = |tier: Option<Tier>| {
        let chosen: Vec<&ItemScore> = items
            .iter()
            .filter(|item| tier.is_none_or(|tier| item.tier == tier))
            .collect();
        (!chosen.is_empty()).then(|| {
            if anchored {
                let mut score = summarise(&chosen, method);
                score.copies = copies(cell, tier);
                if of_people {
                    people::between_persons(&mut score, cell, bank, tier, method);
                }
                score
            } else {
                unanchored(&chosen)
            }
        })
    };
    let all = summary(None).unwrap_or_else(|| unanchored(&[]));
    let tiers = Tier::iter()
        .filter_map(|tier| Some((tier, summary(Some(tier))?)))
        .collect();
    let mut contradictions = 0;
    let mut comparisons = 0;
    let mut losses: BTreeMap<Loss, usize> = BTreeMap::new();
    for sample in &cell.samples {
        if let Outcome::Lost(loss) = sample.outcome {
            *losses.entry(loss).or_default() += 1;
        }
        if sample.compares() {
            comparisons += 1;
            contradictions += usize::from(sample.contradicts());
        }
    }
    let scored = cell
        .samples
        .iter()
        .filter_map(|sample| sample.record.scored.as_ref());
    let masses: Vec<f64> = scored.map(|scored| mass(scored)).collect();
    let missing = never_asked(cell, bank);
    if missing > 0 {
        *losses.entry(Loss::NotAsked).or_default() += missing;
    }
    CellScore {
        model: cell.model.clone(),
        task: cell.task.name.clone(),
        anchored,
        method,
        people: of_people.then(|| people::count(cell)),
        all,
        adjusted: None,
        tiers,
        items,
        contradictions,
        comparisons,
        mass: (!masses.is_empty()).then(|| mean(&masses)),
        samples: cell.samples.len() + missing,
        losses,
        other_wording: cell
            .samples
            .iter()
            .filter(|sample| !sample.current_wording)
            .count(),
        settings: settings_of(cell),
        epochs: if of_people { 1 } else { cell.epochs() },
    }
}

/// Items and conditions that were never asked.
fn never_asked(cell: &Cell<'_>, bank: &Bank) -> usize {
    // Every item is wanted once under every condition; further epochs are what was asked for.
    let asked: BTreeSet<(&ItemId, Condition)> = cell
        .samples
        .iter()
        .map(|sample| (&sample.slot.item, sample.slot.condition))
        .collect();
    bank.items
        .iter()
        .flat_map(|item| {
            cell.task
                .conditions
                .iter()
                .map(move |condition| (&item.id, *condition))
        })
        .filter(|pair| !asked.contains(pair))
        .count()
}

/// Usable estimates of a tier that equal the anchor, and all under an anchor.
fn copies(cell: &Cell<'_>, tier: Option<Tier>) -> (usize, usize) {
    let mut copies = (0, 0);
    for sample in &cell.samples {
        if tier.is_none_or(|tier| sample.tier == Some(tier))
            && let (Outcome::Estimate(value), Some(anchor)) = (sample.outcome, sample.anchor)
        {
            copies.1 += 1;
            copies.0 += usize::from((value - anchor).abs() <= anchor * 1e-9);
        }
    }
    copies
}

fn score_item(
    cell: &Cell<'_>,
    baseline: Option<&Cell<'_>>,
    item: &Item,
    index: Index,
) -> ItemScore {
    let low = cell.estimates(item, Condition::Low);
    let high = cell.estimates(item, Condition::High);
    let unanchored =
        baseline.map_or_else(Vec::new, |cell| cell.estimates(item, Condition::Unanchored));
    let center = |values: &[f64]| (!values.is_empty()).then(|| index.center(values));
    let anchor = |condition| {
        let epochs = cell.of(item, condition);
        let usable = epochs
            .iter()
            .find(|sample| matches!(sample.outcome, Outcome::Estimate(_)));
        usable.or(epochs.first())?.anchor
    };
    let shown = (anchor(Condition::Low), anchor(Condition::High));
    let anchors = shown
        .0
        .zip(shown.1)
        .filter(|_| !low.is_empty() && !high.is_empty());
    let none = center(&unanchored);
    let halves = match (anchors, none) {
        (Some(anchors), Some(none)) => (
            half(index.center(&low), none, anchors.0, anchors),
            half(index.center(&high), none, anchors.1, anchors),
        ),
        _ => (None, None),
    };
    let spread = anchors.map(|anchors| {
        let value = index.of(&low, &high, anchors);
        // Medians of few epochs jump when they are drawn anew, by more than they are wrong.
        if index != Index::LogAi {
            return value.into();
        }
        let (low, high) = (index.prepare(&low), index.prepare(&high));
        Spread::of(value, &low, &high, |low, high| {
            index.of_prepared(low, high, anchors)
        })
    });
    ItemScore {
        item: item.id.clone(),
        tier: item.tier,
        anchors: shown,
        low: center(&low),
        high: center(&high),
        none,
        epochs: (low.len(), high.len()),
        index: spread.as_ref().map(|spread| spread.value),
        interval: anchors
            .filter(|_| index == Index::LogAi)
            .and_then(|anchors| item_interval(&low, &high, anchors)),
        spread,
        halves,
        p: (index == Index::Raw && low.len() >= TESTABLE && high.len() >= TESTABLE)
            .then(|| two_sample(&low, &high))
            .flatten(),
        noise: anchors.and_then(|anchors| item_noise(&low, &high, anchors)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::log_ratio;
    use super::super::stats::{bootstrap, sign_flip};
    use super::*;

    #[test]
    fn wobble_around_nothing_is_no_bias_unless_negatives_are_clamped() {
        let values: Vec<f64> = (0..40)
            .map(|n| {
                let up = if n % 2 == 0 { 1.3 } else { 1.0 / 1.3 };
                log_ratio(100.0, 100.0 * up, 40.0, 250.0)
            })
            .collect();
        let interval = bootstrap(&values, IntervalMethod::Percentile);
        assert!(interval.low < 0.0 && interval.high > 0.0);
        assert!(sign_flip(&values).unwrap() > 0.5);
        // The post's first mistake: without the downs the wobble looks like a pull, clear of zero.
        let clamped: Vec<f64> = values.iter().map(|value| value.max(0.0)).collect();
        assert!(bootstrap(&clamped, IntervalMethod::Percentile).low > 0.04);
    }
}
