//! Picking the next token: the largest logit, or a seeded draw.

use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};

use crate::domain::Sampling;

pub(super) struct Sampler {
    temperature: f64,
    top_p: f64,
    rng: ChaCha12Rng,
}

impl Sampler {
    /// Greedy where no temperature above 0 is asked for.
    pub(super) fn new(sampling: &Sampling) -> Self {
        Self {
            temperature: sampling.temperature.unwrap_or(0.0),
            top_p: sampling.top_p.unwrap_or(1.0),
            rng: ChaCha12Rng::seed_from_u64(u64::from(sampling.seed.unwrap_or(0))),
        }
    }

    pub(super) fn pick(&mut self, logits: &[f32]) -> u32 {
        let best = largest(logits);
        if self.temperature <= 0.0 {
            return best;
        }
        let top = f64::from(logits[best as usize]);
        let weight = |logit: f32| ((f64::from(logit) - top) / self.temperature).exp();
        let mut weights: Vec<(u32, f64)> = (0..)
            .zip(logits.iter().map(|logit| weight(*logit)))
            .collect();
        if self.top_p < 1.0 {
            // The smallest set of tokens, likeliest first, that holds the mass.
            let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
            weights.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let mut held = 0.0;
            let kept = weights
                .iter()
                .position(|(_, weight)| {
                    held += weight;
                    held >= self.top_p * all
                })
                .map_or(weights.len(), |at| at + 1);
            weights.truncate(kept);
        }
        let all: f64 = weights.iter().map(|(_, weight)| weight).sum();
        let mut left = self.rng.random::<f64>() * all;
        for (id, weight) in &weights {
            left -= weight;
            if left < 0.0 {
                return *id;
            }
        }
        best
    }
}

/// The first of the largest logits.
fn largest(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (at, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = at;
        }
    }
    u32::try_from(best).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(temperature: f64, top_p: f64, seed: u32) -> Sampler {
        Sampler::new(&Sampling {
            temperature: Some(temperature),
            top_p: Some(top_p),
            seed: Some(seed),
            ..Sampling::default()
        })
    }

    #[test]
    fn draws_follow_the_softmax_and_the_seed() {
        // Weights 1 : 3 at temperature 1.
        let logits = [0.0, 3.0_f32.ln()];
        let draw = |seed| {
            let mut sampler = sampler(1.0, 1.0, seed);
            (0..4000).map(|_| sampler.pick(&logits)).collect::<Vec<_>>()
        };
        let ones = draw(1).iter().filter(|id| **id == 1).count();
        assert!((2900..3100).contains(&ones), "{ones}");
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn greedy_and_a_small_nucleus_take_the_likeliest() {
        let logits = [0.1, 2.0, 1.9];
        assert_eq!(sampler(0.0, 1.0, 1).pick(&logits), 1);
        let mut nucleus = sampler(1.0, 0.3, 1);
        assert!((0..100).all(|_| nucleus.pick(&logits) == 1));
    }
}
