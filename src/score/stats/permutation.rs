//! Permutation tests: how often chance alone does as much.

use rand::rngs::ChaCha12Rng;
use rand::{Rng, SeedableRng, seq::SliceRandom};

use super::{RESAMPLES, SEED, mean};

/// All arrangements are tried up to this number; beyond it [`RESAMPLES`] of them are drawn.
const EXACT: u64 = 10_000;

/// Two-sided p of the hypothesis that the mean of differences is 0 because their signs are chance.
///
/// Each value keeps its size and gets a random sign. Up to 13 values all sign patterns are tried; beyond,
/// p = (1 + patterns with a mean as far from 0) / (1 + 10,000 drawn ones), which is never 0. `None` without values.
///
/// Source: Fisher (1935), The Design of Experiments, section 21; the estimate of Phipson & Smyth (2010), Stat. Appl.
/// Genet. Mol. Biol. 9(1), 39.
#[must_use]
pub fn sign_flip(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let observed = values.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order differ in their last digits.
    let slack = values.iter().map(|value| value.abs()).sum::<f64>() * 1e-12;
    let flipped = |signs: &mut dyn FnMut(usize) -> bool| -> bool {
        let mut sum = 0.0;
        for (at, value) in values.iter().enumerate() {
            sum += if signs(at) { *value } else { -value };
        }
        sum.abs() >= observed - slack
    };
    let patterns = 1_u64.checked_shl(u32::try_from(values.len()).unwrap_or(u32::MAX));
    if let Some(patterns) = patterns.filter(|patterns| *patterns <= EXACT) {
        let as_far = (0..patterns)
            .filter(|pattern| flipped(&mut |at| pattern >> at & 1 == 1))
            .count();
        return Some(share(
            as_far,
            usize::try_from(patterns).unwrap_or(usize::MAX),
        ));
    }
    let mut rng = ChaCha12Rng::seed_from_u64(SEED);
    let as_far = (0..RESAMPLES)
        .filter(|_| {
            let mut bits = 0_u64;
            flipped(&mut |at| {
                if at % 64 == 0 {
                    bits = rng.next_u64();
                }
                bits >> (at % 64) & 1 == 1
            })
        })
        .count();
    Some(share(as_far + 1, RESAMPLES + 1))
}

/// So many rows of `n` coin throws, from the seed.
pub fn random_signs(n: usize, times: usize) -> impl Iterator<Item = Vec<bool>> {
    let mut rng = ChaCha12Rng::seed_from_u64(SEED);
    (0..times).map(move |_| {
        let mut bits = 0_u64;
        (0..n)
            .map(|at| {
                if at % 64 == 0 {
                    bits = rng.next_u64();
                }
                bits >> (at % 64) & 1 == 1
            })
            .collect()
    })
}

/// Two-sided p of the hypothesis that two groups differ in their mean because of who is in which group.
///
/// All splits are tried up to 10,000 of them; beyond, as in [`sign_flip`]. `None` if either group is empty.
#[must_use]
pub fn two_sample(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let mut all: Vec<f64> = a.iter().chain(b).copied().collect();
    let distance = |first: &[f64], rest: &[f64]| (mean(first) - mean(rest)).abs();
    let observed = distance(a, b);
    let slack = all.iter().map(|value| value.abs()).sum::<f64>() * 1e-12;
    if let Some(splits) = combinations(all.len(), a.len()).filter(|splits| *splits <= EXACT) {
        let mut as_far = 0;
        let mut chosen: Vec<usize> = (0..a.len()).collect();
        loop {
            let (mut first, mut rest) = (Vec::new(), Vec::new());
            for (at, value) in all.iter().enumerate() {
                let group = if chosen.contains(&at) {
                    &mut first
                } else {
                    &mut rest
                };
                group.push(*value);
            }
            as_far += usize::from(distance(&first, &rest) >= observed - slack);
            if !next_combination(&mut chosen, all.len()) {
                break;
            }
        }
        return Some(share(as_far, usize::try_from(splits).unwrap_or(usize::MAX)));
    }
    let mut rng = ChaCha12Rng::seed_from_u64(SEED);
    let as_far = (0..RESAMPLES)
        .filter(|_| {
            all.shuffle(&mut rng);
            let (first, rest) = all.split_at(a.len());
            distance(first, rest) >= observed - slack
        })
        .count();
    Some(share(as_far + 1, RESAMPLES + 1))
}

#[expect(clippy::cast_precision_loss, reason = "counts of arrangements")]
fn share(as_far: usize, all: usize) -> f64 {
    as_far as f64 / all as f64
}

/// How many ways there are to choose `k` of `n`; `None` if there are very many.
fn combinations(n: usize, k: usize) -> Option<u64> {
    let mut ways = 1_u64;
    for step in 0..k {
        ways = ways.checked_mul(u64::try_from(n - step).ok()?)? / u64::try_from(step + 1).ok()?;
    }
    Some(ways)
}

/// The next choice in order; false after the last.
fn next_combination(chosen: &mut [usize], n: usize) -> bool {
    let k = chosen.len();
    let Some(at) = (0..k).rev().find(|at| chosen[*at] < n - k + at) else {
        return false;
    };
    chosen[at] += 1;
    for later in at + 1..k {
        chosen[later] = chosen[later - 1] + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_flips_agree_with_scipy() {
        // scipy 1.17 permutation_test((x,), numpy.mean, permutation_type="samples", n_resamples=inf).pvalue
        let x = [0.3, -0.1, 0.5, 0.2, -0.4, 0.6, 0.1, 0.0, 0.25, -0.05];
        assert_eq!(sign_flip(&x), Some(0.183_593_75));
        let a = [0.3, -0.1, 0.5, 0.2, -0.4, 0.6];
        let b = [0.1, 0.0, 0.2, 0.3, -0.6, 0.2];
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        assert_eq!(sign_flip(&differences), Some(0.1875));
        assert_eq!(sign_flip(&[0.0; 20]), Some(1.0));
        assert_eq!(sign_flip(&[]), None);
        // Twenty equal values: only two of a million patterns are as far, so p is that of no drawn pattern.
        assert_eq!(sign_flip(&[1.0; 20]), Some(1.0 / 10_001.0));
    }

    #[test]
    fn splits_agree_with_scipy() {
        // scipy 1.17 permutation_test((a, b), difference of means, permutation_type="independent", n_resamples=inf)
        let a = [1.0, 2.5, 3.1, 4.0];
        let b = [3.5, 5.0, 6.2, 2.0];
        let p = two_sample(&a, &b).unwrap();
        assert!((p - 0.257_142_857_142_857_1).abs() < 1e-12, "{p}");
        let many: Vec<f64> = (0..40).map(f64::from).collect();
        assert!(two_sample(&many[..20], &many[20..]).unwrap() < 0.001);
    }
}
