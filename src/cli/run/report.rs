//! How a run ended: in words, in scores, in an exit code.

use super::Args;
use super::selection::Selection;
use crate::ask::{ModelSummary, Spent};
use crate::bank::{Bank, Item, Subject};
use crate::cli::{CliError, Exit, output};
use crate::domain::{ErrorClass, Suite, Usd};
use crate::publish::{case_cells_table, cells_table, judge_tables, models_table, spinner_table};
use crate::score::judge::score_judges;
use crate::score::spinner::score_spinner;
use crate::score::{CaseMethod, Heard, Method, score, score_cases};
use crate::task::Catalog;

/// How the asking ended.
pub(super) struct Asked {
    pub(super) summaries: Vec<ModelSummary>,
    pub(super) spent: Spent,
    pub(super) interrupted: bool,
    /// Every line of the cells, those of this run included.
    pub(super) heard: Vec<Heard>,
    /// Samples that sit in batches which run on.
    pub(super) batched: usize,
}

pub(super) fn show_scores(selection: &Selection, heard: &[Heard]) -> Result<(), CliError> {
    if heard.is_empty() {
        return Ok(());
    }
    if selection.suite == Suite::Anchorbench {
        let scores = score_cases(heard, &selection.catalog, CaseMethod::default());
        return output::result(&case_cells_table(&scores.cells));
    }
    if selection.suite == Suite::Spinner {
        let scores = score_spinner(heard, &selection.catalog);
        return output::result(&spinner_table(&scores));
    }
    if selection.suite == Suite::Judge {
        let scores = score_judges(heard, &selection.catalog);
        return output::result(&judge_tables(&scores));
    }
    // A run of some of the questions is scored on these; the whole bank is what `wheel score` looks at.
    let asked = selection.subjects.first().into_iter().flatten();
    let items = asked.filter_map(|subject| match subject {
        Subject::Question(item) => Some(Item::clone(item)),
        Subject::Case(_) | Subject::Excerpt(_) | Subject::Judged(_) => None,
    });
    let catalog = Catalog {
        bank: Bank {
            items: items.collect(),
        },
        tasks: selection.catalog.tasks.clone(),
        ..Catalog::default()
    };
    let scores = score(heard, &catalog, Method::default());
    let (some, all) = (catalog.bank.items.len(), selection.catalog.bank.items.len());
    if some < all {
        output::result(&format!("on {some} of {all} questions:"))?;
    }
    output::result(&cells_table(&scores.cells))?;
    output::result(&models_table(&scores.models))
}

/// Says what each model's run left behind, and what it cost.
pub(super) fn report(args: &Args, asked: &Asked) {
    for summary in &asked.summaries {
        let mut parts = Vec::new();
        for (class, n) in &summary.failed {
            parts.push(format!("{n} failed ({class})"));
        }
        if summary.not_asked > 0 {
            parts.push(format!("{} not asked", summary.not_asked));
        }
        if let Some(reason) = &summary.stopped {
            parts.push(format!("stopped: {reason}"));
        }
        if !summary.dropped.is_empty() {
            let names: Vec<String> = summary.dropped.iter().map(ToString::to_string).collect();
            parts.push(format!("sent without {}", names.join(", ")));
        }
        if !parts.is_empty() {
            output::note(&format!("{}: {}", summary.model, parts.join(", ")));
        }
    }
    let Spent { total, unsure, .. } = asked.spent;
    if total > Usd::default() && !args.quiet {
        let guess = if unsure > Usd::default() {
            format!(
                ", of which at most {unsure} for calls whose cost nobody told (no reply, or no token counts)"
            )
        } else {
            String::new()
        };
        output::note(&format!("this run cost {total}{guess}"));
    }
    if asked.batched > 0 {
        output::note(&format!(
            "{} samples sit in batches that run on: the same command with --batch waits for them and collects them",
            asked.batched
        ));
    }
    let missing = asked.summaries.iter().any(ModelSummary::is_short);
    if (missing || asked.interrupted) && !args.quiet {
        output::note(
            "every reply so far is kept; type the same command again to ask for what is missing",
        );
    }
}

pub(super) fn exit_of(asked: &Asked) -> Exit {
    let quota = asked
        .summaries
        .iter()
        .any(|summary| summary.failed.contains_key(&ErrorClass::Quota));
    let missing = asked.summaries.iter().any(ModelSummary::is_short);
    if asked.interrupted {
        Exit::Interrupted
    } else if quota || (asked.spent.reached && missing) {
        Exit::Stopped
    } else if missing || asked.batched > 0 {
        Exit::Missing
    } else {
        Exit::Done
    }
}
