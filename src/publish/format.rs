//! How single numbers are written.

use crate::domain::Usd;
use crate::score::{CellScore, Interval};

/// What stands for a value that is not known.
pub(super) const UNKNOWN: &str = "?";

/// What stands for a cell that cannot be scored.
pub(super) const UNSCORED: &str = "—";

/// Two digits, without a negative zero.
#[must_use]
pub fn two(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" {
        "0.00".to_owned()
    } else {
        text
    }
}

/// "0.52 [0.39, 0.65]".
pub(super) fn with_interval(value: f64, interval: Option<Interval>) -> String {
    match interval {
        Some(Interval { low, high }) => format!("{} [{}, {}]", two(value), two(low), two(high)),
        None => format!("{} [{UNKNOWN}]", two(value)),
    }
}

/// "12 [10, 14]", in whole numbers where the median is one.
pub(super) fn whole_with_interval(value: f64, interval: Option<Interval>) -> String {
    let one = |value: f64| {
        if value.fract() == 0.0 {
            format!("{value:.0}")
        } else {
            format!("{value:.1}")
        }
    };
    match interval {
        Some(Interval { low, high }) => format!("{} [{}, {}]", one(value), one(low), one(high)),
        None => format!("{} [{UNKNOWN}]", one(value)),
    }
}

/// Why a cell has no index, where it has none.
pub(super) fn cell_why(cell: &CellScore) -> Option<String> {
    if cell.anchored {
        cell.all.why().map(str::to_owned)
    } else {
        Some("no anchors in this task".to_owned())
    }
}

/// A p value: three digits, and no smaller than can be told.
pub(super) fn p_text(p: f64) -> String {
    if p < 0.001 {
        "< 0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}

/// "2 `no_number`, 1 truncated", most frequent first; "none".
pub(super) fn losses<L: std::fmt::Display>(counts: impl IntoIterator<Item = (L, usize)>) -> String {
    let mut counts: Vec<(String, usize)> = counts
        .into_iter()
        .map(|(loss, n)| (loss.to_string(), n))
        .collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    if counts.is_empty() {
        return "none".to_owned();
    }
    counts
        .iter()
        .map(|(loss, n)| format!("{n} {loss}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// What calls cost by the price list, and what the provider says where that differs.
pub(super) fn cost(computed: Option<Usd>, reported: Option<Usd>) -> String {
    match (computed, reported) {
        (Some(computed), Some(reported)) if computed != reported => {
            format!("{computed} (provider: {reported})")
        }
        (Some(computed), _) => computed.to_string(),
        (None, Some(reported)) => format!("{reported} (provider)"),
        (None, None) => UNKNOWN.to_owned(),
    }
}
