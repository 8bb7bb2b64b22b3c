//! Scores of judges as JSON. What cannot be computed is null.

use serde_json::{Map, Value, json};
use strum::IntoEnumIterator;

use crate::domain::{Loss, Standard};
use crate::score::judge::{
    Contrast, Corrections, Drawn, Estimate, Inductions, JudgeModel, JudgeScores, Labels, Measure,
    Mitigation, Panel, Probe, Share,
};

/// `{"models": […], "categories": […], "slopes": […], "mitigation": […], "categorical": […], …}`.
#[must_use]
pub fn judge_scores_json(scores: &JudgeScores) -> Value {
    let panels = || scores.panels.iter();
    let each = |of: &dyn Fn(&Panel) -> Vec<Value>| panels().flat_map(of).collect::<Vec<Value>>();
    json!({
        "models": each(&|panel| panel.models.iter().map(|model| model_json(panel, model)).collect()),
        "categories": each(&categories),
        "slopes": each(&|panel| panel.models.iter().flat_map(|model| slopes(panel, model)).collect()),
        "mitigation": scores.mitigations.iter().map(mitigation).collect::<Vec<_>>(),
        "categorical": scores.labels.iter().map(labels).collect::<Vec<_>>(),
        "joint": each(&joint),
        "temperatures": each(&temperatures),
        "ceiling": each(&ceiling),
        "probes": scores.probes.iter().map(probe).collect::<Vec<_>>(),
        "cells": each(&|panel| panel.models.iter().flat_map(|model| cells(panel, model)).collect()),
    })
}

fn put(out: &mut Map<String, Value>, name: &str, value: Value) {
    out.insert(name.to_owned(), value);
}

/// `name`, `name_low` and `name_high`.
fn with_ends(out: &mut Map<String, Value>, name: &str, estimate: Option<Estimate>, factor: f64) {
    let interval = estimate.and_then(|one| one.interval);
    put(out, name, json!(estimate.map(|one| one.value * factor)));
    put(
        out,
        &format!("{name}_low"),
        json!(interval.map(|ends| ends.low * factor)),
    );
    put(
        out,
        &format!("{name}_high"),
        json!(interval.map(|ends| ends.high * factor)),
    );
}

fn lost<'a>(losses: impl IntoIterator<Item = (&'a Loss, &'a usize)>) -> Value {
    let losses = losses.into_iter();
    Value::Object(
        losses
            .map(|(loss, n)| (loss.to_string(), json!(n)))
            .collect(),
    )
}

fn name_of(contrast: Contrast) -> String {
    format!("delta_{contrast}")
}

fn of_panel(panel: &Panel) -> Map<String, Value> {
    let mut out = Map::new();
    put(&mut out, "task", json!(panel.task));
    put(&mut out, "strategy", json!(panel.strategy));
    put(&mut out, "design", json!(panel.design));
    out
}

fn model_json(panel: &Panel, model: &JudgeModel) -> Value {
    let mut out = of_panel(panel);
    put(&mut out, "model", json!(model.model));
    if let Standard::Score { scale, threshold } = &panel.standard {
        put(&mut out, "scale", json!([scale.from, scale.to]));
        put(&mut out, "threshold", json!(threshold));
    }
    put(&mut out, "texts", json!(model.texts));
    let (n, valid) = model
        .counts
        .values()
        .fold((0, 0), |(a, b), (n, valid)| (a + n, b + valid));
    put(&mut out, "n", json!(n));
    put(&mut out, "valid", json!(valid));
    put(&mut out, "covered", json!(model.is_covered()));
    let total = model.effects.get(&Contrast::Total).copied();
    put(
        &mut out,
        "low",
        json!(total.and_then(|one| one.interval).map(|ends| ends.low)),
    );
    put(
        &mut out,
        "high",
        json!(total.and_then(|one| one.interval).map(|ends| ends.high)),
    );
    for contrast in Contrast::iter() {
        with_ends(
            &mut out,
            &name_of(contrast),
            model.effects.get(&contrast).copied(),
            1.0,
        );
        let acceptance = model.acceptance.get(&contrast).copied();
        let name = match contrast {
            Contrast::Total => "acceptance_pp".to_owned(),
            other => format!("acceptance_pp_{other}"),
        };
        with_ends(&mut out, &name, acceptance, 100.0);
    }
    put(&mut out, "below_zero", json!(model.is_below_zero()));
    put(&mut out, "cohens_d", json!(model.cohens_d.0));
    put(&mut out, "triplets", json!(model.cohens_d.1));
    put(
        &mut out,
        "response",
        json!(model.response.map(|response| response.to_string())),
    );
    with_ends(&mut out, "slope", model.slopes.all, 1.0);
    with_ends(&mut out, "pull", model.slopes.pull, 1.0);
    let by_condition = |values: &std::collections::BTreeMap<crate::domain::Condition, f64>| {
        let values = values.iter();
        Value::Object(
            values
                .map(|(condition, value)| (condition.to_string(), json!(value)))
                .collect(),
        )
    };
    put(&mut out, "scores", by_condition(&model.levels));
    put(&mut out, "accepted", by_condition(&model.accepted));
    put(&mut out, "spread_of_texts", json!(model.spread));
    let counts = model.counts.iter().map(|(condition, (n, valid))| {
        let losses = model.losses.get(condition).into_iter().flatten();
        (
            condition.to_string(),
            json!({"n": n, "valid": valid, "lost": lost(losses)}),
        )
    });
    put(&mut out, "conditions", Value::Object(counts.collect()));
    put(&mut out, "clipped", json!(model.clipped));
    put(&mut out, "accept_said", json!(model.emitted.said));
    put(&mut out, "accept_differs", json!(model.emitted.differs));
    put(&mut out, "texts_without_effect", json!(model.gaps.texts));
    let left_out = model.gaps.temperatures.iter();
    let left_out: Vec<Value> = left_out
        .map(|(item, temperature)| json!({"item": item, "temperature": temperature.0}))
        .collect();
    put(&mut out, "temperatures_left_out", json!(left_out));
    let temperatures = model.temperatures.iter();
    put(
        &mut out,
        "temperatures",
        json!(temperatures.map(|one| one.0).collect::<Vec<_>>()),
    );
    put(&mut out, "dropped", json!(model.dropped));
    put(&mut out, "other_wording", json!(model.other_wording));
    put(&mut out, "by_text", json!(model.by_text));
    Value::Object(out)
}

