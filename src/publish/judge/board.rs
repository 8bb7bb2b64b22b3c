//! The board of judges, and the report of one.

use std::collections::BTreeSet;

use super::terminal::{held, likeliest, percent};
use super::words::{effect, estimate, mean, points, reading, share, valid, why_not};
use crate::domain::{Condition, ModelName, Standard};
use crate::publish::document::{Block, Entry, columns, heading, row, text};
use crate::publish::format::{UNKNOWN, UNSCORED, losses, two};
use crate::score::judge::{
    Contrast, Drawn, JudgeModel, JudgeScores, Labels, Mitigation, Panel, Probe,
};
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

fn effects(models: &[&JudgeModel], link: &dyn Fn(&JudgeModel) -> Option<String>) -> Block {
    let rows = models.iter().map(|model| {
        let hidden = why_not(model);
        let acceptance = match hidden {
            Some(_) => UNSCORED.to_owned(),
            None => points(model.acceptance.get(&Contrast::Total).copied()),
        };
        let mut entries = row([
            model.model.to_string(),
            model.texts.to_string(),
            effect(model, Contrast::Total),
            acceptance,
            effect(model, Contrast::Framing),
            effect(model, Contrast::Incremental),
            effect(model, Contrast::Control),
            effect(model, Contrast::Prior),
            hidden.unwrap_or_default(),
        ]);
        entries[0].href = link(model);
        entries[2].sort = model.effects.get(&Contrast::Total).map(|total| total.value);
        entries
    });
    Block::Table {
        columns: columns(&[
            "model",
            "texts#",
            "effect#",
            "acceptance, points#",
            "framing#",
            "incremental#",
            "control − c0#",
            "c2 − control#",
            "not scored",
        ]),
        rows: rows.collect(),
    }
}

fn responses(models: &[&JudgeModel]) -> Block {
    let rows = models.iter().map(|model| {
        let hidden = why_not(model).is_some();
        let shown = |text: String| if hidden { UNSCORED.to_owned() } else { text };
        let d = match model.cohens_d {
            (Some(d), n) => format!("{} ({n} triplets)", two(d)),
            (None, n) => format!("{UNSCORED} ({n} triplets)"),
        };
        row([
            model.model.to_string(),
            mean(model.levels.get(&Condition::C0).copied()),
            mean(model.levels.get(&Condition::C2).copied()),
            mean(model.spread),
            shown(d),
            shown(format!(
                "{} ({} calls)",
                estimate(model.slopes.all),
                model.slopes.n
            )),
            shown(estimate(model.slopes.pull)),
            shown(reading(model.response)),
        ])
    });
    Block::Table {
        columns: columns(&[
            "model",
            "score, c0#",
            "score, c2#",
            "spread of texts#",
            "Cohen's d#",
            "slope within c2#",
            "pull to the score#",
            "reading",
        ]),
        rows: rows.collect(),
    }
}

fn calls(models: &[&JudgeModel]) -> Block {
    let rows = models.iter().map(|model| {
        let lost = model.losses.iter().map(|(condition, of)| {
            let of = losses(of.iter().map(|(loss, n)| (*loss, *n)));
            format!("{condition}: {of}")
        });
        let lost: Vec<String> = lost.collect();
        let emitted = model.emitted;
        let temperatures: Vec<String> =
            model.temperatures.iter().map(ToString::to_string).collect();
        row([
            model.model.to_string(),
            valid(model),
            if lost.is_empty() {
                "none".to_owned()
            } else {
                lost.join("; ")
            },
            model.clipped.to_string(),
            format!("{} of {}", emitted.differs, emitted.said),
            temperatures.join(", "),
            if model.dropped.is_empty() {
                "none".to_owned()
            } else {
                model.dropped.join(", ")
            },
            model
                .other_wording
                .map_or_else(|| UNKNOWN.to_owned(), |n| n.to_string()),
            model.gaps.temperatures.len().to_string(),
        ])
    });
    Block::Table {
        columns: columns(&[
            "model",
            "calls with a score",
            "lost",
            "clipped#",
            "accept differs from the score#",
            "temperatures",
            "parameters refused",
            "another wording#",
            "pairs left out#",
        ]),
        rows: rows.collect(),
    }
}

