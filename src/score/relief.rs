//! Relief by thinking.

use super::CellScore;
use super::stats::{Interval, IntervalMethod, Spread, bootstrap_columns};

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
pub fn relief(classic: &CellScore, thinking: &CellScore, method: IntervalMethod) -> Option<Relief> {
    let interval = classic.all.interval?;
    if interval.low <= 0.0 && interval.high >= 0.0 {
        return None;
    }
    let (classics, thinkings): (Vec<Spread>, Vec<Spread>) = classic
        .items
        .iter()
        .zip(&thinking.items)
        .filter_map(|(classic, thinking)| classic.spread.clone().zip(thinking.spread.clone()))
        .unzip();
    if classics.len() < 2 {
        return None;
    }
    let [interval] = bootstrap_columns([&classics, &thinkings], method, |[classic, thinking]| {
        [1.0 - thinking.iter().sum::<f64>() / classic.iter().sum::<f64>()]
    });
    Some(Relief {
        value: 1.0 - thinking.all.index? / classic.all.index?,
        interval,
        n: classics.len(),
    })
}
