//! Each dialect over a socket: path, key, body, reply; parameters that a server refuses; replies asked for again.

use serde_json::{Value, json};

use super::faulty::{Act, Asked, Faulty, json, response};
use super::support::{Folder, Run, completion};

const KEY: &str = "key-of-the-tests-9f31c7";

fn entry(server: &Faulty, dialect: &str, path: &str, more: &str) -> String {
    format!(
        "providers:\n  - {{name: p, dialect: {dialect}, base_url: \"{}{path}\", api_key_env: SERVED_KEY}}\nmodels:\n  - name: served\n    provider: p\n    model: m-1\n{more}",
        server.url()
    )
}

fn wheel(folder: &Folder, words: &str) -> Run {
    let output = folder
        .command(words)
        .env("SERVED_KEY", KEY)
        .output()
        .unwrap();
    Run::from(output)
}

/// Asks one prompt in a dialect; gives the request and the stored line.
fn one(dialect: &str, base: &str, more: &str, reply: Vec<u8>) -> (Asked, Value) {
    let kept = std::sync::Arc::new(std::sync::Mutex::new(None));
    let keeping = std::sync::Arc::clone(&kept);
    let server = Faulty::new(move |asked| {
        *keeping.lock().unwrap() = Some(Asked {
            path: asked.path.clone(),
            head: asked.head.to_lowercase(),
            body: asked.body.clone(),
            raw: Vec::new(),
            before: 0,
            number: 0,
        });
        Act::Write(reply.clone())
    });
    let folder = Folder::new();
    folder.write("models.yaml", &entry(&server, dialect, base, more));
    wheel(
        &folder,
        "run --model served --task baseline --item everest-height --quiet",
    )
    .expect(0);
    let line = folder.lines("served", "baseline").pop().unwrap();
    let asked = kept.lock().unwrap().take().unwrap();
    (asked, line)
}

fn events(events: &[Value]) -> Vec<u8> {
    let body: String = events
        .iter()
        .flat_map(|event| {
            [
                "event: x\ndata: ".to_owned(),
                event.to_string(),
                "\n\n".to_owned(),
            ]
        })
        .collect();
    response(
        200,
        &[("content-type", "text/event-stream")],
        body.as_bytes(),
    )
}

const SETTINGS: &str = "    temperature: 0.5\n    max_output_tokens: 900\n    reasoning_effort: low\n    extra_body: {top_k: 3, nested: {on: true, word: \"yes\"}}\n";

#[test]
fn openai_responses_are_asked_and_read() {
    let body = json!({"id": "r", "model": "m-1-2026", "status": "completed", "service_tier": "default",
        "output": [{"type": "reasoning"}, {"type": "message", "content": [{"type": "output_text", "text": "ESTIMATE: 8849"}]}],
        "usage": {"input_tokens": 31, "output_tokens": 120, "output_tokens_details": {"reasoning_tokens": 111}, "total_tokens": 151}});
    let (asked, line) = one("openai_responses", "/v1", SETTINGS, json(200, &body));
    assert_eq!(asked.path, "/v1/responses");
    assert!(asked.head.contains(&format!("authorization: bearer {KEY}")));
    let sent = &asked.body;
    assert_eq!(sent["max_output_tokens"], 900);
    assert_eq!(sent["reasoning"], json!({"effort": "low"}));
    assert_eq!(sent["store"], false);
    assert_eq!(sent["nested"], json!({"on": true, "word": "yes"}));
    assert_eq!(line["text"], "ESTIMATE: 8849");
    assert_eq!(
        line["tokens"],
        json!({"input": 31, "output": 120, "reasoning": 111, "cached": null})
    );
    assert_eq!(line["served"]["service_tier"], "default");
    assert_eq!(line["sent"]["extra_body"]["top_k"], 3);
    let stream = events(&[
        json!({"type": "response.created"}),
        json!({"type": "response.completed", "response": body}),
    ]);
    let (asked, line) = one("openai_responses", "/v1", "    stream: true\n", stream);
    assert_eq!(asked.body["stream"], true);
    assert_eq!(line["text"], "ESTIMATE: 8849");
}

