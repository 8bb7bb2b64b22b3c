//! Judges that choose a label: what an earlier wrong label keeps from being corrected, and what errors it makes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::calls::{Call, Calls, Temperature};
use super::effects::Estimate;
use super::mitigation::NONE;
use crate::domain::{Condition, Loss, ModelName, TaskName};
use crate::score::stats::{Stratified, percentiles};

/// A share with what it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// How many.
    pub k: f64,
    /// Of how many.
    pub n: f64,
    /// The share, with an interval over messages.
    pub estimate: Estimate,
}

/// Messages that were labelled wrongly before, and whose wrong label is shown under C2.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrections {
    /// Messages.
    pub items: usize,
    /// Share that is labelled rightly, by condition.
    pub correction: BTreeMap<Condition, Share>,
    /// Share that keeps the wrong label, by condition.
    pub persistence: BTreeMap<Condition, Share>,
    /// (correction under C0 − correction under C2) / correction under C0: a net ratio of rates, not a count of messages.
    pub blocked: Option<Estimate>,
}

/// Messages that were labelled rightly before, and beside which a wrong label is put under C2; pairs of C0 and C2 only.
#[derive(Debug, Clone, PartialEq)]
pub struct Inductions {
    /// Messages with a pair.
    pub items: usize,
    /// Messages that were asked.
    pub asked: usize,
    /// Pairs.
    pub pairs: usize,
    /// Share that is labelled rightly, under C0 and under C2.
    pub accuracy: [Share; 2],
    /// The difference, in shares.
    pub accuracy_change: Estimate,
    /// Share that gets the assigned wrong label, under C0 (by chance) and under C2.
    pub agreement: [Share; 2],
    /// The difference, in shares.
    pub agreement_change: Estimate,
    /// Of those that are right under C0 the share that becomes the assigned wrong label under C2; other errors do not count.
    pub induced: Option<Share>,
    /// Resamples without a right answer under C0, which have no such share and are left out.
    pub dropped: usize,
    /// Change of accuracy minus that without a strategy, on the pairs that both have; `None` of the strategy `none`.
    pub relief: Option<Estimate>,
    /// The same of agreement.
    pub agreement_relief: Option<Estimate>,
}

/// A model's labels under one strategy.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// The model.
    pub model: ModelName,
    /// The task that asked.
    pub task: TaskName,
    /// What the judge was told.
    pub strategy: Arc<str>,
    /// Calls asked.
    pub asked: usize,
    /// Calls with a label of the set.
    pub valid: usize,
    /// Calls without, by reason.
    pub losses: BTreeMap<Loss, usize>,
    /// Earlier errors.
    pub corrections: Option<Corrections>,
    /// Earlier right labels.
    pub inductions: Option<Inductions>,
}

/// Columns of sums; each share is one over another.
struct Table {
    /// Of each message the value of each column.
    rows: Vec<Vec<f64>>,
    draws: Stratified,
}

/// A statistic of the sums of all columns.
type Statistic<'a> = Box<dyn Fn(&[f64]) -> Option<f64> + 'a>;

impl Table {
    fn new(rows: Vec<Vec<f64>>) -> Self {
        let draws = Stratified::new(&[rows.len()]);
        Self { rows, draws }
    }

    fn sums(&self, drawn: impl Iterator<Item = usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.rows.first().map_or(0, Vec::len)];
        for at in drawn {
            for (sum, value) in sums.iter_mut().zip(&self.rows[at]) {
                *sum += value;
            }
        }
        sums
    }

    /// Values with intervals, all from the same draws, and how many resamples had none.
    fn estimates(&self, statistics: &[Statistic<'_>]) -> Vec<(Option<Estimate>, usize)> {
        let all = self.sums(0..self.rows.len());
        let mut columns = vec![Vec::new(); statistics.len()];
        let mut missing = vec![0; statistics.len()];
        self.draws.resamples(|drawn| {
            let sums = self.sums(drawn.iter().copied());
            for (place, statistic) in statistics.iter().enumerate() {
                match statistic(&sums) {
                    Some(value) => columns[place].push(value),
                    None => missing[place] += 1,
                }
            }
            None
        });
        let varies = self.draws.varies();
        let of = statistics.iter().zip(columns).zip(missing);
        of.map(|((statistic, column), missing)| {
            let estimate = statistic(&all).map(|value| Estimate {
                value,
                interval: percentiles(column).filter(|_| varies),
            });
            (estimate, missing)
        })
        .collect()
    }
}

