//! `OpenAI` chat completions, and the servers that copy them: xAI, `OpenRouter`, vLLM, llama.cpp, Ollama, Kaggle's proxy.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::batch::{BatchApi, OPENAI_CHAT};
use super::events::DONE;
use super::tokens::{Reported, normalise};
use super::{
    Call, Dialect, WireRequest, add_extra, has_error, joined_parts, set, status_of, take, text,
    tools,
};
use crate::domain::{Finish, Reply, Served, Usd};

/// `POST {base}/chat/completions`.
#[derive(Debug, Clone, Copy)]
pub struct OpenaiChat;

impl Dialect for OpenaiChat {
    fn request(&self, call: &Call<'_>) -> WireRequest {
        let sampling = call.sampling;
        let mut body = json!({"model": call.model_id, "messages": call.conversation});
        tools::as_chat(call.conversation, &mut body, false);
        set(&mut body, "temperature", sampling.temperature);
        set(&mut body, "top_p", sampling.top_p);
        set(&mut body, "seed", sampling.seed);
        let limit = call.limit_field.to_string();
        set(&mut body, &limit, sampling.max_output_tokens);
        set(
            &mut body,
            "reasoning_effort",
            sampling.reasoning_effort.clone(),
        );
        if call.stream {
            body["stream"] = json!(true);
            // Without this the token counts of a stream are lost.
            body["stream_options"] = json!({"include_usage": true});
        }
        add_extra(&mut body, sampling.extra_body.as_ref());
        WireRequest {
            url: format!("{}/chat/completions", call.base_url),
            body: body.to_string(),
        }
    }

    fn failure<'a>(&self, json: &'a Value) -> Option<&'a Value> {
        let choice = &json["choices"][0];
        if has_error(json) {
            Some(json)
        } else if has_error(choice) || choice["finish_reason"] == "error" {
            Some(choice)
        } else {
            None
        }
    }

    fn reply(&self, mut json: Value) -> Option<Reply> {
        let mut message = take(&mut json, "/choices/0/message");
        if !message.is_object() {
            return None;
        }
        // Some servers send an empty refusal beside every answer.
        let refused = message["refusal"]
            .as_str()
            .is_some_and(|refusal| !refusal.trim().is_empty());
        let content = match take(&mut message, "/content") {
            Value::String(content) => content,
            parts => joined_parts(&parts, &["text", "output_text"]).unwrap_or_default(),
        };
        let finish_word = text(&json["choices"][0]["finish_reason"]);
        let finish = finish_word.as_deref().and_then(finish);
        let finish = if refused {
            Some(Finish::Refusal)
        } else {
            finish
        };
        let usage = &json["usage"];
        let timings = &json["timings"];
        let (tokens, usage_mismatch) = normalise(Reported {
            input: usage["prompt_tokens"]
                .as_u64()
                .or_else(|| timings["prompt_n"].as_u64()),
            completion: usage["completion_tokens"]
                .as_u64()
                .or_else(|| timings["predicted_n"].as_u64()),
            reasoning: usage["completion_tokens_details"]["reasoning_tokens"].as_u64(),
            cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
            total: usage["total_tokens"].as_u64(),
        });
        Some(Reply {
            status: status_of(finish, &content),
            text: content,
            reasoning_text: text(&message["reasoning_content"])
                .or_else(|| text(&message["reasoning"])),
            returned_model: text(&json["model"]),
            finish,
            finish_word,
            tokens,
            usage_mismatch,
            served: Served {
                fingerprint: text(&json["system_fingerprint"]),
                service_tier: text(&json["service_tier"]),
                upstream: text(&json["provider"]),
            },
            cost_reported: cost_reported(usage),
            request_id: text(&json["id"]),
            ..Reply::default()
        })
    }

    fn assemble(&self, mut events: Vec<Value>) -> Option<Value> {
        // A whole answer that came twice is that answer.
        if events[0].pointer("/choices/0/message").is_some() {
            return Some(events.swap_remove(0));
        }
        let mut whole = json!({});
        let mut message = json!({"role": "assistant"});
        let mut finish = Value::Null;
        let done = events.last().is_some_and(|event| event == DONE);
        for mut event in events {
            let mut choice = take(&mut event, "/choices/0");
            for field in ["content", "reasoning_content", "reasoning", "refusal"] {
                if let Value::String(more) = take(&mut choice, &format!("/delta/{field}")) {
                    append(&mut message[field], more);
                }
            }
            keep(&mut finish, take(&mut choice, "/finish_reason"));
            for field in [
                "id",
                "model",
                "usage",
                "timings",
                "system_fingerprint",
                "service_tier",
                "provider",
            ] {
                keep(&mut whole[field], take(&mut event, &format!("/{field}")));
            }
        }
        // A stream without an end broke off, whatever it counted on the way.
        let ended = done || !finish.is_null();
        whole["choices"] = json!([{"message": message, "finish_reason": finish}]);
        ended.then_some(whole)
    }

    fn batch(&self) -> Option<&dyn BatchApi> {
        Some(&OPENAI_CHAT)
    }
}

