//! `wheel tasks`: list and check.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args as ClapArgs, Subcommand};
use strum::IntoEnumIterator;

use super::workspace::{QuestionArgs, StoreArgs, TaskArgs};
use super::{CliError, Exit, output};
use crate::bank::cases::{self, Case};
use crate::domain::Suite;
use crate::publish::plain_table;
use crate::task::{self, Task};

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
    #[command(flatten)]
    store: StoreArgs,
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
        let tasks = task::load(&files, &args.tasks.wording()?).map_err(CliError::usage)?;
        let wording = args.tasks.wording()?;
        for task in &tasks.0 {
            let Some(spec) = &task.cases else { continue };
            let cases = spec.generate(&wording);
            if let Some(fault) = cases::check(&cases).first() {
                return Err(CliError::Usage(format!("task `{}`: {fault}", task.name)));
            }
            let cases: Vec<Arc<Case>> = cases.into_iter().map(Arc::new).collect();
            let faults = task::check_prompts(task, &cases).map_err(CliError::usage)?;
            if let Some(fault) = faults.first() {
                return Err(CliError::Usage(format!(
                    "{fault}; every prompt of a set must differ from the others and hold its ratings and its anchor ({} such faults)",
                    faults.len()
                )));
            }
        }
        output::result(&format!("{} tasks are fit to run", tasks.0.len()))?;
        return Ok(Exit::Done);
    }
    // Loading checks every file, and stops with all faults.
    let catalog = args.tasks.catalog(&args.questions, &args.store.store)?;
    let subjects = |task: &Task| match task.suite {
        Suite::Wheel => catalog.bank.items.len(),
        Suite::Anchorbench => catalog.cases.of(&task.name).len(),
        Suite::Spinner => catalog.stimuli.excerpts().count(),
        Suite::Judge => catalog.judged(task).len(),
    };
    let rows: Vec<Vec<String>> = catalog
        .tasks
        .0
        .iter()
        .map(|task| {
            let conditions: Vec<String> = task.conditions.iter().map(ToString::to_string).collect();
            vec![
                task.suite.to_string(),
                task.name.to_string(),
                task.title.clone(),
                conditions.join(", "),
                (subjects(task) * task.calls_for_one()).to_string(),
                task.about.clone(),
            ]
        })
        .collect();
    output::result(&plain_table(
        &[
            "suite",
            "task",
            "title",
            "conditions",
            "prompts",
            "what stands before the question",
        ],
        &rows,
    ))?;
    for suite in Suite::iter() {
        let tasks = catalog.tasks.0.iter();
        let total: usize = tasks
            .filter(|task| task.suite == suite && task.variant_of.is_none())
            .map(|task| subjects(task) * task.calls_for_one())
            .sum();
        output::note(&format!("{suite}: {total} prompts a model in all"));
    }
    Ok(Exit::Done)
}
