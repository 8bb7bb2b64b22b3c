//! `wheel import calls`: calls to judges that other programs made.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use clap::Args as ClapArgs;

use super::lines::{add, told};
use crate::cli::workspace::StoreArgs;
use crate::cli::{CliError, Exit, output};
use crate::domain::{ModelName, SampleKey, TaskName};
use crate::import::call_lines;
use crate::store::{Record, cell_path, packed, read_file};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  wheel import calls verdicts.jsonl --store judges\n  wheel score --suite judge --store judges\n\nOne JSON object a line: model, task (the text that was judged), condition (c0, c1, c2, control) and trial (from 1); and as far as they are known\nrun, category, strategy, temperature, attempt, anchor (the earlier score or label), text (the raw reply), score or label, valid, error,\nprompt_tokens, completion_tokens, prompt_hash, digits (log-probabilities, such as {\"4\": -0.1}), scale, threshold, design (drawn, fixed,\nscale); of messages truth, group (a: the earlier label was wrong, b: it was right) and labels."
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
    let files = args.files.iter().map(|path| {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
        Ok((name, text))
    });
    let files: Vec<(String, String)> = files.collect::<Result<_, CliError>>()?;
    let calls = call_lines(&files, &now).map_err(|faults| CliError::Usage(told(&faults)))?;
    for (field, n) in &calls.unread {
        output::note(&format!(
            "warning: the field `{field}` of {n} lines is not read"
        ));
    }
    if calls.read_otherwise > 0 {
        output::note(&format!(
            "warning: {} calls are read otherwise than the file says, and our reading counts (`wheel show` has each)",
            calls.read_otherwise
        ));
    }
    for note in apart(store, &calls.records) {
        output::note(&note);
    }
    let again = answered_otherwise(store, &calls.records)?;
    if again > 0 {
        output::note(&format!(
            "warning: of {again} trials the store holds another reply: the later one counts; give runs a name in `run` to keep both"
        ));
    }
    let (added, known) = add(store, calls.records)?;
    output::note(&format!(
        "{}: added {added} calls, already there {known}",
        store.display()
    ));
    Ok(Exit::Done)
}

/// Trials that the store has another reply to.
fn answered_otherwise(store: &Path, records: &[Record]) -> Result<usize, CliError> {
    let mut replies: HashMap<&SampleKey, &Option<String>> = HashMap::new();
    let mut paths = BTreeSet::new();
    for record in records {
        replies.insert(&record.key, &record.text);
        paths.insert(cell_path(store, &record.model, &record.task));
    }
    let mut other = HashSet::new();
    let files = paths.iter().flat_map(|path| [packed(path), path.clone()]);
    for file in files.filter(|file| file.is_file()) {
        read_file(&file, |record| {
            if replies
                .get(&record.key)
                .is_some_and(|text| **text != record.text)
            {
                other.insert(record.key);
            }
        })
        .map_err(CliError::failed)?;
    }
    Ok(other.len())
}

/// Says where calls of one judge and strategy come to lie in two tasks, which are scored apart.
fn apart(store: &Path, records: &[Record]) -> Vec<String> {
    let tasks: BTreeSet<(&ModelName, &TaskName)> = records
        .iter()
        .map(|record| (&record.model, &record.task))
        .collect();
    let mut notes = Vec::new();
    for (model, task) in tasks {
        let other = match task.as_str().strip_prefix("judge-dose") {
            Some(rest) => format!("judge{rest}"),
            None => match task.as_str().strip_prefix("judge") {
                Some(rest) => format!("judge-dose{rest}"),
                None => continue,
            },
        };
        let path = cell_path(store, model, &other.as_str().into());
        if path.is_file() {
            notes.push(format!(
                "warning: {model}: the store has calls in the task {other} too, and these go to {task}: the two are scored apart; import all files of a study in one command, or say \"design\" in every line"
            ));
        }
    }
    notes
}
