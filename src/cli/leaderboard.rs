//! `wheel leaderboard`: write the boards.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::evidence::{BothMethods, Evidence, EvidenceArgs, MethodArgs};
use super::{CliError, Exit, output};
use crate::domain::{ModelName, Suite};
use crate::publish::{
    BoardSource, CaseBoardSource, CaseSiteSource, JudgeBoardSource, JudgeSiteSource, Page,
    SiteSource, SpinnerBoardSource, board, case_board, case_cell_href, case_site, judge_board,
    judge_href, judge_site, site, spinner_board, spinner_site, variation_href,
};
use crate::score::judge::JudgeScores;
use crate::score::spinner::{SpinnerScores, VariationScores};
use crate::score::uai::CaseCell;
use crate::score::{CaseScores, CellSample, Heard, Scores};
use crate::store::write_text;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel leaderboard\n  wheel leaderboard --store shared-runs --out boards\n  wheel leaderboard --index ai --out boards-linear\n  wheel leaderboard --html site\n  wheel leaderboard --suite anchorbench\n  wheel leaderboard --suite judge --html judges"
)]
pub(super) struct Args {
    #[command(flatten)]
    evidence: EvidenceArgs,
    #[command(flatten)]
    method: MethodArgs,
    /// Folder to write to
    #[arg(long, value_name = "DIR", default_value = "leaderboards")]
    out: PathBuf,
    /// Write a site of static pages to this folder instead: the board, one page a model, every prompt and reply
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    html: Option<PathBuf>,
}

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let evidence = args.evidence.load(&[], &[])?;
    args.method.check(evidence.suite)?;
    let method = args.method.both();
    if let Some(folder) = &args.html {
        for (name, text) in pages(&evidence, method)? {
            write_text(&folder.join(name), &text).map_err(CliError::failed)?;
        }
        output::result(&folder.join("index.html").display().to_string())?;
        return Ok(Exit::Done);
    }
    let text = markdown(&evidence, method)?;
    let path = args.out.join(format!("{}.md", evidence.suite));
    write_text(&path, &text).map_err(CliError::failed)?;
    output::result(&path.display().to_string())?;
    Ok(Exit::Done)
}

/// The board as markdown.
pub(super) fn markdown(evidence: &Evidence, method: BothMethods) -> Result<String, CliError> {
    match evidence.suite {
        Suite::Wheel => Ok(board(&source(evidence, &evidence.scores(method.wheel)?))),
        Suite::Anchorbench => {
            let scores = evidence.case_scores(method.cases)?;
            let blocks = case_board(&case_source(evidence, &scores, &|_| None));
            Ok(crate::publish::markdown(&blocks))
        }
        Suite::Spinner => {
            let scores = evidence.spinner_scores()?;
            let blocks = spinner_board(&spinner_source(evidence, &scores, &|_| None));
            Ok(crate::publish::markdown(&blocks))
        }
        Suite::Judge => {
            let scores = evidence.judge_scores()?;
            let blocks = judge_board(&judge_source(evidence, &scores, &|_, _| None));
            Ok(crate::publish::markdown(&blocks))
        }
    }
}

pub(super) fn judge_source<'a>(
    evidence: &'a Evidence,
    scores: &'a JudgeScores,
    link: &'a dyn Fn(&ModelName, &str) -> Option<String>,
) -> JudgeBoardSource<'a> {
    JudgeBoardSource {
        scores,
        tasks: &evidence.catalog.tasks,
        store_fingerprint: &evidence.fingerprint,
        lines: evidence.lines,
        versions: &evidence.versions,
        link,
    }
}

fn case_source<'a>(
    evidence: &'a Evidence,
    scores: &'a CaseScores,
    link: &'a dyn Fn(&CaseCell) -> Option<String>,
) -> CaseBoardSource<'a> {
    CaseBoardSource {
        scores,
        tasks: &evidence.catalog.tasks,
        rules: evidence.rules.into(),
        store_fingerprint: &evidence.fingerprint,
        lines: evidence.lines,
        versions: &evidence.versions,
        link,
    }
}

fn spinner_source<'a>(
    evidence: &'a Evidence,
    scores: &'a SpinnerScores,
    link: &'a dyn Fn(&VariationScores) -> Option<String>,
) -> SpinnerBoardSource<'a> {
    SpinnerBoardSource {
        scores,
        store_fingerprint: &evidence.fingerprint,
        lines: evidence.lines,
        versions: &evidence.versions,
        link,
    }
}

fn source<'a>(evidence: &'a Evidence, scores: &'a Scores) -> BoardSource<'a> {
    BoardSource {
        scores,
        bank: &evidence.catalog.bank,
        tasks: &evidence.catalog.tasks,
        store_fingerprint: &evidence.fingerprint,
        lines: evidence.lines,
        versions: &evidence.versions,
        people: evidence.people.as_deref(),
    }
}

/// The board as pages of a site.
pub(super) fn pages(evidence: &Evidence, method: BothMethods) -> Result<Vec<Page>, CliError> {
    let cells = evidence.cells();
    let records = evidence.records()?;
    let of_line = |line: &Heard| {
        let same = records.get(&line.key)?;
        same.iter().find(|record| line.is_of(record)).cloned()
    };
    let record = |sample: &CellSample<'_>| of_line(sample.record);
    let pages = match evidence.suite {
        Suite::Wheel => {
            let scores = evidence.scores(method.wheel)?;
            site(&SiteSource {
                board: source(evidence, &scores),
                cells: &cells,
                record: &record,
            })
        }
        Suite::Spinner => {
            let scores = evidence.spinner_scores()?;
            let catalog = &evidence.catalog;
            spinner_site(&spinner_source(evidence, &scores, &variation_href), catalog)
        }
        Suite::Judge => {
            let scores = evidence.judge_scores()?;
            judge_site(&JudgeSiteSource {
                board: judge_source(evidence, &scores, &judge_href),
                calls: &evidence.judge_calls(),
                record: &|call| of_line(call.line),
            })
        }
        Suite::Anchorbench => {
            let scores = evidence.case_scores(method.cases)?;
            case_site(&CaseSiteSource {
                board: case_source(evidence, &scores, &case_cell_href),
                cells: &cells,
                record: &record,
            })
        }
    };
    pages.map_err(CliError::failed)
}
