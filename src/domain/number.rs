//! Numbers as items and prompts need them: positive, rounded, and written out.

use serde::{Deserialize, Serialize};

/// A finite number above 0: references and anchors, whose ratios have logarithms.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Positive(f64);

/// The number is zero, negative, infinite or not a number.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{0} is not a finite number above 0")]
pub struct NotPositive(f64);

impl Positive {
    /// The number itself, above 0.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Positive {
    type Error = NotPositive;

    fn try_from(value: f64) -> Result<Self, NotPositive> {
        if value.is_finite() && value > 0.0 {
            Ok(Self(value))
        } else {
            Err(NotPositive(value))
        }
    }
}

impl From<Positive> for f64 {
    fn from(value: Positive) -> f64 {
        value.0
    }
}

/// Rounds to `digits` significant digits, halves away from zero.
///
/// 8,849 / 2.5 to two digits is 3,500. The result is the double nearest to the rounded decimal, so it prints
/// without a tail.
#[must_use]
pub fn round_significant(value: f64, digits: u32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // The exponent is read from the decimal form: `log10` is off by one near powers of ten.
    let exponent = format!("{value:e}")
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse::<i32>().ok())
        .unwrap_or(0);
    let last = exponent + 1 - i32::try_from(digits).unwrap_or(1);
    let scaled = format!("{value:e}")
        .split_once('e')
        .and_then(|(mantissa, _)| {
            format!("{mantissa}e{}", i32::try_from(digits).unwrap_or(1) - 1)
                .parse::<f64>()
                .ok()
        })
        .unwrap_or(value)
        .round();
    format!("{scaled}e{last}").parse().unwrap_or(value)
}

/// The number in digits without grouping: `22000`, `0.66`.
#[must_use]
pub fn plain(value: f64) -> String {
    format!("{value}")
}

/// The number with commas between groups of three: `22,000`, `1,234.5`.
#[must_use]
pub fn grouped(value: f64) -> String {
    let digits = plain(value);
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits.as_str()),
    };
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    let mut out = String::from(sign);
    for (position, digit) in whole.chars().enumerate() {
        if position > 0 && (whole.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_of_the_post_come_out() {
        // The check values of the wheel: reference, low anchor, high anchor.
        for (reference, low, high) in [
            (8849.0, 3500.0, 22_000.0),
            (125.0, 50.0, 310.0),
            (400_000.0, 160_000.0, 1_000_000.0),
            (6000.0, 2400.0, 15_000.0),
        ] {
            assert_eq!(round_significant(reference / 2.5, 2), low);
            assert_eq!(round_significant(reference * 2.5, 2), high);
        }
    }

    #[test]
    fn halves_round_away_from_zero_and_small_numbers_keep_no_tail() {
        assert_eq!(round_significant(6250.0, 2), 6300.0);
        assert_eq!(plain(round_significant(0.012_345, 2)), "0.012");
        assert_eq!(plain(round_significant(999.0, 2)), "1000");
        assert_eq!(
            plain(round_significant(1e23, 2)),
            "100000000000000000000000"
        );
    }

    #[test]
    fn grouping_puts_commas_between_threes() {
        assert_eq!(grouped(999.0), "999");
        assert_eq!(grouped(22_000.0), "22,000");
        assert_eq!(grouped(-1_234_567.25), "-1,234,567.25");
    }

    #[test]
    fn only_finite_numbers_above_zero_are_positive() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Positive::try_from(bad).is_err());
        }
        assert_eq!(Positive::try_from(0.5).unwrap().get(), 0.5);
    }
}
