//! `wheel parse`: read replies from JSON lines.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde::Deserialize;
use serde_json::json;

use super::workspace::{TaskArgs, unknown};
use super::{CliError, Exit};
use crate::parse::{Question, read_reply};
use crate::task::{Part, Tasks};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  echo '{\"task\":\"classic\",\"unit\":\"meters\",\"anchor\":3500,\"reply\":\"more\\nESTIMATE: 8,849 m\"}' | wheel parse"
)]
pub(super) struct Args {
    /// File of JSON lines {"task","unit","anchor"?,"reply"}; - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    tasks: TaskArgs,
}

#[derive(Deserialize)]
struct Line {
    task: Option<String>,
    unit: Option<String>,
    anchor: Option<f64>,
    reply: String,
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
                "{name}:{}: {error}; a line is {{\"task\",\"unit\",\"anchor\"?,\"reply\"}}",
                number + 1
            ))
        })?;
        let read = read_line(&line, &tasks)
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

fn read_line(line: &Line, tasks: &Tasks) -> Result<serde_json::Value, CliError> {
    let comparison = match &line.task {
        None => false,
        Some(name) => {
            let task = tasks.get(name).ok_or_else(|| {
                let known: Vec<&str> = tasks.names().collect();
                unknown("task", name, &known)
            })?;
            task.asks().any(|reads| reads.contains(&Part::Comparison))
        }
    };
    let reading = read_reply(
        &line.reply,
        &Question {
            unit: line.unit.as_deref().unwrap_or_default(),
            anchor: line.anchor,
            comparison,
        },
    );
    Ok(json!({
        "value": reading.value.ok(),
        "reason": reading.value.err().map(|why| why.to_string()),
        "rule": reading.rule.to_string(),
        "comparison": reading.comparison.map(|comparison| comparison.to_string()),
        "contradiction": line.anchor.is_some_and(|anchor| reading.contradicts(anchor)),
    }))
}
