//! What to do after a failed attempt.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use crate::domain::ErrorClass;
use crate::provider::ProviderError;

/// Most attempts for one ask in one run, the first included.
pub(super) const MAX_ATTEMPTS: u32 = 10;

/// Attempts for one ask after a failure of this kind: a busy server is worth waiting for some minutes.
pub(super) fn attempts(class: ErrorClass) -> u32 {
    match class {
        ErrorClass::Rate | ErrorClass::Overload => MAX_ATTEMPTS,
        _ => 5,
    }
}

/// Longest wait that a server may ask for; beyond it the model is given up for this run.
pub(super) const MAX_WAIT: Duration = Duration::from_mins(5);

/// What a failure means for what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Try again after a wait.
    Retry,
    /// This sample cannot be had; the others may.
    GiveUpSample,
    /// No further call of this model can succeed.
    StopModel,
}

pub(super) fn action(error: &ProviderError) -> Action {
    if error.retry_after.is_some_and(|wait| wait > MAX_WAIT) {
        return Action::StopModel;
    }
    match error.class {
        ErrorClass::Rate
        | ErrorClass::Overload
        | ErrorClass::Server
        | ErrorClass::Timeout
        | ErrorClass::Connection
        | ErrorClass::BadBody => Action::Retry,
        ErrorClass::BadRequest | ErrorClass::TooLong | ErrorClass::Engine => Action::GiveUpSample,
        ErrorClass::Auth | ErrorClass::NoModel | ErrorClass::Quota => Action::StopModel,
    }
}

/// Waits between attempts: half a second, doubled each time up to 30 s, with jitter from the seed.
pub(super) fn waits(seed: u64) -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_factor(2.0)
        .with_max_delay(Duration::from_secs(30))
        .with_max_times(MAX_ATTEMPTS as usize - 1)
        .with_jitter()
        .with_jitter_seed(seed)
        .build()
}

/// The longer of the schedule and what the server asked for.
pub(super) fn wait(scheduled: Duration, error: &ProviderError) -> Duration {
    error
        .retry_after
        .map_or(scheduled, |asked| asked.max(scheduled))
}
