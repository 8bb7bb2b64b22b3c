//! Models: `models.yaml` entries, and names typed on the command line without an entry.
//!
//! Says where a model is reached, what is sent with each call, what it costs and how fast it may be asked. Knows
//! nothing of tasks. Keys stay in environment variables; this room knows only their names.

mod load;
mod registry;
mod resolve;
mod secret;

pub use load::{LONGEST_TIMEOUT, load};
pub use registry::{
    Clocks, Dialect, Kind, LimitField, Limits, Model, Price, Provider, PythonPart, Registry,
    Weights, built_in,
};
pub use resolve::{DEFAULT_MODEL, ResolveError, resolve};
pub use secret::looks_like_key;
