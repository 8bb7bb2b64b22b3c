//! The anchoring index of the wheel: log ratio of the estimates over log ratio of the anchors.

use std::collections::{BTreeMap, BTreeSet};

use strum::IntoEnumIterator;

use super::samples::{Cell, Outcome, estimate};
use super::stats::{Interval, bootstrap_by, bootstrap_means};
use crate::bank::{Bank, Item};
use crate::domain::{Condition, ItemId, Loss, ModelName, TaskName, Tier};

/// An index below this counts as backlash: the answer moved away from the anchor.
pub const BACKLASH: f64 = -0.05;

/// Share of usable items below which a cell is not scored, as a fraction of five.
const COVERAGE_FIFTHS: usize = 4;

/// Anchoring index of one item: how far the answers moved, as a share of how far the anchors lie apart.
///
/// 0 = anchors ignored, 1 = answers moved as far as the anchors, negative = moved away. Capped to [−1, 1]; negative
/// values are kept, because dropping them turns wobble into bias.
///
/// Source: the wheel of fortune post. Jacowitz & Kahneman (1995), PSPB 21(11), use medians on a linear scale.
///
/// All four arguments must be above 0 and the anchors must differ.
#[must_use]
pub fn index(low: f64, high: f64, low_anchor: f64, high_anchor: f64) -> f64 {
    ((high / low).ln() / (high_anchor / low_anchor).ln()).clamp(-1.0, 1.0)
}

/// One item of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemScore {
    /// The item.
    pub item: ItemId,
    /// Its tier.
    pub tier: Tier,
    /// Estimate under the low anchor, geometric mean over epochs.
    pub low: Option<f64>,
    /// Estimate under the high anchor.
    pub high: Option<f64>,
    /// The index, where both estimates are usable.
    pub index: Option<f64>,
}

/// Scores over a set of items.
#[derive(Debug, Clone, PartialEq)]
pub struct TierScore {
    /// Items in the bank.
    pub items: usize,
    /// Items with both estimates usable.
    pub usable: usize,
    /// Mean index; `None` below the coverage rule.
    pub index: Option<f64>,
    /// 95 % bootstrap interval of the mean index over items; `None` with fewer than two items.
    pub interval: Option<Interval>,
    /// Mean absolute index, which also holds run-to-run noise.
    pub sensitivity: Option<f64>,
    /// Its interval.
    pub sensitivity_interval: Option<Interval>,
    /// Items with an index below −0.05.
    pub backlash: usize,
    /// Usable items whose estimates differ at all.
    pub moved: usize,
    /// Usable estimates equal to the anchor shown, and all usable estimates under an anchor.
    pub copies: (usize, usize),
}

impl TierScore {
    /// Share of usable estimates equal to the anchor shown.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of samples")]
    pub fn copy_share(&self) -> Option<f64> {
        let (copies, usable) = self.copies;
        (usable > 0).then(|| copies as f64 / usable as f64)
    }

    /// Why there is no index, where there is none.
    #[must_use]
    pub fn why(&self) -> Option<String> {
        self.index.is_none().then(|| {
            format!(
                "{} of {} items usable; at least {} are needed",
                self.usable,
                self.items,
                (self.items * COVERAGE_FIFTHS).div_ceil(5)
            )
        })
    }
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
    /// Over all items.
    pub all: TierScore,
    /// Why there is no index.
    pub why: Option<String>,
    /// By tier, for tiers with items in the bank.
    pub tiers: BTreeMap<Tier, TierScore>,
    /// By item, in the order of the bank.
    pub items: Vec<ItemScore>,
    /// Replies whose comparison and estimate point to different sides of the anchor.
    pub contradictions: usize,
    /// Replies that gave both a comparison and an estimate.
    pub comparisons: usize,
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

/// What was sent with a sample besides the conversation, without the seed of single samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Provider entry.
    pub provider: String,
    /// Model id as sent.
    pub model_id: String,
    /// Model ids that came back.
    pub returned: Vec<String>,
    /// Sampling and limits; the seed only says whether one was sent.
    pub sampling: crate::domain::Sampling,
    /// The start of the reply that was given.
    pub prefill: Option<String>,
    /// Parameters that the server refused.
    pub dropped: Vec<String>,
}

impl CellScore {
    /// 1 − |index|: what boards rank by, higher is better.
    #[must_use]
    pub fn resistance(&self) -> Option<f64> {
        self.all.index.map(|index| 1.0 - index.abs())
    }
}

