//! Replies that other tools asked for: read, matched to question and condition, and made into lines of the store.
//!
//! Pure: bytes and texts in, records out. Nothing of what a file says about scores is believed; the replies are read by our
//! own reader.

mod anchorbench;
mod calls;
mod kaggle;
mod replies;
mod scores;

pub use anchorbench::{Lines, Published, SetFault, results_line, share_controls};
pub use calls::{CallFault, ToldCalls, call_lines};
pub use kaggle::{OwnResult, RunFile, run_file};
pub use replies::{Columns, ReplyError, csv, json_lines};
pub use scores::{ScoreFault, is_score_file, score_lines};

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::bank::Bank;
use crate::domain::{
    Condition, Conversation, ErrorClass, KeyBase, Prompt, Role, Sampling, Status, TokenCounts, Usd,
};
use crate::store::{Record, RecordedError, Sent, Spot};
use crate::task::{Form, Task, Tasks};

/// A reply that somebody else asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Foreign {
    /// Where it stands, for messages.
    pub place: String,
    /// Who answered.
    pub model: String,
    /// The task, where the file says so.
    pub task: Option<String>,
    /// The question, where the file says so.
    pub item: Option<String>,
    /// The condition, where the file says so.
    pub condition: Option<Condition>,
    /// Repetition, from 1, where the file says so.
    pub epoch: Option<u32>,
    /// The anchor shown, where the file says so.
    pub anchor: Option<f64>,
    /// What tells this reply from others, however often and from wherever the file is read.
    pub source: String,
    /// The prompt as sent, where it is known.
    pub prompt: Option<String>,
    /// The raw reply; `None` if the call failed.
    pub reply: Option<String>,
    /// What failed.
    pub error: Option<String>,
    /// Token counts.
    pub tokens: TokenCounts,
    /// Cost as reported.
    pub cost: Option<Usd>,
    /// When it was asked, RFC 3339.
    pub started: Option<String>,
}

/// Why a reply cannot be placed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unplaced {
    /// The file names a task that is not loaded.
    #[error("there is no task `{0}` (--tasks)")]
    Task(String),
    /// The file names a question that is not loaded.
    #[error("there is no question `{0}` (--questions)")]
    Item(String),
    /// The task does not ask under this condition.
    #[error("task `{0}` has no condition {1}")]
    Condition(String, Condition),
    /// Neither names nor the prompt say what was asked.
    #[error("neither names nor the prompt say which question it answers")]
    Unknown,
    /// The anchor that was shown is not known.
    #[error("its prompt is not today's, and no column `anchor` says which anchor was shown")]
    Anchor,
    /// Another reply has that place.
    #[error(
        "epoch {0} of its question and condition is taken by another reply; leave the epoch out to add one"
    )]
    Taken(u32),
    /// Asks of several turns cannot be told apart.
    #[error(
        "task `{0}` asks more than once in a conversation; one reply does not tell which ask it answers"
    )]
    SeveralAsks(String),
}

/// Finds what a reply belongs to.
pub struct Matcher<'a> {
    bank: &'a Bank,
    tasks: &'a Tasks,
    /// Prompts by their text.
    prompts: HashMap<String, (&'a Task, usize, Condition)>,
    /// The epochs that are taken, by model, task, question and condition.
    taken: HashMap<(String, String, String, Condition), BTreeSet<u32>>,
    /// Replies that are there.
    known: HashSet<String>,
}

impl<'a> Matcher<'a> {
    /// Knows every prompt of these questions and tasks.
    #[must_use]
    pub fn new(bank: &'a Bank, tasks: &'a Tasks) -> Self {
        let mut prompts = HashMap::new();
        // Grids ask in the same words, but for probabilities.
        let replies = |task: &&Task| task.most_turns() == 1 && task.targets.is_none();
        for task in tasks.0.iter().filter(replies) {
            for (place, item) in bank.items.iter().enumerate() {
                for condition in &task.conditions {
                    if let Ok(conversation) = task.outline(item, *condition, Form::default())
                        && let [message] = conversation.0.as_slice()
                    {
                        prompts
                            .insert(message.content.trim().to_owned(), (task, place, *condition));
                    }
                }
            }
        }
        Self {
            bank,
            tasks,
            prompts,
            taken: HashMap::new(),
            known: HashSet::new(),
        }
    }

    /// Takes note of a stored line.
    pub fn note(&mut self, record: &Record) {
        let place = (
            record.model.to_string(),
            record.task.to_string(),
            record.item.to_string(),
            record.condition,
        );
        self.taken.entry(place).or_default().insert(record.epoch);
        self.known.extend(record.request_id.clone());
    }

