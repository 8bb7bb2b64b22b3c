//! The board of the wheel as markdown.

mod details;
mod ranks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::document::{Block, markdown};
use super::format::{UNKNOWN, UNSCORED, losses, whole_with_interval, with_interval};
use super::markdown::{Align, table};
use crate::bank::Bank;
use crate::domain::ModelName;
use crate::score::stats::{RESAMPLES, SEED};
use crate::score::{CellScore, Index, IntervalMethod, ModelScore, Scores};
use crate::task::{Task, Tasks};

/// What a board is made from.
#[derive(Debug, Clone, Copy)]
pub struct BoardSource<'a> {
    /// The scores.
    pub scores: &'a Scores,
    /// The questions.
    pub bank: &'a Bank,
    /// The tasks, in the order of the columns.
    pub tasks: &'a Tasks,
    /// Hash over the stored samples.
    pub store_fingerprint: &'a str,
    /// Stored lines.
    pub lines: usize,
    /// Versions of the program that asked.
    pub versions: &'a BTreeSet<String>,
    /// Folder of the people's answers, as it was named.
    pub people: Option<&'a Path>,
}

/// What stands before the options in the line that says how the board was made.
pub const MADE_BY: &str = "`wheel leaderboard --index ";

/// The whole board.
#[must_use]
pub fn board(source: &BoardSource<'_>) -> String {
    let board = Board::new(source);
    let mut out = String::from(
        "# Wheel of fortune: who is pulled by a number that has nothing to do with the question\n\n",
    );
    out.push_str(&board.intro());
    out.push_str(&format!("\n## {}\n\n", source.scores.method.index.title()));
    out.push_str(&board.main_table());
    for mark in marks(source.scores) {
        out.push_str(&format!("\n{}", markdown(&[mark])));
    }
    out.push_str(&board.halves());
    out.push_str("\n## Ranks by resistance\n\nResistance is 1 − |anchoring index|: higher is better. Models are ranked within each task; equal ones share the better place.\n");
    out.push_str(&board.ranks());
    out.push_str(&board.relief());
    out.push_str(&format!(
        "\n## By tier\n\n{} [95 % interval] and usable items of the tier.\n\n",
        source.scores.method.index.of_cell()
    ));
    out.push_str(&board.tiers());
    out.push_str(&board.by_probability());
    out.push_str("\n## Lost samples\n\nA sample is lost when its reply gives no estimate above 0. Nothing is dropped in silence.\n\n");
    out.push_str(&board.losses());
    out.push_str("\n## Settings\n\nAs sent; — means that the parameter was not sent and the provider's default holds.\n\n");
    out.push_str(&board.settings());
    out.push_str("\n## Provenance\n\n");
    out.push_str(&board.provenance());
    out
}

struct Board<'a> {
    source: &'a BoardSource<'a>,
    /// Models in the order of the main table.
    models: Vec<&'a ModelScore>,
    cells: BTreeMap<(&'a ModelName, &'a str), &'a CellScore>,
    anchored: Vec<&'a Task>,
}

impl<'a> Board<'a> {
    fn new(source: &'a BoardSource<'a>) -> Self {
        let cells: BTreeMap<_, _> = source
            .scores
            .cells
            .iter()
            .map(|cell| ((&cell.model, cell.task.as_str()), cell))
            .collect();
        let asked = |task: &&Task| cells.keys().any(|(_, name)| *name == task.name.as_str());
        Self {
            models: source.scores.models.iter().collect(),
            anchored: source
                .tasks
                .0
                .iter()
                .filter(|task| task.is_anchored() && task.targets.is_none())
                .filter(asked)
                .collect(),
            cells,
            source,
        }
    }

