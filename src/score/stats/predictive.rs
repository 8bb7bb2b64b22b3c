//! How far the mean of some generations would move from one set of them to the next.

use std::sync::LazyLock;

use super::Interval;
use super::numpy::{DefaultRng, percentile};
use super::paired::deviation;

/// Simulated means.
const MEANS: usize = 5000;

/// Generations behind each.
const DRAWS: usize = 100;

/// What a mean of 100 generations would be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predictive {
    /// 95 % of such means lie within: no confidence interval of the expected value.
    pub interval: Interval,
    /// Their standard deviation.
    pub sd: f64,
}

/// Simulates 5,000 means of 100 draws of values with these probabilities, from the same stream each time. The ends are held
/// between the smallest and the largest value.
///
/// Source: Valencia-Clavijo, "Anchors in the Machine" (arXiv 2511.05766) and its code.
#[must_use]
pub fn predictive(values: &[f64], probabilities: &[f64]) -> Option<Predictive> {
    static UNIFORMS: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let mut rng = DefaultRng::new();
        (0..MEANS * DRAWS).map(|_| rng.uniform()).collect()
    });
    let mut up_to: Vec<f64> = probabilities
        .iter()
        .scan(0.0, |sum, probability| {
            *sum += probability;
            Some(*sum)
        })
        .collect();
    let all = *up_to.last()?;
    for sum in &mut up_to {
        *sum /= all;
    }
    let last = values.len() - 1;
    #[expect(clippy::cast_precision_loss, reason = "a hundred draws")]
    let mut means: Vec<f64> = UNIFORMS
        .chunks(DRAWS)
        .map(|row| {
            let drawn = row.iter().map(|uniform| {
                let place = up_to.partition_point(|sum| sum <= uniform);
                values[place.min(last)]
            });
            drawn.sum::<f64>() / DRAWS as f64
        })
        .collect();
    let sd = deviation(&means);
    means.sort_unstable_by(f64::total_cmp);
    let (least, most) = values.iter().fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), value| (least.min(*value), most.max(*value)),
    );
    Some(Predictive {
        interval: Interval {
            low: percentile(&means, 0.025).clamp(least, most),
            high: percentile(&means, 0.975).clamp(least, most),
        },
        sd,
    })
}

#[cfg(test)]
mod tests {
    use super::super::mean;
    use super::*;

    #[test]
    fn a_fair_choice_has_the_spread_of_its_means() {
        let values: Vec<f64> = (0..=100).map(f64::from).collect();
        let found = predictive(&values, &[1.0; 101]).unwrap();
        // The standard deviation of a mean of 100 draws from 0..=100 is √(102·100/12)/10.
        assert!((found.sd - 2.9155).abs() < 0.06, "{found:?}");
        assert!((mean(&[found.interval.low, found.interval.high]) - 50.0).abs() < 0.5);
        assert_eq!(predictive(&[], &[]), None);
    }
}
