//! `wheel leaderboard`: write the boards.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

use super::score::warn_unknown;
use super::workspace::{QuestionArgs, StoreArgs, TaskArgs, hear};
use super::{CliError, Exit, output};
use crate::publish::{BoardSource, board};
use crate::score::score;
use crate::store::fingerprint;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel leaderboard\n  wheel leaderboard --store shared-runs --out boards"
)]
pub(super) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    tasks: TaskArgs,
    /// Folder to write to
    #[arg(long, value_name = "DIR", default_value = "leaderboards")]
    out: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let bank = args.questions.load()?;
    let tasks = args.tasks.load()?;
    let loaded = args.store.load()?;
    let fingerprint = fingerprint(&loaded.records);
    let lines = loaded.records.len();
    let versions: BTreeSet<String> = loaded
        .records
        .iter()
        .map(|record| record.wheel.to_string())
        .collect();
    let scores = score(&hear(loaded.records, &bank, &tasks), &bank, &tasks);
    warn_unknown(&scores);
    if scores.cells.is_empty() {
        return Err(CliError::Usage(
            "no stored sample belongs to the questions and tasks that are loaded: name theirs with --questions and --tasks".to_owned(),
        ));
    }
    let text = board(&BoardSource {
        scores: &scores,
        bank: &bank,
        tasks: &tasks,
        store_fingerprint: &fingerprint,
        lines,
        versions: &versions,
    });
    let path = args.out.join("wheel.md");
    replace(&path, &text)?;
    output::result(&path.display().to_string())?;
    Ok(Exit::Done)
}

/// Replaces a file as a whole: a reader sees the old board or the new one.
fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let failed = |error: std::io::Error| {
        CliError::Failed(format!("cannot write {}: {error}", path.display()))
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o644);
        file.as_file().set_permissions(mode).map_err(failed)?;
    }
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
