//! What the scores need of a stored line, and how its reply was read.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use super::implied::reading;
use super::judge::{digits_of, likeliest};
use crate::domain::{
    Condition, Conversation, Digits, ErrorClass, ItemId, Judging, ModelName, Reading, SampleKey,
    Scored, ScoringMode, Slot, Status, Suite, TaskName, TokenCounts, Verdict,
};
use crate::parse::{Question, Rules, digits_of_body, read_reply, read_verdict};
use crate::store::{Cost, Record, Sent};
use crate::task::{Catalog, Part, Task};

/// A stored line without the texts that are not needed once they are read: a large store fits into memory.
///
/// The fields are those of [`Record`].
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "see the record")]
pub struct Heard {
    pub key: SampleKey,
    pub model: ModelName,
    pub task: TaskName,
    pub item: ItemId,
    pub condition: Condition,
    pub anchor: Option<f64>,
    pub epoch: u32,
    pub turn: u32,
    pub attempt: u32,
    pub conversation: Arc<Conversation>,
    /// The seed only says whether one was sent.
    pub sent: Arc<Sent>,
    pub status: Status,
    pub error: Option<ErrorClass>,
    /// Kept only where a later ask of the task may repeat it.
    pub text: Option<Arc<str>>,
    pub scored: Option<Arc<Scored>>,
    pub judging: Option<Arc<Judging>>,
    /// Natural logarithms of the probabilities of the digits where a score begins, as far as the reply tells them.
    pub digits: Option<Arc<Digits>>,
    pub returned_model: Option<Arc<str>>,
    pub tokens: TokenCounts,
    pub batch: Option<Arc<str>>,
    pub cost: Cost,
    pub request_id: Option<Arc<str>>,
    /// Start of the call, RFC 3339.
    pub started: Arc<str>,
    /// How the reply was read, if there was one and its task and question are known.
    pub reading: Option<Reading>,
    /// What a judge said, if it was asked and answered.
    pub verdict: Option<Verdict>,
}

impl Heard {
    /// Reads the reply of a line.
    #[must_use]
    pub fn new(mut record: Record, catalog: &Catalog, rules: Rules) -> Self {
        let task = catalog.tasks.get(record.task.as_str());
        let reading = task
            .filter(|_| record.status.is_answer())
            .and_then(|task| read(&record, task, catalog, rules));
        let judging = record.judging.take();
        let verdict = judging
            .as_ref()
            .filter(|_| record.status.is_answer())
            .map(|judging| match &record.scored {
                Some(scored) => likeliest(scored, &judging.standard),
                None => read_verdict(&record.full_text(), &judging.standard),
            });
        let digits = judging.as_ref().and_then(|_| {
            let scored = record.scored.as_ref().and_then(digits_of);
            let start = record.conversation.prefill().unwrap_or_default();
            let of_body = || digits_of_body(record.body.as_deref()?, start);
            record
                .digits
                .as_deref()
                .copied()
                .or(scored)
                .or_else(of_body)
        });
        // Wordings of judges are told apart by what their lines say.
        if judging.is_some() {
            record.conversation = Arc::default();
        }
        // Seeds may differ from sample to sample; that one was used is the setting.
        record.sent.sampling.seed = record.sent.sampling.seed.map(|_| 0);
        let repeated = task.is_some_and(|task| task.turns(record.condition) > 1);
        Self {
            key: record.key,
            model: record.model,
            task: record.task,
            item: record.item,
            condition: record.condition,
            anchor: record.anchor,
            epoch: record.epoch,
            turn: record.turn,
            attempt: record.attempt,
            conversation: record.conversation,
            sent: Arc::new(record.sent),
            status: record.status,
            error: record.error.map(|error| error.class),
            text: record.text.filter(|_| repeated).map(Arc::from),
            scored: record.scored.map(Arc::new),
            judging,
            digits: digits.map(Arc::new),
            returned_model: record.returned_model.map(Arc::from),
            tokens: record.tokens,
            batch: record.batch.map(Arc::from),
            cost: record.cost_usd,
            request_id: record.request_id.map(Arc::from),
            started: record.clock.started.into(),
            reading,
            verdict,
        }
    }

