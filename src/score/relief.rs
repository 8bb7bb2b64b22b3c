//! Relief by thinking.

use super::stats::{Interval, IntervalMethod, bootstrap_columns};
use super::{CellScore, Index};

/// How much of the pull the request to think takes away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relief {
    /// 1 − thinking index / classic index, both over the items usable in both; negative if thinking adds to the pull.
    pub value: f64,
    /// 95 % bootstrap interval over the items usable in both tasks.
    pub interval: Interval,
    /// Those items.
    pub n: usize,
}

/// Relief by thinking; only where both cells are scored and the classic interval is clear of zero, since a ratio to
/// nothing says nothing.
#[must_use]
pub fn relief(classic: &CellScore, thinking: &CellScore, method: IntervalMethod) -> Option<Relief> {
    let interval = classic.all.interval?;
    if interval.low <= 0.0 && interval.high >= 0.0 {
        return None;
    }
    // Without its sign an index is never clear of zero by chance alone.
    if classic.method.index == Index::AIndex {
        return None;
    }
    let (classics, thinkings): (Vec<f64>, Vec<f64>) = classic
        .items
        .iter()
        .zip(&thinking.items)
        .filter_map(|(classic, thinking)| classic.index.zip(thinking.index))
        .unzip();
    if classics.len() < 2 || thinking.all.index.is_none() {
        return None;
    }
    let relief = |classic: &[f64], thinking: &[f64]| {
        1.0 - thinking.iter().sum::<f64>() / classic.iter().sum::<f64>()
    };
    let [interval] = bootstrap_columns([&classics, &thinkings], method, |[classic, thinking]| {
        [relief(classic, thinking)]
    });
    Some(Relief {
        value: relief(&classics, &thinkings),
        interval,
        n: classics.len(),
    })
}
