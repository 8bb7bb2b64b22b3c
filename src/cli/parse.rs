//! `wheel parse`: read replies from JSON lines.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde::Deserialize;
use serde_json::json;

use super::workspace::{TaskArgs, choice, unknown};
use super::{CliError, Exit};
use crate::domain::Suite;
use crate::parse::{Question, Rules, Said, read_as_anchorbench, read_on_scale, read_reply};
use crate::task::{Part, Tasks};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  echo '{\"task\":\"classic\",\"unit\":\"meters\",\"anchor\":3500,\"reply\":\"more\\nESTIMATE: 8,849 m\"}' | wheel parse\n  wheel parse --rules anchorbench replies.jsonl"
)]
pub(super) struct Args {
    /// File of JSON lines {"task","unit","anchor"?,"reply"}, of cases {"reply","prompt"?,"structured"?}; - for standard
    /// input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// Task of lines that name none
    #[arg(long, value_name = "T")]
    task: Option<String>,
    /// Read every line as a reply on a scale from 0 to 100: by our rules or those of the published benchmark
    #[arg(long, value_name = "RULES", value_parser = choice::<Rules>())]
    rules: Option<Rules>,
    #[command(flatten)]
    tasks: TaskArgs,
}

#[derive(Deserialize)]
struct Line {
    task: Option<String>,
    unit: Option<String>,
    anchor: Option<f64>,
    reply: String,
    prompt: Option<String>,
    structured: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let tasks = args.tasks.load()?;
    let from_stdin = args.file.as_os_str() == "-";
    let name = if from_stdin {
        "stdin".to_owned()
    } else {
        args.file.display().to_string()
    };
    let reader: Box<dyn BufRead> = if from_stdin {
        Box::new(std::io::stdin().lock())
    } else {
        let file = File::open(&args.file)
            .map_err(|error| CliError::Usage(format!("cannot read {name}: {error}")))?;
        Box::new(BufReader::new(file))
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    for (number, line) in reader.lines().enumerate() {
        let line =
            line.map_err(|error| CliError::Failed(format!("cannot read {name}: {error}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line).map_err(|error| {
            CliError::Usage(format!(
                "{name}:{}: {error}; a line is {{\"task\",\"unit\",\"anchor\"?,\"reply\"}}, of cases {{\"reply\",\"prompt\"?,\"structured\"?}}",
                number + 1
            ))
        })?;
        let read = read_line(args, &line, &tasks)
            .map_err(|error| CliError::Usage(format!("{name}:{}: {error}", number + 1)))?;
        writeln!(out, "{read}").map_err(|error| closed(&error))?;
    }
    out.flush().map_err(|error| closed(&error))?;
    Ok(Exit::Done)
}

fn closed(error: &std::io::Error) -> CliError {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::Closed,
        _ => CliError::Failed(format!("cannot write to stdout: {error}")),
    }
}

fn read_line(args: &Args, line: &Line, tasks: &Tasks) -> Result<serde_json::Value, CliError> {
    let task = match line.task.as_ref().or(args.task.as_ref()) {
        None => None,
        Some(name) => Some(tasks.get(name).ok_or_else(|| {
            let known: Vec<&str> = tasks.names().collect();
            unknown("task", name, &known)
        })?),
    };
    let of_cases = task.is_some_and(|task| task.suite == Suite::Anchorbench);
    let reading = match args.rules {
        Some(Rules::Anchorbench) => read_as_anchorbench(&Said {
            text: &line.reply,
            prompt: line.prompt.as_deref().unwrap_or_default(),
            structured: line.structured.as_deref(),
        }),
        Some(Rules::Wheel) => read_on_scale(&line.reply),
        None if of_cases => read_on_scale(&line.reply),
        None => read_reply(
            &line.reply,
            &Question {
                unit: line.unit.as_deref().unwrap_or_default(),
                anchor: line.anchor,
                comparison: task.is_some_and(|task| task.reads(Part::Comparison)),
            },
        ),
    };
    Ok(json!({
        "value": reading.value.ok(),
        "reason": reading.value.err().map(|why| why.to_string()),
        "rule": reading.rule.to_string(),
        "comparison": reading.comparison.map(|comparison| comparison.to_string()),
        "contradiction": line.anchor.is_some_and(|anchor| reading.contradicts(anchor)),
    }))
}
