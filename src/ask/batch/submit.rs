//! Handing jobs over: chunks that the service takes, written down before they are sent.

use std::time::Duration;

use chrono::Utc;

use super::{BatchError, BatchLane, BatchSettings, Held, as_json};
use crate::ask::budget::worst_case;
use crate::ask::line::{Attempt, Started, half};
use crate::ask::plan::{Job, form_of};
use crate::domain::{ErrorClass, Usd};
use crate::provider::{Call, ProviderError};
use crate::store::{LiveBatch, Record};

impl BatchLane<'_> {
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

/// Whether a failure to make a batch means that none was made.
fn refuses(error: &ProviderError) -> bool {
    error
        .http_status
        .is_some_and(|status| (400..500).contains(&status) && !matches!(status, 408 | 409))
}
