//! Asking by batch: handed over, written down, waited for, collected. A batch outlives the program.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use chrono::Utc;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::backend::Http;
use super::budget::{Budget, Charge, worst_case};
use super::line::{Attempt, Started, fill, half};
use super::plan::Job;
use super::progress::Progress;
use super::retry::{Action, action};
use crate::domain::{ErrorClass, Parameter, Usd};
use crate::model::Model;
use crate::provider::{
    Batch, BatchApi, BatchCall, BatchEntry, BatchState, Call, Headers, ProviderError, Response,
    read,
};
use crate::store::{BatchLog, LiveBatch, Record, Recorder, StoreError};

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
    /// Stops waiting; batches run on.
    pub stop: CancellationToken,
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

    async fn call(&self, call: &BatchCall) -> Result<String, ProviderError> {
        let response = self.http.client.send_batch(call).await?.response;
        if !(200..300).contains(&response.status) {
            return Err(ProviderError::from_response(&response, None));
        }
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }

    async fn json(&self, call: &BatchCall) -> Result<Value, ProviderError> {
        let body = self.call(call).await?;
        serde_json::from_str(&body).map_err(|_| {
            ProviderError::local(ErrorClass::BadBody, "the batch service sent no JSON")
        })
    }

    /// Looks at a call again and again until it succeeds, fails for good, or the run stops (`None`).
    async fn patiently(
        &self,
        call: &BatchCall,
        settings: &BatchSettings<'_>,
    ) -> Result<Option<String>, ProviderError> {
        loop {
            let error = match self.call(call).await {
                Ok(body) => return Ok(Some(body)),
                Err(error) => error,
            };
            if !matches!(
                action(&error, settings.max_wait),
                Action::Retry | Action::RetryLast
            ) {
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

    /// Hands jobs over as one batch or more, as far as the budget has room. Gives back the reservations by tag, and
    /// how many jobs were left out for want of money.
    ///
    /// # Errors
    /// The service refuses; nothing that it took is forgotten.
    pub async fn submit<'b>(
        &mut self,
        jobs: &[Job],
        dropped: &BTreeSet<Parameter>,
        settings: &BatchSettings<'b>,
        held: &mut Held<'b>,
    ) -> Result<usize, BatchError> {
        let (most_entries, most_bytes) = self.api()?.largest();
        let mut chunk = Chunk::default();
        let mut left_out = 0;
        for job in jobs {
            let Ok(conversation) = job.conversation(self.model.prefill) else {
                continue;
            };
            let most = self
                .model
                .price
                .as_ref()
                .map_or_else(Usd::default, |price| {
                    let limit = job.sampling.max_output_tokens.unwrap_or(u32::MAX);
                    half(worst_case(
                        price,
                        conversation.len_bytes(),
                        conversation.0.len(),
                        limit,
                    ))
                });
            if !settings.budget.has_room(chunk.most + most) {
                left_out += 1;
                continue;
            }
            let sampling = job.sampling.without(dropped);
            let request = self.http.dialect.request(&Call {
                base_url: &self.http.base_url,
                model_id: &self.model.model_id,
                conversation: &conversation,
                sampling: &sampling,
                limit_field: self.model.provider.limit_field,
                stream: false,
            });
            let attempt = Attempt {
                model: self.model,
                job,
                conversation: &conversation,
                sampling: &sampling,
                dropped,
            };
            let full = chunk.entries.len() >= most_entries
                || chunk.bytes + request.body.len() + 200 > most_bytes;
            if full {
                self.submit_chunk(std::mem::take(&mut chunk), settings, held)
                    .await?;
            }
            chunk.add(
                attempt.outline(&Started::now(Duration::ZERO, Duration::ZERO)),
                request.body,
                most,
            );
        }
        if !chunk.entries.is_empty() {
            self.submit_chunk(chunk, settings, held).await?;
        }
        Ok(left_out)
    }

    async fn submit_chunk<'b>(
        &mut self,
        chunk: Chunk,
        settings: &BatchSettings<'b>,
        held: &mut Held<'b>,
    ) -> Result<(), BatchError> {
        let ids: Vec<&str> = chunk.bodies.iter().map(|(id, _)| id.as_str()).collect();
        let now = Utc::now();
        let mark = format!("{} {}", now.to_rfc3339(), ids.join(" "));
        let tag = blake3::hash(mark.as_bytes()).to_hex()[..16].to_owned();
        let base_url = &self.http.base_url;
        let n = chunk.entries.len();
        // The upload alone starts nothing, so it comes before the intent.
        let uploaded = match self.api()?.upload(base_url, &chunk.bodies) {
            Some(call) => Some(self.json(&call).await?),
            None => None,
        };
        let create = self
            .api()?
            .create(base_url, &chunk.bodies, uploaded.as_ref(), &tag);
        self.log.intend(&tag, now.timestamp(), chunk.entries)?;
        match self.json(&create).await {
            Ok(json) => {
                let Some(batch) = self.api()?.batch(&json) else {
                    return Err(ProviderError::local(
                        ErrorClass::BadBody,
                        "the service's answer describes no batch; the next run looks for it",
                    )
                    .into());
                };
                self.log.submitted(&tag, &batch.id)?;
                settings.progress.say(&format!(
                    "{}: batch {} holds {n} samples; it runs on if this program ends",
                    self.model.name, batch.id
                ));
                if let Some(reserved) = settings.budget.reserve(chunk.most).await {
                    held.0.insert(tag, reserved);
                }
                Ok(())
            }
            // An answer with an error means that nothing was made; silence may hide a batch, which the next run finds.
            Err(error) if error.http_status.is_some_and(|status| status >= 400) => {
                self.log.abandon(&tag, &error.message)?;
                Err(error.into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Looks for batches whose id was never written down.
    async fn find_lost(&mut self) -> Result<(), BatchError> {
        let lost: Vec<LiveBatch> = self
            .log
            .live()
            .iter()
            .filter(|batch| batch.id.is_none())
            .cloned()
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        let list = self.json(&self.api()?.list(&self.http.base_url)).await?;
        let known: Vec<Batch> = list["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|json| self.http.dialect.batch()?.batch(json))
            .collect();
        for batch in lost {
            let found = known.iter().find(|known| {
                if self.log.knows(&known.id) {
                    return false;
                }
                match &known.tag {
                    Some(tag) => *tag == batch.tag,
                    // A service that keeps no mark: the first batch of the same size since.
                    None => {
                        known.entries == Some(batch.entries.len() as u64)
                            && known
                                .created
                                .is_some_and(|created| created >= batch.at - CLOCKS_APART)
                    }
                }
            });
            match found {
                Some(found) => self.log.submitted(&batch.tag, &found.id)?,
                None => self.log.abandon(&batch.tag, "the service never took it")?,
            }
        }
        Ok(())
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
        self.find_lost().await?;
        let mut told: HashMap<String, String> = HashMap::new();
        loop {
            for live in self.log.live().to_vec() {
                let Some(batch) = self.look(&live, settings).await? else {
                    continue;
                };
                let line = format!(
                    "{}: batch {}: {}{}",
                    self.model.name,
                    batch.id,
                    batch.word,
                    batch
                        .ended
                        .map(|ended| format!(", {ended} of {} ended", live.entries.len()))
                        .unwrap_or_default()
                );
                if told.get(&batch.id) != Some(&line) {
                    settings.progress.say(&line);
                    told.insert(batch.id.clone(), line);
                }
                if batch.state == BatchState::Ended {
                    self.fetch(&live, &batch, settings, held, &mut collected)
                        .await?;
                }
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
        settings: &BatchSettings<'_>,
    ) -> Result<Option<Batch>, BatchError> {
        let Some(id) = &live.id else { return Ok(None) };
        let call = self.api()?.status(&self.http.base_url, id);
        let body = match self.patiently(&call, settings).await {
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

    /// Brings the results of an ended batch into the store. Entries without a result count as not run.
    async fn fetch(
        &mut self,
        live: &LiveBatch,
        batch: &Batch,
        settings: &BatchSettings<'_>,
        held: &mut Held<'_>,
        collected: &mut Collected,
    ) -> Result<(), BatchError> {
        let mut open: HashMap<String, &Record> = live
            .entries
            .iter()
            .map(|entry| (LiveBatch::custom_id(entry), entry))
            .collect();
        let mut cost = Usd::default();
        for call in self.api()?.results(&self.http.base_url, batch) {
            let Some(body) = self.patiently(&call, settings).await? else {
                return Ok(());
            };
            for line in body.lines().filter(|line| !line.trim().is_empty()) {
                let json: Value = serde_json::from_str(line).unwrap_or(Value::Null);
                let Some((id, entry)) = self.api()?.entry(&json) else {
                    continue;
                };
                // Results come in any order; one that came before, or was never asked for, is passed over.
                if let Some(outline) = open.remove(&id) {
                    cost = cost
                        + self
                            .keep(outline, batch, entry, settings, collected)
                            .await?;
                }
            }
        }
        for outline in open.into_values() {
            let entry = BatchEntry::NotRun(format!("the batch {} without it", batch.word));
            self.keep(outline, batch, entry, settings, collected)
                .await?;
        }
        self.log.collected(&live.tag)?;
        match held.0.remove(&live.tag) {
            Some(reserved) => reserved.settle(Charge::Known(cost)),
            None => settings.budget.add(cost),
        }
        Ok(())
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
            Ok(_) => {
                collected.answered += 1;
                settings.progress.answered();
            }
            Err(error) => {
                *collected.failed.entry(error.class).or_default() += 1;
                collected.refused.extend(error.parameter);
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
