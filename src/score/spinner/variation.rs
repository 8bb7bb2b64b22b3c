use std::collections::BTreeMap;

use strum::IntoEnumIterator;

use super::abss::{Abss, Tests};
use super::attribution::{Payoffs, banzhaf, by_field, shapley};
use crate::domain::{Coalition, Field, ItemId, ModelName, ScoringMode, TaskName};
use crate::score::stats::{
    Interval, Predictive, Test, deviation, mean, paired_t, predictive, published_sign_flip,
    wilcoxon_pratt,
};

/// Values by field, in the order of the answers; `None` where a score is missing.
type ByField = BTreeMap<Field, Vec<Option<f64>>>;

/// The answers after the prompts with one anchor.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// The anchor.
    pub anchor: f64,
    /// Log-probability of each answer after the whole prompt, in nats.
    pub scores: Vec<Option<f64>>,
    /// What each field adds to each answer, by Banzhaf; empty where prompts with fewer fields were not scored.
    pub banzhaf: ByField,
    /// The same by Shapley; empty also of scores that were made elsewhere.
    pub shapley: ByField,
}

impl Side {
    /// From the scores after the prompts of all coalitions, by their bits.
    #[must_use]
    pub fn of_coalitions(anchor: f64, scores: &[Vec<Option<f64>>; Coalition::COUNT]) -> Self {
        let (mut banzhafs, mut shapleys) = (ByField::new(), ByField::new());
        for answer in 0..scores[0].len() {
            let mut payoffs: Option<Payoffs> = Some([0.0; Coalition::COUNT]);
            for (bits, scores) in scores.iter().enumerate() {
                let score = scores.get(answer).copied().flatten();
                payoffs = payoffs.zip(score).map(|(mut payoffs, score)| {
                    payoffs[bits] = score;
                    payoffs
                });
            }
            for (values, value) in [
                (&mut banzhafs, banzhaf as fn(&Payoffs, Field) -> f64),
                (&mut shapleys, shapley),
            ] {
                match &payoffs {
                    Some(payoffs) => {
                        for (field, value) in by_field(payoffs, value) {
                            values.entry(field).or_default().push(Some(value));
                        }
                    }
                    None => {
                        for field in Field::iter() {
                            values.entry(field).or_default().push(None);
                        }
                    }
                }
            }
        }
        Self {
            anchor,
            scores: scores[Coalition::FULL.bits()].clone(),
            banzhaf: banzhafs,
            shapley: shapleys,
        }
    }
}

/// One question under a low and a high anchor.
#[derive(Debug, Clone, PartialEq)]
pub struct Variation {
    /// The model.
    pub model: ModelName,
    /// The task that asked.
    pub task: TaskName,
    /// The variation, such as `V1-S`.
    pub item: ItemId,
    /// The set of anchors it belongs to, `S` or `D`.
    pub regime: String,
    /// Whether it stands for the known effect and is left out of sums.
    pub control: bool,
    /// How answers were scored.
    pub mode: ScoringMode,
    /// The number that each answer stands for.
    pub values: Vec<f64>,
    /// Under the low anchor.
    pub low: Side,
    /// Under the high anchor.
    pub high: Side,
}

/// What a field adds, over the answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attributed {
    /// Mean, in nats.
    pub mean: f64,
    /// Standard deviation over answers, n − 1 below the line.
    pub sd: f64,
    /// mean ± 1.96 · sd / √n; describes the answers, which are no independent observations.
    pub interval: Interval,
    /// Answers.
    pub n: usize,
}

/// Scores under one anchor.
#[derive(Debug, Clone, PartialEq)]
pub struct Half {
    /// The anchor.
    pub anchor: f64,
    /// Expected value of the answers when their probabilities are made to add up to 1 (`SoftEV`).
    pub expected: f64,
    /// What the mean of 100 generations would be.
    pub predictive: Predictive,
    /// Mean score over the answers, in nats.
    pub mean_score: f64,
    /// Share of probability that all the answers hold together, 0 to 1; not a share in paper mode.
    pub mass: f64,
    /// Probabilities of the answers, made to add up to 1; 0 of an answer without a score.
    pub distribution: Vec<f64>,
    /// Answers with a score.
    pub n: usize,
    /// What the anchor adds.
    pub anchor_value: Option<Attributed>,
    /// Mean Banzhaf value of each field over the answers.
    pub banzhaf: BTreeMap<Field, f64>,
    /// Mean Shapley value of each field over the answers.
    pub shapley: BTreeMap<Field, f64>,
}

/// Scores of a variation.
#[derive(Debug, Clone, PartialEq)]
pub struct VariationScores {
    /// The model.
    pub model: ModelName,
    /// The task that asked.
    pub task: TaskName,
    /// The variation.
    pub item: ItemId,
    /// The set of anchors it belongs to.
    pub regime: String,
    /// Whether it is left out of sums.
    pub control: bool,
    /// How answers were scored.
    pub mode: ScoringMode,
    /// The number that each answer stands for.
    pub values: Vec<f64>,
    /// Under the low anchor.
    pub low: Half,
    /// Under the high anchor.
    pub high: Half,
    /// Paired t of scores, low minus high: a negative statistic means higher scores under the high anchor.
    pub t_scores: Option<Test>,
    /// Wilcoxon's test of scores.
    pub wilcoxon: Option<Test>,
    /// p of the mean difference of scores under random signs.
    pub p_permutation: Option<f64>,
    /// Paired t of the anchor's values, low minus high.
    pub t_attribution: Option<Test>,
    /// The composite.
    pub abss: Abss,
}

