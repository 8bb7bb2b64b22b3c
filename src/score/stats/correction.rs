//! Corrections for looking at many p values at once.

/// Adjusted p values after Holm (1979), Scand. J. Stat. 6, 65–70: the chance of any false claim among all stays below the
/// level.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    adjust(p, |rank, n| n - rank, f64::max, false)
}

/// Adjusted p values after Benjamini & Hochberg (1995), J. R. Stat. Soc. B 57, 289–300: the expected share of false claims
/// among all claims stays below the level.
#[must_use]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    adjust(p, |rank, n| n / (rank + 1.0), f64::min, true)
}

/// Each p times its factor, made monotone from the smallest up or from the largest down.
#[expect(clippy::cast_precision_loss, reason = "the number of cells of a board")]
fn adjust(
    p: &[f64],
    factor: impl Fn(f64, f64) -> f64,
    join: impl Fn(f64, f64) -> f64,
    from_largest: bool,
) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut ranked: Vec<(usize, usize)> = order.into_iter().enumerate().collect();
    if from_largest {
        ranked.reverse();
    }
    let mut adjusted = vec![1.0; p.len()];
    let mut so_far = None;
    for (rank, at) in ranked {
        let own = (p[at] * factor(rank as f64, p.len() as f64)).min(1.0);
        let joined = so_far.map_or(own, |so_far| join(so_far, own));
        so_far = Some(joined);
        adjusted[at] = joined;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_statsmodels_and_scipy() {
        let p = [0.01, 0.04, 0.03, 0.005, 0.8, 0.02];
        let close = |a: Vec<f64>, b: [f64; 6]| {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?}");
        };
        // statsmodels.stats.multitest.multipletests(p, method="holm")[1]; R's p.adjust(p, "holm") has the same formula.
        close(holm(&p), [0.05, 0.09, 0.09, 0.03, 0.8, 0.08]);
        // scipy.stats.false_discovery_control(p)
        close(
            benjamini_hochberg(&p),
            [0.03, 0.048, 0.045, 0.03, 0.8, 0.04],
        );
        assert!(holm(&[]).is_empty());
    }
}
