//! `wheel tasks`: list and check.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::workspace::{QuestionArgs, TaskArgs};
use super::{CliError, Exit, output};
use crate::publish::plain_table;
use crate::task;

#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  wheel tasks\n  wheel tasks check my-tasks/"
)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    tasks: TaskArgs,
    #[command(flatten)]
    questions: QuestionArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check the task files of a folder, each rendered under every condition
    Check {
        /// Folder of task files
        #[arg(value_name = "DIR", default_value = "tasks")]
        folder: PathBuf,
    },
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    if let Some(Action::Check { folder }) = &args.action {
        let files = task::read_folder(folder).map_err(CliError::usage)?;
        if files.is_empty() {
            return Err(CliError::Usage(format!(
                "{} holds no .yaml file",
                folder.display()
            )));
        }
        let tasks = task::load(&files).map_err(CliError::usage)?;
        output::result(&format!("{} tasks are fit to run", tasks.0.len()))?;
        return Ok(Exit::Done);
    }
    // Loading checks every file, and stops with all faults.
    let tasks = args.tasks.load()?;
    let bank = args.questions.load()?;
    let rows: Vec<Vec<String>> = tasks
        .0
        .iter()
        .map(|task| {
            let conditions: Vec<String> = task.conditions.iter().map(ToString::to_string).collect();
            let prompts = bank.items.len() * task.conditions.len() * task.asks().count();
            vec![
                task.name.to_string(),
                task.title.clone(),
                conditions.join(", "),
                prompts.to_string(),
                task.about.clone(),
            ]
        })
        .collect();
    output::result(&plain_table(
        &[
            "task",
            "title",
            "conditions",
            "prompts",
            "what stands before the question",
        ],
        &rows,
    ))?;
    let total: usize = tasks
        .0
        .iter()
        .map(|task| bank.items.len() * task.conditions.len() * task.asks().count())
        .sum();
    output::note(&format!("{total} prompts a model in all"));
    Ok(Exit::Done)
}
