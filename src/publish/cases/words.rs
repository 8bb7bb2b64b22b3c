//! Numbers of cases in words.

use crate::publish::format::{UNSCORED, two, with_interval};
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

/// A number, or a dash.
pub(super) fn number(value: Option<f64>) -> String {
    value.map_or_else(|| UNSCORED.to_owned(), two)
}
