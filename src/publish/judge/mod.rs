//! Judges that see an earlier verdict, as people and programs read them.

mod board;
mod json;
mod tables;
mod terminal;
mod words;

pub use board::{JUDGE_MADE_BY, JudgeBoardSource, judge_board, judge_report};
pub use json::judge_scores_json;
pub use terminal::judge_tables;
pub(super) use words::why_not;
