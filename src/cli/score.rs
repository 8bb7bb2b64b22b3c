//! `wheel score`: scores from the store.

use clap::Args as ClapArgs;

use super::evidence::{EvidenceArgs, MethodArgs};
use super::{CliError, Exit, output};
use crate::domain::Suite;
use crate::publish::{
    case_cells_table, case_scores_json, cells_table, judge_scores_json, judge_tables, models_table,
    scores_json, spinner_scores_json, spinner_table,
};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel score\n  wheel score --model gpt-5.4-nano --json | jq '.cells[].index'\n  wheel score --index ai --interval bca\n  wheel score --suite anchorbench --rules anchorbench --clustering published\n  wheel score --suite judge --json | jq '.models[] | {model, delta_total, low, high}'"
)]
pub(super) struct Args {
    #[command(flatten)]
    evidence: EvidenceArgs,
    #[command(flatten)]
    method: MethodArgs,
    /// Only this model; repeat for more
    #[arg(long = "model", value_name = "M")]
    model: Vec<String>,
    /// Only this task; repeat for more
    #[arg(long = "task", value_name = "T")]
    task: Vec<String>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let evidence = args.evidence.load(&args.model, &args.task)?;
    args.method.check(evidence.suite)?;
    if evidence.suite == Suite::Anchorbench {
        let scores = evidence.case_scores(args.method.of_cases())?;
        let text = if args.json {
            serde_json::to_string_pretty(&case_scores_json(&scores)).map_err(CliError::failed)?
        } else {
            case_cells_table(&scores.cells)
        };
        output::result(&text)?;
        return Ok(Exit::Done);
    }
    if evidence.suite == Suite::Spinner {
        let scores = evidence.spinner_scores()?;
        let text = if args.json {
            serde_json::to_string_pretty(&spinner_scores_json(&scores)).map_err(CliError::failed)?
        } else {
            spinner_table(&scores)
        };
        output::result(&text)?;
        return Ok(Exit::Done);
    }
    if evidence.suite == Suite::Judge {
        let scores = evidence.judge_scores()?;
        let text = if args.json {
            serde_json::to_string_pretty(&judge_scores_json(&scores)).map_err(CliError::failed)?
        } else {
            judge_tables(&scores)
        };
        output::result(&text)?;
        return Ok(Exit::Done);
    }
    let scores = evidence.scores(args.method.method())?;
    if args.json {
        let json = scores_json(&scores);
        output::result(&serde_json::to_string_pretty(&json).map_err(CliError::failed)?)?;
    } else {
        output::result(&cells_table(&scores.cells))?;
        output::result(&models_table(&scores.models))?;
    }
    Ok(Exit::Done)
}
