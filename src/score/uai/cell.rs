//! Scores of one cell of cases.

use std::collections::BTreeMap;

use strum::IntoEnumIterator;

use super::shift::shift;
use super::summary::{Detail, summarise, tested};
use super::{
    CaseMethod, CasePull, CaseTrials, Clustering, Distribution, Effect, Measured, Shift, Summary,
    distribution, effect, pulls, trials,
};
use crate::bank::cases::Difficulty;
use crate::domain::{Condition, Loss, ModelName, Relevance, Side, TaskName};
use crate::score::samples::Cell;
use crate::score::settings::{Settings, settings_of};
use crate::score::stats::{
    Interval, Ratio, Ratios, benjamini_hochberg, deviation, mean, variance, wilcoxon, wilson,
};
use crate::score::tier::covered;
use crate::task::Catalog;

/// Epsilons that a table of their influence is made for, in points.
pub const EPSILONS: [f64; 3] = [1.0, 3.0, 5.0];

/// Scores of one model × task of cases.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseCell {
    /// The model.
    pub model: ModelName,
    /// The task.
    pub task: TaskName,
    /// How the scores were computed.
    pub method: CaseMethod,
    /// The control that pulls are measured from.
    pub baseline: Condition,
    /// Samples that were asked for, and conditions of asked cases that never were.
    pub samples: usize,
    /// Samples with an answer on the scale.
    pub parsed: usize,
    /// The same by condition: answered, and all.
    pub by_condition: BTreeMap<Condition, (usize, usize)>,
    /// Samples without an answer, by reason.
    pub losses: BTreeMap<Loss, usize>,
    /// Over all cases.
    pub all: Summary,
    /// By the distance of the anchors.
    pub by_offset: BTreeMap<u8, Summary>,
    /// By difficulty.
    pub by_difficulty: BTreeMap<Difficulty, Summary>,
    /// Measured from the control in two turns, where both were asked.
    pub matched: Option<Summary>,
    /// At other epsilons.
    pub by_epsilon: Vec<(f64, Summary)>,
    /// How far the second answer goes from the first to the gold, under plausible anchors of the model's own.
    pub correction: Option<Measured>,
    /// 1 minus the share of the first answer's error that is left, likewise.
    pub reduction: Option<Measured>,
    /// How the index is spread, by what anchors are worth.
    pub spread: BTreeMap<Relevance, Distribution>,
    /// What anchors do to the error.
    pub shifts: BTreeMap<Relevance, Shift>,
    /// Cohen's d against the baseline.
    pub effects: BTreeMap<Condition, Effect>,
    /// Cohen's d of plausible high against plausible low.
    pub high_low: Option<Effect>,
    /// Signed-rank p of plausible against irrelevant index, with its adjusted value.
    pub p_disc: Option<Tested>,
    /// Signed-rank p of the index against 0.
    pub p_zero: BTreeMap<Relevance, Tested>,
    /// What asking again changes; with at least two epochs.
    pub noise: Option<Noise>,
    /// Counted samples whose wording is not today's.
    pub other_wording: usize,
    /// Distinct settings among the counted samples.
    pub settings: Vec<Settings>,
    /// Highest epoch.
    pub epochs: u32,
    /// Counted samples, and those of them whose prompt holds calls of tools as messages of their own.
    pub with_calls: (usize, usize),
    /// Why its numbers are not to be used, where they are not.
    pub why: Option<String>,
    /// The answers and pulls themselves, in the order of the set.
    pub cases: Vec<CaseTrials>,
}

/// A p value, and the same adjusted for the tests of the cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// Two-sided.
    pub p: f64,
    /// After Benjamini and Hochberg.
    pub adjusted: f64,
}

/// What asking the same prompt again changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Prompts with at least two answers.
    pub prompts: usize,
    /// Deviation of the answers to one prompt, pooled over prompts, in points.
    pub sd: f64,
    /// Share of prompts whose answers are not all alike.
    pub differing: f64,
    /// Deviation of the pull of plausible anchors from epoch to epoch, each with its own control; `None` if it cannot be
    /// computed for two.
    pub sd_pull: Option<f64>,
}

