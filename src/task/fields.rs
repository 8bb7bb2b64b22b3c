//! The fields of a task file that are checked by themselves: cases, sentences, values for templates, conditions.

use std::collections::BTreeMap;

use strum::{IntoEnumIterator, VariantNames};

use crate::bank::cases::{ExtraKind, RATINGS, Spec, half_even};
use crate::domain::{Condition, Relevance, Side, Suite};
use crate::yaml::{Fields, Node, Value};

pub(super) fn read_cases(root: &mut Fields<'_, '_>, suite: Suite) -> Option<Spec> {
    let at = root.at();
    let cases = root.nested("cases", |fields| {
        let prefix = fields.required("prefix");
        let seed = fields.count("seed").unwrap_or(42);
        let offsets = numbers(fields, "offsets", 1.0..=100.0);
        let slots = numbers(fields, "slots", 1.0..=5.0);
        let weights = numbers(fields, "weights", 0.0..=1000.0);
        if !weights.is_empty() && weights.len() != RATINGS {
            let at = fields.at();
            fields.fault(
                "weights",
                at,
                "must be five, one for each rating",
                "such as [1, 1, 1.5, 1.5, 2]",
            );
        }
        Some(Spec {
            prefix: prefix?.text,
            seed,
            offsets: offsets.into_iter().map(half_even).collect(),
            domains: fields.required("domains")?.text,
            extra: fields
                .choice("extra", ExtraKind::VARIANTS)
                .unwrap_or_default(),
            slots: slots
                .into_iter()
                .map(|slot| usize::from(half_even(slot)) - 1)
                .collect(),
            weights,
        })
    });
    if suite == Suite::Anchorbench && cases.is_none() {
        root.fault(
            "cases",
            at,
            "is missing",
            "say what is asked about, such as cases: {prefix: EXT, offsets: [15, 25, 40], domains: business}",
        );
    }
    cases.flatten()
}

/// A list of numbers within a range.
fn numbers(
    fields: &mut Fields<'_, '_>,
    field: &'static str,
    range: std::ops::RangeInclusive<f64>,
) -> Vec<f64> {
    let mut read = Vec::new();
    for scalar in fields.scalars(field) {
        match scalar.text.parse::<f64>() {
            Ok(value) if range.contains(&value) => read.push(value),
            _ => fields.fault(
                field,
                scalar.at,
                format!("`{}` is no number that fits here", scalar.text),
                format!("from {} to {}", range.start(), range.end()),
            ),
        }
    }
    read
}

/// Lists of sentences of which each case takes one.
pub(super) fn read_own(root: &mut Fields<'_, '_>) -> BTreeMap<String, Vec<String>> {
    let mut own = BTreeMap::new();
    if let Some(Node {
        value: Value::Map(entries),
        ..
    }) = root.node("wording")
    {
        for (name, at, node) in entries {
            let texts: Option<Vec<String>> = match &node.value {
                Value::List(texts) => texts.iter().map(text_of).collect(),
                _ => None,
            };
            match texts.filter(|texts| !texts.is_empty()) {
                Some(texts) => {
                    own.insert(name.clone(), texts);
                }
                None => root.fault(
                    "wording",
                    *at,
                    format!("`{name}` must be a list of sentences"),
                    "begin each with `- `",
                ),
            }
        }
    }
    own
}

pub(super) fn text_of(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text { text, .. } => Some(text.clone()),
        _ => None,
    }
}

/// Values for the templates: truth values and numbers are what they look like.
pub(super) fn read_with(root: &mut Fields<'_, '_>) -> BTreeMap<String, minijinja::Value> {
    let mut with = BTreeMap::new();
    if let Some(Node {
        value: Value::Map(entries),
        ..
    }) = root.node("with")
    {
        for (name, at, node) in entries {
            match text_of(node) {
                Some(text) => {
                    let value = text
                        .parse::<bool>()
                        .map(minijinja::Value::from)
                        .or_else(|_| text.parse::<i64>().map(minijinja::Value::from));
                    with.insert(name.clone(), value.unwrap_or_else(|_| text.into()));
                }
                None => root.fault(
                    "with",
                    *at,
                    format!("`{name}` must be a single value"),
                    "write it on one line",
                ),
            }
        }
    }
    with
}

pub(super) fn read_conditions(root: &mut Fields<'_, '_>, suite: Suite) -> Vec<Condition> {
    let scalars = root.scalars("conditions");
    if scalars.is_empty() {
        let at = root.at();
        root.fault(
            "conditions",
            at,
            "is missing",
            "write conditions: [low, high], or [unanchored] for a baseline",
        );
    }
    let mut conditions = Vec::new();
    let mut all_known = true;
    let words: Vec<&'static str> = Condition::iter()
        .filter(|condition| condition.is_of(suite))
        .map(Into::into)
        .collect();
    for scalar in &scalars {
        let read: Option<Condition> = root.word("conditions", scalar, &words);
        if read.is_some_and(|read| !words.contains(&read.into())) {
            root.fault(
                "conditions",
                scalar.at,
                format!("`{}` belongs to another suite than {suite}", scalar.text),
                format!("it can be {}", words.join(", ")),
            );
            continue;
        }
        all_known &= read.is_some();
        if let Some(condition) = read {
            if conditions.contains(&condition) {
                root.fault(
                    "conditions",
                    scalar.at,
                    "stands here twice",
                    "keep one of the two",
                );
            }
            conditions.push(condition);
        }
    }
    let sides = |relevance: Option<Relevance>, side: Side| {
        let wanted = |condition: &Condition| {
            condition.side() == Some(side)
                && condition.anchored().map(|(relevance, _)| relevance) == relevance
        };
        conditions.iter().any(wanted)
    };
    let torn = std::iter::once(None)
        .chain(Relevance::iter().map(Some))
        .any(|relevance| sides(relevance, Side::Low) != sides(relevance, Side::High));
    let control = conditions.contains(&Condition::Control);
    let at = scalars.first().map_or(root.at(), |scalar| scalar.at);
    if all_known && torn {
        root.fault(
            "conditions",
            at,
            "low and high belong together",
            "an index compares the two: name both or neither",
        );
    }
    if all_known && suite == Suite::Anchorbench && !conditions.is_empty() && !control {
        root.fault(
            "conditions",
            at,
            "there is no control",
            "add control: every pull is measured from it",
        );
    }
    conditions
}
