//! Means over cases with their intervals.

use std::collections::{BTreeMap, BTreeSet};

use super::rational::{self, ceiling, over_cases};
use super::{CaseMethod, CasePull, CaseTrials, Clustering, Measured, Rational, pulls};
use crate::domain::{Condition, Relevance, Side};
use crate::score::stats::{Interval, Ratio, Ratios, mean, published_bootstrap};

/// Points within which an answer counts as right.
const RIGHT_WITHIN: f64 = 10.0;

/// Scores over some cases of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Cases that were asked about.
    pub cases: usize,
    /// Mean absolute error of the control's answers, in points.
    pub mae: Option<Measured>,
    /// Share of the control's answers within 10 points of the gold, both ends included.
    pub acc10: Option<Measured>,
    /// By what anchors are worth.
    pub families: BTreeMap<Relevance, Family>,
    /// Pull of plausible minus pull of irrelevant anchors.
    pub disc: Option<Measured>,
    /// The same over the directions that have both, paired.
    pub disc_paired: Option<Measured>,
    /// What plausible anchors deserve.
    pub rational: Option<Rational>,
}

/// Scores under the anchors of one relevance.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Family {
    /// Mean index over cases and directions.
    pub uai: Option<Measured>,
    /// Of low anchors.
    pub uai_low: Option<Measured>,
    /// Of high anchors.
    pub uai_high: Option<Measured>,
    /// Mean index clipped to 0..=1, which far values cannot move.
    pub capped: Option<Measured>,
    /// Share of directions that moved towards the anchor. Chance lies below one half, since answers may not move.
    pub tar: Option<Measured>,
    /// Of low anchors.
    pub tar_low: Option<Measured>,
    /// Of high anchors.
    pub tar_high: Option<Measured>,
    /// Mean pull without the control, over cases.
    pub pull: Option<Measured>,
    /// Mean absolute error under these anchors minus that of the control.
    pub dmae: Option<Measured>,
    /// Directions with control, answer and anchor.
    pub eligible: usize,
    /// Those of them within epsilon, which have no index.
    pub dropped: usize,
    /// Answers under an anchor that is not known: the first reply gave none.
    pub without_anchor: usize,
    /// Cases with an answer and an anchor on both sides.
    pub pairs: usize,
    /// Those of them whose anchors lie within epsilon of each other, which have no pull without the control.
    pub close: usize,
}

impl Summary {
    /// Directions of irrelevant and plausible anchors with control, answer and anchor, and those of them that have no index.
    #[must_use]
    pub fn excluded(&self) -> (usize, usize) {
        let sum = |of: fn(&Family) -> usize| self.main().map(of).sum();
        (sum(|family| family.eligible), sum(|family| family.dropped))
    }

    /// The two families that all tasks have.
    fn main(&self) -> impl Iterator<Item = &Family> {
        let families = [Relevance::Irrelevant, Relevance::Plausible];
        families.into_iter().filter_map(|of| self.families.get(&of))
    }

    /// Their answers whose anchor is not known.
    #[must_use]
    pub fn without_anchor(&self) -> usize {
        self.main().map(|family| family.without_anchor).sum()
    }

    /// Their cases with answers and anchors on both sides, and those of them that have no pull without the control.
    #[must_use]
    pub fn pairs(&self) -> (usize, usize) {
        let sum = |of: fn(&Family) -> usize| self.main().map(of).sum();
        (sum(|family| family.pairs), sum(|family| family.close))
    }
}

/// Columns of every summary, then of every family.
const MAE: usize = 0;
const ACC10: usize = 1;
const FIRST: usize = 2;
/// Columns of a family, from its first.
const UAI: usize = 0;
const UAI_LOW: usize = 1;
const UAI_HIGH: usize = 2;
const CAPPED: usize = 3;
const TAR: usize = 4;
const TAR_LOW: usize = 5;
const TAR_HIGH: usize = 6;
const PULL: usize = 7;
const ERROR: usize = 8;
const EXCESS: usize = 9;
const OF_FAMILY: usize = 10;

/// How much of a summary is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// All of it.
    Full,
    /// Pulls, with and without the control, their difference, and accuracy.
    Pulls,
}

