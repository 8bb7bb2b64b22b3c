use std::time::Duration;

use serde_json::Value;

use super::Response;
use super::classify::{Verdict, classify};
use super::waiting::wait_of;
use crate::domain::{ErrorClass, Parameter};

/// How much a failure concerns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Scope {
    /// This call.
    #[default]
    Call,
    /// Every call of this model.
    Model,
    /// Every call with this key.
    Provider,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// Kind of failure; decides how to go on.
    pub class: ErrorClass,
    /// How much it concerns.
    pub scope: Scope,
    /// HTTP status, where one came.
    pub http_status: Option<u16>,
    /// Short text for people; never a web page.
    pub message: String,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether the server forbids another try of the same call.
    pub no_retry: bool,
    /// The parameter that is refused, where it is one of ours.
    pub parameter: Option<Parameter>,
    /// When a used-up allowance is filled again, where the server or its documentation says so.
    pub resets: Option<&'static str>,
    /// Whether the server may have answered, and billed, what never arrived.
    pub maybe_billed: bool,
    /// Beginning of the body.
    pub body: Option<String>,
}

/// How much of a failed body is kept, in bytes.
const KEPT: usize = 2000;

impl ProviderError {
    /// A failure without a response.
    #[must_use]
    pub fn local(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            scope: Scope::Call,
            http_status: None,
            message: message.into(),
            retry_after: None,
            no_retry: false,
            parameter: None,
            resets: None,
            maybe_billed: false,
            body: None,
        }
    }

    /// Reads a response that is a failure, by status and by what the body says; the body wins.
    ///
    /// `failed` is the part of the body that is the failure, where it is known; else the body is looked through.
    #[must_use]
    pub fn from_response(response: &Response, failed: Option<&Value>) -> Self {
        let parsed: Option<Value> = match failed {
            Some(_) => None,
            None => serde_json::from_slice(&response.body).ok(),
        };
        let json = failed.or(parsed.as_ref());
        let said = json.and_then(message_of);
        let Verdict {
            class,
            scope,
            parameter,
            resets,
        } = classify(response.status, json, said.as_deref().unwrap_or_default());
        let mut message = match &said {
            Some(said) => shorten(said, 300),
            None => describe(response),
        };
        if class == ErrorClass::NoModel
            && let Some(name) = ollama_name(json)
        {
            message.push_str(&format!("; fetch it with `ollama pull {name}`"));
        }
        Self {
            scope,
            http_status: Some(response.status),
            message,
            retry_after: wait_of(response, json),
            no_retry: response.headers.get("x-should-retry") == Some("false"),
            parameter,
            resets,
            // Whoever stands in between may give up on a model that answers all the same.
            maybe_billed: matches!(response.status, 200..300 | 408 | 504 | 524),
            body: Some(beginning(&response.body)),
            ..Self::local(class, "")
        }
    }

    /// A response whose body is not what the status promises.
    ///
    /// A web page with a status of success means that the address is that of a site: no repeat mends it.
    #[must_use]
    pub fn bad_body(response: &Response) -> Self {
        let page = response
            .headers
            .get("content-type")
            .is_some_and(|name| name.contains("html"))
            || response.body.trim_ascii_start().starts_with(b"<");
        let (class, scope) = if page {
            (ErrorClass::BadRequest, Scope::Model)
        } else {
            (ErrorClass::BadBody, Scope::Call)
        };
        let mut message = describe(response);
        if page {
            message.push_str("; the base_url seems to lead to a web site: is /v1 missing?");
        }
        Self {
            scope,
            http_status: Some(response.status),
            body: Some(beginning(&response.body)),
            maybe_billed: !page,
            ..Self::local(class, message)
        }
    }

    /// A stream that ended in the middle.
    #[must_use]
    pub fn broken_off(response: &Response) -> Self {
        Self {
            http_status: Some(response.status),
            body: Some(beginning(&response.body)),
            maybe_billed: true,
            ..Self::local(
                ErrorClass::BadBody,
                format!("the stream broke off after {} bytes", response.body.len()),
            )
        }
    }
}

fn beginning(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(KEPT)]).into_owned()
}

fn shorten(text: &str, characters: usize) -> String {
    // Control characters and marks that turn the direction of text have no place in a terminal.
    let shown = |c: char| {
        if c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            ' '
        } else {
            c
        }
    };
    let mut short: String = text.chars().take(characters).map(shown).collect();
    if text.chars().count() > characters {
        short.push('…');
    }
    short
}

/// Address, status, content type and size: enough to find the fault without showing the page.
fn describe(response: &Response) -> String {
    format!(
        "HTTP {} from {} with {} bytes of {}, not the JSON that was expected",
        response.status,
        response.url,
        response.body.len(),
        response
            .headers
            .get("content-type")
            .unwrap_or("unnamed type"),
    )
}

/// The error object of a body, also inside a one-element list.
pub(super) fn error_object(json: &Value) -> &Value {
    let json = json.get(0).unwrap_or(json);
    json.get("error")
        .filter(|error| !error.is_null())
        .unwrap_or(json)
}

fn message_of(json: &Value) -> Option<String> {
    let error = error_object(json);
    error
        .as_str()
        .or_else(|| error.get("message").and_then(Value::as_str))
        .or_else(|| error.get("detail").and_then(Value::as_str))
        .map(str::to_owned)
}

/// The model's name in Ollama's "model 'x' not found", whose error is a plain text.
fn ollama_name(json: Option<&Value>) -> Option<&str> {
    let error = json?.get("error")?.as_str()?;
    let (name, rest) = error.strip_prefix("model '")?.split_once('\'')?;
    rest.contains("not found").then_some(name)
}
