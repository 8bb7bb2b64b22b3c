//! Scores as JSON. Names and meanings stay; more fields may come.

use serde_json::{Map, Value, json};

use crate::score::{CellScore, Interval, ModelScore, TierScore};

/// `{"cells": […], "models": […]}`. What cannot be scored is null.
#[must_use]
pub fn scores_json(cells: &[&CellScore], models: &[&ModelScore]) -> Value {
    json!({
        "cells": cells.iter().map(|cell| cell_json(cell)).collect::<Vec<_>>(),
        "models": models.iter().map(|model| model_json(model)).collect::<Vec<_>>(),
    })
}

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
        "sensitivity": score.sensitivity,
        "sensitivity_low": low(score.sensitivity_interval),
        "sensitivity_high": high(score.sensitivity_interval),
        "backlash": score.index.map(|_| score.backlash),
        "moved": score.index.map(|_| score.moved),
        "resistance": score.index.map(|index| 1.0 - index.abs()),
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

fn cell_json(cell: &CellScore) -> Value {
    let mut fields = Map::new();
    fields.insert("model".into(), json!(cell.model));
    fields.insert("task".into(), json!(cell.task));
    fields.extend(tier_json(&cell.all));
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
                "estimate_low": item.low,
                "estimate_high": item.high,
                "index": item.index,
            })
        })
        .collect();
    for (name, value) in [
        ("why", json!(cell.why)),
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
