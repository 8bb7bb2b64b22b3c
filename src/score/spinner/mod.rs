//! What a number does to the whole distribution of answers, and which part of the prompt does it.
//!
//! `attribution` shares a change out among the fields of a prompt, `variation` scores one pair of prompts, `abss` is the
//! published composite with its parts, `models` puts the pairs of a model together.
//!
//! Source: Valencia-Clavijo, "Anchors in the Machine" (arXiv 2511.05766) and its code; where we differ it is said.

mod abss;
mod attribution;
mod evidence;
mod models;
mod variation;

pub use abss::Abss;
pub use attribution::{Payoffs, banzhaf, shapley};
pub use evidence::{Gathered, number, variations};
pub use models::{ModelScores, SpinnerScores, score_spinner};
pub use variation::{Attributed, Half, Side, Variation, VariationScores, score_variation};
