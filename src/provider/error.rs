use std::time::Duration;

use serde_json::Value;

use super::Headers;
use crate::domain::ErrorClass;

/// A failed call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// Kind of failure; decides how to go on.
    pub class: ErrorClass,
    /// HTTP status, where one came.
    pub http_status: Option<u16>,
    /// Short text for people; never a web page.
    pub message: String,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
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
            http_status: None,
            message: message.into(),
            retry_after: None,
            body: None,
        }
    }

    /// Reads a response that is a failure, by status and by what the body says; the body wins.
    #[must_use]
    pub fn from_response(status: u16, headers: &Headers, body: &[u8]) -> Self {
        let json: Option<Value> = serde_json::from_slice(body).ok();
        let error = json.as_ref().map(error_object);
        let message = error.and_then(message_of).map_or_else(
            || describe(status, headers, body),
            |text| shorten(&text, 300),
        );
        let said = error
            .and_then(message_of)
            .unwrap_or_else(|| message.clone());
        // Quota violations and retry hints stand in the details.
        let details = error
            .and_then(|error| error.get("details"))
            .map(Value::to_string)
            .unwrap_or_default();
        let words = format!(
            "{} {said} {details}",
            error.map(words_of).unwrap_or_default()
        )
        .to_lowercase();
        Self {
            class: classify(status, &words),
            http_status: Some(status),
            message,
            retry_after: retry_after(headers).or_else(|| retry_delay(&words)),
            body: Some(beginning(body)),
        }
    }

    /// A response whose body is not what the status promises.
    #[must_use]
    pub fn bad_body(status: u16, headers: &Headers, body: &[u8]) -> Self {
        Self {
            class: ErrorClass::BadBody,
            http_status: Some(status),
            message: describe(status, headers, body),
            retry_after: None,
            body: Some(beginning(body)),
        }
    }
}

fn beginning(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len().min(KEPT)]).into_owned()
}

fn shorten(text: &str, characters: usize) -> String {
    let mut short: String = text.chars().take(characters).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Status, content type and size: enough to find the fault without showing the page.
fn describe(status: u16, headers: &Headers, body: &[u8]) -> String {
    format!(
        "HTTP {status} with {} bytes of {}, not the JSON that was expected",
        body.len(),
        headers.get("content-type").unwrap_or("unnamed type"),
    )
}

/// The error object, also inside a one-element array.
fn error_object(json: &Value) -> &Value {
    let json = json.get(0).unwrap_or(json);
    json.get("error").unwrap_or(json)
}

fn message_of(error: &Value) -> Option<String> {
    error
        .as_str()
        .or_else(|| error.get("message").and_then(Value::as_str))
        .map(str::to_owned)
}

/// Type, code and status words of an error, in lower case.
fn words_of(error: &Value) -> String {
    ["type", "code", "status", "param"]
        .iter()
        .filter_map(|field| error.get(field))
        .map(|value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        })
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase()
}

fn classify(status: u16, words: &str) -> ErrorClass {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    // Every 429 of Gemini speaks of quota; its id tells a minute from a day.
    if status == 429 && (says(&["perminute", "per minute", "rate_limit_exceeded"])) {
        return ErrorClass::Rate;
    }
    if says(&[
        "insufficient_quota",
        "credit",
        "billing",
        "spend limit",
        "spending limit",
        "per day",
        "perday",
        "daily",
        "exceeded your current quota",
    ]) || status == 402
    {
        return ErrorClass::Quota;
    }
    if status == 401
        || says(&[
            "api key not valid",
            "invalid_api_key",
            "incorrect api key",
            "invalid api key",
            "authentication_error",
            "permission_error",
        ])
    {
        return ErrorClass::Auth;
    }
    match status {
        403 => ErrorClass::Auth,
        404 => ErrorClass::NoModel,
        408 | 504 => ErrorClass::Timeout,
        413 => ErrorClass::TooLong,
        429 => ErrorClass::Rate,
        503 | 529 => ErrorClass::Overload,
        409 | 500.. => ErrorClass::Server,
        _ if says(&[
            "context_length",
            "context length",
            "maximum context",
            "too long",
        ]) =>
        {
            ErrorClass::TooLong
        }
        _ if says(&["model_not_found", "does not exist", "not_found"]) => ErrorClass::NoModel,
        // A failure inside a 200.
        200..300 if says(&["rate", "429"]) => ErrorClass::Rate,
        200..300 => ErrorClass::Server,
        _ => ErrorClass::BadRequest,
    }
}

/// `"retryDelay": "46s"` in the body.
fn retry_delay(words: &str) -> Option<Duration> {
    let (_, rest) = words.split_once("\"retrydelay\":\"")?;
    let seconds: f64 = rest.split_once("s\"")?.0.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// `retry-after-ms`, then `retry-after` in seconds. A date or an unreadable value leaves the wait to the back-off.
fn retry_after(headers: &Headers) -> Option<Duration> {
    let seconds = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite() && *value >= 0.0)
    };
    let wait = headers
        .get("retry-after-ms")
        .and_then(seconds)
        .map(|ms| ms / 1000.0)
        .or_else(|| headers.get("retry-after").and_then(seconds))?;
    Duration::try_from_secs_f64(wait).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(status: u16, body: &str) -> ErrorClass {
        ProviderError::from_response(status, &Headers::default(), body.as_bytes()).class
    }

    #[test]
    fn the_body_wins_over_the_status() {
        let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert_eq!(class(429, quota), ErrorClass::Quota);
        assert_eq!(
            class(429, r#"{"error":{"message":"slow down"}}"#),
            ErrorClass::Rate
        );
        assert_eq!(
            class(400, r#"[{"error":{"message":"API key not valid."}}]"#),
            ErrorClass::Auth
        );
        assert_eq!(
            class(
                400,
                r#"{"error":{"message":"bad","code":"context_length_exceeded"}}"#
            ),
            ErrorClass::TooLong
        );
        assert_eq!(class(529, "busy"), ErrorClass::Overload);
        let minute = r#"[{"error":{"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerMinute"}]},{"retryDelay":"3.5s"}]}}]"#;
        let error = ProviderError::from_response(429, &Headers::default(), minute.as_bytes());
        assert_eq!(error.class, ErrorClass::Rate);
        assert_eq!(error.retry_after, Some(Duration::from_millis(3500)));
    }

    #[test]
    fn a_web_page_is_described_and_not_shown() {
        let headers = Headers(vec![("content-type".into(), "text/html".into())]);
        let error = ProviderError::from_response(502, &headers, b"<html>Bad gateway</html>");
        assert_eq!(
            error.message,
            "HTTP 502 with 24 bytes of text/html, not the JSON that was expected"
        );
        assert_eq!(error.class, ErrorClass::Server);
    }
}