/// Adds to a text without copying what is there.
fn append(place: &mut Value, more: String) {
    match place {
        Value::String(known) => known.push_str(&more),
        _ => *place = Value::String(more),
    }
}

/// Replaces a value, unless the new one is null.
fn keep(place: &mut Value, new: Value) {
    if !new.is_null() {
        *place = new;
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

/// Dollars as `OpenRouter` (`cost`, with the upstream's share beside it for own keys), xAI (`cost_in_usd_ticks`,
/// 1e-10 dollars) and Kaggle's proxy (`cost`, nanodollars) report them.
fn cost_reported(usage: &Value) -> Option<Usd> {
    let decimal = |value: &Value| {
        let digits = value.as_number()?.to_string();
        Decimal::from_scientific(&digits)
            .or_else(|_| digits.parse())
            .ok()
    };
    plausible(usage, decimal)
}

/// A cost that a call can have; anything else is a slip of the server and no figure.
fn plausible(usage: &Value, decimal: impl Fn(&Value) -> Option<Decimal>) -> Option<Usd> {
    const MOST: Decimal = Decimal::from_parts(1_000_000, 0, 0, false, 0);
    told(usage, decimal).filter(|cost| cost.0 >= Decimal::ZERO && cost.0 <= MOST)
}

fn told(usage: &Value, decimal: impl Fn(&Value) -> Option<Decimal>) -> Option<Usd> {
    if let Some(dollars) = decimal(&usage["cost"]) {
        let upstream = decimal(&usage["cost_details"]["upstream_inference_cost"])
            .filter(|_| usage["is_byok"] == true)
            .unwrap_or_default();
        return Some(Usd(dollars.checked_add(upstream)?.normalize()));
    }
    if let Some(ticks) = decimal(&usage["cost_in_usd_ticks"]) {
        return Some(Usd(ticks.checked_mul(Decimal::new(1, 10))?.normalize()));
    }
    let input = decimal(&usage["cost"]["input_tokens_cost_nanodollars"])?;
    let output = decimal(&usage["cost"]["output_tokens_cost_nanodollars"])?;
    let nano = input.checked_add(output)?;
    Some(Usd(nano.checked_mul(Decimal::new(1, 9))?.normalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, Role, Sampling, Status};
    use crate::model::LimitField;

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
            stream: false,
        });
        assert_eq!(request.url, "http://localhost/v1/chat/completions");
        assert_eq!(
            request.body,
            r#"{"max_completion_tokens":2000,"messages":[{"content":"How high?","role":"user"}],"model":"m"}"#
        );
    }

    #[test]
    fn statuses_follow_the_finish_word_and_the_text() {
        for (content, finish, status) in [
            (json!("ESTIMATE: 310"), "stop", Status::Ok),
            (json!(null), "stop", Status::Empty),
            (json!("ESTIM"), "length", Status::Truncated),
            (json!(null), "length", Status::Truncated),
            (json!(""), "content_filter", Status::Refused),
        ] {
            let body =
                json!({"choices": [{"message": {"content": content}, "finish_reason": finish}]});
            assert_eq!(OpenaiChat.reply(body).unwrap().status, status, "{finish}");
        }
    }

    #[test]
    fn costs_are_read_in_every_unit() {
        let dollars = |text: &str| Some(Usd(text.parse().unwrap()));
        for (usage, cost) in [
            (json!({"cost": 0.00012}), dollars("0.00012")),
            (json!({"cost": 1e-7}), dollars("0.0000001")),
            (
                json!({"cost": 0.01, "is_byok": true, "cost_details": {"upstream_inference_cost": 0.2}}),
                dollars("0.21"),
            ),
            (
                json!({"cost_in_usd_ticks": 12_345_678_900_u64}),
                dollars("1.23456789"),
            ),
            (
                json!({"cost": {"input_tokens_cost_nanodollars": 500, "output_tokens_cost_nanodollars": 1500}}),
                dollars("0.000002"),
            ),
            (json!({}), None),
            (json!({"cost": 1e300}), None),
            (json!({"cost": 7e27}), None),
            (json!({"cost": -1}), None),
        ] {
            assert_eq!(cost_reported(&usage), cost, "{usage}");
        }
    }

    #[test]
    fn a_stream_that_breaks_off_is_no_reply() {
        let delta = |text: &str| json!({"choices": [{"delta": {"content": text}}]});
        let mut counted = delta("IM");
        counted["usage"] = json!({"prompt_tokens": 3, "completion_tokens": 2});
        assert!(OpenaiChat.assemble(vec![delta("EST"), counted]).is_none());
    }
}
