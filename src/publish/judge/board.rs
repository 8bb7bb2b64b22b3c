//! The board of judges, and the report of one.

use std::collections::BTreeSet;

use super::tables::{by_text, calls, ceiling, digits, effects, of_labels, responses, strategies};
use super::words::{estimate, points};
use crate::domain::{ModelName, Standard};
use crate::publish::document::{Block, Entry, columns, heading, row, text};
use crate::score::judge::{JudgeModel, JudgeScores, Labels, Mitigation, Panel, Probe};
use crate::task::Tasks;

/// What a board is made from.
#[derive(Clone, Copy)]
pub struct JudgeBoardSource<'a> {
    /// The scores.
    pub scores: &'a JudgeScores,
    /// The tasks, for their titles.
    pub tasks: &'a Tasks,
    /// Hash over the stored samples of the suite.
    pub store_fingerprint: &'a str,
    /// Stored lines of the suite.
    pub lines: usize,
    /// Versions of the program that asked.
    pub versions: &'a BTreeSet<String>,
    /// Where the calls of a model and task lie within a site.
    pub link: &'a dyn Fn(&ModelName, &str) -> Option<String>,
}

/// What stands in the line that says how the board was made.
pub const JUDGE_MADE_BY: &str = "wheel leaderboard --suite judge";

const INTRO: &str = "A judge scores one fixed answer by one rubric. Alone (c0), with the word that it is a revision (c1), with the number of an attempt and an earlier score that has nothing to do with the text (c2), and with the same block in which the number is called a form version (control). The effect is the mean score under c2 minus that under c0: the mean over temperatures for each text, then over texts with equal weights; the nearer to 0 the better. Framing is c1 − c0 and incremental c2 − c1; the latter is not the effect of the number, since c2 also adds the attempt and changes the block. What the number does by being an earlier score is c2 − control. The design follows Kapetanovic et al. (arXiv 2608.25869), with texts and wording of our own.";

const READING: &str = "Texts are the sample: repeated calls make a mean precise and replicate nothing. Intervals (95 %) come from 10,000 resamples of texts within their categories, the same for all judges. Threshold-like: the effect is clear and the slope within c2 is flat, so the presence of an earlier score moves the verdict and its height hardly does. Graded: the score follows the number. The slope is taken within texts and temperatures. A flat slope alone does not mean that nothing happened.";

const SMALL: &str = "A judge can only be pulled away from an opinion that it has. The spread of texts is the standard deviation of their mean scores without a block: near 0 the judge gives every text the same score, and neither a small nor a large effect says much about judging. Small models often are such judges; their rows show how the measure behaves, not whom to trust with a verdict.";

const BY_PROBABILITY: &str = "Nothing is said here: the score is the mean of the digits on the scale by their probabilities where the score begins, so that judges who cannot finish a verdict have one.";

/// The only model of the document; all models without one, and what is put together over them.
type Wanted<'a> = Option<&'a ModelName>;

fn holds(wanted: Wanted<'_>, model: &ModelName) -> bool {
    wanted.is_none_or(|wanted| wanted == model)
}

/// The whole board as a document.
#[must_use]
pub fn judge_board(source: &JudgeBoardSource<'_>) -> Vec<Block> {
    let mut blocks = vec![
        heading(1, "Judge: an earlier verdict beside the text"),
        text(INTRO),
        text(READING),
        text(SMALL),
    ];
    blocks.extend(body(source, None));
    blocks.push(heading(2, "Provenance"));
    blocks.push(provenance(source));
    blocks
}

/// The same of one model, with each of its texts; `None` if it has no scores.
#[must_use]
pub fn judge_report(source: &JudgeBoardSource<'_>, model: &ModelName) -> Option<Vec<Block>> {
    let body = body(source, Some(model));
    if body.is_empty() {
        return None;
    }
    let mut blocks = vec![
        heading(1, format!("{model} as a judge")),
        text(INTRO),
        text(READING),
    ];
    blocks.extend(body);
    for panel in &source.scores.panels {
        for one in panel.models.iter().filter(|one| one.model == *model) {
            blocks.push(heading(
                2,
                format!("{}, text by text", title(source, panel)),
            ));
            blocks.push(by_text(one));
        }
    }
    Some(blocks)
}

fn title(source: &JudgeBoardSource<'_>, panel: &Panel) -> String {
    let task = source.tasks.get(panel.task.as_str());
    let title = task.map_or_else(|| panel.task.to_string(), |task| task.title.clone());
    format!("{title}, prior scores {}", panel.design)
}

