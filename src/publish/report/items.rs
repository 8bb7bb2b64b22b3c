//! What a task did to each question.

use std::collections::BTreeMap;

use super::ReportSource;
use crate::bank::Item;
use crate::domain::{Comparison, Condition, ItemId, grouped, round_significant};
use crate::publish::document::{Block, Entry, columns, heading, text};
use crate::publish::format::{UNKNOWN, UNSCORED, p_text, two, with_interval};
use crate::score::tier::BACKLASH;
use crate::score::{Cell, CellSample, CellScore, Index, ItemScore, Outcome};

/// How many of the largest swings stand in words.
const SWINGS: usize = 5;

/// The questions of one task, the largest swings, and what went the other way.
pub(super) fn task(source: &ReportSource<'_>, score: &CellScore, cell: &Cell<'_>) -> Vec<Block> {
    let mut blocks = vec![
        heading(2, cell.task.title.clone()),
        text(format!("{}: {}.", cell.task.name, cell.task.about)),
    ];
    let linked = |item: &Item, condition| {
        cell.of(item, condition)
            .first()
            .and_then(|sample| (source.link)(sample))
    };
    let items: BTreeMap<&ItemId, &Item> = source
        .bank
        .items
        .iter()
        .map(|item| (&item.id, item))
        .collect();
    let mut ranked: Vec<(&ItemScore, &Item)> = score
        .items
        .iter()
        .filter_map(|own| Some((own, *items.get(&own.item)?)))
        .collect();
    let rows = ranked
        .iter()
        .map(|(own, item)| {
            let estimate = |value: Option<f64>, condition| {
                Entry::from(value.map_or_else(|| UNSCORED.to_owned(), short))
                    .by(value)
                    .to(linked(item, condition))
            };
            let anchor = |value: Option<f64>| -> Entry {
                Entry::from(value.map_or_else(|| UNKNOWN.to_owned(), grouped)).by(value)
            };
            vec![
                Entry::from(item.text.as_str()),
                Entry::from(own.tier.to_string()),
                Entry::from(item.unit.as_str()),
                anchor(own.anchors.0),
                estimate(own.low, Condition::Low),
                Entry::from(own.none.map_or_else(|| UNSCORED.to_owned(), short)).by(own.none),
                estimate(own.high, Condition::High),
                anchor(own.anchors.1),
                Entry::from(item_index(own, score.method.index)).by(own.index),
                Entry::from(format!("{}, {}", own.epochs.0, own.epochs.1)),
            ]
        })
        .collect();
    let index_head = match score.method.index {
        Index::Raw => "difference, p#",
        _ => "index [95 %]#",
    };
    blocks.push(Block::Table {
        columns: columns(&[
            "question",
            "tier",
            "unit",
            "low anchor#",
            "after low#",
            "no anchor#",
            "after high#",
            "high anchor#",
            index_head,
            "estimates low, high#",
        ]),
        rows,
    });
    ranked.retain(|(own, _)| own.index.is_some_and(|index| index != 0.0));
    ranked.sort_by(|(a, _), (b, _)| {
        swing(b)
            .total_cmp(&swing(a))
            .then_with(|| a.item.cmp(&b.item))
    });
    let raw = score.method.index == Index::Raw;
    let words = |(own, item): &(&ItemScore, &Item)| {
        Entry::from(swing_words(own, item, raw)).to(linked(item, Condition::High))
    };
    let largest: Vec<Entry> = ranked.iter().take(SWINGS).map(words).collect();
    blocks.push(heading(3, "Largest swings"));
    blocks.push(list_or(largest, "No estimate differs between the anchors."));
    if !score.method.index.has_backlash() {
        blocks.extend(contradictions(source, score, cell, &items));
        return blocks;
    }
    let away: Vec<Entry> = ranked
        .iter()
        .filter(|(own, _)| own.index.is_some_and(|index| index < BACKLASH))
        .map(words)
        .collect();
    blocks.push(heading(3, "Backlash: moved away from the anchor"));
    blocks.push(list_or(away, "No question has an index below −0.05."));
    blocks.extend(contradictions(source, score, cell, &items));
    blocks
}

/// Replies whose comparison disagrees with their estimate.
fn contradictions(
    source: &ReportSource<'_>,
    score: &CellScore,
    cell: &Cell<'_>,
    items: &BTreeMap<&ItemId, &Item>,
) -> Vec<Block> {
    if score.comparisons == 0 {
        return Vec::new();
    }
    let against: Vec<Entry> = cell
        .samples
        .iter()
        .filter(|sample| sample.contradicts())
        .filter_map(|sample| {
            let item = items.get(&sample.slot.item)?;
            Some(Entry::from(contradiction(sample, item)?).to((source.link)(sample)))
        })
        .collect();
    vec![
        heading(3, "Contradictions: the comparison against the estimate"),
        list_or(
            against,
            "No reply compares one way and estimates the other.",
        ),
    ]
}

fn list_or(items: Vec<Entry>, otherwise: &str) -> Block {
    if items.is_empty() {
        text(otherwise)
    } else {
        Block::List { items }
    }
}

/// Size of the jump, on the log scale and without the cap of the index.
fn swing(item: &ItemScore) -> f64 {
    match (item.low, item.high) {
        (Some(low), Some(high)) => (high / low).ln().abs(),
        _ => 0.0,
    }
}

/// "6,500 after 2,400; 200,000 after 15,000".
fn swing_words(own: &ItemScore, item: &Item, raw: bool) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), short);
    let anchor = |value: Option<f64>| value.map_or_else(|| UNKNOWN.to_owned(), grouped);
    format!(
        "{}{}: {} after {}; {} after {}{}",
        item.text,
        if item.unit.is_empty() {
            String::new()
        } else {
            format!(", in {}", item.unit)
        },
        number(own.low),
        anchor(own.anchors.0),
        number(own.high),
        anchor(own.anchors.1),
        match (own.index, raw) {
            (Some(index), false) => format!(" (index {})", two(index)),
            _ => String::new(),
        },
    )
}

fn contradiction(sample: &CellSample<'_>, item: &Item) -> Option<String> {
    let (Outcome::Estimate(value), Some(anchor)) = (sample.outcome, sample.anchor) else {
        return None;
    };
    let side = match sample.reading?.comparison? {
        Comparison::More => "more",
        Comparison::Less => "less",
    };
    Some(format!(
        "{}, {} anchor, epoch {}: \"{side}\" than {}, then {}",
        item.text,
        sample.slot.condition,
        sample.slot.epoch,
        grouped(anchor),
        short(value)
    ))
}

/// The index of a question, with its interval over epochs where there are several.
fn item_index(own: &ItemScore, index: Index) -> String {
    match (own.index, index) {
        (None, _) => UNSCORED.to_owned(),
        (Some(value), Index::Raw) => {
            let p = own
                .p
                .map_or_else(String::new, |p| format!(", p {}", p_text(p)));
            format!("{}{p}", short(value))
        }
        (Some(value), _) => with_interval(value, own.interval),
    }
}

/// Four significant digits, grouped.
fn short(value: f64) -> String {
    grouped(round_significant(value, 4))
}
