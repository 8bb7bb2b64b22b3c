//! The board as a folder of static pages that work from a file, without a network.
//!
//! One page for the board, one for each model, one for each cell with every prompt and reply. Pages are templates with all
//! text escaped, and name the hashes of their only script and style, so that no reply can run as markup.

mod plot;

use std::collections::{BTreeMap, HashMap};

use base64::Engine as _;
use minijinja::Environment;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use strum::IntoEnumIterator;

use super::board::{
    BoardSource, accuracy, index_text, intro, marks, marks_of, people_of, provenance, tokens,
};
use super::document::{Block, Entry, Heading};
use super::format::{UNKNOWN, UNSCORED, cell_why, losses, with_interval};
use super::report::{ReportSource, report};
use crate::domain::{ModelName, TaskName, Tier, grouped};
use crate::score::stats::{Spread, median};
use crate::score::{Cell, CellSample, CellScore, Index, ModelScore, Outcome};
use crate::store::Record;
use plot::{Point, Row, forest, scatter};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

/// What a site is made from.
pub struct SiteSource<'a> {
    /// The board.
    pub board: BoardSource<'a>,
    /// The samples behind it.
    pub cells: &'a [Cell<'a>],
    /// The stored record of a counted sample, with its texts.
    pub record: &'a dyn Fn(&CellSample<'_>) -> Option<Record>,
}

/// A page by its file name.
pub type Page = (String, String);

/// All pages. The first is `index.html`.
///
/// # Errors
/// A template that cannot be rendered.
pub fn site(source: &SiteSource<'_>) -> Result<Vec<Page>, minijinja::Error> {
    let environment = environment()?;
    let mut pages = vec![index_page(&environment, source)?];
    for model in &source.board.scores.models {
        pages.push(model_page(&environment, source, model)?);
    }
    for cell in source.cells {
        pages.push(cell_page(&environment, source, cell)?);
    }
    Ok(pages)
}

/// A document as one page.
///
/// # Errors
/// A template that cannot be rendered.
pub fn document_html(blocks: &[Block]) -> Result<String, minijinja::Error> {
    let title = title_of(blocks);
    environment()?
        .get_template("report.html")?
        .render(page(&title, json!({"head": blocks})))
}

fn title_of(blocks: &[Block]) -> String {
    match blocks.first() {
        Some(Block::Heading { text, .. }) => text.clone(),
        _ => "wheel".to_owned(),
    }
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    for (name, text) in [
        ("base.html", include_str!("base.html")),
        ("blocks.html", include_str!("blocks.html")),
        ("index.html", include_str!("index.html")),
        ("report.html", include_str!("report.html")),
        ("cell.html", include_str!("cell.html")),
    ] {
        environment.add_template(name, text)?;
    }
    Ok(environment)
}

/// What every page has, and what only this one has.
fn page(title: &str, own: Value) -> minijinja::Value {
    let hash = |text: &str| {
        base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text.as_bytes()))
    };
    let common = json!({
        "title": title,
        "style": STYLE,
        "style_hash": hash(STYLE),
        "script": SCRIPT,
        "script_hash": hash(SCRIPT),
    });
    let mut fields = Map::new();
    for part in [common, own] {
        if let Value::Object(part) = part {
            fields.extend(part);
        }
    }
    minijinja::value::Serde(fields).into()
}

/// A name as a part of a file name: readable, and unlike that of any other name.
fn slug(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' {
                c
            } else {
                '-'
            }
        })
        .take(60)
        .collect();
    let hash = blake3::hash(name.as_bytes()).to_hex();
    format!("{plain}-{}", &hash[..6])
}

fn model_file(model: &ModelName) -> String {
    format!("model-{}.html", slug(model.as_str()))
}

fn cell_file(model: &ModelName, task: &TaskName) -> String {
    format!("cell-{}-{}.html", slug(model.as_str()), slug(task.as_str()))
}

/// Where a sample stands.
fn sample_href(model: &ModelName, sample: &CellSample<'_>) -> String {
    format!(
        "{}#{}",
        cell_file(model, &sample.slot.task),
        sample_id(sample)
    )
}

fn sample_id(sample: &CellSample<'_>) -> String {
    format!("s-{}", sample.record.key)
}

#[derive(Serialize)]
struct Plot {
    title: String,
    about: String,
    svg: String,
}

#[derive(Serialize)]
struct BoardRow {
    model: String,
    marks: String,
    href: String,
    cells: Vec<Entry>,
}

#[derive(Serialize)]
struct HeatRow {
    model: String,
    task: String,
    cells: Vec<Heat>,
}

#[derive(Serialize)]
struct Heat {
    text: String,
    sort: Option<f64>,
    shade: String,
}

