//! Scores of cases as JSON. Names and meanings stay; more fields may come.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::domain::Relevance;
use crate::score::uai::{
    CaseCell, CaseContrast, CaseScores, Difference, Distribution, Family, Measured, Pathway,
    Shares, Shift, Summary, Tested,
};

/// `{"cells": […], "pathways": […]}`. What cannot be scored is null.
#[must_use]
pub fn case_scores_json(scores: &CaseScores) -> Value {
    let cells = scores.cells.iter().map(|cell| cell_json(cell, scores));
    json!({
        "cells": cells.collect::<Vec<_>>(),
        "pathways": scores.pathways.iter().map(pathway_json).collect::<Vec<_>>(),
    })
}

/// Paired differences, the second minus the first.
#[must_use]
pub fn case_contrasts_json(first: &str, second: &str, rows: &[(String, CaseContrast)]) -> Value {
    let with_p = |value: &Difference| {
        let mut json = measured(Some(value.mean));
        json["p"] = json!(value.p);
        json["p_bh"] = json!(value.adjusted);
        json
    };
    let contrasts = rows.iter().map(|(about, contrast)| {
        let mut out = Map::new();
        out.insert("about".to_owned(), json!(about));
        for (relevance, value) in &contrast.uai {
            out.insert(format!("uai_{relevance}"), with_p(value));
        }
        for (relevance, value) in &contrast.pull {
            out.insert(format!("pull_{relevance}"), with_p(value));
        }
        let error = contrast.error.as_ref().map_or(Value::Null, with_p);
        out.insert("error".to_owned(), error);
        Value::Object(out)
    });
    json!({"first": first, "second": second, "contrasts": contrasts.collect::<Vec<_>>()})
}

/// A value with its interval and what it is the mean of.
fn measured(value: Option<Measured>) -> Value {
    value.map_or(Value::Null, |measured| {
        json!({
            "value": measured.value,
            "low": measured.interval.map(|interval| interval.low),
            "high": measured.interval.map(|interval| interval.high),
            "n": measured.n,
        })
    })
}

fn cell_json(cell: &CaseCell, scores: &CaseScores) -> Value {
    // Numbers of a cell that cannot be used are not given.
    let usable = cell.why.is_none();
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    put("model", json!(cell.model));
    put("task", json!(cell.task));
    put("n", json!(cell.all.cases));
    put("baseline", json!(cell.baseline));
    put("epsilon", json!(cell.method.epsilon));
    put("intervals", json!(cell.method.intervals.to_string()));
    put("samples", json!(cell.samples));
    put("parsed", json!(cell.parsed));
    put("parse_rate", measured(cell.parse_rate()));
    let by_condition: Map<String, Value> = cell
        .by_condition
        .iter()
        .map(|(condition, (parsed, all))| {
            (condition.to_string(), json!({"parsed": parsed, "all": all}))
        })
        .collect();
    put("parse_by_condition", json!(by_condition));
    let losses: Map<String, Value> = cell
        .losses
        .iter()
        .map(|(loss, n)| (loss.to_string(), json!(n)))
        .collect();
    put("losses", json!(losses));
    put("why", json!(cell.why));
    for (name, value) in summary(&cell.all, usable) {
        put(&name, value);
    }
    let nested = |of: &Summary| json!(summary(of, usable));
    let by = |entries: Vec<(String, &Summary)>| -> Value {
        let entries = entries.into_iter();
        entries
            .map(|(key, of)| (key, nested(of)))
            .collect::<Map<_, _>>()
            .into()
    };
    put(
        "by_offset",
        by(cell
            .by_offset
            .iter()
            .map(|(k, v)| (k.to_string(), v))
            .collect()),
    );
    put(
        "by_difficulty",
        by(cell
            .by_difficulty
            .iter()
            .map(|(k, v)| (k.to_string(), v))
            .collect()),
    );
    put(
        "by_epsilon",
        cell.by_epsilon
            .iter()
            .map(|(epsilon, of)| (epsilon.to_string(), json!(of_epsilon(of, usable))))
            .collect::<Map<_, _>>()
            .into(),
    );
    put("matched", cell.matched.as_ref().map_or(Value::Null, nested));
    put("correction", measured(cell.correction.filter(|_| usable)));
    put("reduction", measured(cell.reduction.filter(|_| usable)));
    for (name, value) in views(cell, usable) {
        put(&name, value);
    }
    put("epochs", json!(cell.epochs));
    put("with_calls", json!(cell.with_calls.1));
    put("other_wording", json!(cell.other_wording));
    let rank = scores
        .ranks
        .get(&cell.task)
        .and_then(|ranks| ranks.get(&cell.model));
    put(
        "rank",
        rank.map_or(
            Value::Null,
            |rank| json!({"rank": rank.rank, "best": rank.best, "worst": rank.worst}),
        ),
    );
    Value::Object(out)
}

