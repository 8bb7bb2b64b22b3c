//! The report of one model: where it is pulled, by tier and by question, and in plain words.

mod items;

use strum::IntoEnumIterator;

use items::task;

use super::document::{Block, Entry, columns, heading, text};
use super::format::{
    UNKNOWN, UNSCORED, cost, losses, p_text, two, whole_with_interval, with_interval,
};
use crate::bank::Bank;
use crate::domain::{ModelName, Tier, Tokens, Usd};
use crate::score::stats::{RESAMPLES, SEED, median};
use crate::score::{Cell, CellSample, CellScore, Index, ModelScore, Scores, TierScore};

/// What a report is made from.
#[derive(Clone, Copy)]
pub struct ReportSource<'a> {
    /// The scores.
    pub scores: &'a Scores,
    /// The samples behind them.
    pub cells: &'a [Cell<'a>],
    /// The questions.
    pub bank: &'a Bank,
    /// Where a sample can be looked at within a site.
    pub link: &'a dyn Fn(&CellSample<'_>) -> Option<String>,
}

/// The report; `None` if the model has no sample.
#[must_use]
pub fn report(source: &ReportSource<'_>, model: &ModelName) -> Option<Vec<Block>> {
    let whole = source
        .scores
        .models
        .iter()
        .find(|score| score.model == *model)?;
    let cells: Vec<(&CellScore, &Cell<'_>)> = source
        .scores
        .cells
        .iter()
        .filter(|cell| cell.model == *model)
        .filter_map(|score| {
            let cell = source
                .cells
                .iter()
                .find(|cell| cell.model == score.model && cell.task.name == score.task)?;
            Some((score, cell))
        })
        .collect();
    let mut blocks = vec![
        heading(1, format!("{model}: pulled where, and how far")),
        text(intro(
            source.scores,
            cells.iter().any(|(score, _)| score.people.is_some()),
        )),
        heading(2, "At a glance"),
        overview(&cells),
        text(model_words(whole)),
    ];
    if cells.iter().any(|(score, _)| score.anchored) {
        blocks.extend([heading(2, "By tier"), tiers(&cells)]);
    }
    for (score, cell) in cells.iter().filter(|(score, _)| score.anchored) {
        blocks.extend(task(source, score, cell));
    }
    blocks.extend([
        heading(2, "Lost samples"),
        lost(&cells),
        heading(2, "Tokens and cost"),
        tokens(&cells),
        text(format!(
            "All answered calls of this model, earlier attempts included: {}.",
            cost(whole.cost_computed, whole.cost_reported)
        )),
    ]);
    Some(blocks)
}

fn intro(scores: &Scores, people: bool) -> String {
    let index = match scores.method.index {
        Index::LogAi => {
            "The index of a question is ln(estimate after the high anchor / estimate after the low one) / ln(high anchor / low anchor), capped to [−1, 1]: 0 = the anchor changed nothing, 1 = the estimate moved as much as the anchor, negative = pushed away."
        }
        Index::Ai => {
            "The index of a question is (median estimate after the high anchor − after the low one) / (high anchor − low anchor), after Jacowitz & Kahneman (1995): 0 = the anchor changed nothing, 1 = the estimate moved as much as the anchor, negative = pushed away."
        }
        Index::AIndex => {
            "The index of a question is |median estimate after the high anchor − after the low one| / |high anchor − low anchor|: 0 = the anchor changed nothing, 1 = the estimate moved as much as the anchor; it has no sign, so it does not tell a pull from a push away."
        }
        Index::Raw => {
            "Of a question, the difference of the medians after the high anchor and after the low one is shown in its own unit, with a permutation p; of a task, the share of the questions whose p is below 0.05, with a Wilson interval."
        }
    };
    let method = scores.method.interval;
    let intervals = match (scores.method.index, people) {
        (Index::Raw, _) => String::new(),
        (_, true) => format!(
            " Intervals are 95 % percentile bootstrap intervals over persons ({RESAMPLES} resamples, seed {SEED})."
        ),
        (Index::LogAi, false) => format!(
            " Intervals are 95 % {method} bootstrap intervals over questions and their epochs ({RESAMPLES} resamples, seed {SEED}); that of one question is Welch's t over its epochs alone, and unknown ({UNKNOWN}) with one."
        ),
        (_, false) => format!(
            " Intervals are 95 % {method} bootstrap intervals over questions ({RESAMPLES} resamples, seed {SEED}); that of one question is unknown ({UNKNOWN})."
        ),
    };
    format!("{index}{intervals}")
}

fn overview(cells: &[(&CellScore, &Cell<'_>)]) -> Block {
    let rows =
        cells
            .iter()
            .filter(|(score, _)| score.anchored)
            .map(|(score, cell)| {
                let all = &score.all;
                let or_dash = |text: Option<String>| -> Entry {
                    text.unwrap_or_else(|| UNSCORED.to_owned()).into()
                };
                vec![
                    cell.task.title.as_str().into(),
                    Entry::from(index_text(all)).by(all.index),
                    or_dash(all.p.map(p_text)),
                    Entry::from(format!("{} of {}", all.usable, all.items)),
                    or_dash(
                        all.sensitivity
                            .map(|value| with_interval(value, all.sensitivity_interval)),
                    ),
                    or_dash(all.noise.map(|noise| {
                        format!(
                            "{} (floor ± {}) n={}",
                            two(noise.sensitivity),
                            two(noise.floor),
                            noise.n
                        )
                    })),
                    or_dash(all.index.and(all.backlash).map(|n| n.to_string())),
                    or_dash(all.copy_share().map(|share| {
                        format!("{} ({} of {})", two(share), all.copies.0, all.copies.1)
                    })),
                    Entry::from(format!("{} of {}", score.contradictions, score.comparisons)),
                ]
            })
            .collect();
    Block::Table {
        columns: columns(&[
            "task",
            "index [95 %]#",
            "p#",
            "usable questions#",
            "sensitivity [95 %]#",
            "of it noise#",
            "backlash#",
            "equal to the anchor#",
            "contradictions#",
        ]),
        rows,
    }
}

fn index_text(score: &TierScore) -> String {
    match score.index {
        Some(index) => with_interval(index, score.interval),
        None => format!("{UNSCORED} n={} of {}", score.usable, score.items),
    }
}

fn model_words(model: &ModelScore) -> String {
    let accuracy = model.accuracy.map_or_else(
        || "Without an anchor it was never asked, so its accuracy is unknown.".to_owned(),
        |(right, n)| {
            #[expect(clippy::cast_precision_loss, reason = "counts of items")]
            let share = right as f64 / n as f64;
            format!(
                "Without an anchor {right} of {n} known and half-known facts are within 10 % of the reference, {}.",
                with_interval(share, model.accuracy_interval)
            )
        },
    );
    let relief = model.relief.map_or_else(
        || "Relief by thinking cannot be said: it needs classic and thinking scored, and a classic index clear of zero.".to_owned(),
        |relief| {
            format!(
                "Relief by thinking, 1 − thinking index / classic index: {} n={}.",
                with_interval(relief.value, Some(relief.interval)),
                relief.n
            )
        },
    );
    format!("{accuracy} {relief}")
}

fn tiers(cells: &[(&CellScore, &Cell<'_>)]) -> Block {
    let rows = cells
        .iter()
        .filter(|(score, _)| score.anchored)
        .map(|(score, cell)| {
            let mut row = vec![Entry::from(cell.task.title.as_str())];
            for tier in Tier::iter() {
                row.push(score.tiers.get(&tier).map_or_else(Entry::default, |tier| {
                    let n = format!("n={} of {}", tier.usable, tier.items);
                    let text = match tier.index {
                        Some(index) => format!("{} {n}", with_interval(index, tier.interval)),
                        None => format!("{UNSCORED} {n}"),
                    };
                    Entry::from(text).by(tier.index)
                }));
            }
            row
        })
        .collect();
    Block::Table {
        columns: columns(&["task", "known#", "fuzzy#", "fermi#"]),
        rows,
    }
}

fn lost(cells: &[(&CellScore, &Cell<'_>)]) -> Block {
    let rows = cells
        .iter()
        .map(|(score, cell)| {
            let lost: usize = score.losses.values().sum();
            vec![
                Entry::from(cell.task.title.as_str()),
                Entry::from(score.samples.to_string()),
                Entry::from(score.samples.saturating_sub(lost).to_string()),
                Entry::from(losses(score.losses.iter().map(|(loss, n)| (*loss, *n)))),
                Entry::from(score.all.why().unwrap_or_default()),
            ]
        })
        .collect();
    Block::Table {
        columns: columns(&[
            "task",
            "samples#",
            "usable#",
            "lost, by reason",
            "not scored because",
        ]),
        rows,
    }
}

fn tokens(cells: &[(&CellScore, &Cell<'_>)]) -> Block {
    let rows = cells
        .iter()
        .map(|(_, cell)| {
            let counts = |of: fn(&CellSample<'_>) -> Option<Tokens>| -> Vec<f64> {
                #[expect(clippy::cast_precision_loss, reason = "token counts lie below 2^53")]
                cell.samples
                    .iter()
                    .filter_map(of)
                    .map(|tokens| tokens.0 as f64)
                    .collect()
            };
            let middle = |values: Vec<f64>| {
                let n = values.len();
                let text = median(&values).map_or_else(
                    || UNKNOWN.to_owned(),
                    |value| whole_with_interval(value, None),
                );
                let text = text.trim_end_matches(" [?]").to_owned();
                Entry::from(format!("{text} n={n}"))
            };
            let sum = |of: fn(&CellSample<'_>) -> Option<Usd>| -> Option<Usd> {
                let answered = cell
                    .samples
                    .iter()
                    .filter(|sample| sample.record.status.is_answer());
                let all: Option<Vec<Usd>> = answered.map(of).collect();
                all.filter(|all| !all.is_empty())
                    .map(|all| all.into_iter().sum())
            };
            vec![
                Entry::from(cell.task.title.as_str()),
                middle(counts(|sample| sample.record.tokens.input)),
                middle(counts(|sample| sample.record.tokens.output)),
                middle(counts(|sample| sample.record.tokens.reasoning)),
                Entry::from(cost(
                    sum(|sample| sample.record.cost.computed),
                    sum(|sample| sample.record.cost.reported),
                )),
            ]
        })
        .collect();
    Block::Table {
        columns: columns(&[
            "task",
            "tokens in (median)#",
            "tokens out (median)#",
            "of them reasoning (median)#",
            "cost of the counted replies#",
        ]),
        rows,
    }
}
