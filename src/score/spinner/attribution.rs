use strum::IntoEnumIterator;

use crate::domain::{Coalition, Field};

/// What each coalition of fields is worth, by the coalition's bits.
pub type Payoffs = [f64; Coalition::COUNT];

/// What a field adds, on the mean over the eight coalitions without it.
///
/// Source: Banzhaf (1965), Rutgers Law Review 19, 317–343.
#[must_use]
pub fn banzhaf(payoffs: &Payoffs, field: Field) -> f64 {
    weighted(payoffs, field, |_| 1.0 / 8.0)
}

/// What a field adds, on the mean over all orders in which fields may come.
///
/// The four values of a game add up to what all fields are worth above none, which Banzhaf values need not do.
///
/// Source: Shapley (1953), Contributions to the Theory of Games II, 307–317.
#[must_use]
pub fn shapley(payoffs: &Payoffs, field: Field) -> f64 {
    weighted(payoffs, field, |before| {
        [1.0 / 4.0, 1.0 / 12.0, 1.0 / 12.0, 1.0 / 4.0][before]
    })
}

/// The sum of what a field adds to coalitions without it, weighted by their size.
fn weighted(payoffs: &Payoffs, field: Field, weight: impl Fn(usize) -> f64) -> f64 {
    Coalition::all()
        .filter(|coalition| !coalition.holds(field))
        .map(|without| {
            let added = payoffs[without.with(field).bits()] - payoffs[without.bits()];
            weight(without.size()) * added
        })
        .sum()
}

/// The values of all fields of a game.
pub(super) fn by_field(
    payoffs: &Payoffs,
    value: fn(&Payoffs, Field) -> f64,
) -> impl Iterator<Item = (Field, f64)> {
    Field::iter().map(move |field| (field, value(payoffs, field)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(worth: impl Fn(Coalition) -> f64) -> Payoffs {
        let mut payoffs = [0.0; Coalition::COUNT];
        for coalition in Coalition::all() {
            payoffs[coalition.bits()] = worth(coalition);
        }
        payoffs
    }

    fn values(payoffs: &Payoffs, value: fn(&Payoffs, Field) -> f64) -> Vec<f64> {
        by_field(payoffs, value).map(|(_, value)| value).collect()
    }

    #[test]
    fn each_field_of_an_additive_game_is_worth_what_it_adds() {
        let worth = [1.0, -2.0, 0.5, 4.0];
        let payoffs = game(|coalition| {
            let held = Field::iter()
                .zip(worth)
                .filter(|(field, _)| coalition.holds(*field));
            7.0 + held.map(|(_, worth)| worth).sum::<f64>()
        });
        for value in [banzhaf, shapley] {
            for (found, wanted) in values(&payoffs, value).into_iter().zip(worth) {
                assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
            }
        }
    }

    #[test]
    fn a_field_that_changes_nothing_is_worth_nothing() {
        let payoffs = game(|coalition| {
            let rest = [Field::Comparative, Field::Absolute, Field::Anchor];
            let held = rest.iter().filter(|field| coalition.holds(**field)).count();
            [0.0, 0.0, 1.0, 5.0][held]
        });
        assert_eq!(banzhaf(&payoffs, Field::Scene), 0.0);
        assert_eq!(shapley(&payoffs, Field::Scene), 0.0);
    }

    #[test]
    fn fields_that_may_change_places_are_worth_the_same_and_shapley_shares_out_everything() {
        // Three of four must agree: Banzhaf 3/8 each, Shapley 1/4 each.
        let payoffs = game(|coalition| f64::from(u8::from(coalition.size() >= 3)));
        assert_eq!(values(&payoffs, banzhaf), [0.375; 4]);
        for value in values(&payoffs, shapley) {
            assert!((value - 0.25).abs() < 1e-12);
        }
        // The anchor and any one other: Banzhaf 7/8 and 1/8, Shapley 3/4 and 1/12.
        let payoffs = game(|coalition| {
            let anchor = coalition.holds(Field::Anchor);
            f64::from(u8::from(anchor && coalition.size() >= 2))
        });
        assert_eq!(values(&payoffs, banzhaf), [0.125, 0.125, 0.125, 0.875]);
        let shares = values(&payoffs, shapley);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((shares[0] - 1.0 / 12.0).abs() < 1e-12 && (shares[3] - 0.75).abs() < 1e-12);
    }
}
