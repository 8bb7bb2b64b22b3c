//! Anchoring indices of one item, by name: the wheel's own, and those of the literature, from the same replies.

use super::stats::{mean, median};

/// What an item's estimates are turned into.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::EnumIter,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Index {
    /// The wheel's: log ratio of the estimates over log ratio of the anchors, capped to [−1, 1]; geometric means over
    /// epochs. See [`log_ratio`].
    #[default]
    LogAi,
    /// Anchoring index of Jacowitz & Kahneman (1995), PSPB 21(11), 1161–1166: difference of the medians over difference
    /// of the anchors, linear and without a cap; with its low and high halves.
    Ai,
    /// A-index of Huang et al. (2025), arXiv 2505.15392: the size of `ai` without its sign. Noise alone raises it, and it
    /// cannot show a contrast.
    AIndex,
    /// Difference of the medians in the unit of the question, as Lou & Sun (2026), J. Comput. Soc. Sci. 9, 11, look at
    /// it. Unlike units have no mean: a cell is the share of its items whose difference is more than chance.
    Raw,
}

impl Index {
    /// The index of an item from its usable estimates, all above 0, at least one on each side; anchors above 0 that
    /// differ.
    #[must_use]
    pub fn of(self, low: &[f64], high: &[f64], anchors: (f64, f64)) -> f64 {
        let (low, high) = (self.center(low), self.center(high));
        let linear = (high - low) / (anchors.1 - anchors.0);
        match self {
            Self::LogAi => log_ratio(low, high, anchors.0, anchors.1),
            Self::Ai => linear,
            Self::AIndex => linear.abs(),
            Self::Raw => high - low,
        }
    }

    /// The index of an item from what its conditions were prepared to; see [`Index::prepare`].
    #[must_use]
    pub fn of_prepared(self, low: &[f64], high: &[f64], anchors: (f64, f64)) -> f64 {
        match self {
            Self::LogAi => {
                let width = (anchors.1 / anchors.0).ln();
                ((mean(high) - mean(low)) / width).clamp(-1.0, 1.0)
            }
            other => other.of(low, high, anchors),
        }
    }

    /// Estimates in the form that is drawn from many times over: logarithms where those are averaged.
    #[must_use]
    pub fn prepare(self, estimates: &[f64]) -> Vec<f64> {
        match self {
            Self::LogAi => estimates.iter().map(|value| value.ln()).collect(),
            _ => estimates.to_vec(),
        }
    }

    /// One estimate out of those of all epochs: the geometric mean for [`Index::LogAi`], else the median. NaN of none.
    #[must_use]
    pub fn center(self, estimates: &[f64]) -> f64 {
        match (self, estimates) {
            // One estimate is itself, to the last digit.
            (_, [only]) => *only,
            (Self::LogAi, all) => {
                mean(&all.iter().map(|value| value.ln()).collect::<Vec<_>>()).exp()
            }
            (_, all) => median(all).unwrap_or(f64::NAN),
        }
    }

    /// What a cell makes of its questions.
    #[must_use]
    pub fn of_cell(self) -> &'static str {
        match self {
            Self::Raw => "Share beyond chance",
            _ => "Mean index",
        }
    }

    /// Whether a value below [`BACKLASH`](super::tier::BACKLASH) says that an answer moved away from the anchor.
    #[must_use]
    pub fn has_backlash(self) -> bool {
        matches!(self, Self::LogAi | Self::Ai)
    }

    /// What boards call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::LogAi => "Anchoring index",
            Self::Ai => "Anchoring index of Jacowitz & Kahneman",
            Self::AIndex => "A-index (absolute)",
            Self::Raw => "Share of questions with a raw difference beyond chance",
        }
    }
}

