//! `wheel merge`: several stores become one.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{CliError, Exit, output};
use crate::store::{self, Merged};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel merge runs-1 runs-2 runs-3                 into runs\n  wheel merge /scratch/wheel/runs-* --into runs\n\nLines are copied byte for byte, each once; merging again adds nothing."
)]
pub(super) struct Args {
    /// Stores to read
    #[arg(required = true, value_name = "STORE")]
    sources: Vec<PathBuf>,
    /// Store to add to
    #[arg(long, value_name = "DIR", default_value = "runs")]
    into: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    if let Some(missing) = args.sources.iter().find(|source| !source.is_dir()) {
        return Err(CliError::Usage(format!(
            "there is no store at {}: name folders such as runs-1, each with one folder a model",
            missing.display()
        )));
    }
    let Merged {
        files,
        added,
        known,
        torn,
    } = store::merge(&args.sources, &args.into).map_err(CliError::failed)?;
    if torn > 0 {
        output::note(&format!(
            "warning: {torn} torn last lines were left out; their samples are asked for again"
        ));
    }
    output::note(&format!(
        "{}: {added} lines added to {files} files, {known} were there",
        args.into.display()
    ));
    Ok(Exit::Done)
}
