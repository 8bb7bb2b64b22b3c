//! The pages of judges: a board, a page for each judge, and one for each judge and task with every prompt and verdict.

use std::collections::BTreeSet;

use minijinja::Environment;
use serde_json::json;

use super::case_plot::{Line, curves};
use super::cell::{Shown, verdict_shown};
use super::plot::{Row, forest};
use super::{Page, Plot, cell_file, environment, model_file, page};
use crate::domain::{Condition, Design, ModelName, TaskName};
use crate::publish::document::Entry;
use crate::publish::format::with_interval;
use crate::publish::judge::{JudgeBoardSource, judge_board, judge_report, why_not};
use crate::score::judge::{Call, Calls, Contrast, Panel};
use crate::score::stats::mean;
use crate::store::Record;

/// What a site of judges is made from.
pub struct JudgeSiteSource<'a> {
    /// The board.
    pub board: JudgeBoardSource<'a>,
    /// The calls behind it.
    pub calls: &'a [Calls<'a>],
    /// The stored record of a counted call, with its texts.
    pub record: &'a dyn Fn(&Call<'_>) -> Option<Record>,
}

/// Where the calls of a judge and task lie within a site.
#[must_use]
pub fn judge_href(model: &ModelName, task: &str) -> Option<String> {
    Some(cell_file(model, &TaskName::from(task)))
}

/// All pages. The first is `index.html`.
///
/// # Errors
/// A template that cannot be rendered.
pub fn judge_site(source: &JudgeSiteSource<'_>) -> Result<Vec<Page>, minijinja::Error> {
    let environment = environment()?;
    let models: BTreeSet<&ModelName> = source.calls.iter().map(|calls| &calls.model).collect();
    let up = models
        .iter()
        .map(|model| Entry::from(model.as_str()).to(Some(model_file(model))));
    let head = judge_board(&source.board);
    let plots = source
        .board
        .scores
        .panels
        .iter()
        .flat_map(|panel| plots(source, panel));
    let html = document(
        &environment,
        source,
        "Judge",
        &json!({"up": up.collect::<Vec<_>>(), "head": head, "plots": plots.collect::<Vec<_>>()}),
    )?;
    let mut pages = vec![("index.html".to_owned(), html)];
    for model in models {
        let of_model = source.calls.iter().filter(|calls| calls.model == *model);
        let up: BTreeSet<&TaskName> = of_model.map(|calls| &calls.task).collect();
        let up = up
            .into_iter()
            .map(|task| Entry::from(task.as_str()).to(judge_href(model, task.as_str())));
        let report = judge_report(&source.board, model).unwrap_or_default();
        let html = document(
            &environment,
            source,
            model.as_str(),
            &json!({"up": up.collect::<Vec<_>>(), "head": report, "plots": []}),
        )?;
        pages.push((model_file(model), html));
    }
    let same = |a: &Calls<'_>, b: &Calls<'_>| (&a.model, &a.task) == (&b.model, &b.task);
    for of_cell in source.calls.chunk_by(same) {
        pages.push(cell_page(&environment, source, of_cell)?);
    }
    Ok(pages)
}

fn provenance(source: &JudgeSiteSource<'_>) -> String {
    format!(
        "{} stored lines, fingerprint {}",
        source.board.lines, source.board.store_fingerprint
    )
}

fn document(
    environment: &Environment<'_>,
    source: &JudgeSiteSource<'_>,
    title: &str,
    own: &serde_json::Value,
) -> Result<String, minijinja::Error> {
    let mut own = own.clone();
    own["site"] = json!(true);
    own["provenance"] = json!(provenance(source));
    environment
        .get_template("cases.html")?
        .render(page(title, own))
}

