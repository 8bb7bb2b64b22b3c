//! What to do after a failed attempt. Pure.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use crate::domain::{ErrorClass, Parameter};
use crate::provider::{ProviderError, Scope};

/// Most attempts for one ask in one run, the first included, after a failure of this kind.
///
/// A busy server is worth waiting for some minutes; two calls that collide are not worth a third.
pub(super) fn attempts(class: ErrorClass) -> u32 {
    match class {
        ErrorClass::Rate | ErrorClass::Overload => 10,
        ErrorClass::Conflict => 2,
        _ => 5,
    }
}

/// What a failure means for what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Try again after a wait.
    Retry,
    /// Try again after everything else: the call hung or broke, and may again.
    RetryLast,
    /// Leave the parameter out from now on, and try again.
    Drop(Parameter),
    /// The sample counts as refused: it was heard, and asking again changes nothing.
    Refused,
    /// This sample cannot be had; the others may.
    GiveUpSample,
    /// No further call of this model can succeed.
    StopModel,
    /// No further call with this key can succeed.
    StopProvider,
}

/// The way to go on after a failure. A wait above `max_wait` is an allowance that is used up.
#[must_use]
pub fn action(error: &ProviderError, max_wait: Duration) -> Action {
    let stop = match error.scope {
        Scope::Call => Action::GiveUpSample,
        Scope::Model => Action::StopModel,
        Scope::Provider => Action::StopProvider,
    };
    let too_long = error.retry_after.is_some_and(|wait| wait > max_wait);
    match error.class {
        ErrorClass::Auth
        | ErrorClass::Region
        | ErrorClass::NoModel
        | ErrorClass::Quota
        | ErrorClass::BadRequest
        | ErrorClass::TooLong
        | ErrorClass::Engine => stop,
        ErrorClass::Policy => Action::Refused,
        ErrorClass::BadParameter => error.parameter.map_or(stop, Action::Drop),
        _ if too_long => Action::StopModel,
        _ if error.no_retry => Action::GiveUpSample,
        ErrorClass::Rate
        | ErrorClass::Overload
        | ErrorClass::Server
        | ErrorClass::Conflict
        | ErrorClass::BadBody => Action::Retry,
        ErrorClass::Timeout | ErrorClass::Connection => Action::RetryLast,
    }
}

/// The wait after the `tries`-th failure, from 1: half a second, doubled each time up to 30 s, with jitter from the
/// seed.
pub(super) fn backoff(seed: u64, tries: u32) -> Duration {
    const LONGEST: Duration = Duration::from_secs(30);
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_factor(2.0)
        .with_max_delay(LONGEST)
        .without_max_times()
        .with_jitter()
        .with_jitter_seed(seed)
        .build()
        .nth(tries.saturating_sub(1) as usize)
        .unwrap_or(LONGEST)
}

/// The longer of the schedule and what the server asked for.
pub(super) fn wait(scheduled: Duration, error: &ProviderError) -> Duration {
    error
        .retry_after
        .map_or(scheduled, |asked| asked.max(scheduled))
}
