//! The page of the board.

use minijinja::Environment;
use serde::Serialize;
use serde_json::json;
use strum::IntoEnumIterator;

use super::plot::{Point, Row, forest, scatter};
use super::{Page, Plot, SiteSource, cell_file, model_file, page};
use crate::domain::{ModelName, TaskName, Tier};
use crate::publish::board::{
    accuracy, index_text, intro, marks, marks_of, people_of, provenance, tokens,
};
use crate::publish::document::{Entry, Heading};
use crate::publish::format::{UNSCORED, with_interval};
use crate::score::stats::median;
use crate::score::{CellScore, Index};

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

pub(super) fn index_page(
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
            "note": format!("{} [95 % interval]; {UNSCORED} where fewer than 80 % of the questions are usable. Every value leads to the prompts and replies behind it.", scores.method.index.of_cell()),
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
                row: cell_row(score, label, cell_file(&cell.model, &cell.task.name)),
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