fn categories(panel: &Panel) -> Vec<Value> {
    let rows = panel.by_category.iter();
    rows.map(|row| {
        let mut out = of_panel(panel);
        put(&mut out, "category", json!(row.category));
        put(&mut out, "model", json!(row.model));
        put(&mut out, "texts", json!(row.texts));
        with_ends(&mut out, "delta_total", row.total, 1.0);
        with_ends(&mut out, "acceptance_pp", row.acceptance, 100.0);
        Value::Object(out)
    })
    .collect()
}

/// All texts together first, then each.
fn slopes(panel: &Panel, model: &JudgeModel) -> Vec<Value> {
    let row = |item: Option<&str>, estimate: Option<Estimate>, n: usize| {
        let mut out = of_panel(panel);
        put(&mut out, "model", json!(model.model));
        put(&mut out, "item", json!(item));
        put(&mut out, "n", json!(n));
        with_ends(&mut out, "slope", estimate, 1.0);
        Value::Object(out)
    };
    let mut rows = vec![row(None, model.slopes.all, model.slopes.n)];
    rows.extend(model.slopes.by_text.iter().map(|(item, line)| {
        let estimate = Estimate {
            value: line.slope,
            interval: line.interval,
        };
        row(Some(item.as_str()), Some(estimate), line.n)
    }));
    rows
}

fn mitigation(row: &Mitigation) -> Value {
    let mut out = Map::new();
    put(&mut out, "model", json!(row.model));
    put(&mut out, "task", json!(row.task));
    put(&mut out, "strategy", json!(row.strategy));
    put(&mut out, "design", json!(row.design));
    put(&mut out, "texts", json!(row.texts));
    put(&mut out, "n", json!(row.valid));
    put(&mut out, "c0", json!(row.c0));
    put(&mut out, "c2", json!(row.c2));
    with_ends(&mut out, "delta_total", row.total, 1.0);
    let drawn = match row.drawn {
        Drawn::Texts => "texts",
        Drawn::Calls => "calls",
    };
    put(&mut out, "interval_over", json!(drawn));
    put(
        &mut out,
        "magnitude_change_percent",
        json!(row.change.map(|change| 100.0 * change)),
    );
    with_ends(&mut out, "difference", row.difference, 1.0);
    with_ends(&mut out, "slope", row.slopes.all, 1.0);
    put(&mut out, "tokens", json!(row.tokens));
    put(
        &mut out,
        "tokens_change_percent",
        json!(row.more_tokens.map(|more| 100.0 * more)),
    );
    Value::Object(out)
}

fn with_counts(out: &mut Map<String, Value>, name: &str, share: Option<&Share>) {
    with_ends(out, name, share.map(|share| share.estimate), 100.0);
    put(out, &format!("{name}_k"), json!(share.map(|share| share.k)));
    put(out, &format!("{name}_n"), json!(share.map(|share| share.n)));
}

/// Shares in percent, differences in points.
fn labels(row: &Labels) -> Value {
    json!({
        "model": row.model,
        "task": row.task,
        "strategy": row.strategy,
        "n": row.asked,
        "valid": row.valid,
        "lost": lost(&row.losses),
        "earlier_errors": row.corrections.as_ref().map(corrections),
        "earlier_right": row.inductions.as_ref().map(inductions),
    })
}

