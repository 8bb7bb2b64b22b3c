//! Tables of cases for the terminal.

use super::words::{measured, p_of};
use crate::domain::Relevance;
use crate::publish::format::{UNSCORED, losses};
use crate::publish::plain_table;
use crate::score::uai::{CaseCell, CaseContrast, Difference, Measured};

/// One row a cell.
#[must_use]
pub fn case_cells_table(cells: &[CaseCell]) -> String {
    let rows: Vec<Vec<String>> = cells
        .iter()
        .map(|cell| {
            let pull = |relevance| cell.family(relevance).and_then(|family| family.uai);
            let usable = |value: Option<Measured>| match &cell.why {
                Some(_) => UNSCORED.to_owned(),
                None => measured(value),
            };
            vec![
                cell.model.to_string(),
                cell.task.to_string(),
                cell.all.cases.to_string(),
                cell.why.clone().unwrap_or_else(|| {
                    let other = match cell.other_wording {
                        0 => String::new(),
                        n => format!(", {n} in another wording"),
                    };
                    format!("{} of {}{other}", cell.parsed, cell.samples)
                }),
                usable(cell.all.acc10),
                usable(pull(Relevance::Irrelevant)),
                usable(pull(Relevance::Plausible)),
                usable(cell.all.disc),
                usable(cell.all.rational.map(|rational| rational.excess)),
                losses(cell.losses.iter().map(|(loss, n)| (*loss, *n))),
            ]
        })
        .collect();
    plain_table(
        &[
            "model",
            "task",
            "cases",
            "answers",
            "within 10 points",
            "irrelevant pull",
            "plausible pull",
            "plausible − irrelevant",
            "above what it deserves",
            "lost",
        ],
        &rows,
    )
}

/// One row a task and kind of anchor.
#[must_use]
pub fn case_contrasts_table(rows: &[(String, CaseContrast)]) -> String {
    let mut lines = Vec::new();
    let mut push = |about: &str, what: String, value: &Difference| {
        lines.push(vec![
            about.to_owned(),
            what,
            measured(Some(value.mean)),
            p_of(value.p, value.adjusted),
        ]);
    };
    for (about, contrast) in rows {
        for (relevance, value) in &contrast.uai {
            push(about, format!("{relevance} pull"), value);
        }
        for (relevance, value) in &contrast.pull {
            push(about, format!("{relevance} pull, control-free"), value);
        }
        if let Some(value) = &contrast.error {
            push(about, "error of the control, points".to_owned(), value);
        }
    }
    plain_table(
        &["compared", "what", "second − first", "p (adjusted)"],
        &lines,
    )
}
