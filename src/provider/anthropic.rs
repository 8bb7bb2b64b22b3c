//! Anthropic Messages.

use serde_json::{Value, json};

use super::batch::{ANTHROPIC, BatchApi};
use super::tokens::{Reported, normalise};
use super::{
    Call, Dialect, KeyHeader, WireRequest, add_extra, has_error, joined_parts, set, status_of,
    take, text, tools,
};
use crate::domain::{Finish, Parameter, Reply, Role, Served};

/// `POST {base}/messages`.
#[derive(Debug, Clone, Copy)]
pub struct AnthropicMessages;

/// The limit is required there; this one holds where nobody gives one.
const LIMIT: u32 = 8000;

impl Dialect for AnthropicMessages {
    fn request(&self, call: &Call<'_>) -> WireRequest {
        let sampling = call.sampling;
        let (system, messages): (Vec<_>, Vec<_>) = call
            .conversation
            .0
            .iter()
            .partition(|message| message.role == Role::System);
        let mut body = json!({
            "model": call.model_id,
            "max_tokens": sampling.max_output_tokens.unwrap_or(LIMIT),
            "messages": messages,
        });
        tools::as_anthropic(call.conversation, &mut body);
        if !system.is_empty() {
            let texts: Vec<&str> = system
                .iter()
                .map(|message| message.content.as_str())
                .collect();
            body["system"] = json!(texts.join("\n\n"));
        }
        set(&mut body, "temperature", sampling.temperature);
        set(&mut body, "top_p", sampling.top_p);
        match sampling.reasoning_effort.as_deref() {
            None => {}
            Some("none") => body["thinking"] = json!({"type": "disabled"}),
            Some(effort) => {
                body["thinking"] = json!({"type": "adaptive"});
                body["output_config"] = json!({"effort": effort});
            }
        }
        if call.stream {
            body["stream"] = json!(true);
        }
        add_extra(&mut body, sampling.extra_body.as_ref());
        WireRequest {
            url: format!("{}/messages", call.base_url),
            body: body.to_string(),
        }
    }

    fn failure<'a>(&self, json: &'a Value) -> Option<&'a Value> {
        (json["type"] == "error" || has_error(json)).then_some(json)
    }

    fn reply(&self, json: Value) -> Option<Reply> {
        let said = joined_parts(&json["content"], &["text"])?;
        let thought: String = json["content"]
            .as_array()?
            .iter()
            .filter_map(|part| part["thinking"].as_str())
            .collect();
        let word = text(&json["stop_reason"]);
        let finish = match word.as_deref() {
            Some("end_turn" | "stop_sequence") => Some(Finish::Stop),
            Some("max_tokens" | "model_context_window_exceeded") => Some(Finish::Length),
            Some("refusal") => Some(Finish::Refusal),
            Some("tool_use") => Some(Finish::ToolCalls),
            _ => None,
        };
        let usage = &json["usage"];
        // Cached tokens stand beside the others here, not among them.
        let read = usage["cache_read_input_tokens"].as_u64();
        let written = usage["cache_creation_input_tokens"].as_u64();
        let input = usage["input_tokens"].as_u64().map(|fresh| {
            fresh
                .saturating_add(read.unwrap_or(0))
                .saturating_add(written.unwrap_or(0))
        });
        let (tokens, usage_mismatch) = normalise(Reported {
            input,
            completion: usage["output_tokens"].as_u64(),
            reasoning: usage["output_tokens_details"]["thinking_tokens"].as_u64(),
            cached: read,
            total: None,
        });
        Some(Reply {
            status: status_of(finish, &said),
            text: said,
            reasoning_text: Some(thought).filter(|thought| !thought.is_empty()),
            returned_model: text(&json["model"]),
            finish,
            finish_word: word,
            tokens,
            usage_mismatch,
            served: Served {
                fingerprint: None,
                service_tier: text(&usage["service_tier"]),
                upstream: None,
            },
            request_id: text(&json["id"]),
            ..Reply::default()
        })
    }

    fn assemble(&self, events: Vec<Value>) -> Option<Value> {
        let mut whole = Value::Null;
        let mut parts: Vec<Value> = Vec::new();
        for mut event in events {
            match event["type"].as_str() {
                Some("message_start") => whole = take(&mut event, "/message"),
                Some("content_block_start") => parts.push(take(&mut event, "/content_block")),
                Some("content_block_delta") => {
                    let part = parts.last_mut()?;
                    for field in ["text", "thinking"] {
                        if let Some(more) = event["delta"][field].as_str()
                            && let Some(Value::String(known)) = part.get_mut(field)
                        {
                            known.push_str(more);
                        }
                    }
                }
                Some("message_delta") if whole.is_object() => {
                    whole["stop_reason"] = take(&mut event, "/delta/stop_reason");
                    let known = whole.get_mut("usage").and_then(Value::as_object_mut);
                    if let (Some(known), Value::Object(usage)) = (known, take(&mut event, "/usage"))
                    {
                        known.extend(usage);
                    }
                }
                _ => {}
            }
        }
        if whole["stop_reason"].is_null() {
            return None;
        }
        whole["content"] = json!(parts);
        Some(whole)
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader {
            name: "x-api-key",
            prefix: "",
        }
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn supports(&self, parameter: Parameter) -> bool {
        parameter != Parameter::Seed
    }

    fn batch(&self) -> Option<&dyn BatchApi> {
        Some(&ANTHROPIC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, Sampling, Tokens};
    use crate::model::LimitField;

    #[test]
    fn the_system_message_the_limit_and_the_effort_have_places_of_their_own() {
        let mut conversation = Conversation::default();
        conversation.say(Role::System, "Be brief.");
        conversation.say(Role::User, "How high?");
        let body = |effort: Option<&str>| -> Value {
            let sampling = Sampling {
                reasoning_effort: effort.map(str::to_owned),
                ..Sampling::default()
            };
            let request = AnthropicMessages.request(&Call {
                base_url: "http://localhost/v1",
                model_id: "m",
                conversation: &conversation,
                sampling: &sampling,
                limit_field: LimitField::MaxTokens,
                stream: false,
            });
            assert_eq!(request.url, "http://localhost/v1/messages");
            serde_json::from_str(&request.body).unwrap()
        };
        assert_eq!(
            body(None),
            json!({"model": "m", "max_tokens": 8000, "system": "Be brief.", "messages": [{"role": "user", "content": "How high?"}]})
        );
        assert_eq!(body(Some("none"))["thinking"], json!({"type": "disabled"}));
        assert_eq!(body(Some("low"))["output_config"], json!({"effort": "low"}));
    }

    #[test]
    fn a_stream_gives_the_same_reply_and_cached_tokens_are_added() {
        let events = vec![
            json!({"type": "message_start", "message": {"id": "x", "model": "m", "content": [], "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
            json!({"type": "ping"}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "ESTIMATE: "}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "310"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 20}}}),
            json!({"type": "message_stop"}),
        ];
        assert!(AnthropicMessages.assemble(events[..6].to_vec()).is_none());
        let reply = AnthropicMessages
            .reply(AnthropicMessages.assemble(events).unwrap())
            .unwrap();
        assert_eq!(reply.text, "ESTIMATE: 310");
        assert_eq!(reply.reasoning_text.as_deref(), Some("hm"));
        assert_eq!(reply.tokens.input, Some(Tokens(17)));
        assert_eq!(reply.tokens.cached, Some(Tokens(5)));
        assert_eq!(reply.tokens.output, Some(Tokens(30)));
        assert_eq!(reply.tokens.reasoning, Some(Tokens(20)));
    }
}
