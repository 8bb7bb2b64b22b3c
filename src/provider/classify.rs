//! What kind of failure a response is: by status, and by what the body says, which wins.

use serde_json::Value;

use super::Scope;
use super::error::error_object;
use crate::domain::{ErrorClass, Parameter};

/// The kind of a failure and what it concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) class: ErrorClass,
    pub(super) scope: Scope,
    pub(super) parameter: Option<Parameter>,
    pub(super) resets: Option<&'static str>,
}

impl Verdict {
    fn new(class: ErrorClass, scope: Scope) -> Self {
        Self {
            class,
            scope,
            parameter: None,
            resets: None,
        }
    }
}

/// Everything that an error says, in lower case.
struct Said {
    /// Message, type, code, status and details.
    words: String,
    /// The field that the error names as the refused parameter.
    param: Option<String>,
}

impl Said {
    fn new(json: Option<&Value>, message: &str) -> Self {
        let Some(json) = json else {
            return Self {
                words: String::new(),
                param: None,
            };
        };
        let error = error_object(json);
        let mut words = message.to_owned();
        for object in [json, error] {
            for field in ["type", "code", "status", "details", "metadata", "reason"] {
                if let Some(value) = object.get(field).filter(|value| !value.is_null()) {
                    words.push(' ');
                    match value.as_str() {
                        Some(text) => words.push_str(text),
                        None => words.push_str(&value.to_string()),
                    }
                }
            }
        }
        Self {
            words: words.to_lowercase(),
            param: error["param"].as_str().map(str::to_lowercase),
        }
    }

    fn any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.words.contains(phrase))
    }
}

/// Credit, spending limits and plans: whatever the key is used for next will fail too.
const NO_CREDIT: [&str; 14] = [
    "insufficient_quota",
    "credit_balance_exhausted",
    "credit balance",
    "credits",
    "insufficient balance",
    "spend limit",
    "spend_limit",
    "spending limit",
    "monthly limit",
    "billing",
    "payment required",
    "exceeded your current quota",
    "dollar quota",
    "budget has been exceeded",
];

/// Allowances of a day, of one model.
const PER_DAY: [&str; 6] = [
    "perday",
    "per day",
    "per-day",
    "daily limit",
    "daily quota",
    "limit: 0",
];

const PER_MINUTE: [&str; 4] = ["perminute", "per min", "per-minute", "rate_limit_exceeded"];

const RATE: [&str; 7] = [
    "rate limit",
    "rate_limit",
    "rate-limit",
    "ratelimit",
    "rate limited",
    "too many requests",
    "429",
];

const AUTH: [&str; 9] = [
    "api key not valid",
    "api_key_invalid",
    "invalid_api_key",
    "incorrect api key",
    "invalid api key",
    "authentication_error",
    "permission_error",
    "no auth credentials",
    "api key expired",
];

const REGION: [&str; 4] = [
    "unsupported_country",
    "country, region, or territory",
    "user location is not supported",
    "not available in your country",
];

const POLICY: [&str; 11] = [
    "invalid_prompt",
    "content_policy_violation",
    "cyber_policy",
    "bio_policy",
    "misalignment_policy_violation",
    "content_filter",
    "responsibleaipolicyviolation",
    "safety_check",
    "moderation",
    "flagged as potentially",
    "input was flagged",
];

const TOO_LONG: [&str; 6] = [
    "context_length",
    "context length",
    "maximum context",
    "context window",
    "prompt is too long",
    "request_too_large",
];

const NO_MODEL: [&str; 5] = [
    "model_not_found",
    "not_found_error",
    "no endpoints found",
    "is not a valid model",
    "has been retired",
];

const TOO_LARGE: [&str; 7] = [
    "too large",
    "too high",
    "at most",
    "maximum",
    "exceeds",
    "less than or equal",
    "must be <=",
];

const REFUSED_PARAMETER: [&str; 11] = [
    "unsupported_parameter",
    "unsupported_value",
    "unsupported parameter",
    "unsupported value",
    "is deprecated for this model",
    "unrecognized request argument",
    "unknown name",
    "not supported with this model",
    "does not support",
    "is not supported",
    "extra inputs are not permitted",
];