/// Distribution, errors, effects, tests and noise.
fn views(cell: &CaseCell, usable: bool) -> Map<String, Value> {
    let mut out = Map::new();
    let mut put = |name: &str, value: Value| drop(out.insert(name.to_owned(), value));
    put("distribution", by_relevance(&cell.spread, usable, spread));
    put("shift", by_relevance(&cell.shifts, usable, shift));
    put("p_zero", by_relevance(&cell.p_zero, usable, tested));
    put(
        "p_disc",
        cell.p_disc
            .filter(|_| usable)
            .as_ref()
            .map_or(Value::Null, tested),
    );
    let effects: Map<String, Value> = cell
        .effects
        .iter()
        .filter(|_| usable)
        .map(|(condition, effect)| {
            let effect = json!({"d_av": effect.d_av, "d_z": effect.d_z, "n": effect.n});
            (condition.to_string(), effect)
        })
        .collect();
    put("effects", json!(effects));
    for relevance in cell.all.families.keys() {
        let d = cell.effect_of(*relevance).filter(|_| usable);
        put(&format!("d_{relevance}"), json!(d.map(|(d, _)| d)));
    }
    let high_low = cell.high_low.filter(|_| usable);
    put("d_high_low", json!(high_low.map(|effect| effect.d_av)));
    put(
        "noise",
        cell.noise.filter(|_| usable).map_or(Value::Null, |noise| {
            json!({
                "prompts": noise.prompts, "sd": noise.sd, "differing": noise.differing,
                "sd_pull": noise.sd_pull,
            })
        }),
    );
    out
}

fn by_relevance<T>(of: &BTreeMap<Relevance, T>, usable: bool, json: impl Fn(&T) -> Value) -> Value {
    let entries = of.iter().filter(|_| usable);
    let entries = entries.map(|(relevance, value)| (relevance.to_string(), json(value)));
    entries.collect::<Map<_, _>>().into()
}

fn summary(of: &Summary, usable: bool) -> Map<String, Value> {
    let mut out = Map::new();
    let mut put = |name: String, value: Value| drop(out.insert(name, value));
    let value = |value: Option<Measured>| measured(value.filter(|_| usable));
    put("n".to_owned(), json!(of.cases));
    put("mae".to_owned(), value(of.mae));
    put("acc10".to_owned(), value(of.acc10));
    for (relevance, family) in families(of) {
        for (name, what) in family_parts(&family) {
            let name = match name.split_once('@') {
                Some((name, side)) => format!("{name}_{relevance}_{side}"),
                None => format!("{name}_{relevance}"),
            };
            put(name, value(what));
        }
    }
    put("disc".to_owned(), value(of.disc));
    put("disc_paired".to_owned(), value(of.disc_paired));
    put("excluded".to_owned(), excluded(of));
    let rational = of.rational.filter(|_| usable);
    put(
        "ceiling".to_owned(),
        json!(rational.map(|rational| rational.ceiling)),
    );
    put(
        "excess".to_owned(),
        measured(rational.map(|rational| rational.excess)),
    );
    put(
        "implied_weight".to_owned(),
        json!(rational.and_then(|rational| rational.implied_weight)),
    );
    put(
        "above_ceiling".to_owned(),
        json!(rational.map(|rational| rational.above)),
    );
    out
}

