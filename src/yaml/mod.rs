//! YAML files that people write: read whole, with the place of every value, all faults at once.
//!
//! All kinds of file are read through [`Fields`], which collects [`Fault`]s
//! instead of stopping at the first. Scalars keep the text as written, so `4.20` stays `4.20`, `no` stays text
//! and `390,000` can be refused with advice. This room is the only one that knows the YAML library.

mod document;
mod fault;
mod fields;
mod nearest;
mod table;

pub use document::{Document, Node, Place, Value};
pub use fault::{Fault, Faults, Severity};
pub use fields::{Fields, Scalar};
pub use nearest::nearest;