/// Scores one cell.
#[must_use]
pub fn score_cell(cell: &Cell<'_>, bank: &Bank) -> CellScore {
    let anchored = cell.task.is_anchored();
    let items: Vec<ItemScore> = bank
        .items
        .iter()
        .map(|item| score_item(cell, item, anchored))
        .collect();
    let all = if anchored {
        TierScore {
            copies: copies(cell, None),
            ..summarise(&items)
        }
    } else {
        count_unanchored(cell, &bank.items)
    };
    let tiers = Tier::iter()
        .filter_map(|tier| {
            let of_tier: Vec<ItemScore> = items
                .iter()
                .filter(|item| item.tier == tier)
                .cloned()
                .collect();
            if of_tier.is_empty() {
                return None;
            }
            let score = if anchored {
                TierScore {
                    copies: copies(cell, Some(tier)),
                    ..summarise(&of_tier)
                }
            } else {
                let of_tier: Vec<Item> = bank
                    .items
                    .iter()
                    .filter(|item| item.tier == tier)
                    .cloned()
                    .collect();
                count_unanchored(cell, &of_tier)
            };
            Some((tier, score))
        })
        .collect();
    let why = if anchored {
        all.why()
    } else {
        Some("no anchors in this task".to_owned())
    };
    let mut contradictions = 0;
    let mut comparisons = 0;
    let mut losses: BTreeMap<Loss, usize> = BTreeMap::new();
    for sample in &cell.samples {
        if let Outcome::Lost(loss) = sample.outcome {
            *losses.entry(loss).or_default() += 1;
        }
        if let (Some(reading), Some(anchor), Outcome::Estimate(_)) =
            (sample.reading, sample.anchor, sample.outcome)
        {
            comparisons += usize::from(reading.comparison.is_some());
            contradictions += usize::from(reading.contradicts(anchor));
        }
    }
    let epochs = cell.epochs();
    let missing = never_asked(cell, bank);
    let samples = cell.samples.len() + missing;
    if missing > 0 {
        *losses.entry(Loss::NotAsked).or_default() += missing;
    }
    CellScore {
        model: cell.model.clone(),
        task: cell.task.name.clone(),
        anchored,
        all,
        why,
        tiers,
        items,
        contradictions,
        comparisons,
        samples,
        losses,
        other_wording: cell
            .samples
            .iter()
            .filter(|sample| !sample.current_wording)
            .count(),
        settings: settings_of(cell),
        epochs,
    }
}

/// How much of the pull the request to think takes away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relief {
    /// 1 − thinking index / classic index; negative if thinking adds to the pull.
    pub value: f64,
    /// 95 % bootstrap interval over the items usable in both tasks.
    pub interval: Interval,
    /// Those items.
    pub n: usize,
}

/// Relief by thinking; only where both cells are scored and the classic interval is clear of zero, since a ratio to
/// nothing says nothing.
#[must_use]
pub fn relief(classic: &CellScore, thinking: &CellScore) -> Option<Relief> {
    let interval = classic.all.interval?;
    if interval.low <= 0.0 && interval.high >= 0.0 {
        return None;
    }
    let pairs: Vec<(f64, f64)> = classic
        .items
        .iter()
        .zip(&thinking.items)
        .filter_map(|(classic, thinking)| classic.index.zip(thinking.index))
        .collect();
    if pairs.len() < 2 {
        return None;
    }
    Some(Relief {
        value: 1.0 - thinking.all.index? / classic.all.index?,
        interval: bootstrap_by(pairs.len(), |drawn| {
            let sum = |side: fn(&(f64, f64)) -> f64| -> f64 {
                drawn.iter().map(|at| side(&pairs[*at])).sum()
            };
            1.0 - sum(|pair| pair.1) / sum(|pair| pair.0)
        }),
        n: pairs.len(),
    })
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
        if tier.is_none_or(|tier| sample.tier == tier)
            && let (Outcome::Estimate(value), Some(anchor)) = (sample.outcome, sample.anchor)
        {
            copies.1 += 1;
            copies.0 += usize::from((value - anchor).abs() <= anchor * 1e-9);
        }
    }
    copies
}

fn score_item(cell: &Cell<'_>, item: &Item, anchored: bool) -> ItemScore {
    let low = estimate(cell, item, Condition::Low);
    let high = estimate(cell, item, Condition::High);
    let anchor = |condition| cell.of(item, condition).first()?.anchor;
    let index = match (low, high, anchor(Condition::Low), anchor(Condition::High)) {
        (Some(low), Some(high), Some(low_anchor), Some(high_anchor)) if anchored => {
            Some(index(low, high, low_anchor, high_anchor))
        }
        _ => None,
    };
    ItemScore {
        item: item.id.clone(),
        tier: item.tier,
        low,
        high,
        index,
    }
}

/// Whether enough items are usable: at least 80 %.
fn covered(usable: usize, items: usize) -> bool {
    usable > 0 && usable * 5 >= items * COVERAGE_FIFTHS
}

fn summarise(items: &[ItemScore]) -> TierScore {
    let indices: Vec<f64> = items.iter().filter_map(|item| item.index).collect();
    let scored = covered(indices.len(), items.len());
    let absolute: Vec<f64> = indices.iter().map(|index| index.abs()).collect();
    let mean = |values: &[f64]| scored.then(|| super::stats::mean(values));
    let intervals = (scored && indices.len() > 1).then(|| bootstrap_means([&indices, &absolute]));
    TierScore {
        items: items.len(),
        usable: indices.len(),
        index: mean(&indices),
        interval: intervals.map(|[index, _]| index),
        sensitivity: mean(&absolute),
        sensitivity_interval: intervals.map(|[_, sensitivity]| sensitivity),
        backlash: indices.iter().filter(|index| **index < BACKLASH).count(),
        moved: indices.iter().filter(|index| **index != 0.0).count(),
        copies: (0, 0),
    }
}

