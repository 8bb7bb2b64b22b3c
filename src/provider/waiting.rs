//! How long a server asks to wait, and what it says is left of its limits.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::error::error_object;
use super::{Headers, Response};

/// How long to wait before another try, as the server says, rounded up to a millisecond.
///
/// In this order: `retry-after-ms`; `retry-after` in seconds or as a date; `RetryInfo` in the body; the reset time that
/// `OpenRouter` quotes; the reset headers of a limit that is used up. A past date or an unreadable value is no hint.
pub(super) fn wait_of(response: &Response, json: Option<&Value>) -> Option<Duration> {
    let headers = &response.headers;
    let now = response.received;
    let told = headers
        .get("retry-after-ms")
        .and_then(number)
        .map(|ms| ms / 1000.0)
        .or_else(|| {
            let value = headers.get("retry-after")?;
            number(value).or_else(|| {
                until(
                    DateTime::parse_from_rfc2822(value.trim()).ok()?.to_utc(),
                    now,
                )
            })
        })
        .or_else(|| retry_info(json?))
        .or_else(|| quoted_reset(json?, now));
    let told = match told {
        Some(told) => Some(told),
        None if response.status == 429 => used_up(headers, now),
        None => None,
    };
    // Up, never down: a server that counts exactly refuses a call that comes too early.
    told.filter(|seconds| *seconds <= LONGEST)
        .and_then(|seconds| Duration::try_from_secs_f64((seconds * 1000.0).ceil() / 1000.0).ok())
}

/// Ten years, in seconds: a longer wait is a time in another unit, and no hint.
const LONGEST: f64 = 3.2e8;

fn number(text: &str) -> Option<f64> {
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|value| value.is_finite() && *value >= 0.0)
}

/// Seconds until a moment; `None` if it is past.
fn until(moment: DateTime<Utc>, now: DateTime<Utc>) -> Option<f64> {
    let left = (moment - now).to_std().ok()?;
    Some(left.as_secs_f64()).filter(|seconds| *seconds > 0.0)
}

/// `"retryDelay": "46s"` among the details of an error.
fn retry_info(json: &Value) -> Option<f64> {
    let details = error_object(json)["details"].as_array()?;
    let delay = details
        .iter()
        .find_map(|detail| detail["retryDelay"].as_str())?;
    span(delay)
}

/// `X-RateLimit-Reset` in the metadata of an error, in milliseconds since 1970.
fn quoted_reset(json: &Value, now: DateTime<Utc>) -> Option<f64> {
    let reset = &error_object(json)["metadata"]["headers"]["X-RateLimit-Reset"];
    let ms = reset
        .as_i64()
        .or_else(|| reset.as_str().and_then(|text| text.parse().ok()))?;
    until(DateTime::from_timestamp_millis(ms)?, now)
}

/// The longest wait among the limits that have nothing left.
fn used_up(headers: &Headers, now: DateTime<Utc>) -> Option<f64> {
    allowances(headers, now)
        .into_iter()
        .filter(|allowance| allowance.left.is_none_or(|left| left < 1.0))
        .filter_map(|allowance| allowance.resets_in)
        .map(|wait| wait.as_secs_f64())
        .max_by(f64::total_cmp)
}

/// A span such as `6ms`, `1.5s`, `1m30s` or `2h0m1.25s`, in seconds.
fn span(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .filter(|at| *at > 0)?;
        let value = number(&rest[..digits])?;
        rest = &rest[digits..];
        let (unit, seconds) = [
            ("ms", 0.001),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
            ("d", 86_400.0),
        ]
        .into_iter()
        .find(|(unit, _)| rest.starts_with(unit))?;
        total += value * seconds;
        rest = &rest[unit.len()..];
    }
    Some(total)
}

/// One limit as the headers of a response tell it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Whether tokens are limited, rather than requests.
    pub tokens: bool,
    /// The whole allowance.
    pub limit: Option<f64>,
    /// What is left.
    pub left: Option<f64>,
    /// Until it is whole again.
    pub resets_in: Option<Duration>,
}

impl Allowance {
    /// The pace a minute that the limit means, if it is the limit of a minute or less.
    ///
    /// Some servers give the allowance of a day in the same headers; what was used and how long it takes to come back
    /// tells one from the other.
    #[must_use]
    pub fn per_minute(&self) -> Option<f64> {
        let limit = self.limit.filter(|limit| *limit >= 1.0)?;
        match (self.left, self.resets_in) {
            (Some(left), Some(resets)) if limit - left >= 1.0 && resets > Duration::ZERO => {
                let refill = (limit - left) / resets.as_secs_f64() * 60.0;
                // A window that empties at once refills faster than its limit, never much slower.
                (refill >= 0.5 * limit || resets <= Duration::from_mins(1)).then_some(limit)
            }
            (_, Some(resets)) if resets > Duration::from_mins(1) => None,
            _ => Some(limit),
        }
    }
}

