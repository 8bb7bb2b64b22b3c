use super::anchorbench::{Said, prompt_of, read_as_anchorbench};
use super::on_scale::read_on_scale;
use crate::domain::{Conversation, Reading};

/// How replies to cases are read.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
pub enum Rules {
    /// Ours: only what leaves no choice.
    #[default]
    Wheel,
    /// Those of the published benchmark.
    Anchorbench,
}

impl Rules {
    /// Reads a reply to a case.
    #[must_use]
    pub fn read(self, text: &str, conversation: &Conversation) -> Reading {
        match self {
            Self::Wheel => read_on_scale(text),
            Self::Anchorbench => read_as_anchorbench(&Said {
                text,
                prompt: &prompt_of(conversation),
                structured: None,
            }),
        }
    }
}
