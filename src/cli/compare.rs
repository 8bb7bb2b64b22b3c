//! `wheel compare`: two models, two tasks or two stores, paired by question.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args as ClapArgs;
use serde_json::{Value, json};

use super::evidence::{EvidenceArgs, MethodArgs};
use super::workspace::unknown;
use super::{CliError, Exit, output};
use crate::domain::{ModelName, Suite, TaskName};
use crate::publish::{
    case_contrasts_json, case_contrasts_table, contrasts_table, plain_table, two,
};
use crate::score::contrast::{Contrast, adjust, contrast};
use crate::score::uai::{self, CaseCell, CaseContrast};
use crate::score::{CellScore, Index, Scores};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel compare gpt-5.4-nano claude-haiku-4.5            two models, in every task that both were asked\n  wheel compare classic thinking --model gpt-5.4-nano   two tasks\n  wheel compare runs-june runs-july --model gpt-5.4-nano   one model, then and now\n\nThe difference is the second minus the first, over the questions usable in both."
)]
pub(super) struct Args {
    /// A model, a task, or the folder of a store
    #[arg(value_name = "A")]
    first: String,
    /// Another of the same kind
    #[arg(value_name = "B")]
    second: String,
    #[command(flatten)]
    evidence: EvidenceArgs,
    #[command(flatten)]
    method: MethodArgs,
    /// Only this model, where tasks or stores are compared; repeat for more
    #[arg(long = "model", value_name = "M")]
    model: Vec<String>,
    /// Only this task, where models or stores are compared; repeat for more
    #[arg(long = "task", value_name = "T")]
    task: Vec<String>,
    /// How many of the questions that differ most to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    items: usize,
    /// As JSON, with every question
    #[arg(long)]
    json: bool,
}

/// One contrast and what stands on its sides.
struct Row {
    about: String,
    contrast: Contrast,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    if args.method.method().index == Index::Raw {
        return Err(CliError::Usage(
            "raw differences stand in unlike units and have no mean to compare: take --index ai or log_ai".to_owned(),
        ));
    }
    let (first, second) = (&args.first, &args.second);
    if first == second {
        return Err(CliError::Usage(format!(
            "{first} is the same on both sides: name two models, tasks or stores"
        )));
    }
    if let Some(rows) = cases(args)? {
        args.method.check(Suite::Anchorbench)?;
        return show_cases(args, rows);
    }
    args.method.check(Suite::Wheel)?;
    let mut rows = rows(args)?;
    if rows.is_empty() {
        return Err(CliError::Usage(format!(
            "{first} and {second} have no two questions in common that are usable in both, in any anchored task of this selection"
        )));
    }
    let mut contrasts: Vec<&mut Contrast> = rows.iter_mut().map(|row| &mut row.contrast).collect();
    adjust(&mut contrasts);
    if args.json {
        let json = json!({
            "first": first,
            "second": second,
            "index_name": args.method.method().index.to_string(),
            "contrasts": rows.iter().map(row_json).collect::<Vec<_>>(),
        });
        output::result(&serde_json::to_string_pretty(&json).map_err(CliError::failed)?)?;
        return Ok(Exit::Done);
    }
    let table: Vec<(String, &Contrast)> = rows
        .iter()
        .map(|row| (row.about.clone(), &row.contrast))
        .collect();
    output::result(&contrasts_table(first, second, &table))?;
    for row in &rows {
        let differ = row
            .contrast
            .items
            .iter()
            .any(|item| item.difference() != 0.0);
        if args.items == 0 || !differ {
            continue;
        }
        output::result(&format!("{}: the questions that differ most", row.about))?;
        output::result(&most_different(args, row))?;
    }
    Ok(Exit::Done)
}

