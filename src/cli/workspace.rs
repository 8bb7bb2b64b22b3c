//! What most verbs need: questions, tasks, models and the store, from flags, the working folder or the binary.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{CliError, output};
use crate::bank::{self, Bank, BankFile, Strictness};
use crate::model::{self, Registry};
use crate::task::{self, TaskFile, Tasks};
use crate::yaml::nearest;

/// Where questions come from.
#[derive(Debug, Clone, Args)]
pub(super) struct QuestionArgs {
    /// Question files or folders [default: questions/ here if it exists, else the built-in ones]
    #[arg(long = "questions", value_name = "PATH")]
    questions: Vec<PathBuf>,
}

/// Where tasks come from.
#[derive(Debug, Clone, Args)]
pub(super) struct TaskArgs {
    /// Folder of task files that are added to the built-in ones [default: tasks/ here if it exists]
    #[arg(long, value_name = "DIR")]
    tasks: Option<PathBuf>,
}

/// Where models come from.
#[derive(Debug, Args)]
pub(super) struct ModelArgs {
    /// Models file that is added to the built-in one [default: models.yaml here if it exists]
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
}

/// Where replies are kept.
#[derive(Debug, Clone, Args)]
pub(super) struct StoreArgs {
    /// Folder of the stored replies
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(super) store: PathBuf,
}

impl QuestionArgs {
    pub(super) fn load(&self) -> Result<Bank, CliError> {
        let files = self.files()?;
        let (bank, warnings) = bank::load(&files, Strictness::Usable).map_err(CliError::usage)?;
        for warning in warnings.0 {
            output::note(&warning.to_string());
        }
        Ok(bank)
    }

    pub(super) fn files(&self) -> Result<Vec<BankFile>, CliError> {
        let here = PathBuf::from("questions");
        if !self.questions.is_empty() {
            bank::read_paths(&self.questions).map_err(CliError::usage)
        } else if here.is_dir() {
            bank::read_paths(&[here]).map_err(CliError::usage)
        } else {
            Ok(bank::built_in())
        }
    }
}

impl TaskArgs {
    pub(super) fn load(&self) -> Result<Tasks, CliError> {
        task::load(&self.files()?).map_err(CliError::usage)
    }

    fn files(&self) -> Result<Vec<TaskFile>, CliError> {
        let mut files = task::built_in();
        let here = Path::new("tasks");
        let folder = match &self.tasks {
            Some(folder) => Some(folder.as_path()),
            None => here.is_dir().then_some(here),
        };
        if let Some(folder) = folder {
            files.extend(task::read_folder(folder).map_err(CliError::usage)?);
        }
        Ok(files)
    }
}

impl ModelArgs {
    pub(super) fn load(&self) -> Result<Registry, CliError> {
        let mut files = vec![(
            "models.yaml (built in)".to_owned(),
            model::built_in().to_owned(),
        )];
        let here = Path::new("models.yaml");
        let file = match &self.models {
            Some(file) => Some(file.as_path()),
            None => here.is_file().then_some(here),
        };
        if let Some(file) = file {
            let text = std::fs::read(file).map_err(|error| {
                CliError::Usage(format!("cannot read {}: {error}", file.display()))
            })?;
            files.push((
                file.display().to_string(),
                String::from_utf8_lossy(&text).into_owned(),
            ));
        }
        model::load(&files).map_err(CliError::usage)
    }
}

/// Checks task names.
pub(super) fn check_tasks(names: &[String], tasks: &Tasks) -> Result<(), CliError> {
    let known: Vec<&str> = tasks.names().collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(unknown("task", name, &known)),
        None => Ok(()),
    }
}

/// "there is no … `x`, did you mean …?".
pub(super) fn unknown(kind: &str, name: &str, known: &[&str]) -> CliError {
    let near = nearest(name, known.iter().copied())
        .map(|near| format!(", did you mean {near}?"))
        .unwrap_or_default();
    CliError::Usage(format!(
        "there is no {kind} `{name}`{near}; there are: {}",
        known.join(", ")
    ))
}
