//! From stored attempts to one outcome for each slot of a cell.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use rayon::prelude::*;

use super::heard::Heard;
use crate::bank::{Item, SubjectRef};
use crate::domain::{
    Condition, Conversation, ItemId, Loss, ModelName, NoValue, PEOPLE, Reading, SampleKey, Slot,
    Status, Suite, TaskName, Tier,
};
use crate::task::{Catalog, Form, Part, Task, reply_stand_in};

/// What a sample gives to the score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// An estimate in the unit of the question, above 0; of a case on its scale.
    Estimate(f64),
    /// Why there is none.
    Lost(Loss),
}

/// The counted sample of one slot.
#[derive(Debug, Clone)]
pub struct CellSample<'a> {
    /// Item, condition and epoch.
    pub slot: Slot,
    /// Tier of the item; `None` of a case.
    pub tier: Option<Tier>,
    /// The anchor as shown, or as the model gave it in an earlier reply.
    pub anchor: Option<f64>,
    /// Whether the model gave it.
    pub own_anchor: bool,
    /// What it gives.
    pub outcome: Outcome,
    /// How the reply was read, if there was one to read.
    pub reading: Option<Reading>,
    /// The line that was read; the last attempt if all failed.
    pub record: &'a Heard,
    /// Whether the conversation is the one that today's task and bank give.
    pub current_wording: bool,
}

impl CellSample<'_> {
    /// Whether it gives both a comparison with an anchor and an estimate.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.anchor.is_some()
            && matches!(self.outcome, Outcome::Estimate(_))
            && self
                .reading
                .is_some_and(|reading| reading.comparison.is_some())
    }

    /// Whether its comparison and its estimate point to different sides of the anchor.
    #[must_use]
    pub fn contradicts(&self) -> bool {
        self.compares()
            && self
                .reading
                .zip(self.anchor)
                .is_some_and(|(reading, anchor)| reading.contradicts(anchor))
    }
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
    /// The samples of an item under a condition.
    #[must_use]
    pub fn of(&self, item: &Item, condition: Condition) -> &[CellSample<'_>] {
        let wanted = (&item.id, condition);
        let place =
            |sample: &CellSample<'_>| (&sample.slot.item, sample.slot.condition).cmp(&wanted);
        let start = self.samples.partition_point(|sample| place(sample).is_lt());
        let end = self.samples.partition_point(|sample| place(sample).is_le());
        &self.samples[start..end]
    }

    /// The usable estimates of an item under a condition, one an epoch.
    #[must_use]
    pub fn estimates(&self, item: &Item, condition: Condition) -> Vec<f64> {
        self.of(item, condition)
            .iter()
            .filter_map(|sample| match sample.outcome {
                Outcome::Estimate(value) => Some(value),
                Outcome::Lost(_) => None,
            })
            .collect()
    }

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

/// Sorts the records of a suite into cells. The second value counts records of unknown tasks and items.
///
/// Where a slot was asked more than once (another wording, other settings), the answered sample in today's wording
/// counts, and of several the one first asked last. Of several replies to one sample a whole one goes before others,
/// and then the latest counts. The order of the lines does not matter.
#[must_use]
pub fn cells<'a>(
    heard: &'a [Heard],
    catalog: &'a Catalog,
    suite: Suite,
) -> (Vec<Cell<'a>>, BTreeMap<String, usize>) {
    let tasks = &catalog.tasks;
    let mut unknown = BTreeMap::new();
    let mut by_cell: BTreeMap<(&ModelName, usize), Vec<&'a Heard>> = BTreeMap::new();
    let places: HashMap<&TaskName, usize> = tasks
        .0
        .iter()
        .enumerate()
        .map(|(place, task)| (&task.name, place))
        .collect();
    let bank = &catalog.bank;
    let questions: HashMap<&ItemId, &Item> =
        bank.items.iter().map(|item| (&item.id, item)).collect();
    let subject = |task: &Task, item: &ItemId| match task.suite {
        Suite::Wheel => questions.get(item).copied().map(SubjectRef::Question),
        Suite::Anchorbench => catalog.case(&task.name, item).map(SubjectRef::Case),
        // Stimuli are put together by their prompts, verdicts by temperatures too.
        Suite::Spinner | Suite::Judge => None,
    };
    for line in heard {
        let record = line;
        let Some(place) = places.get(&record.task) else {
            *unknown.entry(format!("task {}", record.task)).or_default() += 1;
            continue;
        };
        let task = &tasks.0[*place];
        if task.suite != suite {
            continue;
        }
        if subject(task, &record.item).is_none() {
            *unknown.entry(format!("item {}", record.item)).or_default() += 1;
            continue;
        }
        by_cell
            .entry((&record.model, *place))
            .or_default()
            .push(line);
    }
    // The cells of a task share its prompts.
    let wordings: Vec<Wording<'_>> = tasks.0.iter().map(Wording::new).collect();
    let cells = by_cell
        .into_par_iter()
        .map(|((model, place), mut lines)| {
            lines.sort_by(|a, b| order(a).cmp(&order(b)));
            let task = &tasks.0[place];
            let wording = &wordings[place];
            let mut samples: Vec<CellSample<'_>> = lines
                .chunk_by(|a, b| slot_of(a) == slot_of(b))
                .filter_map(|lines| {
                    let subject = subject(task, &lines[0].item)?;
                    Some(count(lines[0].slot(), lines, wording, subject))
                })
                .collect();
            let place = |sample: &CellSample<'_>| (sample.slot.item.clone(), sample.slot.condition);
            for epochs in samples.chunk_by_mut(|a, b| place(a) == place(b)) {
                let slot = &epochs[0].slot;
                let today = match subject(task, &slot.item) {
                    // An anchor that the model gave itself is another one each time.
                    Some(SubjectRef::Case(_))
                        if task.turn_of(slot.condition, Part::Anchor).is_some() =>
                    {
                        continue;
                    }
                    Some(SubjectRef::Case(case)) => case.anchor(slot.condition),
                    Some(SubjectRef::Question(item)) => item.anchor(slot.condition).map(f64::from),
                    Some(SubjectRef::Excerpt(_) | SubjectRef::Judged(_)) | None => None,
                };
                keep_one_anchor(epochs, today);
            }
            Cell {
                model: model.clone(),
                task,
                samples,
            }
        })
        .collect();
    (cells, unknown)
}

