//! `wheel score`: scores from the store.

use clap::Args as ClapArgs;

use super::workspace::{QuestionArgs, StoreArgs, TaskArgs, check_tasks, hear, select};
use super::{CliError, Exit, output};
use crate::publish::{cells_table, models_table, scores_json};
use crate::score::{Scores, score};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel score\n  wheel score --model gpt-5.4-nano --json | jq '.cells[].index'"
)]
pub(super) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    tasks: TaskArgs,
    /// Only this model; repeat for more
    #[arg(long = "model", value_name = "M")]
    model: Vec<String>,
    /// Only this task; repeat for more
    #[arg(long = "task", value_name = "T")]
    task: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let bank = args.questions.load()?;
    let tasks = args.tasks.load()?;
    check_tasks(&args.task, &tasks)?;
    let mut loaded = args.store.load()?;
    select(&mut loaded, &args.model, &args.task)?;
    let scores = score(&hear(loaded.records, &bank, &tasks), &bank, &tasks);
    warn_unknown(&scores);
    if scores.cells.is_empty() {
        return Err(CliError::Usage(
            "no stored sample belongs to the questions and tasks that are loaded: name theirs with --questions and --tasks".to_owned(),
        ));
    }
    let cells: Vec<_> = scores.cells.iter().collect();
    let models: Vec<_> = scores.models.iter().collect();
    if args.json {
        let json = scores_json(&cells, &models);
        output::result(&serde_json::to_string_pretty(&json).map_err(CliError::failed)?)?;
    } else {
        output::result(&cells_table(&cells))?;
        output::result(&models_table(&models))?;
    }
    Ok(Exit::Done)
}

/// Says which samples were left out because their task or question is not loaded.
pub(super) fn warn_unknown(scores: &Scores) {
    for (name, n) in &scores.unknown {
        output::note(&format!(
            "warning: {n} stored lines of {name} are left out: it is not loaded (--questions, --tasks)"
        ));
    }
}
