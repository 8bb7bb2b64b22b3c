//! The tables of a board of judges.

use super::terminal::{held, likeliest, percent};
use super::words::{effect, estimate, four, mean, points, reading, share, valid, why_not};
use crate::domain::Condition;
use crate::publish::document::{Block, columns, heading, row, text};
use crate::publish::format::{UNKNOWN, UNSCORED, losses, two, with_interval};
use crate::score::judge::{Contrast, Drawn, JudgeModel, Labels, Measure, Mitigation, Panel, Probe};

pub(super) fn effects(
    models: &[&JudgeModel],
    link: &dyn Fn(&JudgeModel) -> Option<String>,
) -> Block {
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

pub(super) fn responses(models: &[&JudgeModel]) -> Block {
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

pub(super) fn calls(models: &[&JudgeModel]) -> Block {
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

pub(super) fn ceiling(panel: &Panel) -> Vec<Block> {
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

pub(super) fn by_text(model: &JudgeModel) -> Block {
    let rows = model.by_text.iter().map(|(item, effect)| {
        let level = |condition| mean(model.cells.level(item, condition, Measure::Score));
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
                |line| with_interval(line.slope, line.interval),
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

pub(super) fn strategies(rows: &[&Mitigation]) -> Block {
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

pub(super) fn of_labels(labels: &[&Labels]) -> Vec<Block> {
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

pub(super) fn digits(probes: &[&Probe]) -> Block {
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
                |(digit, slope)| format!("{digit}: {}", four(slope)),
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