#[test]
fn anthropic_messages_are_asked_and_read() {
    let body = json!({"id": "msg", "type": "message", "model": "m-1", "content": [{"type": "text", "text": "ESTIMATE: 8849"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 20, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 6, "output_tokens": 13}});
    let (asked, line) = one(
        "anthropic_messages",
        "/v1",
        &format!("{SETTINGS}    seed: 3\n"),
        json(200, &body),
    );
    assert_eq!(asked.path, "/v1/messages");
    assert!(asked.head.contains(&format!("x-api-key: {KEY}")));
    assert!(asked.head.contains("anthropic-version: 2023-06-01"));
    assert!(!asked.head.contains("authorization"));
    assert_eq!(asked.body["max_tokens"], 900);
    assert_eq!(asked.body["output_config"], json!({"effort": "low"}));
    // There is no seed in this dialect, and that shows.
    assert!(asked.body.get("seed").is_none());
    assert_eq!(line["sent"]["dropped"], json!(["seed"]));
    assert_eq!(
        line["tokens"],
        json!({"input": 31, "output": 13, "reasoning": null, "cached": 5})
    );
    let stream = events(&[
        json!({"type": "message_start", "message": {"model": "m-1", "content": [], "usage": {"input_tokens": 20}}}),
        json!({"type": "content_block_start", "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "ESTIMATE: 8849"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 13}}),
    ]);
    let (_, line) = one("anthropic_messages", "/v1", "    stream: true\n", stream);
    assert_eq!(line["text"], "ESTIMATE: 8849");
    assert_eq!(line["tokens"]["output"], 13);
}

#[test]
fn gemini_is_asked_and_read() {
    let body = json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "ESTIMATE: 8849"}]}, "finishReason": "STOP"}],
        "modelVersion": "m-1-001", "usageMetadata": {"promptTokenCount": 31, "candidatesTokenCount": 9, "thoughtsTokenCount": 280, "totalTokenCount": 320}});
    let (asked, line) = one("gemini", "/v1beta", SETTINGS, json(200, &body));
    assert_eq!(asked.path, "/v1beta/models/m-1:generateContent");
    assert!(asked.head.contains(&format!("x-goog-api-key: {KEY}")));
    assert_eq!(
        asked.body["generationConfig"],
        json!({"temperature": 0.5, "maxOutputTokens": 900, "thinkingConfig": {"thinkingLevel": "LOW"}})
    );
    assert_eq!(line["returned_model"], "m-1-001");
    assert_eq!(
        line["tokens"],
        json!({"input": 31, "output": 289, "reasoning": 280, "cached": null})
    );
    assert_eq!(line["usage_mismatch"], false);
    let (asked, line) = one("gemini", "/v1beta", "    stream: true\n", events(&[body]));
    assert_eq!(
        asked.path,
        "/v1beta/models/m-1:streamGenerateContent?alt=sse"
    );
    assert_eq!(line["text"], "ESTIMATE: 8849");
}

#[test]
fn ollama_is_asked_and_read() {
    let body = json!({"model": "m-1", "message": {"role": "assistant", "content": "ESTIMATE: 8849", "thinking": "hm"}, "done": true, "done_reason": "stop", "eval_count": 9});
    let (asked, line) = one("ollama", "", SETTINGS, json(200, &body));
    assert_eq!(asked.path, "/api/chat");
    assert_eq!(
        asked.body["options"],
        json!({"temperature": 0.5, "num_predict": 900, "num_ctx": 4996})
    );
    assert_eq!(asked.body["truncate"], false);
    assert_eq!(asked.body["think"], "low");
    assert_eq!(line["reasoning_text"], "hm");
    assert_eq!(
        line["tokens"],
        json!({"input": null, "output": 9, "reasoning": null, "cached": null})
    );
    let pieces = format!(
        "{}\n{body}\n",
        json!({"message": {"content": ""}, "done": false})
    );
    let (_, line) = one(
        "ollama",
        "",
        "    stream: true\n",
        response(
            200,
            &[("content-type", "application/x-ndjson")],
            pieces.as_bytes(),
        ),
    );
    assert_eq!(line["text"], "ESTIMATE: 8849");
    // A model that nobody fetched: the mend stands in the message.
    let server = Faulty::new(|_| Act::Write(json(404, &json!({"error": "model 'm-1' not found"}))));
    let folder = Folder::new();
    folder.write("models.yaml", &entry(&server, "ollama", "", ""));
    wheel(
        &folder,
        "run --model served --task baseline --quiet --concurrency 1",
    )
    .expect(3)
    .says(&["ollama pull m-1"]);
    assert_eq!(server.requests(), 1);
}