/// The limits that a response's headers tell, in the words of `OpenAI` and of Anthropic.
#[must_use]
pub fn allowances(headers: &Headers, now: DateTime<Utc>) -> Vec<Allowance> {
    if !headers.0.iter().any(|(name, _)| name.contains("ratelimit")) {
        return Vec::new();
    }
    let x = |kind: &str| {
        let get = |part: &str| headers.get(&format!("x-ratelimit-{part}-{kind}"));
        (get("limit"), get("remaining"), get("reset"))
    };
    let anthropic = |kind: &str| {
        let get = |part: &str| headers.get(&format!("anthropic-ratelimit-{kind}-{part}"));
        (get("limit"), get("remaining"), get("reset"))
    };
    [
        (false, x("requests")),
        (true, x("tokens")),
        (false, anthropic("requests")),
        (true, anthropic("tokens")),
        (true, anthropic("input-tokens")),
        (true, anthropic("output-tokens")),
    ]
    .into_iter()
    .filter(|(_, (limit, left, _))| limit.is_some() || left.is_some())
    .map(|(tokens, (limit, left, reset))| Allowance {
        tokens,
        limit: limit.and_then(number),
        left: left.and_then(number),
        resets_in: reset
            .and_then(|reset| {
                span(reset).or_else(|| {
                    let moment = DateTime::parse_from_rfc3339(reset.trim()).ok()?.to_utc();
                    Some(until(moment, now).unwrap_or(0.0))
                })
            })
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(time: &str) -> DateTime<Utc> {
        DateTime::parse_from_rfc3339(time).unwrap().to_utc()
    }

    fn wait(headers: &[(&str, &str)], body: &Value) -> Option<f64> {
        let response = Response {
            url: String::new(),
            status: 429,
            headers: Headers(
                headers
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
            ),
            body: Vec::new(),
            received: at("2026-01-15T12:00:00Z"),
        };
        wait_of(&response, Some(body)).map(|wait| wait.as_secs_f64())
    }

    #[test]
    fn every_form_of_a_wait_is_read_and_rounded_up() {
        let none = json!({});
        assert_eq!(
            wait(&[("retry-after-ms", "1500"), ("retry-after", "2")], &none),
            Some(1.5)
        );
        assert_eq!(wait(&[("retry-after", "20")], &none), Some(20.0));
        assert_eq!(wait(&[("retry-after", "0.0004")], &none), Some(0.001));
        assert_eq!(
            wait(&[("retry-after", "Thu, 15 Jan 2026 12:00:45 GMT")], &none),
            Some(45.0)
        );
        assert_eq!(
            wait(&[("retry-after", "Thu, 15 Jan 2026 11:00:45 GMT")], &none),
            None
        );
        assert_eq!(wait(&[("retry-after", "soon")], &none), None);
        assert_eq!(wait(&[("retry-after", "1768478430000000")], &none), None);
        assert_eq!(wait(&[("retry-after", "-3")], &none), None);
        let body = json!({"error": {"details": [{"retryDelay": "3.5s"}]}});
        assert_eq!(wait(&[], &body), Some(3.5));
        let body =
            json!({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1768478430000"}}}});
        assert_eq!(wait(&[], &body), Some(30.0));
        let reset = [
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-01-15T12:00:07Z"),
        ];
        assert_eq!(wait(&reset, &none), Some(7.0));
        let reset = [
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "1m30s"),
            ("x-ratelimit-remaining-requests", "9"),
            ("x-ratelimit-reset-requests", "6h"),
        ];
        assert_eq!(wait(&reset, &none), Some(90.0));
    }

    #[test]
    fn spans_are_read() {
        for (text, seconds) in [
            ("6ms", Some(0.006)),
            ("1m30s", Some(90.0)),
            ("2m59.56s", Some(179.56)),
            ("1h0m0s", Some(3600.0)),
            ("", None),
            ("5", None),
            ("s", None),
        ] {
            assert_eq!(span(text), seconds, "{text}");
        }
    }

    #[test]
    fn the_allowance_of_a_day_is_no_pace() {
        let one = |limit: &str, left: &str, reset: &str| {
            let headers = Headers(vec![
                ("x-ratelimit-limit-requests".into(), limit.into()),
                ("x-ratelimit-remaining-requests".into(), left.into()),
                ("x-ratelimit-reset-requests".into(), reset.into()),
            ]);
            allowances(&headers, at("2026-01-15T12:00:00Z"))[0].per_minute()
        };
        assert_eq!(one("3000", "2999", "20ms"), Some(3000.0));
        assert_eq!(one("3000", "0", "60s"), Some(3000.0));
        assert_eq!(one("14400", "14370", "2m59.56s"), None);
        assert_eq!(one("10000", "9999", "8.64s"), Some(10000.0));
    }
}
