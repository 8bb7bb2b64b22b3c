//! Collecting batches that have ended: their results checked for being whole, and brought into the store once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use chrono::Utc;
use serde_json::Value;

use super::{BatchError, BatchLane, BatchSettings, Collected, Held, sleep};
use crate::ask::budget::{Charge, worst_case};
use crate::ask::line::{fill, half};
use crate::domain::{ErrorClass, SampleKey, Usd};
use crate::provider::{Batch, BatchEntry, BatchState, Headers, ProviderError, Response, read};
use crate::store::{self, LiveBatch, Record, StoreError, cell_path};

/// Looks at results that are not whole before a run lets go of them.
const LOOKS: u32 = 5;

impl BatchLane<'_> {
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
