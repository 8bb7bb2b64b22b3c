//! The page of a model: its report, with a plot of every question.

use std::collections::BTreeMap;

use minijinja::Environment;
use serde_json::json;

use super::plot::{Row, forest};
use super::{Page, Plot, SiteSource, model_file, page, sample_href, title_of};
use crate::publish::board::provenance;
use crate::publish::document::Block;
use crate::publish::format::{UNSCORED, with_interval};
use crate::publish::report::{ReportSource, report};
use crate::score::{Cell, CellSample, CellScore, Index, ModelScore};

pub(super) fn model_page(
    environment: &Environment<'_>,
    source: &SiteSource<'_>,
    model: &ModelScore,
) -> Result<Page, minijinja::Error> {
    let name = &model.model;
    let link = |sample: &CellSample<'_>| Some(sample_href(name, sample));
    let blocks = report(
        &ReportSource {
            scores: source.board.scores,
            cells: source.cells,
            bank: source.board.bank,
            link: &link,
        },
        name,
    )
    .unwrap_or_default();
    let title = title_of(&blocks);
    // The plots stand behind the glance and before the tables of the tasks.
    let cut = blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| matches!(block, Block::Heading { level: 2, .. }))
        .nth(2)
        .map_or(blocks.len(), |(place, _)| place);
    let (head, body) = blocks.split_at(cut);
    let plots: Vec<Plot> = source
        .board
        .scores
        .cells
        .iter()
        .filter(|score| score.model == *name && score.anchored && score.method.index != Index::Raw)
        .filter_map(|score| {
            let cell = source
                .cells
                .iter()
                .find(|cell| cell.model == *name && cell.task.name == score.task)?;
            Some(Plot {
                title: cell.task.title.clone(),
                about: String::new(),
                svg: forest(&cell.task.title, &item_rows(source, score, cell), None),
            })
        })
        .collect();
    let html = environment.get_template("report.html")?.render(page(
        &title,
        json!({
            "up": [],
            "site": true,
            "head": head,
            "body": body,
            "plots": plots,
            "provenance": provenance(&source.board),
        }),
    ))?;
    Ok((model_file(name), html))
}

/// One row a question, leading to its reply after the high anchor.
fn item_rows(source: &SiteSource<'_>, score: &CellScore, cell: &Cell<'_>) -> Vec<Row> {
    let items: BTreeMap<_, _> = source
        .board
        .bank
        .items
        .iter()
        .map(|item| (&item.id, item))
        .collect();
    score
        .items
        .iter()
        .filter_map(|own| {
            let item = items.get(&own.item)?;
            let samples: Vec<&CellSample<'_>> = cell
                .samples
                .iter()
                .filter(|sample| sample.slot.item == own.item)
                .collect();
            let last = samples.last()?;
            let text = own.index.map_or_else(
                || UNSCORED.to_owned(),
                |index| with_interval(index, own.interval),
            );
            Some(Row {
                label: item.text.clone(),
                filter: format!("{} {}", item.text, item.tier),
                value: own.index,
                interval: own.interval,
                text,
                href: sample_href(&cell.model, last),
            })
        })
        .collect()
}
