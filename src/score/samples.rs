//! From stored attempts to one outcome for each slot of a cell.

use std::collections::BTreeMap;

use crate::bank::{Bank, Item};
use crate::domain::{Condition, Loss, ModelName, NoValue, Reading, SampleKey, Slot, Status, Tier};
use crate::parse::{Question, read_reply};
use crate::store::Record;
use crate::task::{Part, Task, Tasks};

/// A stored line and how its reply was read.
#[derive(Debug, Clone)]
pub struct Heard {
    record: Record,
    reading: Option<Reading>,
}

impl Heard {
    /// Reads the reply of a line, if there is one and its task and question are known.
    #[must_use]
    pub fn new(record: Record, bank: &Bank, tasks: &Tasks) -> Self {
        let task = tasks.get(record.task.as_str());
        let reading = match (task, bank.get(&record.item)) {
            (Some(task), Some(item)) if record.status.is_answer() => {
                let question = Question {
                    unit: &item.unit,
                    anchor: record.anchor,
                    comparison: turn_of(task, Part::Comparison) == Some(record.turn),
                };
                Some(read_reply(&record.full_text(), &question))
            }
            _ => None,
        };
        Self { record, reading }
    }

    /// The same without the texts that are not needed once they are read: a store of long replies fits into memory.
    #[must_use]
    pub fn slim(mut self, tasks: &Tasks) -> Self {
        self.record.body = None;
        self.record.reasoning_text = None;
        let repeated = tasks
            .get(self.record.task.as_str())
            .is_some_and(|task| task.asks().count() > 1);
        if !repeated {
            self.record.text = None;
        }
        self
    }

    /// The line.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }
}

/// What a sample gives to the score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// An estimate above 0, in the unit of the question.
    Estimate(f64),
    /// Why there is none.
    Lost(Loss),
}

/// The counted sample of one slot.
#[derive(Debug, Clone)]
pub struct CellSample<'a> {
    /// Item, condition and epoch.
    pub slot: Slot,
    /// Tier of the item.
    pub tier: Tier,
    /// The anchor as shown.
    pub anchor: Option<f64>,
    /// What it gives.
    pub outcome: Outcome,
    /// How the reply was read, if there was one to read.
    pub reading: Option<Reading>,
    /// The line that was read; the last attempt if all failed.
    pub record: &'a Record,
    /// Whether the conversation is the one that today's task and bank give.
    pub current_wording: bool,
}

/// All counted samples of a model and task.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    /// The model.
    pub model: ModelName,
    /// The task.
    pub task: &'a Task,
    /// One sample for each slot that was ever tried, in the order of the slots.
    pub samples: Vec<CellSample<'a>>,
}

impl Cell<'_> {
    /// Highest epoch that was asked for.
    #[must_use]
    pub fn epochs(&self) -> u32 {
        self.samples
            .iter()
            .map(|sample| sample.slot.epoch)
            .max()
            .unwrap_or(1)
    }
}

/// Sorts records into cells. The second value counts records of unknown tasks and items.
///
/// Where a slot was asked more than once (another wording, other settings), the answered sample in today's wording
/// counts, and of several the one first asked last. Of several replies to one sample a whole one goes before others,
/// and then the latest counts. The order of the lines does not matter.
#[must_use]
pub fn cells<'a>(
    heard: &'a [Heard],
    bank: &Bank,
    tasks: &'a Tasks,
) -> (Vec<Cell<'a>>, BTreeMap<String, usize>) {
    let mut unknown = BTreeMap::new();
    let mut sorted: BTreeMap<(ModelName, usize), BTreeMap<Slot, Vec<&'a Heard>>> = BTreeMap::new();
    for heard in heard {
        let record = &heard.record;
        let place = tasks.0.iter().position(|task| task.name == record.task);
        let Some(place) = place else {
            *unknown.entry(format!("task {}", record.task)).or_default() += 1;
            continue;
        };
        if bank.get(&record.item).is_none() {
            *unknown.entry(format!("item {}", record.item)).or_default() += 1;
            continue;
        }
        sorted
            .entry((record.model.clone(), place))
            .or_default()
            .entry(record.slot())
            .or_default()
            .push(heard);
    }
    let cells = sorted
        .into_iter()
        .map(|((model, place), slots)| {
            let task = &tasks.0[place];
            let samples = slots
                .into_iter()
                .filter_map(|(slot, mut lines)| {
                    let item = bank.get(&slot.item)?;
                    lines.sort_by_key(|line| {
                        let record = &line.record;
                        (
                            &record.clock.started,
                            record.turn,
                            record.attempt,
                            &record.request_id,
                        )
                    });
                    Some(count(slot, &lines, task, item))
                })
                .collect();
            Cell {
                model,
                task,
                samples,
            }
        })
        .collect();
    (cells, unknown)
}

