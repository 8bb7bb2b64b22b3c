//! Wilcoxon's signed-rank test.

use super::normal::cdf;

/// Most differences for which the distribution is counted out, without ties and with.
const EXACT: [usize; 2] = [50, 13];

/// Fewest differences that are tested.
const FEWEST: usize = 6;

/// Two-sided p of Wilcoxon's signed-rank test that differences lie around 0; those that are 0 are left out.
///
/// Counted out up to 50 differences, with ties up to 13, else by the normal approximation with the correction for ties and
/// none for continuity, as `scipy.stats.wilcoxon` does by default. `None` with fewer than six differences.
///
/// Source: Wilcoxon (1945), Biometrics Bulletin 1(6), 80–83.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "numbers of differences")]
pub fn wilcoxon(differences: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|difference| *difference != 0.0 && difference.is_finite())
        .collect();
    if sorted.len() < FEWEST {
        return None;
    }
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = sorted.len();
    // Twice the rank of each, so that the mean rank of tied ones is whole too.
    let mut ranks = Vec::with_capacity(n);
    let (mut positive, mut ties) = (0, 0.0);
    for tied in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let rank = 2 * ranks.len() + tied.len() + 1;
        let size = tied.len() as f64;
        ties += size * size * size - size;
        positive += rank * tied.iter().filter(|value| **value > 0.0).count();
        ranks.extend(std::iter::repeat_n(rank, tied.len()));
    }
    if n <= EXACT[usize::from(ties > 0.0)] {
        return Some(exact(&ranks, positive));
    }
    let count = n as f64;
    let mean = count * (count + 1.0) / 4.0;
    let variance = (count * (count + 1.0) * (2.0 * count + 1.0) - ties / 2.0) / 24.0;
    let z = (positive as f64 / 2.0 - mean).abs() / variance.sqrt();
    Some((2.0 * cdf(-z)).min(1.0))
}

/// Both tails of the distribution of the sum of the ranks with a positive sign.
fn exact(ranks: &[usize], positive: usize) -> f64 {
    let most: usize = ranks.iter().sum();
    // Ways to reach each sum, as shares of all sign patterns.
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for rank in ranks {
        for sum in (0..=most).rev() {
            let with = if sum >= *rank { ways[sum - rank] } else { 0.0 };
            ways[sum] = f64::midpoint(ways[sum], with);
        }
    }
    let up_to: f64 = ways[..=positive].iter().sum();
    let from: f64 = ways[positive..].iter().sum();
    (2.0 * up_to.min(from)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_scipy() {
        // scipy 1.17, scipy.stats.wilcoxon(x).pvalue
        let exact: Vec<f64> = (1..=12)
            .map(|n| f64::from(n) * if n % 4 == 0 { -1.0 } else { 1.0 })
            .collect();
        for (values, wanted) in [
            (exact, 0.266_113_281_25),
            (
                vec![1.0, 1.0, 2.0, -3.0, 4.0, 4.0, 5.0, -1.0, 6.0, 7.0],
                0.035_156_25,
            ),
            (
                (1..=60).map(|n| f64::from(n) - 20.5).collect(),
                0.000_200_916_460_874_444_66,
            ),
            (vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.03125),
        ] {
            let p = wilcoxon(&values).unwrap();
            assert!((p - wanted).abs() < 1e-12, "{p} {wanted}");
        }
        assert_eq!(wilcoxon(&[1.0, 2.0, 0.0, 0.0, -3.0, 4.0, 5.0]), None);
    }
}
