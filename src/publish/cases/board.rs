//! The board of a suite of cases.

use std::collections::BTreeSet;

use super::tables::Board;
use crate::domain::Relevance;
use crate::publish::document::{Block, heading, text};
use crate::score::uai::{CaseCell, CaseScores};
use crate::task::Tasks;

/// What a board is made from.
#[derive(Clone, Copy)]
pub struct CaseBoardSource<'a> {
    /// The scores.
    pub scores: &'a CaseScores,
    /// The tasks, in the order of the columns.
    pub tasks: &'a Tasks,
    /// Name of the rules that read the replies.
    pub rules: &'a str,
    /// Hash over the stored samples of the suite.
    pub store_fingerprint: &'a str,
    /// Stored lines of the suite.
    pub lines: usize,
    /// Versions of the program that asked.
    pub versions: &'a BTreeSet<String>,
    /// Where a cell leads within a site.
    pub link: &'a dyn Fn(&CaseCell) -> Option<String>,
}

/// What stands before the options in the line that says how the board was made.
pub const CASES_MADE_BY: &str = "wheel leaderboard --suite anchorbench --epsilon ";

/// The whole board as a document.
#[must_use]
pub fn case_board(source: &CaseBoardSource<'_>) -> Vec<Block> {
    let board = Board::new(source);
    let mut blocks = vec![
        heading(
            1,
            "AnchorBench: which channel carries a number into the answer",
        ),
        text(INTRO),
        text(format!(
            "Brackets hold 95 % intervals; the number of values stands behind them where a table has no column for it. {} A cell with answers in less than 80 % of its samples is not scored.",
            match source.scores.method.intervals {
                crate::score::Clustering::Cases =>
                    "Cases are drawn anew, each with all its conditions (2,000 resamples, seed 1974).",
                crate::score::Clustering::Published =>
                    "Values are drawn one by one, as the published benchmark does (2,000 resamples, seed 42), which takes the two directions of a case for independent; ceilings assume five ratings.",
            }
        )),
    ];
    blocks.extend(board.grid(
        "Accuracy",
        "Share of the control's answers within 10 points of what the evidence comes to: the same question without any number.",
        |cell| cell.all.acc10,
        |_| false,
    ));
    blocks.extend(board.grid(
        "Pull of irrelevant anchors",
        "Mean over cases and directions of (answer − control) / (anchor − control). 0 = the number changed nothing, 1 = the answer moved onto it, negative = away from it.",
        |cell| cell.family(Relevance::Irrelevant)?.uai,
        |_| false,
    ));
    blocks.extend(board.grid(
        "Pull of plausible anchors",
        "The same where the number is said to be somebody's estimate, which deserves some weight.",
        |cell| cell.family(Relevance::Plausible)?.uai,
        |_| false,
    ));
    blocks.extend(board.grid(
        "Pull beyond what a plausible anchor deserves",
        "Pull minus w/(n + w), with the n ratings that the prompt really shows and a weight w of one rating. Above 0 with its whole interval: ▲.",
        |cell| Some(cell.all.rational?.excess),
        |cell| cell.all.rational.is_some_and(|rational| rational.above),
    ));
    blocks.extend(board.grid(
        "Plausible minus irrelevant",
        "Whether the model tells an estimate from a number.",
        |cell| cell.all.disc,
        |_| false,
    ));
    blocks.push(heading(2, "Pull or drift"));
    blocks.push(text(
        "(answer under the high anchor − answer under the low one) / (high − low anchor) needs no control: a model that answers higher whenever any sentence is added drifts, and has no such pull. Where it lies far from the pull above, that one is drift.",
    ));
    blocks.push(board.pull_or_drift());
    blocks.extend(board.dose());
    blocks.extend(board.across());
    blocks.push(heading(2, "Ranks"));
    blocks.push(text(
        "By 1 − |control-free pull of irrelevant anchors|, within each task: the number that should not count counts least on top. In brackets the places within the 95 % interval (the same 10,000 draws of cases for all), and the cases. Models that were asked about less than 80 % of the cases of the others are not ranked.",
    ));
    blocks.push(board.ranks());
    blocks.extend(board.variants());
    blocks.push(heading(2, "Answers and losses"));
    blocks.push(text(
        "A sample is lost when its reply gives no number from 0 to 100. Of answered samples, those whose anchor lies within epsilon of the control's answer have no pull, cases whose two anchors lie within epsilon of each other none without a control, and those whose first reply gave no anchor neither.",
    ));
    blocks.push(board.losses());
    blocks.push(heading(2, "Settings"));
    blocks.push(text(
        "As sent; — means that the parameter was not sent and the provider's default holds.",
    ));
    blocks.push(board.settings());
    blocks.push(heading(2, "Provenance"));
    blocks.push(board.provenance());
    blocks
}

const INTRO: &str = "A model is given ratings from 0 to 100 of some matter and asked for one overall number. Along comes another number, in one of several channels: a sentence beside the question, the model's own earlier answer, solved cases, a retrieved document, the output of a tool. It is irrelevant (the number of a form) or plausible (somebody's estimate), low or high. The design follows AnchorBench (arXiv 2608.14320), with the same numbers and wording of our own.";
