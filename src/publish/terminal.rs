//! Tables for the terminal.

use tabled::builder::Builder;
use tabled::settings::Style;

use super::format::{UNKNOWN, UNSCORED, cost, losses, two, whole_with_interval, with_interval};
use crate::score::{CellScore, ModelScore};

/// A table of texts with a header.
#[must_use]
pub fn plain_table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut builder = Builder::default();
    builder.push_record(header.iter().copied());
    for row in rows {
        builder.push_record(row.iter().map(String::as_str));
    }
    let mut table = builder.build();
    table.with(Style::sharp());
    table.to_string()
}

/// One row a cell.
#[must_use]
pub fn cells_table(cells: &[&CellScore]) -> String {
    let rows: Vec<Vec<String>> = cells
        .iter()
        .map(|cell| {
            let index = match (cell.all.index, &cell.why) {
                (Some(index), _) => with_interval(index, cell.all.interval),
                (None, Some(_)) if !cell.anchored => String::new(),
                (None, why) => format!("{UNSCORED} {}", why.clone().unwrap_or_default()),
            };
            let of_index = |value: Option<String>| value.unwrap_or_default();
            vec![
                cell.model.to_string(),
                cell.task.to_string(),
                index,
                format!("{} of {}", cell.all.usable, cell.all.items),
                of_index(
                    cell.all
                        .sensitivity
                        .map(|value| with_interval(value, cell.all.sensitivity_interval)),
                ),
                of_index(cell.all.index.map(|_| cell.all.backlash.to_string())),
                of_index(cell.all.copy_share().map(|share| {
                    format!(
                        "{} ({} of {})",
                        two(share),
                        cell.all.copies.0,
                        cell.all.copies.1
                    )
                })),
                losses(cell.losses.iter().map(|(loss, n)| (*loss, *n))),
            ]
        })
        .collect();
    plain_table(
        &[
            "model",
            "task",
            "anchoring index [95 %]",
            "usable items",
            "sensitivity [95 %]",
            "backlash",
            "equal to anchor",
            "lost samples",
        ],
        &rows,
    )
}

/// One row a model.
#[must_use]
pub fn models_table(models: &[&ModelScore]) -> String {
    let rows: Vec<Vec<String>> = models
        .iter()
        .map(|model| {
            vec![
                model.model.to_string(),
                model.accuracy.map_or_else(
                    || UNKNOWN.to_owned(),
                    |(right, n)| {
                        #[expect(clippy::cast_precision_loss, reason = "counts of items")]
                        let share = right as f64 / n as f64;
                        format!("{} of {n}", with_interval(share, model.accuracy_interval))
                    },
                ),
                model.median_output_tokens.map_or_else(
                    || UNKNOWN.to_owned(),
                    |tokens| {
                        let text = whole_with_interval(tokens, model.tokens_interval);
                        format!("{text} n={}", model.tokens_n)
                    },
                ),
                cost(model.cost_computed, model.cost_reported),
            ]
        })
        .collect();
    plain_table(
        &[
            "model",
            "accuracy, no anchor [95 %]",
            "tokens per one-line answer [95 %]",
            "cost",
        ],
        &rows,
    )
}
