//! The tables of the board of a suite of cases.

use std::collections::{BTreeMap, BTreeSet};

use super::board::{CASES_MADE_BY, CaseBoardSource};
use super::words::{measured, short};
use crate::domain::{ModelName, Relevance, TaskName};
use crate::publish::document::{Block, Entry, columns, heading, text};
use crate::publish::format::{UNKNOWN, UNSCORED, losses, p_text};
use crate::score::stats::Rank;
use crate::score::uai::{CaseCell, Measured, Summary};
use crate::task::Task;

/// The tables of a board.
pub(super) struct Board<'a> {
    source: &'a CaseBoardSource<'a>,
    models: Vec<&'a ModelName>,
    /// Tasks that are no variants, with samples.
    tasks: Vec<&'a Task>,
}

impl<'a> Board<'a> {
    pub(super) fn new(source: &'a CaseBoardSource<'a>) -> Self {
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

    /// One number of every cell, models down and tasks across; some are marked.
    pub(super) fn grid(
        &self,
        title: &str,
        about: &str,
        of: impl Fn(&CaseCell) -> Option<Measured>,
        marked: impl Fn(&CaseCell) -> bool,
    ) -> Vec<Block> {
        if self.tasks.is_empty() {
            return Vec::new();
        }
        let mut names = vec!["model".to_owned()];
        names.extend(self.tasks.iter().map(|task| format!("{}#", task.title)));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let rows = self.models.iter().map(|model| {
            let mut row = vec![Entry::from(model.as_str())];
            row.extend(self.tasks.iter().map(|task| {
                let Some(cell) = self.cell(model, task) else {
                    return Entry::default();
                };
                let value = of(cell).filter(|_| cell.why.is_none());
                let mark = if value.is_some() && marked(cell) {
                    " ▲"
                } else {
                    ""
                };
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

    pub(super) fn pull_or_drift(&self) -> Block {
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

    pub(super) fn dose(&self) -> Vec<Block> {
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

    pub(super) fn across(&self) -> Vec<Block> {
        if self.models.len() < 2 {
            return Vec::new();
        }
        let of =
            |relevance| move |uai: &BTreeMap<Relevance, Measured>| uai.get(&relevance).copied();
        let (irrelevant, plausible) = (of(Relevance::Irrelevant), of(Relevance::Plausible));
        let title = |name: &TaskName| {
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
                "Unweighted means over the scored models of a task, models drawn anew (10,000 resamples); p of the signed-rank test of the difference over models, from six on, adjusted over tasks after Benjamini and Hochberg. Models that were asked about less than 80 % of the cases of the others are left out.",
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

    pub(super) fn ranks(&self) -> Block {
        let mut names = vec!["model".to_owned()];
        names.extend(self.tasks.iter().map(|task| format!("{}#", task.title)));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ranks = &self.source.scores.ranks;
        let rows = self.models.iter().map(|model| {
            let mut row = vec![Entry::from(model.as_str())];
            row.extend(self.tasks.iter().map(|task| {
                let rank = ranks.get(&task.name).and_then(|ranks| ranks.get(*model));
                let pull = self
                    .cell(model, task)
                    .and_then(|cell| cell.family(Relevance::Irrelevant)?.pull);
                let not_ranked = || match self.cell(model, task) {
                    Some(_) => Entry::from(UNSCORED),
                    None => Entry::default(),
                };
                rank.zip(pull).map_or_else(not_ranked, |(rank, pull)| {
                    let place = u32::try_from(rank.rank).unwrap_or(u32::MAX);
                    let Rank { rank, best, worst } = rank;
                    Entry::from(format!("{rank} [{best}–{worst}] ({})", pull.n))
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
    pub(super) fn variants(&self) -> Vec<Block> {
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

    pub(super) fn losses(&self) -> Block {
        let rows = self.source.scores.cells.iter().map(|cell| {
            let mut row = head(cell);
            let (eligible, dropped) = cell.all.excluded();
            let (pairs, close) = cell.all.pairs();
            row.extend([
                Entry::from(cell.all.cases.to_string()),
                Entry::from(cell.samples.to_string()),
                Entry::from(short(cell.parse_rate())),
                Entry::from(losses(cell.losses.iter().map(|(loss, n)| (*loss, *n)))),
                Entry::from(format!("{dropped} of {eligible}")),
                Entry::from(format!("{close} of {pairs}")),
                Entry::from(cell.all.without_anchor().to_string()),
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
                "anchors within epsilon of the control#",
                "of each other#",
                "answers without an anchor#",
                "other wording#",
                "not scored because",
            ]),
            rows: rows.collect(),
        }
    }

    pub(super) fn settings(&self) -> Block {
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
                    match cell.with_calls {
                        (_, 0) => "text".to_owned(),
                        (all, calls) if all == calls => "calls".to_owned(),
                        (all, calls) => format!("calls in {calls} of {all}"),
                    },
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

    pub(super) fn provenance(&self) -> Block {
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
