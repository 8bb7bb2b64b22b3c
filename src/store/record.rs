//! One line of the store: one attempt, complete in itself.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{
    Condition, Conversation, Digits, ErrorClass, Finish, ItemId, Judging, ModelName, Prompt,
    SampleKey, Sampling, Scored, Served, Status, TaskName, Tier, TokenCounts, Usd,
};

/// Version of the line format that this program writes, and the newest it reads.
pub const VERSION: u32 = 1;

/// One attempt to get one reply, as stored.
///
/// Unknown values are null. A sample of several turns has one answered line per turn, all with the same key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Format version.
    pub v: u32,
    /// Identity of the sample.
    pub key: SampleKey,
    /// Model entry that was asked.
    pub model: ModelName,
    /// Task.
    pub task: TaskName,
    /// Question.
    pub item: ItemId,
    /// Its tier; null for a case.
    pub tier: Option<Tier>,
    /// Condition.
    pub condition: Condition,
    /// The anchor shown, in the unit of the question; null also where an earlier reply of the model is the anchor.
    pub anchor: Option<f64>,
    /// Repetition, from 1.
    pub epoch: u32,
    /// Ask within the sample, from 1.
    pub turn: u32,
    /// Try at this ask, from 1.
    pub attempt: u32,
    /// The messages exactly as sent.
    pub conversation: Arc<Conversation>,
    /// [`Prompt::hash`](crate::domain::Prompt::hash) of the messages.
    pub prompt_hash: Arc<str>,
    /// Model id and settings as sent.
    pub sent: Sent,
    /// How the attempt ended.
    pub status: Status,
    /// What failed, for the status `error`.
    pub error: Option<RecordedError>,
    /// Visible text of the reply, without the prefill.
    pub text: Option<String>,
    /// Reasoning that came apart from the text.
    pub reasoning_text: Option<String>,
    /// Model id that the server named.
    pub returned_model: Option<String>,
    /// Why the model stopped.
    pub finish: Option<Finish>,
    /// The server's word for it.
    pub finish_word: Option<String>,
    /// Token counts.
    pub tokens: TokenCounts,
    /// Whether input and output do not add up to the total that the server reports.
    #[serde(default)]
    pub usage_mismatch: bool,
    /// Who answered, beyond the model id.
    #[serde(default)]
    pub served: Served,
    /// What the model makes of given answers, where these were scored in place of a reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scored: Option<Scored>,
    /// What a judge was asked, beyond item and condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Arc<Judging>>,
    /// How probable each digit was where a score begins, of calls that were made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<Box<Digits>>,
    /// Id of the batch that the reply came with; null for a call of its own.
    #[serde(default)]
    pub batch: Option<String>,
    /// What it cost.
    pub cost_usd: Cost,
    /// The server's id of the call.
    pub request_id: Option<String>,
    /// The reply's body as it came, as text; of a failed attempt the first 2,000 bytes.
    pub body: Option<String>,
    /// Times.
    pub clock: Clock,
    /// Version of the program.
    pub wheel: Cow<'static, str>,
}

/// What was asked for with the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Provider entry.
    pub provider: Arc<str>,
    /// Model id.
    pub model: Arc<str>,
    /// Sampling and limits; null fields were not sent.
    #[serde(flatten)]
    pub sampling: Sampling,
    /// Start of the reply that was put into the model's mouth.
    pub prefill: Option<String>,
    /// Parameters left out because the server refuses them.
    #[serde(default)]
    pub dropped: Vec<String>,
}

/// A failure as stored; never holds a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedError {
    /// Kind of failure.
    pub class: ErrorClass,
    /// HTTP status, where one came.
    pub http_status: Option<u16>,
    /// What the server or the system said, shortened.
    pub message: String,
}

impl Sent {
    /// What is known of a reply that somebody else asked for.
    #[must_use]
    pub fn elsewhere(provider: &str, model: &str) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            sampling: Sampling::default(),
            prefill: None,
            dropped: Vec::new(),
        }
    }
}

/// Cost in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Tokens times price list; null if either is unknown.
    pub computed: Option<Usd>,
    /// As the provider says.
    pub reported: Option<Usd>,
}

/// When, and how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// Start of the call, UTC, RFC 3339 with milliseconds.
    pub started: String,
    /// From the start of the run until the sample's turn came, in milliseconds.
    pub queued_ms: u64,
    /// Waiting for limits and after failures before this attempt, in milliseconds.
    pub waited_ms: u64,
    /// From sending until the whole reply was there, in milliseconds.
    pub in_flight_ms: u64,
}

/// What a line is about.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "see the record")]
pub struct Spot {
    pub key: SampleKey,
    pub model: ModelName,
    pub task: TaskName,
    pub item: ItemId,
    pub tier: Option<Tier>,
    pub condition: Condition,
    pub anchor: Option<f64>,
    pub epoch: u32,
    pub turn: u32,
    pub attempt: u32,
}

impl Record {
    /// A line of which only the sending is known: no reply, no counts, no times but the start.
    #[must_use]
    pub fn sent(spot: Spot, prompt: &Prompt, sent: Sent, started: String) -> Self {
        Self {
            v: VERSION,
            key: spot.key,
            model: spot.model,
            task: spot.task,
            item: spot.item,
            tier: spot.tier,
            condition: spot.condition,
            anchor: spot.anchor,
            epoch: spot.epoch,
            turn: spot.turn,
            attempt: spot.attempt,
            conversation: Arc::clone(&prompt.conversation),
            prompt_hash: Arc::clone(&prompt.hash),
            sent,
            status: Status::Error,
            error: None,
            text: None,
            reasoning_text: None,
            returned_model: None,
            finish: None,
            finish_word: None,
            tokens: TokenCounts::default(),
            usage_mismatch: false,
            served: Served::default(),
            scored: None,
            judging: None,
            digits: None,
            batch: None,
            cost_usd: Cost::default(),
            request_id: None,
            body: None,
            clock: Clock {
                started,
                queued_ms: 0,
                waited_ms: 0,
                in_flight_ms: 0,
            },
            wheel: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// The reply with the prefill in front: what the model's side of the conversation says.
    #[must_use]
    pub fn full_text(&self) -> String {
        let text = self.text.as_deref().unwrap_or_default();
        match self.conversation.prefill() {
            Some(prefill) => format!("{prefill}{text}"),
            None => text.to_owned(),
        }
    }
}
