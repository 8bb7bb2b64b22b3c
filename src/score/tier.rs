//! Scores over a set of items: all of a cell, or those of a tier.

use super::cell::{ItemScore, Method};
use super::index::Index;
use super::noise::{ItemNoise, Noise, split};
use super::stats::{Interval, Spread, bootstrap, bootstrap_items, mean, median, sign_flip, wilson};

/// An index below this counts as backlash: the answer moved away from the anchor.
pub const BACKLASH: f64 = -0.05;

/// Share of usable items below which a cell is not scored, as a fraction of five.
const COVERAGE_FIFTHS: usize = 4;

/// Level of the tests that are counted.
pub const LEVEL: f64 = 0.05;

/// Epochs on each side from which a test within one question can come out below [`LEVEL`].
pub(super) const TESTABLE: usize = 4;

/// A mean with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean over items.
    pub value: f64,
    /// 95 % bootstrap interval over items.
    pub interval: Interval,
    /// The items.
    pub n: usize,
}

/// Scores over a set of items.
#[derive(Debug, Clone, PartialEq)]
pub struct TierScore {
    /// Items in the bank.
    pub items: usize,
    /// Items with both estimates usable.
    pub usable: usize,
    /// Mean index (for [`Index::Raw`] the share of items beyond chance); `None` below the coverage rule.
    pub index: Option<f64>,
    /// 95 % interval of it; `None` with fewer than two items.
    pub interval: Option<Interval>,
    /// Median index over items.
    pub median: Option<f64>,
    /// Two-sided sign-flip permutation p of a mean index of 0.
    pub p: Option<f64>,
    /// Mean absolute index, which also holds run-to-run noise.
    pub sensitivity: Option<f64>,
    /// Its interval.
    pub sensitivity_interval: Option<Interval>,
    /// What of the sensitivity is noise; with at least two epochs, for [`Index::LogAi`].
    pub noise: Option<Noise>,
    /// Low and high halves of the index of Jacowitz & Kahneman, for [`Index::Ai`].
    pub halves: Option<(Option<Mean>, Option<Mean>)>,
    /// Items with an index below −0.05; `None` of an index that has no sign or a unit.
    pub backlash: Option<usize>,
    /// Usable items whose estimates differ at all.
    pub moved: usize,
    /// Usable estimates equal to the anchor shown, and all usable estimates under an anchor.
    pub copies: (usize, usize),
    why: Option<String>,
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
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// 1 − |index|: what boards rank by, higher is better.
    #[must_use]
    pub fn resistance(&self) -> Option<f64> {
        self.index.map(resistance)
    }
}

/// 1 − |index|.
#[must_use]
pub fn resistance(index: f64) -> f64 {
    1.0 - index.abs()
}

/// Whether enough items are usable: at least 80 %.
pub(super) fn covered(usable: usize, items: usize) -> bool {
    usable > 0 && usable * 5 >= items * COVERAGE_FIFTHS
}

pub(super) fn summarise(items: &[&ItemScore], method: Method) -> TierScore {
    let usable: Vec<&ItemScore> = items
        .iter()
        .copied()
        .filter(|item| match method.index {
            Index::Raw => item.p.is_some(),
            _ => item.index.is_some(),
        })
        .collect();
    let mut score = TierScore {
        items: items.len(),
        usable: usable.len(),
        backlash: method.index.has_backlash().then(|| {
            usable
                .iter()
                .filter(|item| item.index.is_some_and(|index| index < BACKLASH))
                .count()
        }),
        moved: usable
            .iter()
            .filter(|item| item.index.is_some_and(|index| index != 0.0))
            .count(),
        ..unanchored(&[])
    };
    if !covered(usable.len(), items.len()) {
        let needed = (items.len() * COVERAGE_FIFTHS).div_ceil(5);
        let epochs = match method.index {
            Index::Raw => format!(" with {TESTABLE} epochs a side"),
            _ => String::new(),
        };
        score.why = Some(format!(
            "{} of {} items usable{epochs}; at least {needed} are needed",
            usable.len(),
            items.len(),
        ));
        return score;
    }
    if method.index == Index::Raw {
        let beyond = usable
            .iter()
            .filter(|item| item.p.is_some_and(|p| p < LEVEL))
            .count();
        #[expect(clippy::cast_precision_loss, reason = "counts of items")]
        let share = beyond as f64 / usable.len() as f64;
        score.index = Some(share);
        score.interval = Some(wilson(beyond, usable.len()));
        return score;
    }
    let spreads: Vec<Spread> = usable
        .iter()
        .filter_map(|item| item.spread.clone())
        .collect();
    let values: Vec<f64> = spreads.iter().map(|spread| spread.value).collect();
    let sizes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    let several = values.len() > 1;
    score.index = Some(mean(&values));
    score.interval = several.then(|| bootstrap_items(&spreads, method.interval));
    score.median = median(&values);
    // Without its sign an index says nothing about the side of zero.
    score.p = (method.index != Index::AIndex)
        .then(|| sign_flip(&values))
        .flatten();
    score.sensitivity = Some(mean(&sizes));
    // Noise only adds to a size, so epochs are not drawn anew for it.
    score.sensitivity_interval = several.then(|| bootstrap(&sizes, method.interval));
    let noises: Vec<(f64, ItemNoise)> = usable
        .iter()
        .filter_map(|item| item.index.zip(item.noise))
        .collect();
    score.noise = (method.index == Index::LogAi)
        .then(|| split(&noises))
        .flatten();
    score.halves = (method.index == Index::Ai).then(|| {
        let side = |of: fn(&ItemScore) -> Option<f64>| {
            let values: Vec<f64> = usable.iter().filter_map(|item| of(item)).collect();
            (values.len() > 1).then(|| Mean {
                value: mean(&values),
                interval: bootstrap(&values, method.interval),
                n: values.len(),
            })
        };
        (side(|item| item.halves.0), side(|item| item.halves.1))
    });
    score
}

/// Counts of items without anchors, and nothing else.
pub(super) fn unanchored(items: &[&ItemScore]) -> TierScore {
    TierScore {
        items: items.len(),
        usable: items.iter().filter(|item| item.none.is_some()).count(),
        index: None,
        interval: None,
        median: None,
        p: None,
        sensitivity: None,
        sensitivity_interval: None,
        noise: None,
        halves: None,
        backlash: None,
        moved: 0,
        copies: (0, 0),
        why: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_is_thirty_two_of_forty() {
        assert!(covered(32, 40));
        assert!(!covered(31, 40));
        assert!(!covered(0, 0));
    }
}