fn count_unanchored(cell: &Cell<'_>, items: &[Item]) -> TierScore {
    TierScore {
        items: items.len(),
        usable: items
            .iter()
            .filter(|item| estimate(cell, item, Condition::Unanchored).is_some())
            .count(),
        index: None,
        interval: None,
        sensitivity: None,
        sensitivity_interval: None,
        backlash: 0,
        moved: 0,
        copies: (0, 0),
    }
}

fn settings_of(cell: &Cell<'_>) -> Vec<Settings> {
    let mut all: Vec<Settings> = Vec::new();
    for sample in &cell.samples {
        let sent = &sample.record.sent;
        let mut sampling = sent.sampling.clone();
        // Seeds may differ from sample to sample; that one was used is the setting.
        sampling.seed = sampling.seed.map(|_| 0);
        let settings = Settings {
            provider: sent.provider.to_string(),
            model_id: sent.model.to_string(),
            returned: Vec::new(),
            sampling,
            prefill: sent.prefill.clone(),
            dropped: sent.dropped.clone(),
        };
        let place = all.iter().position(|known| {
            Settings {
                returned: Vec::new(),
                ..known.clone()
            } == settings
        });
        let place = place.unwrap_or_else(|| {
            all.push(settings);
            all.len() - 1
        });
        let known = &mut all[place];
        if let Some(returned) = &sample.record.returned_model
            && !known.returned.contains(returned)
        {
            known.returned.push(returned.clone());
            known.returned.sort();
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::stats::bootstrap;

    #[test]
    fn the_worked_examples_of_the_post_hold() {
        // Who and question: low anchor, estimate, high anchor, estimate, index before the cap, index.
        let close = |a: f64, b: f64| (a - b).abs() < 5e-4;
        let lego = index(400_000.0, 3_000_000.0, 160_000.0, 1_000_000.0);
        assert_eq!(lego, 1.0);
        assert!(close(7.5_f64.ln() / 6.25_f64.ln(), 1.0995));
        assert_eq!(index(6500.0, 200_000.0, 2400.0, 15_000.0), 1.0);
        assert!(close((200_000.0_f64 / 6500.0).ln() / 6.25_f64.ln(), 1.870));
        assert_eq!(index(130.0, 18.0, 50.0, 310.0), -1.0);
        assert!(close((18.0_f64 / 130.0).ln() / 6.2_f64.ln(), -1.084));
        assert_eq!(index(8849.0, 8849.0, 3500.0, 22_000.0), 0.0);
    }

    #[test]
    fn wobble_around_nothing_is_no_bias_unless_negatives_are_clamped() {
        let items: Vec<ItemScore> = (0..40)
            .map(|n| {
                let up = if n % 2 == 0 { 1.3 } else { 1.0 / 1.3 };
                ItemScore {
                    item: format!("q{n}").as_str().into(),
                    tier: Tier::Fermi,
                    low: Some(100.0),
                    high: Some(100.0 * up),
                    index: Some(index(100.0, 100.0 * up, 40.0, 250.0)),
                }
            })
            .collect();
        let score = summarise(&items);
        assert!(score.index.unwrap().abs() < 1e-12);
        let interval = score.interval.unwrap();
        assert!(interval.low < 0.0 && interval.high > 0.0);
        assert_eq!(score.backlash, 20);
        // The post's first mistake: without the downs the wobble looks like a pull, clear of zero.
        let clamped: Vec<f64> = items
            .iter()
            .map(|item| item.index.unwrap().max(0.0))
            .collect();
        assert!(bootstrap(&clamped).low > 0.04);
    }

    #[test]
    fn coverage_is_thirty_two_of_forty() {
        assert!(covered(32, 40));
        assert!(!covered(31, 40));
        assert!(!covered(0, 0));
    }

    proptest::proptest! {
        #[test]
        fn the_index_has_the_symmetries_of_a_ratio(
            low in 0.1_f64..1e6, high in 0.1_f64..1e6, anchor in 1.0_f64..1e6, factor in 1.1_f64..50.0, scale in 1e-3_f64..1e3,
        ) {
            let (a, b) = (anchor, anchor * factor);
            let plain = index(low, high, a, b);
            // Another unit changes nothing.
            proptest::prop_assert!((plain - index(low * scale, high * scale, a * scale, b * scale)).abs() < 1e-9);
            // Giving each side the other's answer flips the sign.
            proptest::prop_assert!((plain + index(high, low, a, b)).abs() < 1e-12);
            // Answers equal to the anchors are index 1, equal answers index 0.
            proptest::prop_assert!((index(a, b, a, b) - 1.0).abs() < 1e-12);
            proptest::prop_assert_eq!(index(low, low, a, b), 0.0);
        }
    }
}
