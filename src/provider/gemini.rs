//! Gemini generateContent.

use serde_json::{Value, json};

use super::tokens::{Reported, normalise};
use super::{Call, Dialect, KeyHeader, WireRequest, add_extra, set, status_of, take, text, tools};
use crate::domain::{Finish, Reply, Role};

/// `POST {base}/models/{model}:generateContent`.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

impl Dialect for Gemini {
    fn request(&self, call: &Call<'_>) -> WireRequest {
        let sampling = call.sampling;
        let mut body = json!({"contents": []});
        let mut contents = Vec::new();
        let mut system = Vec::new();
        for message in &call.conversation.0 {
            let parts = tools::gemini_parts(message);
            match message.role {
                Role::System => system.extend(parts),
                Role::User | Role::Tool | Role::Text => {
                    contents.push(json!({"role": "user", "parts": parts}));
                }
                Role::Assistant => contents.push(json!({"role": "model", "parts": parts})),
            }
        }
        body["contents"] = json!(contents);
        tools::as_gemini(call.conversation, &mut body);
        if !system.is_empty() {
            body["systemInstruction"] = json!({"parts": system});
        }
        let mut settings = json!({});
        set(&mut settings, "temperature", sampling.temperature);
        set(&mut settings, "topP", sampling.top_p);
        set(&mut settings, "seed", sampling.seed);
        set(&mut settings, "maxOutputTokens", sampling.max_output_tokens);
        if let Some(effort) = &sampling.reasoning_effort {
            settings["thinkingConfig"] = thinking(effort);
        }
        body["generationConfig"] = settings;
        add_extra(&mut body, sampling.extra_body.as_ref());
        let action = if call.stream {
            "streamGenerateContent?alt=sse"
        } else {
            "generateContent"
        };
        WireRequest {
            url: format!("{}/models/{}:{action}", call.base_url, call.model_id),
            body: body.to_string(),
        }
    }

    fn reply(&self, json: Value) -> Option<Reply> {
        let candidate = &json["candidates"][0];
        let blocked = text(&json["promptFeedback"]["blockReason"]);
        if !candidate.is_object() && blocked.is_none() {
            return None;
        }
        let parts = candidate["content"]["parts"].as_array();
        let joined = |thought: bool| -> String {
            parts
                .into_iter()
                .flatten()
                .filter(|part| (part["thought"] == true) == thought)
                .filter_map(|part| part["text"].as_str())
                .collect()
        };
        let said = joined(false);
        let thought = joined(true);
        let word = text(&candidate["finishReason"]).or(blocked.clone());
        let finish = match word.as_deref() {
            _ if blocked.is_some() => Some(Finish::Refusal),
            Some("STOP") => Some(Finish::Stop),
            Some("MAX_TOKENS") => Some(Finish::Length),
            Some(
                "SAFETY" | "RECITATION" | "PROHIBITED_CONTENT" | "BLOCKLIST" | "SPII" | "LANGUAGE"
                | "MODEL_ARMOR",
            ) => Some(Finish::Refusal),
            Some("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL") => Some(Finish::ToolCalls),
            _ => None,
        };
        let usage = &json["usageMetadata"];
        let thoughts = usage["thoughtsTokenCount"].as_u64();
        // Thoughts are counted beside the candidates.
        let completion = match (usage["candidatesTokenCount"].as_u64(), thoughts) {
            (None, None) => None,
            (candidates, thoughts) => Some(
                candidates
                    .unwrap_or(0)
                    .saturating_add(thoughts.unwrap_or(0)),
            ),
        };
        let tools = usage["toolUsePromptTokenCount"].as_u64().unwrap_or(0);
        let (tokens, usage_mismatch) = normalise(Reported {
            input: usage["promptTokenCount"]
                .as_u64()
                .map(|prompt| prompt.saturating_add(tools)),
            completion,
            reasoning: thoughts,
            cached: usage["cachedContentTokenCount"].as_u64(),
            total: usage["totalTokenCount"].as_u64(),
        });
        Some(Reply {
            status: status_of(finish, &said),
            text: said,
            reasoning_text: Some(thought).filter(|thought| !thought.is_empty()),
            returned_model: text(&json["modelVersion"]),
            finish,
            finish_word: word,
            tokens,
            usage_mismatch,
            request_id: text(&json["responseId"]),
            ..Reply::default()
        })
    }

