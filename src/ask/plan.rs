//! The plan: samples wanted minus samples stored. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bank::Item;
use crate::domain::{Condition, Conversation, SampleKey, Sampling};
use crate::model::{Dialect, Model};
use crate::store::Record;
use crate::task::{RenderError, Task};

/// What the user asks for.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The model.
    pub model: &'a Model,
    /// The task.
    pub task: &'a Arc<Task>,
    /// The questions, in order.
    pub items: &'a [Arc<Item>],
    /// Repetitions of each prompt, from 1.
    pub epochs: u32,
}

/// One sample to ask for.
#[derive(Debug, Clone)]
pub struct Job {
    /// The task.
    pub task: Arc<Task>,
    /// The question.
    pub item: Arc<Item>,
    /// The anchor condition.
    pub condition: Condition,
    /// Repetition, from 1.
    pub epoch: u32,
    /// Identity.
    pub key: SampleKey,
    /// Settings, with the seed of this sample.
    pub sampling: Sampling,
    /// The conversation with stand-ins for replies not known yet.
    pub outline: Conversation,
    /// Replies of earlier turns that are stored.
    pub replies: Vec<String>,
    /// Attempts of the open turn that are stored.
    pub attempts: u32,
}

/// A plan that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A template failed.
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// What the store holds of one cell, as far as the plan needs it.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    answers: HashMap<(SampleKey, u32), String>,
    attempts: HashMap<(SampleKey, u32), u32>,
}

impl Stored {
    /// Takes note of a line. Failed attempts are counted and do not answer.
    pub fn add(&mut self, record: &Record) {
        let turn = (record.key.clone(), record.turn);
        let attempts = self.attempts.entry(turn.clone()).or_default();
        *attempts = (*attempts).max(record.attempt);
        if record.status.is_answer() {
            self.answers
                .entry(turn)
                .or_insert_with(|| record.text.clone().unwrap_or_default());
        }
    }
}

/// The settings of one sample.
///
/// A seed of a server model grows by one with each epoch, else all epochs would be one reply. Weights in this process
/// that sample get a seed of their own for each conversation and epoch, so that no two draws are tied.
#[must_use]
pub fn sampling_of(model: &Model, conversation: &Conversation, epoch: u32) -> Sampling {
    let mut sampling = model.sampling.clone();
    let draws = sampling
        .temperature
        .is_some_and(|temperature| temperature > 0.0);
    sampling.seed = match model.provider.dialect {
        Dialect::InProcess if draws => {
            let words = serde_json::json!([sampling.seed.unwrap_or(0), conversation, epoch]);
            let hash = blake3::hash(words.to_string().as_bytes());
            let [a, b, c, d, ..] = *hash.as_bytes();
            Some(u32::from_le_bytes([a, b, c, d]))
        }
        Dialect::InProcess => None,
        _ => sampling.seed.map(|seed| seed.wrapping_add(epoch - 1)),
    };
    sampling
}

/// The samples to ask for, in the order item, condition, epoch, and how many are already answered.
///
/// # Errors
/// A template that cannot be rendered for one of the items.
pub fn plan(wanted: &Wanted<'_>, stored: &Stored) -> Result<(Vec<Job>, usize), PlanError> {
    let mut jobs = Vec::new();
    let mut answered = 0;
    let turns = u32::try_from(wanted.task.asks().count()).unwrap_or(u32::MAX);
    for item in wanted.items {
        for condition in &wanted.task.conditions {
            let outline = wanted
                .task
                .outline(item, *condition, wanted.model.prefill)?;
            for epoch in 1..=wanted.epochs {
                let sampling = sampling_of(wanted.model, &outline, epoch);
                let key = SampleKey::new(&wanted.model.model_id, &sampling, &outline, epoch);
                let replies: Vec<String> = (1..=turns)
                    .map_while(|turn| stored.answers.get(&(key.clone(), turn)).cloned())
                    .collect();
                if replies.len() == turns as usize {
                    answered += 1;
                    continue;
                }
                let turn = u32::try_from(replies.len() + 1).unwrap_or(u32::MAX);
                let attempts = stored.attempts.get(&(key.clone(), turn)).copied();
                jobs.push(Job {
                    task: Arc::clone(wanted.task),
                    item: Arc::clone(item),
                    condition: *condition,
                    epoch,
                    key,
                    sampling,
                    outline: outline.clone(),
                    replies,
                    attempts: attempts.unwrap_or(0),
                });
            }
        }
    }
    Ok((jobs, answered))
}
