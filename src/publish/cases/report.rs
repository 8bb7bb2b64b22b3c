//! What one model does with numbers in each channel.

use super::words::{measured, number, p_of, short};
use crate::domain::{ModelName, Relevance, TaskName};
use crate::publish::document::{Block, Entry, columns, heading, row, text};
use crate::publish::format::{UNSCORED, losses, two};
use crate::score::stats::benjamini_hochberg;
use crate::score::uai::{CaseCell, CaseScores, Clustering, Measured, Shares, Summary, contrast};
use crate::task::Tasks;

/// What a report is made from.
#[derive(Debug, Clone, Copy)]
pub struct CaseReportSource<'a> {
    /// The scores.
    pub scores: &'a CaseScores,
    /// The tasks, in order.
    pub tasks: &'a Tasks,
}

/// The report on a model; `None` if it was not asked.
#[must_use]
pub fn case_report(source: &CaseReportSource<'_>, model: &ModelName) -> Option<Vec<Block>> {
    let cells: Vec<&CaseCell> = source
        .scores
        .cells
        .iter()
        .filter(|cell| cell.model == *model)
        .collect();
    if cells.is_empty() {
        return None;
    }
    let mut blocks = vec![
        heading(1, format!("{model}: numbers that come along")),
        text(format!(
            "Pull is (answer − control) / (anchor − control), the mean over cases and directions. Brackets hold 95 % intervals, {} drawn anew; behind them stands the number of values. Tests are of signed ranks; in brackets their p adjusted for the tests of the task after Benjamini and Hochberg.",
            match source.scores.method.intervals {
                Clustering::Cases => "cases",
                Clustering::Published => "single values",
            }
        )),
        heading(2, "Channels"),
        channels(&cells),
    ];
    for cell in &cells {
        blocks.extend(channel(source, cell));
    }
    blocks.extend(variants(source, &cells));
    Some(blocks)
}

fn channels(cells: &[&CaseCell]) -> Block {
    let rows = cells.iter().map(|cell| {
        let pull = |relevance| cell.family(relevance).and_then(|family| family.uai);
        let scored = cell.why.is_none();
        let usable = |value: Option<Measured>| measured(value.filter(|_| scored));
        let p_disc = cell.p_disc.filter(|_| scored);
        let rational = cell.all.rational.filter(|_| scored);
        let worth = rational.and_then(|one| Some((one.implied_weight?, one.excess.n)));
        row([
            cell.task.to_string(),
            cell.all.cases.to_string(),
            short(cell.parse_rate()),
            usable(cell.all.mae),
            usable(cell.all.acc10),
            usable(pull(Relevance::Irrelevant)),
            usable(pull(Relevance::Plausible)),
            usable(cell.all.disc),
            p_of(p_disc.map(|one| one.p), p_disc.map(|one| one.adjusted)),
            usable(rational.map(|rational| rational.excess)),
            number(worth),
            losses(cell.losses.iter().map(|(loss, n)| (*loss, *n))),
        ])
    });
    Block::Table {
        columns: columns(&[
            "task",
            "cases#",
            "with an answer#",
            "error of the control#",
            "within 10 points#",
            "irrelevant pull#",
            "plausible pull#",
            "difference#",
            "its p (adjusted)#",
            "above what it deserves#",
            "worth so many ratings#",
            "lost",
        ]),
        rows: rows.collect(),
    }
}

fn channel(source: &CaseReportSource<'_>, cell: &CaseCell) -> Vec<Block> {
    let title = source
        .tasks
        .get(cell.task.as_str())
        .map_or_else(|| cell.task.to_string(), |task| task.title.clone());
    let mut blocks = vec![heading(2, &title)];
    if let Some(why) = &cell.why {
        blocks.push(text(format!("Not scored: {why}.")));
        return blocks;
    }
    blocks.push(text(format!(
        "Measured from {}; anchors within {} points of its answer have no index.",
        cell.baseline, cell.method.epsilon
    )));
    blocks.push(by_worth(cell));
    let slices = slices(cell);
    if !slices.is_empty() {
        blocks.push(heading(
            3,
            "By difficulty and distance, and at other epsilons",
        ));
        blocks.push(Block::Table {
            columns: columns(&[
                "cases",
                "n#",
                "within 10 points#",
                "irrelevant pull#",
                "plausible pull#",
                "difference#",
                "anchors left out#",
            ]),
            rows: slices,
        });
    }
    if !cell.shifts.is_empty() {
        blocks.push(heading(3, "What anchors do to the error"));
        blocks.push(errors(cell));
    }
    let mut notes = Vec::new();
    if let Some(correction) = cell.correction {
        notes.push(format!(
            "from the first to the second answer the model goes {} of the way to the gold",
            measured(Some(correction))
        ));
    }
    if let Some(reduction) = cell.reduction {
        notes.push(format!(
            "and loses {} of the first answer's error",
            measured(Some(reduction))
        ));
    }
    if let Some(noise) = cell.noise {
        notes.push(format!(
            "asked again, {} of {} prompts get another answer; answers to one prompt lie {} points apart (standard deviation){}",
            two(noise.differing),
            noise.prompts,
            two(noise.sd),
            noise.sd_pull.map_or_else(String::new, |sd| format!(
                "; from epoch to epoch the plausible pull moves by {} (standard deviation)",
                two(sd)
            ))
        ));
    }
    if !notes.is_empty() {
        blocks.push(Block::List {
            items: notes.into_iter().map(Entry::from).collect(),
        });
    }
    blocks
}

