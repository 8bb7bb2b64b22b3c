//! What lines of calls tell, by themselves and together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::Reader;
use crate::domain::{Condition, Design};

/// One call, as a line tells it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Told {
    #[serde(default)]
    pub(super) run: Option<Value>,
    pub(super) model: String,
    #[serde(alias = "item")]
    pub(super) task: String,
    #[serde(default)]
    pub(super) category: Option<String>,
    pub(super) condition: String,
    #[serde(default)]
    pub(super) strategy: Option<String>,
    #[serde(default)]
    pub(super) temperature: Option<f64>,
    #[serde(alias = "epoch")]
    pub(super) trial: u32,
    #[serde(default, alias = "k")]
    pub(super) attempt: Option<u32>,
    /// A score, or a label.
    #[serde(
        default,
        alias = "a",
        alias = "prior_score",
        alias = "prior_label",
        alias = "prior"
    )]
    pub(super) anchor: Option<Value>,
    #[serde(
        default,
        alias = "raw_text",
        alias = "raw",
        alias = "reply",
        alias = "response"
    )]
    pub(super) text: Option<String>,
    #[serde(default, alias = "parsed_score")]
    pub(super) score: Option<Value>,
    #[serde(default, alias = "parsed_label")]
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) valid: Option<bool>,
    #[serde(default, rename = "clipped")]
    pub(super) _clipped: Option<bool>,
    #[serde(default)]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(default)]
    pub(super) completion_tokens: Option<u64>,
    #[serde(default)]
    pub(super) prompt_hash: Option<String>,
    #[serde(default, alias = "digit_logprobs", alias = "logprobs")]
    pub(super) digits: Option<BTreeMap<String, f64>>,
    #[serde(default)]
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) truth: Option<String>,
    /// `a`: the earlier label was wrong and is shown; `b`: it was right, and another is shown.
    #[serde(default)]
    pub(super) group: Option<String>,
    #[serde(default)]
    pub(super) design: Option<String>,
    #[serde(default)]
    pub(super) scale: Option<[f64; 2]>,
    #[serde(default)]
    pub(super) threshold: Option<f64>,
    #[serde(default)]
    pub(super) labels: Option<Vec<String>>,
    /// What nobody reads.
    #[serde(flatten)]
    pub(super) rest: BTreeMap<String, Value>,
}

/// Scores that can be given unless a line says otherwise, and the lowest that accepts.
pub(super) const SCALE: ([f64; 2], f64) = ([0.0, 5.0], 4.0);

/// More different earlier scores than this are drawn rather than fixed.
pub(super) const MOST_FIXED: usize = 10;

/// Where a call is told of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) line: usize,
}

/// Calls that share how their earlier scores were chosen: model, strategy, run and the design as told.
pub(super) type Group = (String, Arc<str>, Option<String>, Option<String>);

pub(super) fn group(call: &Told) -> Group {
    let run = call.run.as_ref().map(ToString::to_string);
    (call.model.clone(), strategy(call), run, call.design.clone())
}

pub(super) fn is_label(call: &Told) -> bool {
    call.truth.is_some() || call.group.is_some() || call.label.is_some()
}

/// The earlier score of a call, as a number or a text that is one.
pub(super) fn anchor_of(call: &Told) -> Option<f64> {
    let told = call.anchor.as_ref().filter(|_| !is_label(call))?;
    let of_text = || told.as_str()?.trim().parse().ok();
    told.as_f64()
        .or_else(of_text)
        .filter(|anchor| anchor.is_finite())
}

pub(super) fn strategy(call: &Told) -> Arc<str> {
    match call.strategy.as_deref().map(str::trim) {
        None | Some("" | "none" | "baseline") => "none".into(),
        Some("cot" | "CoT" | "steps") => "steps".into(),
        Some(other) => other.into(),
    }
}

/// Words for designs.
pub(super) const DESIGNS: [&str; 3] = ["drawn", "fixed", "scale"];

/// The scale and the threshold of a call; another scale has no threshold of its own.
pub(super) fn scale_of(call: &Told) -> ([f64; 2], f64) {
    let otherwise = if call.scale.is_some() {
        f64::NAN
    } else {
        SCALE.1
    };
    (
        call.scale.unwrap_or(SCALE.0),
        call.threshold.unwrap_or(otherwise),
    )
}

pub(super) fn below(call: &Told) -> Design {
    let (scale, threshold) = scale_of(call);
    Design::Drawn([scale[0], ((threshold - 0.01) * 100.0).round() / 100.0])
}

