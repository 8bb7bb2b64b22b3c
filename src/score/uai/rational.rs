//! What a reader who weighs all evidence alike would grant an anchor.

use super::{CasePull, CaseTrials, Clustering, Measured};
use crate::domain::Relevance;

/// Ratings that the published ceilings assume.
const PUBLISHED_RATINGS: f64 = 5.0;

/// The pull of plausible anchors beside what they deserve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rational {
    /// Mean ceiling over the directions that have an index.
    pub ceiling: f64,
    /// Pull minus ceiling.
    pub excess: Measured,
    /// How many ratings the anchor was worth to the model; `None` where no weight gives the pull.
    pub implied_weight: Option<f64>,
    /// Whether the interval of the excess lies above 0.
    pub above: bool,
}

/// The share that an anchor of the weight of `weight` ratings has beside `shown` ratings: w/(n + w).
///
/// 1/6 beside five ratings for a weight of one; 1 where no rating is shown. Source: `AnchorBench`, appendix A.
#[must_use]
pub fn ceiling(shown: f64, weight: f64) -> f64 {
    weight / (shown + weight)
}

/// The weight in ratings that gives a pull beside `shown` ratings: n·u/(1 − u).
///
/// 0 of a pull of 0 or below, `None` of one of 1 or above. Source: `AnchorBench`, appendix A.
#[must_use]
pub fn implied_weight(pull: f64, shown: f64) -> Option<f64> {
    if pull <= 0.0 {
        return Some(0.0);
    }
    (pull < 1.0).then(|| shown * pull / (1.0 - pull))
}

/// Ratings that a case shows, as far as a ceiling goes; `None` where that is not known.
pub(super) fn shown(case: &CaseTrials, clustering: Clustering) -> Option<f64> {
    match clustering {
        Clustering::Published => Some(PUBLISHED_RATINGS),
        Clustering::Cases => case.facts.shown.map(f64::from),
    }
}

/// The mean ceiling over directions of plausible anchors with an index, and the weight that explains `pull` over them.
///
/// Cases show different numbers of ratings, so the weight is the one whose ceilings have the pull as their mean. `None` if
/// of some case the ratings are not known.
pub(super) fn over_cases(
    cases: &[CaseTrials],
    pulls: &[CasePull],
    pull: f64,
    clustering: Clustering,
) -> Option<(f64, Option<f64>)> {
    let mut ratings = Vec::new();
    for case in pulls {
        let directed = case.directed.iter();
        let n = directed
            .filter(|one| one.relevance == Relevance::Plausible && one.uai.is_some())
            .count();
        if n > 0 {
            let shown = shown(&cases[case.place], clustering)?;
            ratings.extend(std::iter::repeat_n(shown, n));
        }
    }
    if ratings.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "a number of directions")]
    let mean = |weight: f64| {
        let sum: f64 = ratings.iter().map(|shown| ceiling(*shown, weight)).sum();
        sum / ratings.len() as f64
    };
    let weight = if ratings[0] > 0.0 && ratings.iter().all(|shown| *shown == ratings[0]) {
        implied_weight(pull, ratings[0])
    } else {
        solve(mean, pull)
    };
    Some((mean(1.0), weight))
}

/// The weight whose mean ceiling is the pull; `None` where there is none, or any would do.
fn solve(mean: impl Fn(f64) -> f64, pull: f64) -> Option<f64> {
    // Cases without a rating have a ceiling of 1 at any weight, so a small pull may have none; large ones end at 1.
    let (least, most) = (mean(1e-9), mean(1e9));
    if least >= most || (least > 1e-6 && pull < least) {
        return None;
    }
    if pull <= 0.0 {
        return Some(0.0);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while mean(high) < pull {
        high *= 2.0;
        if high > 1e9 {
            return None;
        }
    }
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if mean(middle) < pull {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(f64::midpoint(low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_and_weights_are_those_of_the_formulas() {
        assert_eq!(ceiling(5.0, 1.0), 1.0 / 6.0);
        assert_eq!(ceiling(3.0, 1.0), 0.25);
        assert_eq!(ceiling(0.0, 1.0), 1.0);
        // Published: Qwen-1.5B on External, pull 0.2001, weight 1.251.
        assert!((implied_weight(0.2001, 5.0).unwrap() - 1.251).abs() < 1e-3);
        assert_eq!(implied_weight(-0.1, 5.0), Some(0.0));
        assert_eq!(implied_weight(1.0, 5.0), None);
        let mixed = |weight: f64| f64::midpoint(ceiling(5.0, weight), ceiling(3.0, weight));
        let weight = solve(mixed, 0.3).unwrap();
        assert!((mixed(weight) - 0.3).abs() < 1e-9);
        assert_eq!(solve(mixed, -0.1), Some(0.0));
        assert_eq!(solve(mixed, 1.0), None);
        // Two of three cases show no rating, and an anchor is all there is.
        let bare = |weight: f64| (2.0 + ceiling(1.0, weight)) / 3.0;
        assert_eq!(solve(bare, 0.23), None);
        assert!((solve(bare, 0.75).unwrap() - 1.0 / 3.0).abs() < 1e-6);
        assert_eq!(solve(|weight| ceiling(0.0, weight), 1.0), None);
    }
}