impl CaseCell {
    /// Share of samples with an answer.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "numbers of samples")]
    pub fn parse_rate(&self) -> Option<Measured> {
        (self.samples > 0).then(|| Measured {
            value: self.parsed as f64 / self.samples as f64,
            interval: Some(wilson(self.parsed, self.samples)),
            n: self.samples,
        })
    }

    /// Scores of a family of anchors.
    #[must_use]
    pub fn family(&self, relevance: Relevance) -> Option<&super::Family> {
        self.all.families.get(&relevance)
    }

    /// |d| of a family: the mean of |d| of its two directions, weighted by their cases, and the number of these.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "numbers of cases")]
    pub fn effect_of(&self, relevance: Relevance) -> Option<(f64, usize)> {
        let effects: Vec<&Effect> = Side::iter()
            .filter_map(|side| self.effects.get(&Condition::of(relevance, side)))
            .collect();
        let n: usize = effects.iter().map(|effect| effect.n).sum();
        let sum: f64 = effects
            .iter()
            .map(|effect| effect.d_av.abs() * effect.n as f64)
            .sum();
        (n > 0).then(|| (sum / n as f64, n))
    }
}

/// Scores one cell.
#[must_use]
pub fn score_case_cell(cell: &Cell<'_>, catalog: &Catalog, method: CaseMethod) -> CaseCell {
    let cases = trials(cell, catalog);
    let mut by_condition: BTreeMap<Condition, (usize, usize)> = BTreeMap::new();
    let mut losses: BTreeMap<Loss, usize> = BTreeMap::new();
    for trial in cases.iter().flat_map(|case| &case.trials) {
        let (parsed, all) = by_condition.entry(trial.condition).or_default();
        *all += 1;
        match trial.answer {
            Ok(_) => *parsed += 1,
            Err(loss) => *losses.entry(loss).or_default() += 1,
        }
    }
    // A case that was asked under some of the conditions in use is wanted under all of them; published sets hold more
    // conditions than most runs ask.
    if cell.task.cases.is_some() {
        for condition in &cell.task.conditions {
            by_condition.entry(*condition).or_default();
        }
    }
    for (condition, (_, all)) in &mut by_condition {
        let never = cases
            .iter()
            .filter(|case| {
                let mut trials = case.trials.iter();
                !trials.any(|trial| trial.condition == *condition)
                    && catalog
                        .case(&cell.task.name, &case.item)
                        .is_none_or(|case| case.is_wanted_under(*condition))
            })
            .count();
        if never > 0 {
            *losses.entry(Loss::NotAsked).or_default() += never;
            *all += never;
        }
    }
    let baseline = method
        .baseline
        .among(|condition| by_condition.contains_key(&condition));
    let mut scored = score_trials(&cases, baseline, method);
    let (samples, parsed) = by_condition
        .values()
        .fold((0, 0), |(all, some), (parsed, n)| (all + n, some + parsed));
    scored.model = cell.model.clone();
    scored.task = cell.task.name.clone();
    let controls = by_condition.get(&baseline).map_or(0, |(parsed, _)| *parsed);
    scored.why = if !covered(parsed, samples) {
        Some(format!(
            "{parsed} of {samples} samples with an answer, 80 % needed"
        ))
    } else if controls == 0 {
        Some(format!(
            "no answer under {baseline}, from which pulls are measured"
        ))
    } else {
        None
    };
    scored.samples = samples;
    scored.parsed = parsed;
    scored.by_condition = by_condition;
    scored.losses = losses;
    let counted = cell.samples.iter();
    scored.other_wording = counted.filter(|sample| !sample.current_wording).count();
    let calls = cell.samples.iter();
    let calls = calls.filter(|sample| sample.record.conversation.calls().next().is_some());
    scored.with_calls = (cell.samples.len(), calls.count());
    scored.settings = settings_of(cell);
    scored.epochs = cell.epochs();
    scored.cases = cases;
    scored
}

