//! The pages of a suite of cases.

use std::collections::BTreeSet;

use minijinja::Environment;
use serde_json::json;

use super::case_plot::{Line, Spot, curves, scatter_of};
use super::cell::{Shown, shown};
use super::{Page, Plot, cell_file, environment, model_file, page};
use crate::domain::{ModelName, Relevance};
use crate::publish::cases::{CaseBoardSource, CaseReportSource, case_board, case_report};
use crate::publish::document::Entry;
use crate::publish::format::losses;
use crate::score::uai::CaseCell;
use crate::score::{Cell, CellSample};
use crate::store::Record;

/// What a site of cases is made from.
pub struct CaseSiteSource<'a> {
    /// The board.
    pub board: CaseBoardSource<'a>,
    /// The samples behind it.
    pub cells: &'a [Cell<'a>],
    /// The stored record of a counted sample, with its texts.
    pub record: &'a dyn Fn(&CellSample<'_>) -> Option<Record>,
}

/// Where the page of a cell lies within a site.
#[must_use]
pub fn case_cell_href(cell: &CaseCell) -> Option<String> {
    Some(cell_file(&cell.model, &cell.task))
}

/// All pages. The first is `index.html`.
///
/// # Errors
/// A template that cannot be rendered.
pub fn case_site(source: &CaseSiteSource<'_>) -> Result<Vec<Page>, minijinja::Error> {
    let environment = environment()?;
    let models: BTreeSet<&ModelName> = source
        .board
        .scores
        .cells
        .iter()
        .map(|cell| &cell.model)
        .collect();
    let mut pages = vec![index_page(&environment, source, &models)?];
    for model in &models {
        pages.push(model_page(&environment, source, model)?);
    }
    for cell in source.cells {
        pages.push(cell_page(&environment, source, cell)?);
    }
    Ok(pages)
}

fn provenance(source: &CaseSiteSource<'_>) -> String {
    format!(
        "{} stored lines, fingerprint {}",
        source.board.lines, source.board.store_fingerprint
    )
}

fn index_page(
    environment: &Environment<'_>,
    source: &CaseSiteSource<'_>,
    models: &BTreeSet<&ModelName>,
) -> Result<Page, minijinja::Error> {
    let up: Vec<Entry> = models
        .iter()
        .map(|model| Entry::from(model.as_str()).to(Some(model_file(model))))
        .collect();
    let html = environment.get_template("cases.html")?.render(page(
        "AnchorBench",
        json!({
            "site": true,
            "up": up,
            "head": case_board(&source.board),
            "plots": plots(source),
            "provenance": provenance(source),
        }),
    ))?;
    Ok(("index.html".to_owned(), html))
}

/// Dose and response by task, and accuracy against pull.
fn plots(source: &CaseSiteSource<'_>) -> Vec<Plot> {
    let scores = source.board.scores;
    let usable = || scores.cells.iter().filter(|cell| cell.why.is_none());
    let mut plots = Vec::new();
    for task in &source.board.tasks.0 {
        let lines: Vec<Line> = usable()
            .filter(|cell| cell.task == task.name && cell.by_offset.len() > 1)
            .map(|cell| Line {
                label: cell.model.to_string(),
                href: cell_file(&cell.model, &cell.task),
                points: cell
                    .by_offset
                    .iter()
                    .filter_map(|(offset, summary)| {
                        let pull = summary.families.get(&Relevance::Plausible)?.uai?;
                        Some((f64::from(*offset), pull.value, pull.interval))
                    })
                    .collect(),
            })
            .collect();
        if lines.iter().any(|line| line.points.len() > 1) {
            plots.push(Plot {
                title: format!("Dose and response: {}", task.title),
                about: "Pull of plausible anchors by their distance from the middle, in points, with 95 % intervals. Each point leads to its replies.".to_owned(),
                svg: curves(&task.title, "distance, points", "pull", &lines),
            });
        }
    }
    let spots: Vec<Spot> = usable()
        .filter_map(|cell| {
            let accuracy = cell.all.acc10?;
            let pull = cell.family(Relevance::Plausible)?.uai?;
            Some(Spot {
                label: format!("{}, {}", cell.model, cell.task),
                href: cell_file(&cell.model, &cell.task),
                x: accuracy.value,
                y: pull.value,
                x_interval: accuracy.interval,
                y_interval: pull.interval,
            })
        })
        .collect();
    if !spots.is_empty() {
        plots.push(Plot {
            title: "Accuracy against pull".to_owned(),
            about: "Share of the control's answers within 10 points against the pull of plausible anchors: a model may be right without a number beside the question and still follow one.".to_owned(),
            svg: scatter_of("accuracy against pull", "within 10 points", "plausible pull", &spots),
        });
    }
    plots
}

fn model_page(
    environment: &Environment<'_>,
    source: &CaseSiteSource<'_>,
    model: &ModelName,
) -> Result<Page, minijinja::Error> {
    let report = CaseReportSource {
        scores: source.board.scores,
        tasks: source.board.tasks,
    };
    let cells = source.board.scores.cells.iter();
    let up: Vec<Entry> = cells
        .filter(|cell| cell.model == *model)
        .map(|cell| Entry::from(cell.task.as_str()).to(Some(cell_file(&cell.model, &cell.task))))
        .collect();
    let html = environment.get_template("cases.html")?.render(page(
        model.as_str(),
        json!({
            "site": true,
            "up": up,
            "head": case_report(&report, model).unwrap_or_default(),
            "plots": [],
            "provenance": provenance(source),
        }),
    ))?;
    Ok((model_file(model), html))
}

fn cell_page(
    environment: &Environment<'_>,
    source: &CaseSiteSource<'_>,
    cell: &Cell<'_>,
) -> Result<Page, minijinja::Error> {
    let samples: Vec<Shown> = cell
        .samples
        .iter()
        .map(|sample| {
            let record = (source.record)(sample);
            shown(sample, sample.slot.item.as_str(), record.as_ref())
        })
        .collect();
    let title = format!("{}: {}", cell.model, cell.task.title);
    let scored = source.board.scores.cells.iter();
    let score = scored
        .filter(|score| score.model == cell.model)
        .find(|score| score.task == cell.task.name);
    let about = score.map_or_else(String::new, |score| {
        let why = score
            .why
            .as_ref()
            .map_or_else(String::new, |why| format!("Not scored: {why}. "));
        let lost = losses(score.losses.iter().map(|(loss, n)| (*loss, *n)));
        format!("{why}{} samples; lost: {lost}.", score.samples)
    });
    let up = vec![Entry::from(cell.model.as_str()).to(Some(model_file(&cell.model)))];
    let html = environment.get_template("cell.html")?.render(page(
        &title,
        json!({
            "up": up,
            "site": true,
            "about": about,
            "samples": samples,
            "provenance": provenance(source),
        }),
    ))?;
    Ok((cell_file(&cell.model, &cell.task.name), html))
}
