//! The plan: samples wanted minus samples stored. Pure.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::str::FromStr;
use std::sync::Arc;

use crate::bank::Subject;
use crate::domain::{
    Condition, Conversation, Judging, KeyBase, Parameter, Prompt, SampleKey, Sampling, Scoring,
    ScoringMode, Status,
};
use crate::model::{Dialect, Model};
use crate::store::Record;
use crate::task::{Form, RenderError, Task};

/// What the user asks for.
#[derive(Debug, Clone)]
pub struct Wanted<'a> {
    /// The model.
    pub model: &'a Model,
    /// The task.
    pub task: &'a Arc<Task>,
    /// The questions or cases, in order.
    pub items: &'a [Subject],
    /// Repetitions of each prompt, from 1.
    pub epochs: u32,
    /// Statuses that do not count as answers this time.
    pub again: &'a [Status],
    /// How answers are scored, in tasks that give them.
    pub mode: ScoringMode,
    /// The part of the plan that this machine asks.
    pub shard: Option<Shard>,
    /// Question and epoch pairs of the cells before this one, so that shards stay even over many small cells.
    pub before: usize,
}

/// One of several parts of a plan: `2/8` is the second of eight.
///
/// Question and epoch pairs go round: all conditions of a pair stay together, the parts are disjoint and differ by at
/// most one pair, and none depends on what a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    fn holds(self, pair: usize) -> bool {
        pair % self.of + 1 == self.number
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let number = |part: &str| part.trim().parse::<usize>().ok();
        match parts.and_then(|(i, n)| Some((number(i)?, number(n)?))) {
            Some((number, of)) if number >= 1 && number <= of => Ok(Self { number, of }),
            _ => Err("must be of the form i/n with i from 1 to n, such as 2/8".to_owned()),
        }
    }
}

/// How much larger the output limit of a truncated sample is when it is asked again.
const LARGER: u32 = 4;

/// One sample to ask for.
#[derive(Debug, Clone)]
pub struct Job {
    /// The task.
    pub task: Arc<Task>,
    /// The question or case.
    pub item: Subject,
    /// The condition.
    pub condition: Condition,
    /// Repetition, from 1.
    pub epoch: u32,
    /// Identity.
    pub key: SampleKey,
    /// Settings, with the seed of this sample.
    pub sampling: Sampling,
    /// The answers to be scored in place of a reply, if the task gives any.
    pub scoring: Option<Arc<Scoring>>,
    /// What its line says of a judge.
    pub judging: Option<Arc<Judging>>,
    /// The conversation with stand-ins for replies not known yet.
    pub outline: Prompt,
    /// Replies of earlier turns that are stored.
    pub replies: Vec<String>,
    /// Attempts of the open turn that are stored.
    pub attempts: u32,
}

impl Job {
    /// How many replies the task asks for.
    #[must_use]
    pub fn asks(&self) -> usize {
        self.task.turns(self.condition)
    }

    /// Prompts that its open ask sends: one for each answer to be scored and one by itself, else one.
    #[must_use]
    pub fn prompts(&self) -> usize {
        self.scoring
            .as_ref()
            .map_or(1, |scoring| scoring.targets.len() + 1)
    }

    /// Bytes of text that its open ask sends with this conversation.
    #[must_use]
    pub fn sent_bytes(&self, conversation: &Conversation) -> usize {
        let targets = self
            .scoring
            .iter()
            .flat_map(|scoring| scoring.targets.iter());
        let answers: usize = targets.map(|target| target.len() + 1).sum();
        self.prompts() * conversation.len_bytes() + answers
    }

    /// Most tokens that its open ask lets the model generate; a server that scores makes one for each prompt.
    #[must_use]
    pub fn output_limit(&self, otherwise: u32) -> u32 {
        match self.scoring {
            Some(_) => u32::try_from(self.prompts()).unwrap_or(u32::MAX),
            None => self.sampling.max_output_tokens.unwrap_or(otherwise),
        }
    }

    /// Whether every ask has its reply.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.replies.len() >= self.asks()
    }

    /// The open ask, from 1.
    #[must_use]
    pub fn turn(&self) -> u32 {
        u32::try_from(self.replies.len() + 1).unwrap_or(u32::MAX)
    }

    /// The conversation up to the open ask.
    ///
    /// # Errors
    /// An earlier reply breaks the template.
    pub fn prompt(&self, form: Form) -> Result<Prompt, RenderError> {
        if self.asks() == 1 {
            return Ok(self.outline.clone());
        }
        let rendered = self
            .task
            .conversation(&self.item, self.condition, &self.replies, form)?;
        let conversation =
            rendered.map_or_else(Conversation::default, |(conversation, _)| conversation);
        Ok(conversation.into())
    }
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
    model_id: String,
    turns: HashMap<(SampleKey, u32), Turn>,
    dropped: BTreeSet<Parameter>,
    output: Vec<u64>,
    batched: HashSet<(SampleKey, u32)>,
}

