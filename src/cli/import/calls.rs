//! `wheel import calls`: calls to judges that other programs made.

use std::path::PathBuf;

use chrono::{SecondsFormat, Utc};
use clap::Args as ClapArgs;

use super::lines::{add, told};
use crate::cli::workspace::StoreArgs;
use crate::cli::{CliError, Exit, output};
use crate::import::call_lines;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  wheel import calls verdicts.jsonl --store judges\n  wheel score --suite judge --store judges\n\nOne JSON object a line: model, task (the text that was judged), condition (c0, c1, c2, control) and trial; and as far as they are known\nrun, category, strategy, temperature, attempt, anchor (the earlier score or label), text (the raw reply), score or label, valid, error,\nprompt_tokens, completion_tokens, prompt_hash, digits (log-probabilities, such as {\"4\": -0.1}), scale, threshold, design (drawn, fixed,\nscale); of messages truth, group (a: the earlier label was wrong, b: it was right) and labels."
)]
pub(super) struct Args {
    /// Files of JSON lines
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let store = &args.store.store;
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let (mut records, mut faults) = (Vec::new(), Vec::new());
    for path in &args.files {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
        match call_lines(&name, &text, &now) {
            Ok(calls) => {
                for (field, n) in &calls.unread {
                    output::note(&format!(
                        "warning: {name}: the field `{field}` of {n} lines is not read"
                    ));
                }
                records.extend(calls.records);
            }
            Err(more) => faults.extend(more),
        }
    }
    if !faults.is_empty() {
        return Err(CliError::Usage(told(&faults)));
    }
    let (added, known) = add(store, records)?;
    output::note(&format!(
        "{}: added {added} calls, already there {known}",
        store.display()
    ));
    Ok(Exit::Done)
}
