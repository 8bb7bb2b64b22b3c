//! The line of the store for one attempt.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::{SecondsFormat, Utc};
use rust_decimal::Decimal;

use super::plan::Job;
use crate::domain::{ErrorClass, Parameter, Prompt, Reply, Sampling, Status, Usd};
use crate::model::{Model, Price};
use crate::provider::ProviderError;
use crate::store::{Cost, Record, RecordedError, Sent, Spot};

/// The moments of one attempt.
#[derive(Debug, Clone)]
pub(super) struct Started {
    at: Instant,
    time: String,
    queued: Duration,
    waited: Duration,
}

impl Started {
    pub(super) fn now(queued: Duration, waited: Duration) -> Self {
        Self {
            at: Instant::now(),
            time: Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true),
            queued,
            waited,
        }
    }

    /// Something that began a while ago.
    pub(super) fn since(at: Instant, queued: Duration) -> Self {
        let ago = chrono::Duration::from_std(at.elapsed()).unwrap_or_default();
        Self {
            at,
            time: (Utc::now() - ago).to_rfc3339_opts(SecondsFormat::Millis, true),
            queued,
            waited: Duration::ZERO,
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// What was sent in an attempt, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt<'a> {
    pub(super) model: &'a Model,
    pub(super) job: &'a Job,
    pub(super) prompt: &'a Prompt,
    /// Settings as sent.
    pub(super) sampling: &'a Sampling,
    /// Settings that were left out.
    pub(super) dropped: &'a BTreeSet<Parameter>,
}

/// Half the price.
const BATCH_PRICE: Decimal = Decimal::from_parts(5, 0, 0, false, 1);

impl Attempt<'_> {
    /// The whole line. Text and body move from the answer to the line, since they may be large.
    pub(super) fn record(
        self,
        started: &Started,
        answer: &mut Result<Reply, ProviderError>,
    ) -> Box<Record> {
        let mut record = Box::new(self.outline(started));
        fill(&mut record, self.model.price.as_ref(), answer);
        record.clock.in_flight_ms = millis(started.at.elapsed());
        record
    }

    /// The line of an attempt whose end is not known yet.
    pub(super) fn outline(self, started: &Started) -> Record {
        let job = self.job;
        let spot = Spot {
            key: job.key.clone(),
            model: self.model.name.clone(),
            task: job.task.name.clone(),
            item: job.item.id().clone(),
            tier: job.item.tier(),
            condition: job.condition,
            anchor: job.item.anchor(job.condition),
            epoch: job.epoch,
            turn: job.turn(),
            attempt: job.attempts + 1,
        };
        let sent = Sent {
            provider: self.model.provider.name.clone(),
            model: self.model.model_id.clone(),
            sampling: self.sampling.clone(),
            prefill: self.prompt.prefill().map(str::to_owned),
            dropped: self.dropped.iter().map(ToString::to_string).collect(),
        };
        let mut record = Record::sent(spot, self.prompt, sent, started.time.clone());
        record.judging.clone_from(&job.judging);
        record.clock.queued_ms = millis(started.queued);
        record.clock.waited_ms = millis(started.waited);
        record
    }
}

/// The cost of a reply by the price list.
pub(super) fn cost(price: Option<&Price>, reply: &Reply, batch: bool) -> Option<Usd> {
    let cost = price?.cost(&reply.tokens)?;
    Some(if batch { half(cost) } else { cost })
}

/// What a batch costs of the price of single calls.
#[must_use]
pub fn half(cost: Usd) -> Usd {
    Usd((cost.0 * BATCH_PRICE).normalize())
}

/// Puts an answer into the line of its attempt.
pub(super) fn fill(
    record: &mut Record,
    price: Option<&Price>,
    answer: &mut Result<Reply, ProviderError>,
) {
    match answer {
        Ok(reply) => {
            record.status = reply.status;
            record.cost_usd = Cost {
                computed: cost(price, reply, record.batch.is_some()),
                reported: reply.cost_reported,
            };
            record.text = Some(std::mem::take(&mut reply.text));
            record.reasoning_text = reply.reasoning_text.take();
            record.scored = reply.scored.take();
            if record.scored.is_some() {
                record.text = None;
            }
            record.returned_model.clone_from(&reply.returned_model);
            record.finish = reply.finish;
            record.finish_word.clone_from(&reply.finish_word);
            record.tokens = reply.tokens;
            record.usage_mismatch = reply.usage_mismatch;
            record.served = reply.served.clone();
            record.request_id.clone_from(&reply.request_id);
            record.body = reply.body.take();
        }
        Err(error) => {
            // What the provider's rules forbid was heard, and is not asked again.
            record.status = if error.class == ErrorClass::Policy {
                Status::Refused
            } else {
                Status::Error
            };
            record.error = Some(RecordedError {
                class: error.class,
                http_status: error.http_status,
                message: error.message.clone(),
            });
            record.body = error.body.take();
        }
    }
}
