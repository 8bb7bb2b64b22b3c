//! `wheel report`: one model, by tier and by question.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::evidence::{Evidence, EvidenceArgs, MethodArgs};
use super::leaderboard::judge_source;
use super::{CliError, Exit, output};
use crate::domain::{ModelName, Suite};
use crate::publish::{
    Block, CaseReportSource, ReportSource, case_report, document_html, judge_report, markdown,
    report, spinner_report,
};
use crate::store::write_text;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel report --model gpt-5.4-nano\n  wheel report --model gpt-5.4-nano --html --out nano.html\n  wheel report --suite anchorbench --model gpt-5.4-nano"
)]
pub(super) struct Args {
    /// The model
    #[arg(long, value_name = "M")]
    model: String,
    /// Only this task; repeat for more
    #[arg(long = "task", value_name = "T")]
    task: Vec<String>,
    #[command(flatten)]
    evidence: EvidenceArgs,
    #[command(flatten)]
    method: MethodArgs,
    /// As a page of HTML rather than markdown
    #[arg(long)]
    html: bool,
    /// File to write; otherwise it is printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let evidence = args
        .evidence
        .load(std::slice::from_ref(&args.model), &args.task)?;
    args.method.check(evidence.suite)?;
    let model = args.model.as_str().into();
    let blocks = match evidence.suite {
        Suite::Wheel => of_wheel(args, &evidence, &model)?,
        Suite::Anchorbench => {
            let scores = evidence.case_scores(args.method.of_cases())?;
            let source = CaseReportSource {
                scores: &scores,
                tasks: &evidence.catalog.tasks,
            };
            case_report(&source, &model)
        }
        Suite::Spinner => spinner_report(&evidence.spinner_scores()?, &model),
        Suite::Judge => {
            let scores = evidence.judge_scores()?;
            judge_report(&judge_source(&evidence, &scores, &|_, _| None), &model)
        }
    };
    let blocks = blocks.expect("the selection holds samples of this model");
    let text = if args.html {
        document_html(&blocks).map_err(CliError::failed)?
    } else {
        markdown(&blocks)
    };
    match &args.out {
        Some(path) => {
            write_text(path, &text).map_err(CliError::failed)?;
            output::result(&path.display().to_string())?;
        }
        None => output::result(text.trim_end())?,
    }
    Ok(Exit::Done)
}

fn of_wheel(
    args: &Args,
    evidence: &Evidence,
    model: &ModelName,
) -> Result<Option<Vec<Block>>, CliError> {
    let scores = evidence.scores(args.method.method())?;
    let cells = evidence.cells();
    let source = ReportSource {
        scores: &scores,
        cells: &cells,
        bank: &evidence.catalog.bank,
        link: &|_| None,
    };
    Ok(report(&source, model))
}
