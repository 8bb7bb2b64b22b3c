//! Scores as people and programs read them: terminal tables, JSON, markdown boards.
//!
//! Knows nothing of how a number was computed. Digits, order and ties are fixed: the same scores give the same bytes.

mod board;
mod format;
mod json;
mod markdown;
mod terminal;

pub use board::{BoardSource, board};
pub use format::two;
pub use json::scores_json;
pub use terminal::{cells_table, contrasts_table, models_table, plain_table};
