//! Ollama's own chat endpoint.

use serde_json::{Value, json};

use super::tokens::{Reported, normalise};
use super::{Call, Dialect, WireRequest, add_extra, set, status_of, take, text, tools};
use crate::domain::{Finish, Reply};

/// `POST {base}/api/chat`. The context is set wide enough for the limit, and a prompt is never cut in silence.
#[derive(Debug, Clone, Copy)]
pub struct Ollama;

/// Room for the prompt beside the reply, in tokens.
const PROMPT_ROOM: u32 = 4096;

impl Dialect for Ollama {
    fn request(&self, call: &Call<'_>) -> WireRequest {
        let sampling = call.sampling;
        let mut options = json!({});
        set(&mut options, "temperature", sampling.temperature);
        set(&mut options, "top_p", sampling.top_p);
        set(&mut options, "seed", sampling.seed);
        set(&mut options, "num_predict", sampling.max_output_tokens);
        // Another context size makes the server load the model anew, so it must not follow the prompt.
        let context = sampling
            .max_output_tokens
            .map(|limit| limit.saturating_add(PROMPT_ROOM));
        set(&mut options, "num_ctx", context);
        let mut body = json!({
            "model": call.model_id,
            "messages": call.conversation,
            "stream": call.stream,
            "truncate": false,
            "options": options,
        });
        tools::as_chat(call.conversation, &mut body, true);
        if let Some(effort) = &sampling.reasoning_effort {
            body["think"] = match effort.as_str() {
                "none" => json!(false),
                "low" | "medium" | "high" => json!(effort),
                _ => json!(true),
            };
        }
        add_extra(&mut body, sampling.extra_body.as_ref());
        WireRequest {
            url: format!("{}/api/chat", call.base_url),
            body: body.to_string(),
        }
    }

    fn reply(&self, mut json: Value) -> Option<Reply> {
        if json["done"] != true {
            return None;
        }
        let mut message = take(&mut json, "/message");
        let Value::String(said) = take(&mut message, "/content") else {
            return None;
        };
        let word = text(&json["done_reason"]);
        let finish = match word.as_deref() {
            Some("stop") => Some(Finish::Stop),
            Some("length") => Some(Finish::Length),
            // The server only loaded the model; nothing was asked.
            Some("load") => return None,
            _ => None,
        };
        let (tokens, usage_mismatch) = normalise(Reported {
            input: json["prompt_eval_count"].as_u64(),
            completion: json["eval_count"].as_u64(),
            ..Reported::default()
        });
        Some(Reply {
            status: status_of(finish, &said),
            text: said,
            reasoning_text: text(&message["thinking"]),
            returned_model: text(&json["model"]),
            finish,
            finish_word: word,
            tokens,
            usage_mismatch,
            ..Reply::default()
        })
    }

    fn assemble(&self, events: Vec<Value>) -> Option<Value> {
        let mut said = String::new();
        let mut thought = String::new();
        let mut last = Value::Null;
        for event in events {
            said.push_str(event["message"]["content"].as_str().unwrap_or_default());
            thought.push_str(event["message"]["thinking"].as_str().unwrap_or_default());
            last = event;
        }
        if last["done"] != true {
            return None;
        }
        last["message"] = json!({"content": said});
        if !thought.is_empty() {
            last["message"]["thinking"] = json!(thought);
        }
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, Role, Sampling};
    use crate::model::LimitField;

    #[test]
    fn the_context_holds_prompt_and_reply_and_nothing_is_cut() {
        let mut conversation = Conversation::default();
        conversation.say(Role::User, "How high?");
        let sampling = Sampling {
            max_output_tokens: Some(2000),
            reasoning_effort: Some("none".to_owned()),
            ..Sampling::default()
        };
        let request = Ollama.request(&Call {
            base_url: "http://localhost:11434",
            model_id: "qwen3:8b",
            conversation: &conversation,
            sampling: &sampling,
            limit_field: LimitField::MaxTokens,
            stream: false,
        });
        assert_eq!(request.url, "http://localhost:11434/api/chat");
        assert_eq!(
            serde_json::from_str::<Value>(&request.body).unwrap(),
            json!({"model": "qwen3:8b", "messages": [{"role": "user", "content": "How high?"}], "stream": false,
                "truncate": false, "think": false, "options": {"num_predict": 2000, "num_ctx": 6096}})
        );
    }

    #[test]
    fn pieces_are_joined_and_half_a_stream_is_no_reply() {
        let events = vec![
            json!({"message": {"content": "", "thinking": "hm"}, "done": false}),
            json!({"message": {"content": "ESTIMATE: "}, "done": false}),
            json!({"message": {"content": "310"}, "done": false}),
            json!({"message": {"content": ""}, "done": true, "done_reason": "stop", "eval_count": 9}),
        ];
        assert!(Ollama.assemble(events[..3].to_vec()).is_none());
        let reply = Ollama.reply(Ollama.assemble(events).unwrap()).unwrap();
        assert_eq!(reply.text, "ESTIMATE: 310");
        assert_eq!(reply.reasoning_text.as_deref(), Some("hm"));
        assert_eq!(reply.tokens.input, None);
    }
}