/// Anchoring index of one item: how far the answers moved, as a share of how far the anchors lie apart.
///
/// 0 = anchors ignored, 1 = answers moved as far as the anchors, negative = moved away. Capped to [−1, 1]; negative
/// values are kept, because dropping them turns wobble into bias.
///
/// Source: the wheel of fortune post. Jacowitz & Kahneman (1995), PSPB 21(11), use medians on a linear scale.
///
/// All four arguments must be above 0 and the anchors must differ.
#[must_use]
pub fn log_ratio(low: f64, high: f64, low_anchor: f64, high_anchor: f64) -> f64 {
    ((high / low).ln() / (high_anchor / low_anchor).ln()).clamp(-1.0, 1.0)
}

/// Half of the index of Jacowitz & Kahneman (1995): how far one anchor moves the median from that without an anchor, as a
/// share of the way to the anchor. `None` where the unanchored median does not lie between the anchors.
#[must_use]
pub fn half(estimate: f64, none: f64, anchor: f64, anchors: (f64, f64)) -> Option<f64> {
    (anchors.0 < none && none < anchors.1).then(|| (estimate - none) / (anchor - none))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_examples_of_the_post_hold() {
        // Who and question: low anchor, estimate, high anchor, estimate, index before the cap, index.
        let close = |a: f64, b: f64| (a - b).abs() < 5e-4;
        let lego = log_ratio(400_000.0, 3_000_000.0, 160_000.0, 1_000_000.0);
        assert_eq!(lego, 1.0);
        assert!(close(7.5_f64.ln() / 6.25_f64.ln(), 1.0995));
        assert_eq!(log_ratio(6500.0, 200_000.0, 2400.0, 15_000.0), 1.0);
        assert!(close((200_000.0_f64 / 6500.0).ln() / 6.25_f64.ln(), 1.870));
        assert_eq!(log_ratio(130.0, 18.0, 50.0, 310.0), -1.0);
        assert!(close((18.0_f64 / 130.0).ln() / 6.2_f64.ln(), -1.084));
        assert_eq!(log_ratio(8849.0, 8849.0, 3500.0, 22_000.0), 0.0);
    }

    #[test]
    fn the_published_linear_values_hold() {
        // Tversky & Kahneman (1974), the wheel: medians 25 and 45 at 10 and 65.
        assert!((Index::Ai.of(&[25.0], &[45.0], (10.0, 65.0)) - 20.0 / 55.0).abs() < 1e-12);
        // Kahneman (2011), chapter 11, the redwood: 282 and 844 feet at 180 and 1,200, 55 %.
        let redwood = Index::Ai.of(&[282.0], &[844.0], (180.0, 1200.0));
        assert!((redwood - 0.55).abs() < 0.005, "{redwood}");
        assert_eq!(
            Index::AIndex.of(&[844.0], &[282.0], (180.0, 1200.0)),
            redwood
        );
        assert_eq!(
            Index::Raw.of(&[10.0, 20.0, 90.0], &[15.0], (1.0, 2.0)),
            -5.0
        );
        assert_eq!(half(30.0, 50.0, 10.0, (10.0, 90.0)), Some(0.5));
        assert_eq!(half(70.0, 50.0, 90.0, (10.0, 90.0)), Some(0.5));
        assert_eq!(half(30.0, 5.0, 10.0, (10.0, 90.0)), None);
    }

    proptest::proptest! {
        #[test]
        fn the_index_has_the_symmetries_of_a_ratio(
            low in 0.1_f64..1e6, high in 0.1_f64..1e6, anchor in 1.0_f64..1e6, factor in 1.1_f64..50.0, scale in 1e-3_f64..1e3,
        ) {
            let (a, b) = (anchor, anchor * factor);
            let plain = log_ratio(low, high, a, b);
            // Another unit changes nothing.
            proptest::prop_assert!((plain - log_ratio(low * scale, high * scale, a * scale, b * scale)).abs() < 1e-9);
            // Giving each side the other's answer flips the sign.
            proptest::prop_assert!((plain + log_ratio(high, low, a, b)).abs() < 1e-12);
            // Answers equal to the anchors are index 1, equal answers index 0.
            proptest::prop_assert!((log_ratio(a, b, a, b) - 1.0).abs() < 1e-12);
            proptest::prop_assert_eq!(log_ratio(low, low, a, b), 0.0);
        }
    }
}