fn ratio(above: usize, below: usize) -> Statistic<'static> {
    Box::new(move |sums| (sums[below] > 0.0).then(|| sums[above] / sums[below]))
}

fn change(a: usize, b: usize, below: usize) -> Statistic<'static> {
    Box::new(move |sums| (sums[below] > 0.0).then(|| (sums[a] - sums[b]) / sums[below]))
}

/// The strategies of one model and set of labels.
#[must_use]
pub fn labels(of_model: &[&Calls<'_>]) -> Vec<Labels> {
    let baseline = of_model.iter().find(|calls| &*calls.strategy == NONE);
    let mut rows: Vec<Labels> = of_model
        .iter()
        .map(|calls| Labels {
            model: calls.model.clone(),
            task: calls.task.clone(),
            strategy: Arc::clone(&calls.strategy),
            asked: calls.calls.len(),
            valid: calls.calls.iter().filter(|call| call.given.is_ok()).count(),
            losses: calls.losses(),
            corrections: corrections(calls),
            inductions: inductions(calls, baseline.copied()),
        })
        .collect();
    rows.sort_by_key(|row| (&*row.strategy != NONE, Arc::clone(&row.strategy)));
    rows
}

const CONDITIONS: [Condition; 3] = [Condition::C0, Condition::C1, Condition::C2];

/// Of each condition: labelled rightly, labelled as before, valid.
fn corrections(calls: &Calls<'_>) -> Option<Corrections> {
    let mut by_item: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for call in calls.calls.iter().filter(|call| call.judging.earlier_error) {
        let row = by_item
            .entry(call.item.as_str())
            .or_insert_with(|| vec![0.0; 9]);
        let place = CONDITIONS
            .iter()
            .position(|condition| *condition == call.condition);
        if let (Some(place), Some(label)) = (place, call.label()) {
            let is = |other: &Option<Arc<str>>| f64::from(u8::from(other.as_ref() == Some(label)));
            row[place * 3] += is(&call.judging.truth);
            row[place * 3 + 1] += is(&call.judging.prior);
            row[place * 3 + 2] += 1.0;
        }
    }
    if by_item.is_empty() {
        return None;
    }
    let items = by_item.len();
    let table = Table::new(by_item.into_values().collect());
    let sums = table.sums(0..items);
    let mut statistics: Vec<Statistic<'_>> = Vec::new();
    for place in 0..3 {
        statistics.push(ratio(place * 3, place * 3 + 2));
        statistics.push(ratio(place * 3 + 1, place * 3 + 2));
    }
    statistics.push(Box::new(|sums| {
        let rate = |at: usize| (sums[at + 2] > 0.0).then(|| sums[at] / sums[at + 2]);
        let (alone, shown) = (rate(0)?, rate(6)?);
        (alone > 0.0).then(|| (alone - shown) / alone)
    }));
    let found = table.estimates(&statistics);
    let share = |place: usize, which: usize| {
        let estimate = found[place * 2 + which].0?;
        let share = Share {
            k: sums[place * 3 + which],
            n: sums[place * 3 + 2],
            estimate,
        };
        Some((CONDITIONS[place], share))
    };
    Some(Corrections {
        items,
        correction: (0..3).filter_map(|place| share(place, 0)).collect(),
        persistence: (0..3).filter_map(|place| share(place, 1)).collect(),
        blocked: found[6].0,
    })
}

/// A pair of calls under C0 and C2 with the same message, temperature and trial.
type Pairs<'a> = BTreeMap<(&'a str, Temperature, Option<&'a str>, u32), [Option<&'a Call<'a>>; 2]>;

fn pairs<'a>(calls: &'a Calls<'_>) -> Pairs<'a> {
    let mut pairs: Pairs<'a> = BTreeMap::new();
    for call in calls
        .calls
        .iter()
        .filter(|call| !call.judging.earlier_error)
    {
        let place = match call.condition {
            Condition::C0 => 0,
            Condition::C2 => 1,
            _ => continue,
        };
        let run = call.judging.run.as_deref();
        let unit = (call.item.as_str(), call.temperature, run, call.trial);
        pairs.entry(unit).or_default()[place] = call.label().is_some().then_some(call);
    }
    pairs.retain(|_, pair| pair.iter().all(Option::is_some));
    pairs
}

/// Pairs, right under C0 and C2, wrong as assigned under C0 and C2, right and then wrong as assigned.
fn counts(pair: &[Option<&Call<'_>>; 2]) -> Option<[f64; 6]> {
    let [alone, shown] = [pair[0]?, pair[1]?];
    let prior = shown.judging.prior.as_ref();
    let is =
        |call: &Call<'_>, other: Option<&Arc<str>>| call.label().is_some() && call.label() == other;
    let right = [alone, shown].map(|call| is(call, call.judging.truth.as_ref()));
    let wrong = [alone, shown].map(|call| is(call, prior));
    let number = |holds: bool| f64::from(u8::from(holds));
    Some([
        1.0,
        number(right[0]),
        number(right[1]),
        number(wrong[0]),
        number(wrong[1]),
        number(right[0] && wrong[1]),
    ])
}

fn inductions(calls: &Calls<'_>, baseline: Option<&Calls<'_>>) -> Option<Inductions> {
    let own = pairs(calls);
    // Strategies may have been asked in runs of their own.
    let baseline = baseline.filter(|_| &*calls.strategy != NONE).map(|none| {
        let pairs = pairs(none).into_iter();
        let without_run =
            pairs.map(|((item, temperature, _, trial), pair)| ((item, temperature, trial), pair));
        without_run.collect::<BTreeMap<_, _>>()
    });
    let messages: BTreeSet<&str> = own.keys().map(|(item, ..)| *item).collect();
    // All messages that were asked are drawn from, so that strategies share their draws.
    let asked: BTreeSet<&str> = calls
        .calls
        .iter()
        .filter(|call| !call.judging.earlier_error)
        .map(|call| call.item.as_str())
        .collect();
    if own.is_empty() {
        return None;
    }
    let places: BTreeMap<&str, usize> = asked
        .iter()
        .zip(0..)
        .map(|(item, place)| (*item, place))
        .collect();
    // Columns 6 to 11 and 12 to 17 hold the pairs that both strategies have, of this one and of none.
    let mut rows = vec![vec![0.0; 18]; asked.len()];
    for (unit, pair) in &own {
        let row = &mut rows[places[unit.0]];
        let Some(of_own) = counts(pair) else { continue };
        let other = baseline
            .as_ref()
            .and_then(|known| counts(known.get(&(unit.0, unit.1, unit.3))?));
        for (at, value) in of_own.iter().enumerate() {
            row[at] += value;
        }
        if let Some(other) = other {
            for at in 0..6 {
                row[6 + at] += of_own[at];
                row[12 + at] += other[at];
            }
        }
    }
    let table = Table::new(rows);
    let sums = table.sums(0..table.rows.len());
    let found = table.estimates(&[
        ratio(1, 0),
        ratio(2, 0),
        change(2, 1, 0),
        ratio(3, 0),
        ratio(4, 0),
        change(4, 3, 0),
        ratio(5, 1),
        Box::new(|sums| {
            (sums[6] > 0.0).then(|| (sums[8] - sums[7] - sums[14] + sums[13]) / sums[6])
        }),
        Box::new(|sums| {
            (sums[6] > 0.0).then(|| (sums[10] - sums[9] - sums[16] + sums[15]) / sums[6])
        }),
    ]);
    let share = |at: usize, k: usize, n: usize| {
        found[at].0.map(|estimate| Share {
            k: sums[k],
            n: sums[n],
            estimate,
        })
    };
    Some(Inductions {
        items: messages.len(),
        asked: asked.len(),
        pairs: own.len(),
        accuracy: [share(0, 1, 0)?, share(1, 2, 0)?],
        accuracy_change: found[2].0?,
        agreement: [share(3, 3, 0)?, share(4, 4, 0)?],
        agreement_change: found[5].0?,
        induced: share(6, 5, 1),
        dropped: found[6].1,
        relief: found[7].0.filter(|_| baseline.is_some()),
        agreement_relief: found[8].0.filter(|_| baseline.is_some()),
    })
}
