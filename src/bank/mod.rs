//! What is asked about: question banks, YAML files of items that are read, checked and given their anchors, and cases,
//! which are generated.
//!
//! Knows nothing of models or tasks. The shipped bank is compiled in; a `questions/` folder in the working folder
//! takes its place.

pub mod cases;
mod item;
pub mod judge;
mod load;
mod source;
pub mod stimuli;
mod subject;

pub use item::{Anchors, Item, Provenance, derive_anchors};
pub use load::{Bank, Strictness, load};
pub use source::{BankFile, BankIoError, built_in, read_paths};
pub use subject::{Subject, SubjectRef};