/// What is stored of one ask.
#[derive(Debug, Clone, Default)]
struct Turn {
    attempts: u32,
    /// The best answer: text that came to its end before anything else.
    answer: Option<(Status, String)>,
    /// Largest limit under which a reply was cut off.
    cut_at: u32,
}

/// Parameters by name. The limit is never one of them: without it a reply could cost anything.
pub fn refused(names: &[String]) -> impl Iterator<Item = Parameter> {
    names
        .iter()
        .filter_map(|name| name.parse().ok())
        .filter(|parameter| *parameter != Parameter::MaxOutputTokens)
}

impl Stored {
    /// Nothing yet of a model that is asked under this id.
    #[must_use]
    pub fn new(model_id: &str) -> Self {
        Self {
            model_id: model_id.to_owned(),
            ..Self::default()
        }
    }

    /// Takes note of a line. Failed attempts are counted and do not answer. Texts are kept only where a later ask may
    /// repeat them.
    pub fn add(&mut self, record: &Record, keep_text: bool) {
        let place = (record.key.clone(), record.turn);
        let turn = self.turns.entry(place).or_default();
        turn.attempts = turn.attempts.max(record.attempt);
        if !record.status.is_answer() {
            return;
        }
        if *record.sent.model == *self.model_id {
            self.dropped.extend(refused(&record.sent.dropped));
        }
        self.output
            .extend(record.tokens.output.map(|tokens| tokens.0));
        if record.status == Status::Truncated {
            let limit = record.sent.sampling.max_output_tokens.unwrap_or(0);
            turn.cut_at = turn.cut_at.max(limit);
        }
        let better = turn
            .answer
            .as_ref()
            .is_none_or(|(known, _)| *known != Status::Ok);
        if better {
            let text = record.text.clone().filter(|_| keep_text);
            let text = text.unwrap_or_default();
            turn.answer = Some((record.status, text));
        }
    }

    /// Takes note of an ask that sits in a batch which may still answer it.
    pub fn add_batched(&mut self, key: SampleKey, turn: u32) {
        self.batched.insert((key, turn));
    }

    /// Parameters that were left out of calls that were answered.
    #[must_use]
    pub fn dropped(&self) -> &BTreeSet<Parameter> {
        &self.dropped
    }

    /// Output tokens of every answered call whose count is known.
    #[must_use]
    pub fn output_tokens(&self) -> &[u64] {
        &self.output
    }
}

/// What a model can be sent.
#[must_use]
pub fn form_of(model: &Model) -> Form {
    Form {
        prefill: model.prefill,
        tools: model.tools,
    }
}

/// The settings of one sample.
///
/// A seed of a server model grows by one with each epoch, else all epochs would be one reply. Weights in this process
/// that sample get a seed of their own for each conversation and epoch, so that no two draws are tied.
#[must_use]
pub fn sampling_of(
    model: &Model,
    task: &Task,
    conversation: &Conversation,
    epoch: u32,
) -> Sampling {
    let mut sampling = model.sampling.clone();
    let prescribed = task.sampling;
    sampling.temperature = prescribed.temperature.or(sampling.temperature);
    sampling.top_p = prescribed.top_p.or(sampling.top_p);
    let dialect = model.provider.dialect;
    let draws = match dialect {
        Dialect::InProcess => sampling.temperature.is_some_and(|value| value > 0.0),
        Dialect::Scripted => model.model_id.contains("noise="),
        _ => false,
    };
    sampling.seed = match dialect {
        _ if draws => {
            let mut words = serde_json::json!([sampling.seed.unwrap_or(0), conversation, epoch]);
            if dialect == Dialect::Scripted {
                // Two scripts are two models, and their noise is not the same.
                words = serde_json::json!([words, model.model_id]);
            }
            let hash = blake3::hash(words.to_string().as_bytes());
            let [a, b, c, d, ..] = *hash.as_bytes();
            Some(u32::from_le_bytes([a, b, c, d]))
        }
        Dialect::InProcess => None,
        _ => sampling.seed.map(|seed| seed.wrapping_add(epoch - 1)),
    };
    sampling
}

/// The samples of a cell.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Those to ask for, in the order item, condition, epoch.
    pub jobs: Vec<Job>,
    /// Those that are answered.
    pub answered: usize,
    /// Those that sit in a batch which may still answer them.
    pub batched: usize,
}

