//! Models that answer in this process.

use std::ops::ControlFlow;
use std::time::Instant;

use super::ProviderError;
use crate::domain::{Conversation, Reply, Sampling, Scoring};

/// A call to a respondent in this process.
#[derive(Debug, Clone, Copy)]
pub struct InProcessCall<'a> {
    /// The messages.
    pub conversation: &'a Conversation,
    /// Settings; the seed makes a draw repeatable.
    pub sampling: &'a Sampling,
    /// The answers to be scored in place of a reply, if that is asked.
    pub scoring: Option<&'a Scoring>,
}

/// One answer of a respondent, as soon as it is there.
#[derive(Debug)]
pub struct Answer {
    /// Place of the call in the list.
    pub call: usize,
    /// When work on it began.
    pub started: Instant,
    /// The reply, or why there is none.
    pub reply: Result<Reply, ProviderError>,
}

/// A model that answers in this process. Blocking.
pub trait Respondent: Send + Sync {
    /// Answers calls, in any order. After `deliver` breaks, no further call is begun; those under way are delivered.
    fn answer(
        &self,
        calls: &[InProcessCall<'_>],
        deliver: &mut (dyn FnMut(Answer) -> ControlFlow<()> + Send),
    );

    /// How many calls of [`Respondent::answer`] are worth making at once.
    fn workers(&self) -> usize;

    /// How many calls one list is worth holding.
    fn batch(&self) -> usize {
        1
    }
}
