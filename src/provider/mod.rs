//! Providers: how each kind of server is spoken to, and the respondents that run in this process.
//!
//! A wire [`Dialect`] is a few pure functions over JSON; [`read`] does what all share (status before body, errors in
//! a 200, event streams), and only the `ask` room sends. The in-process engine and the scripted respondent stand
//! behind [`Respondent`]. None of them knows tasks or scores.

mod anthropic;
mod batch;
mod classify;
mod completions;
mod error;
mod events;
mod gemini;
#[cfg(feature = "engine")]
pub mod local;
mod ollama;
mod openai_chat;
mod openai_responses;
mod read;
mod respondent;
mod scoring;
mod scripted;
mod tokens;
mod tools;
mod waiting;

pub use anthropic::AnthropicMessages;
pub use batch::{Batch, BatchApi, BatchCall, BatchEntry, BatchState};
pub use completions::{OpenaiCompletions, ScoringChat};
pub use error::{ProviderError, Scope};
pub use gemini::Gemini;
pub use ollama::Ollama;
pub use openai_chat::OpenaiChat;
pub use openai_responses::OpenaiResponses;
pub use read::{json_of, read};
pub use respondent::{Answer, InProcessCall, Respondent};
pub use scoring::{ScoreCall, ScoreStep, ScoringApi, bare_text};
pub use scripted::{Facts, Scripted, ScriptedError};
pub use waiting::{Allowance, allowances};

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::domain::{Conversation, Finish, Parameter, Reply, Sampling, Status};
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
    /// Whether the reply is asked for piece by piece, so that a silence can be told from thinking.
    pub stream: bool,
}

/// Response headers that a dialect may look at; names in lower case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

/// A response as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The address that was called, for messages; holds no credentials.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: Headers,
    /// The whole body.
    pub body: Vec<u8>,
    /// When it was there: dates in headers are read against it.
    pub received: DateTime<Utc>,
}

/// How a key travels: name of the header, and what stands before the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHeader {
    /// Name of the header.
    pub name: &'static str,
    /// What stands before the key, with its blank.
    pub prefix: &'static str,
}

/// A wire dialect: JSON out, JSON in, nothing sent. [`read`] turns a response into a reply with it.
pub trait Dialect: Send + Sync {
    /// The request for a call.
    fn request(&self, call: &Call<'_>) -> WireRequest;

    /// The reply in a body that is no failure; `None` if it is not what the dialect gives.
    fn reply(&self, json: Value) -> Option<Reply>;

    /// One body from the events of a stream, in the form that [`Dialect::reply`] reads; `None` if the stream broke off.
    fn assemble(&self, events: Vec<Value>) -> Option<Value>;

    /// The part of a body with status 200 that is a failure all the same.
    fn failure<'a>(&self, json: &'a Value) -> Option<&'a Value> {
        has_error(json).then_some(json)
    }

    /// The header that carries the key.
    fn key_header(&self) -> KeyHeader {
        KeyHeader {
            name: "authorization",
            prefix: "Bearer ",
        }
    }

    /// Headers that every request of the dialect needs.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Whether the dialect has such a parameter at all. Others are left out and recorded as dropped.
    fn supports(&self, _parameter: Parameter) -> bool {
        true
    }

    /// How given answers are scored, if the server can.
    fn scoring(&self) -> Option<&dyn ScoringApi> {
        None
    }

    /// How several calls are handed over at once at half the price, if they can be.
    fn batch(&self) -> Option<&dyn BatchApi> {
        None
    }
}

/// Adds the fields of `extra` to a request body; a mapping within a mapping is joined, anything else replaced.
fn add_extra(body: &mut Value, extra: Option<&Value>) {
    match (body, extra) {
        (Value::Object(body), Some(Value::Object(extra))) => {
            for (name, value) in extra {
                let place = body.entry(name.clone()).or_insert(Value::Null);
                if place.is_object() && value.is_object() {
                    add_extra(place, Some(value));
                } else {
                    *place = value.clone();
                }
            }
        }
        (body, Some(value)) => *body = value.clone(),
        (_, None) => {}
    }
}

/// Sets a field to a value that is asked for.
fn set(body: &mut Value, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        body[field] = value.into();
    }
}

/// Moves a value out of what a server sent; null if it is not there. Indexing in place would panic on another shape.
fn take(json: &mut Value, pointer: &str) -> Value {
    json.pointer_mut(pointer).map_or(Value::Null, Value::take)
}

/// Whether a body speaks of an error: some servers send an empty one beside every answer.
fn has_error(json: &Value) -> bool {
    match &json["error"] {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    }
}

/// How a reply with this end and this text counts.
fn status_of(finish: Option<Finish>, said: &str) -> Status {
    match finish {
        Some(Finish::Refusal) => Status::Refused,
        Some(Finish::Length) => Status::Truncated,
        _ if said.trim().is_empty() => Status::Empty,
        _ => Status::Ok,
    }
}

/// A text; `None` for null and for anything else.
fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// The text parts of a list, joined; parts of another type (thinking, tool calls) are skipped.
fn joined_parts(parts: &Value, types: &[&str]) -> Option<String> {
    Some(
        parts
            .as_array()?
            .iter()
            .filter(|part| {
                part["type"]
                    .as_str()
                    .is_none_or(|name| types.contains(&name))
            })
            .filter_map(|part| part["text"].as_str())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn further_fields_are_joined_into_the_body() {
        let mut body = json!({"model": "m", "options": {"num_ctx": 8192, "seed": 1}});
        super::add_extra(
            &mut body,
            Some(&json!({"options": {"num_ctx": 4096}, "top_k": 1})),
        );
        assert_eq!(
            body,
            json!({"model": "m", "options": {"num_ctx": 4096, "seed": 1}, "top_k": 1})
        );
    }
}
