//! `wheel export`: scores and samples for other programs.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::evidence::{EvidenceArgs, MethodArgs, no_cases};
use super::workspace::{QuestionArgs, TaskArgs, check_tasks};
use super::{CliError, Exit, output};
use crate::domain::{Condition, Suite};
use crate::import::results_line;
use crate::publish::{cells_rows, items_rows, notebook, samples_rows};
use crate::score::{CellSample, Outcome};
use crate::store::write_text;
use crate::task::Part;

#[derive(Debug, ClapArgs)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// cells.csv, items.csv and samples.csv; the columns are described in docs/statistics.md
    Csv(TableArgs),
    /// The same tables as JSON lists
    Json(TableArgs),
    /// Answers to cases in the form of AnchorBench's results.jsonl, one file a model and task
    Anchorbench(ResultArgs),
    /// A task as a notebook file for Kaggle's benchmark SDK
    Kaggle(KaggleArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel export csv --out tables\n  wheel export json --out tables --index ai\n  duckdb -c \"select model, avg(\\\"index\\\") from 'tables/items.csv' group by model\""
)]
struct TableArgs {
    /// Folder to write to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    evidence: EvidenceArgs,
    #[command(flatten)]
    method: MethodArgs,
    /// Only this model; repeat for more
    #[arg(long = "model", value_name = "M")]
    model: Vec<String>,
    /// Only this task; repeat for more
    #[arg(long = "task", value_name = "T")]
    task: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    match &args.what {
        What::Csv(args) => tables(args, false),
        What::Json(args) => tables(args, true),
        What::Anchorbench(args) => results(args),
        What::Kaggle(args) => kaggle(args),
    }
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel export kaggle --task classic --out classic.py\n\nThen, with Kaggle's own tool:\n  kaggle b t push anchoring-classic -f classic.py --wait\n  kaggle b t run anchoring-classic -m openai/gpt-5.4-nano --wait\n  kaggle b t download anchoring-classic -o runs-kaggle\n  wheel import kaggle runs-kaggle"
)]
struct KaggleArgs {
    /// The task
    #[arg(long, value_name = "T")]
    task: String,
    /// File to write; otherwise it is printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    tasks: TaskArgs,
}

fn kaggle(args: &KaggleArgs) -> Result<Exit, CliError> {
    let tasks = args.tasks.load()?;
    check_tasks(std::slice::from_ref(&args.task), &tasks)?;
    let task = tasks.get(&args.task).expect("it was checked");
    let text = notebook(task, &args.questions.load()?).map_err(CliError::usage)?;
    match &args.out {
        Some(path) => {
            write_text(path, &text).map_err(CliError::failed)?;
            output::result(&path.display().to_string())?;
        }
        None => output::result(text.trim_end())?,
    }
    Ok(Exit::Done)
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel export anchorbench --out results --rules anchorbench\n  wheel import anchorbench results --store elsewhere"
)]
struct ResultArgs {
    /// Folder to write to: <suite>/<model>/results.jsonl
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    evidence: EvidenceArgs,
    /// Only this model; repeat for more
    #[arg(long = "model", value_name = "M")]
    model: Vec<String>,
    /// Only this task; repeat for more
    #[arg(long = "task", value_name = "T")]
    task: Vec<String>,
}

fn results(args: &ResultArgs) -> Result<Exit, CliError> {
    let mut source = args.evidence.clone();
    source.suite.suite = Some(Suite::Anchorbench);
    let evidence = source.load(&args.model, &args.task)?;
    let records = evidence.records()?;
    let cells = evidence.cells();
    if cells.is_empty() {
        return Err(no_cases());
    }
    for cell in cells {
        let mut text = String::new();
        // The order of the set, which seeded intervals rest on.
        let place = |sample: &&CellSample<'_>| {
            let cases = &evidence.catalog.cases;
            cases.place(&cell.task.name, &sample.slot.item)
        };
        let mut samples: Vec<&CellSample<'_>> = cell.samples.iter().collect();
        samples.sort_by_key(place);
        for sample in samples {
            let same = records.get(&sample.record.key);
            let mut of_sample = same.into_iter().flatten();
            let Some(record) = of_sample.find(|record| sample.record.is_of(record)) else {
                continue;
            };
            let Some(case) = evidence.catalog.case(&cell.task.name, &record.item) else {
                continue;
            };
            // A first reply that is the anchor, or that of a control in two turns, stands beside the second.
            let first = cell.task.turn_of(record.condition, Part::Anchor);
            let of_control = (record.condition == Condition::ControlTwostage).then_some(1);
            let first = first.or(of_control).and_then(|turn| {
                let mut of_sample = same.into_iter().flatten();
                let first = of_sample.find(|line| {
                    line.turn == turn
                        && line.status.is_answer()
                        && (&line.model, &line.task) == (&record.model, &record.task)
                })?;
                Some((first.full_text(), sample.anchor))
            });
            let answer = match sample.outcome {
                Outcome::Estimate(value) => Some(value),
                Outcome::Lost(_) => None,
            };
            let rule = match (answer, &sample.reading) {
                (Some(_), Some(reading)) => reading.rule.to_string(),
                _ => "failed".to_owned(),
            };
            let first = first.as_ref().map(|(text, value)| (text.as_str(), *value));
            let line = results_line(record, first, &case.facts, sample.anchor, answer, &rule);
            text.push_str(&format!("{line}\n"));
        }
        let suite = cell.task.name.as_str().replace('-', "_");
        let model = cell.model.as_str().replace('/', "_");
        let path = args.out.join(suite).join(model).join("results.jsonl");
        write_text(&path, &text).map_err(CliError::failed)?;
        output::result(&path.display().to_string())?;
    }
    Ok(Exit::Done)
}

fn tables(args: &TableArgs, as_json: bool) -> Result<Exit, CliError> {
    let evidence = args.evidence.load(&args.model, &args.task)?;
    if evidence.suite != Suite::Wheel {
        return Err(CliError::Usage(
            "the tables are those of the wheel: `wheel score --suite anchorbench --json` gives the scores of cases (--suite spinner those of stimuli, --suite judge those of judges), `wheel export anchorbench` the answers".to_owned(),
        ));
    }
    let scores = evidence.scores(args.method.method())?;
    let samples = evidence.cells();
    for (name, table) in [
        ("cells", cells_rows(&scores)),
        ("items", items_rows(&scores)),
        ("samples", samples_rows(&samples)),
    ] {
        let (ending, text) = if as_json {
            let text = serde_json::to_string_pretty(&table.json()).map_err(CliError::failed)?;
            ("json", text + "\n")
        } else {
            ("csv", table.csv().map_err(CliError::failed)?)
        };
        let path = args.out.join(format!("{name}.{ending}"));
        write_text(&path, &text).map_err(CliError::failed)?;
        output::result(&path.display().to_string())?;
    }
    Ok(Exit::Done)
}
