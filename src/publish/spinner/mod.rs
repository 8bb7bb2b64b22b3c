//! Probabilities of given answers as people and programs read them.

mod board;
mod json;
mod terminal;

pub use board::{SPINNER_MADE_BY, SpinnerBoardSource, spinner_board, spinner_report};
pub use json::spinner_scores_json;
pub use terminal::spinner_table;
