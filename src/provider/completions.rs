//! Servers that give the probabilities of tokens: vLLM, llama.cpp, and the older completions endpoint.

use serde_json::{Value, json};

use super::events::DONE;
use super::scoring::{Echo, ForcedTokens, PromptLogprobs, ScoringApi, bare_text};
use super::tokens::{Reported, normalise};
use super::{Call, Dialect, OpenaiChat, WireRequest, add_extra, set, status_of, take, text};
use crate::domain::{Finish, Parameter, Reply};

/// Chat completions, with answers scored in a way of the server's own.
#[derive(Debug, Clone, Copy)]
pub struct ScoringChat {
    scoring: ScoringServer,
}

#[derive(Debug, Clone, Copy)]
enum ScoringServer {
    Vllm,
    LlamaCpp,
}

impl ScoringChat {
    /// vLLM.
    pub const VLLM: Self = Self {
        scoring: ScoringServer::Vllm,
    };

    /// The server of llama.cpp.
    pub const LLAMA_CPP: Self = Self {
        scoring: ScoringServer::LlamaCpp,
    };
}

impl Dialect for ScoringChat {
    fn request(&self, call: &Call<'_>) -> WireRequest {
        OpenaiChat.request(call)
    }

    fn reply(&self, json: Value) -> Option<Reply> {
        OpenaiChat.reply(json)
    }

    fn assemble(&self, events: Vec<Value>) -> Option<Value> {
        OpenaiChat.assemble(events)
    }

    fn failure<'a>(&self, json: &'a Value) -> Option<&'a Value> {
        OpenaiChat.failure(json)
    }

    fn scoring(&self) -> Option<&dyn ScoringApi> {
        Some(match self.scoring {
            ScoringServer::Vllm => &PromptLogprobs,
            ScoringServer::LlamaCpp => &ForcedTokens,
        })
    }
}

/// `POST {base}/completions`: bare text that the model goes on from, as base models want it.
#[derive(Debug, Clone, Copy)]
pub struct OpenaiCompletions;

impl Dialect for OpenaiCompletions {
    fn request(&self, call: &Call<'_>) -> WireRequest {
        let sampling = call.sampling;
        let mut body = json!({"model": call.model_id, "prompt": bare_text(call.conversation)});
        set(&mut body, "temperature", sampling.temperature);
        set(&mut body, "top_p", sampling.top_p);
        set(&mut body, "seed", sampling.seed);
        set(&mut body, "max_tokens", sampling.max_output_tokens);
        if call.stream {
            body["stream"] = json!(true);
            body["stream_options"] = json!({"include_usage": true});
        }
        add_extra(&mut body, sampling.extra_body.as_ref());
        WireRequest {
            url: format!("{}/completions", call.base_url),
            body: body.to_string(),
        }
    }

    fn reply(&self, mut json: Value) -> Option<Reply> {
        let Value::String(said) = take(&mut json, "/choices/0/text") else {
            return None;
        };
        let finish_word = text(&json["choices"][0]["finish_reason"]);
        let finish = finish_word.as_deref().and_then(|word| match word {
            "stop" | "eos" => Some(Finish::Stop),
            "length" => Some(Finish::Length),
            "content_filter" => Some(Finish::Refusal),
            _ => None,
        });
        let usage = &json["usage"];
        let (tokens, usage_mismatch) = normalise(Reported {
            input: usage["prompt_tokens"].as_u64(),
            completion: usage["completion_tokens"].as_u64(),
            total: usage["total_tokens"].as_u64(),
            ..Reported::default()
        });
        Some(Reply {
            status: status_of(finish, &said),
            text: said,
            returned_model: text(&json["model"]),
            finish,
            finish_word,
            tokens,
            usage_mismatch,
            request_id: text(&json["id"]),
            ..Reply::default()
        })
    }

    fn assemble(&self, events: Vec<Value>) -> Option<Value> {
        let done = events.last().is_some_and(|event| event == DONE);
        let mut whole = json!({});
        let (mut said, mut finish) = (String::new(), Value::Null);
        for mut event in events {
            if let Value::String(more) = take(&mut event, "/choices/0/text") {
                said.push_str(&more);
            }
            match take(&mut event, "/choices/0/finish_reason") {
                Value::Null => {}
                word => finish = word,
            }
            for field in ["id", "model", "usage"] {
                match take(&mut event, &format!("/{field}")) {
                    Value::Null => {}
                    value => whole[field] = value,
                }
            }
        }
        if !done && finish.is_null() {
            return None;
        }
        whole["choices"] = json!([{"text": said, "finish_reason": finish}]);
        Some(whole)
    }

    fn supports(&self, parameter: Parameter) -> bool {
        parameter != Parameter::ReasoningEffort
    }

    fn scoring(&self) -> Option<&dyn ScoringApi> {
        Some(&Echo)
    }
}
