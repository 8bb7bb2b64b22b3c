//! Judges that see an earlier verdict: a pure function of (stored lines, method).
//!
//! Source: Kapetanovic et al. (2026), "Anchoring Bias in LLM-as-a-Judge Systems", arXiv 2608.25869, whose estimands these
//! are; what it leaves open is said where it is chosen.

mod calls;
mod ceiling;
mod cells;
mod effects;
mod joint;
mod labels;
mod mitigation;
mod models;
mod probes;
mod slopes;

pub use calls::{Call, Calls, Temperature, gather};
pub use ceiling::Ceiling;
pub use cells::{Cells, Contrast, Measure, Tally};
pub use effects::{Estimate, Gaps, Universe};
pub use joint::Term;
pub use labels::{Corrections, Inductions, Labels, Share};
pub use mitigation::{Drawn, Mitigation, NONE};
pub use models::{CategoryEffect, Emitted, JudgeModel, JudgeScores, Panel, score_judges};
pub use probes::{Probe, digits_of, likeliest};
pub use slopes::{Response, Slopes, response};
