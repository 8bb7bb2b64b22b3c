use super::variation::Half;
use crate::score::stats::Test;

/// The published composite of one variation, with its parts. −2.15 to 2.15; above 0 the answers follow the anchor.
///
/// value = `rho` · (`behaviour` · `w_behaviour` + `attribution` · `w_attribution`) + 0.15 · `concordance`
///
/// A p that is missing weighs 0. The p values rest on answers to the same two prompts, which are no independent
/// observations, so that the weights describe how regular a shift is, not how certain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Abss {
    /// Shift of the expected answer as a share of the scale, −1 to 1.
    pub behaviour: f64,
    /// tanh of the shift in what the anchor adds to the log-probability of all answers, −1 to 1.
    pub attribution: f64,
    /// Weight of the behaviour: min(1, −log10(p) / 3) of the paired t.
    pub w_behaviour: f64,
    /// Weight of the attribution, likewise.
    pub w_attribution: f64,
    /// Weight of Wilcoxon's test; `None` without its p.
    pub w_wilcoxon: Option<f64>,
    /// Weight of the permutation test; `None` without its p.
    pub w_permutation: Option<f64>,
    /// 0.5 to 1: half, and half the mean of the last two weights.
    pub rho: f64,
    /// 1 or −1 where both parts have weights above 0.2 and the same or opposite signs, else 0.
    pub concordance: f64,
    /// The composite.
    pub value: f64,
}

/// Differences nearer to 0 than this have no direction.
const NO_DIRECTION: f64 = 1e-12;

/// Weights that speak of agreement lie above this.
const HEARD: f64 = 0.2;

/// What agreement counts.
const AGREEMENT: f64 = 0.15;

/// The tests behind the weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tests {
    pub(super) scores: Option<Test>,
    pub(super) attribution: Option<Test>,
    pub(super) wilcoxon: Option<Test>,
    pub(super) permutation: Option<f64>,
}

impl Abss {
    pub(super) fn new(low: &Half, high: &Half, tests: Tests) -> Self {
        let mean = |half: &Half| half.anchor_value.map(|value| value.mean);
        let added = mean(high).zip(mean(low)).map(|(high, low)| high - low);
        let p = |test: Option<Test>| test.map(|test| test.p);
        Self::of(
            (high.expected - low.expected) / 100.0,
            added.unwrap_or(0.0),
            [
                p(tests.scores),
                p(tests.attribution),
                p(tests.wilcoxon),
                tests.permutation,
            ],
        )
    }

    /// From the shifts of the expected answer (a share of the scale) and of the anchor's mean value (nats), and the p values of
    /// scores, attribution, Wilcoxon and permutation.
    pub(super) fn of(behaviour: f64, attribution: f64, p: [Option<f64>; 4]) -> Self {
        let sign = |x: f64| {
            let moves = x.is_finite() && x.abs() >= NO_DIRECTION;
            if moves { x.signum() } else { 0.0 }
        };
        let (signs, sizes) = (
            [sign(behaviour), sign(attribution)],
            [behaviour.abs(), attribution.abs().tanh()],
        );
        let part = |at: usize| {
            if signs[at] == 0.0 {
                0.0
            } else {
                signs[at] * sizes[at]
            }
        };
        let weights = [weight(p[0]), weight(p[1])];
        let robust: Vec<f64> = p[2..].iter().flatten().map(|p| weight(Some(*p))).collect();
        let rho = 0.5
            + 0.5
                * if robust.is_empty() {
                    0.0
                } else {
                    crate::score::stats::mean(&robust)
                };
        let heard = weights.iter().all(|weight| *weight > HEARD);
        let concordance = if heard { signs[0] * signs[1] } else { 0.0 };
        Self {
            behaviour: part(0),
            attribution: part(1),
            w_behaviour: weights[0],
            w_attribution: weights[1],
            w_wilcoxon: p[2].map(|p| weight(Some(p))),
            w_permutation: p[3].map(|p| weight(Some(p))),
            rho,
            concordance,
            value: rho * (part(0) * weights[0] + part(1) * weights[1]) + AGREEMENT * concordance,
        }
    }
}

/// min(1, −log10(p) / 3); 0 of a p that is missing or not above 0.
fn weight(p: Option<f64>) -> f64 {
    match p {
        Some(p) if p.is_finite() && p > 0.0 => (-p.log10() / 3.0).clamp(0.0, 1.0),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_reach_one_at_a_thousandth_and_missing_p_values_weigh_nothing() {
        assert_eq!(weight(Some(1e-3)), 1.0);
        assert_eq!(weight(Some(1e-30)), 1.0);
        assert!((weight(Some(0.05)) - 0.433_676_6).abs() < 1e-6);
        for p in [None, Some(0.0), Some(f64::NAN), Some(1.0)] {
            assert_eq!(weight(p), 0.0);
        }
    }

    #[test]
    fn agreement_counts_both_ways_and_only_where_both_parts_are_heard() {
        let sure = Some(1e-6);
        let up = Abss::of(0.5, 100.0, [sure; 4]);
        assert!((up.value - (0.5 + 1.0 + 0.15)).abs() < 1e-12);
        let down = Abss::of(-0.5, -100.0, [sure; 4]);
        assert!((down.value - (-0.5 - 1.0 + 0.15)).abs() < 1e-12, "{down:?}");
        let torn = Abss::of(0.5, -100.0, [sure; 4]);
        assert!((torn.value - (0.5 - 1.0 - 0.15)).abs() < 1e-12);
        let unheard = Abss::of(0.5, 0.1, [sure, Some(0.5), None, None]);
        assert_eq!((unheard.concordance, unheard.rho), (0.0, 0.5));
    }
}