    /// Whether it was made of this record.
    #[must_use]
    pub fn is_of(&self, record: &Record) -> bool {
        (&self.key, self.turn, self.attempt, &*self.started)
            == (
                &record.key,
                record.turn,
                record.attempt,
                record.clock.started.as_str(),
            )
            && self.model == record.model
            && self.request_id.as_deref() == record.request_id.as_deref()
    }

    /// How given answers were scored, if they were.
    #[must_use]
    pub fn mode(&self) -> Option<ScoringMode> {
        self.scored.as_ref().map(|scored| scored.scoring.mode)
    }

    /// The place of the sample in its cell.
    #[must_use]
    pub fn slot(&self) -> Slot {
        Slot {
            task: self.task.clone(),
            item: self.item.clone(),
            condition: self.condition,
            epoch: self.epoch,
        }
    }
}

/// What many lines have in common, held once.
#[derive(Debug, Default)]
pub struct Pool {
    models: HashSet<ModelName>,
    tasks: HashSet<TaskName>,
    items: HashSet<ItemId>,
    texts: HashSet<Arc<str>>,
    conversations: HashSet<Arc<Conversation>>,
    sent: Vec<Arc<Sent>>,
    judging: Vec<Arc<Judging>>,
}

/// Values that are looked through for equal ones.
const RECENT: usize = 64;

impl Pool {
    /// Lets a line share what an earlier one holds too.
    pub fn share(&mut self, line: &mut Heard) {
        shared(&mut self.models, &mut line.model);
        shared(&mut self.tasks, &mut line.task);
        shared(&mut self.items, &mut line.item);
        shared(&mut self.conversations, &mut line.conversation);
        for text in [&mut line.returned_model, &mut line.batch]
            .into_iter()
            .flatten()
        {
            shared(&mut self.texts, text);
        }
        recent(&mut self.sent, &mut line.sent);
        if let Some(judging) = &mut line.judging {
            recent(&mut self.judging, judging);
        }
    }
}

/// Shares one of the values that were seen last, which need no hash.
fn recent<T: PartialEq>(known: &mut Vec<Arc<T>>, value: &mut Arc<T>) {
    let first = known.len().saturating_sub(RECENT);
    match known[first..].iter().find(|known| *known == value) {
        Some(same) => *value = Arc::clone(same),
        None => known.push(Arc::clone(value)),
    }
}

/// Reads a reply as its suite does.
fn read(record: &Record, task: &Task, catalog: &Catalog, rules: Rules) -> Option<Reading> {
    match task.suite {
        // Scores of the paper's kind are no probabilities.
        Suite::Wheel if task.targets.is_some() => record
            .scored
            .as_ref()
            .filter(|scored| scored.scoring.mode == ScoringMode::Exact)
            .map(reading),
        // Answers are given there, and none is read; judges give verdicts.
        Suite::Spinner | Suite::Judge => None,
        Suite::Wheel => {
            let item = catalog.bank.get(&record.item)?;
            let question = Question {
                unit: &item.unit,
                anchor: record.anchor,
                comparison: task.turn_of(record.condition, Part::Comparison) == Some(record.turn),
            };
            Some(read_reply(&record.full_text(), &question))
        }
        Suite::Anchorbench => {
            let numbers = [Part::Estimate, Part::Anchor];
            let number = numbers
                .iter()
                .any(|part| task.turn_of(record.condition, *part) == Some(record.turn));
            number.then(|| rules.read(&record.full_text(), &record.conversation))
        }
    }
}

fn shared<T: Clone + Eq + Hash>(known: &mut HashSet<T>, value: &mut T) {
    match known.get(value) {
        Some(same) => *value = same.clone(),
        None => {
            known.insert(value.clone());
        }
    }
}