    /// Whether a reply is in the store.
    #[must_use]
    pub fn knows(&self, foreign: &Foreign) -> bool {
        self.known.contains(&foreign.source)
    }

    /// The line of the store for a reply, which is taken note of. `provider` names where it came from, `now` stands in for
    /// an unknown start.
    ///
    /// # Errors
    /// It cannot be said what was asked, or its place is taken.
    pub fn record(
        &mut self,
        foreign: &Foreign,
        provider: &str,
        now: &str,
    ) -> Result<Record, Unplaced> {
        let (task, place, condition) = self.place(foreign)?;
        let item = &self.bank.items[place];
        let asked = task
            .outline(item, condition, Form::default())
            .map_err(|_| Unplaced::Unknown)?;
        let asked_as_today = matches!(
            (&foreign.prompt, asked.0.as_slice()),
            (Some(prompt), [message]) if message.content.trim() == prompt.trim()
        );
        let conversation = match &foreign.prompt {
            // What was sent is kept as it was.
            Some(prompt) if asked.0.len() == 1 && asked.0[0].content != *prompt => {
                let mut sent = Conversation::default();
                sent.say(Role::User, prompt);
                sent
            }
            _ => asked,
        };
        let ours = item.anchor(condition).map(f64::from);
        let is_ours = foreign.prompt.is_none() || asked_as_today;
        let anchor = match (ours, foreign.anchor) {
            (None, _) => None,
            (Some(_), Some(shown)) if shown > 0.0 => Some(shown),
            (Some(anchor), _) if is_ours => Some(anchor),
            _ => return Err(Unplaced::Anchor),
        };
        let cell = (
            foreign.model.clone(),
            task.name.to_string(),
            item.id.to_string(),
            condition,
        );
        let taken = self.taken.entry(cell).or_default();
        let next = taken.last().map_or(1, |last| last + 1);
        let epoch = foreign.epoch.unwrap_or(next).max(1);
        if !taken.insert(epoch) {
            return Err(Unplaced::Taken(epoch));
        }
        self.known.insert(foreign.source.clone());
        let prompt = Prompt::from(conversation);
        let sampling = Sampling::default();
        let key = KeyBase::new(&foreign.model, &sampling, &prompt).key(epoch);
        let status = match (&foreign.reply, &foreign.error) {
            (Some(reply), _) if reply.trim().is_empty() => Status::Empty,
            (Some(_), _) => Status::Ok,
            (None, _) => Status::Error,
        };
        let spot = Spot {
            key,
            model: foreign.model.as_str().into(),
            task: task.name.clone(),
            item: item.id.clone(),
            tier: Some(item.tier),
            condition,
            anchor,
            epoch,
            turn: 1,
            attempt: 1,
        };
        let started = foreign.started.clone().unwrap_or_else(|| now.to_owned());
        let sent = Sent::elsewhere(provider, &foreign.model);
        let mut record = Record::sent(spot, &prompt, sent, started);
        record.status = status;
        record.error = (status == Status::Error).then(|| RecordedError {
            class: ErrorClass::Server,
            http_status: None,
            message: foreign
                .error
                .clone()
                .unwrap_or_else(|| "no reply in the file".to_owned()),
        });
        record.text.clone_from(&foreign.reply);
        record.tokens = foreign.tokens;
        record.cost_usd.reported = foreign.cost;
        record.request_id = Some(foreign.source.clone());
        Ok(record)
    }

    fn place(&self, foreign: &Foreign) -> Result<(&'a Task, usize, Condition), Unplaced> {
        let by_prompt = foreign
            .prompt
            .as_ref()
            .and_then(|prompt| self.prompts.get(prompt.trim()))
            .copied();
        let (Some(item), Some(condition)) = (&foreign.item, foreign.condition) else {
            return by_prompt.ok_or(Unplaced::Unknown);
        };
        let task = match &foreign.task {
            Some(name) => self
                .tasks
                .get(name)
                .ok_or_else(|| Unplaced::Task(name.clone()))?,
            None => by_prompt.ok_or(Unplaced::Unknown)?.0,
        };
        if task.most_turns() != 1 {
            return Err(Unplaced::SeveralAsks(task.name.to_string()));
        }
        if !task.conditions.contains(&condition) {
            return Err(Unplaced::Condition(task.name.to_string(), condition));
        }
        let place = self
            .bank
            .items
            .iter()
            .position(|known| known.id.as_str() == item)
            .ok_or_else(|| Unplaced::Item(item.clone()))?;
        Ok((task, place, condition))
    }
}