/// The samples to ask for, and how many need not be asked.
///
/// # Errors
/// A template that cannot be rendered for one of the items.
pub fn plan(wanted: &Wanted<'_>, stored: &Stored) -> Result<Plan, PlanError> {
    let mut plan = Plan::default();
    let mut seen = HashSet::new();
    for (place, item) in wanted.items.iter().enumerate() {
        let wording = wording(wanted, item)?;
        for condition in &wanted.task.conditions {
            if !item.asks_under(*condition) {
                continue;
            }
            let scoring = wanted
                .task
                .scoring(item.borrowed(), wanted.mode)
                .map(Arc::new);
            let mut form = form_of(wanted.model);
            // What is scored follows the start of a reply, whether the model is known to take one or not.
            form.prefill |= scoring.is_some();
            // Scores do not change from one time to the next.
            let epochs = if scoring.is_some() { 1 } else { wanted.epochs };
            let mut prompts = Prompts {
                wanted,
                item,
                condition: *condition,
                form,
                known: None,
            };
            // Epochs mostly share their settings, and so most of the work of a key.
            let mut base: Option<(Arc<str>, Sampling, KeyBase)> = None;
            for epoch in 1..=wanted.task.trials(*condition, epochs) {
                let (item, outline) = prompts.of(epoch)?;
                let pair = wanted.before + place * epochs as usize;
                let pair = pair + (epoch - 1) as usize % epochs as usize;
                // Nothing is sampled where answers are scored.
                let sampling = match scoring {
                    Some(_) => Sampling::default(),
                    None => sampling_of(wanted.model, wanted.task, &outline, epoch),
                };
                let key = match &base {
                    Some((hash, same, base)) if *hash == outline.hash && *same == sampling => {
                        base.key(epoch)
                    }
                    _ => {
                        let id = &wanted.model.model_id;
                        let new = match &scoring {
                            Some(scoring) => KeyBase::scoring(id, &sampling, &outline, scoring),
                            None => KeyBase::new(id, &sampling, &outline),
                        };
                        let key = new.key(epoch);
                        base = Some((Arc::clone(&outline.hash), sampling.clone(), new));
                        key
                    }
                };
                // Parts of stimuli without the anchor are the same prompt under both anchors.
                if matches!(item, Subject::Excerpt(_)) && !seen.insert(key.clone()) {
                    continue;
                }
                if wanted.shard.is_some_and(|shard| !shard.holds(pair)) {
                    continue;
                }
                let judging = wanted
                    .task
                    .judging(item.borrowed(), *condition, wording.clone());
                plan.add(
                    Job {
                        task: Arc::clone(wanted.task),
                        item,
                        condition: *condition,
                        epoch,
                        key,
                        sampling,
                        scoring: scoring.clone(),
                        judging: judging.map(Arc::new),
                        outline,
                        replies: Vec::new(),
                        attempts: 0,
                    },
                    wanted,
                    stored,
                );
            }
        }
    }
    Ok(plan)
}

/// The wording of what is judged, as its lines name it.
fn wording(wanted: &Wanted<'_>, item: &Subject) -> Result<Option<Arc<str>>, PlanError> {
    match item {
        Subject::Judged(judged) => Ok(wanted.task.wording(judged, Form::default())?),
        _ => Ok(None),
    }
}

/// The prompts of an item under a condition, rendered once where all trials have the same.
struct Prompts<'a> {
    wanted: &'a Wanted<'a>,
    item: &'a Subject,
    condition: Condition,
    form: Form,
    known: Option<Prompt>,
}

impl Prompts<'_> {
    fn of(&mut self, epoch: u32) -> Result<(Subject, Prompt), PlanError> {
        let task = self.wanted.task;
        let item = task.at_trial(self.item, epoch);
        if let Some(known) = &self.known {
            return Ok((item, known.clone()));
        }
        let outline = Prompt::from(task.outline(&item, self.condition, self.form)?);
        if !self.condition.is_drawn(task.suite) {
            self.known = Some(outline.clone());
        }
        Ok((item, outline))
    }
}

impl Plan {
    /// Adds a job with what is stored of it, unless it is answered or sits in a batch.
    fn add(&mut self, mut job: Job, wanted: &Wanted<'_>, stored: &Stored) {
        let turns = u32::try_from(job.asks()).unwrap_or(u32::MAX);
        let stored_turn = |turn| stored.turns.get(&(job.key.clone(), turn));
        job.replies = (1..=turns)
            .map_while(|turn| stored_turn(turn)?.answer.clone())
            .take_while(|(status, _)| !wanted.again.contains(status))
            .map(|(_, text)| text)
            .collect();
        if job.is_complete() {
            self.answered += 1;
            return;
        }
        let turn = job.turn();
        if stored.batched.contains(&(job.key.clone(), turn)) {
            self.batched += 1;
            return;
        }
        let open = stored_turn(turn).cloned().unwrap_or_default();
        if open.cut_at > 0 && wanted.again.contains(&Status::Truncated) {
            // The same sample with more room; what was sent stands in its line.
            let larger = open.cut_at.saturating_mul(LARGER);
            job.sampling.max_output_tokens = job.sampling.max_output_tokens.max(Some(larger));
        }
        job.attempts = open.attempts;
        self.jobs.push(job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_disjoint_even_and_complete() {
        let shards: Vec<Shard> = (1..=7).map(|i| format!("{i}/7").parse().unwrap()).collect();
        let mut sizes = [0; 7];
        for pair in 0..1000 {
            let holders: Vec<usize> = (0..7).filter(|i| shards[*i].holds(pair)).collect();
            assert_eq!(holders.len(), 1);
            sizes[holders[0]] += 1;
        }
        assert!(sizes.iter().all(|size| (142..=143).contains(size)));
        for wrong in ["0/3", "4/3", "1", "a/b", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
