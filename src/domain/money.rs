//! Tokens and what they cost.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// A number of tokens. Unknown is `Option::None`, never 0.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tokens(pub u64);

/// US dollars, exact.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Usd(pub Decimal);

/// US dollars for a million tokens.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UsdPerMTok(pub Decimal);

impl Mul<UsdPerMTok> for Tokens {
    type Output = Usd;

    fn mul(self, price: UsdPerMTok) -> Usd {
        // A wild count is a wild sum, not the end of the program.
        let for_a_million = Decimal::from(self.0).saturating_mul(price.0);
        let one_in_a_million = Decimal::new(1, 6);
        Usd(for_a_million.saturating_mul(one_in_a_million).normalize())
    }
}

impl Add for Usd {
    type Output = Usd;

    fn add(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0).normalize())
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(parts: I) -> Usd {
        parts.fold(Usd::default(), Add::add)
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0.round_dp(4).normalize())
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_tokens_cost_the_price() {
        let price = UsdPerMTok("0.20".parse().unwrap());
        assert_eq!(Tokens(1_000_000) * price, Usd("0.2".parse().unwrap()));
        assert_eq!((Tokens(45) * price).0.to_string(), "0.000009");
        let most = Usd(Decimal::MAX);
        assert_eq!(most + most, most);
        let _ = Tokens(u64::MAX) * UsdPerMTok(Decimal::MAX);
    }
}