/// Contrasts of cases, where the two are of a suite of cases; the second minus the first.
fn cases(args: &Args) -> Result<Option<Vec<(String, CaseContrast)>>, CliError> {
    let (first, second) = (args.first.as_str(), args.second.as_str());
    let method = args.method.of_cases();
    let stores = [first, second].map(Path::new);
    if stores.iter().all(|store| store.is_dir()) {
        let [a, b] = stores.map(|store| args.evidence.load_store(store, &args.model, &args.task));
        let (a, b) = (a?, b?);
        if a.suite != Suite::Anchorbench {
            return Ok(None);
        }
        let (a, b) = (a.case_scores(method)?, b.case_scores(method)?);
        let same = |a: &CaseCell, b: &CaseCell| (&a.model, &a.task) == (&b.model, &b.task);
        return Ok(Some(pairs(&a.cells, &b.cells, same, |cell| {
            format!("{}, {}", cell.model, cell.task)
        })));
    }
    // Two tasks say by themselves which suite they belong to.
    let mut evidence = args.evidence.clone();
    let catalog = evidence.catalog()?;
    let suite_of = |name: &str| catalog.tasks.get(name).map(|task| task.suite);
    let tasks = suite_of(first).is_some() && suite_of(first) == suite_of(second);
    if tasks {
        evidence.suite.suite = evidence.suite.suite.or(suite_of(first));
    }
    let named = args.task.first().and_then(|task| suite_of(task));
    if let Some(suite @ (Suite::Spinner | Suite::Judge)) = evidence.suite.suite.or(named) {
        return Err(CliError::Usage(format!(
            "questions and cases are compared in pairs; models of the suite {suite} stand side by side in `wheel score --suite {suite}`"
        )));
    }
    if evidence.suite.suite.or(named) != Some(Suite::Anchorbench) {
        return Ok(None);
    }
    let evidence = evidence.load(&args.model, &args.task)?;
    let scores = evidence.case_scores(method)?;
    let of = |wanted: &dyn Fn(&CaseCell) -> bool| -> Vec<CaseCell> {
        let cells = scores.cells.iter().filter(|cell| wanted(cell));
        cells.cloned().collect()
    };
    if tasks {
        let a = of(&|cell| cell.task.as_str() == first);
        let b = of(&|cell| cell.task.as_str() == second);
        let same = |a: &CaseCell, b: &CaseCell| a.model == b.model;
        return Ok(Some(pairs(&a, &b, same, |cell| cell.model.to_string())));
    }
    let known: BTreeSet<&str> = scores
        .cells
        .iter()
        .map(|cell| cell.model.as_str())
        .collect();
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(name) = [first, second]
        .into_iter()
        .find(|name| !known.contains(name))
    {
        return Err(unknown("model, task or store", name, &known));
    }
    let a = of(&|cell| cell.model.as_str() == first);
    let b = of(&|cell| cell.model.as_str() == second);
    let same = |a: &CaseCell, b: &CaseCell| a.task == b.task;
    Ok(Some(pairs(&a, &b, same, |cell| cell.task.to_string())))
}

fn pairs(
    first: &[CaseCell],
    second: &[CaseCell],
    same: impl Fn(&CaseCell, &CaseCell) -> bool,
    about: impl Fn(&CaseCell) -> String,
) -> Vec<(String, CaseContrast)> {
    let mut rows = Vec::new();
    for a in first {
        match second.iter().find(|b| same(a, b)) {
            Some(b) if a.why.is_none() && b.why.is_none() => {
                let contrast = uai::contrast(b, a);
                // Tasks with cases of their own have none in common.
                if contrast.error.is_some() {
                    rows.push((about(a), contrast));
                }
            }
            Some(b) => {
                for cell in [a, b] {
                    if let Some(why) = &cell.why {
                        let (model, task) = (&cell.model, &cell.task);
                        output::note(&format!("{}: left out: {model}, {task}: {why}", about(a)));
                    }
                }
            }
            None => {}
        }
    }
    rows
}

fn show_cases(args: &Args, mut rows: Vec<(String, CaseContrast)>) -> Result<Exit, CliError> {
    if rows.is_empty() {
        return Err(CliError::Usage(format!(
            "{} and {} have no cell of cases in common that is usable in both",
            args.first, args.second
        )));
    }
    uai::adjust(rows.iter_mut().map(|(_, contrast)| contrast));
    let text = if args.json {
        let json = case_contrasts_json(&args.first, &args.second, &rows);
        serde_json::to_string_pretty(&json).map_err(CliError::failed)?
    } else {
        case_contrasts_table(&rows)
    };
    output::result(&text)?;
    Ok(Exit::Done)
}

