//! The standard normal distribution, and Student's t.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Share of the distribution below a value.
pub(super) fn cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The value with this share below it, of a share between 0 and 1.
pub(super) fn quantile_of_normal(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
}

/// The value of Student's t with this share below it; NaN without degrees of freedom.
pub(in crate::score) fn quantile_of_t(freedom: f64, share: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(share))
}