/// Scores answers to cases; what belongs to the store stays empty.
fn score_trials(cases: &[CaseTrials], baseline: Condition, method: CaseMethod) -> CaseCell {
    let subset = |of: &dyn Fn(&CaseTrials) -> bool| -> Summary {
        let chosen: Vec<CaseTrials> = cases.iter().filter(|case| of(case)).cloned().collect();
        summarise(&chosen, baseline, method, Detail::Full)
    };
    let mut by_offset = BTreeMap::new();
    for offset in cases.iter().filter_map(|case| case.facts.offset) {
        by_offset
            .entry(offset)
            .or_insert_with(|| subset(&|case| case.facts.offset == Some(offset)));
    }
    let mut by_difficulty = BTreeMap::new();
    for difficulty in Difficulty::iter() {
        if cases.iter().any(|case| case.facts.difficulty == difficulty) {
            let of = |case: &CaseTrials| case.facts.difficulty == difficulty;
            by_difficulty.insert(difficulty, subset(&of));
        }
    }
    let asked = |condition| {
        let mut trials = cases.iter().flat_map(|case| &case.trials);
        trials.any(|trial| trial.condition == condition)
    };
    let matched = (baseline == Condition::Control && asked(Condition::ControlTwostage))
        .then(|| summarise(cases, Condition::ControlTwostage, method, Detail::Full));
    let pulls = pulls(cases, baseline, method.epsilon);
    let (p_disc, p_zero) = signed_ranks(cases, &pulls, method);
    let mut spread = BTreeMap::new();
    let mut shifts = BTreeMap::new();
    for relevance in Relevance::iter() {
        let directed = pulls.iter().flat_map(|case| &case.directed);
        let values: Vec<f64> = directed
            .filter(|one| one.relevance == relevance)
            .filter_map(|one| one.uai)
            .collect();
        spread.extend(distribution(&values).map(|spread| (relevance, spread)));
        let conditions = [Side::Low, Side::High].map(|side| Condition::of(relevance, side));
        let control = match method.intervals {
            Clustering::Cases => baseline,
            // The published tables compare with the control in one turn throughout.
            Clustering::Published => Condition::Control,
        };
        let counted = shift(cases, &conditions, control);
        if counted.all.n() > 0 {
            shifts.insert(relevance, counted);
        }
    }
    let effects = Condition::iter()
        .filter(|condition| condition.anchored().is_some())
        .filter_map(|condition| Some((condition, effect(cases, condition, baseline)?)))
        .collect();
    let (correction, reduction) = revisions(cases);
    let all = summarise(cases, baseline, method, Detail::Full);
    CaseCell {
        model: "".into(),
        task: "".into(),
        method,
        baseline,
        samples: 0,
        parsed: 0,
        by_condition: BTreeMap::new(),
        losses: BTreeMap::new(),
        all: all.clone(),
        by_offset,
        by_difficulty,
        matched,
        by_epsilon: EPSILONS
            .map(|epsilon| {
                if epsilon == method.epsilon {
                    return (epsilon, all.clone());
                }
                let method = CaseMethod { epsilon, ..method };
                let of_epsilon = summarise(cases, baseline, method, Detail::Pulls);
                (epsilon, of_epsilon)
            })
            .to_vec(),
        correction,
        reduction,
        spread,
        shifts,
        effects,
        high_low: effect(cases, Condition::PlausibleHigh, Condition::PlausibleLow),
        p_disc,
        p_zero,
        noise: noise(cases, baseline, method),
        other_wording: 0,
        settings: Vec::new(),
        epochs: 1,
        with_calls: (0, 0),
        why: None,
        cases: Vec::new(),
    }
}