/// What depends on epsilon, and the accuracy beside it.
fn of_epsilon(of: &Summary, usable: bool) -> Map<String, Value> {
    let value = |value: Option<Measured>| measured(value.filter(|_| usable));
    let mut out = Map::new();
    out.insert("n".to_owned(), json!(of.cases));
    out.insert("mae".to_owned(), value(of.mae));
    out.insert("acc10".to_owned(), value(of.acc10));
    for (relevance, family) in families(of) {
        out.insert(format!("uai_{relevance}"), value(family.uai));
        out.insert(format!("pull_{relevance}"), value(family.pull));
    }
    out.insert("disc".to_owned(), value(of.disc));
    out.insert("disc_paired".to_owned(), value(of.disc_paired));
    out.insert("excluded".to_owned(), excluded(of));
    out
}

/// The families of a summary; the two that all readers look for are there though nothing was asked of them.
fn families(of: &Summary) -> BTreeMap<Relevance, Family> {
    let mut families = of.families.clone();
    families.entry(Relevance::Irrelevant).or_default();
    families.entry(Relevance::Plausible).or_default();
    families
}

/// Irrelevant and plausible directions and pairs that have no index, and of how many.
fn excluded(of: &Summary) -> Value {
    let (eligible, dropped) = of.excluded();
    let (pairs, close) = of.pairs();
    #[expect(clippy::cast_precision_loss, reason = "numbers of directions")]
    let share = (eligible > 0).then(|| dropped as f64 / eligible as f64);
    json!({
        "dropped": dropped, "eligible": eligible, "share": share,
        "without_anchor": of.without_anchor(), "close": close, "pairs": pairs,
    })
}

/// The numbers of a family; what stands behind the `@` is a side.
fn family_parts(family: &Family) -> [(&'static str, Option<Measured>); 9] {
    [
        ("uai", family.uai),
        ("uai@low", family.uai_low),
        ("uai@high", family.uai_high),
        ("capped", family.capped),
        ("tar", family.tar),
        ("tar@low", family.tar_low),
        ("tar@high", family.tar_high),
        ("pull", family.pull),
        ("dmae", family.dmae),
    ]
}

fn spread(of: &Distribution) -> Value {
    let [q5, q25, median, q75, q95] = of.quantiles;
    json!({
        "n": of.n, "within": of.within, "beyond": of.beyond, "away": of.away, "mean": of.mean,
        "capped": of.capped, "q5": q5, "q25": q25, "median": median, "q75": q75, "q95": q95,
    })
}

fn shift(of: &Shift) -> Value {
    let shares = |shares: Shares| {
        json!({
            "n": shares.n(), "harmful": shares.harmful, "helpful": shares.helpful,
            "neutral": shares.neutral,
        })
    };
    json!({
        "all": shares(of.all), "closer": shares(of.closer), "farther": shares(of.farther),
        "equidistant": shares(of.equidistant),
    })
}

fn tested(of: &Tested) -> Value {
    json!({"p": of.p, "adjusted": of.adjusted})
}

fn pathway_json(of: &Pathway) -> Value {
    let mut out = Map::new();
    out.insert("task".to_owned(), json!(of.task));
    for (relevance, value) in &of.uai {
        out.insert(format!("uai_{relevance}"), measured(Some(*value)));
    }
    out.insert("disc".to_owned(), measured(of.disc));
    out.insert("positive".to_owned(), json!(of.positive));
    out.insert("p_adjusted".to_owned(), json!(of.p_adjusted));
    let dose: Map<String, Value> = of
        .dose
        .iter()
        .map(|(offset, value)| (offset.to_string(), measured(Some(*value))))
        .collect();
    out.insert("dose".to_owned(), json!(dose));
    let boundary: Map<String, Value> = of
        .boundary
        .iter()
        .map(|(offset, (all, inside))| {
            let both = json!({"all": measured(Some(*all)), "inside": measured(*inside)});
            (offset.to_string(), both)
        })
        .collect();
    out.insert("boundary".to_owned(), json!(boundary));
    out.insert(
        "distribution".to_owned(),
        by_relevance(&of.spread, true, spread),
    );
    Value::Object(out)
}