fn body(source: &JudgeBoardSource<'_>, wanted: Wanted<'_>) -> Vec<Block> {
    let scores = source.scores;
    let mut blocks = Vec::new();
    for panel in &scores.panels {
        if panel.models.iter().any(|model| holds(wanted, &model.model)) {
            blocks.push(heading(2, title(source, panel)));
            blocks.push(text(about(panel)));
            let task = source.tasks.get(panel.task.as_str());
            if task.is_some_and(|task| task.targets.is_some()) {
                blocks.push(text(BY_PROBABILITY));
            }
            blocks.extend(of_panel(source, panel, wanted));
        }
    }
    let mitigations: Vec<&Mitigation> = scores
        .mitigations
        .iter()
        .filter(|row| holds(wanted, &row.model))
        .collect();
    if !mitigations.is_empty() {
        blocks.push(heading(2, "Strategies"));
        blocks.push(text("Strategies are compared by the effect that is left, on the texts that all of them judged, never by their raw means: a strategy may raise all scores and leave the effect as it was. Size against none: |effect| / |effect without a strategy| − 1. Where there is one text, its calls are drawn anew, and the interval says nothing of other texts."));
        blocks.push(strategies(&mitigations));
    }
    let labels: Vec<&Labels> = scores
        .labels
        .iter()
        .filter(|row| holds(wanted, &row.model))
        .collect();
    if !labels.is_empty() {
        blocks.extend(of_labels(&labels));
    }
    let probes: Vec<&Probe> = scores
        .probes
        .iter()
        .filter(|row| holds(wanted, &row.model))
        .collect();
    if !probes.is_empty() {
        blocks.push(heading(2, "Digits"));
        blocks.push(text("Probability of each digit where the score begins, the mean over texts; the shift is the expected digit under c2 minus that under c0, the slope the change of a digit's probability for one point of the earlier score."));
        blocks.push(digits(&probes));
    }
    blocks
}

fn about(panel: &Panel) -> String {
    let texts: usize = panel.categories.iter().map(|(_, n)| n).sum();
    let of = panel.categories.iter();
    let of: Vec<String> = of.map(|(category, n)| format!("{n} {category}")).collect();
    let scale = match &panel.standard {
        Standard::Score { scale, threshold } => format!(
            "scores from {} to {}, accepted from {threshold} on",
            scale.from, scale.to
        ),
        Standard::Label(_) => String::new(),
    };
    let thin = panel.categories.iter().filter(|(_, n)| *n == 1);
    let thin: Vec<&str> = thin.map(|(category, _)| &**category).collect();
    let thin = if thin.is_empty() {
        String::new()
    } else {
        format!(
            " With one text, {} adds nothing to the width of intervals.",
            thin.join(", ")
        )
    };
    format!("{texts} texts ({}); {scale}.{thin}", of.join(", "))
}

fn of_panel(source: &JudgeBoardSource<'_>, panel: &Panel, wanted: Wanted<'_>) -> Vec<Block> {
    let models: Vec<&JudgeModel> = panel
        .models
        .iter()
        .filter(|one| holds(wanted, &one.model))
        .collect();
    let link = |model: &JudgeModel| (source.link)(&model.model, panel.task.as_str());
    let mut blocks = vec![effects(&models, &link), responses(&models), calls(&models)];
    let categories: Vec<_> = panel
        .by_category
        .iter()
        .filter(|row| match &row.model {
            Some(model) => holds(wanted, model),
            None => wanted.is_none(),
        })
        .collect();
    if !categories.is_empty() {
        blocks.push(heading(3, "By category"));
        let rows = categories.iter().map(|one| {
            row([
                one.category.to_string(),
                one.model
                    .as_ref()
                    .map_or_else(|| "all".to_owned(), ToString::to_string),
                one.texts.to_string(),
                estimate(one.total),
                points(one.acceptance),
            ])
        });
        blocks.push(Block::Table {
            columns: columns(&[
                "category",
                "model",
                "texts#",
                "effect#",
                "acceptance, points#",
            ]),
            rows: rows.collect(),
        });
    }
    if let Some(terms) = panel
        .joint
        .as_ref()
        .filter(|_| wanted.is_none() && panel.models.len() > 1)
    {
        blocks.push(heading(3, "Joint model"));
        blocks.push(text("Least squares of the effects of all judges, texts and temperatures: the intercept is the mean over judges for the first category at the lowest temperature; judges are deviations that add up to 0."));
        let rows = terms
            .iter()
            .map(|term| row([term.name.clone(), estimate(Some(term.estimate))]));
        blocks.push(Block::Table {
            columns: columns(&["term", "coefficient#"]),
            rows: rows.collect(),
        });
    }
    if wanted.is_none() {
        blocks.extend(ceiling(panel));
    }
    blocks
}

fn provenance(source: &JudgeBoardSource<'_>) -> Block {
    let versions: Vec<&str> = source.versions.iter().map(String::as_str).collect();
    let items = [
        format!("made by `{JUDGE_MADE_BY}`"),
        format!(
            "{} stored lines, fingerprint {}",
            source.lines, source.store_fingerprint
        ),
        format!("asked by wheel {}", versions.join(", ")),
        "earlier scores and attempts stand in every line; resamples: 10,000, seed 1974".to_owned(),
        "check it with `wheel verify` and the path of this board: the command computes every number again from the replies".to_owned(),
    ];
    Block::List {
        items: items.into_iter().map(Entry::from).collect(),
    }
}