/// Everything that the two have in common.
fn rows(args: &Args) -> Result<Vec<Row>, CliError> {
    let method = args.method.method();
    let (first, second) = (&args.first, &args.second);
    let is_store = |name: &str| Path::new(name).is_dir();
    let mut rows = Vec::new();
    if is_store(first) && is_store(second) {
        let load = |store: &str| -> Result<Scores, CliError> {
            args.evidence
                .load_store(Path::new(store), &args.model, &args.task)?
                .scores(method)
        };
        let (a, b) = (load(first)?, load(second)?);
        for cell in &a.cells {
            let other = find(&b, &cell.model, &cell.task);
            let about = format!("{}, {}", cell.model, cell.task);
            push(&mut rows, about, cell, other, args);
        }
        return Ok(rows);
    }
    let evidence = args.evidence.load(&args.model, &args.task)?;
    let scores = evidence.scores(method)?;
    if evidence.catalog.tasks.get(first).is_some() && evidence.catalog.tasks.get(second).is_some() {
        for model in &scores.models {
            if let Some(cell) = find(&scores, &model.model, &first.as_str().into()) {
                let other = find(&scores, &model.model, &second.as_str().into());
                push(&mut rows, model.model.to_string(), cell, other, args);
            }
        }
        return Ok(rows);
    }
    let mut known: Vec<&str> = scores
        .models
        .iter()
        .map(|model| model.model.as_str())
        .collect();
    // Next to a task only another task makes sense.
    if evidence.catalog.tasks.get(first).is_some() || evidence.catalog.tasks.get(second).is_some() {
        known = evidence.catalog.tasks.names().collect();
    }
    if let Some(name) = [first, second]
        .into_iter()
        .find(|name| !known.contains(&name.as_str()))
    {
        return Err(unknown("model, task or store", name, &known));
    }
    for cell in scores
        .cells
        .iter()
        .filter(|cell| cell.model.as_str() == first)
    {
        let other = find(&scores, &second.as_str().into(), &cell.task);
        push(&mut rows, cell.task.to_string(), cell, other, args);
    }
    Ok(rows)
}

/// The questions that differ most.
fn most_different(args: &Args, row: &Row) -> String {
    let lines: Vec<Vec<String>> = row
        .contrast
        .items
        .iter()
        .filter(|item| item.difference() != 0.0)
        .take(args.items)
        .map(|item| {
            vec![
                item.item.to_string(),
                item.tier.to_string(),
                two(item.first),
                two(item.second),
                two(item.difference()),
            ]
        })
        .collect();
    plain_table(
        &["question", "tier", &args.first, &args.second, "difference"],
        &lines,
    )
}

fn find<'a>(scores: &'a Scores, model: &ModelName, task: &TaskName) -> Option<&'a CellScore> {
    scores
        .cells
        .iter()
        .find(|cell| cell.model == *model && cell.task == *task)
}

fn push(
    rows: &mut Vec<Row>,
    about: String,
    first: &CellScore,
    second: Option<&CellScore>,
    args: &Args,
) {
    let method = args.method.method();
    let found = second.and_then(|second| contrast(first, second, method.interval));
    if let Some(contrast) = found {
        rows.push(Row { about, contrast });
    } else if first.anchored {
        output::note(&format!(
            "{about}: fewer than two questions are usable on both sides; left out"
        ));
    }
}

fn row_json(row: &Row) -> Value {
    let contrast = &row.contrast;
    let items: Vec<Value> = contrast
        .items
        .iter()
        .map(|item| {
            json!({
                "item": item.item,
                "tier": item.tier,
                "first": item.first,
                "second": item.second,
                "difference": item.difference(),
            })
        })
        .collect();
    json!({
        "about": row.about,
        "n": contrast.n,
        "first": contrast.first,
        "second": contrast.second,
        "difference": contrast.difference,
        "low": contrast.interval.low,
        "high": contrast.interval.high,
        "p": contrast.p,
        "p_holm": contrast.adjusted.holm,
        "p_bh": contrast.adjusted.benjamini_hochberg,
        "by_item": items,
    })
}
