//! Random streams and summaries of numpy's `default_rng(42)`, to the last digit.

use rand::Rng;
use rand_pcg::Pcg64;

/// `SeedSequence(42).generate_state(4, uint64)` of numpy: the state and the stream of its generator.
const SEEDED: [u64; 4] = [
    11_465_652_750_463_011_511,
    15_382_171_918_060_459_190,
    9_018_504_550_953_525_431,
    3_703_499_796_004_394_495,
];

/// `numpy.random.default_rng(42)`: PCG XSL RR 128/64 (O'Neill 2014), its words halved for draws of 32 bits.
pub(super) struct DefaultRng {
    words: Pcg64,
    half: Option<u32>,
}

impl DefaultRng {
    pub(super) fn new() -> Self {
        let [a, b, c, d] = SEEDED.map(u128::from);
        Self {
            words: Pcg64::new(a << 64 | b, c << 64 | d),
            half: None,
        }
    }

    /// `random()`: from 0 to below 1, 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(super) fn uniform(&mut self) -> f64 {
        (self.words.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// `integers(0, 2)`: the highest bit of the next half word, the lower half first.
    pub(super) fn coin(&mut self) -> bool {
        let half = self.half.take().unwrap_or_else(|| {
            let word = self.words.next_u64();
            self.half = u32::try_from(word >> 32).ok();
            #[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
            let low = word as u32;
            low
        });
        half >> 31 == 1
    }
}

/// Percentile of sorted values as numpy interpolates: from the nearer of the two neighbours.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "lengths lie below 2^53")]
    let place = share * (sorted.len() - 1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in the slice"
    )]
    let below = place.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(sorted.len() - 1)]);
    let (step, part) = (high - low, place - place.floor());
    if part < 0.5 {
        low + step * part
    } else {
        high - step * (1.0 - part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_uniforms_coins_and_percentiles_are_those_of_numpy() {
        // numpy 2.4: default_rng(42).bit_generator.random_raw(3), .random(3), .integers(0, 2, 16)
        let mut rng = DefaultRng::new();
        let words: Vec<u64> = (0..3).map(|_| rng.words.next_u64()).collect();
        assert_eq!(
            words,
            [
                14_276_969_152_011_380_360,
                8_095_878_257_575_067_585,
                15_838_336_090_824_644_132
            ]
        );
        let mut rng = DefaultRng::new();
        let uniforms: Vec<f64> = (0..3).map(|_| rng.uniform()).collect();
        assert_eq!(
            uniforms,
            [
                0.773_956_048_555_963_3,
                0.438_878_439_752_052_3,
                0.858_597_919_911_382_5
            ]
        );
        let mut rng = DefaultRng::new();
        let coins: Vec<u8> = (0..16).map(|_| u8::from(rng.coin())).collect();
        assert_eq!(coins, [0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1]);
        let sorted = [0.1, 0.4, 0.7, 1.9, 5.3];
        let found = [0.025, 0.5, 0.975].map(|share| percentile(&sorted, share));
        assert_eq!(found, [0.13, 0.7, 4.959_999_999_999_999]);
    }
}