/// Effects with their intervals, and scores by earlier score.
fn plots(source: &JudgeSiteSource<'_>, panel: &Panel) -> Vec<Plot> {
    let task = source.board.tasks.get(panel.task.as_str());
    let title = task.map_or_else(|| panel.task.to_string(), |task| task.title.clone());
    let shown = || panel.models.iter().filter(|model| why_not(model).is_none());
    let rows: Vec<Row> = shown()
        .flat_map(|model| {
            let href = cell_file(&model.model, &panel.task);
            [Contrast::Total, Contrast::Control]
                .into_iter()
                .filter_map(move |contrast| {
                    let estimate = model.effects.get(&contrast)?;
                    let what = match contrast {
                        Contrast::Total => "c2 − c0",
                        _ => "control − c0",
                    };
                    Some(Row {
                        label: format!("{}, {what}", model.model),
                        filter: model.model.to_string(),
                        value: Some(estimate.value),
                        interval: estimate.interval,
                        text: with_interval(estimate.value, estimate.interval),
                        href: href.clone(),
                    })
                })
        })
        .collect();
    let mut plots = Vec::new();
    if !rows.is_empty() {
        plots.push(Plot {
            title: format!("Effects: {title}"),
            about: "What the block with an earlier score adds to the verdict, and what the same block adds with a number that says nothing of the text; 95 % intervals over texts. Each point leads to its replies.".to_owned(),
            svg: forest(&format!("effects, {title}"), &rows, None),
        });
    }
    let lines: Vec<Line> = shown()
        .filter_map(|model| {
            let calls = source.calls.iter().find(|calls| {
                (&calls.model, &calls.task) == (&model.model, &panel.task)
                    && calls.standard == panel.standard
                    && calls.design == panel.design
            })?;
            Some(Line {
                label: model.model.to_string(),
                href: cell_file(&model.model, &panel.task),
                points: by_prior(calls, panel),
            })
        })
        .filter(|line| line.points.len() > 1)
        .collect();
    if !lines.is_empty() {
        plots.push(Plot {
            title: format!("Dose and response: {title}"),
            about: "Mean score under c2 by earlier score: each of those that take turns, else quarters of their range, each at its mean. A flat line below the score without a block is threshold-like.".to_owned(),
            svg: curves(&format!("dose and response, {title}"), "earlier score", "score", &lines),
        });
    }
    plots
}

/// Places on the axis of earlier scores where these are drawn.
const QUARTERS: usize = 4;

/// Mean scores by earlier score.
fn by_prior(calls: &Calls<'_>, panel: &Panel) -> Vec<(f64, f64, Option<crate::score::Interval>)> {
    let mut points: Vec<(f64, f64)> = calls
        .calls
        .iter()
        .filter(|call| call.condition == Condition::C2)
        .filter_map(|call| Some((call.anchor?, call.score()?)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let groups: Vec<&[(f64, f64)]> = match panel.design {
        Design::Fixed(_) => points.chunk_by(|a, b| a.0 == b.0).collect(),
        _ => points
            .chunks(points.len().div_ceil(QUARTERS).max(1))
            .collect(),
    };
    // Doses are what they are; the means of quarters need not be told to the hundredth.
    let places = if matches!(panel.design, Design::Fixed(_)) {
        100.0
    } else {
        10.0
    };
    let column = |group: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        mean(&group.iter().map(of).collect::<Vec<_>>())
    };
    groups
        .into_iter()
        .map(|group| {
            let x = (column(group, |point| point.0) * places).round() / places;
            (x, column(group, |point| point.1), None)
        })
        .collect()
}

fn cell_page(
    environment: &Environment<'_>,
    source: &JudgeSiteSource<'_>,
    of_cell: &[Calls<'_>],
) -> Result<Page, minijinja::Error> {
    let first = &of_cell[0];
    let all = || of_cell.iter().flat_map(|calls| &calls.calls);
    let samples: Vec<Shown> = all()
        .map(|call| verdict_shown(call, (source.record)(call).as_ref()))
        .collect();
    let valid = all().filter(|call| call.given.is_ok()).count();
    let html = environment.get_template("cell.html")?.render(page(
        &format!("{}: {}", first.model, first.task),
        json!({
            "up": [Entry::from(first.model.as_str()).to(Some(model_file(&first.model)))],
            "site": true,
            "about": format!("{} calls, {valid} of them with a verdict.", samples.len()),
            "samples": samples,
            "provenance": provenance(source),
        }),
    ))?;
    Ok((cell_file(&first.model, &first.task), html))
}
