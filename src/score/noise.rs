//! Run-to-run noise: how much of a jump two asks of the very same prompt would show.

use statrs::function::gamma::ln_gamma;

/// Pull and noise in the indices of a set of items.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Expected |index| of an item whose anchors change nothing.
    pub sensitivity: f64,
    /// What is left of the observed sensitivity: √(sensitivity² − noise²), 0 where noise explains it all. Exact if both
    /// are normal.
    pub pull: f64,
    /// Noise floor: a mean index that noise alone stays under, in size, 95 % of the time.
    pub floor: f64,
    /// Items that the noise is known of.
    pub n: usize,
}

/// Variance of an item's index by the noise of its epochs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ItemNoise {
    variance: f64,
    /// Degrees of freedom behind it.
    freedom: usize,
}

/// The noise of one item from the estimates of its epochs, all above 0. `None` with fewer than two on either side: of one
/// reply to a prompt nothing is known.
#[must_use]
pub fn item_noise(low: &[f64], high: &[f64], anchors: (f64, f64)) -> Option<ItemNoise> {
    if low.len() < 2 || high.len() < 2 {
        return None;
    }
    let width = (anchors.1 / anchors.0).ln();
    let variance = (log_variance(low) / count(low.len()) + log_variance(high) / count(high.len()))
        / (width * width);
    Some(ItemNoise {
        // The index is capped to 1, so its noise is too.
        variance: variance.min(1.0),
        freedom: low.len() + high.len() - 2,
    })
}

/// Splits an observed sensitivity. `None` without noise to go by.
#[must_use]
pub fn split(sensitivity: f64, items: &[ItemNoise]) -> Option<Noise> {
    if items.is_empty() {
        return None;
    }
    let n = count(items.len());
    let noise = items.iter().map(|item| expected_size(*item)).sum::<f64>() / n;
    let variance: f64 = items.iter().map(|item| item.variance).sum();
    Some(Noise {
        sensitivity: noise,
        pull: (sensitivity * sensitivity - noise * noise).max(0.0).sqrt(),
        floor: 1.959_963_984_540_054 * variance.sqrt() / n,
        n: items.len(),
    })
}

/// Expected size of a normal deviate of this variance: √(2/π) σ, with σ freed from the bias of a root of few values (the
/// constant c4 of quality control; Montgomery, Introduction to Statistical Quality Control, appendix).
fn expected_size(noise: ItemNoise) -> f64 {
    let freedom = count(noise.freedom);
    let c4 = (2.0 / freedom).sqrt()
        * (ln_gamma(f64::midpoint(freedom, 1.0)) - ln_gamma(freedom / 2.0)).exp();
    (2.0 / std::f64::consts::PI * noise.variance).sqrt() / c4
}

/// Unbiased variance of the logarithms.
fn log_variance(values: &[f64]) -> f64 {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logs.iter().sum::<f64>() / count(logs.len());
    logs.iter()
        .map(|log| (log - mean) * (log - mean))
        .sum::<f64>()
        / count(logs.len() - 1)
}

#[expect(clippy::cast_precision_loss, reason = "counts of epochs and items")]
fn count(n: usize) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_size_uses_the_tabled_constant() {
        // c4 for samples of 3 and 5 is 0.8862 and 0.9400.
        for (freedom, c4) in [(2, 0.8862), (4, 0.9400)] {
            let found = expected_size(ItemNoise {
                variance: 1.0,
                freedom,
            });
            let wanted = (2.0 / std::f64::consts::PI).sqrt() / c4;
            assert!((found - wanted).abs() < 1e-3, "{found} {wanted}");
        }
    }

    #[test]
    fn one_epoch_tells_nothing() {
        assert_eq!(item_noise(&[1.0], &[2.0, 3.0], (1.0, 2.0)), None);
        assert_eq!(split(0.5, &[]), None);
    }
}
