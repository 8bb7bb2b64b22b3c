//! Responses of providers against the cases of `tests/cases/provider_responses.yaml`.

use std::time::Duration;

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use wheel::ask::{Action, action};
use wheel::domain::{ErrorClass, Finish, Reply, Status};
use wheel::provider::{
    AnthropicMessages, Dialect, Gemini, Headers, Ollama, OpenaiChat, OpenaiResponses,
    ProviderError, Response, Scope, read,
};

const URL: &str = "https://api.example.com/base/chat";

#[derive(Deserialize)]
struct Cases {
    now: DateTime<Utc>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    api: String,
    response: Option<Sent>,
    transport: Option<String>,
    expect: Expect,
}

#[derive(Deserialize)]
struct Sent {
    status: u16,
    headers: std::collections::BTreeMap<String, String>,
    body: String,
}

#[derive(Deserialize)]
struct Expect {
    outcome: String,
    scope: Option<String>,
    text: Option<String>,
    finish: Option<String>,
    tokens: Option<Counts>,
    retry_after_s: Option<f64>,
    #[serde(default)]
    must_mention: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Counts {
    input: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
}

/// The cases' cap on a wait.
const MAX_WAIT: Duration = Duration::from_mins(2);

fn dialect(api: &str) -> &'static dyn Dialect {
    match api {
        "chat_completions" => &OpenaiChat,
        "messages" => &AnthropicMessages,
        "generate_content" => &Gemini,
        "ollama_chat" => &Ollama,
        other => panic!("no dialect for {other}"),
    }
}

fn outcome_of(answer: &Result<Reply, ProviderError>) -> (&'static str, Scope) {
    let error = match answer {
        Ok(reply) => {
            let outcome = match reply.status {
                Status::Ok => "ok",
                Status::Empty => "empty",
                Status::Truncated => "truncated",
                Status::Refused => "refusal",
                Status::Error => "error",
            };
            return (outcome, Scope::Call);
        }
        Err(error) => error,
    };
    let outcome = match action(error, MAX_WAIT) {
        Action::Retry | Action::RetryLast if error.retry_after.is_some() => "retry_after",
        Action::Retry | Action::RetryLast => "retry",
        Action::Refused => "refusal",
        // What mends one parameter is the same as a request that can never work, as the cases see it.
        Action::Drop(_) => "bad_request",
        Action::GiveUpSample | Action::StopModel | Action::StopProvider => match error.class {
            ErrorClass::Auth => "auth",
            ErrorClass::Quota => "quota_exhausted",
            ErrorClass::BadRequest | ErrorClass::NoModel | ErrorClass::BadParameter => {
                "bad_request"
            }
            other => panic!("stopped for {other}"),
        },
    };
    (outcome, error.scope)
}

fn check(case: &Case, now: DateTime<Utc>) {
    let id = &case.id;
    let answer = match (&case.response, &case.transport) {
        (Some(sent), _) => read(
            dialect(&case.api),
            Response {
                url: URL.to_owned(),
                status: sent.status,
                headers: Headers(sent.headers.clone().into_iter().collect()),
                body: sent.body.clone().into_bytes(),
                received: now,
            },
        ),
        // What the clocks make of a server that does not answer; `clocks.rs` has such servers.
        (None, Some(_)) => Err(ProviderError::local(ErrorClass::Timeout, "no whole reply")),
        (None, None) => panic!("{id}: nothing happens"),
    };
    let (outcome, scope) = outcome_of(&answer);
    assert_eq!(outcome, case.expect.outcome, "{id}: {answer:?}");
    let expected = case.expect.scope.as_deref().unwrap_or("call");
    assert_eq!(scope.to_string(), expected, "{id}: {answer:?}");
    match &answer {
        Ok(reply) => {
            let text = Some(reply.text.trim()).filter(|text| !text.is_empty());
            assert_eq!(text, case.expect.text.as_deref(), "{id}");
            let finish = reply.finish.map(|finish| match finish {
                Finish::Stop => "stop",
                Finish::Length => "length",
                Finish::Refusal => "refusal",
                Finish::ToolCalls => "tool_calls",
            });
            assert_eq!(finish, case.expect.finish.as_deref(), "{id}");
            let counts = Counts {
                input: reply.tokens.input.map(|tokens| tokens.0),
                output: reply.tokens.output.map(|tokens| tokens.0),
                reasoning: reply.tokens.reasoning.map(|tokens| tokens.0),
            };
            assert_eq!(Some(counts), case.expect.tokens, "{id}");
            assert!(!reply.usage_mismatch, "{id}");
        }
        Err(error) => {
            if let Some(seconds) = case.expect.retry_after_s {
                assert_eq!(
                    error.retry_after,
                    Some(Duration::from_secs_f64(seconds)),
                    "{id}"
                );
            }
            for word in &case.expect.must_mention {
                assert!(error.message.contains(word), "{id}: {}", error.message);
            }
            assert!(!error.message.contains("<html"), "{id}: {}", error.message);
            if error.message.contains("not the JSON") {
                assert!(error.message.contains(URL), "{id}: {}", error.message);
            }
        }
    }
}

#[test]
fn every_case_comes_out_as_stated() {
    let text = include_str!("../cases/provider_responses.yaml");
    let cases: Cases = serde_saphyr::from_str(text).unwrap();
    assert_eq!(cases.cases.len(), 43);
    for case in &cases.cases {
        check(case, cases.now);
    }
}

/// Any JSON, with the names that dialects look for.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "choices",
        "message",
        "delta",
        "content",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "cost",
        "error",
        "code",
        "type",
        "text",
        "output",
        "response",
        "status",
        "candidates",
        "parts",
        "usageMetadata",
        "done",
        "thinking",
        "stop_reason",
        "content_block",
        "details",
        "retryDelay",
        "metadata",
        "headers",
        "param",
    ]);
    let word = prop::sample::select(vec![
        "stop",
        "length",
        "text",
        "message",
        "message_start",
        "message_delta",
        "content_block_start",
        "content_block_delta",
        "response.completed",
        "error",
        "completed",
        "1e999",
        "",
        "é",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name.clone(), inner), 0..5).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_body_makes_a_dialect_panic(
        documents in prop::collection::vec(any_json(), 1..4),
        stream in any::<bool>(),
        status in prop::sample::select(vec![200_u16, 400, 403, 404, 429, 500]),
    ) {
        let body: String = documents
            .iter()
            .map(|json| if stream { format!("data: {json}\n\n") } else { format!("{json}\n") })
            .collect();
        for dialect in [
            &OpenaiChat as &dyn Dialect, &OpenaiResponses, &AnthropicMessages, &Gemini, &Ollama,
        ] {
            let response = Response {
                url: URL.to_owned(),
                status,
                headers: Headers::default(),
                body: body.clone().into_bytes(),
                received: DateTime::UNIX_EPOCH,
            };
            if let Err(error) = read(dialect, response) {
                let _ = action(&error, MAX_WAIT);
            }
        }
    }
}
