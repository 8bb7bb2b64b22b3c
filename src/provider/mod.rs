//! Providers: how each kind of server is spoken to, and the respondents that run in this process.
//!
//! A wire dialect is two pure functions over bytes; only the `ask` room sends. The in-process engine and the scripted
//! respondent stand behind [`Respondent`]. None of them knows tasks or scores.

mod error;
#[cfg(feature = "engine")]
pub mod local;
mod openai_chat;
mod scripted;
mod tokens;

pub use error::ProviderError;
pub use openai_chat::OpenaiChat;
pub use scripted::{Facts, Scripted, ScriptedError};

use std::ops::ControlFlow;
use std::time::Instant;

use crate::domain::{Conversation, Reply, Sampling};
use crate::model::LimitField;

/// A call as it goes out, without the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireRequest {
    /// Full address.
    pub url: String,
    /// JSON body.
    pub body: String,
}

/// What a dialect needs to know of a call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Address without the path.
    pub base_url: &'a str,
    /// Model id as the server knows it.
    pub model_id: &'a str,
    /// The messages.
    pub conversation: &'a Conversation,
    /// Settings; `None` fields are not sent.
    pub sampling: &'a Sampling,
    /// Name of the token limit.
    pub limit_field: LimitField,
}

/// Response headers that a dialect may look at; names in lower case.
#[derive(Debug, Clone, Default)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    /// The first header of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// A wire dialect: bytes out, bytes in, nothing sent.
pub trait Dialect: Send + Sync {
    /// The request for a call.
    fn request(&self, call: &Call<'_>) -> WireRequest;

    /// The reply in a response.
    ///
    /// # Errors
    /// The response is a failure, or not what its status promises.
    fn reply(&self, status: u16, headers: &Headers, body: &[u8]) -> Result<Reply, ProviderError>;
}

/// A call to a respondent in this process.
#[derive(Debug, Clone, Copy)]
pub struct InProcessCall<'a> {
    /// The messages.
    pub conversation: &'a Conversation,
    /// Settings; the seed makes a draw repeatable.
    pub sampling: &'a Sampling,
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
