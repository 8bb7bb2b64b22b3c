//! Tables for the terminal.

use tabled::builder::Builder;
use tabled::settings::Style;

use super::format::{
    UNKNOWN, UNSCORED, cost, losses, p_text, two, whole_with_interval, with_interval,
};
use crate::score::contrast::Contrast;
use crate::score::{CellScore, Index, ModelScore};

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
pub fn cells_table(cells: &[CellScore]) -> String {
    let rows: Vec<Vec<String>> = cells
        .iter()
        .map(|cell| {
            let index = match cell.all.index {
                Some(index) => with_interval(index, cell.all.interval),
                None if !cell.anchored => String::new(),
                None => format!("{UNSCORED} {}", cell.all.why().unwrap_or_default()),
            };
            let of_index = |value: Option<String>| value.unwrap_or_default();
            vec![
                cell.model.to_string(),
                cell.task.to_string(),
                index,
                of_index(cell.all.p.map(p_text)),
                format!("{} of {}", cell.all.usable, cell.all.items),
                of_index(
                    cell.all
                        .sensitivity
                        .map(|value| with_interval(value, cell.all.sensitivity_interval)),
                ),
                of_index(cell.all.noise.map(|noise| two(noise.sensitivity))),
                of_index(cell.all.index.and(cell.all.backlash).map(|n| n.to_string())),
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
    let index = match cells.first().map(|cell| cell.method.index) {
        None | Some(Index::LogAi) => "anchoring index [95 %]",
        Some(Index::Ai) => "linear index [95 %]",
        Some(Index::AIndex) => "A-index [95 %]",
        Some(Index::Raw) => "share beyond chance [95 %]",
    };
    plain_table(
        &[
            "model",
            "task",
            index,
            "p",
            "usable items",
            "sensitivity [95 %]",
            "of it noise",
            "backlash",
            "equal to anchor",
            "lost samples",
        ],
        &rows,
    )
}

/// One row a model.
#[must_use]
pub fn models_table(models: &[ModelScore]) -> String {
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

/// One row a contrast of two cells.
#[must_use]
pub fn contrasts_table(first: &str, second: &str, rows: &[(String, &Contrast)]) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(about, contrast)| {
            vec![
                about.clone(),
                contrast.n.to_string(),
                two(contrast.first),
                two(contrast.second),
                with_interval(contrast.difference, Some(contrast.interval)),
                p_text(contrast.p),
                p_text(contrast.adjusted.holm),
                p_text(contrast.adjusted.benjamini_hochberg),
            ]
        })
        .collect();
    plain_table(
        &[
            "in",
            "questions",
            first,
            second,
            "difference [95 %]",
            "p",
            "p (Holm)",
            "p (BH)",
        ],
        &rows,
    )
}
