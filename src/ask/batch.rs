//! Asking by batch: handed over, written down, waited for, collected. A batch outlives the program.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::time::{Duration, Instant};

use chrono::Utc;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::backend::Http;
use super::budget::{Budget, Charge, worst_case};
use super::learned::Learned;
use super::line::{Attempt, Started, fill, half};
use super::plan::{Job, form_of};
use super::progress::Progress;
use super::retry::{Action, action};
use crate::domain::{ErrorClass, Parameter, SampleKey, Usd};
use crate::model::Model;
use crate::provider::{
    Batch, BatchApi, BatchCall, BatchEntry, BatchState, Call, Headers, ProviderError, Response,
    read,
};
use crate::store::{
    self, BatchLog, LiveBatch, Record, Recorder, StoreError, cell_path, known_batches,
};

/// Looks at results that are not whole before a run lets go of them.
const LOOKS: u32 = 5;

/// Most pages of a list of batches that are looked through.
const PAGES: usize = 50;

/// How far apart our clock and the service's may be, in seconds.
const CLOCKS_APART: i64 = 300;

/// A model that is asked by batch.
pub struct BatchLane<'a> {
    /// The model.
    pub model: &'a Model,
    /// The service.
    pub http: &'a Http,
    /// What is under way.
    pub log: &'a mut BatchLog,
    /// What the server's refusals have taught.
    pub learned: Learned,
    /// The file of the recorder for a line.
    pub file_of: &'a (dyn Fn(&Record) -> Option<usize> + Sync),
}

/// What concerns all batches of a run.
pub struct BatchSettings<'a> {
    /// The store's writer.
    pub recorder: &'a Recorder,
    /// What the person sees.
    pub progress: &'a Progress,
    /// Money.
    pub budget: &'a Budget,
    /// Longest wait that a server may ask for.
    pub max_wait: Duration,
    /// Time between two looks at a batch.
    pub poll: Duration,
    /// Longest time that a service may be out of order.
    pub patience: Duration,
    /// The store.
    pub store: &'a Path,
    /// Stops waiting; batches run on.
    pub stop: CancellationToken,
    /// Drops calls in flight.
    pub abort: CancellationToken,
}

/// What was collected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Samples answered.
    pub answered: u64,
    /// Entries without an answer, by class.
    pub failed: BTreeMap<ErrorClass, u64>,
    /// Parameters that the server refuses.
    pub refused: BTreeSet<Parameter>,
    /// Samples in batches that run on.
    pub running: usize,
}

