//! Asking: what is wanted minus what is stored, and the one place that talks to the network.
//!
//! [`plan`] is pure, and so are [`action`] and [`worst_case`]. [`run`] keeps to limits and clocks, retries what is
//! transient, and hands every attempt to the store before it counts. It knows neither dialects nor scores.

mod attempt;
mod backend;
mod batch;
mod budget;
mod client;
mod in_process;
mod lane;
mod learned;
mod line;
mod pace;
mod plan;
mod probe;
mod progress;
mod queue;
mod retry;
mod run;
mod scoring;
mod secrets;

pub use backend::{BackendError, Http};
pub use batch::{BatchError, BatchLane, BatchSettings, Collected, Held};
pub use budget::{Budget, Spent, worst_case};
pub use client::{Client, Connections};
pub use in_process::InProcessLane;
pub use lane::Lane;
pub use learned::{Learned, Lesson};
pub use line::half;
pub use plan::{Job, Plan, PlanError, Shard, Stored, Wanted, form_of, plan, refused, sampling_of};
pub use probe::{Probe, probe};
pub use progress::Progress;
pub use retry::{Action, action};
pub use run::{ModelSummary, RunError, Settings, run};
