//! Tables of judges for the terminal.

use std::collections::BTreeMap;

use super::words::{effect, estimate, mean, points, reading, share, valid, why_not};
use crate::domain::{Condition, Loss};
use crate::publish::format::{UNSCORED, losses};
use crate::publish::plain_table;
use crate::score::judge::{Contrast, JudgeModel, JudgeScores, Labels, Mitigation, Panel, Probe};

/// Models by task, then strategies, labels and digits, as far as there are any.
#[must_use]
pub fn judge_tables(scores: &JudgeScores) -> String {
    let mut tables = Vec::new();
    let rows: Vec<Vec<String>> = scores
        .panels
        .iter()
        .flat_map(|panel| panel.models.iter().map(move |model| of_model(panel, model)))
        .collect();
    if !rows.is_empty() {
        let header = [
            "model",
            "task",
            "texts",
            "valid",
            "score alone",
            "effect, c2 − c0",
            "framing",
            "incremental",
            "control",
            "acceptance, points",
            "d",
            "slope in c2",
            "reading",
            "not scored",
            "lost",
        ];
        tables.push(plain_table(&header, &rows));
    }
    if !scores.mitigations.is_empty() {
        let header = [
            "model",
            "task",
            "strategy",
            "texts",
            "c0",
            "c2",
            "effect",
            "size against none",
            "effect − none",
            "slope in c2",
            "tokens",
        ];
        let rows: Vec<Vec<String>> = scores.mitigations.iter().map(of_mitigation).collect();
        tables.push(plain_table(&header, &rows));
    }
    if !scores.labels.is_empty() {
        let header = [
            "model",
            "task",
            "valid",
            "corrected, c0, %",
            "corrected, c2, %",
            "blocked, %",
            "right, c0, %",
            "change, points",
            "agreement, points",
            "errors made, %",
            "relief, points",
            "lost",
        ];
        let rows: Vec<Vec<String>> = scores.labels.iter().map(of_labels).collect();
        tables.push(plain_table(&header, &rows));
    }
    if !scores.probes.is_empty() {
        let header = [
            "model",
            "task",
            "texts",
            "likeliest digit, c0",
            "likeliest digit, c2",
            "shift of the digit",
            "probability held",
        ];
        let rows: Vec<Vec<String>> = scores.probes.iter().map(of_probe).collect();
        tables.push(plain_table(&header, &rows));
    }
    tables.join("\n")
}

fn of_model(panel: &Panel, model: &JudgeModel) -> Vec<String> {
    let hidden = why_not(model);
    let shown = |text: String| {
        if hidden.is_some() {
            UNSCORED.to_owned()
        } else {
            text
        }
    };
    let mut lost: BTreeMap<Loss, usize> = BTreeMap::new();
    for (loss, n) in model.losses.values().flatten() {
        *lost.entry(*loss).or_default() += n;
    }
    vec![
        model.model.to_string(),
        panel.task.to_string(),
        model.texts.to_string(),
        valid(model),
        mean(model.levels.get(&Condition::C0).copied()),
        effect(model, Contrast::Total),
        effect(model, Contrast::Framing),
        effect(model, Contrast::Incremental),
        effect(model, Contrast::Control),
        shown(points(model.acceptance.get(&Contrast::Total).copied())),
        shown(mean(model.cohens_d.0)),
        shown(estimate(model.slopes.all)),
        shown(reading(model.response)),
        hidden.clone().unwrap_or_default(),
        losses(lost),
    ]
}

pub(super) fn percent(value: Option<f64>) -> String {
    value.map_or_else(
        || UNSCORED.to_owned(),
        |value| format!("{:+.1} %", 100.0 * value),
    )
}

fn of_mitigation(row: &Mitigation) -> Vec<String> {
    vec![
        row.model.to_string(),
        row.task.to_string(),
        row.strategy.to_string(),
        row.texts.to_string(),
        mean(row.c0),
        mean(row.c2),
        estimate(row.total),
        percent(row.change),
        estimate(row.difference),
        estimate(row.slopes.all),
        match (row.tokens, row.more_tokens) {
            (Some(tokens), Some(more)) => format!("{tokens:.1} ({})", percent(Some(more))),
            (Some(tokens), None) => format!("{tokens:.1}"),
            (None, _) => "?".to_owned(),
        },
    ]
}

fn of_labels(row: &Labels) -> Vec<String> {
    let corrections = row.corrections.as_ref();
    let corrected =
        |condition: Condition| share(corrections.and_then(|one| one.correction.get(&condition)));
    let inductions = row.inductions.as_ref();
    vec![
        row.model.to_string(),
        row.task.to_string(),
        format!("{} of {}", row.valid, row.asked),
        corrected(Condition::C0),
        corrected(Condition::C2),
        points(corrections.and_then(|one| one.blocked)),
        share(inductions.map(|one| &one.accuracy[0])),
        points(inductions.map(|one| one.accuracy_change)),
        points(inductions.map(|one| one.agreement_change)),
        share(inductions.and_then(|one| one.induced.as_ref())),
        points(inductions.and_then(|one| one.relief)),
        losses(row.losses.iter().map(|(loss, n)| (*loss, *n))),
    ]
}

/// "4 (0.93)": the digit with the largest mean probability.
pub(super) fn likeliest(probe: &Probe, condition: Condition) -> String {
    let digits = probe.digits.get(&condition);
    let known = digits.into_iter().flatten().enumerate();
    let best = known
        .filter_map(|(digit, p)| Some((digit, (*p)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    best.map_or_else(
        || UNSCORED.to_owned(),
        |(digit, p)| format!("{digit} ({p:.3})"),
    )
}

fn of_probe(probe: &Probe) -> Vec<String> {
    vec![
        probe.model.to_string(),
        probe.task.to_string(),
        probe.texts.to_string(),
        likeliest(probe, Condition::C0),
        likeliest(probe, Condition::C2),
        estimate(probe.shift),
        held(probe),
    ]
}

/// The share of probability that the digits hold.
pub(super) fn held(probe: &Probe) -> String {
    probe
        .held
        .map_or_else(|| UNSCORED.to_owned(), |held| format!("{held:.3}"))
}
