//! `wheel import scores`: log-probabilities of given answers, in the published form.

use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use clap::Args as ClapArgs;

use super::lines::{add, told};
use crate::cli::workspace::StoreArgs;
use crate::cli::{CliError, Exit, output};
use crate::import::{is_score_file, score_lines};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  wheel import scores Data/Simulation --store published\n  wheel score --suite spinner --store published\n\nRead are anchoring_MODEL_results_standard.csv and anchoring_MODEL_results_different_anchors.csv below the folder, one row for\neach variation, anchor and answer. Columns named Shapley_… hold Banzhaf values there, and are read as such."
)]
pub(super) struct Args {
    /// Folder of the tables, or one of them
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let store = &args.store.store;
    let mut files = Vec::new();
    gather(&args.folder, &mut files)?;
    files.sort();
    if files.is_empty() {
        return Err(CliError::Usage(format!(
            "{} holds no anchoring_MODEL_results_standard.csv or anchoring_MODEL_results_different_anchors.csv",
            args.folder.display()
        )));
    }
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let (mut records, mut faults) = (Vec::new(), Vec::new());
    for path in &files {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
        let short = path.file_name().unwrap_or_default().to_string_lossy();
        match score_lines(&name, &short, &text, &now) {
            Ok(lines) => records.extend(lines),
            Err(more) => faults.extend(more),
        }
    }
    if !faults.is_empty() {
        return Err(CliError::Usage(told(&faults)));
    }
    let (added, known) = add(store, records)?;
    output::note(&format!(
        "{}: added {added} scored prompts, already there {known}",
        store.display()
    ));
    Ok(Exit::Done)
}

/// The tables below a folder; a file that is named is read whatever its name.
fn gather(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    let failed =
        |error: std::io::Error| CliError::Usage(format!("cannot read {}: {error}", path.display()));
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if entry.is_dir() || is_score_file(&name) {
            gather(&entry, files)?;
        }
    }
    Ok(())
}