    fn assemble(&self, events: Vec<Value>) -> Option<Value> {
        let mut parts = Vec::new();
        let mut whole = json!({});
        let mut ended = false;
        for mut event in events {
            if let Value::Array(more) = take(&mut event, "/candidates/0/content/parts") {
                parts.extend(more);
            }
            ended |= !event["candidates"][0]["finishReason"].is_null()
                || !event["promptFeedback"]["blockReason"].is_null();
            if let Value::Object(fields) = event {
                for (name, value) in fields {
                    whole[name] = value;
                }
            }
        }
        if let Some(Value::Object(candidate)) = whole.pointer_mut("/candidates/0") {
            candidate.insert("content".into(), json!({"parts": parts}));
        }
        ended.then_some(whole)
    }

    fn key_header(&self) -> KeyHeader {
        KeyHeader {
            name: "x-goog-api-key",
            prefix: "",
        }
    }
}

/// A number is a budget of thinking tokens (the 2.5 family), "none" is a budget of nothing, a word is a level.
fn thinking(effort: &str) -> Value {
    match effort.parse::<i64>() {
        Ok(budget) => json!({"thinkingBudget": budget}),
        Err(_) if effort == "none" => json!({"thinkingBudget": 0}),
        Err(_) => json!({"thinkingLevel": effort.to_uppercase()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, Sampling, Tokens};
    use crate::model::LimitField;

    #[test]
    fn a_conversation_becomes_contents_and_settings() {
        let mut conversation = Conversation::default();
        conversation.say(Role::System, "Be brief.");
        conversation.say(Role::User, "How high?");
        conversation.say(Role::Assistant, "ESTIMATE:");
        let sampling = Sampling {
            max_output_tokens: Some(8000),
            reasoning_effort: Some("low".to_owned()),
            seed: Some(7),
            ..Sampling::default()
        };
        let request = Gemini.request(&Call {
            base_url: "http://localhost/v1beta",
            model_id: "gemini-x",
            conversation: &conversation,
            sampling: &sampling,
            limit_field: LimitField::MaxTokens,
            stream: false,
        });
        assert_eq!(
            request.url,
            "http://localhost/v1beta/models/gemini-x:generateContent"
        );
        assert_eq!(
            serde_json::from_str::<Value>(&request.body).unwrap(),
            json!({
                "contents": [
                    {"role": "user", "parts": [{"text": "How high?"}]},
                    {"role": "model", "parts": [{"text": "ESTIMATE:"}]},
                ],
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "generationConfig": {"maxOutputTokens": 8000, "seed": 7, "thinkingConfig": {"thinkingLevel": "LOW"}},
            })
        );
        assert_eq!(thinking("none"), json!({"thinkingBudget": 0}));
        assert_eq!(thinking("1024"), json!({"thinkingBudget": 1024}));
    }

    #[test]
    fn thoughts_are_billed_and_never_read() {
        let events = vec![
            json!({"candidates": [{"content": {"parts": [{"text": "hm", "thought": true}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "ESTIMATE: "}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "310"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 18, "thoughtsTokenCount": 478, "totalTokenCount": 501}}),
        ];
        assert!(Gemini.assemble(events[..2].to_vec()).is_none());
        let reply = Gemini.reply(Gemini.assemble(events).unwrap()).unwrap();
        assert_eq!(reply.text, "ESTIMATE: 310");
        assert_eq!(reply.reasoning_text.as_deref(), Some("hm"));
        assert_eq!(reply.tokens.output, Some(Tokens(496)));
        assert_eq!(reply.tokens.reasoning, Some(Tokens(478)));
        assert!(!reply.usage_mismatch);
    }
}
