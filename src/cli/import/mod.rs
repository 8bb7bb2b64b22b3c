//! `wheel import`: replies that other tools asked for.

mod anchorbench;
mod calls;
mod lines;
mod scores;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use chrono::{SecondsFormat, Utc};
use clap::{Args as ClapArgs, Subcommand};

use super::workspace::{QuestionArgs, StoreArgs, TaskArgs};
use super::{CliError, Exit, output};
use crate::import::{Columns, Foreign, Matcher, csv, json_lines, run_file};
use crate::people::{Answer, Refused};
use crate::store::{CellFile, Record, cell_path, list_files_of, read_file};

#[derive(Debug, ClapArgs)]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Run files of Kaggle's benchmark SDK: a file, a folder as `kaggle b t download` writes it, or a zip
    Kaggle(KaggleArgs),
    /// Replies from any CSV (with a header) or JSON lines
    Replies(ReplyArgs),
    /// The published AnchorBench: prompts that are then asked as they are, and answers in its form
    Anchorbench(anchorbench::Args),
    /// Log-probabilities of given answers, as "Anchors in the Machine" publishes them
    Scores(scores::Args),
    /// Calls to judges as JSON lines
    Calls(calls::Args),
    /// Files that people saved from the page of `wheel people --static`
    People(PeopleArgs),
}

/// Where the lines go, and by what they are placed.
#[derive(Debug, ClapArgs)]
struct Target {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    questions: QuestionArgs,
    #[command(flatten)]
    tasks: TaskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel import kaggle runs-kaggle && wheel leaderboard\n  wheel import kaggle download.zip --store kaggle-runs\n\nEvery reply is read anew by wheel's own reader; the result that a file states is shown for comparison."
)]
struct KaggleArgs {
    /// A run file, a folder, or a zip; repeat for more
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel import replies answers.csv --model my-model --task classic\n  wheel import replies log.jsonl --column reply=response --column item=question_id\n\nColumns: reply (needed), model, task, item, condition (unanchored, low, high), anchor, epoch, prompt, error,\nstarted, input_tokens, output_tokens, reasoning_tokens. Where item and condition are missing, the prompt says what was asked."
)]
struct ReplyArgs {
    /// A .csv file, or JSON lines
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The model, where the rows do not name it
    #[arg(long, value_name = "M", default_value = "", hide_default_value = true)]
    model: String,
    /// The task, where the rows do not name it
    #[arg(long, value_name = "T")]
    task: Option<String>,
    /// A column by its own name: reply=response; repeat for more
    #[arg(long = "column", value_name = "OURS=THEIRS", value_parser = pair)]
    columns: Vec<(String, String)>,
    #[command(flatten)]
    target: Target,
}

fn pair(text: &str) -> Result<(String, String), String> {
    const OURS: [&str; 13] = [
        "anchor",
        "reply",
        "model",
        "task",
        "item",
        "condition",
        "epoch",
        "prompt",
        "error",
        "started",
        "input_tokens",
        "output_tokens",
        "reasoning_tokens",
    ];
    match text.split_once('=') {
        Some((ours, theirs)) if OURS.contains(&ours) && !theirs.is_empty() => {
            Ok((ours.to_owned(), theirs.to_owned()))
        }
        _ => Err(format!(
            "must be of the form OURS=THEIRS with OURS one of {}",
            OURS.join(", ")
        )),
    }
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    match &args.what {
        What::Kaggle(args) => kaggle(args),
        What::Replies(args) => replies(args),
        What::Anchorbench(args) => anchorbench::run(args),
        What::Scores(args) => scores::run(args),
        What::Calls(args) => calls::run(args),
        What::People(args) => people(args),
    }
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  wheel import people answers-*.jsonl && wheel leaderboard --people people"
)]
struct PeopleArgs {
    /// Files of answers
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Folder of the people's answers
    #[arg(long, value_name = "DIR", default_value = "people")]
    store: PathBuf,
    #[command(flatten)]
    questions: QuestionArgs,
}

fn people(args: &PeopleArgs) -> Result<Exit, CliError> {
    let bank = args.questions.load()?;
    let mut answers: Vec<(String, Answer)> = Vec::new();
    for path in &args.files {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
        for (line, text) in (1..).zip(text.lines()) {
            if !text.trim().is_empty() {
                let answer = serde_json::from_str(text).map_err(|error| {
                    CliError::Usage(format!("{name}:{line}: this is no saved answer: {error}"))
                })?;
                answers.push((format!("{name}:{line}"), answer));
            }
        }
    }
    let (mut panel, file) = super::people::open(&args.store)?;
    let mut records = Vec::new();
    let (mut known, mut refused) = (0, 0);
    for (place, answer) in &answers {
        match panel.record(answer, &bank) {
            Ok(record) => records.push(record),
            Err(Refused::Twice) => known += 1,
            Err(why) => {
                refused += 1;
                output::note(&format!("warning: {place}: left out: {why}"));
            }
        }
    }
    file.append(&records).map_err(CliError::failed)?;
    output::note(&format!(
        "{}: added {}, already there {known}, left out {refused}; people: {}",
        args.store.display(),
        records.len(),
        panel.people()
    ));
    Ok(if refused > 0 {
        Exit::Missing
    } else {
        Exit::Done
    })
}

