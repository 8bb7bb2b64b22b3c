//! `wheel init`: write what is built in, for editing.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

use super::{CliError, Exit, output};
use crate::bank::cases;
use crate::{bank, model, task};

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example:\n  wheel init && $EDITOR questions/known.yaml")]
pub(super) struct Args {
    /// Folder to write to
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let built_in = |name: &str| name.trim_end_matches(" (built in)").to_owned();
    let mut files: Vec<(String, String)> = bank::built_in()
        .into_iter()
        .map(|file| (built_in(&file.name), file.text))
        .collect();
    files.extend(
        task::built_in()
            .into_iter()
            .map(|file| (built_in(&file.name), file.text)),
    );
    files.extend(
        cases::built_in_wording()
            .into_iter()
            .map(|file| (built_in(&file.name), file.text)),
    );
    let (name, text) = bank::stimuli::built_in();
    files.push((built_in(name), text.to_owned()));
    for (name, text) in bank::judge::built_in() {
        files.push((built_in(name), text.to_owned()));
    }
    files.push(("models.yaml".to_owned(), model::built_in().to_owned()));
    for (name, text) in files {
        let path = args.folder.join(&name);
        if path.exists() {
            output::note(&format!("{} exists and is left as it is", path.display()));
            continue;
        }
        write(&path, &text)?;
        output::result(&path.display().to_string())?;
    }
    Ok(Exit::Done)
}

fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: std::io::Error| {
        CliError::Failed(format!("cannot write {}: {error}", path.display()))
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}
