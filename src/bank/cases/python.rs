//! The random stream of `CPython`'s `random.Random`, so that a seed gives the numbers that published sets were made with.

use rand_mt::Mt;

/// Mersenne Twister with the methods of `random.Random`.
///
/// Source: `Lib/random.py` and `Modules/_randommodule.c` of `CPython` 3; Matsumoto & Nishimura (1998), ACM TOMACS 8(1), 3–30.
#[derive(Debug)]
pub(super) struct PythonRandom {
    words: Mt,
    /// The second of a pair of normal numbers, kept until it is asked for.
    normal: Option<f64>,
}

impl PythonRandom {
    /// `random.Random(seed)`.
    pub(super) fn new(seed: u32) -> Self {
        Self {
            words: Mt::new_with_key([seed]),
            normal: None,
        }
    }

    /// `random()`: 53 bits, from 0 and below 1.
    fn uniform(&mut self) -> f64 {
        let high = f64::from(self.words.next_u32() >> 5);
        let low = f64::from(self.words.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// `_randbelow(n)`, `n` above 0.
    fn below(&mut self, n: u32) -> u32 {
        let unused = n.leading_zeros();
        loop {
            let drawn = self.words.next_u32() >> unused;
            if drawn < n {
                return drawn;
            }
        }
    }

    /// `randint(low, high)`, both ends included.
    pub(super) fn between(&mut self, low: u8, high: u8) -> u8 {
        let drawn = self.below(u32::from(high - low) + 1);
        low + u8::try_from(drawn).expect("below the width of a byte")
    }

    /// `gauss(mean, sd)`.
    pub(super) fn gauss(&mut self, mean: f64, sd: f64) -> f64 {
        let z = self.normal.take().unwrap_or_else(|| {
            let angle = self.uniform() * std::f64::consts::TAU;
            let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
            self.normal = Some(angle.sin() * radius);
            angle.cos() * radius
        });
        mean + z * sd
    }

    /// `sample(range(n), k)` for small `n`, in the order drawn.
    pub(super) fn sample(&mut self, n: u8, k: usize) -> Vec<u8> {
        let mut pool: Vec<u8> = (0..n).collect();
        (0..k)
            .map(|_| {
                let left = u32::try_from(pool.len()).expect("a small pool");
                let at = self.below(left) as usize;
                pool.swap_remove(at)
            })
            .collect()
    }

    /// `choice(values)`; the values are not empty.
    pub(super) fn choice(&mut self, values: &[u8]) -> u8 {
        let n = u32::try_from(values.len()).expect("a short list");
        values[self.below(n) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_python() {
        // r = random.Random(42): r.randint(30, 70), r.gauss(0, 1) twice, r.sample(range(5), 2), r.choice([7, 8, 9]),
        // r.random(), of CPython 3.12.
        let mut random = PythonRandom::new(42);
        assert_eq!(random.between(30, 70), 70);
        assert_eq!(random.gauss(0.0, 1.0), 1.258_700_316_487_611_4);
        assert_eq!(random.gauss(0.0, 1.0), 1.059_142_783_254_333_6);
        assert_eq!(random.sample(5, 2), [1, 4]);
        assert_eq!(random.choice(&[7, 8, 9]), 7);
        assert_eq!(random.uniform(), 0.736_471_214_164_012_4);
    }
}