#[test]
fn a_refused_parameter_is_dropped_once_remembered_and_shown() {
    let server = Faulty::new(|asked| {
        let refuse = |name: &str| {
            Act::Write(json(
                400,
                &json!({"error": {"message": format!("Unsupported parameter: '{name}' is not supported with this model."), "param": name, "code": "unsupported_parameter"}}),
            ))
        };
        if !asked.body["max_tokens"].is_null() {
            refuse("max_tokens")
        } else if !asked.body["temperature"].is_null() {
            refuse("temperature")
        } else {
            assert_eq!(asked.body["max_completion_tokens"], 8000);
            Act::Write(json(200, &completion("less\nESTIMATE: 100")))
        }
    });
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &entry(&server, "openai_chat", "/v1", "    temperature: 0.5\n"),
    );
    wheel(&folder, "run --model served --task classic --concurrency 1")
        .expect(0)
        .says(&[
            "the server refuses max_tokens; max_completion_tokens is sent instead",
            "served: sent without temperature",
        ]);
    assert_eq!(server.requests(), 82, "each refusal costs one call");
    let last = folder.lines("served", "classic").pop().unwrap();
    assert_eq!(
        (&last["sent"]["dropped"], &last["sent"]["temperature"]),
        (&json!(["temperature"]), &Value::Null)
    );
    // The next run knows.
    wheel(
        &folder,
        "run --model served --task random --concurrency 1 --quiet",
    )
    .expect(0);
    assert_eq!(
        server.requests(),
        82 + 81,
        "only the name of the limit is learned anew"
    );
    folder.wheel("leaderboard").expect(0);
    let board = folder.read("leaderboards/wheel.md");
    assert!(
        board.contains("servedᵈ") && board.contains("| temperature |"),
        "{board}"
    );
    // One that nothing can mend stops the model at once and is named.
    let server = Faulty::new(|_| {
        Act::Write(json(
            400,
            &json!({"error": {"message": "Unrecognized request argument supplied: top_k", "type": "invalid_request_error"}}),
        ))
    });
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &entry(
            &server,
            "openai_chat",
            "/v1",
            "    extra_body: {top_k: 3}\n",
        ),
    );
    wheel(
        &folder,
        "run --model served --task classic --concurrency 1 --quiet",
    )
    .expect(3)
    .says(&["top_k"]);
    assert_eq!(server.requests(), 1);
}

