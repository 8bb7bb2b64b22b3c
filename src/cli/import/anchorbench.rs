//! `wheel import anchorbench`: the published benchmark's own files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use clap::Args as ClapArgs;

use super::lines::{add, told};
use crate::cli::workspace::StoreArgs;
use crate::cli::{CliError, Exit, output};
use crate::domain::{Condition, ModelName, SampleKey, TaskName};
use crate::import::{Lines, Published, SetFault, share_controls};
use crate::store::{Record, cell_path, packed, read_file, read_set, read_text, write_set};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel import anchorbench datasets --store published\n  wheel run --suite anchorbench --store published --model gpt-5.4-nano\n  wheel import anchorbench results/full_benchmark --store published\n  wheel score --suite anchorbench --store published --rules anchorbench\n\nRead are itemspecs*.jsonl, promptviews*.jsonl and results*.jsonl below the folder, packed with xz or not. In a store with\nimported prompts the tasks of these names ask the published prompts, to the letter."
)]
pub(super) struct Args {
    /// Folder of the data set, of answers, or of both
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Who answered, where the answers do not say [default: the name of their folder]
    #[arg(long, value_name = "M")]
    model: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// What a file holds, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Specs,
    Views,
    Results,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let store = &args.store.store;
    let mut files = Vec::new();
    gather(&args.folder, &mut files)?;
    // Prompts need the specifications, and answers both.
    files.sort();
    if files.is_empty() {
        return Err(CliError::Usage(format!(
            "{} holds no itemspecs*.jsonl, promptviews*.jsonl or results*.jsonl",
            args.folder.display()
        )));
    }
    let mut published = Published::default();
    if let Some(set) = read_set(store).map_err(CliError::failed)? {
        published.set = set;
    }
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let mut records: Vec<Record> = Vec::new();
    let mut faults: Vec<SetFault> = Vec::new();
    let mut before = None;
    for (kind, path) in &files {
        // Faults of one kind of file make faults of the next.
        if before.is_some_and(|before| before != *kind) && !faults.is_empty() {
            break;
        }
        before = Some(*kind);
        let text = read_text(path).map_err(CliError::usage)?;
        let name = path.display().to_string();
        let lines = Lines {
            name: &name,
            text: &text,
        };
        faults.extend(match kind {
            Kind::Specs => published.specs(lines),
            Kind::Views => published.views(lines),
            Kind::Results => {
                let model = args.model.clone().or_else(|| folder_of(path));
                let model = model.unwrap_or_else(|| "unknown".to_owned());
                published.results(lines, &model, &now, |record| records.push(record))
            }
        });
    }
    if faults.is_empty() {
        faults.extend(published.finish());
    }
    if !faults.is_empty() {
        return Err(CliError::Usage(told(&faults)));
    }
    let cases = crate::bank::cases::check;
    for (task, set) in &published.set.0 {
        // Parts of a set need not balance.
        let of_case = |fault: &crate::bank::cases::CaseFault| fault.is_of_a_case();
        if let Some(fault) = cases(set).into_iter().find(of_case) {
            return Err(CliError::Usage(format!("task `{task}`: {fault}")));
        }
    }
    if published.set.0.is_empty() {
        return Err(CliError::Usage(format!(
            "{} holds no prompt and no answer: put promptviews*.jsonl beside the specifications, or name a folder of results",
            args.folder.display()
        )));
    }
    share_controls(&mut records);
    tell_missing_controls(store, &records)?;
    if published.replaced > 0 {
        output::note(&format!(
            "warning: further down in the same file, {} of the answers stand once more; the later ones count",
            published.replaced
        ));
    }
    contradicts(store, &records)?;
    write_set(store, &published.set).map_err(CliError::failed)?;
    let (added, known) = add(store, records)?;
    for (task, cases) in &published.set.0 {
        let prompts: usize = published
            .set
            .conditions(task)
            .into_iter()
            .map(|condition| {
                cases
                    .iter()
                    .filter(|case| case.asks_under(condition))
                    .count()
            })
            .sum();
        output::note(&format!("{task}: {} cases, {prompts} prompts", cases.len()));
    }
    output::note(&format!(
        "{}: added {added} replies, already there {known}",
        store.display()
    ));
    Ok(Exit::Done)
}