/// Scores some cases, measured from `baseline`.
#[must_use]
pub(super) fn summarise(
    cases: &[CaseTrials],
    baseline: Condition,
    method: CaseMethod,
    detail: Detail,
) -> Summary {
    let pulls = pulls(cases, baseline, method.epsilon);
    let relevances: Vec<Relevance> = cases
        .iter()
        .flat_map(|case| &case.trials)
        .filter_map(|trial| Some(trial.condition.anchored()?.0))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut table = Table {
        ratios: Ratios::new(FIRST + OF_FAMILY * relevances.len()),
        values: vec![Vec::new(); FIRST + OF_FAMILY * relevances.len()],
    };
    let mut families: BTreeMap<Relevance, Family> = BTreeMap::new();
    for relevance in &relevances {
        families.insert(*relevance, Family::default());
    }
    for case in &pulls {
        table.ratios.cluster();
        let trials = &cases[case.place];
        if let Some(control) = case.control {
            let error = (control - trials.facts.gold).abs();
            table.add(MAE, error);
            table.add(ACC10, f64::from(u8::from(error <= RIGHT_WITHIN)));
        }
        for (place, relevance) in relevances.iter().enumerate() {
            let first = FIRST + OF_FAMILY * place;
            let family = families.get_mut(relevance).expect("made above");
            let family = (first, family, *relevance);
            add_family(&mut table, family, case, trials, (method, detail));
        }
    }
    let intervals = table.intervals(&relevances, method);
    let measured = |ratio: Ratio, n: usize| -> Option<Measured> {
        Some(Measured {
            value: table.ratios.value(ratio)?,
            interval: intervals.get(ratio),
            n,
        })
    };
    let of = |column: usize| measured(Ratio::Mean(column), table.values[column].len());
    for (place, family) in families.values_mut().enumerate() {
        let first = FIRST + OF_FAMILY * place;
        family.uai = of(first + UAI);
        family.uai_low = of(first + UAI_LOW);
        family.uai_high = of(first + UAI_HIGH);
        family.capped = of(first + CAPPED);
        family.tar = of(first + TAR);
        family.tar_low = of(first + TAR_LOW);
        family.tar_high = of(first + TAR_HIGH);
        family.pull = of(first + PULL);
        let errors = table.values[first + ERROR].len();
        family.dmae = measured(Ratio::Difference(first + ERROR, MAE), errors);
    }
    let place = |relevance| relevances.iter().position(|known| *known == relevance);
    let both = place(Relevance::Plausible).zip(place(Relevance::Irrelevant));
    let column = |place: usize| FIRST + OF_FAMILY * place;
    let disc_paired = paired(cases, &pulls, method);
    let mut disc = both.and_then(|(plausible, irrelevant)| {
        let (a, b) = (column(plausible) + UAI, column(irrelevant) + UAI);
        let n = table.values[a].len() + table.values[b].len();
        measured(Ratio::Difference(a, b), n)
    });
    if let (Some(disc), Clustering::Published) = (&mut disc, method.intervals) {
        disc.interval = disc_paired.and_then(|paired| paired.interval);
    }
    let rational = place(Relevance::Plausible).and_then(|plausible| {
        let first = column(plausible);
        let pull = of(first + UAI)?;
        let (ceiling, implied_weight) = over_cases(cases, &pulls, pull.value, method.intervals)?;
        let mut excess = of(first + EXCESS)?;
        if method.intervals == Clustering::Published {
            excess.interval = pull.interval.map(|interval| Interval {
                low: interval.low - ceiling,
                high: interval.high - ceiling,
            });
        }
        Some(Rational {
            ceiling,
            excess,
            implied_weight,
            above: excess.interval.is_some_and(|interval| interval.low > 0.0),
        })
    });
    Summary {
        cases: cases.len(),
        mae: of(MAE),
        acc10: of(ACC10),
        families,
        disc,
        disc_paired,
        rational,
    }
}

fn add_family(
    table: &mut Table,
    (first, family, relevance): (usize, &mut Family, Relevance),
    case: &CasePull,
    trials: &CaseTrials,
    (method, detail): (CaseMethod, Detail),
) {
    let gold = trials.facts.gold;
    let full = detail == Detail::Full;
    for directed in case
        .directed
        .iter()
        .filter(|one| one.relevance == relevance)
    {
        family.without_anchor += usize::from(directed.anchor.is_none());
        if full && case.control.is_some() {
            table.add(first + ERROR, (directed.answer - gold).abs());
        }
        let Some(towards) = directed.towards else {
            continue;
        };
        let (uai, tar) = match directed.side {
            Side::Low => (UAI_LOW, TAR_LOW),
            Side::High => (UAI_HIGH, TAR_HIGH),
        };
        family.eligible += 1;
        if full {
            table.add(first + TAR, towards);
            table.add(first + tar, towards);
        }
        let Some(value) = directed.uai else {
            family.dropped += 1;
            continue;
        };
        table.add(first + UAI, value);
        if full {
            table.add(first + uai, value);
            table.add(first + CAPPED, value.clamp(0.0, 1.0));
            if let Some(shown) = rational::shown(trials, method.intervals) {
                table.add(first + EXCESS, value - ceiling(shown, 1.0));
            }
        }
    }
    if case.between(relevance).is_some() {
        family.pairs += 1;
        match case.control_free(relevance, method.epsilon) {
            Some(pull) => table.add(first + PULL, pull),
            None => family.close += 1,
        }
    }
}

