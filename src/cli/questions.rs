//! `wheel questions`: list and check.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use strum::IntoEnumIterator;

use super::workspace::QuestionArgs;
use super::{CliError, Exit, output};
use crate::bank::{self, Strictness};
use crate::domain::{Tier, grouped};
use crate::publish::plain_table;
use crate::yaml::Severity;

#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  wheel questions\n  wheel questions check my-questions.yaml --strict"
)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    questions: QuestionArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check question files: every fault with file, line, field and mend
    Check {
        /// Files or folders
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
        /// Also ask for what a published bank owes its readers: sources with dates, derivations
        #[arg(long)]
        strict: bool,
    },
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    match &args.action {
        Some(Action::Check { paths, strict }) => check(paths, *strict),
        None => list(&args.questions),
    }
}

fn check(paths: &[PathBuf], strict: bool) -> Result<Exit, CliError> {
    let files = bank::read_paths(paths).map_err(CliError::usage)?;
    let strictness = if strict {
        Strictness::Published
    } else {
        Strictness::Usable
    };
    match bank::load(&files, strictness) {
        Ok((bank, warnings)) => {
            for warning in &warnings.0 {
                output::note(&warning.to_string());
            }
            let tiers: Vec<String> = Tier::iter()
                .map(|tier| {
                    let n = bank.items.iter().filter(|item| item.tier == tier).count();
                    format!("{n} {tier}")
                })
                .collect();
            let bare = bank
                .items
                .iter()
                .filter(|item| item.tier != Tier::Fermi)
                .filter(|item| item.provenance.source.is_none() || item.provenance.as_of.is_none())
                .count();
            output::result(&format!(
                "{} questions ({}), {bare} known or fuzzy without a dated source",
                bank.items.len(),
                tiers.join(", ")
            ))?;
            Ok(Exit::Done)
        }
        Err(faults) => {
            output::note(&faults.to_string());
            let errors = faults
                .0
                .iter()
                .filter(|fault| fault.severity == Severity::Error)
                .count();
            Err(CliError::Usage(format!(
                "{errors} {} to mend",
                if errors == 1 { "fault" } else { "faults" }
            )))
        }
    }
}

fn list(questions: &QuestionArgs) -> Result<Exit, CliError> {
    let bank = questions.load()?;
    let rows: Vec<Vec<String>> = bank
        .items
        .iter()
        .map(|item| {
            vec![
                item.id.to_string(),
                item.tier.to_string(),
                item.text.clone(),
                item.unit.clone(),
                grouped(item.reference.get()),
                grouped(item.anchors.low.get()),
                grouped(item.anchors.high.get()),
            ]
        })
        .collect();
    output::result(&plain_table(
        &[
            "question",
            "tier",
            "text",
            "unit",
            "reference",
            "low anchor",
            "high anchor",
        ],
        &rows,
    ))?;
    Ok(Exit::Done)
}