/// Chooses the sample of a slot and reads it.
fn count<'a>(slot: Slot, lines: &[&'a Heard], task: &Task, item: &Item) -> CellSample<'a> {
    let mut by_key: Vec<(&SampleKey, Vec<&'a Heard>)> = Vec::new();
    for line in lines {
        match by_key.iter_mut().find(|(key, _)| **key == line.record.key) {
            Some((_, list)) => list.push(line),
            None => by_key.push((&line.record.key, vec![line])),
        }
    }
    let best = by_key
        .into_iter()
        .enumerate()
        .map(|(order, (_, lines))| {
            let current = is_current(&lines, task, item);
            let answered = answer(&lines, estimate_turn(task)).is_some();
            ((answered, current, order), lines)
        })
        .max_by_key(|(rank, _)| *rank);
    let ((_, current_wording, _), lines) = best.expect("a slot has at least one line");
    let last = lines[lines.len() - 1];
    let counted = answer(&lines, estimate_turn(task)).unwrap_or(last);
    let record = &counted.record;
    let reading = read_sample(&lines, counted, task);
    CellSample {
        tier: item.tier,
        anchor: record.anchor,
        outcome: outcome(record, reading, task),
        reading,
        record,
        current_wording,
        slot,
    }
}

/// The turn whose reply holds the estimate, from 1.
fn estimate_turn(task: &Task) -> u32 {
    turn_of(task, Part::Estimate).unwrap_or(1)
}

fn turn_of(task: &Task, part: Part) -> Option<u32> {
    let place = task.asks().position(|reads| reads.contains(&part))?;
    u32::try_from(place + 1).ok()
}

/// The answer that counts for an ask.
fn answer<'a>(lines: &[&'a Heard], turn: u32) -> Option<&'a Heard> {
    lines
        .iter()
        .filter(|line| line.record.turn == turn && line.record.status.is_answer())
        .max_by_key(|line| line.record.status == Status::Ok)
        .copied()
}

fn is_current(lines: &[&Heard], task: &Task, item: &Item) -> bool {
    lines.iter().all(|line| {
        let record = &line.record;
        let replies: Option<Vec<String>> = (1..record.turn)
            .map(|turn| {
                answer(lines, turn).map(|line| line.record.text.clone().unwrap_or_default())
            })
            .collect();
        let prefill = record.sent.prefill.is_some();
        replies
            .and_then(|replies| {
                task.conversation(item, record.condition, &replies, prefill)
                    .ok()
                    .flatten()
            })
            .is_some_and(|(conversation, _)| conversation == record.conversation)
    })
}

/// The reading of a sample, with the comparison from the ask that holds it.
fn read_sample(lines: &[&Heard], counted: &Heard, task: &Task) -> Option<Reading> {
    let mut reading = counted.reading?;
    let compared = turn_of(task, Part::Comparison);
    if let Some(turn) = compared.filter(|turn| *turn != counted.record.turn) {
        reading.comparison = answer(lines, turn)
            .and_then(|line| line.reading)
            .and_then(|reading| reading.comparison);
    }
    Some(reading)
}

fn outcome(record: &Record, reading: Option<Reading>, task: &Task) -> Outcome {
    let lost = match (record.status, reading) {
        // An answered earlier turn of an unfinished sample holds no estimate yet.
        _ if record.turn != estimate_turn(task) && record.status.is_answer() => Loss::NotAsked,
        (Status::Error, _) | (_, None) => {
            let class = record.error.as_ref().map(|error| error.class);
            class.map_or(Loss::NotAsked, Loss::Failed)
        }
        (Status::Refused, _) => Loss::Refused,
        (Status::Truncated, _) => Loss::Truncated,
        (Status::Empty, _) => Loss::Unread(NoValue::Empty),
        (Status::Ok, Some(reading)) => match reading.value {
            Ok(value) if value > 0.0 => return Outcome::Estimate(value),
            Ok(_) => Loss::NotPositive,
            Err(why) => Loss::Unread(why),
        },
    };
    Outcome::Lost(lost)
}

/// Geometric mean of the estimates of an item under a condition, over its epochs.
#[must_use]
pub(super) fn estimate(cell: &Cell<'_>, item: &Item, condition: Condition) -> Option<f64> {
    let mut logs = 0.0;
    let mut only = None;
    let mut n = 0.0;
    for sample in &cell.samples {
        if sample.slot.item == item.id
            && sample.slot.condition == condition
            && let Outcome::Estimate(value) = sample.outcome
        {
            logs += value.ln();
            only = Some(value);
            n += 1.0;
        }
    }
    // One estimate is itself, to the last digit.
    if n > 1.0 {
        Some((logs / n).exp())
    } else {
        only
    }
}
