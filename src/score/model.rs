//! What belongs to a model over all its tasks: accuracy, tokens, cost.

use super::heard::Heard;
use super::index::Index;
use super::relief::Relief;
use super::samples::Cell;
use super::stats::{Interval, bootstrap_by, median, wilson};
use crate::bank::{Bank, Item};
use crate::domain::{Condition, ModelName, Tier, Usd};

/// How far a baseline estimate may lie from the reference to count as right, as a share of the reference.
pub const TOLERANCE: f64 = 0.1;

/// Scores of one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelScore {
    /// The model.
    pub model: ModelName,
    /// Known and fuzzy items whose baseline estimate lies within 10 % of the reference, and all known and fuzzy
    /// items; `None` if the baseline was never asked. A lost reply is a miss.
    pub accuracy: Option<(usize, usize)>,
    /// Wilson interval of the share.
    pub accuracy_interval: Option<Interval>,
    /// Median output tokens, hidden reasoning included, over the one-line tasks.
    pub median_output_tokens: Option<f64>,
    /// Its bootstrap interval over items.
    pub tokens_interval: Option<Interval>,
    /// Replies with a known token count behind the median.
    pub tokens_n: usize,
    /// Sum of the computed cost of all answered calls; `None` if one of them is unknown.
    pub cost_computed: Option<Usd>,
    /// Sum of the cost that the provider reported; `None` if one call has none.
    pub cost_reported: Option<Usd>,
    /// Relief by thinking, where it can be said.
    pub relief: Option<Relief>,
    /// Start of the first and the last counted call, RFC 3339.
    pub dates: Option<(String, String)>,
}

pub(super) fn score_models(cells: &[Cell<'_>], heard: &[Heard], bank: &Bank) -> Vec<ModelScore> {
    let mut names: Vec<&ModelName> = cells.iter().map(|cell| &cell.model).collect();
    names.dedup();
    names
        .into_iter()
        .map(|name| {
            let own: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.model == *name).collect();
            let calls = heard.iter().filter(|line| line.model == *name);
            score_model(name, &own, calls, bank)
        })
        .collect()
}

/// Scores one model from its cells and all its calls.
#[must_use]
pub fn score_model<'a>(
    name: &ModelName,
    cells: &[&Cell<'_>],
    calls: impl Iterator<Item = &'a Heard>,
    bank: &Bank,
) -> ModelScore {
    let graded: Vec<&Item> = bank
        .items
        .iter()
        .filter(|item| matches!(item.tier, Tier::Known | Tier::Fuzzy))
        .collect();
    let baseline = cells.iter().find(|cell| {
        cell.task.conditions == [Condition::Unanchored] && cell.task.targets.is_none()
    });
    let accuracy = baseline.filter(|_| !graded.is_empty()).map(|cell| {
        let right = graded.iter().filter(|item| is_right(cell, item)).count();
        (right, graded.len())
    });
    let mut tokens: Vec<(&str, f64)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.task.one_line) {
        for sample in &cell.samples {
            if let Some(output) = sample.record.tokens.output {
                #[expect(clippy::cast_precision_loss, reason = "token counts lie below 2^53")]
                tokens.push((sample.slot.item.as_str(), output.0 as f64));
            }
        }
    }
    let (computed, reported) = costs(calls);
    let started = cells
        .iter()
        .flat_map(|cell| &cell.samples)
        .map(|sample| &*sample.record.started);
    let dates = started
        .clone()
        .min()
        .zip(started.max())
        .map(|(first, last)| (first.to_owned(), last.to_owned()));
    let values: Vec<f64> = tokens.iter().map(|(_, value)| *value).collect();
    ModelScore {
        model: name.clone(),
        accuracy,
        accuracy_interval: accuracy.map(|(right, n)| wilson(right, n)),
        median_output_tokens: median(&values),
        tokens_interval: tokens_interval(&tokens),
        tokens_n: tokens.len(),
        cost_computed: computed,
        cost_reported: reported,
        relief: None,
        dates,
    }
}

fn is_right(cell: &Cell<'_>, item: &Item) -> bool {
    let reference = item.reference.get();
    let value = Index::LogAi.center(&cell.estimates(item, Condition::Unanchored));
    // A hair of slack, so that 110 counts for a reference of 100.
    (value - reference).abs() <= TOLERANCE * reference * (1.0 + 1e-9)
}

/// Interval of the median when items are drawn anew, each with all its replies.
///
/// The values are sorted once; a resample only says how often each item, and so each of its values, counts.
fn tokens_interval(tokens: &[(&str, f64)]) -> Option<Interval> {
    let mut items: Vec<&str> = tokens.iter().map(|(item, _)| *item).collect();
    items.sort_unstable();
    items.dedup();
    let mut sorted: Vec<(f64, usize)> = tokens
        .iter()
        .filter_map(|(item, value)| Some((*value, items.binary_search(item).ok()?)))
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    // Replies of one item with the same count are one entry with a weight.
    let mut weighted: Vec<(f64, usize, usize)> = Vec::new();
    for (value, item) in sorted {
        match weighted.last_mut() {
            Some((known, place, n)) if *known == value && *place == item => *n += 1,
            _ => weighted.push((value, item, 1)),
        }
    }
    (items.len() > 1).then(|| {
        bootstrap_by(items.len(), |drawn| {
            let mut times = vec![0_usize; items.len()];
            for item in drawn {
                times[*item as usize] += 1;
            }
            let total: usize = weighted.iter().map(|(_, item, n)| times[*item] * n).sum();
            // The places of the two middle values; the same place if the number is odd.
            let at = |place: usize| {
                let mut passed = 0;
                let found = weighted.iter().find(|(_, item, n)| {
                    passed += times[*item] * n;
                    passed > place
                });
                found.map_or(f64::NAN, |(value, ..)| *value)
            };
            f64::midpoint(at((total - 1) / 2), at(total / 2))
        })
    })
}

fn costs<'a>(calls: impl Iterator<Item = &'a Heard>) -> (Option<Usd>, Option<Usd>) {
    // What the provider's rules forbade was never run.
    let answered: Vec<&Heard> = calls
        .filter(|record| record.status.is_answer() && record.error.is_none())
        .collect();
    let sum = |cost: fn(&Heard) -> Option<Usd>| {
        let all: Option<Vec<Usd>> = answered.iter().map(|record| cost(record)).collect();
        all.filter(|all| !all.is_empty())
            .map(|all| all.into_iter().sum())
    };
    (
        sum(|record| record.cost.computed),
        sum(|record| record.cost.reported),
    )
}
