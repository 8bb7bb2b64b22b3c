//! What came back from one call.

use serde::{Deserialize, Serialize};

use super::{Scored, Tokens, Usd};

/// How one attempt ended, before anybody reads a number.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::VariantNames,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Status {
    /// Text came back and the model ended by itself.
    #[default]
    Ok,
    /// The model ended by itself without visible text.
    Empty,
    /// The token budget ran out, with or without text.
    Truncated,
    /// The provider or the model declined.
    Refused,
    /// No reply; see the error.
    Error,
}

impl Status {
    /// Whether the model was heard. Such a sample is recorded and not asked again.
    #[must_use]
    pub fn is_answer(self) -> bool {
        self != Self::Error
    }
}

/// Why a model stopped, in one vocabulary; the vendor's own word is kept beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Finish {
    /// The model ended its turn.
    Stop,
    /// The token limit or the context ran out.
    Length,
    /// A filter or the model itself declined.
    Refusal,
    /// The model asked for a tool.
    ToolCalls,
}

/// Token counts of one call. `None` means that the server did not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenCounts {
    /// All tokens of the prompt, cached ones included.
    pub input: Option<Tokens>,
    /// All generated tokens that are billed, hidden reasoning included.
    pub output: Option<Tokens>,
    /// The hidden part of `output`.
    pub reasoning: Option<Tokens>,
    /// The part of `input` that came from a cache.
    pub cached: Option<Tokens>,
}

/// What a server says of itself beside the model id. `None` means that it did not say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Fingerprint of the serving system.
    pub fingerprint: Option<String>,
    /// Tier of service.
    pub service_tier: Option<String>,
    /// The provider behind a router.
    pub upstream: Option<String>,
}

/// A reply as the wire gave it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// How the attempt ended; never [`Status::Error`].
    pub status: Status,
    /// Visible text, not trimmed, without the prefill.
    pub text: String,
    /// Reasoning shown apart from the text; never read for an estimate.
    pub reasoning_text: Option<String>,
    /// What the model makes of given answers, where these were scored.
    pub scored: Option<Scored>,
    /// The model id that the server says answered.
    pub returned_model: Option<String>,
    /// Why the model stopped.
    pub finish: Option<Finish>,
    /// The vendor's word for it.
    pub finish_word: Option<String>,
    /// Token counts.
    pub tokens: TokenCounts,
    /// Whether input and output do not add up to the total that the server reports.
    pub usage_mismatch: bool,
    /// Who answered, beyond the model id.
    pub served: Served,
    /// Cost as the provider reports it.
    pub cost_reported: Option<Usd>,
    /// The server's id of this call.
    pub request_id: Option<String>,
    /// The body as it came, where there is one.
    pub body: Option<String>,
}

/// Kinds of failed call. Each has one way to go on, see the `ask` room.
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
    strum::EnumString,
    strum::EnumIter,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ErrorClass {
    /// The key is missing, wrong or lacks the right.
    Auth,
    /// The provider does not serve this country.
    Region,
    /// The model does not exist there.
    NoModel,
    /// Credit or a daily allowance is used up.
    Quota,
    /// Too many requests just now.
    Rate,
    /// The server is too busy.
    Overload,
    /// The server failed.
    Server,
    /// One of our clocks ran out, or the server's.
    Timeout,
    /// The connection could not be made or broke.
    Connection,
    /// The server refuses a parameter that was sent.
    BadParameter,
    /// The request can never work as it is.
    BadRequest,
    /// The prompt exceeds the context.
    TooLong,
    /// The provider's rules forbid the prompt; the sample counts as refused.
    Policy,
    /// The server says that the call collides with another.
    Conflict,
    /// The body is not what the status promises.
    BadBody,
    /// The in-process engine failed.
    Engine,
}
