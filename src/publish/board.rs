//! The board of the wheel as markdown.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{UNKNOWN, UNSCORED, losses, two, whole_with_interval, with_interval};
use super::markdown::{Align, table};
use crate::bank::Bank;
use crate::domain::ModelName;
use crate::score::log_ratio::Settings;
use crate::score::stats::{RESAMPLES, SEED};
use crate::score::{CellScore, ModelScore, Scores};
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
}

/// The whole board.
#[must_use]
pub fn board(source: &BoardSource<'_>) -> String {
    let board = Board::new(source);
    let mut out = String::from(
        "# Wheel of fortune: who is pulled by a number that has nothing to do with the question\n\n",
    );
    out.push_str(&board.intro());
    out.push_str("\n## Anchoring index\n\n");
    out.push_str(&board.main_table());
    out.push_str(&board.marks_legend());
    out.push_str("\n## Ranks by resistance\n\nResistance is 1 − |anchoring index|: higher is better. Models are ranked within each task; equal values by name.\n");
    out.push_str(&board.ranks());
    out.push_str(&board.relief());
    out.push_str("\n## By tier\n\nMean index [95 % interval] and usable items of the tier.\n\n");
    out.push_str(&board.tiers());
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
                .filter(|task| task.is_anchored())
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
        format!(
            "Each question is asked with a low anchor (reference / 2.5) and a high one (reference × 2.5). The **anchoring index** of a question is \
             ln(estimate after the high anchor / estimate after the low one) / ln(high anchor / low anchor), capped to [−1, 1]: 0 = the anchor changed nothing, \
             1 = the estimate moved as much as the anchor, negative = pushed away. A cell is the mean over the usable questions of {}, with a 95 % percentile \
             bootstrap interval over questions ({RESAMPLES} resamples, seed {SEED}); it is scored only if at least 80 % of the questions are usable, otherwise it shows {UNSCORED}.\n",
            self.source.bank.items.len()
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
                    format!("{}{}", model.model, self.marks(&model.model)),
                    accuracy(model),
                    model.median_output_tokens.map_or_else(
                        || UNKNOWN.to_owned(),
                        |tokens| {
                            let text = whole_with_interval(tokens, model.tokens_interval);
                            format!("{text} n={}", model.tokens_n)
                        },
                    ),
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

    /// Superscript marks of a model, explained below the table.
    fn marks(&self, model: &'a ModelName) -> String {
        let mut marks = String::new();
        for (mark, has, _) in MARKS {
            if self.own_cells(model).any(|(_, cell)| has(cell)) {
                marks.push_str(mark);
            }
        }
        marks
    }

    fn marks_legend(&self) -> String {
        let mut out = String::new();
        for (mark, has, meaning) in MARKS {
            if self.cells.values().any(|cell| has(cell)) {
                out.push_str(&format!("\n{mark} {meaning}\n"));
            }
        }
        out
    }

    fn ranks(&self) -> String {
        let mut out = String::new();
        for task in &self.anchored {
            let mut cells: Vec<&CellScore> = self
                .models
                .iter()
                .filter_map(|model| self.cell(&model.model, task))
                .collect();
            cells.sort_by(|a, b| {
                let value = |cell: &CellScore| cell.resistance().unwrap_or(f64::NEG_INFINITY);
                value(b)
                    .total_cmp(&value(a))
                    .then_with(|| a.model.cmp(&b.model))
            });
            let rows: Vec<Vec<String>> = cells
                .iter()
                .enumerate()
                .map(|(place, cell)| {
                    let scored = cell.all.index.is_some();
                    let when = |text: String| if scored { text } else { UNSCORED.to_owned() };
                    vec![
                        when((place + 1).to_string()),
                        cell.model.to_string(),
                        cell.resistance().map_or_else(|| UNSCORED.to_owned(), two),
                        index_text(cell),
                        format!("{} of {}", cell.all.usable, cell.all.items),
                        cell.all.sensitivity.map_or_else(
                            || UNSCORED.to_owned(),
                            |value| with_interval(value, cell.all.sensitivity_interval),
                        ),
                        when(cell.all.backlash.to_string()),
                        cell.all.copy_share().map_or_else(
                            || UNSCORED.to_owned(),
                            |share| {
                                format!(
                                    "{} ({} of {})",
                                    two(share),
                                    cell.all.copies.0,
                                    cell.all.copies.1
                                )
                            },
                        ),
                        if task
                            .asks()
                            .any(|reads| reads.contains(&crate::task::Part::Comparison))
                        {
                            format!("{} of {}", cell.contradictions, cell.comparisons)
                        } else {
                            String::new()
                        },
                    ]
                })
                .collect();
            out.push_str(&format!(
                "\n### {}\n\n{}: {}.\n\n",
                task.title, task.name, task.about
            ));
            out.push_str(&table(
                &[
                    ("rank", Align::Right),
                    ("model", Align::Left),
                    ("resistance", Align::Right),
                    ("index", Align::Right),
                    ("usable items", Align::Right),
                    ("sensitivity", Align::Right),
                    ("backlash", Align::Right),
                    ("equal to the anchor", Align::Right),
                    ("contradictions", Align::Right),
                ],
                &rows,
            ));
        }
        out.push_str(
            "\nSensitivity is the mean |index|: the size of the jump in either direction. Each prompt is asked once unless the settings say otherwise, so it also \
             holds run-to-run noise. Backlash counts questions with an index below −0.05. \"Equal to the anchor\" is the share of usable estimates that repeat the \
             anchor: it tells copying from pull. Contradictions are replies whose \"more\" or \"less\" disagrees with their own estimate, of all that gave both.\n",
        );
        out
    }

    fn relief(&self) -> String {
        let rows: Vec<Vec<String>> = self
            .models
            .iter()
            .filter_map(|model| {
                let relief = model.relief?;
                let text = with_interval(relief.value, Some(relief.interval));
                Some(vec![
                    model.model.to_string(),
                    format!("{text} n={}", relief.n),
                ])
            })
            .collect();
        let mut out = String::from(
            "\n## Relief by thinking\n\n1 − thinking index / classic index, only where both are scored and the classic interval is clear of zero.\n\n",
        );
        if rows.is_empty() {
            out.push_str("No model has both.\n");
        } else {
            out.push_str(&table(
                &[("model", Align::Left), ("relief", Align::Right)],
                &rows,
            ));
        }
        out
    }

    fn tiers(&self) -> String {
        let mut rows = Vec::new();
        for model in &self.models {
            for (task, cell) in self
                .own_cells(&model.model)
                .filter(|(_, cell)| cell.anchored)
            {
                let mut row = vec![model.model.to_string(), task.title.clone()];
                for tier in <crate::domain::Tier as strum::IntoEnumIterator>::iter() {
                    row.push(cell.tiers.get(&tier).map_or_else(String::new, |score| {
                        let n = format!("n={} of {}", score.usable, score.items);
                        match score.index {
                            Some(index) => format!("{} {n}", with_interval(index, score.interval)),
                            None => format!("{UNSCORED} {n}"),
                        }
                    }));
                }
                let moved = cell.tiers.get(&crate::domain::Tier::Known);
                row.push(moved.map_or_else(String::new, |known| {
                    format!("{} of {}", known.moved, known.usable)
                }));
                rows.push(row);
            }
        }
        table(
            &[
                ("model", Align::Left),
                ("task", Align::Left),
                ("known", Align::Right),
                ("fuzzy", Align::Right),
                ("fermi", Align::Right),
                ("known facts that moved", Align::Right),
            ],
            &rows,
        )
    }

    fn losses(&self) -> String {
        let mut rows = Vec::new();
        for model in &self.models {
            for (task, cell) in self.own_cells(&model.model) {
                let lost: usize = cell.losses.values().sum();
                rows.push(vec![
                    model.model.to_string(),
                    task.title.clone(),
                    cell.samples.to_string(),
                    (cell.samples - lost.min(cell.samples)).to_string(),
                    losses(cell.losses.iter().map(|(loss, n)| (*loss, *n))),
                    cell.why
                        .clone()
                        .filter(|_| cell.anchored)
                        .unwrap_or_default(),
                ]);
            }
        }
        table(
            &[
                ("model", Align::Left),
                ("task", Align::Left),
                ("samples", Align::Right),
                ("usable", Align::Right),
                ("lost, by reason", Align::Left),
                ("not scored because", Align::Left),
            ],
            &rows,
        )
    }

    fn settings(&self) -> String {
        let mut rows = Vec::new();
        for model in &self.models {
            let mut seen: Vec<(Settings, Vec<&str>, u32)> = Vec::new();
            for (task, cell) in self.own_cells(&model.model) {
                for settings in &cell.settings {
                    match seen
                        .iter_mut()
                        .find(|(known, _, epochs)| known == settings && *epochs == cell.epochs)
                    {
                        Some((_, tasks, _)) => tasks.push(task.name.as_str()),
                        None => {
                            seen.push((settings.clone(), vec![task.name.as_str()], cell.epochs));
                        }
                    }
                }
            }
            for (settings, tasks, epochs) in seen {
                let sampling = &settings.sampling;
                let sent = |value: Option<String>| value.unwrap_or_else(|| UNSCORED.to_owned());
                rows.push(vec![
                    model.model.to_string(),
                    tasks.join(", "),
                    format!("{}/{}", settings.provider, settings.model_id),
                    if settings.returned.is_empty() {
                        UNKNOWN.to_owned()
                    } else {
                        settings.returned.join(", ")
                    },
                    sent(sampling.temperature.map(|value| value.to_string())),
                    sent(sampling.top_p.map(|value| value.to_string())),
                    sent(sampling.seed.map(|_| "yes".to_owned())),
                    sent(sampling.max_output_tokens.map(|value| value.to_string())),
                    sent(sampling.reasoning_effort.clone()),
                    sent(settings.prefill.clone()),
                    if settings.dropped.is_empty() {
                        "none".to_owned()
                    } else {
                        settings.dropped.join(", ")
                    },
                    epochs.to_string(),
                ]);
            }
        }
        table(
            &[
                ("model", Align::Left),
                ("tasks", Align::Left),
                ("asked", Align::Left),
                ("answered by", Align::Left),
                ("temperature", Align::Right),
                ("top_p", Align::Right),
                ("seed", Align::Left),
                ("output limit", Align::Right),
                ("effort", Align::Left),
                ("prefill", Align::Left),
                ("dropped", Align::Left),
                ("epochs", Align::Right),
            ],
            &rows,
        )
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
        out.push_str("- Every number is computed from the stored replies: `wheel leaderboard` writes this file again, byte for byte.\n");
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

fn index_text(cell: &CellScore) -> String {
    match cell.all.index {
        Some(index) => with_interval(index, cell.all.interval),
        None => format!("{UNSCORED} n={} of {}", cell.all.usable, cell.all.items),
    }
}

fn accuracy(model: &ModelScore) -> String {
    match model.accuracy {
        None => UNKNOWN.to_owned(),
        Some((right, n)) => {
            #[expect(clippy::cast_precision_loss, reason = "counts of items")]
            let share = right as f64 / n as f64;
            format!("{} n={n}", with_interval(share, model.accuracy_interval))
        }
    }
}
