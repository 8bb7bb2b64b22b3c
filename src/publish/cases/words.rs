//! Numbers of cases in words.

use crate::publish::format::{UNSCORED, p_text, two, with_interval};
use crate::score::uai::Measured;

/// "0.20 [0.15, 0.25] (691)", or a dash.
pub(super) fn measured(value: Option<Measured>) -> String {
    value.map_or_else(
        || UNSCORED.to_owned(),
        |value| {
            format!(
                "{} ({})",
                with_interval(value.value, value.interval),
                value.n
            )
        },
    )
}

/// "0.20 [0.15, 0.25]", or a dash; for tables whose n stands elsewhere.
pub(super) fn short(value: Option<Measured>) -> String {
    value.map_or_else(
        || UNSCORED.to_owned(),
        |value| with_interval(value.value, value.interval),
    )
}

/// A number and what it is computed over, or a dash: "0.41 (172)".
pub(super) fn number(value: Option<(f64, usize)>) -> String {
    value.map_or_else(
        || UNSCORED.to_owned(),
        |(value, n)| format!("{} ({n})", two(value)),
    )
}

/// A p value and its adjusted form, or a dash: "0.012 (0.036)".
pub(super) fn p_of(p: Option<f64>, adjusted: Option<f64>) -> String {
    match (p, adjusted) {
        (Some(p), Some(adjusted)) => format!("{} ({})", p_text(p), p_text(adjusted)),
        (Some(p), None) => p_text(p),
        (None, _) => UNSCORED.to_owned(),
    }
}
