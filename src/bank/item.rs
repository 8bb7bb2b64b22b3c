use crate::domain::{Condition, ItemId, Positive, Tier, round_significant};

/// One question with its reference, unit and tier.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Unique id.
    pub id: ItemId,
    /// How sure a model can be.
    pub tier: Tier,
    /// Noun phrase that fits "Is … more or less than A unit?" and "Estimate …, in unit."
    pub text: String,
    /// Unit as it stands in the prompt; empty for plain counts.
    pub unit: String,
    /// The reference in that unit.
    pub reference: Positive,
    /// The two anchors in that unit.
    pub anchors: Anchors,
    /// Where the reference comes from.
    pub provenance: Provenance,
}

impl Item {
    /// The anchor shown under a condition, if one is.
    #[must_use]
    pub fn anchor(&self, condition: Condition) -> Option<Positive> {
        match condition {
            Condition::Low => Some(self.anchors.low),
            Condition::High => Some(self.anchors.high),
            _ => None,
        }
    }
}

/// Low and high anchor, `low < high`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anchors {
    /// Below the reference.
    pub low: Positive,
    /// Above the reference.
    pub high: Positive,
}

/// Where a reference comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Publication or body that a reader can look up.
    pub source: Option<String>,
    /// Date of the figure.
    pub as_of: Option<String>,
    /// One line that shows how a guess was reached.
    pub derivation: Option<String>,
}

/// Reference / 2.5 and reference × 2.5, each rounded to two significant digits.
///
/// Factor and rounding follow the wheel of fortune post; halves round away from zero.
///
/// # Errors
/// The reference is so close to the limits of a double that an anchor is not finite and above 0.
pub fn derive_anchors(reference: Positive) -> Result<Anchors, crate::domain::NotPositive> {
    Ok(Anchors {
        low: round_significant(reference.get() / 2.5, 2).try_into()?,
        high: round_significant(reference.get() * 2.5, 2).try_into()?,
    })
}