    fn cell(&self, model: &ModelName, task: &Task) -> Option<&'a CellScore> {
        self.cells.get(&(model, task.name.as_str())).copied()
    }

    fn own_cells(&self, model: &'a ModelName) -> impl Iterator<Item = (&'a Task, &'a CellScore)> {
        self.source
            .tasks
            .0
            .iter()
            .filter_map(move |task| Some((task, self.cell(model, task)?)))
    }

    fn intro(&self) -> String {
        let method = self.source.scores.method;
        let interval = match method.interval {
            IntervalMethod::Percentile => "percentile",
            IntervalMethod::Bca => "BCa",
        };
        let n = self.source.bank.items.len();
        let (index, cell) = match method.index {
            Index::LogAi => (
                "The **anchoring index** of a question is ln(estimate after the high anchor / estimate after the low one) / ln(high anchor / low anchor), capped to \
                 [−1, 1]: 0 = the anchor changed nothing, 1 = the estimate moved as much as the anchor, negative = pushed away. Of several epochs the geometric \
                 mean counts.",
                "the mean",
            ),
            Index::Ai => (
                "This board shows the **index of Jacowitz & Kahneman (1995)**: (median estimate after the high anchor − median after the low one) / (high anchor − low \
                 anchor), on the linear scale and without a cap: 0 = the anchor changed nothing, 1 = the estimate moved as much as the anchor, negative = pushed away.",
                "the mean",
            ),
            Index::AIndex => (
                "This board shows the **A-index** (Huang et al. 2025): |median estimate after the high anchor − median after the low one| / |high anchor − low anchor|. It \
                 has no sign, so it cannot show a push away from the anchor, and noise alone raises it.",
                "the mean",
            ),
            Index::Raw => (
                "This board shows **raw differences**: for each question, the median estimate after the high anchor − that after the low one, tested by permutation over \
                 its epochs. Unlike units have no mean.",
                "the share with p < 0.05",
            ),
        };
        let made = match method.index {
            Index::Raw => "with a 95 % Wilson interval".to_owned(),
            Index::LogAi => format!(
                "with a 95 % {interval} bootstrap interval over questions and, within them, epochs ({RESAMPLES} resamples, seed {SEED})"
            ),
            Index::Ai | Index::AIndex => format!(
                "with a 95 % {interval} bootstrap interval over questions ({RESAMPLES} resamples, seed {SEED})"
            ),
        };
        format!(
            "Each question is asked with a low anchor (reference / 2.5) and a high one (reference × 2.5). {index} A cell is {cell} over the usable questions of {n}, \
             {made}; it is scored only if at least 80 % of the questions are usable, otherwise it shows {UNSCORED}.\n"
        )
    }

    /// Cells whose candidate answers were scored, each beside the sampled one.
    fn by_probability(&self) -> String {
        let index = |cell: Option<&CellScore>| cell.map_or_else(|| UNSCORED.to_owned(), index_text);
        let mut rows = Vec::new();
        for model in &self.models {
            for (task, cell) in self.own_cells(&model.model) {
                let (Some(mass), true) = (cell.mass, cell.anchored) else {
                    continue;
                };
                let of = task.variant_of.as_ref().unwrap_or(&task.name);
                let sampled = self.cells.get(&(&model.model, of.as_str())).copied();
                let sampled = sampled.filter(|cell| cell.mass.is_none());
                rows.push(vec![
                    model.model.to_string(),
                    of.to_string(),
                    index(sampled),
                    index(Some(cell)),
                    format!("{mass:.3}"),
                ]);
            }
        }
        if rows.is_empty() {
            return String::new();
        }
        format!(
            "\n## By probability\n\nIn place of a reply, candidate answers at equal ratios around the anchors are scored by their probability, and half of it lies below the implied median. Its index stands beside that of the sampled replies. Probability held is the mean share that all candidates have together: where it is small, they are not what the model would say.\n\n{}",
            table(
                &[
                    ("model", Align::Left),
                    ("task", Align::Left),
                    ("index of replies", Align::Right),
                    ("index of implied medians", Align::Right),
                    ("probability held", Align::Right),
                ],
                &rows
            )
        )
    }

    fn main_table(&self) -> String {
        let mut columns = vec![
            ("model", Align::Left),
            ("accuracy, no anchor", Align::Right),
            ("tokens per one-line answer (median)", Align::Right),
        ];
        columns.extend(
            self.anchored
                .iter()
                .map(|task| (task.title.as_str(), Align::Right)),
        );
        let mut rows: Vec<Vec<String>> = self
            .models
            .iter()
            .map(|model| {
                let mut row = vec![
                    format!(
                        "{}{}{}",
                        model.model,
                        marks_of(self.source.scores, &model.model),
                        people_of(self.source.scores, &model.model)
                    ),
                    accuracy(model),
                    tokens(model),
                ];
                row.extend(self.anchored.iter().map(|task| {
                    self.cell(&model.model, task)
                        .map_or_else(String::new, index_text)
                }));
                row
            })
            .collect();
        // The yardstick stands in the column of the classic task only: that is the experiment it comes from.
        if self
            .anchored
            .iter()
            .any(|task| task.name.as_str() == "classic")
        {
            let mut people = vec![
                "people (rough yardstick)".to_owned(),
                String::new(),
                String::new(),
            ];
            people.extend(self.anchored.iter().map(|task| {
                if task.name.as_str() == "classic" {
                    "≈ 0.49".to_owned()
                } else {
                    String::new()
                }
            }));
            rows.push(people);
        }
        let mut out = table(&columns, &rows);
        out.push_str(
            "\nThe people's 0.49 is a rough yardstick, not a like-for-like score: Jacowitz & Kahneman (1995) used other questions, anchors taken from \
             other people's guesses, and a linear scale.\n",
        );
        out
    }

    fn provenance(&self) -> String {
        let dates: Vec<&(String, String)> = self
            .models
            .iter()
            .filter_map(|model| model.dates.as_ref())
            .collect();
        let day = |text: Option<&String>| {
            text.map_or(UNKNOWN, |text| text.get(..10).unwrap_or(text))
                .to_owned()
        };
        let first = day(dates.iter().map(|(first, _)| first).min());
        let last = day(dates.iter().map(|(_, last)| last).max());
        let mut out = format!(
            "- Date: asked from {first} to {last} (UTC), with wheel {}.\n- Store: {} lines, fingerprint `{}`.\n- Questions: {} items, fingerprint `{}`.\n",
            self.source
                .versions
                .iter()
                .cloned()
                .collect::<Vec<_>>()
                .join(", "),
            self.source.lines,
            self.source.store_fingerprint,
            self.source.bank.items.len(),
            self.source.bank.fingerprint(),
        );
        if !self.source.scores.unknown.is_empty() {
            let unknown = losses(
                self.source
                    .scores
                    .unknown
                    .iter()
                    .map(|(name, n)| (name, *n)),
            );
            out.push_str(&format!(
                "- Left out, because task or question is not loaded: {unknown}.\n"
            ));
        }
        let method = self.source.scores.method;
        let people = self.source.people.map_or_else(String::new, |folder| {
            format!(" --people {}", folder.display())
        });
        out.push_str(&format!(
            "- Every number is computed from the stored replies: {MADE_BY}{} --interval {}{people}` writes this file again, byte for byte, and `wheel verify` compares.\n",
            method.index, method.interval
        ));
        out
    }
}