fn kaggle(args: &KaggleArgs) -> Result<Exit, CliError> {
    let mut files = Vec::new();
    for path in &args.paths {
        gather(path, true, &mut files)?;
    }
    if files.is_empty() {
        let places: Vec<String> = args
            .paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(CliError::Usage(format!(
            "there is no run file (*.run.json) in {}",
            places.join(", ")
        )));
    }
    let mut replies = Vec::new();
    let mut known: HashSet<Vec<u8>> = HashSet::new();
    for (name, bytes) in files {
        // A download may hold the same file in a folder and in a zip.
        if !known.insert(bytes.clone()) {
            continue;
        }
        let file = run_file(&bytes, &name).map_err(CliError::Usage)?;
        if let Some(result) = file.result {
            let radius = result
                .radius
                .map_or_else(String::new, |radius| format!(" ± {radius}"));
            output::note(&format!(
                "{name}: {} states {}{radius}",
                result.about, result.value
            ));
        }
        replies.extend(file.replies);
    }
    keep(&args.target, &replies, "kaggle")
}

/// Run files under a path.
fn gather(path: &Path, named: bool, files: &mut Vec<(String, Vec<u8>)>) -> Result<(), CliError> {
    let failed =
        |error: std::io::Error| CliError::Usage(format!("cannot read {}: {error}", path.display()));
    if path.is_dir() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
            .map_err(failed)?
            .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
            .collect::<Result<_, _>>()?;
        entries.sort();
        for entry in entries {
            gather(&entry, false, files)?;
        }
        return Ok(());
    }
    let name = path.display().to_string();
    let is_zip = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
    if is_zip {
        let file = std::fs::File::open(path).map_err(failed)?;
        let broken = |error: zip::result::ZipError| CliError::Usage(format!("{name}: {error}"));
        let mut archive = zip::ZipArchive::new(file).map_err(broken)?;
        for place in 0..archive.len() {
            let mut entry = archive.by_index(place).map_err(broken)?;
            let inner = entry.name().map_err(broken)?.into_owned();
            if inner.ends_with(".run.json") {
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes).map_err(failed)?;
                files.push((format!("{name}/{inner}"), bytes));
            }
        }
    } else if named || name.ends_with(".run.json") {
        files.push((name, std::fs::read(path).map_err(failed)?));
    }
    Ok(())
}

fn replies(args: &ReplyArgs) -> Result<Exit, CliError> {
    let name = args.file.display();
    let bytes = std::fs::read(&args.file)
        .map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
    let columns = Columns(args.columns.iter().cloned().collect());
    let defaults = Foreign {
        model: args.model.clone(),
        task: args.task.clone(),
        place: args
            .file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        ..Foreign::default()
    };
    let is_csv = args
        .file
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"));
    let found = if is_csv {
        csv(&bytes, &columns, &defaults)
    } else {
        let text = String::from_utf8(bytes)
            .map_err(|error| CliError::Usage(format!("{name}: this is no UTF-8: {error}")))?;
        json_lines(&text, &columns, &defaults)
    };
    let found = found.map_err(|error| CliError::Usage(format!("{name}: {error}")))?;
    keep(&args.target, &found, "imported")
}

/// Adds what can be placed and is not there yet.
fn keep(target: &Target, replies: &[Foreign], provider: &str) -> Result<Exit, CliError> {
    let bank = target.questions.load()?;
    let tasks = target.tasks.load_wheel()?;
    let mut matcher = Matcher::new(&bank, &tasks);
    let store = &target.store.store;
    let models: BTreeSet<&str> = replies.iter().map(|reply| reply.model.as_str()).collect();
    for model in models {
        for path in list_files_of(store, &model.into()).map_err(CliError::failed)? {
            read_file(&path, |record| matcher.note(&record)).map_err(CliError::failed)?;
        }
    }
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true);
    let mut by_file: BTreeMap<PathBuf, Vec<Record>> = BTreeMap::new();
    let mut unplaced: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    let (mut added, mut known, mut left_out) = (0, 0, 0);
    for foreign in replies {
        if matcher.knows(foreign) {
            known += 1;
            continue;
        }
        match matcher.record(foreign, provider, &now) {
            Ok(record) => {
                added += 1;
                let path = cell_path(store, &record.model, &record.task);
                by_file.entry(path).or_default().push(record);
            }
            Err(why) => {
                left_out += 1;
                let place = foreign.place.as_str();
                unplaced.entry(why.to_string()).or_insert((0, place)).0 += 1;
            }
        }
    }
    for (why, (n, place)) in &unplaced {
        output::note(&format!("warning: left out {n}: {why} (first at {place})"));
    }
    for (path, records) in by_file {
        let (file, warning) = CellFile::open(path).map_err(CliError::failed)?;
        if let Some(warning) = warning {
            output::note(&format!("warning: {warning}"));
        }
        file.append(&records).map_err(CliError::failed)?;
    }
    output::note(&format!(
        "{}: added {added}, already there {known}, left out {left_out}",
        store.display()
    ));
    Ok(if left_out > 0 {
        Exit::Missing
    } else {
        Exit::Done
    })
}