fn ceiling(panel: &Panel) -> Vec<Block> {
    let Some(ceiling) = &panel.ceiling else {
        return Vec::new();
    };
    let [low, high] = ceiling.range;
    let names = [
        "effect",
        "effect, beside category and model",
        "size of the effect",
        "size, beside category and model",
    ];
    let rows = names
        .into_iter()
        .zip(ceiling.distance)
        .map(|(name, slope)| row([name.to_owned(), estimate(slope)]));
    vec![
        heading(3, "Away from the ceiling"),
        text(format!(
            "Pairs of judge and text whose score alone is at least {} and below {}: {} pairs on {} texts, {} of them with a negative effect; mean effect {}. Below, the change of the effect for one point of distance from the highest score, over all pairs.",
            two(low),
            two(high),
            ceiling.units,
            ceiling.texts,
            ceiling.negative,
            estimate(ceiling.mean)
        )),
        Block::Table {
            columns: columns(&["what", "for one point of distance#"]),
            rows: rows.collect(),
        },
    ]
}

fn by_text(model: &JudgeModel) -> Block {
    let rows = model.by_text.iter().map(|(item, effect)| {
        let level = |condition| {
            mean(
                model
                    .cells
                    .level(item, condition, crate::score::judge::Measure::Score),
            )
        };
        let slope = model.slopes.by_text.get(item);
        row([
            item.to_string(),
            model
                .cells
                .categories
                .get(item)
                .map_or_else(String::new, ToString::to_string),
            level(Condition::C0),
            level(Condition::C1),
            level(Condition::C2),
            level(Condition::Control),
            mean(*effect),
            slope.map_or_else(
                || UNSCORED.to_owned(),
                |line| crate::publish::format::with_interval(line.slope, line.interval),
            ),
        ])
    });
    Block::Table {
        columns: columns(&[
            "text",
            "category",
            "c0#",
            "c1#",
            "c2#",
            "control#",
            "effect#",
            "slope within c2, over calls#",
        ]),
        rows: rows.collect(),
    }
}

fn strategies(rows: &[&Mitigation]) -> Block {
    let rows = rows.iter().map(|one| {
        let drawn = match one.drawn {
            Drawn::Texts => "texts",
            Drawn::Calls => "calls",
        };
        row([
            one.model.to_string(),
            one.task.to_string(),
            one.strategy.to_string(),
            one.texts.to_string(),
            one.valid.to_string(),
            estimate(one.total),
            drawn.to_owned(),
            percent(one.change),
            estimate(one.difference),
            estimate(one.slopes.all),
            mean(one.c0),
            mean(one.c2),
            one.tokens
                .map_or_else(|| UNKNOWN.to_owned(), |tokens| format!("{tokens:.1}")),
            percent(one.more_tokens),
        ])
    });
    Block::Table {
        columns: columns(&[
            "model",
            "task",
            "strategy",
            "texts#",
            "calls#",
            "effect#",
            "interval over",
            "size against none#",
            "effect − none#",
            "slope within c2#",
            "score, c0#",
            "score, c2#",
            "tokens a call#",
            "tokens against none#",
        ]),
        rows: rows.collect(),
    }
}