fn index_page(
    environment: &Environment<'_>,
    source: &SiteSource<'_>,
) -> Result<Page, minijinja::Error> {
    let board = &source.board;
    let scores = board.scores;
    let anchored: Vec<_> = board
        .tasks
        .0
        .iter()
        .filter(|task| task.is_anchored() && scores.cells.iter().any(|cell| cell.task == task.name))
        .collect();
    let find = |model: &ModelName, task: &TaskName| {
        scores
            .cells
            .iter()
            .find(|cell| cell.model == *model && cell.task == *task)
    };
    let mut columns = vec![
        column("model", false),
        column("accuracy, no anchor", true),
        column("tokens per one-line answer (median)", true),
    ];
    columns.extend(anchored.iter().map(|task| column(&task.title, true)));
    let rows: Vec<BoardRow> = scores
        .models
        .iter()
        .map(|model| {
            #[expect(clippy::cast_precision_loss, reason = "counts of items")]
            let share = model.accuracy.map(|(right, n)| right as f64 / n as f64);
            let mut cells = vec![
                Entry::from(accuracy(model)).by(share),
                Entry::from(tokens(model)).by(model.median_output_tokens),
            ];
            cells.extend(anchored.iter().map(|task| {
                find(&model.model, &task.name).map_or_else(Entry::default, |cell| {
                    Entry::from(index_text(cell))
                        .by(cell.all.index)
                        .to(Some(cell_file(&cell.model, &cell.task)))
                })
            }));
            BoardRow {
                model: model.model.to_string(),
                marks: marks_of(scores, &model.model) + &people_of(scores, &model.model),
                href: model_file(&model.model),
                cells,
            }
        })
        .collect();
    let mut plots: Vec<Plot> = anchored
        .iter()
        .map(|task| {
            let rows: Vec<Row> = scores
                .models
                .iter()
                .filter_map(|model| find(&model.model, &task.name))
                .map(|cell| {
                    cell_row(
                        cell,
                        cell.model.to_string(),
                        cell_file(&cell.model, &cell.task),
                    )
                })
                .collect();
            let classic = task.name.as_str() == "classic" && scores.method.index == Index::LogAi;
            Plot {
                title: task.title.clone(),
                about: format!("{}: {}.", task.name, task.about),
                svg: forest(&task.title, &rows, classic.then_some(0.49)),
            }
        })
        .collect();
    plots.push(Plot {
        title: "Index against tokens spent".to_owned(),
        about: "Each point is a cell: a model under a task. Further right, it spent more output tokens on a reply, hidden reasoning included.".to_owned(),
        svg: scatter("Index against tokens spent", &token_points(source)),
    });
    let heat: Vec<HeatRow> = scores
        .cells
        .iter()
        .filter(|cell| cell.anchored)
        .map(|cell| HeatRow {
            model: cell.model.to_string(),
            task: task_title(source, &cell.task),
            cells: Tier::iter().map(|tier| heat(cell, tier)).collect(),
        })
        .collect();
    let html = environment.get_template("index.html")?.render(page(
        "Who is pulled by a number that has nothing to do with the question",
        json!({
            "intro": intro(board),
            "index_title": scores.method.index.title(),
            "note": format!("Mean [95 % interval]; {UNSCORED} where fewer than 80 % of the questions are usable. Every value leads to the prompts and replies behind it."),
            "columns": columns,
            "rows": rows,
            "marks": marks(scores),
            "plots": plots,
            "tiers": Tier::iter().map(|tier| tier.to_string()).collect::<Vec<_>>(),
            "heat": heat,
            "provenance": provenance(board),
        }),
    ))?;
    Ok(("index.html".to_owned(), html))
}

fn column(text: &str, numeric: bool) -> Heading {
    Heading {
        text: text.to_owned(),
        numeric,
    }
}

fn task_title(source: &SiteSource<'_>, task: &TaskName) -> String {
    source
        .board
        .tasks
        .get(task.as_str())
        .map_or_else(|| task.to_string(), |task| task.title.clone())
}

fn cell_row(cell: &CellScore, label: String, href: String) -> Row {
    Row {
        filter: cell.model.to_string(),
        label,
        value: cell.all.index,
        interval: cell.all.interval,
        text: index_text(cell),
        href,
    }
}

fn token_points(source: &SiteSource<'_>) -> Vec<Point> {
    let scores = source.board.scores;
    source
        .cells
        .iter()
        .filter_map(|cell| {
            let score = scores
                .cells
                .iter()
                .find(|score| score.model == cell.model && score.task == cell.task.name)?;
            #[expect(clippy::cast_precision_loss, reason = "token counts lie below 2^53")]
            let counts: Vec<f64> = cell
                .samples
                .iter()
                .filter_map(|sample| sample.record.tokens.output)
                .map(|tokens| tokens.0 as f64)
                .collect();
            let label = format!("{}, {}", cell.model, cell.task.title);
            Some(Point {
                tokens: median(&counts)?,
                row: cell_row(score, label, model_file(&cell.model)),
            })
        })
        .collect()
}

