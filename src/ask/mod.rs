//! Asking: what is wanted minus what is stored, and the one place that talks to the network.
//!
//! [`plan`] is pure. [`run`] keeps to limits and clocks, retries what is transient, and hands every attempt to the
//! store before it counts. It knows neither dialects nor scores.

mod backend;
mod client;
mod plan;
mod progress;
mod retry;
mod run;

pub use backend::{Backend, BackendError};
pub use client::{Client, http_client};
pub use plan::{Job, PlanError, Stored, Wanted, plan, sampling_of};
pub use progress::Progress;
pub use run::{Lane, ModelSummary, RunError, Settings, run};