fn of_labels(labels: &[&Labels]) -> Vec<Block> {
    let head = |one: &Labels| {
        [
            one.model.to_string(),
            one.task.to_string(),
            one.strategy.to_string(),
        ]
    };
    let corrections = labels.iter().filter_map(|one| {
        let group = one.corrections.as_ref()?;
        let mut texts = head(one).to_vec();
        texts.push(group.items.to_string());
        for condition in [Condition::C0, Condition::C1, Condition::C2] {
            texts.push(share(group.correction.get(&condition)));
            texts.push(share(group.persistence.get(&condition)));
        }
        texts.push(points(group.blocked));
        Some(row(texts))
    });
    let inductions = labels.iter().filter_map(|one| {
        let group = one.inductions.as_ref()?;
        let mut texts = head(one).to_vec();
        texts.extend([
            format!("{} of {} ({} pairs)", group.items, group.asked, group.pairs),
            share(Some(&group.accuracy[0])),
            share(Some(&group.accuracy[1])),
            points(Some(group.accuracy_change)),
            share(Some(&group.agreement[0])),
            share(Some(&group.agreement[1])),
            points(Some(group.agreement_change)),
            share(group.induced.as_ref()),
            points(group.relief),
            points(group.agreement_relief),
        ]);
        Some(row(texts))
    });
    let calls = labels.iter().map(|one| {
        let mut texts = head(one).to_vec();
        texts.push(format!("{} of {}", one.valid, one.asked));
        texts.push(losses(one.losses.iter().map(|(loss, n)| (*loss, *n))));
        row(texts)
    });
    vec![
        heading(2, "Labels"),
        text(
            "Messages with one right label of a set, and a wrong earlier label under c2. Shares in percent, changes in points; intervals draw messages anew, 10,000 times, the same for conditions and strategies.",
        ),
        heading(3, "Earlier errors"),
        text(
            "Messages that were labelled wrongly before, with that label shown. Corrected: labelled rightly; kept: labelled as before. Blocked: the part of the corrections under c0 that is missing under c2, a ratio of rates.",
        ),
        Block::Table {
            columns: columns(&[
                "model",
                "task",
                "strategy",
                "messages#",
                "corrected, c0#",
                "kept, c0#",
                "corrected, c1#",
                "kept, c1#",
                "corrected, c2#",
                "kept, c2#",
                "blocked, %#",
            ]),
            rows: corrections.collect(),
        },
        heading(3, "Errors made"),
        text(
            "Messages that were labelled rightly before, with one of the wrong labels, drawn once, shown in its place. Agreement: labelled as the drawn one, under c0 by chance. Made: of the messages that are right under c0 the share that becomes the drawn label. Relief: change of a strategy minus change without one, on the same messages.",
        ),
        Block::Table {
            columns: columns(&[
                "model",
                "task",
                "strategy",
                "messages#",
                "right, c0#",
                "right, c2#",
                "change, points#",
                "agreement, c0#",
                "agreement, c2#",
                "agreement, points#",
                "errors made, %#",
                "relief, points#",
                "agreement relief, points#",
            ]),
            rows: inductions.collect(),
        },
        Block::Table {
            columns: columns(&["model", "task", "strategy", "calls with a label", "lost"]),
            rows: calls.collect(),
        },
    ]
}

fn digits(probes: &[&Probe]) -> Block {
    let rows = probes.iter().map(|probe| {
        let slopes = probe.slopes.iter().enumerate();
        let steepest = slopes
            .filter_map(|(digit, slope)| Some((digit, (*slope)?)))
            .max_by(|a, b| a.1.value.abs().total_cmp(&b.1.value.abs()));
        row([
            probe.model.to_string(),
            probe.task.to_string(),
            probe.texts.to_string(),
            probe.prompts.values().sum::<usize>().to_string(),
            likeliest(probe, Condition::C0),
            likeliest(probe, Condition::C1),
            likeliest(probe, Condition::C2),
            estimate(probe.shift),
            steepest.map_or_else(
                || UNSCORED.to_owned(),
                |(digit, slope)| format!("{digit}: {}", super::words::four(slope)),
            ),
            held(probe),
        ])
    });
    Block::Table {
        columns: columns(&[
            "model",
            "task",
            "texts#",
            "prompts#",
            "likeliest, c0",
            "likeliest, c1",
            "likeliest, c2",
            "shift of the digit#",
            "steepest slope",
            "probability held#",
        ]),
        rows: rows.collect(),
    }
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