/// Estimates of one question and condition are averaged only under one anchor: today's, or else that of the last of them.
fn keep_one_anchor(epochs: &mut [CellSample<'_>], today: Option<f64>) {
    let usable = |sample: &&CellSample<'_>| matches!(sample.outcome, Outcome::Estimate(_));
    let kept = epochs
        .iter()
        .filter(usable)
        .map(|sample| (sample.anchor == today, sample.slot.epoch, sample.anchor))
        .max_by_key(|(is_todays, epoch, _)| (*is_todays, *epoch));
    let Some((_, _, anchor)) = kept else { return };
    for sample in epochs.iter_mut() {
        if sample.anchor != anchor && matches!(sample.outcome, Outcome::Estimate(_)) {
            sample.outcome = Outcome::Lost(Loss::OtherAnchor);
        }
    }
}

/// The place of a line in its cell.
fn slot_of(record: &Heard) -> (&ItemId, Condition, u32) {
    (&record.item, record.condition, record.epoch)
}

/// Lines in the order of their slots, and within a slot as they were asked.
fn order(record: &Heard) -> impl Ord + '_ {
    (
        slot_of(record),
        &record.started,
        record.turn,
        record.attempt,
        &record.request_id,
    )
}

/// Chooses the sample of a slot and reads it.
fn count<'a>(
    slot: Slot,
    lines: &[&'a Heard],
    wording: &Wording<'_>,
    subject: SubjectRef<'_>,
) -> CellSample<'a> {
    let task = wording.task;
    let mut by_key: Vec<(&SampleKey, Vec<&'a Heard>)> = Vec::new();
    for line in lines {
        match by_key.iter_mut().find(|(key, _)| **key == line.key) {
            Some((_, list)) => list.push(line),
            None => by_key.push((&line.key, vec![line])),
        }
    }
    let best = by_key
        .into_iter()
        .enumerate()
        .map(|(order, (_, lines))| {
            let current = is_current(&lines, wording, subject);
            let answered = answer(&lines, estimate_turn(task, slot.condition)).is_some();
            ((answered, current, order), lines)
        })
        .max_by_key(|(rank, _)| *rank);
    let ((_, current_wording, _), lines) = best.expect("a slot has at least one line");
    let last = lines[lines.len() - 1];
    let counted = answer(&lines, estimate_turn(task, slot.condition)).unwrap_or(last);
    let record = counted;
    let reading = read_sample(&lines, counted, task);
    let given = task
        .turn_of(slot.condition, Part::Anchor)
        .and_then(|turn| answer(&lines, turn)?.reading?.value.ok());
    CellSample {
        tier: match subject {
            SubjectRef::Question(item) => Some(item.tier),
            SubjectRef::Case(_) | SubjectRef::Excerpt(_) | SubjectRef::Judged(_) => None,
        },
        anchor: record.anchor.or(given),
        own_anchor: record.anchor.is_none() && given.is_some(),
        outcome: outcome(record, reading, task),
        reading,
        record,
        current_wording,
        slot,
    }
}

/// The turn whose reply holds the estimate, from 1.
fn estimate_turn(task: &Task, condition: Condition) -> u32 {
    task.turn_of(condition, Part::Estimate).unwrap_or(1)
}

