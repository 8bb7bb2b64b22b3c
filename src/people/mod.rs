//! The same questions, put to people: a page, a small server for it on this machine, and lines for a store of their own.
//!
//! Each person sees each question once, with a low or a high anchor by chance, and cannot go back. Nothing about a person is
//! kept but a random token that tells their answers from those of others, and the day.

mod page;
mod server;

pub use page::page;
pub use server::{PeopleServer, ServeError};

use std::collections::HashSet;

use chrono::{SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

use crate::bank::{Bank, Item};
use crate::domain::{
    Comparison, Condition, Conversation, KeyBase, Prompt, Role, Sampling, Status, grouped,
};
use crate::parse::{Question, read_reply};
use crate::store::{Record, Sent, Spot};

pub use crate::domain::PEOPLE;

/// The task whose column it stands in.
pub const TASK: &str = "classic";

/// Longest answer, in bytes.
const LONGEST: usize = 200;

/// One answer of one person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Random token of the person.
    pub person: String,
    /// The question.
    pub item: String,
    /// The anchor shown.
    pub condition: Condition,
    /// Whether the person thinks it is more or less than the anchor.
    pub comparison: Comparison,
    /// The estimate as typed.
    pub answer: String,
}

/// An answer that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No such question or condition.
    #[error("there is no question `{0}` under that condition")]
    Unknown(String),
    /// The token is no token.
    #[error("the token of the person must be 8 to 64 letters and digits")]
    Token,
    /// The number cannot be read.
    #[error("please write one number above 0, such as 1500 or 2.5 million")]
    Unreadable,
    /// The person answered that question before.
    #[error("this question is answered already")]
    Twice,
}

/// People and what they answered so far.
#[derive(Debug, Default)]
pub struct Panel {
    people: HashSet<u32>,
    answered: HashSet<(u32, String)>,
}

impl Panel {
    /// Takes note of a stored answer.
    pub fn note(&mut self, record: &Record) {
        self.people.insert(record.epoch);
        self.answered
            .insert((record.epoch, record.item.to_string()));
    }

    /// The line of the store for an answer. The person's number stands as its epoch.
    ///
    /// # Errors
    /// An answer that cannot be read, that was given before, or to no question of the bank.
    pub fn record(&mut self, answer: &Answer, bank: &Bank) -> Result<Record, Refused> {
        let token = &answer.person;
        if !(8..=64).contains(&token.len()) || !token.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(Refused::Token);
        }
        let unknown = || Refused::Unknown(answer.item.chars().take(60).collect());
        let item = bank.get(&answer.item.as_str().into()).ok_or_else(unknown)?;
        let anchor = item.anchor(answer.condition).ok_or_else(unknown)?;
        let text = format!("{}\nESTIMATE: {}", answer.comparison, answer.answer.trim());
        let question = Question {
            unit: &item.unit,
            anchor: Some(anchor.get()),
            comparison: true,
        };
        let read = read_reply(&text, &question).value;
        if answer.answer.len() > LONGEST || !read.is_ok_and(|value| value > 0.0) {
            return Err(Refused::Unreadable);
        }
        let number = number_of(token);
        if self.answered.contains(&(number, answer.item.clone())) {
            return Err(Refused::Twice);
        }
        let record = line(answer, item, number, text);
        self.note(&record);
        Ok(record)
    }

    /// Takes back what could not be kept.
    fn forget(&mut self, record: &Record) {
        self.answered
            .remove(&(record.epoch, record.item.to_string()));
    }

    /// Questions that a person has answered.
    #[must_use]
    pub fn count(&self, person: &str) -> usize {
        let number = number_of(person);
        self.answered
            .iter()
            .filter(|(who, _)| *who == number)
            .count()
    }

    /// How many people there are.
    #[must_use]
    pub fn people(&self) -> usize {
        self.people.len()
    }
}

/// The number that stands for a person, from the token: the same in every store, so that stores can be merged.
fn number_of(token: &str) -> u32 {
    let hash = blake3::hash(token.as_bytes());
    let [a, b, c, d, ..] = *hash.as_bytes();
    u32::from_le_bytes([a, b, c, d]).max(1)
}

/// What a person reads: the comparison, then the estimate.
#[must_use]
pub fn wording(item: &Item, condition: Condition) -> Option<(String, String)> {
    let anchor = grouped(item.anchor(condition)?.get());
    let (unit, in_unit) = if item.unit.is_empty() {
        (String::new(), String::new())
    } else {
        (format!(" {}", item.unit), format!(", in {}", item.unit))
    };
    Some((
        format!("Is {} more or less than {anchor}{unit}?", item.text),
        format!("And your estimate of {}{in_unit}?", item.text),
    ))
}

fn line(answer: &Answer, item: &Item, number: u32, text: String) -> Record {
    let mut shown = Conversation::default();
    if let Some((comparison, estimate)) = wording(item, answer.condition) {
        shown.say(Role::User, format!("{comparison}\n{estimate}"));
    }
    let prompt = Prompt::from(shown);
    let sampling = Sampling::default();
    let spot = Spot {
        key: KeyBase::new(PEOPLE, &sampling, &prompt).key(number),
        model: PEOPLE.into(),
        task: TASK.into(),
        item: item.id.clone(),
        tier: Some(item.tier),
        condition: answer.condition,
        anchor: item.anchor(answer.condition).map(f64::from),
        epoch: number,
        turn: 1,
        attempt: 1,
    };
    // The day alone: the minute might say who it was.
    let day = Utc::now().date_naive().and_hms_opt(0, 0, 0);
    let started = day
        .unwrap_or_default()
        .and_utc()
        .to_rfc3339_opts(SecondsFormat::Millis, true);
    let mut record = Record::sent(spot, &prompt, Sent::elsewhere(PEOPLE, PEOPLE), started);
    record.status = Status::Ok;
    record.text = Some(text);
    record.request_id = Some(answer.person.clone());
    record
}
