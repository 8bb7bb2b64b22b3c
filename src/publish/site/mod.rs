//! The board as a folder of static pages that work from a file, without a network.
//!
//! One page for the board, one for each model, one for each cell with every prompt and reply. Pages are templates with all
//! text escaped, and name the hashes of their only script and style, so that no reply can run as markup.

mod case_plot;
mod cases;
mod cell;
mod index;
mod judge;
mod model;
mod plot;
mod spinner;

use base64::Engine as _;
use minijinja::Environment;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::board::BoardSource;
use super::document::Block;
use crate::domain::{ModelName, TaskName};
use crate::score::{Cell, CellSample};
use crate::store::Record;
pub use cases::{CaseSiteSource, case_cell_href, case_site};
use cell::cell_page;
use index::index_page;
pub use judge::{JudgeSiteSource, judge_href, judge_site};
use model::model_page;
pub use spinner::{spinner_site, variation_href};

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
        ("cases.html", include_str!("cases.html")),
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
