//! Scores of cases as people and programs read them.

mod board;
mod json;
mod report;
mod tables;
mod terminal;
mod words;

pub use board::{CASES_MADE_BY, CaseBoardSource, case_board};
pub use json::{case_contrasts_json, case_scores_json};
pub use report::{CaseReportSource, case_report};
pub use terminal::{case_cells_table, case_contrasts_table};
