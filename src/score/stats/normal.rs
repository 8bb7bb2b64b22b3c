//! The standard normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

/// Share of the distribution below a value.
pub(super) fn cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The value with this share below it, of a share between 0 and 1.
pub(super) fn quantile_of_normal(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}
