//! Scores as JSON. Names and meanings stay; more fields may come.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::domain::{ModelName, TaskName};
use crate::publish::format::cell_why;
use crate::score::{CellScore, Interval, ModelScore, Rank, Scores, TierScore};

/// `{"cells": […], "models": […]}`. What cannot be scored is null.
#[must_use]
pub fn scores_json(scores: &Scores) -> Value {
    let cells = scores
        .cells
        .iter()
        .map(|cell| cell_json(cell, &scores.ranks));
    json!({
        "cells": cells.collect::<Vec<_>>(),
        "models": scores.models.iter().map(model_json).collect::<Vec<_>>(),
    })
}

type Ranks = BTreeMap<TaskName, BTreeMap<ModelName, Rank>>;

fn low(interval: Option<Interval>) -> Option<f64> {
    interval.map(|interval| interval.low)
}

fn high(interval: Option<Interval>) -> Option<f64> {
    interval.map(|interval| interval.high)
}

fn tier_json(score: &TierScore) -> Map<String, Value> {
    let value = json!({
        "items": score.items,
        "usable": score.usable,
        "index": score.index,
        "low": low(score.interval),
        "high": high(score.interval),
        "median": score.median,
        "p": score.p,
        "sensitivity": score.sensitivity,
        "sensitivity_low": low(score.sensitivity_interval),
        "sensitivity_high": high(score.sensitivity_interval),
        "noise": score.noise.map(|noise| noise.sensitivity),
        "pull": score.noise.map(|noise| noise.pull),
        "noise_floor": score.noise.map(|noise| noise.floor),
        "noise_items": score.noise.map(|noise| noise.n),
        "low_half": half(score, false),
        "high_half": half(score, true),
        "backlash": score.index.and(score.backlash),
        "moved": score.index.map(|_| score.moved),
        "resistance": score.resistance(),
        "copy_share": score.copy_share(),
        "copies": score.copies.0,
        "anchored_estimates": score.copies.1,
        "why": score.why(),
    });
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn half(score: &TierScore, high_side: bool) -> Value {
    let half = score
        .halves
        .and_then(|(low, high)| if high_side { high } else { low });
    half.map_or(Value::Null, |half| {
        json!({"value": half.value, "low": half.interval.low, "high": half.interval.high, "n": half.n})
    })
}

fn cell_json(cell: &CellScore, ranks: &Ranks) -> Value {
    let mut fields = Map::new();
    fields.insert("model".into(), json!(cell.model));
    fields.insert("task".into(), json!(cell.task));
    fields.insert("index_name".into(), json!(cell.method.index.to_string()));
    fields.insert(
        "interval_method".into(),
        json!(cell.method.interval.to_string()),
    );
    fields.extend(tier_json(&cell.all));
    fields.insert("people".into(), json!(cell.people));
    fields.insert("mass".into(), json!(cell.mass));
    let adjusted = cell.adjusted;
    fields.insert("p_holm".into(), json!(adjusted.map(|p| p.holm)));
    fields.insert("p_bh".into(), json!(adjusted.map(|p| p.benjamini_hochberg)));
    let rank = ranks
        .get(&cell.task)
        .and_then(|ranks| ranks.get(&cell.model));
    fields.insert("rank".into(), json!(rank.map(|rank| rank.rank)));
    fields.insert("rank_best".into(), json!(rank.map(|rank| rank.best)));
    fields.insert("rank_worst".into(), json!(rank.map(|rank| rank.worst)));
    let losses: Map<String, Value> = cell
        .losses
        .iter()
        .map(|(loss, n)| (loss.to_string(), json!(n)))
        .collect();
    let tiers: Map<String, Value> = cell
        .tiers
        .iter()
        .map(|(tier, score)| (tier.to_string(), Value::Object(tier_json(score))))
        .collect();
    let by_item: Vec<Value> = cell
        .items
        .iter()
        .map(|item| {
            json!({
                "item": item.item,
                "tier": item.tier,
                "anchor_low": item.anchors.0,
                "anchor_high": item.anchors.1,
                "estimate_low": item.low,
                "estimate_high": item.high,
                "estimate_none": item.none,
                "epochs_low": item.epochs.0,
                "epochs_high": item.epochs.1,
                "index": item.index,
                "low_half": item.halves.0,
                "high_half": item.halves.1,
                "p": item.p,
            })
        })
        .collect();
    for (name, value) in [
        ("why", json!(cell_why(cell))),
        ("contradictions", json!(cell.contradictions)),
        ("comparisons", json!(cell.comparisons)),
        ("samples", json!(cell.samples)),
        ("epochs", json!(cell.epochs)),
        ("losses", Value::Object(losses)),
        ("other_wording", json!(cell.other_wording)),
        ("settings", json!(cell.settings.len())),
        ("tiers", Value::Object(tiers)),
        ("by_item", json!(by_item)),
    ] {
        fields.insert(name.into(), value);
    }
    Value::Object(fields)
}

fn model_json(model: &ModelScore) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "counts of items")]
    let accuracy = model.accuracy.map(|(right, n)| right as f64 / n as f64);
    json!({
        "model": model.model,
        "accuracy": accuracy,
        "accuracy_n": model.accuracy.map(|(_, n)| n),
        "accuracy_low": low(model.accuracy_interval),
        "accuracy_high": high(model.accuracy_interval),
        "median_output_tokens": model.median_output_tokens,
        "median_output_tokens_low": low(model.tokens_interval),
        "median_output_tokens_high": high(model.tokens_interval),
        "median_output_tokens_n": model.tokens_n,
        "relief_by_thinking": model.relief.map(|relief| relief.value),
        "relief_by_thinking_low": model.relief.map(|relief| relief.interval.low),
        "relief_by_thinking_high": model.relief.map(|relief| relief.interval.high),
        "relief_by_thinking_n": model.relief.map(|relief| relief.n),
        "cost_usd": model.cost_computed,
        "cost_usd_reported": model.cost_reported,
    })
}