/// The tests of a cell: plausible against irrelevant index, and the index of each relevance against 0.
fn signed_ranks(
    cases: &[CaseTrials],
    pulls: &[CasePull],
    method: CaseMethod,
) -> (Option<Tested>, BTreeMap<Relevance, Tested>) {
    let (difference, by_relevance) = tested(cases, pulls, method.intervals);
    let mut raw: Vec<(Option<Relevance>, f64)> = Vec::new();
    raw.extend(wilcoxon(&difference).map(|p| (None, p)));
    for (relevance, values) in &by_relevance {
        raw.extend(wilcoxon(values).map(|p| (Some(*relevance), p)));
    }
    let p: Vec<f64> = raw.iter().map(|(_, p)| *p).collect();
    let mut p_disc = None;
    let mut p_zero = BTreeMap::new();
    for ((relevance, p), adjusted) in raw.into_iter().zip(benjamini_hochberg(&p)) {
        let tested = Tested { p, adjusted };
        match relevance {
            None => p_disc = Some(tested),
            Some(relevance) => drop(p_zero.insert(relevance, tested)),
        }
    }
    (p_disc, p_zero)
}

/// How a second answer to the same case goes on from the first: the share of the way to the gold, and of the error that is
/// gone. First answers within a point of the gold have no way to go.
///
/// Source: `AnchorBench`, ACR and RR.
fn revisions(cases: &[CaseTrials]) -> (Option<Measured>, Option<Measured>) {
    let mut ratios = Ratios::new(2);
    let mut n = 0;
    for case in cases {
        ratios.cluster();
        let gold = case.facts.gold;
        for trial in &case.trials {
            let plausible = matches!(trial.condition.anchored(), Some((Relevance::Plausible, _)));
            let (true, true, Some(first), Ok(second)) =
                (plausible, trial.own_anchor, trial.anchor, trial.answer)
            else {
                continue;
            };
            if (gold - first).abs() >= 1.0 {
                ratios.add(0, (second - first) / (gold - first));
                ratios.add(1, 1.0 - (second - gold).abs() / (first - gold).abs());
                n += 1;
            }
        }
    }
    let intervals = ratios.intervals(&[Ratio::Mean(0), Ratio::Mean(1)]);
    let of = |column: usize, interval: Option<Interval>| {
        Some(Measured {
            value: ratios.value(Ratio::Mean(column))?,
            interval,
            n,
        })
    };
    (of(0, intervals[0]), of(1, intervals[1]))
}

#[expect(clippy::cast_precision_loss, reason = "numbers of prompts")]
fn noise(cases: &[CaseTrials], baseline: Condition, method: CaseMethod) -> Option<Noise> {
    let (mut variances, mut differing) = (Vec::new(), 0);
    for case in cases {
        for of_prompt in case.trials.chunk_by(|a, b| a.condition == b.condition) {
            let answers: Vec<f64> = of_prompt.iter().filter_map(|t| t.answer.ok()).collect();
            if answers.len() > 1 {
                variances.push(variance(&answers));
                differing += usize::from(answers.iter().any(|answer| *answer != answers[0]));
            }
        }
    }
    if variances.is_empty() {
        return None;
    }
    let last = cases
        .iter()
        .flat_map(|case| &case.trials)
        .map(|t| t.epoch)
        .max();
    let by_epoch: Vec<f64> = (1..=last.unwrap_or(1))
        .filter_map(|epoch| {
            let of_epoch: Vec<CaseTrials> = cases
                .iter()
                .map(|case| {
                    let mut case = case.clone();
                    case.trials.retain(|trial| trial.epoch == epoch);
                    case
                })
                .collect();
            let pulls = pulls(&of_epoch, baseline, method.epsilon);
            let directed = pulls.iter().flat_map(|case| &case.directed);
            let values: Vec<f64> = directed
                .filter(|one| one.relevance == Relevance::Plausible)
                .filter_map(|one| one.uai)
                .collect();
            (!values.is_empty()).then(|| mean(&values))
        })
        .collect();
    Some(Noise {
        prompts: variances.len(),
        sd: mean(&variances).sqrt(),
        differing: f64::from(u32::try_from(differing).unwrap_or(u32::MAX)) / variances.len() as f64,
        sd_pull: (by_epoch.len() > 1).then(|| deviation(&by_epoch)),
    })
}
