//! What a server's refusals teach about a model's parameters. Pure.

use std::collections::BTreeSet;

use crate::domain::{Parameter, Sampling};
use crate::model::{Dialect, LimitField, Model};

/// Parameters that are left out, and the name that the limit goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Learned {
    /// Left out of every call.
    pub dropped: BTreeSet<Parameter>,
    /// Name of the token limit.
    pub limit_field: LimitField,
    renamed: bool,
}

/// What one refusal taught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lesson {
    /// The parameter is left out from now on.
    Dropped,
    /// The limit takes its other name from now on.
    Renamed,
    /// Another call had taught it already.
    Known,
    /// Nothing that mends the call.
    Nothing,
}

impl Learned {
    /// What is known before the first call.
    #[must_use]
    pub fn new(model: &Model, dropped: BTreeSet<Parameter>) -> Self {
        Self {
            dropped,
            limit_field: model.provider.limit_field,
            renamed: false,
        }
    }

    /// Takes a refusal of a call that was sent with what was known then.
    pub fn learn(
        &mut self,
        parameter: Parameter,
        with: &Learned,
        asked: &Sampling,
        dialect: Dialect,
    ) -> Lesson {
        if parameter == Parameter::MaxOutputTokens {
            // Without any limit a reply could cost anything, so the limit is never dropped.
            if with.limit_field != self.limit_field {
                return Lesson::Known;
            }
            if self.renamed
                || !matches!(
                    dialect,
                    Dialect::OpenaiChat | Dialect::Vllm | Dialect::LlamaCpp
                )
            {
                return Lesson::Nothing;
            }
            self.renamed = true;
            self.limit_field = self.limit_field.other();
            return Lesson::Renamed;
        }
        if with.dropped.contains(&parameter) || !asked.has(parameter) {
            Lesson::Nothing
        } else if self.dropped.insert(parameter) {
            Lesson::Dropped
        } else {
            Lesson::Known
        }
    }
}
