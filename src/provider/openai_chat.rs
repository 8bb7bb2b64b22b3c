//! `OpenAI` chat completions, and the servers that copy them.

use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use super::tokens::{Reported, normalise};
use super::{Call, Dialect, Headers, ProviderError, WireRequest};
use crate::domain::{Finish, Reply, Status, Usd};

/// `POST {base}/chat/completions`.
#[derive(Debug, Clone, Copy)]
pub struct OpenaiChat;

impl Dialect for OpenaiChat {
    fn request(&self, call: &Call<'_>) -> WireRequest {
        let sampling = call.sampling;
        let mut body = Map::new();
        body.insert("model".into(), json!(call.model_id));
        body.insert("messages".into(), json!(call.conversation));
        if let Some(temperature) = sampling.temperature {
            body.insert("temperature".into(), json!(temperature));
        }
        if let Some(top_p) = sampling.top_p {
            body.insert("top_p".into(), json!(top_p));
        }
        if let Some(seed) = sampling.seed {
            body.insert("seed".into(), json!(seed));
        }
        if let Some(limit) = sampling.max_output_tokens {
            body.insert(call.limit_field.to_string(), json!(limit));
        }
        if let Some(effort) = &sampling.reasoning_effort {
            body.insert("reasoning_effort".into(), json!(effort));
        }
        WireRequest {
            url: format!("{}/chat/completions", call.base_url),
            body: Value::Object(body).to_string(),
        }
    }

    fn reply(&self, status: u16, headers: &Headers, body: &[u8]) -> Result<Reply, ProviderError> {
        if !(200..300).contains(&status) {
            return Err(ProviderError::from_response(status, headers, body));
        }
        let Ok(json) = serde_json::from_slice::<Value>(body) else {
            return Err(ProviderError::bad_body(status, headers, body));
        };
        let choice = &json["choices"][0];
        let failed = |value: &Value| !value.is_null();
        if failed(&json["error"]) || failed(&choice["error"]) || choice["finish_reason"] == "error"
        {
            let error = if failed(&json["error"]) {
                &json
            } else {
                choice
            };
            return Err(ProviderError::from_response(
                status,
                headers,
                error.to_string().as_bytes(),
            ));
        }
        let message = &choice["message"];
        if !message.is_object() {
            return Err(ProviderError::bad_body(status, headers, body));
        }
        // Some servers send an empty refusal beside every answer.
        let refusal = text_of(&message["refusal"]).filter(|text| !text.trim().is_empty());
        let text = text_of(&message["content"])
            .filter(|text| !text.is_empty())
            .or(refusal.clone())
            .unwrap_or_default();
        let finish_word = text_of(&choice["finish_reason"]);
        let finish = finish_word.as_deref().and_then(finish);
        let status = match finish {
            _ if refusal.is_some() => Status::Refused,
            Some(Finish::Refusal) => Status::Refused,
            Some(Finish::Length) => Status::Truncated,
            _ if text.trim().is_empty() => Status::Empty,
            _ => Status::Ok,
        };
        let usage = &json["usage"];
        let count = |value: &Value| value.as_u64();
        Ok(Reply {
            status,
            text,
            reasoning_text: text_of(&message["reasoning_content"])
                .or_else(|| text_of(&message["reasoning"])),
            returned_model: text_of(&json["model"]),
            finish,
            finish_word,
            tokens: normalise(Reported {
                input: count(&usage["prompt_tokens"]),
                completion: count(&usage["completion_tokens"]),
                reasoning: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
                cached: count(&usage["prompt_tokens_details"]["cached_tokens"]),
                total: count(&usage["total_tokens"]),
            }),
            cost_reported: cost_reported(usage),
            request_id: headers
                .get("x-request-id")
                .map(str::to_owned)
                .or_else(|| text_of(&json["id"])),
            body: Some(String::from_utf8_lossy(body).into_owned()),
        })
    }
}

