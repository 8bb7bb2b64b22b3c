//! The parts of a prompt that an answer is attributed to.

use serde::{Deserialize, Serialize};
use strum::IntoEnumIterator;

/// A part of an anchoring prompt.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumIter,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Field {
    /// How the number came up.
    Scene,
    /// Whether the answer is more or less than it.
    Comparative,
    /// What is asked for.
    Absolute,
    /// The number itself, wherever it stands.
    Anchor,
}

/// Fields that a prompt keeps; the others are left empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Coalition(u8);

impl Coalition {
    /// Number of coalitions.
    pub const COUNT: usize = 16;

    /// Every field.
    pub const FULL: Self = Self(15);

    /// All coalitions; the place of each is its bits.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=Self::FULL.0).map(Self)
    }

    /// Bits: 1 scene, 2 comparative, 4 absolute, 8 anchor.
    #[must_use]
    pub fn bits(self) -> usize {
        usize::from(self.0)
    }

    /// Whether a field is kept.
    #[must_use]
    pub fn holds(self, field: Field) -> bool {
        self.0 & 1 << (field as u8) != 0
    }

    /// The coalition with a field besides.
    #[must_use]
    pub fn with(self, field: Field) -> Self {
        Self(self.0 | 1 << (field as u8))
    }

    /// Number of fields kept.
    #[must_use]
    pub fn size(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl std::fmt::Display for Coalition {
    /// `scene+anchor`, or `nothing`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept: Vec<&str> = Field::iter()
            .filter(|field| self.holds(*field))
            .map(Into::into)
            .collect();
        f.write_str(if kept.is_empty() { "nothing" } else { "" })?;
        f.write_str(&kept.join("+"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_published_hashes_and_names_tell_coalitions_apart() {
        let names: Vec<String> = Coalition::all().map(|one| one.to_string()).collect();
        assert_eq!(names.len(), Coalition::COUNT);
        assert_eq!(names[0], "nothing");
        assert_eq!(names[9], "scene+anchor");
        assert_eq!(
            names[Coalition::FULL.bits()],
            "scene+comparative+absolute+anchor"
        );
        let anchor = Coalition(0).with(Field::Anchor);
        assert_eq!((anchor.bits(), anchor.size()), (8, 1));
    }
}