/// The answer that counts for an ask.
fn answer<'a>(lines: &[&'a Heard], turn: u32) -> Option<&'a Heard> {
    lines
        .iter()
        .filter(|line| line.turn == turn && line.status.is_answer())
        .max_by_key(|line| line.status == Status::Ok)
        .copied()
}

/// Conversations of one task, as its templates and questions give them today.
#[derive(Debug)]
struct Wording<'a> {
    task: &'a Task,
    /// Up to each ask, with stand-ins for the replies before it.
    known: Mutex<HashMap<Place, Option<Arc<Conversation>>>>,
}

/// What a conversation without replies depends on: item, condition, ask and form.
type Place = (ItemId, Condition, usize, Form);

impl<'a> Wording<'a> {
    fn new(task: &'a Task) -> Self {
        Self {
            task,
            known: Mutex::default(),
        }
    }

    fn is_todays(&self, record: &Heard, subject: SubjectRef<'_>, replies: &[String]) -> bool {
        let form = Form {
            prefill: record.sent.prefill.is_some(),
            tools: record.conversation.calls().next().is_some(),
        };
        let render = |replies: &[String]| {
            let rendered = self
                .task
                .conversation(subject, record.condition, replies, form);
            Some(rendered.ok()??.0)
        };
        let place = (record.item.clone(), record.condition, replies.len(), form);
        let known = self
            .known
            .lock()
            .expect("no panic under it")
            .get(&place)
            .cloned();
        let outline = known.unwrap_or_else(|| {
            let stand_ins: Vec<String> = (1..=replies.len()).map(reply_stand_in).collect();
            let outline = render(&stand_ins).map(Arc::new);
            let mut known = self.known.lock().expect("no panic under it");
            known.insert(place, outline.clone());
            outline
        });
        let same = outline.is_some_and(|outline| filled(&outline, replies, &record.conversation));
        // A template may do more with a reply than repeat it.
        same || (!replies.is_empty() && render(replies).as_ref() == Some(&*record.conversation))
    }
}

/// Whether a conversation is the outline with the replies in the places of their stand-ins.
fn filled(outline: &Conversation, replies: &[String], said: &Conversation) -> bool {
    if replies.is_empty() {
        return outline == said;
    }
    let filled = |text: &str| {
        let turns = replies.iter().enumerate();
        turns.fold(text.to_owned(), |text, (turn, reply)| {
            text.replace(&reply_stand_in(turn + 1), reply)
        })
    };
    outline.0.len() == said.0.len()
        && outline.0.iter().zip(&said.0).all(|(outline, said)| {
            (outline.role, &outline.call) == (said.role, &said.call)
                && (outline.content == said.content || filled(&outline.content) == said.content)
        })
}

fn is_current(lines: &[&Heard], wording: &Wording<'_>, subject: SubjectRef<'_>) -> bool {
    lines.iter().all(|line| {
        // The page for people has words of its own.
        if &*line.sent.provider == PEOPLE {
            return true;
        }
        let replies: Option<Vec<String>> = (1..line.turn)
            .map(|turn| {
                answer(lines, turn).map(|line| line.text.as_deref().unwrap_or_default().to_owned())
            })
            .collect();
        replies.is_some_and(|replies| wording.is_todays(line, subject, &replies))
    })
}

/// The reading of a sample, with the comparison from the ask that holds it.
fn read_sample(lines: &[&Heard], counted: &Heard, task: &Task) -> Option<Reading> {
    let mut reading = counted.reading?;
    let compared = task.turn_of(counted.condition, Part::Comparison);
    if let Some(turn) = compared.filter(|turn| *turn != counted.turn) {
        reading.comparison = answer(lines, turn)
            .and_then(|line| line.reading)
            .and_then(|reading| reading.comparison);
    }
    Some(reading)
}

fn outcome(record: &Heard, reading: Option<Reading>, task: &Task) -> Outcome {
    let lost = match (record.status, reading) {
        // An answered earlier turn of an unfinished sample holds no estimate yet.
        _ if record.turn != estimate_turn(task, record.condition) && record.status.is_answer() => {
            Loss::NotAsked
        }
        (Status::Error, _) | (_, None) => record.error.map_or(Loss::NotAsked, Loss::Failed),
        (Status::Refused, _) => Loss::Refused,
        (Status::Truncated, _) => Loss::Truncated,
        (Status::Empty, _) => Loss::Unread(NoValue::Empty),
        (Status::Ok, Some(reading)) => match reading.value {
            // An estimate on a scale may be 0; one whose logarithm is taken may not.
            Ok(value) if value > 0.0 || task.suite == Suite::Anchorbench => {
                return Outcome::Estimate(value);
            }
            Ok(_) => Loss::NotPositive,
            Err(why) => Loss::Unread(why),
        },
    };
    Outcome::Lost(lost)
}
