//! Ranks, significance and noise.

use super::{Board, index_text};
use crate::publish::format::{UNSCORED, p_text, two, with_interval};
use crate::publish::markdown::{Align, table};
use crate::score::stats::RESAMPLES;
use crate::score::{CellScore, Index};
use crate::task::{Part, Task};

impl Board<'_> {
    /// One table a task.
    pub(super) fn ranks(&self) -> String {
        let mut out = String::new();
        for task in &self.anchored {
            out.push_str(&format!(
                "\n### {}\n\n{}: {}.\n\n",
                task.title, task.name, task.about
            ));
            out.push_str(&self.ranks_of(task));
        }
        out.push_str(&self.legend());
        out
    }

    fn ranks_of(&self, task: &Task) -> String {
        let mut cells: Vec<&CellScore> = self
            .models
            .iter()
            .filter_map(|model| self.cell(&model.model, task))
            .collect();
        cells.sort_by(|a, b| {
            let value = |cell: &CellScore| cell.all.resistance().unwrap_or(f64::NEG_INFINITY);
            value(b)
                .total_cmp(&value(a))
                .then_with(|| a.model.cmp(&b.model))
        });
        let compares = task.reads(Part::Comparison);
        let rows: Vec<Vec<String>> = cells
            .iter()
            .map(|cell| self.rank_row(cell, compares))
            .collect();
        let mut columns = vec![
            ("rank [95 %]", Align::Right),
            ("model", Align::Left),
            ("resistance", Align::Right),
            ("index", Align::Right),
            ("p", Align::Right),
            ("p (Holm)", Align::Right),
            ("p (BH)", Align::Right),
            ("usable items", Align::Right),
            ("sensitivity", Align::Right),
            ("of it pull, noise", Align::Right),
            ("noise floor", Align::Right),
            ("backlash", Align::Right),
            ("equal to the anchor", Align::Right),
        ];
        if compares {
            columns.push(("contradictions", Align::Right));
        }
        table(&columns, &rows)
    }

    fn rank_row(&self, cell: &CellScore, compares: bool) -> Vec<String> {
        let score = &cell.all;
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| UNSCORED.to_owned());
        let rank = self
            .source
            .scores
            .ranks
            .get(&cell.task)
            .and_then(|ranks| ranks.get(&cell.model));
        let mut row =
            vec![
                or_dash(rank.map(|rank| format!("{} [{}, {}]", rank.rank, rank.best, rank.worst))),
                cell.model.to_string(),
                or_dash(score.resistance().map(two)),
                index_text(cell),
                or_dash(score.p.map(p_text)),
                or_dash(cell.adjusted.map(|adjusted| p_text(adjusted.holm))),
                or_dash(
                    cell.adjusted
                        .map(|adjusted| p_text(adjusted.benjamini_hochberg)),
                ),
                format!("{} of {}", score.usable, score.items),
                or_dash(
                    score
                        .sensitivity
                        .map(|value| with_interval(value, score.sensitivity_interval)),
                ),
                or_dash(score.noise.map(|noise| {
                    format!(
                        "{}, {} n={}",
                        two(noise.pull),
                        two(noise.sensitivity),
                        noise.n
                    )
                })),
                or_dash(score.noise.map(|noise| format!("± {}", two(noise.floor)))),
                or_dash(score.index.and(score.backlash).map(|n| n.to_string())),
                or_dash(score.copy_share().map(|share| {
                    format!("{} ({} of {})", two(share), score.copies.0, score.copies.1)
                })),
            ];
        if compares {
            row.push(format!("{} of {}", cell.contradictions, cell.comparisons));
        }
        row
    }

    fn legend(&self) -> String {
        let mut out = format!(
            "\nRanks are by resistance, with the places that the model takes in 95 % of {RESAMPLES} resamples of the questions. p is that of a mean index of 0, \
             two-sided, by flipping the signs of the questions' indices; (Holm) is adjusted for claims about single cells, (BH) for the board as a whole, both over \
             all scored cells of this board.\n\nSensitivity is the mean |index|: the size of the jump in either direction. It holds run-to-run noise: with two epochs \
             or more it is split into pull and noise, and the noise floor is the size of a mean index that noise alone stays under 95 % of the time; with one \
             epoch they show {UNSCORED}. Backlash counts questions with an index below −0.05. \"Equal to the anchor\" is the share of usable estimates that repeat \
             the anchor: it tells copying from pull. Contradictions are replies whose \"more\" or \"less\" disagrees with their own estimate, of all that gave both.\n",
        );
        if self.source.scores.method.index == Index::Raw {
            out.push_str("\nA share of questions has no sign, so this board has no ranks, sensitivity and noise.\n");
        }
        out
    }

    /// Relief by thinking.
    pub(super) fn relief(&self) -> String {
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

    /// The halves of the linear index.
    pub(super) fn halves(&self) -> String {
        let mut rows = Vec::new();
        for model in &self.models {
            for (task, cell) in self.own_cells(&model.model) {
                let Some((low, high)) = cell.all.halves else {
                    continue;
                };
                let text = |half: Option<crate::score::tier::Mean>| {
                    half.map_or_else(
                        || UNSCORED.to_owned(),
                        |half| {
                            format!(
                                "{} n={} of {}",
                                with_interval(half.value, Some(half.interval)),
                                half.n,
                                cell.all.items
                            )
                        },
                    )
                };
                rows.push(vec![
                    model.model.to_string(),
                    task.title.clone(),
                    text(low),
                    text(high),
                    cell.all.median.map_or_else(|| UNSCORED.to_owned(), two),
                ]);
            }
        }
        if rows.is_empty() {
            return String::new();
        }
        format!(
            "\n## Low and high half\n\nHow far each anchor alone moves the median estimate from that without an anchor, as a share of the way to the anchor; over \
             questions whose unanchored median lies between the anchors.\n\n{}",
            table(
                &[
                    ("model", Align::Left),
                    ("task", Align::Left),
                    ("low half", Align::Right),
                    ("high half", Align::Right),
                    ("median index of the questions", Align::Right),
                ],
                &rows,
            )
        )
    }
}