#[test]
fn replies_are_asked_for_again_on_request_and_the_first_stays() {
    let server = Faulty::new(|asked| {
        let prompt = asked.body["messages"].to_string();
        let mut body = completion("ESTIMATE: 100");
        let limit = asked.body["max_tokens"].as_u64().unwrap();
        if prompt.contains("chessboard") && limit < 300 {
            body["choices"][0]["finish_reason"] = json!("length");
        } else if prompt.contains("Moon") && asked.before == 0 {
            body["choices"][0]["message"] =
                json!({"role": "assistant", "content": null, "refusal": "no"});
        } else if prompt.contains("Eiffel") && asked.before == 0 {
            body["choices"][0]["message"]["content"] = json!("");
        }
        Act::Write(json(200, &body))
    });
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &entry(&server, "openai_chat", "/v1", "    max_output_tokens: 20\n"),
    );
    let words = "run --model served --task baseline --tier known --limit 4 --quiet --concurrency 1";
    wheel(&folder, words).expect(0);
    wheel(&folder, words).expect(0);
    assert_eq!(server.requests(), 4, "each counts as an answer");
    wheel(&folder, &format!("{words} --again refused")).expect(0);
    assert_eq!(server.requests(), 5);
    wheel(&folder, &format!("{words} --again truncated,empty")).expect(0);
    assert_eq!(server.requests(), 7);
    let limits = |folder: &Folder| -> Vec<u64> {
        folder
            .lines("served", "baseline")
            .iter()
            .filter(|line| line["item"] == "chess-squares")
            .map(|line| line["sent"]["max_output_tokens"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(limits(&folder), [20, 80]);
    wheel(&folder, &format!("{words} --again truncated")).expect(0);
    assert_eq!(limits(&folder), [20, 80, 320]);
    // Nothing is left to ask again, and plain runs ask nothing.
    wheel(&folder, &format!("{words} --again truncated,empty,refused")).expect(0);
    wheel(&folder, words).expect(0);
    assert_eq!(server.requests(), 8);
    let lines = folder.lines("served", "baseline");
    assert_eq!(lines.len(), 8, "the first replies stay");
    let losses = folder.wheel("score --json").expect(0).json()["cells"][0]["losses"].clone();
    assert_eq!(losses, json!({"not_asked": 36}), "the whole replies count");
}

#[test]
fn a_check_says_what_each_model_can_do() {
    let server = Faulty::new(|asked| {
        if asked.path.starts_with("/auth") {
            return Act::Write(json(
                401,
                &json!({"error": {"message": format!("bad key {KEY}"), "code": "invalid_api_key"}}),
            ));
        }
        if !asked.body["temperature"].is_null() {
            return Act::Write(json(
                400,
                &json!({"error": {"message": "no", "param": "temperature", "code": "unsupported_value"}}),
            ));
        }
        let body = completion("ok").to_string();
        Act::Write(response(
            200,
            &[
                ("x-ratelimit-limit-requests", "3000"),
                ("x-ratelimit-remaining-requests", "2999"),
                ("x-ratelimit-reset-requests", "20ms"),
            ],
            body.as_bytes(),
        ))
    });
    let folder = Folder::new();
    folder.write("models.yaml", &format!(
        "models:\n  - {{name: good, provider: openai_compatible, model: m, base_url: \"{0}/v1\", api_key_env: SERVED_KEY, temperature: 1, price: {{input: 1, output: 10, source: list, as_of: today}}}}\n  - {{name: bad, provider: openai_compatible, model: m, base_url: \"{0}/auth\", api_key_env: SERVED_KEY}}\n  - {{name: away, provider: openai_compatible, model: m, base_url: \"http://127.0.0.1:9/v1\"}}\n  - {{name: keyless, provider: openai_compatible, model: m, base_url: \"{0}/v1\", api_key_env: NOT_SET}}\n",
        server.url()
    ));
    let run = wheel(&folder, "models check good bad away keyless").expect(3);
    assert!(!run.out.contains(KEY) && !run.err.contains(KEY));
    for words in [
        "accepted",
        "served-model",
        "31 in, 9 out (0 hidden), $0.0001",
        "3000 requests",
        "temperature",
        "refused",
        "NOT_SET",
    ] {
        assert!(run.out.contains(words), "{words}: {}", run.out);
    }
    let rows = wheel(&folder, "models check good bad away --json")
        .expect(3)
        .json();
    assert_eq!(rows[0]["dropped"], json!(["temperature"]));
    assert_eq!(rows[0]["tokens"]["output"], 9);
    assert_eq!(
        (&rows[1]["reachable"], &rows[1]["key_accepted"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        (&rows[2]["reachable"], &rows[2]["key_accepted"]),
        (&json!(false), &Value::Null)
    );
    wheel(&folder, "models check good").expect(0);
    assert!(
        !folder.path().join("runs").exists(),
        "a check stores nothing"
    );
}

#[test]
fn a_refused_key_stops_every_model_with_it_and_no_other() {
    let server = Faulty::new(|asked| {
        if asked.path.starts_with("/v1") {
            Act::Write(json(
                401,
                &json!({"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}),
            ))
        } else {
            Act::Write(json(200, &completion("ESTIMATE: 100")))
        }
    });
    let folder = Folder::new();
    let mut models = "models:\n".to_owned();
    for (name, path) in [("a", "v1"), ("b", "v1"), ("c", "v2")] {
        models.push_str(&format!(
            "  - {{name: {name}, provider: openai_compatible, model: m, base_url: \"{}/{path}\", api_key_env: SERVED_KEY, concurrency: 1}}\n",
            server.url()
        ));
    }
    folder.write("models.yaml", &models);
    wheel(&folder, "run --model a --model b --model c --task baseline")
        .expect(3)
        .says(&["check the key in SERVED_KEY"]);
    assert_eq!(folder.lines("c", "baseline").len(), 40);
    // Each of the two may have had one call in flight.
    assert!(server.requests() <= 42, "{}", server.requests());
}

#[test]
fn a_key_is_hidden_in_whatever_form_it_comes_back() {
    let key = "sk-test/Secret+Key==123";
    let forms = [
        key.replace('/', "\\/"),
        key.chars().fold(String::new(), |form, c| {
            form + &format!("\\u{:04x}", u32::from(c))
        }),
        key.to_lowercase(),
        "sk-test%2FSecret%2BKey%3D%3D123".to_owned(),
    ];
    let server = Faulty::new(move |asked| {
        let form = &forms[asked.number % forms.len()];
        let body = if asked.number < 4 {
            format!("{{\"error\":{{\"message\":\"no luck with {form}\"}}}}")
        } else {
            completion("ESTIMATE: 100 FORM")
                .to_string()
                .replace("FORM", form)
        };
        let status = if asked.number < 4 { 400 } else { 200 };
        Act::Write(response(
            status,
            &[("x-request-id", "sk-test/Secret+Key==123")],
            body.as_bytes(),
        ))
    });
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &entry(&server, "openai_chat", "/v1", "    concurrency: 1\n"),
    );
    let output = folder
        .command("run --model served --task baseline --limit 12")
        .env("SERVED_KEY", key)
        .output()
        .unwrap();
    let run = Run::from(output);
    let stored = folder.read("runs/served/baseline.jsonl");
    for text in [&run.out, &run.err, &stored] {
        let lower = text.to_lowercase();
        for form in ["secret+key", "secret%2bkey", "\\u0053\\u0065", "\\\\u0053"] {
            assert!(!lower.contains(form), "{form}: {text}");
        }
    }
    assert!(stored.contains("[key]"));
    // Split over the pieces of a stream, it is whole only in the text.
    let piece = |text: &str| {
        format!(
            "data: {}\n\n",
            json!({"choices": [{"delta": {"content": text}}]})
        )
    };
    let body = format!(
        "{}{}data: [DONE]\n\n",
        piece("ESTIMATE: 1 sk-test/Sec"),
        piece("ret+Key==123")
    );
    let server = Faulty::new(move |_| {
        Act::Write(response(
            200,
            &[("content-type", "text/event-stream")],
            body.as_bytes(),
        ))
    });
    let folder = Folder::new();
    folder.write("models.yaml", &entry(&server, "openai_chat", "/v1", ""));
    folder
        .command("run --model served --task baseline --limit 1 --quiet")
        .env("SERVED_KEY", key)
        .output()
        .unwrap();
    let stored = folder.read("runs/served/baseline.jsonl");
    assert!(
        stored.contains("ESTIMATE: 1 [key]") && !stored.contains("ret+Key"),
        "{stored}"
    );
}