/// A batch that cannot be handed over or collected.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The service does not take batches in this dialect.
    #[error("{0} takes no batches: leave --batch out, or choose models of OpenAI or Anthropic")]
    NotTaken(String),
    /// The service refused or cannot be reached.
    #[error("{0}")]
    Service(#[from] ProviderError),
    /// The service does not know a batch of ours.
    #[error(
        "the service does not know batch {id}: check the key, or delete its lines from {log} to have its samples asked anew"
    )]
    Lost {
        /// The service's id.
        id: String,
        /// The log.
        log: String,
    },
    /// What is left to ask cannot be told.
    #[error("{0}")]
    Plan(String),
    /// The store can no longer be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BatchLane<'_> {
    fn api(&self) -> Result<&dyn BatchApi, BatchError> {
        self.http
            .dialect
            .batch()
            .ok_or_else(|| BatchError::NotTaken(self.model.name.to_string()))
    }

    async fn call(
        &self,
        call: &BatchCall,
        settings: &BatchSettings<'_>,
    ) -> Result<String, ProviderError> {
        let received = tokio::select! {
            received = self.http.client.send_batch(call) => received?,
            () = settings.abort.cancelled() => {
                return Err(ProviderError::local(ErrorClass::Connection, "interrupted"));
            }
        };
        let response = received.response;
        if !(200..300).contains(&response.status) {
            return Err(ProviderError::from_response(&response, None));
        }
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }

    /// Makes a call again and again until it succeeds, fails for good, or the run stops (`None`). Without `wait` once.
    async fn patiently(
        &self,
        call: &BatchCall,
        wait: bool,
        settings: &BatchSettings<'_>,
    ) -> Result<Option<String>, ProviderError> {
        let began = Instant::now();
        loop {
            let error = match self.call(call, settings).await {
                Ok(body) => return Ok(Some(body)),
                Err(error) => error,
            };
            if settings.stop.is_cancelled() {
                return Ok(None);
            }
            let passing = matches!(
                action(&error, settings.max_wait),
                Action::Retry | Action::RetryLast
            );
            if !passing || !wait || began.elapsed() >= settings.patience {
                return Err(error);
            }
            settings.progress.say(&format!(
                "{}: {}; trying again",
                self.model.name, error.message
            ));
            let wait = error.retry_after.unwrap_or(settings.poll);
            if !sleep(wait, &settings.stop).await {
                return Ok(None);
            }
        }
    }

    /// Hands jobs over as one batch or more, as far as the budget has room, which `held` keeps. Gives the number of jobs
    /// that were left out for want of it.
    ///
    /// # Errors
    /// The service refuses; nothing that it took is forgotten.
    pub async fn submit<'b>(
        &mut self,
        jobs: &[Job],
        settings: &BatchSettings<'b>,
        held: &mut Held<'b>,
    ) -> Result<usize, BatchError> {
        let (most_entries, most_bytes) = self.api()?.largest();
        let mut chunk = Chunk::default();
        let mut left_out = 0;
        for job in jobs {
            let Ok(prompt) = job.prompt(form_of(self.model)) else {
                continue;
            };
            let most = self
                .model
                .price
                .as_ref()
                .map_or_else(Usd::default, |price| {
                    let limit = job.sampling.max_output_tokens.unwrap_or(u32::MAX);
                    half(worst_case(price, prompt.len_bytes(), prompt.0.len(), limit))
                });
            if !settings.budget.has_room(chunk.most + most) {
                left_out += 1;
                continue;
            }
            let sampling = job.sampling.without(&self.learned.dropped);
            let request = self.http.dialect.request(&Call {
                base_url: &self.http.base_url,
                model_id: &self.model.model_id,
                conversation: &prompt,
                sampling: &sampling,
                limit_field: self.learned.limit_field,
                stream: false,
            });
            let attempt = Attempt {
                model: self.model,
                job,
                prompt: &prompt,
                sampling: &sampling,
                dropped: &self.learned.dropped,
            };
            let full = chunk.entries.len() >= most_entries
                || chunk.bytes + request.body.len() + 200 > most_bytes;
            let entry = attempt.outline(&Started::now(Duration::ZERO, Duration::ZERO));
            if full {
                let whole = std::mem::take(&mut chunk);
                left_out += self.submit_chunk(whole, settings, held).await?;
            }
            chunk.add(entry, request.body, most);
        }
        if !chunk.entries.is_empty() {
            left_out += self.submit_chunk(chunk, settings, held).await?;
        }
        Ok(left_out)
    }

    /// Hands one batch over. Gives the number of its jobs if the budget has no room for it after all.
    async fn submit_chunk<'b>(
        &mut self,
        chunk: Chunk,
        settings: &BatchSettings<'b>,
        held: &mut Held<'b>,
    ) -> Result<usize, BatchError> {
        let n = chunk.entries.len();
        // Taken before anything is sent: other models hand over meanwhile.
        let Some(reserved) = settings.budget.reserve_now(chunk.most) else {
            return Ok(n);
        };
        let ids: Vec<&str> = chunk.bodies.iter().map(|(id, _)| id.as_str()).collect();
        let now = Utc::now();
        let mark = format!("{} {}", now.to_rfc3339(), ids.join(" "));
        let tag = blake3::hash(mark.as_bytes()).to_hex()[..16].to_owned();
        let base_url = &self.http.base_url;
        // The upload alone starts nothing, so it comes before the intent and may be repeated.
        let uploaded = match self.api()?.upload(base_url, &chunk.bodies) {
            Some(call) => match self.patiently(&call, true, settings).await? {
                Some(body) => Some(as_json(&body)?),
                None => return Ok(n),
            },
            None => None,
        };
        let create = self
            .api()?
            .create(base_url, &chunk.bodies, uploaded.as_ref(), &tag);
        self.log.intend(&tag, now.timestamp(), chunk.entries)?;
        let created = match self.call(&create, settings).await {
            Ok(body) => as_json(&body),
            Err(error) => Err(error),
        };
        let error = match created {
            Ok(json) => match self.api()?.batch(&json) {
                Some(batch) => {
                    self.log.submitted(&tag, &batch.id)?;
                    settings.progress.say(&format!(
                        "{}: batch {} holds {n} samples; it runs on if this program ends",
                        self.model.name, batch.id
                    ));
                    held.0.insert(tag, reserved);
                    return Ok(0);
                }
                None => ProviderError::local(
                    ErrorClass::BadBody,
                    "the service's answer describes no batch; the next run looks for it",
                ),
            },
            Err(error) => error,
        };
        // A refusal means that nothing was made. Silence, or a gateway that gave up, may hide a batch: the next run finds it.
        if refuses(&error) {
            self.log.abandon(&tag, &error.message)?;
        } else {
            held.0.insert(tag, reserved);
        }
        Err(error.into())
    }

    /// Looks for batches whose id was never written down.
    async fn find_lost(
        &mut self,
        wait: bool,
        settings: &BatchSettings<'_>,
    ) -> Result<(), BatchError> {
        let lost: Vec<LiveBatch> = self
            .log
            .live()
            .iter()
            .filter(|batch| batch.id.is_none())
            .cloned()
            .collect();
        let Some(oldest) = lost.iter().map(|batch| batch.at - CLOCKS_APART).min() else {
            return Ok(());
        };
        let Some(listed) = self.list_since(oldest, wait, settings).await? else {
            return Ok(());
        };
        let mut known = known_batches(settings.store)?;
        for batch in lost {
            let marked = self.api()?.keeps_marks();
            let mut candidates: Vec<&Batch> = listed
                .iter()
                .filter(|listed| !known.contains(&listed.id))
                .filter(|listed| match &listed.tag {
                    Some(tag) => *tag == batch.tag,
                    None if marked => false,
                    // A service that keeps no mark: one of the same size since. Its results tell whether it is ours.
                    None => {
                        listed.entries == Some(batch.entries.len() as u64)
                            && listed
                                .created
                                .is_some_and(|created| created >= batch.at - CLOCKS_APART)
                    }
                })
                .collect();
            candidates.sort_by_key(|listed| listed.created);
            match candidates.first() {
                Some(found) => {
                    known.insert(found.id.clone());
                    self.log.submitted(&batch.tag, &found.id)?;
                }
                None => self.log.abandon(&batch.tag, "the service never took it")?,
            }
        }
        Ok(())
    }

    /// The service's batches since a moment, newest first; `None` if the run stops.
    async fn list_since(
        &self,
        since: i64,
        wait: bool,
        settings: &BatchSettings<'_>,
    ) -> Result<Option<Vec<Batch>>, BatchError> {
        let mut listed: Vec<Batch> = Vec::new();
        for _ in 0..PAGES {
            let before = listed.last().map(|batch| batch.id.clone());
            let call = self.api()?.list(&self.http.base_url, before.as_deref());
            let Some(body) = self.patiently(&call, wait, settings).await? else {
                return Ok(None);
            };
            let json = as_json(&body)?;
            let Some(page) = json["data"].as_array() else {
                return Err(ProviderError::local(
                    ErrorClass::BadBody,
                    "the service's answer lists no batches",
                )
                .into());
            };
            let api = self.api()?;
            listed.extend(page.iter().filter_map(|json| api.batch(json)));
            let older = listed
                .last()
                .and_then(|batch| batch.created)
                .is_some_and(|created| created < since);
            if page.is_empty() || older || json["has_more"] != true {
                break;
            }
        }
        Ok(Some(listed))
    }

    /// Collects batches that have ended; with `wait`, looks again and again until all have.
    ///
    /// # Errors
    /// The service refuses, or the store cannot be written. What was collected before is kept.
    pub async fn collect(
        &mut self,
        wait: bool,
        settings: &BatchSettings<'_>,
        held: &mut Held<'_>,
    ) -> Result<Collected, BatchError> {
        let mut collected = Collected::default();
        let mut told: HashMap<String, String> = HashMap::new();
        let mut looks = 0;
        loop {
            self.find_lost(wait, settings).await?;
            let tags: Vec<String> = self
                .log
                .live()
                .iter()
                .map(|batch| batch.tag.clone())
                .collect();
            for tag in tags {
                let Some(live) = self.log.live().iter().find(|batch| batch.tag == tag) else {
                    continue;
                };
                let entries = live.entries.len();
                let Some(batch) = self.look(live, wait, settings).await? else {
                    continue;
                };
                let ended = batch
                    .ended
                    .map(|ended| format!(", {ended} of {entries} ended"))
                    .unwrap_or_default();
                let line = format!(
                    "{}: batch {}: {}{ended}",
                    self.model.name, batch.id, batch.word
                );
                if told.get(&batch.id) != Some(&line) {
                    settings.progress.say(&line);
                    told.insert(batch.id.clone(), line);
                }
                if batch.state == BatchState::Ended {
                    let live = live.clone();
                    let whole = self
                        .fetch(&live, &batch, wait, settings, held, &mut collected)
                        .await?;
                    looks += u32::from(!whole);
                }
            }
            if looks >= LOOKS {
                return Err(ProviderError::local(
                    ErrorClass::BadBody,
                    "the results of a batch stay incomplete; the next run looks again",
                )
                .into());
            }
            let running = self
                .log
                .live()
                .iter()
                .map(|batch| batch.entries.len())
                .sum();
            collected.running = running;
            if running == 0 || !wait || !sleep(settings.poll, &settings.stop).await {
                return Ok(collected);
            }
        }
    }

    async fn look(
        &self,
        live: &LiveBatch,
        wait: bool,
        settings: &BatchSettings<'_>,
    ) -> Result<Option<Batch>, BatchError> {
        let Some(id) = &live.id else { return Ok(None) };
        let call = self.api()?.status(&self.http.base_url, id);
        let body = match self.patiently(&call, wait, settings).await {
            Ok(Some(body)) => body,
            Ok(None) => return Ok(None),
            Err(error) if error.http_status == Some(404) => {
                return Err(BatchError::Lost {
                    id: id.clone(),
                    log: self.log.path().display().to_string(),
                });
            }
            Err(error) => return Err(error.into()),
        };
        let json = serde_json::from_str(&body).unwrap_or(Value::Null);
        Ok(self.api()?.batch(&json))
    }

    /// Brings the results of an ended batch into the store. False if they are not whole: they are left for the next look.
    async fn fetch(
        &mut self,
        live: &LiveBatch,
        batch: &Batch,
        wait: bool,
        settings: &BatchSettings<'_>,
        held: &mut Held<'_>,
        collected: &mut Collected,
    ) -> Result<bool, BatchError> {
        let mut open: HashMap<String, &Record> = live
            .entries
            .iter()
            .map(|entry| (LiveBatch::custom_id(entry), entry))
            .collect();
        let mut ends: Vec<(&Record, BatchEntry)> = Vec::new();
        let mut good = 0;
        let mut strangers = 0;
        let mut broken = false;
        for call in self.api()?.results(&self.http.base_url, batch) {
            let Some(body) = self.patiently(&call, wait, settings).await? else {
                return Ok(true);
            };
            for line in body.lines().filter(|line| !line.trim().is_empty()) {
                let json: Value = serde_json::from_str(line).unwrap_or(Value::Null);
                let Some((id, entry)) = self.api()?.entry(&json) else {
                    broken = true;
                    continue;
                };
                good += u64::from(matches!(&entry, BatchEntry::Response { status: 200, .. }));
                // Results come in any order; one that came before, or was never asked for, is passed over.
                match open.remove(&id) {
                    Some(outline) => ends.push((outline, entry)),
                    None => strangers += 1,
                }
            }
        }
        if broken || batch.completed.is_some_and(|completed| good < completed) {
            settings.progress.say(&format!(
                "{}: the results of batch {} are not whole; they are fetched again",
                self.model.name, batch.id
            ));
            return Ok(false);
        }
        if ends.is_empty() && strangers > 0 {
            settings.progress.say(&format!(
                "{}: batch {} is another's; ours is looked for again",
                self.model.name, batch.id
            ));
            self.log.mistaken(&live.tag)?;
            return Ok(true);
        }
        for outline in open.into_values() {
            let why = format!("the batch {} without it", batch.word);
            ends.push((outline, BatchEntry::NotRun(why)));
        }
        // What an earlier run stored before it was killed.
        let stored = stored_of(settings.store, live, &batch.id)?;
        let mut cost = Usd::default();
        for (outline, entry) in ends {
            if !stored.contains(&(outline.key.clone(), outline.turn)) {
                cost = cost
                    + self
                        .keep(outline, batch, entry, settings, collected)
                        .await?;
            }
        }
        self.log.collected(&live.tag)?;
        match held.0.remove(&live.tag) {
            Some(reserved) => reserved.settle(Charge::Known(cost)),
            None => settings.budget.add(cost),
        }
        Ok(true)
    }

    async fn keep(
        &self,
        outline: &Record,
        batch: &Batch,
        entry: BatchEntry,
        settings: &BatchSettings<'_>,
        collected: &mut Collected,
    ) -> Result<Usd, BatchError> {
        let Some(file) = (self.file_of)(outline) else {
            return Ok(Usd::default());
        };
        let mut answer = match entry {
            BatchEntry::Response { status, body } => read(
                self.http.dialect.as_ref(),
                Response {
                    url: format!("batch {}", batch.id),
                    status,
                    headers: Headers::default(),
                    body: body.into_bytes(),
                    received: Utc::now(),
                },
            ),
            BatchEntry::NotRun(why) => Err(ProviderError::local(
                ErrorClass::Timeout,
                format!("not run in batch {}: {why}", batch.id),
            )),
        };
        match &answer {
            Err(error) if error.class != ErrorClass::Policy => {
                *collected.failed.entry(error.class).or_default() += 1;
                collected.refused.extend(error.parameter);
            }
            _ => {
                collected.answered += 1;
                settings.progress.answered();
            }
        }
        let mut record = Box::new(outline.clone());
        record.batch = Some(batch.id.clone());
        fill(&mut record, self.model.price.as_ref(), &mut answer);
        let since = chrono::DateTime::parse_from_rfc3339(&record.clock.started).ok();
        let flown = since.and_then(|since| (Utc::now() - since.to_utc()).to_std().ok());
        record.clock.in_flight_ms = flown.map_or(0, |flown| {
            u64::try_from(flown.as_millis()).unwrap_or(u64::MAX)
        });
        let cost = record.cost_usd.computed.max(record.cost_usd.reported);
        // A reply without counts may have cost as much as it could.
        let cost = cost.or_else(|| match (&self.model.price, record.status) {
            (Some(price), status) if status.is_answer() => {
                let said = &record.conversation;
                let limit = record.sent.sampling.max_output_tokens.unwrap_or(0);
                Some(half(worst_case(
                    price,
                    said.len_bytes(),
                    said.0.len(),
                    limit,
                )))
            }
            _ => None,
        });
        settings.recorder.append(file, record).await?;
        Ok(cost.unwrap_or_default())
    }
}

