//! `wheel verify`: a published board or site against the store it came from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

use super::evidence::EvidenceArgs;
use super::leaderboard::{markdown, pages};
use super::{CliError, Exit, output};
use crate::publish::{MADE_BY, Mismatch, Page, around_difference, mismatches};
use crate::score::Method;

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
    let mut source = args.evidence.clone();
    // A board with people says where their answers lie.
    if source.people.is_none() {
        source.people = published.iter().find_map(|(path, text)| match text {
            Some(text) => people_of(text),
            None => people_of(&read(&path.join("index.html")).ok()?),
        });
    }
    let evidence = source.load(&[], &[])?;
    let mut wrong = 0;
    for (path, text) in published {
        wrong += if let Some(text) = text {
            let computed = markdown(&evidence, method_of(path, &text)?)?;
            tell(path, &mismatches(&text, &computed))
        } else {
            let index = path.join("index.html");
            let method = method_of(&index, &read(&index)?)?;
            verify_site(path, &pages(&evidence, method)?)?
        };
    }
    if wrong > 0 {
        return Err(CliError::Failed(format!(
            "places that are not what the replies say: {wrong}; `wheel leaderboard` writes a board anew"
        )));
    }
    output::result(&format!(
        "every cell is what the {} stored lines say (fingerprint {})",
        evidence.lines, evidence.fingerprint
    ))?;
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

/// The options that a board was made with, as it says itself.
fn method_of(path: &Path, text: &str) -> Result<Method, CliError> {
    let plain = MADE_BY.trim_start_matches('`');
    let options = text.split_once(plain).map(|(_, options)| options);
    let mut words = options.unwrap_or_default().split([' ', '`']);
    let index = words.next().and_then(|word| word.parse().ok());
    let flag = words.next() == Some("--interval");
    let interval = words.next().and_then(|word| word.parse().ok());
    match (index, interval) {
        (Some(index), Some(interval)) if flag => Ok(Method { index, interval }),
        _ => Err(CliError::Usage(format!(
            "{}: the line that says how it was made (`{plain}…`) is missing or changed: is it a board of this version?",
            path.display()
        ))),
    }
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
