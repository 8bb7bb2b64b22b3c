//! `wheel verify`: a published board or site against the store it came from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

use super::evidence::{BothMethods, EvidenceArgs};
use super::leaderboard::{markdown, pages};
use super::{CliError, Exit, output};
use crate::domain::Suite;
use crate::parse::Rules;
use crate::publish::{
    CASES_MADE_BY, JUDGE_MADE_BY, MADE_BY, Mismatch, Page, SPINNER_MADE_BY, around_difference,
    mismatches,
};
use crate::score::{CaseMethod, Method};

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  wheel verify                                       leaderboards/wheel.md against runs\n  wheel verify leaderboards/wheel.md --store leaderboards/runs\n  wheel verify site --store leaderboards/runs         a site that `wheel leaderboard --html site` wrote\n\nExit code 0: every cell is what the replies say; 1: some are not, each is named."
)]
pub(super) struct Args {
    /// A board (.md) or the folder of a site; repeat for more
    #[arg(value_name = "PATH", default_value = "leaderboards/wheel.md")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    evidence: EvidenceArgs,
}

/// Differences that are shown of one file.
const SHOWN: usize = 50;

pub(super) fn run(args: &Args) -> Result<Exit, CliError> {
    let read = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|error| CliError::Usage(format!("cannot read {}: {error}", path.display())))
    };
    // What cannot be read is said before the store is.
    let published: Vec<(&PathBuf, Option<String>)> = args
        .paths
        .iter()
        .map(|path| {
            let text = if path.is_dir() {
                None
            } else {
                Some(read(path)?)
            };
            Ok((path, text))
        })
        .collect::<Result<_, CliError>>()?;
    let mut wrong = 0;
    let mut checked = Vec::new();
    for (path, text) in published {
        let page = match &text {
            Some(text) => text.clone(),
            None => read(&path.join("index.html"))?,
        };
        let mut source = args.evidence.clone();
        // A board with people says where their answers lie.
        source.people = source.people.or_else(|| people_of(&page));
        let made = made_by(path, &page)?;
        source.suite.suite = Some(made.suite);
        source.rules = made.rules;
        let evidence = source.load(&[], &[])?;
        wrong += match &text {
            Some(text) => tell(path, &mismatches(text, &markdown(&evidence, made.method)?)),
            None => verify_site(path, &pages(&evidence, made.method)?)?,
        };
        checked.push(format!(
            "{}: every cell is what the {} stored lines say (fingerprint {})",
            path.display(),
            evidence.lines,
            evidence.fingerprint
        ));
    }
    if wrong > 0 {
        return Err(CliError::Failed(format!(
            "places that are not what the replies say: {wrong}; `wheel leaderboard` writes a board anew"
        )));
    }
    output::result(&checked.join("\n"))?;
    Ok(Exit::Done)
}

/// The folder of people's answers that a board names.
fn people_of(text: &str) -> Option<PathBuf> {
    let (_, options) = text.split_once(MADE_BY.trim_start_matches('`'))?;
    let (_, after) = options.lines().next()?.split_once(" --people ")?;
    let end = after.find(['`', ' ']).unwrap_or(after.len());
    Some(PathBuf::from(&after[..end]))
}

/// Compares every page, and gives the number of differences.
fn verify_site(folder: &Path, pages: &[Page]) -> Result<usize, CliError> {
    let mut wrong = 0;
    for (name, computed) in pages {
        let path = folder.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => wrong += tell(&path, &mismatches(&text, computed)),
            Err(error) => {
                output::note(&format!("{}: {error}", path.display()));
                wrong += 1;
            }
        }
    }
    Ok(wrong + strangers(folder, pages)?)
}

/// How a board was made, as it says itself.
struct Made {
    suite: Suite,
    method: BothMethods,
    rules: Rules,
}

fn made_by(path: &Path, text: &str) -> Result<Made, CliError> {
    let made = of_wheel(text)
        .or_else(|| of_cases(text))
        .or_else(|| of_plain(text, SPINNER_MADE_BY, Suite::Spinner))
        .or_else(|| of_plain(text, JUDGE_MADE_BY, Suite::Judge));
    made.ok_or_else(|| {
        CliError::Usage(format!(
            "{}: the line that says how it was made (`wheel leaderboard --…`) is missing or changed: is it a board of this version?",
            path.display()
        ))
    })
}

fn of_wheel(text: &str) -> Option<Made> {
    let (_, options) = text.split_once(MADE_BY.trim_start_matches('`'))?;
    let mut words = options.split([' ', '`']);
    let index = words.next()?.parse().ok()?;
    let wheel = match words.next()? {
        "--interval" => Method {
            index,
            interval: words.next()?.parse().ok()?,
        },
        _ => return None,
    };
    Some(Made {
        suite: Suite::Wheel,
        method: BothMethods {
            wheel,
            ..BothMethods::default()
        },
        rules: Rules::default(),
    })
}

fn of_cases(text: &str) -> Option<Made> {
    let (_, options) = text.split_once(CASES_MADE_BY)?;
    let words: Vec<&str> = options.split([' ', '`']).take(7).collect();
    let [
        epsilon,
        "--clustering",
        clustering,
        "--baseline",
        baseline,
        "--rules",
        rules,
    ] = words.as_slice()
    else {
        return None;
    };
    let cases = CaseMethod {
        epsilon: epsilon.parse().ok()?,
        intervals: clustering.parse().ok()?,
        baseline: baseline.parse().ok()?,
    };
    Some(Made {
        suite: Suite::Anchorbench,
        method: BothMethods {
            cases,
            ..BothMethods::default()
        },
        rules: rules.parse().ok()?,
    })
}

/// A board of a suite that is scored in one way.
fn of_plain(text: &str, made_by: &str, suite: Suite) -> Option<Made> {
    text.contains(made_by).then(|| Made {
        suite,
        method: BothMethods::default(),
        rules: Rules::default(),
    })
}

/// Names the differences, and gives their number.
fn tell(path: &Path, found: &[Mismatch]) -> usize {
    for mismatch in found.iter().take(SHOWN) {
        let place = match (&mismatch.row, &mismatch.column) {
            (Some(row), Some(column)) => {
                format!("{}, row {row}, column {column}", mismatch.section)
            }
            _ => mismatch.section.clone(),
        };
        let (published, computed) = match (&mismatch.published, &mismatch.computed) {
            (Some(published), Some(computed)) => {
                let (published, computed) = around_difference(published, computed);
                (Some(published), Some(computed))
            }
            (published, computed) => (published.clone(), computed.clone()),
        };
        let text = |text: Option<String>| {
            text.map_or_else(|| "nothing".to_owned(), |text| format!("\"{text}\""))
        };
        output::note(&format!(
            "{}:{}: {place}: published {}, the replies say {}",
            path.display(),
            mismatch.line,
            text(published),
            text(computed)
        ));
    }
    if found.len() > SHOWN {
        output::note(&format!(
            "{}: and {} more",
            path.display(),
            found.len() - SHOWN
        ));
    }
    found.len()
}

/// What lies in the folder of a site and does not come out of the store.
fn strangers(folder: &Path, pages: &[Page]) -> Result<usize, CliError> {
    let known: BTreeSet<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    let mut wrong = 0;
    for entry in std::fs::read_dir(folder).map_err(CliError::failed)? {
        let name = entry.map_err(CliError::failed)?.file_name();
        let name = name.to_string_lossy();
        if !known.contains(&*name) {
            output::note(&format!(
                "{}: nothing of that name comes out of the store",
                folder.join(&*name).display()
            ));
            wrong += 1;
        }
    }
    Ok(wrong)
}
