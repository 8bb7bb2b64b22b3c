//! The board of a suite of cases.

use std::collections::BTreeSet;

use super::words::{measured, number, short};
use crate::domain::{ModelName, Relevance};
use crate::publish::document::{Block, Entry, columns, heading, text};
use crate::publish::format::{UNKNOWN, UNSCORED, losses, p_text};
use crate::score::uai::{CaseCell, CaseScores, Measured, Summary};
use crate::task::{Task, Tasks};

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
    ));
    blocks.extend(board.grid(
        "Pull of irrelevant anchors",
        "Mean over cases and directions of (answer − control) / (anchor − control). 0 = the number changed nothing, 1 = the answer moved onto it, negative = away from it.",
        |cell| cell.family(Relevance::Irrelevant)?.uai,
    ));
    blocks.extend(board.grid(
        "Pull of plausible anchors",
        "The same where the number is said to be somebody's estimate, which deserves some weight.",
        |cell| cell.family(Relevance::Plausible)?.uai,
    ));
    blocks.extend(board.grid(
        "Pull beyond what a plausible anchor deserves",
        "Pull minus w/(n + w), with the n ratings that the prompt really shows and a weight w of one rating. Above 0 with its whole interval: ▲.",
        |cell| Some(cell.all.rational?.excess),
    ));
    blocks.extend(board.grid(
        "Plausible minus irrelevant",
        "Whether the model tells an estimate from a number.",
        |cell| cell.all.disc,
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
        "By 1 − |control-free pull of irrelevant anchors|, within each task: the number that should not count counts least on top. In brackets the places within the 95 % interval.",
    ));
    blocks.push(board.ranks());
    blocks.extend(board.variants());
    blocks.push(heading(2, "Answers and losses"));
    blocks.push(text(
        "A sample is lost when its reply gives no number from 0 to 100. Nothing is dropped in silence.",
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

struct Board<'a> {
    source: &'a CaseBoardSource<'a>,
    models: Vec<&'a ModelName>,
    /// Tasks that are no variants, with samples.
    tasks: Vec<&'a Task>,
}

impl<'a> Board<'a> {
    fn new(source: &'a CaseBoardSource<'a>) -> Self {
        let models: BTreeSet<&ModelName> =
            source.scores.cells.iter().map(|cell| &cell.model).collect();
        let tasks = source.tasks.0.iter().filter(|task| {
            task.variant_of.is_none()
                && source
                    .scores
                    .cells
                    .iter()
                    .any(|cell| cell.task == task.name)
        });
        Self {
            source,
            models: models.into_iter().collect(),
            tasks: tasks.collect(),
        }
    }

    fn cell(&self, model: &ModelName, task: &Task) -> Option<&'a CaseCell> {
        let mut cells = self.source.scores.cells.iter();
        cells.find(|cell| cell.model == *model && cell.task == task.name)
    }

    /// One number of every cell: models down, tasks across.
    fn grid(
        &self,
        title: &str,
        about: &str,
        of: impl Fn(&CaseCell) -> Option<Measured>,
    ) -> Vec<Block> {
        if self.tasks.is_empty() {
            return Vec::new();
        }
        let mut names = vec!["model".to_owned()];
        names.extend(self.tasks.iter().map(|task| format!("{}#", task.title)));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let excess = title.starts_with("Pull beyond");
        let rows = self.models.iter().map(|model| {
            let mut row = vec![Entry::from(model.as_str())];
            row.extend(self.tasks.iter().map(|task| {
                let Some(cell) = self.cell(model, task) else {
                    return Entry::default();
                };
                let value = of(cell).filter(|_| cell.why.is_none());
                let above = excess && cell.all.rational.is_some_and(|rational| rational.above);
                let mark = if above && value.is_some() { " ▲" } else { "" };
                Entry::from(measured(value) + mark)
                    .by(value.map(|value| value.value))
                    .to((self.source.link)(cell))
            }));
            row
        });
        vec![
            heading(2, title),
            text(about),
            Block::Table {
                columns: columns(&names),
                rows: rows.collect(),
            },
        ]
    }

    /// One row a usable cell of the pathways.
    fn rows<R>(&self, row: impl Fn(&CaseCell) -> R) -> Vec<R> {
        let mut rows = Vec::new();
        for model in &self.models {
            for task in &self.tasks {
                rows.extend(
                    self.cell(model, task)
                        .filter(|cell| cell.why.is_none())
                        .map(&row),
                );
            }
        }
        rows
    }

    fn pull_or_drift(&self) -> Block {
        let family = |summary: &Summary, relevance| {
            let family = summary.families.get(&relevance);
            family.map(|family| (family.uai_low, family.uai_high, family.pull))
        };
        let rows =
            self.rows(|cell| {
                let mut row = head(cell);
                for relevance in [Relevance::Irrelevant, Relevance::Plausible] {
                    let (low, high, pull) = family(&cell.all, relevance).unwrap_or_default();
                    row.extend([low, high, pull].map(|value| {
                        Entry::from(measured(value)).by(value.map(|value| value.value))
                    }));
                }
                row
            });
        Block::Table {
            columns: columns(&[
                "model",
                "task",
                "irrelevant, low#",
                "high#",
                "control-free#",
                "plausible, low#",
                "high#",
                "control-free#",
            ]),
            rows,
        }
    }

    fn dose(&self) -> Vec<Block> {
        let offsets: BTreeSet<u8> = self
            .source
            .scores
            .cells
            .iter()
            .flat_map(|cell| cell.by_offset.keys().copied())
            .collect();
        if offsets.is_empty() {
            return Vec::new();
        }
        let mut names = vec!["model".to_owned(), "task".to_owned()];
        names.extend(offsets.iter().map(|offset| format!("± {offset}#")));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let rows = self.rows(|cell| {
            let mut row = head(cell);
            row.extend(offsets.iter().map(|offset| {
                let plausible = cell
                    .by_offset
                    .get(offset)
                    .and_then(|summary| summary.families.get(&Relevance::Plausible)?.uai);
                Entry::from(measured(plausible)).by(plausible.map(|value| value.value))
            }));
            row
        });
        vec![
            heading(2, "Dose and response"),
            text(
                "Pull of plausible anchors by how far they lie from the middle of the evidence. It falls where the distance itself makes an anchor less believable.",
            ),
            Block::Table {
                columns: columns(&names),
                rows,
            },
        ]
    }

    fn across(&self) -> Vec<Block> {
        if self.models.len() < 2 {
            return Vec::new();
        }
        let of = |relevance| {
            move |uai: &std::collections::BTreeMap<Relevance, Measured>| {
                uai.get(&relevance).copied()
            }
        };
        let (irrelevant, plausible) = (of(Relevance::Irrelevant), of(Relevance::Plausible));
        let title = |name: &crate::domain::TaskName| {
            self.source
                .tasks
                .get(name.as_str())
                .map_or_else(|| name.to_string(), |task| task.title.clone())
        };
        let core = self
            .source
            .scores
            .pathways
            .iter()
            .filter(|pathway| self.tasks.iter().any(|task| task.name == pathway.task));
        let rows = core.map(|pathway| {
            vec![
                Entry::from(title(&pathway.task)),
                Entry::from(measured(irrelevant(&pathway.uai))),
                Entry::from(measured(plausible(&pathway.uai))),
                Entry::from(measured(pathway.disc)),
                Entry::from(format!(
                    "{} of {}",
                    pathway.positive,
                    pathway.disc.map_or(0, |disc| disc.n)
                )),
                Entry::from(
                    pathway
                        .p_adjusted
                        .map_or_else(|| UNSCORED.to_owned(), p_text),
                ),
            ]
        });
        vec![
            heading(2, "Over models"),
            text(
                "Unweighted means over the scored models of a task, models drawn anew; p of the signed-rank test of the difference over models, from six on, adjusted over tasks after Benjamini and Hochberg.",
            ),
            Block::Table {
                columns: columns(&[
                    "task",
                    "irrelevant#",
                    "plausible#",
                    "difference#",
                    "above 0#",
                    "p#",
                ]),
                rows: rows.collect(),
            },
        ]
    }

    fn ranks(&self) -> Block {
        let mut names = vec!["model".to_owned()];
        names.extend(self.tasks.iter().map(|task| format!("{}#", task.title)));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ranks = &self.source.scores.ranks;
        let rows = self.models.iter().map(|model| {
            let mut row = vec![Entry::from(model.as_str())];
            row.extend(self.tasks.iter().map(|task| {
                let rank = ranks.get(&task.name).and_then(|ranks| ranks.get(*model));
                rank.map_or_else(Entry::default, |rank| {
                    let place = u32::try_from(rank.rank).unwrap_or(u32::MAX);
                    Entry::from(format!("{} [{}–{}]", rank.rank, rank.best, rank.worst))
                        .by(Some(f64::from(place)))
                })
            }));
            row
        });
        Block::Table {
            columns: columns(&names),
            rows: rows.collect(),
        }
    }

    /// Variants beside the task they vary; each is measured from its own control.
    fn variants(&self) -> Vec<Block> {
        let mut rows = Vec::new();
        for model in &self.models {
            for task in self
                .source
                .tasks
                .0
                .iter()
                .filter(|task| task.variant_of.is_some())
            {
                let Some(cell) = self.cell(model, task).filter(|cell| cell.why.is_none()) else {
                    continue;
                };
                let pull = |relevance| cell.family(relevance).and_then(|family| family.uai);
                let mut row = head(cell);
                row.extend([
                    Entry::from(measured(cell.all.acc10)),
                    Entry::from(measured(pull(Relevance::Irrelevant))),
                    Entry::from(measured(pull(Relevance::Plausible))),
                    Entry::from(measured(cell.all.disc)),
                    Entry::from(task.about.clone()),
                ]);
                rows.push(row);
            }
        }
        if rows.is_empty() {
            return Vec::new();
        }
        vec![
            heading(2, "Variants"),
            text("Each is measured from a control of its own, asked in the same way."),
            Block::Table {
                columns: columns(&[
                    "model",
                    "task",
                    "within 10 points#",
                    "irrelevant#",
                    "plausible#",
                    "difference#",
                    "what is different",
                ]),
                rows,
            },
        ]
    }

    fn losses(&self) -> Block {
        let rows = self.source.scores.cells.iter().map(|cell| {
            let mut row = head(cell);
            let (eligible, dropped) = cell.all.excluded();
            row.extend([
                Entry::from(cell.all.cases.to_string()),
                Entry::from(cell.samples.to_string()),
                Entry::from(short(cell.parse_rate())),
                Entry::from(losses(cell.losses.iter().map(|(loss, n)| (*loss, *n)))),
                Entry::from(format!("{dropped} of {eligible}")),
                Entry::from(cell.other_wording.to_string()),
                Entry::from(cell.why.clone().unwrap_or_default()),
            ]);
            row
        });
        Block::Table {
            columns: columns(&[
                "model",
                "task",
                "cases#",
                "samples#",
                "with an answer#",
                "lost, by reason",
                "anchors within epsilon#",
                "other wording#",
                "not scored because",
            ]),
            rows: rows.collect(),
        }
    }

    fn settings(&self) -> Block {
        let mut rows: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
        for cell in &self.source.scores.cells {
            for settings in &cell.settings {
                let sampling = &settings.sampling;
                let sent = |value: Option<String>| value.unwrap_or_else(|| UNSCORED.to_owned());
                let returned = match settings.returned.as_slice() {
                    [] => UNKNOWN.to_owned(),
                    some => some.join(", "),
                };
                let row = vec![
                    cell.model.to_string(),
                    format!("{}/{}", settings.provider, settings.model_id),
                    returned,
                    sent(sampling.temperature.map(|value| value.to_string())),
                    sent(sampling.top_p.map(|value| value.to_string())),
                    sent(sampling.max_output_tokens.map(|value| value.to_string())),
                    sent(sampling.reasoning_effort.clone()),
                    sent(settings.prefill.clone()),
                    match settings.dropped.as_slice() {
                        [] => "none".to_owned(),
                        some => some.join(", "),
                    },
                    if cell.with_calls > 0 { "calls" } else { "text" }.to_owned(),
                    cell.epochs.to_string(),
                ];
                match rows.iter_mut().find(|(known, _)| *known == row) {
                    Some((_, tasks)) => tasks.push(cell.task.as_str()),
                    None => rows.push((row, vec![cell.task.as_str()])),
                }
            }
        }
        let rows = rows.into_iter().map(|(mut row, tasks)| {
            row.insert(1, tasks.join(", "));
            row.into_iter().map(Entry::from).collect()
        });
        Block::Table {
            columns: columns(&[
                "model",
                "tasks",
                "asked",
                "answered by",
                "temperature#",
                "top_p#",
                "output limit#",
                "effort",
                "prefill",
                "dropped",
                "tools as",
                "epochs#",
            ]),
            rows: rows.collect(),
        }
    }

    fn provenance(&self) -> Block {
        let source = self.source;
        let versions: Vec<&str> = source.versions.iter().map(String::as_str).collect();
        let method = source.scores.method;
        let items = [
            format!(
                "made by `{CASES_MADE_BY}{} --clustering {} --baseline {} --rules {}`",
                method.epsilon, method.intervals, method.baseline, source.rules
            ),
            format!(
                "{} stored lines, fingerprint {}",
                source.lines, source.store_fingerprint
            ),
            format!("asked by wheel {}", versions.join(", ")),
            "check it with `wheel verify`: the command computes every number again from the replies".to_owned(),
        ];
        Block::List {
            items: items.into_iter().map(Entry::from).collect(),
        }
    }
}

/// The first two entries of a row.
fn head(cell: &CaseCell) -> Vec<Entry> {
    vec![
        Entry::from(cell.model.as_str()),
        Entry::from(cell.task.as_str()),
    ]
}

/// The weight that a pull stands for, in words.
pub(super) fn weight(cell: &CaseCell) -> String {
    number(
        cell.all
            .rational
            .and_then(|rational| rational.implied_weight),
    )
}