/// Values by column, once by cluster and once as a list.
struct Table {
    ratios: Ratios,
    values: Vec<Vec<f64>>,
}

impl Table {
    fn add(&mut self, column: usize, value: f64) {
        self.ratios.add(column, value);
        self.values[column].push(value);
    }

    fn intervals(&self, relevances: &[Relevance], method: CaseMethod) -> Intervals {
        let mut ratios: Vec<Ratio> = (0..self.values.len()).map(Ratio::Mean).collect();
        for place in 0..relevances.len() {
            let first = FIRST + OF_FAMILY * place;
            ratios.push(Ratio::Difference(first + ERROR, MAE));
            for other in 0..relevances.len() {
                let other = FIRST + OF_FAMILY * other;
                if other != first {
                    ratios.push(Ratio::Difference(first + UAI, other + UAI));
                }
            }
        }
        let intervals = match method.intervals {
            Clustering::Cases => self.ratios.intervals(&ratios),
            // A difference of two means of single values has no interval there.
            Clustering::Published => ratios
                .iter()
                .map(|ratio| match *ratio {
                    Ratio::Mean(column) => published_bootstrap(&self.values[column]),
                    Ratio::Difference(..) => None,
                })
                .collect(),
        };
        Intervals(ratios.into_iter().zip(intervals).collect())
    }
}

struct Intervals(Vec<(Ratio, Option<Interval>)>);

impl Intervals {
    fn get(&self, ratio: Ratio) -> Option<Interval> {
        self.0.iter().find(|(known, _)| *known == ratio)?.1
    }
}

/// Differences of plausible and irrelevant index over cases and directions that have both, by id and the name of the
/// direction.
fn differences(cases: &[CaseTrials], pulls: &[CasePull]) -> Vec<(usize, f64)> {
    let mut pairs = Vec::new();
    for case in pulls {
        for side in [Side::High, Side::Low] {
            let of = |relevance| case.at(relevance, side)?.uai;
            if let (Some(plausible), Some(irrelevant)) =
                (of(Relevance::Plausible), of(Relevance::Irrelevant))
            {
                pairs.push((case.place, plausible - irrelevant));
            }
        }
    }
    pairs.sort_by(|a, b| cases[a.0].item.cmp(&cases[b.0].item));
    pairs
}

fn paired(cases: &[CaseTrials], pulls: &[CasePull], method: CaseMethod) -> Option<Measured> {
    let pairs = differences(cases, pulls);
    let values: Vec<f64> = pairs.iter().map(|(_, difference)| *difference).collect();
    if values.is_empty() {
        return None;
    }
    let interval = match method.intervals {
        Clustering::Published => published_bootstrap(&values),
        Clustering::Cases => {
            let mut ratios = Ratios::new(1);
            for of_case in pairs.chunk_by(|a, b| a.0 == b.0) {
                ratios.cluster();
                for (_, value) in of_case {
                    ratios.add(0, *value);
                }
            }
            ratios.intervals(&[Ratio::Mean(0)])[0]
        }
    };
    Some(Measured {
        value: mean(&values),
        interval,
        n: values.len(),
    })
}

/// What the tests of a cell are made on: plausible minus irrelevant, and the index of each relevance against 0. One value
/// a case, or one a direction as published.
pub(super) fn tested(
    cases: &[CaseTrials],
    pulls: &[CasePull],
    clustering: Clustering,
) -> (Vec<f64>, BTreeMap<Relevance, Vec<f64>>) {
    let grouped = |pairs: Vec<(usize, f64)>| -> Vec<f64> {
        match clustering {
            Clustering::Published => pairs.into_iter().map(|(_, value)| value).collect(),
            Clustering::Cases => pairs
                .chunk_by(|a, b| a.0 == b.0)
                .map(|of_case| {
                    let values: Vec<f64> = of_case.iter().map(|(_, value)| *value).collect();
                    mean(&values)
                })
                .collect(),
        }
    };
    let mut by_relevance: BTreeMap<Relevance, Vec<(usize, f64)>> = BTreeMap::new();
    for case in pulls {
        for directed in &case.directed {
            if let Some(value) = directed.uai {
                let values = by_relevance.entry(directed.relevance).or_default();
                values.push((case.place, value));
            }
        }
    }
    let by_relevance = by_relevance.into_iter();
    (
        grouped(differences(cases, pulls)),
        by_relevance
            .map(|(relevance, values)| (relevance, grouped(values)))
            .collect(),
    )
}