fn corrections(group: &Corrections) -> Value {
    let mut out = Map::new();
    put(&mut out, "items", json!(group.items));
    for (condition, share) in &group.correction {
        with_counts(&mut out, &format!("correction_{condition}"), Some(share));
    }
    for (condition, share) in &group.persistence {
        with_counts(&mut out, &format!("persistence_{condition}"), Some(share));
    }
    with_ends(&mut out, "blocked_corrections", group.blocked, 100.0);
    Value::Object(out)
}

fn inductions(group: &Inductions) -> Value {
    let mut out = Map::new();
    put(&mut out, "items", json!(group.items));
    put(&mut out, "asked", json!(group.asked));
    put(&mut out, "pairs", json!(group.pairs));
    for (place, condition) in ["c0", "c2"].into_iter().enumerate() {
        with_counts(
            &mut out,
            &format!("accuracy_{condition}"),
            Some(&group.accuracy[place]),
        );
        with_counts(
            &mut out,
            &format!("agreement_{condition}"),
            Some(&group.agreement[place]),
        );
    }
    with_ends(
        &mut out,
        "delta_accuracy",
        Some(group.accuracy_change),
        100.0,
    );
    with_ends(
        &mut out,
        "delta_agreement",
        Some(group.agreement_change),
        100.0,
    );
    with_counts(&mut out, "induced_errors", group.induced.as_ref());
    put(&mut out, "dropped_resamples", json!(group.dropped));
    with_ends(&mut out, "mitigation_accuracy", group.relief, 100.0);
    with_ends(
        &mut out,
        "mitigation_agreement",
        group.agreement_relief,
        100.0,
    );
    Value::Object(out)
}

fn joint(panel: &Panel) -> Vec<Value> {
    let terms = panel.joint.iter().flatten();
    let rows: Vec<Value> = terms
        .map(|term| {
            let mut out = of_panel(panel);
            put(&mut out, "term", json!(term.name));
            with_ends(&mut out, "coefficient", Some(term.estimate), 1.0);
            Value::Object(out)
        })
        .collect();
    rows
}

/// Mean effects of all judges together; no terms of the joint model.
fn temperatures(panel: &Panel) -> Vec<Value> {
    let rows = panel.by_temperature.iter();
    rows.map(|(temperature, mean)| {
        let mut out = of_panel(panel);
        put(&mut out, "temperature", json!(temperature.0));
        put(&mut out, "delta_total", json!(mean));
        Value::Object(out)
    })
    .collect()
}

fn ceiling(panel: &Panel) -> Vec<Value> {
    let rows = panel.ceiling.iter();
    rows.map(|ceiling| {
        let mut out = of_panel(panel);
        put(&mut out, "range", json!(ceiling.range));
        put(&mut out, "units", json!(ceiling.units));
        put(&mut out, "texts", json!(ceiling.texts));
        put(&mut out, "negative", json!(ceiling.negative));
        with_ends(&mut out, "delta_total", ceiling.mean, 1.0);
        let names = ["signed", "signed_adjusted", "absolute", "absolute_adjusted"];
        for (name, estimate) in names.into_iter().zip(ceiling.distance) {
            with_ends(&mut out, &format!("distance_{name}"), estimate, 1.0);
        }
        Value::Object(out)
    })
    .collect()
}

fn probe(probe: &Probe) -> Value {
    let digits = probe
        .digits
        .iter()
        .map(|(condition, digits)| (condition.to_string(), json!(digits)));
    let slopes: Vec<Value> = probe
        .slopes
        .iter()
        .enumerate()
        .map(|(digit, slope)| {
            let mut out = Map::new();
            put(&mut out, "digit", json!(digit));
            with_ends(&mut out, "slope", *slope, 1.0);
            Value::Object(out)
        })
        .collect();
    let mut out = Map::new();
    put(&mut out, "model", json!(probe.model));
    put(&mut out, "task", json!(probe.task));
    put(&mut out, "texts", json!(probe.texts));
    let prompts = probe
        .prompts
        .iter()
        .map(|(condition, n)| (condition.to_string(), json!(n)));
    put(&mut out, "prompts", Value::Object(prompts.collect()));
    put(&mut out, "probabilities", Value::Object(digits.collect()));
    put(&mut out, "slopes", json!(slopes));
    with_ends(&mut out, "shift", probe.shift, 1.0);
    put(&mut out, "held", json!(probe.held));
    Value::Object(out)
}

fn cells(panel: &Panel, model: &JudgeModel) -> Vec<Value> {
    let cells = model.cells.tallies.iter();
    cells
        .map(|((item, temperature, condition), tally)| {
            json!({
                "task": panel.task,
                "model": model.model,
                "item": item,
                "temperature": temperature.0,
                "condition": condition,
                "n": tally.n,
                "valid": tally.valid,
                "mean": tally.mean(Measure::Score),
                "acceptance": tally.mean(Measure::Acceptance),
            })
        })
        .collect()
}