/// The class, the scope and the parameter of a failure. `status` 200 means a failure inside a success.
pub(super) fn classify(status: u16, json: Option<&Value>, message: &str) -> Verdict {
    let said = Said::new(json, message);
    // A failure inside a success carries its status with it.
    let status = json
        .filter(|_| (200..300).contains(&status))
        .and_then(|json| {
            let code = &error_object(json)["code"];
            code.as_u64()
                .or_else(|| code.as_str().and_then(|code| code.parse().ok()))
        })
        .and_then(|code| u16::try_from(code).ok())
        .filter(|code| (400..600).contains(code))
        .unwrap_or(status);
    if let Some(verdict) = by_words(status, &said) {
        return verdict;
    }
    let call = |class| Verdict::new(class, Scope::Call);
    match status {
        401 | 403 => Verdict::new(ErrorClass::Auth, Scope::Provider),
        404 | 410 => Verdict::new(ErrorClass::NoModel, Scope::Model),
        408 => call(ErrorClass::Timeout),
        409 => call(ErrorClass::Conflict),
        413 => call(ErrorClass::TooLong),
        429 => call(ErrorClass::Rate),
        503 | 529 => call(ErrorClass::Overload),
        300..=399 => Verdict::new(ErrorClass::BadRequest, Scope::Model),
        // A failure inside a success that names no status.
        200..300 if said.any(&["overloaded", "unavailable"]) => call(ErrorClass::Overload),
        200..300 if said.any(&RATE) => call(ErrorClass::Rate),
        200..300 | 500.. => call(ErrorClass::Server),
        _ => call(ErrorClass::BadRequest),
    }
}

/// What the words of the body settle, whatever the status says.
fn by_words(status: u16, said: &Said) -> Option<Verdict> {
    let settled = |class, scope| Some(Verdict::new(class, scope));
    if matches!(status, 408 | 409) || status >= 500 {
        // Servers in trouble quote anything: only the codes of an empty account and a wrong key count.
        return if said.any(&[
            "insufficient_quota",
            "credit_balance_exhausted",
            "credit balance is too low",
        ]) {
            settled(ErrorClass::Quota, Scope::Provider)
        } else if said.any(&["invalid_api_key", "api_key_invalid", "incorrect api key"]) {
            settled(ErrorClass::Auth, Scope::Provider)
        } else {
            None
        };
    }
    if status == 429 && said.any(&["invalid_api_key", "api_key_invalid", "incorrect api key"]) {
        return settled(ErrorClass::Auth, Scope::Provider);
    }
    if matches!(status, 200..300 | 400 | 402 | 403 | 429)
        && let Some(verdict) = quota(status, said)
    {
        return Some(verdict);
    }
    if status == 429 {
        return settled(ErrorClass::Rate, Scope::Call);
    }
    if said.any(&REGION) {
        return settled(ErrorClass::Region, Scope::Provider);
    }
    if said.any(&NO_MODEL) {
        return settled(ErrorClass::NoModel, Scope::Model);
    }
    if status == 401 || said.any(&AUTH) {
        return settled(ErrorClass::Auth, Scope::Provider);
    }
    if matches!(status, 200..300 | 400 | 403 | 422) && said.any(&POLICY) {
        return settled(ErrorClass::Policy, Scope::Call);
    }
    if matches!(status, 400 | 413 | 422) && said.any(&TOO_LONG) {
        return settled(ErrorClass::TooLong, Scope::Call);
    }
    if matches!(status, 400 | 404 | 422) {
        let named = said.param.as_deref().and_then(parameter_named);
        let phrase = said.any(&REFUSED_PARAMETER);
        let parameter = named
            .or_else(|| {
                // Without a field for it, the message names the parameter in quotes or at its start.
                (phrase || said.any(&["invalid_request_error", "invalid_argument"]))
                    .then(|| parameter_quoted(&said.words))
                    .flatten()
            })
            .or_else(|| phrase.then(|| parameter_bare(&said.words)).flatten());
        if parameter == Some(Parameter::MaxOutputTokens) && said.any(&TOO_LARGE) {
            // The name is fine, the number is not: another call with a smaller one may be.
            return settled(ErrorClass::BadRequest, Scope::Call);
        }
        if parameter.is_some() || (phrase && status != 404) {
            return Some(Verdict {
                parameter,
                ..Verdict::new(ErrorClass::BadParameter, Scope::Model)
            });
        }
        if status != 404 && said.any(&["timeout_error", "deadline_exceeded"]) {
            return settled(ErrorClass::Server, Scope::Call);
        }
    }
    None
}