fn heat(cell: &CellScore, tier: Tier) -> Heat {
    let Some(score) = cell.tiers.get(&tier) else {
        return Heat {
            text: String::new(),
            sort: None,
            shade: String::new(),
        };
    };
    let n = format!("n={} of {}", score.usable, score.items);
    let shade = score.index.map_or_else(String::new, |index| {
        let side = if index < 0.0 { 'c' } else { 'h' };
        match index.abs() {
            size if size < 0.05 => String::new(),
            size if size < 0.25 => format!("{side}1"),
            size if size < 0.5 => format!("{side}2"),
            size if size < 0.75 => format!("{side}3"),
            _ => format!("{side}4"),
        }
    });
    Heat {
        text: match score.index {
            Some(index) => format!("{} {n}", with_interval(index, score.interval)),
            None => format!("{UNSCORED} {n}"),
        },
        sort: score.index,
        shade,
    }
}

fn model_page(
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
                |index| with_interval(index, own.spread.as_ref().and_then(Spread::interval)),
            );
            Some(Row {
                label: item.text.clone(),
                filter: format!("{} {}", item.text, item.tier),
                value: own.index,
                interval: own.spread.as_ref().and_then(Spread::interval),
                text,
                href: sample_href(&cell.model, last),
            })
        })
        .collect()
}

#[derive(Serialize)]
struct Shown {
    id: String,
    head: String,
    read: String,
    messages: Vec<Said>,
    reasoning: Option<String>,
    reply: String,
    meta: String,
}

#[derive(Serialize)]
struct Said {
    role: String,
    content: String,
}

fn cell_page(
    environment: &Environment<'_>,
    source: &SiteSource<'_>,
    cell: &Cell<'_>,
) -> Result<Page, minijinja::Error> {
    let scores = source.board.scores;
    let score = scores
        .cells
        .iter()
        .find(|score| score.model == cell.model && score.task == cell.task.name);
    let items: HashMap<_, _> = source
        .board
        .bank
        .items
        .iter()
        .map(|item| (&item.id, item))
        .collect();
    let samples: Vec<Shown> = cell
        .samples
        .iter()
        .map(|sample| {
            let about = items
                .get(&sample.slot.item)
                .map_or_else(|| sample.slot.item.to_string(), |item| item.text.clone());
            shown(sample, &about, (source.record)(sample).as_ref())
        })
        .collect();
    let title = format!("{}: {}", cell.model, cell.task.title);
    let about = score.map_or_else(String::new, |score| {
        let value = if score.anchored {
            format!("{} {}. ", scores.method.index.title(), index_text(score))
        } else {
            String::new()
        };
        let why = cell_why(score).map_or_else(String::new, |why| format!("Not scored: {why}. "));
        format!(
            "{value}{}{} samples; lost: {}.",
            if score.all.index.is_some() {
                String::new()
            } else {
                why
            },
            score.samples,
            losses(score.losses.iter().map(|(loss, n)| (*loss, *n)))
        )
    });
    let up = vec![Entry::from(cell.model.as_str()).to(Some(model_file(&cell.model)))];
    let html = environment.get_template("cell.html")?.render(page(
        &title,
        json!({
            "up": up,
            "site": true,
            "about": about,
            "samples": samples,
            "provenance": provenance(&source.board),
        }),
    ))?;
    Ok((cell_file(&cell.model, &cell.task.name), html))
}

fn shown(sample: &CellSample<'_>, about: &str, record: Option<&Record>) -> Shown {
    let line = sample.record;
    let mut read = match sample.outcome {
        Outcome::Estimate(value) => format!("read as {}", grouped(value)),
        Outcome::Lost(loss) => format!("no estimate: {loss}"),
    };
    if let Some(reading) = &sample.reading {
        read.push_str(&format!(", by the rule {}", reading.rule));
    }
    if sample.contradicts() {
        read.push_str("; the comparison contradicts the estimate");
    }
    let count = |tokens: Option<crate::domain::Tokens>| {
        tokens.map_or_else(|| UNKNOWN.to_owned(), |tokens| tokens.0.to_string())
    };
    let error = record.and_then(|record| record.error.as_ref());
    Shown {
        id: sample_id(sample),
        head: format!(
            "{about} · {}{} · epoch {}",
            sample.slot.condition,
            sample
                .anchor
                .map_or_else(String::new, |anchor| format!(" {}", grouped(anchor))),
            sample.slot.epoch
        ),
        read,
        messages: line
            .conversation
            .0
            .iter()
            .map(|message| Said {
                role: message.role.to_string(),
                content: message.content.clone(),
            })
            .collect(),
        reasoning: record.and_then(|record| record.reasoning_text.clone()),
        reply: match error {
            Some(error) => format!("[{}: {}]", error.class, error.message),
            None => record
                .and_then(|record| record.text.clone())
                .unwrap_or_default(),
        },
        meta: format!(
            "{} · asked {} · {} tokens in, {} out · {}/{} · sample {}",
            line.status,
            line.started,
            count(line.tokens.input),
            count(line.tokens.output),
            line.sent.provider,
            line.sent.model,
            line.key
        ),
    }
}