/// Entries that go over together.
#[derive(Debug, Default)]
struct Chunk {
    entries: Vec<Record>,
    bodies: Vec<(String, String)>,
    bytes: usize,
    most: Usd,
}

impl Chunk {
    fn add(&mut self, entry: Record, body: String, most: Usd) {
        self.bytes += body.len() + 200;
        self.bodies.push((LiveBatch::custom_id(&entry), body));
        self.entries.push(entry);
        self.most = self.most + most;
    }
}

/// Money held back for batches under way, by tag.
#[derive(Debug, Default)]
pub struct Held<'b>(HashMap<String, super::budget::Reserved<'b>>);

/// Waits; false if the run stops meanwhile.
async fn sleep(wait: Duration, stop: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(wait) => true,
        () = stop.cancelled() => false,
    }
}

fn as_json(body: &str) -> Result<Value, ProviderError> {
    serde_json::from_str(body)
        .map_err(|_| ProviderError::local(ErrorClass::BadBody, "the batch service sent no JSON"))
}

/// Whether a failure to make a batch means that none was made.
fn refuses(error: &ProviderError) -> bool {
    error
        .http_status
        .is_some_and(|status| (400..500).contains(&status) && !matches!(status, 408 | 409))
}

/// The asks of a batch whose lines are in the store.
fn stored_of(
    store: &Path,
    live: &LiveBatch,
    id: &str,
) -> Result<HashSet<(SampleKey, u32)>, StoreError> {
    let files: BTreeSet<_> = live
        .entries
        .iter()
        .map(|entry| cell_path(store, &entry.model, &entry.task))
        .collect();
    let mut stored = HashSet::new();
    for file in files.iter().filter(|file| file.is_file()) {
        store::read_file(file, |record| {
            if record.batch.as_deref() == Some(id) {
                stored.insert((record.key, record.turn));
            }
        })?;
    }
    Ok(stored)
}