/// A text, or the text parts of a list of parts; `None` for null and for anything else.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(
            parts
                .iter()
                .filter_map(|part| part["text"].as_str())
                .collect(),
        ),
        _ => None,
    }
}

fn finish(word: &str) -> Option<Finish> {
    match word {
        "stop" | "eos" | "end_turn" => Some(Finish::Stop),
        "length" | "max_tokens" | "model_length" => Some(Finish::Length),
        "content_filter" | "refusal" => Some(Finish::Refusal),
        "tool_calls" | "function_call" => Some(Finish::ToolCalls),
        _ => None,
    }
}

/// Dollars as `OpenRouter` (`cost`), xAI (`cost_in_usd_ticks`, 1e-10 dollars) and Kaggle's proxy (`cost`, nanodollars)
/// report them.
fn cost_reported(usage: &Value) -> Option<Usd> {
    let decimal = |value: &Value| {
        value
            .as_number()
            .and_then(|number| number.to_string().parse::<Decimal>().ok())
    };
    if let Some(dollars) = decimal(&usage["cost"]) {
        return Some(Usd(dollars));
    }
    if let Some(ticks) = decimal(&usage["cost_in_usd_ticks"]) {
        return Some(Usd((ticks * Decimal::new(1, 10)).normalize()));
    }
    let input = decimal(&usage["cost"]["input_tokens_cost_nanodollars"])?;
    let output = decimal(&usage["cost"]["output_tokens_cost_nanodollars"])?;
    Some(Usd(((input + output) * Decimal::new(1, 9)).normalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, ErrorClass, Role, Sampling};
    use crate::model::LimitField;

    fn read(body: &str) -> Result<Reply, ProviderError> {
        OpenaiChat.reply(200, &Headers::default(), body.as_bytes())
    }

    #[test]
    fn only_what_is_asked_for_is_sent() {
        let mut conversation = Conversation::default();
        conversation.say(Role::User, "How high?");
        let sampling = Sampling {
            max_output_tokens: Some(2000),
            ..Sampling::default()
        };
        let request = OpenaiChat.request(&Call {
            base_url: "http://localhost/v1",
            model_id: "m",
            conversation: &conversation,
            sampling: &sampling,
            limit_field: LimitField::MaxCompletionTokens,
        });
        assert_eq!(request.url, "http://localhost/v1/chat/completions");
        assert_eq!(
            request.body,
            r#"{"max_completion_tokens":2000,"messages":[{"content":"How high?","role":"user"}],"model":"m"}"#
        );
    }

    #[test]
    fn statuses_follow_the_finish_word_and_the_text() {
        let body = |content: &str, finish: &str| {
            format!(
                r#"{{"choices":[{{"message":{{"content":{content}}},"finish_reason":"{finish}"}}]}}"#
            )
        };
        for (content, finish, status) in [
            (r#""ESTIMATE: 310""#, "stop", Status::Ok),
            ("null", "stop", Status::Empty),
            (r#""ESTIM""#, "length", Status::Truncated),
            ("null", "length", Status::Truncated),
            (r#""""#, "content_filter", Status::Refused),
        ] {
            assert_eq!(
                read(&body(content, finish)).unwrap().status,
                status,
                "{finish}"
            );
        }
        let parts = read(&body(
            r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
            "stop",
        ));
        assert_eq!(parts.unwrap().text, "ab");
    }

    #[test]
    fn missing_usage_is_unknown_and_an_error_inside_a_200_is_an_error() {
        let reply = read(r#"{"choices":[{"message":{"content":"x"}}]}"#).unwrap();
        assert_eq!(reply.tokens, crate::domain::TokenCounts::default());
        let error =
            read(r#"{"error":{"message":"upstream is rate limited","code":429}}"#).unwrap_err();
        assert_eq!(error.class, ErrorClass::Rate);
        assert_eq!(
            read("{\"choices\":").unwrap_err().class,
            ErrorClass::BadBody
        );
    }
}