/// Says of which answers there is nothing to measure from, here or in the store.
fn tell_missing_controls(store: &Path, records: &[Record]) -> Result<(), CliError> {
    let is_control = |record: &Record| {
        matches!(
            record.condition,
            Condition::Control | Condition::ControlTwostage
        )
    };
    let cells = records.iter().map(|record| (&record.model, &record.task));
    let mut missing: BTreeSet<_> = cells.collect();
    for record in records.iter().filter(|record| is_control(record)) {
        missing.remove(&(&record.model, &record.task));
    }
    for (model, task) in missing {
        let mut known = false;
        for_each_known(store, model, task, |record| known |= is_control(&record))?;
        if !known {
            output::note(&format!(
                "warning: {model}, {task}: no answer under a control; pulls are measured from it, and nothing is scored without"
            ));
        }
    }
    Ok(())
}

/// Reads what the store holds of a cell.
fn for_each_known(
    store: &Path,
    model: &ModelName,
    task: &TaskName,
    mut take: impl FnMut(Record),
) -> Result<(), CliError> {
    let path = cell_path(store, model, task);
    for file in [packed(&path), path] {
        if file.is_file() {
            read_file(&file, &mut take).map_err(CliError::failed)?;
        }
    }
    Ok(())
}

/// Refuses answers where the store holds only other ones to the same asks.
fn contradicts(store: &Path, records: &[Record]) -> Result<(), CliError> {
    let mut by_cell: BTreeMap<_, HashMap<(SampleKey, u32), Vec<&Record>>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.status.is_answer()) {
        let told = by_cell.entry((&record.model, &record.task)).or_default();
        let of_ask = told.entry((record.key.clone(), record.turn)).or_default();
        of_ask.push(record);
    }
    for ((model, task), mut told) in by_cell {
        let mut others = Vec::new();
        for_each_known(store, model, task, |known| {
            let ask = (known.key, known.turn);
            let Some(new) = told.get(&ask).filter(|_| known.status.is_answer()) else {
                return;
            };
            if new.iter().any(|new| new.text == known.text) {
                told.remove(&ask);
            } else {
                others.push(ask);
            }
        })?;
        let other = others.iter().find_map(|ask| told.get(ask));
        if let Some(other) = other.and_then(|new| new.first()) {
            return Err(CliError::Usage(format!(
                "{}: {} holds another answer to this ask: import each run into a store of its own",
                other.request_id.as_deref().unwrap_or_default(),
                cell_path(store, model, task).display()
            )));
        }
    }
    Ok(())
}

/// The files below a folder that are read, each with what it holds.
fn gather(path: &Path, files: &mut Vec<(Kind, PathBuf)>) -> Result<(), CliError> {
    let failed = |error: std::io::Error| {
        CliError::Usage(format!(
            "cannot read {}: {error}; name the folder of the files",
            path.display()
        ))
    };
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        if entry.is_dir() {
            gather(&entry, files)?;
            continue;
        }
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(".jsonl") && !name.ends_with(".jsonl.xz") {
            continue;
        }
        // An earlier rendering, which disagrees with the specifications.
        if name.starts_with("promptviews_public") {
            output::note(&format!(
                "{}: left out, since it is an earlier rendering",
                entry.display()
            ));
            continue;
        }
        let kind = [
            ("itemspecs", Kind::Specs),
            ("promptviews", Kind::Views),
            ("results", Kind::Results),
        ]
        .into_iter()
        .find(|(start, _)| name.starts_with(start));
        files.extend(kind.map(|(_, kind)| (kind, entry.clone())));
    }
    Ok(())
}

fn folder_of(path: &Path) -> Option<String> {
    let folder = std::path::absolute(path).ok()?;
    let name = folder.parent()?.file_name()?;
    Some(name.to_string_lossy().into_owned())
}
