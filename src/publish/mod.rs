//! Scores as people and programs read them: terminal tables, JSON, CSV, markdown, HTML.
//!
//! Knows nothing of how a number was computed. Digits, order and ties are fixed: the same scores give the same bytes.

mod board;
mod cases;
mod document;
mod format;
mod json;
mod judge;
mod kaggle;
mod markdown;
mod report;
mod site;
mod spinner;
mod tables;
mod terminal;
mod verify;

pub use board::{BoardSource, MADE_BY, board};
pub use cases::{
    CASES_MADE_BY, CaseBoardSource, CaseReportSource, case_board, case_cells_table,
    case_contrasts_json, case_contrasts_table, case_report, case_scores_json,
};
pub use document::{Block, Entry, Heading, markdown};
pub use format::two;
pub use json::scores_json;
pub use judge::{
    JUDGE_MADE_BY, JudgeBoardSource, judge_board, judge_report, judge_scores_json, judge_tables,
};
pub use kaggle::{NotebookError, notebook};
pub use report::{ReportSource, report};
pub use site::{
    CaseSiteSource, JudgeSiteSource, Page, SiteSource, case_cell_href, case_site, document_html,
    judge_href, judge_site, site, spinner_site, variation_href,
};
pub use spinner::{
    SPINNER_MADE_BY, SpinnerBoardSource, spinner_board, spinner_report, spinner_scores_json,
    spinner_table,
};
pub use tables::{Table, cells_rows, items_rows, samples_rows};
pub use terminal::{cells_table, contrasts_table, models_table, plain_table};
pub use verify::{Mismatch, around_difference, mismatches};