/// How earlier scores were chosen: as the lines say; else fixed if a few values stand there several times each.
pub(super) fn designs(told: &[(Place<'_>, Told, Condition)]) -> BTreeMap<Group, Design> {
    let mut found: BTreeMap<Group, (BTreeMap<u64, usize>, &Told)> = BTreeMap::new();
    for (_, call, condition) in told.iter().filter(|(_, call, _)| !is_label(call)) {
        let (values, _) = found
            .entry(group(call))
            .or_insert_with(|| (BTreeMap::new(), call));
        let anchor = anchor_of(call);
        if let (Some(anchor), Condition::C2) = (anchor, condition) {
            *values.entry(anchor.to_bits()).or_default() += 1;
        }
    }
    let of = |(values, call): (BTreeMap<u64, usize>, &Told)| {
        let few = (1..=MOST_FIXED).contains(&values.len()) && values.values().all(|n| *n > 1);
        match call.design.as_deref() {
            Some("scale") => Design::Drawn(scale_of(call).0),
            Some("fixed") => fixed(values),
            None if few => fixed(values),
            _ => below(call),
        }
    };
    let found = found.into_iter();
    found.map(|(group, shown)| (group, of(shown))).collect()
}

pub(super) fn fixed(values: BTreeMap<u64, usize>) -> Design {
    let mut values: Vec<f64> = values.into_keys().map(f64::from_bits).collect();
    values.sort_by(f64::total_cmp);
    Design::Fixed(values)
}

/// What the lines of messages say together.
pub(super) struct Messages<'a> {
    /// The labels of each model: those that its lines list, else all that are told as right, shown or given.
    pub(super) labels: BTreeMap<&'a str, Arc<[Arc<str>]>>,
    /// The earlier label of each message, by model.
    pub(super) priors: BTreeMap<(&'a str, &'a str), &'a str>,
}

impl<'a> Messages<'a> {
    pub(super) fn new(told: &'a [(Place<'_>, Told, Condition)], reader: &mut Reader) -> Self {
        let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut listed: BTreeMap<&str, &[String]> = BTreeMap::new();
        let mut priors: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        let mut truths: BTreeMap<&str, &str> = BTreeMap::new();
        let mut groups: BTreeMap<&str, &str> = BTreeMap::new();
        for (at, call, condition) in told.iter().filter(|(_, call, _)| is_label(call)) {
            if let Some(labels) = &call.labels {
                let known: &[String] = listed.entry(&call.model).or_insert(labels);
                if known != labels.as_slice() {
                    let message = format!("another line of {} lists other labels", call.model);
                    reader.fault(*at, message, "list the same labels in the same order");
                }
            }
            if let Some(group) = &call.group {
                let known = *groups.entry(&call.task).or_insert(group);
                if !known.eq_ignore_ascii_case(group) {
                    let message =
                        format!("`{}` belongs to group {known} in another line", call.task);
                    reader.fault(
                        *at,
                        message,
                        "its earlier label was right or wrong, whatever the condition",
                    );
                }
            }
            let shown = call.anchor.as_ref().and_then(Value::as_str);
            let set = found.entry(&call.model).or_default();
            set.extend(call.truth.as_deref());
            set.extend(shown);
            set.extend(call.label.as_deref().filter(|_| call.valid != Some(false)));
            if let (Some(shown), Condition::C2) = (shown, condition) {
                priors.insert((&call.model, &call.task), shown);
            }
            if let Some(truth) = &call.truth {
                let known = *truths.entry(&call.task).or_insert(truth);
                if known != truth {
                    let message = format!(
                        "`{}` has the right label {known} in another line",
                        call.task
                    );
                    reader.fault(*at, message, "give each message one right label");
                }
            }
        }
        let labels = found.into_iter().map(|(model, set)| {
            let labels: Vec<Arc<str>> = match listed.get(model) {
                Some(listed) => listed.iter().map(|label| label.as_str().into()).collect(),
                None => set.into_iter().map(Into::into).collect(),
            };
            (model, labels.into())
        });
        Self {
            labels: labels.collect(),
            priors,
        }
    }
}

/// The verdict that a line tells, as a reply that says it.
pub(super) fn stated(call: &Told) -> Option<String> {
    let stated = match (&call.score, &call.label) {
        (Some(score), _) => serde_json::json!({"score": score}),
        (None, Some(label)) => serde_json::json!({"label": label}),
        (None, None) => return None,
    };
    Some(stated.to_string())
}
