//! Question banks: YAML files of items, read, checked and given their anchors.
//!
//! Knows nothing of models or tasks. The shipped bank is compiled in; a `questions/` folder in the working folder
//! takes its place.

mod item;
mod load;
mod source;

pub use item::{Anchors, Item, Provenance, derive_anchors};
pub use load::{Bank, Strictness, load};
pub use source::{BankFile, BankIoError, built_in, read_paths};
