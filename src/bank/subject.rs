use std::sync::Arc;

use super::Item;
use super::cases::Case;
use crate::domain::{Condition, ItemId, Tier};

/// What a task asks about: a question of a bank, or a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A question.
    Question(Arc<Item>),
    /// A case.
    Case(Arc<Case>),
}

/// A [`Subject`] that somebody else holds.
#[derive(Debug, Clone, Copy)]
pub enum SubjectRef<'a> {
    /// A question.
    Question(&'a Item),
    /// A case.
    Case(&'a Case),
}

impl Subject {
    /// The same, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> SubjectRef<'_> {
        match self {
            Self::Question(item) => SubjectRef::Question(item),
            Self::Case(case) => SubjectRef::Case(case),
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &ItemId {
        self.borrowed().id()
    }

    /// Its tier; cases have none.
    #[must_use]
    pub fn tier(&self) -> Option<Tier> {
        match self {
            Self::Question(item) => Some(item.tier),
            Self::Case(_) => None,
        }
    }

    /// The anchor in the prompt, if there is one.
    #[must_use]
    pub fn anchor(&self, condition: Condition) -> Option<f64> {
        match self {
            Self::Question(item) => item.anchor(condition).map(f64::from),
            Self::Case(case) => case.anchor(condition),
        }
    }
}

impl<'a> SubjectRef<'a> {
    /// Its id.
    #[must_use]
    pub fn id(self) -> &'a ItemId {
        match self {
            Self::Question(item) => &item.id,
            Self::Case(case) => &case.id,
        }
    }
}

impl<'a> From<&'a Item> for SubjectRef<'a> {
    fn from(item: &'a Item) -> Self {
        Self::Question(item)
    }
}

impl<'a> From<&'a Case> for SubjectRef<'a> {
    fn from(case: &'a Case) -> Self {
        Self::Case(case)
    }
}

impl<'a> From<&'a Subject> for SubjectRef<'a> {
    fn from(subject: &'a Subject) -> Self {
        subject.borrowed()
    }
}
