//! The run itself: every model at its own pace, every attempt stored before it counts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::budget::Budget;
use super::in_process::{self, InProcessLane};
use super::lane::{self, Lane};
use super::progress::Progress;
use crate::domain::{ErrorClass, ModelName, Parameter};
use crate::store::{Recorder, StoreError};

/// What concerns the whole run.
pub struct Settings<'a> {
    /// The store's writer.
    pub recorder: &'a Recorder,
    /// What the person sees.
    pub progress: &'a Progress,
    /// Money.
    pub budget: &'a Budget,
    /// Longest wait that a server may ask for; beyond it the model is parked for this run.
    pub max_wait: Duration,
    /// Longest time without any answer after which a model that answered before is parked.
    pub patience: Duration,
    /// Stops sending when cancelled; calls in flight are waited for.
    pub stop: CancellationToken,
    /// Drops calls in flight when cancelled.
    pub abort: CancellationToken,
}

/// How a model's jobs went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSummary {
    /// The model.
    pub model: ModelName,
    /// Samples answered in this run.
    pub answered: u64,
    /// Samples left without an answer, by the class of the last failure.
    pub failed: BTreeMap<ErrorClass, u64>,
    /// Samples not asked for, after a stop.
    pub not_asked: u64,
    /// Why the model was stopped early.
    pub stopped: Option<String>,
    /// Parameters that were left out because the server refuses them.
    pub dropped: BTreeSet<Parameter>,
}

impl ModelSummary {
    /// Nothing asked yet.
    #[must_use]
    pub fn new(model: ModelName) -> Self {
        Self {
            model,
            answered: 0,
            failed: BTreeMap::new(),
            not_asked: 0,
            stopped: None,
            dropped: BTreeSet::new(),
        }
    }

    /// Whether any sample is left without an answer.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.not_asked > 0 || !self.failed.is_empty()
    }
}

/// A run that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A reply could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Asks all jobs of all lanes.
///
/// # Errors
/// The store can no longer be written; everything that was answered before is in it.
pub async fn run(
    lanes: Vec<Lane>,
    in_process: Vec<InProcessLane>,
    settings: &Settings<'_>,
) -> Result<Vec<ModelSummary>, RunError> {
    let began = Instant::now();
    // Whatever shares a key shares its fate when the key is refused.
    let mut keys: BTreeMap<(String, Option<String>), CancellationToken> = BTreeMap::new();
    let lanes = lanes.into_iter().map(|lane| {
        let key = (
            lane.http.base_url.clone(),
            lane.model.provider.api_key_env.clone(),
        );
        let token = keys
            .entry(key)
            .or_insert_with(|| settings.stop.child_token())
            .clone();
        async move {
            let mut summary = lane::run(lane, settings, began, token.clone()).await?;
            if token.is_cancelled() && !settings.stop.is_cancelled() && summary.not_asked > 0 {
                summary
                    .stopped
                    .get_or_insert_with(|| "stopped with the provider's other models".to_owned());
            }
            Ok(summary)
        }
    });
    let in_process = in_process
        .into_iter()
        .map(|lane| in_process::run(lane, settings, began.into_std()));
    let all = futures::future::join(
        futures::future::join_all(lanes),
        futures::future::join_all(in_process),
    );
    tokio::pin!(all);
    let mut tick = tokio::time::interval(Duration::from_millis(250));
    let (over_http, here) = loop {
        tokio::select! {
            biased;
            done = &mut all => break done,
            _ = tick.tick() => settings.progress.tick(),
        }
    };
    over_http.into_iter().chain(here).collect()
}
