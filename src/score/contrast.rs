//! Two cells on the same questions: is the difference real?

use super::CellScore;
use super::cell::Adjusted;
use super::stats::{
    Interval, IntervalMethod, Spread, benjamini_hochberg, bootstrap_items, holm, mean, sign_flip,
};
use crate::domain::{ItemId, Tier};

/// The difference between two cells, paired by item.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// Items usable in both.
    pub n: usize,
    /// Mean index of the first over these items.
    pub first: f64,
    /// Mean index of the second over these items.
    pub second: f64,
    /// Second − first.
    pub difference: f64,
    /// 95 % two-level bootstrap interval of the difference of each item.
    pub interval: Interval,
    /// Two-sided sign-flip permutation p of a mean difference of 0.
    pub p: f64,
    /// `p`, adjusted for the number of contrasts that are looked at together.
    pub adjusted: Adjusted,
    /// The items, the largest difference first.
    pub items: Vec<ItemContrast>,
}

/// One item in both cells.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemContrast {
    /// The item.
    pub item: ItemId,
    /// Its tier.
    pub tier: Tier,
    /// Index in the first cell.
    pub first: f64,
    /// Index in the second.
    pub second: f64,
}

impl ItemContrast {
    /// Second − first.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.second - self.first
    }
}

/// Compares two cells, scored by the same bank and method. `None` with fewer than two items usable in both.
#[must_use]
pub fn contrast(first: &CellScore, second: &CellScore, method: IntervalMethod) -> Option<Contrast> {
    let mut items = Vec::new();
    let mut spreads: Vec<Spread> = Vec::new();
    for (a, b) in first.items.iter().zip(&second.items) {
        if let (Some(one), Some(other)) = (&a.spread, &b.spread) {
            items.push(ItemContrast {
                item: a.item.clone(),
                tier: a.tier,
                first: one.value,
                second: other.value,
            });
            spreads.push(other.minus(one));
        }
    }
    if items.len() < 2 {
        return None;
    }
    let differences: Vec<f64> = items.iter().map(ItemContrast::difference).collect();
    let interval = bootstrap_items(&spreads, method);
    let p = sign_flip(&differences)?;
    let side = |of: fn(&ItemContrast) -> f64| mean(&items.iter().map(of).collect::<Vec<_>>());
    let (first, second) = (side(|item| item.first), side(|item| item.second));
    items.sort_by(|a, b| {
        let size = |item: &ItemContrast| item.difference().abs();
        size(b)
            .total_cmp(&size(a))
            .then_with(|| a.item.cmp(&b.item))
    });
    Some(Contrast {
        n: items.len(),
        first,
        second,
        difference: mean(&differences),
        interval,
        p,
        adjusted: Adjusted {
            holm: p,
            benjamini_hochberg: p,
        },
        items,
    })
}

/// Adjusts the p values of contrasts that are looked at together.
pub fn adjust(contrasts: &mut [&mut Contrast]) {
    let p: Vec<f64> = contrasts.iter().map(|contrast| contrast.p).collect();
    let adjusted = holm(&p).into_iter().zip(benjamini_hochberg(&p));
    for (contrast, (holm, benjamini_hochberg)) in contrasts.iter_mut().zip(adjusted) {
        contrast.adjusted = Adjusted {
            holm,
            benjamini_hochberg,
        };
    }
}
