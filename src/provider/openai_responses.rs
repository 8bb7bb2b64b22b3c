//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::batch::{BatchApi, OPENAI_RESPONSES};
use super::tokens::{Reported, normalise};
use super::{
    Call, Dialect, WireRequest, add_extra, has_error, joined_parts, set, status_of, take, text,
    tools,
};
use crate::domain::{Finish, Parameter, Reply, Served, Status};

/// `POST {base}/responses`, nothing stored over there.
#[derive(Debug, Clone, Copy)]
pub struct OpenaiResponses;

impl Dialect for OpenaiResponses {
    fn request(&self, call: &Call<'_>) -> WireRequest {
        let sampling = call.sampling;
        let mut body = json!({"model": call.model_id, "input": call.conversation, "store": false});
        tools::as_responses(call.conversation, &mut body);
        set(&mut body, "temperature", sampling.temperature);
        set(&mut body, "top_p", sampling.top_p);
        set(&mut body, "max_output_tokens", sampling.max_output_tokens);
        if let Some(effort) = &sampling.reasoning_effort {
            body["reasoning"] = json!({"effort": effort});
        }
        if call.stream {
            body["stream"] = json!(true);
        }
        add_extra(&mut body, sampling.extra_body.as_ref());
        WireRequest {
            url: format!("{}/responses", call.base_url),
            body: body.to_string(),
        }
    }

    fn failure<'a>(&self, json: &'a Value) -> Option<&'a Value> {
        // An event of the kind `error` is its own object; a response that failed says so inside.
        if json["type"] == "error" || has_error(json) {
            Some(json)
        } else if json["response"]["error"].is_object() {
            Some(&json["response"])
        } else {
            None
        }
    }

    fn reply(&self, mut json: Value) -> Option<Reply> {
        let output = take(&mut json, "/output");
        let items = output.as_array()?;
        let mut said = String::new();
        let mut reasoning = String::new();
        let mut refused = false;
        for item in items {
            match item["type"].as_str() {
                Some("message") => {
                    said.push_str(&joined_parts(&item["content"], &["output_text"])?);
                    refused |= item["content"]
                        .as_array()
                        .is_some_and(|parts| parts.iter().any(|part| part["type"] == "refusal"));
                }
                Some("reasoning") => {
                    reasoning.push_str(
                        &joined_parts(&item["summary"], &["summary_text"]).unwrap_or_default(),
                    );
                }
                _ => {}
            }
        }
        let word = text(&json["incomplete_details"]["reason"]).or_else(|| text(&json["status"]));
        let finish = match word.as_deref() {
            _ if refused => Some(Finish::Refusal),
            Some("completed") => Some(Finish::Stop),
            Some("max_output_tokens") => Some(Finish::Length),
            Some("content_filter") => Some(Finish::Refusal),
            _ => None,
        };
        let usage = &json["usage"];
        let (tokens, usage_mismatch) = normalise(Reported {
            input: usage["input_tokens"].as_u64(),
            completion: usage["output_tokens"].as_u64(),
            reasoning: usage["output_tokens_details"]["reasoning_tokens"].as_u64(),
            cached: usage["input_tokens_details"]["cached_tokens"].as_u64(),
            total: usage["total_tokens"].as_u64(),
        });
        Some(Reply {
            status: match finish {
                // Cut off for a reason of the server's: what would have followed is unknown.
                None if json["status"] == "incomplete" => Status::Truncated,
                finish => status_of(finish, &said),
            },
            text: said,
            reasoning_text: Some(reasoning).filter(|reasoning| !reasoning.is_empty()),
            returned_model: text(&json["model"]),
            finish,
            finish_word: word,
            tokens,
            usage_mismatch,
            served: Served {
                fingerprint: None,
                service_tier: text(&json["service_tier"]),
                upstream: None,
            },
            request_id: text(&json["id"]),
            ..Reply::default()
        })
    }

    fn assemble(&self, events: Vec<Value>) -> Option<Value> {
        // The last event holds the whole response.
        let mut last = events.into_iter().rev().find(|event| {
            matches!(
                event["type"].as_str(),
                Some("response.completed" | "response.incomplete" | "response.failed")
            )
        })?;
        Some(take(&mut last, "/response"))
    }

    fn supports(&self, parameter: Parameter) -> bool {
        parameter != Parameter::Seed
    }

    fn batch(&self) -> Option<&dyn BatchApi> {
        Some(&OPENAI_RESPONSES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(status: &str, reason: &Value, content: &Value) -> Value {
        json!({"id": "r", "status": status, "incomplete_details": {"reason": reason}, "error": null, "model": "m",
            "output": [{"type": "reasoning", "summary": []}, {"type": "message", "content": content}],
            "usage": {"input_tokens": 31, "output_tokens": 120, "output_tokens_details": {"reasoning_tokens": 111}, "total_tokens": 151}})
    }

    #[test]
    fn text_finish_and_tokens_come_out() {
        let said = json!([{"type": "output_text", "text": "ESTIMATE: "}, {"type": "output_text", "text": "310"}]);
        let whole = body("completed", &json!(null), &said);
        assert!(OpenaiResponses.failure(&whole).is_none());
        let streamed = OpenaiResponses
            .assemble(vec![
                json!({"type": "response.created", "response": {}}),
                json!({"type": "response.completed", "response": whole.clone()}),
            ])
            .unwrap();
        assert_eq!(streamed, whole);
        let reply = OpenaiResponses.reply(whole).unwrap();
        assert_eq!(
            (reply.status, reply.text.as_str()),
            (Status::Ok, "ESTIMATE: 310")
        );
        let tokens = reply.tokens;
        assert_eq!(
            (tokens.input, tokens.output, tokens.reasoning),
            (
                Some(crate::domain::Tokens(31)),
                Some(crate::domain::Tokens(120)),
                Some(crate::domain::Tokens(111))
            )
        );
    }

    #[test]
    fn cut_and_refused_responses_are_told_apart() {
        for (status, reason, content, expected) in [
            (
                "incomplete",
                json!("max_output_tokens"),
                json!([]),
                Status::Truncated,
            ),
            ("incomplete", json!("steered"), json!([]), Status::Truncated),
            (
                "incomplete",
                json!("content_filter"),
                json!([]),
                Status::Refused,
            ),
            (
                "completed",
                json!(null),
                json!([{"type": "refusal", "refusal": "no"}]),
                Status::Refused,
            ),
            ("completed", json!(null), json!([]), Status::Empty),
        ] {
            let reply = OpenaiResponses
                .reply(body(status, &reason, &content))
                .unwrap();
            assert_eq!(reply.status, expected);
        }
        let failed =
            json!({"status": "failed", "error": {"code": "server_error", "message": "oops"}});
        assert!(OpenaiResponses.failure(&failed).is_some());
    }
}
