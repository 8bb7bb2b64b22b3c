//! Asking by batch: handed over, written down, waited for, collected. A batch outlives the program.

mod collect;
mod find;
mod submit;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::backend::Http;
use super::budget::{Budget, Reserved};
use super::learned::Learned;
use super::progress::Progress;
use super::retry::{Action, action};
use crate::domain::{ErrorClass, Parameter};
use crate::model::Model;
use crate::provider::{BatchApi, BatchCall, ProviderError};
use crate::store::{BatchLog, Record, Recorder, StoreError};

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
}

/// Money held back for batches under way, by tag.
#[derive(Debug, Default)]
pub struct Held<'b>(HashMap<String, Reserved<'b>>);

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