fn quota(status: u16, said: &Said) -> Option<Verdict> {
    if matches!(status, 403 | 429) && said.any(&PER_DAY) {
        let google = said.any(&["googleapis", "resource_exhausted"]);
        return Some(Verdict {
            resets: google.then_some("at midnight Pacific time"),
            ..Verdict::new(ErrorClass::Quota, Scope::Model)
        });
    }
    // Every 429 of Gemini speaks of quota; a minute is a pace, not an allowance.
    if status == 429 && said.any(&PER_MINUTE) && !said.any(&["insufficient_quota"]) {
        return Some(Verdict::new(ErrorClass::Rate, Scope::Call));
    }
    let names_quota = matches!(status, 403 | 429)
        && said.any(&["quota"])
        && !said.any(&["resource_exhausted", "resource has been exhausted"]);
    // A bad request may quote a question about credits; only the words of an empty account count there.
    let no_credit = match status {
        400 => said.any(&[
            "insufficient_quota",
            "credit balance",
            "spend limit",
            "spend_limit",
            "billing_error",
        ]),
        _ => said.any(&NO_CREDIT),
    };
    if status == 402 || no_credit || names_quota {
        return Some(Verdict::new(ErrorClass::Quota, Scope::Provider));
    }
    None
}

/// The wire names of each parameter, over all dialects, in lower case.
const WIRE_NAMES: [(Parameter, &[&str]); 5] = [
    (Parameter::Temperature, &["temperature"]),
    (Parameter::TopP, &["top_p", "topp"]),
    (Parameter::Seed, &["seed", "random_seed"]),
    (
        Parameter::MaxOutputTokens,
        &[
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "maxoutputtokens",
            "num_predict",
        ],
    ),
    (
        Parameter::ReasoningEffort,
        &[
            "reasoning_effort",
            "reasoningeffort",
            "reasoning",
            "effort",
            "thinking",
            "output_config",
            "thinkingconfig",
            "thinking_config",
            "thinking_level",
            "thinkinglevel",
            "thinking_budget",
            "thinkingbudget",
            "think",
        ],
    ),
];

/// The parameter of a field such as `temperature`, `reasoning.effort` or `generation_config.seed`.
fn parameter_named(field: &str) -> Option<Parameter> {
    WIRE_NAMES
        .iter()
        .find(|(_, names)| field.split('.').any(|part| names.contains(&part)))
        .map(|(parameter, _)| *parameter)
}

/// The parameter that a message names among its words.
fn parameter_bare(words: &str) -> Option<Parameter> {
    if words.contains("thinking level") || words.contains("thinking budget") {
        return Some(Parameter::ReasoningEffort);
    }
    words
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        // "Thinking" and "reasoning" alone may be part of a model's name or of prose.
        .filter(|word| !matches!(*word, "thinking" | "reasoning" | "think" | "effort"))
        .find_map(parameter_named)
}