type Mark = (&'static str, fn(&CellScore) -> bool, &'static str);

const MARKS: [Mark; 4] = [
    (
        "ᵖ",
        |cell| {
            cell.settings
                .iter()
                .any(|settings| settings.prefill.is_some())
        },
        "the answer label was put at the start of the reply in one-line tasks (prefill).",
    ),
    (
        "ᵈ",
        |cell| {
            cell.settings
                .iter()
                .any(|settings| !settings.dropped.is_empty())
        },
        "a parameter that the server refuses was left out.",
    ),
    (
        "ˢ",
        |cell| cell.settings.len() > 1,
        "a cell mixes samples with different settings.",
    ),
    (
        "ʷ",
        |cell| cell.other_wording > 0,
        "a cell holds samples asked in another wording than that of today's tasks and questions.",
    ),
];

pub(super) fn index_text(cell: &CellScore) -> String {
    match cell.all.index {
        Some(index) => with_interval(index, cell.all.interval),
        None => format!("{UNSCORED} n={} of {}", cell.all.usable, cell.all.items),
    }
}

pub(super) fn accuracy(model: &ModelScore) -> String {
    match model.accuracy {
        None => UNKNOWN.to_owned(),
        Some((right, n)) => {
            #[expect(clippy::cast_precision_loss, reason = "counts of items")]
            let share = right as f64 / n as f64;
            format!("{} n={n}", with_interval(share, model.accuracy_interval))
        }
    }
}

/// The median of the tokens of a one-line answer.
pub(super) fn tokens(model: &ModelScore) -> String {
    model.median_output_tokens.map_or_else(
        || UNKNOWN.to_owned(),
        |tokens| {
            let text = whole_with_interval(tokens, model.tokens_interval);
            format!("{text} n={}", model.tokens_n)
        },
    )
}

/// What the board shows, as plain text.
pub(super) fn intro(source: &BoardSource<'_>) -> String {
    Board::new(source).intro().replace("**", "")
}

/// Where the board comes from, as plain text.
pub(super) fn provenance(source: &BoardSource<'_>) -> String {
    let text = Board::new(source).provenance();
    let lines: Vec<&str> = text
        .lines()
        .map(|line| line.trim_start_matches("- "))
        .collect();
    lines.join(" ").replace('`', "")
}

/// How many people stand behind a row, where it is people.
pub(super) fn people_of(scores: &Scores, model: &ModelName) -> String {
    let most = scores
        .cells
        .iter()
        .filter(|cell| cell.model == *model)
        .filter_map(|cell| cell.people)
        .max();
    most.map_or_else(String::new, |n| {
        format!(" (n={n} people; intervals by drawing persons)")
    })
}

/// Superscript marks of a model.
pub(super) fn marks_of(scores: &Scores, model: &ModelName) -> String {
    MARKS
        .iter()
        .filter(|(_, has, _)| {
            scores
                .cells
                .iter()
                .any(|cell| cell.model == *model && has(cell))
        })
        .map(|(mark, ..)| *mark)
        .collect()
}

/// What the marks mean that occur.
pub(super) fn marks(scores: &Scores) -> Vec<Block> {
    MARKS
        .iter()
        .filter(|(_, has, _)| scores.cells.iter().any(has))
        .map(|(mark, _, meaning)| Block::Text {
            text: format!("{mark} {meaning}"),
        })
        .collect()
}