impl VariationScores {
    /// Shift of the expected answer, in the unit of the answers.
    #[must_use]
    pub fn shift(&self) -> f64 {
        self.high.expected - self.low.expected
    }

    /// The plain anchoring view: the shift as a share of the distance between the anchors.
    #[must_use]
    pub fn index(&self) -> f64 {
        self.shift() / (self.high.anchor - self.low.anchor)
    }

    /// Whether it is known what the anchor adds.
    #[must_use]
    pub fn is_attributed(&self) -> bool {
        self.low.anchor_value.is_some() && self.high.anchor_value.is_some()
    }

    /// Names of the p values that could not be computed, and so weigh 0.
    #[must_use]
    pub fn missing_p(&self) -> Vec<&'static str> {
        [
            ("p_LogProb", self.t_scores.is_none()),
            ("p_Wilcoxon", self.wilcoxon.is_none()),
            ("p_Permutation", self.p_permutation.is_none()),
            ("p_BanzhafAnchor", self.t_attribution.is_none()),
        ]
        .into_iter()
        .filter_map(|(name, missing)| missing.then_some(name))
        .collect()
    }
}

/// Scores a variation; `None` if no answer has a score under one of the anchors.
#[must_use]
pub fn score_variation(variation: &Variation) -> Option<VariationScores> {
    let half = |side: &Side| half(side, &variation.values);
    let (low, high) = (half(&variation.low)?, half(&variation.high)?);
    let scores = differences(&variation.low.scores, &variation.high.scores);
    let anchor = |side: &'_ Side| {
        side.banzhaf
            .get(&Field::Anchor)
            .cloned()
            .unwrap_or_default()
    };
    let values = differences(&anchor(&variation.low), &anchor(&variation.high));
    // The stored statistics are low minus high.
    let turned = |values: &[f64]| values.iter().map(|value| -value).collect::<Vec<_>>();
    let t_scores = paired_t(&turned(&scores));
    let wilcoxon = wilcoxon_pratt(&scores);
    let p_permutation = published_sign_flip(&scores);
    let t_attribution = paired_t(&turned(&values));
    let tests = Tests {
        scores: t_scores,
        attribution: t_attribution,
        wilcoxon,
        permutation: p_permutation,
    };
    Some(VariationScores {
        model: variation.model.clone(),
        task: variation.task.clone(),
        item: variation.item.clone(),
        regime: variation.regime.clone(),
        control: variation.control,
        mode: variation.mode,
        values: variation.values.clone(),
        abss: Abss::new(&low, &high, tests),
        low,
        high,
        t_scores,
        wilcoxon,
        p_permutation,
        t_attribution,
    })
}

/// High minus low, of answers that have both.
fn differences(low: &[Option<f64>], high: &[Option<f64>]) -> Vec<f64> {
    low.iter()
        .zip(high)
        .filter_map(|(low, high)| Some((*high)? - (*low)?))
        .collect()
}

fn half(side: &Side, values: &[f64]) -> Option<Half> {
    let scored: Vec<(f64, f64)> = values
        .iter()
        .zip(&side.scores)
        .filter_map(|(value, score)| Some((*value, (*score)?)))
        .collect();
    let largest = scored
        .iter()
        .map(|(_, score)| *score)
        .fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return None;
    }
    let sum: f64 = scored
        .iter()
        .map(|(_, score)| (score - largest).exp())
        .sum();
    let all = largest + sum.ln();
    let (numbers, probabilities): (Vec<f64>, Vec<f64>) = scored
        .iter()
        .map(|(value, score)| (*value, (score - all).exp()))
        .unzip();
    let expected = numbers
        .iter()
        .zip(&probabilities)
        .map(|(value, p)| value * p)
        .sum();
    let scores: Vec<f64> = scored.iter().map(|(_, score)| *score).collect();
    let mean_of = |values: &ByField| -> BTreeMap<Field, f64> {
        let fields = values.iter();
        fields
            .filter_map(|(field, values)| {
                let values: Vec<f64> = values.iter().flatten().copied().collect();
                (!values.is_empty()).then(|| (*field, mean(&values)))
            })
            .collect()
    };
    Some(Half {
        anchor: side.anchor,
        expected,
        predictive: predictive(&numbers, &probabilities)?,
        mean_score: mean(&scores),
        mass: all.exp(),
        distribution: side
            .scores
            .iter()
            .map(|score| score.map_or(0.0, |score| (score - all).exp()))
            .collect(),
        n: scored.len(),
        anchor_value: side
            .banzhaf
            .get(&Field::Anchor)
            .and_then(|values| attributed(values)),
        banzhaf: mean_of(&side.banzhaf),
        shapley: mean_of(&side.shapley),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a number of answers")]
fn attributed(values: &[Option<f64>]) -> Option<Attributed> {
    let values: Vec<f64> = values.iter().flatten().copied().collect();
    if values.len() < 2 {
        return None;
    }
    let (mean, sd) = (mean(&values), deviation(&values));
    let half = 1.96 * sd / (values.len() as f64).sqrt();
    Some(Attributed {
        mean,
        sd,
        interval: Interval {
            low: mean - half,
            high: mean + half,
        },
        n: values.len(),
    })
}