/// The parameter that a message names: quoted, or before a colon at its start.
fn parameter_quoted(words: &str) -> Option<Parameter> {
    let start = words
        .split_once(':')
        .and_then(|(start, _)| parameter_named(start.trim()));
    start.or_else(|| {
        words
            .split(['\'', '"', '`'])
            .skip(1)
            .step_by(2)
            .find_map(parameter_named)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn verdict(status: u16, body: &Value) -> Verdict {
        let message = error_object(body)["message"].as_str().unwrap_or_default();
        classify(status, Some(body), message)
    }

    fn class(status: u16, body: &Value) -> ErrorClass {
        verdict(status, body).class
    }

    #[test]
    fn the_body_wins_over_the_status() {
        let error = |message: &str| json!({"error": {"message": message}});
        for (status, message, expected) in [
            (429, "slow down", ErrorClass::Rate),
            (
                429,
                "You exceeded your current quota, please check your plan",
                ErrorClass::Quota,
            ),
            (
                403,
                "User location is not supported for the API use",
                ErrorClass::Region,
            ),
            (
                403,
                "Your input was flagged: moderation",
                ErrorClass::Policy,
            ),
            (403, "Forbidden", ErrorClass::Auth),
            (402, "Payment required", ErrorClass::Quota),
            (
                400,
                "This model's maximum context length is 8192 tokens",
                ErrorClass::TooLong,
            ),
            (400, "messages must not be empty", ErrorClass::BadRequest),
            (500, "billing service unavailable", ErrorClass::Server),
            (504, "upstream timed out", ErrorClass::Server),
            (529, "Overloaded", ErrorClass::Overload),
            (409, "conflict", ErrorClass::Conflict),
            (410, "gone", ErrorClass::NoModel),
            (302, "", ErrorClass::BadRequest),
            (200, "upstream is rate limited", ErrorClass::Rate),
            (200, "Failed to generate", ErrorClass::Server),
            (403, "Key limit exceeded (daily limit)", ErrorClass::Quota),
            (
                429,
                "Limit 30000 tokens per min. Visit the account page to add credits",
                ErrorClass::Rate,
            ),
            (
                400,
                "bad input: a question about the monthly limit of credits",
                ErrorClass::BadRequest,
            ),
        ] {
            assert_eq!(
                class(status, &error(message)),
                expected,
                "{status} {message}"
            );
        }
        assert_eq!(
            class(
                200,
                &json!({"error": {"code": 502, "message": "bad gateway"}})
            ),
            ErrorClass::Server
        );
        assert_eq!(
            class(
                500,
                &json!({"error": {"code": "insufficient_quota", "message": "no"}})
            ),
            ErrorClass::Quota
        );
        let large = json!({"error": {"param": "max_tokens", "message": "max_tokens is too large: 32000. This model supports at most 16384 tokens."}});
        assert_eq!(
            (class(400, &large), verdict(400, &large).scope),
            (ErrorClass::BadRequest, Scope::Call)
        );
        assert_eq!(
            class(
                403,
                &json!({"error": {"code": "model_not_found", "message": "no access"}})
            ),
            ErrorClass::NoModel
        );
    }

    #[test]
    fn a_refused_parameter_is_named() {
        for (body, parameter) in [
            (
                json!({"error": {"message": "Unsupported value", "param": "temperature", "code": "unsupported_value"}}),
                Some(Parameter::Temperature),
            ),
            (
                json!({"error": {"message": "bad", "param": "reasoning.effort"}}),
                Some(Parameter::ReasoningEffort),
            ),
            (
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "`temperature` is deprecated for this model."}}),
                Some(Parameter::Temperature),
            ),
            (
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "temperature: range: 0..1"}}),
                Some(Parameter::Temperature),
            ),
            (
                json!([{"error": {"code": 400, "message": "Unknown name \"seed\": Cannot find field.", "status": "INVALID_ARGUMENT"}}]),
                Some(Parameter::Seed),
            ),
            (
                json!({"error": {"message": "Unrecognized request argument supplied: foo"}}),
                None,
            ),
            (
                json!({"error": {"message": "Model grok-4.20-0309-reasoning does not support parameter reasoningEffort."}}),
                Some(Parameter::ReasoningEffort),
            ),
            (
                json!({"error": {"code": 400, "message": "Thinking level is not supported for this model.", "status": "INVALID_ARGUMENT"}}),
                Some(Parameter::ReasoningEffort),
            ),
        ] {
            let verdict = verdict(400, &body);
            assert_eq!(verdict.class, ErrorClass::BadParameter, "{body}");
            assert_eq!(verdict.parameter, parameter, "{body}");
        }
    }

    #[test]
    fn a_minute_is_a_pace_and_a_day_is_an_allowance() {
        let gemini = |id: &str| json!({"error": {"message": "You exceeded your current quota", "status": "RESOURCE_EXHAUSTED", "details": [{"violations": [{"quotaId": id}]}]}});
        assert_eq!(
            class(429, &gemini("GenerateRequestsPerMinute")),
            ErrorClass::Rate
        );
        let day = verdict(429, &gemini("GenerateRequestsPerDayPerProject"));
        assert_eq!((day.class, day.scope), (ErrorClass::Quota, Scope::Model));
        assert_eq!(day.resets, Some("at midnight Pacific time"));
        assert_eq!(
            class(
                429,
                &json!({"error": {"message": "Resource has been exhausted (e.g. check quota).", "status": "RESOURCE_EXHAUSTED"}})
            ),
            ErrorClass::Rate
        );
    }
}
