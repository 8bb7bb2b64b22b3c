use std::sync::Arc;

use super::Item;
use super::cases::Case;
use super::judge::Judged;
use super::stimuli::Excerpt;
use crate::domain::{Condition, ItemId, Tier};

/// What a task asks about: a question of a bank, a case, a stimulus, or what is to be judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A question.
    Question(Arc<Item>),
    /// A case.
    Case(Arc<Case>),
    /// A stimulus, or a part of one.
    Excerpt(Arc<Excerpt>),
    /// A text or a message to be judged.
    Judged(Arc<Judged>),
}

/// A [`Subject`] that somebody else holds.
#[derive(Debug, Clone, Copy)]
pub enum SubjectRef<'a> {
    /// A question.
    Question(&'a Item),
    /// A case.
    Case(&'a Case),
    /// A stimulus, or a part of one.
    Excerpt(&'a Excerpt),
    /// A text or a message to be judged.
    Judged(&'a Judged),
}

impl Subject {
    /// The same, borrowed.
    #[must_use]
    pub fn borrowed(&self) -> SubjectRef<'_> {
        match self {
            Self::Question(item) => SubjectRef::Question(item),
            Self::Case(case) => SubjectRef::Case(case),
            Self::Excerpt(excerpt) => SubjectRef::Excerpt(excerpt),
            Self::Judged(judged) => SubjectRef::Judged(judged),
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &ItemId {
        self.borrowed().id()
    }

    /// Its tier; only questions have one.
    #[must_use]
    pub fn tier(&self) -> Option<Tier> {
        match self {
            Self::Question(item) => Some(item.tier),
            Self::Case(_) | Self::Excerpt(_) | Self::Judged(_) => None,
        }
    }

    /// The anchor in the prompt, if there is one.
    #[must_use]
    pub fn anchor(&self, condition: Condition) -> Option<f64> {
        match self {
            Self::Question(item) => item.anchor(condition).map(f64::from),
            Self::Case(case) => case.anchor(condition),
            Self::Excerpt(excerpt) => excerpt.anchor(condition).map(|anchor| anchor.value),
            Self::Judged(judged) => judged.anchor(condition),
        }
    }

    /// Whether it is asked under a condition.
    #[must_use]
    pub fn asks_under(&self, condition: Condition) -> bool {
        match self {
            Self::Question(_) | Self::Excerpt(_) => true,
            Self::Case(case) => case.asks_under(condition),
            Self::Judged(judged) => judged.asks_under(condition),
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
            Self::Excerpt(excerpt) => &excerpt.id,
            Self::Judged(judged) => judged.id(),
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

impl<'a> From<&'a Excerpt> for SubjectRef<'a> {
    fn from(excerpt: &'a Excerpt) -> Self {
        Self::Excerpt(excerpt)
    }
}

impl<'a> From<&'a Judged> for SubjectRef<'a> {
    fn from(judged: &'a Judged) -> Self {
        Self::Judged(judged)
    }
}

impl<'a> From<&'a Subject> for SubjectRef<'a> {
    fn from(subject: &'a Subject) -> Self {
        subject.borrowed()
    }
}
