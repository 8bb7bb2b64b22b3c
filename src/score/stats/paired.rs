//! Tests of paired differences as "Anchors in the Machine" makes them.
//!
//! Differences over the answers to one pair of prompts are no independent observations: these p values describe.

use statrs::function::beta::beta_reg;

use super::mean;
use super::normal::cdf;
use super::numpy::DefaultRng;

/// Rows of random signs.
const ROWS: usize = 10_000;

/// Differences as near to 0 as this count as none where all are.
const NOTHING: f64 = 1e-8;

/// A statistic with its two-sided p.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The statistic.
    pub statistic: f64,
    /// Two-sided p, above 0 and up to 1.
    pub p: f64,
}

/// Variance with n − 1 below the line; NaN of fewer than two.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of values")]
pub fn variance(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

/// Standard deviation with n − 1 below the line; NaN of fewer than two.
#[must_use]
pub fn deviation(values: &[f64]) -> f64 {
    variance(values).sqrt()
}

/// Student's paired t of differences. `None` with fewer than two, or if they are all the same.
///
/// A p that is too small for a double is the smallest one above 0.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of values")]
pub fn paired_t(differences: &[f64]) -> Option<Test> {
    let n = differences.len() as f64;
    let statistic = mean(differences) / (deviation(differences) / n.sqrt());
    if differences.len() < 2 || !statistic.is_finite() {
        return None;
    }
    let freedom = n - 1.0;
    // The share beyond ±t, taken from the tail itself so that nothing cancels.
    let p = beta_reg(
        freedom / 2.0,
        0.5,
        freedom / (freedom + statistic * statistic),
    );
    Some(Test {
        statistic,
        p: p.clamp(f64::MIN_POSITIVE, 1.0),
    })
}

/// Wilcoxon's signed-rank test with zeros ranked and left out of the sums, by the normal approximation with the correction
/// for ties and none for continuity; the statistic is the smaller sum. `None` if all differences are within 1e-8 of 0.
///
/// Source: Pratt (1959), JASA 54, 655–667; `scipy.stats.wilcoxon(zero_method="pratt")`.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of values")]
pub fn wilcoxon_pratt(differences: &[f64]) -> Option<Test> {
    if differences.iter().all(|value| value.abs() <= NOTHING) {
        return None;
    }
    let mut sorted = differences.to_vec();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (mut positive, mut negative, mut ties, mut zeros, mut ranked) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for tied in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let size = tied.len() as f64;
        let rank = ranked + f64::midpoint(size, 1.0);
        ranked += size;
        if tied[0] == 0.0 {
            zeros = size;
            continue;
        }
        ties += size * size * size - size;
        let above = tied.iter().filter(|value| **value > 0.0).count() as f64;
        positive += rank * above;
        negative += rank * (size - above);
    }
    let n = ranked;
    let centre = (n * (n + 1.0) - zeros * (zeros + 1.0)) / 4.0;
    let sums = n * (n + 1.0) * (2.0 * n + 1.0) - zeros * (zeros + 1.0) * (2.0 * zeros + 1.0);
    let variance = (sums - ties / 2.0) / 24.0;
    let statistic = f64::min(positive, negative);
    let z = (statistic - centre).abs() / variance.sqrt();
    z.is_finite().then(|| Test {
        statistic,
        p: (2.0 * cdf(-z)).clamp(f64::MIN_POSITIVE, 1.0),
    })
}

/// Two-sided p of the mean of differences under random signs: (1 + rows with a mean as far from 0) / 10,001, the same rows
/// for every list of that length. `None` of nothing.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of rows")]
pub fn published_sign_flip(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let n = differences.len();
    let observed = mean(differences).abs();
    let mut rng = DefaultRng::new();
    let as_far = (0..ROWS)
        .filter(|_| {
            let signed = differences.iter();
            let signed = signed.map(|value| if rng.coin() { *value } else { -value });
            (signed.sum::<f64>() / n as f64).abs() >= observed
        })
        .count();
    Some((1 + as_far) as f64 / (1 + ROWS) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_and_signed_ranks_are_those_of_scipy() {
        // scipy 1.17: ttest_1samp(x, 0), wilcoxon(x, zero_method="pratt", method="approx", correction=False)
        let x: Vec<f64> = (0..20).map(|n| f64::from((n * 7) % 13) - 5.0).collect();
        let t = paired_t(&x).unwrap();
        assert!(
            (t.statistic - 0.470_374_127_163_787_24).abs() < 1e-12,
            "{t:?}"
        );
        assert!((t.p / 0.643_442_239_079_080_4 - 1.0).abs() < 1e-12, "{t:?}");
        let w = wilcoxon_pratt(&x).unwrap();
        assert_eq!(w.statistic, 93.5);
        assert!((w.p / 0.680_347_226_999_992_8 - 1.0).abs() < 1e-12, "{w:?}");
    }

    #[test]
    fn what_cannot_be_tested_has_no_p_and_the_clearest_case_has_one_above_0() {
        assert_eq!(paired_t(&[1.0]), None);
        assert_eq!(paired_t(&[2.0, 2.0, 2.0]), None);
        assert_eq!(wilcoxon_pratt(&[0.0, 1e-9]), None);
        assert_eq!(published_sign_flip(&[]), None);
        let clear: Vec<f64> = (0..2000).map(|n| 1e3 + f64::from(n % 2)).collect();
        assert_eq!(paired_t(&clear).unwrap().p, f64::MIN_POSITIVE);
    }
}