fn by_worth(cell: &CaseCell) -> Block {
    let rows = cell.all.families.iter().map(|(relevance, family)| {
        let spread = cell.spread.get(relevance);
        let p_zero = cell.p_zero.get(relevance);
        row([
            relevance.to_string(),
            measured(family.uai),
            measured(family.uai_low),
            measured(family.uai_high),
            measured(family.pull),
            number(spread.map(|spread| (spread.quantiles[2], spread.n))),
            measured(family.capped),
            measured(family.tar),
            measured(family.dmae),
            number(cell.effect_of(*relevance)),
            p_of(p_zero.map(|one| one.p), p_zero.map(|one| one.adjusted)),
        ])
    });
    Block::Table {
        columns: columns(&[
            "anchors",
            "pull#",
            "low#",
            "high#",
            "control-free#",
            "median#",
            "clipped to 0–1#",
            "moved towards it#",
            "change of error, points#",
            "Cohen's d#",
            "p against 0 (adjusted)#",
        ]),
        rows: rows.collect(),
    }
}

fn slices(cell: &CaseCell) -> Vec<Vec<Entry>> {
    let mut rows = Vec::new();
    let mut push = |name: String, summary: &Summary| {
        let pull = |relevance| {
            let family = summary.families.get(&relevance);
            measured(family.and_then(|family| family.uai))
        };
        let (eligible, dropped) = summary.excluded();
        rows.push(row([
            name,
            summary.cases.to_string(),
            measured(summary.acc10),
            pull(Relevance::Irrelevant),
            pull(Relevance::Plausible),
            measured(summary.disc),
            format!("{dropped} of {eligible}"),
        ]));
    };
    for (difficulty, summary) in &cell.by_difficulty {
        push(difficulty.to_string(), summary);
    }
    for (offset, summary) in &cell.by_offset {
        push(format!("anchors ± {offset}"), summary);
    }
    for (epsilon, summary) in &cell.by_epsilon {
        push(format!("epsilon {epsilon}"), summary);
    }
    if let Some(matched) = &cell.matched {
        push("from the control in two turns".to_owned(), matched);
    }
    rows
}

fn errors(cell: &CaseCell) -> Block {
    #[expect(clippy::cast_precision_loss, reason = "numbers of answers")]
    let shares = |shares: Shares| -> [String; 4] {
        let n = shares.n();
        let share = |count: usize| match n {
            0 => UNSCORED.to_owned(),
            n => format!("{} %", (100.0 * count as f64 / n as f64).round()),
        };
        [
            share(shares.harmful),
            share(shares.helpful),
            share(shares.neutral),
            n.to_string(),
        ]
    };
    let mut rows = Vec::new();
    for (relevance, shift) in &cell.shifts {
        for (name, of) in [
            ("all", shift.all),
            ("anchor closer to the gold than the control", shift.closer),
            ("anchor further away", shift.farther),
            ("anchor as far", shift.equidistant),
        ] {
            let mut texts = vec![relevance.to_string(), name.to_owned()];
            texts.extend(shares(of));
            rows.push(row(texts));
        }
    }
    Block::Table {
        columns: columns(&["anchors", "which", "harmful#", "helpful#", "neither#", "n#"]),
        rows,
    }
}

/// Each variant beside the task it varies: its own numbers, and the paired difference in pull.
fn variants(source: &CaseReportSource<'_>, cells: &[&CaseCell]) -> Vec<Block> {
    let usable = |name: &TaskName| {
        let mut usable = cells.iter().filter(|cell| cell.why.is_none());
        usable.find(|cell| cell.task == *name)
    };
    // What a row says, and the p value of its difference.
    let mut rows: Vec<(Vec<Entry>, Option<f64>)> = Vec::new();
    for task in &source.tasks.0 {
        let (Some(of), Some(cell)) = (&task.variant_of, usable(&task.name)) else {
            continue;
        };
        let contrast = usable(of).map(|base| contrast(cell, base));
        for (relevance, family) in &cell.all.families {
            let paired = contrast
                .as_ref()
                .and_then(|contrast| contrast.uai.get(relevance));
            let texts = row([
                task.name.to_string(),
                relevance.to_string(),
                measured(cell.all.acc10),
                measured(family.uai),
                measured(family.pull),
                measured(paired.map(|paired| paired.mean)),
            ]);
            rows.push((texts, paired.and_then(|paired| paired.p)));
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let p: Vec<f64> = rows.iter().filter_map(|(_, p)| *p).collect();
    let mut adjusted = benjamini_hochberg(&p).into_iter();
    let finished = |(mut texts, p): (Vec<Entry>, Option<f64>)| {
        let adjusted = p.and_then(|_| adjusted.next());
        texts.push(Entry::from(p_of(p, adjusted)));
        texts
    };
    vec![
        heading(2, "Variants"),
        text(
            "Each variant is measured from its own control, asked in the same way; the difference from the task it varies is paired by case, its p adjusted over this table after Benjamini and Hochberg.",
        ),
        Block::Table {
            columns: columns(&[
                "variant",
                "anchors",
                "within 10 points#",
                "pull#",
                "control-free#",
                "minus its task#",
                "p (adjusted)#",
            ]),
            rows: rows.into_iter().map(finished).collect(),
        },
    ]
}
