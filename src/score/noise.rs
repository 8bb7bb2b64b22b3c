//! Run-to-run noise: how much of a jump two asks of the very same prompt would show.

use statrs::function::gamma::ln_gamma;

use super::stats::Interval;
use super::stats::normal::quantile_of_t;

/// Pull and noise in the indices of a set of items.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Expected |index| of an item whose anchors change nothing.
    pub sensitivity: f64,
    /// What is left of the sensitivity of the same items: √(sensitivity² − noise²), 0 where noise explains it all. Exact
    /// if pull and noise are normal around 0.
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

/// Splits the sensitivity of items whose noise is known. `None` without any.
#[must_use]
pub fn split(items: &[(f64, ItemNoise)]) -> Option<Noise> {
    if items.is_empty() {
        return None;
    }
    let n = count(items.len());
    let sensitivity = items.iter().map(|(index, _)| index.abs()).sum::<f64>() / n;
    let noise = items
        .iter()
        .map(|(_, noise)| expected_size(*noise))
        .sum::<f64>()
        / n;
    let variance: f64 = items.iter().map(|(_, noise)| noise.variance).sum();
    Some(Noise {
        sensitivity: noise,
        pull: (sensitivity * sensitivity - noise * noise).max(0.0).sqrt(),
        floor: 1.959_963_984_540_054 * variance.sqrt() / n,
        n: items.len(),
    })
}

/// 95 % interval of the index of one item over its epochs: Welch's t on the logarithms (Welch 1947, Biometrika 34, 28–35),
/// capped like the index. `None` with fewer than two estimates on either side.
#[must_use]
pub fn item_interval(low: &[f64], high: &[f64], anchors: (f64, f64)) -> Option<Interval> {
    if low.len() < 2 || high.len() < 2 {
        return None;
    }
    let width = (anchors.1 / anchors.0).ln();
    let log_mean =
        |values: &[f64]| values.iter().map(|value| value.ln()).sum::<f64>() / count(values.len());
    let center = (log_mean(high) - log_mean(low)) / width;
    let (a, b) = (
        log_variance(low) / count(low.len()),
        log_variance(high) / count(high.len()),
    );
    let share = |part: f64, n: usize| part * part / count(n - 1);
    let below = share(a, low.len()) + share(b, high.len());
    // Replies that never differ leave no doubt about their mean.
    let reach = if below > 0.0 {
        let freedom = (a + b) * (a + b) / below;
        quantile_of_t(freedom, 0.975) * (a + b).sqrt() / width
    } else {
        0.0
    };
    Some(Interval {
        low: (center - reach).clamp(-1.0, 1.0),
        high: (center + reach).clamp(-1.0, 1.0),
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
    fn the_interval_of_a_question_is_that_of_scipy() {
        // scipy.stats.ttest_ind(numpy.log(high), numpy.log(low), equal_var=False).confidence_interval(), by ln 6.25
        let interval =
            item_interval(&[90.0, 110.0, 100.0], &[150.0, 200.0, 160.0], (40.0, 250.0)).unwrap();
        assert!((interval.low - 0.118_772_010).abs() < 1e-6, "{interval:?}");
        assert!((interval.high - 0.455_523_971).abs() < 1e-6, "{interval:?}");
    }

    #[test]
    fn one_epoch_tells_nothing() {
        assert_eq!(item_noise(&[1.0], &[2.0, 3.0], (1.0, 2.0)), None);
        assert_eq!(split(&[]), None);
        assert_eq!(item_interval(&[1.0], &[2.0, 3.0], (1.0, 2.0)), None);
    }
}
