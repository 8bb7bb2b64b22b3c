//! Asking a server: what is sent, what is kept, and what happens when it misbehaves.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::support::{Folder, Server, completion, ok};

const CELL: &str = "--task ticket --item everest-height --quiet";

#[test]
fn a_reply_is_kept_whole_with_its_tokens_times_and_cost() {
    let server = Server::new(|_, _| {
        let mut body = completion("ESTIMATE: 8,849");
        body["usage"] = json!({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94}, "prompt_tokens_details": {"cached_tokens": 2}});
        body["choices"][0]["message"]["reasoning_content"] = json!("Everest is high.");
        ResponseTemplate::new(200)
            .set_body_json(body)
            .insert_header("x-request-id", "req-7")
    });
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &server.models("    temperature: 0.5\n    price: {input: 1, output: 10, cached_input: 0.5, source: list, as_of: \"2026-01-01\"}\n"),
    );
    folder
        .wheel(&format!("run --model served {CELL}"))
        .expect(0);
    let body = &server.bodies()[0];
    assert_eq!(body["model"], "m");
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body["max_tokens"], 8000);
    assert_eq!(
        body.as_object().unwrap().len(),
        4,
        "nothing else is sent: {body}"
    );
    let line = &folder.lines("served", "ticket")[0];
    assert_eq!(line["v"], 1);
    assert_eq!(line["status"], "ok");
    assert_eq!(line["text"], "ESTIMATE: 8,849");
    assert_eq!(line["reasoning_text"], "Everest is high.");
    assert_eq!(line["returned_model"], "served-model");
    assert_eq!(
        (&line["finish"], &line["finish_word"]),
        (&json!("stop"), &json!("stop"))
    );
    // The total tells that the reasoning stands beside the completion: 32 + 9 + 94 = 135.
    assert_eq!(
        line["tokens"],
        json!({"input": 32, "output": 103, "reasoning": 94, "cached": 2})
    );
    // 30 fresh and 2 cached tokens in, 103 out.
    let cost = line["cost_usd"]["computed"].as_f64().unwrap();
    assert!((cost - (30.0 + 1.0 + 1030.0) / 1e6).abs() < 1e-12, "{cost}");
    assert!(line["cost_usd"]["reported"].is_null());
    assert_eq!(line["request_id"], "req-7");
    assert_eq!(line["sent"]["model"], "m");
    assert_eq!(line["sent"]["temperature"], 0.5);
    assert_eq!(line["sent"]["max_output_tokens"], 8000);
    assert!(line["sent"]["top_p"].is_null());
    assert_eq!(line["sent"]["dropped"], json!([]));
    assert!(line["body"].as_str().unwrap().contains("reasoning_content"));
    assert!(line["clock"]["in_flight_ms"].is_u64());
    assert_eq!(line["conversation"][0]["role"], "user");
    assert!([3500.0, 22_000.0].contains(&line["anchor"].as_f64().unwrap()));
    let model = folder.wheel("score --json").expect(0).json()["models"][0].clone();
    assert_eq!(model["median_output_tokens"], 103.0);
    assert!((model["cost_usd"].as_f64().unwrap() - 2.0 * cost).abs() < 1e-12);
}

#[test]
fn transient_failures_are_retried_and_each_attempt_is_a_line() {
    let server = Server::new(|_, before| match before {
        0 => ResponseTemplate::new(500).set_body_string("oops"),
        1 => ResponseTemplate::new(200).set_body_raw("{\"choices\":[", "application/json"),
        _ => ok("ESTIMATE: 8849"),
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    folder
        .wheel(&format!("run --model served {CELL}"))
        .expect(0);
    let lines = folder.lines("served", "ticket");
    assert_eq!(lines.len(), 6);
    for condition in ["low", "high"] {
        let own: Vec<&Value> = lines
            .iter()
            .filter(|line| line["condition"] == condition)
            .collect();
        let statuses: Vec<&str> = own
            .iter()
            .map(|line| line["status"].as_str().unwrap())
            .collect();
        assert_eq!(statuses, ["error", "error", "ok"]);
        assert_eq!(own[0]["error"]["class"], "server");
        assert_eq!(own[0]["error"]["http_status"], 500);
        assert_eq!(own[1]["error"]["class"], "bad_body");
        assert_eq!(own[2]["attempt"], 3);
        assert!(own[0]["text"].is_null() && own[0]["tokens"]["output"].is_null());
    }
    let cell = folder.wheel("score --json").expect(0).json()["cells"][0].clone();
    assert_eq!(cell["losses"], json!({"not_asked": 78}));
}

#[test]
fn a_rate_limit_waits_for_retry_after() {
    let server = Server::new(|_, before| match before {
        0 => ResponseTemplate::new(429)
            .insert_header("retry-after", "1.5")
            .set_body_json(
                json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}),
            ),
        _ => ok("ESTIMATE: 8849"),
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    folder
        .wheel(&format!("run --model served {CELL}"))
        .expect(0);
    let lines = folder.lines("served", "ticket");
    let answered = lines.iter().find(|line| line["status"] == "ok").unwrap();
    assert!(
        answered["clock"]["waited_ms"].as_u64().unwrap() >= 1500,
        "{}",
        answered["clock"]
    );
}

#[test]
fn a_permanent_failure_is_not_retried_and_costs_only_its_samples() {
    let server = Server::new(|request, _| {
        if String::from_utf8_lossy(&request.body).contains("22000") {
            ResponseTemplate::new(400).set_body_json(json!({"error": {"message": "bad prompt"}}))
        } else {
            ok("ESTIMATE: 8849")
        }
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    folder
        .wheel(&format!("run --model served {CELL}"))
        .expect(3)
        .says(&["1 failed (bad_request)"]);
    assert_eq!(server.asked.total(), 2);
}

#[test]
fn a_wrong_key_stops_the_model_at_once_and_never_shows() {
    let server = Server::new(|request, _| {
        let key = request
            .headers
            .get("authorization")
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        ResponseTemplate::new(401).set_body_json(
            json!({"error": {"message": format!("Incorrect API key provided: {key}")}}),
        )
    });
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &server.models("    api_key_env: SERVED_KEY\n    concurrency: 1\n"),
    );
    let output = folder
        .command("run --model served --task classic")
        .env("SERVED_KEY", "secret-value-1234")
        .output()
        .unwrap();
    let run = super::support::Run::from(output)
        .expect(3)
        .says(&["served: stopped:", "79 not asked"]);
    assert_eq!(server.asked.total(), 1);
    assert_eq!(
        server.requests()[0].headers.get("authorization").unwrap(),
        "Bearer secret-value-1234"
    );
    let stored = folder.read("runs/served/classic.jsonl");
    for text in [&run.out, &run.err, &stored] {
        assert!(!text.contains("secret-value-1234"), "{text}");
    }
    assert!(stored.contains("[key]"));
}

#[test]
fn an_exhausted_quota_stops_the_model_and_exits_with_four() {
    let server = Server::new(|_, _| {
        ResponseTemplate::new(429).set_body_json(json!({"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}))
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models("    concurrency: 1\n"));
    folder
        .wheel("run --model served --task classic --quiet")
        .expect(4);
    assert_eq!(server.asked.total(), 1);
}

#[test]
fn a_server_that_hangs_costs_one_time_limit_per_attempt() {
    let server = Server::new(|_, before| match before {
        0 => ok("ESTIMATE: 1").set_delay(Duration::from_secs(30)),
        _ => ok("ESTIMATE: 8849"),
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    let began = Instant::now();
    folder
        .wheel(&format!("run --model served {CELL} --timeout 0.5"))
        .expect(0);
    assert!(began.elapsed() < Duration::from_secs(20));
    let lines = folder.lines("served", "ticket");
    assert!(lines.iter().any(|line| line["error"]["class"] == "timeout"));
    assert_eq!(
        lines.iter().filter(|line| line["status"] == "ok").count(),
        2
    );
}

#[test]
fn a_server_that_is_not_there_is_given_up_after_three_samples() {
    let folder = Folder::new();
    // Nothing listens on the discard port.
    let run = folder
        .wheel("run --model http://127.0.0.1:9/v1#m --task classic --quiet --concurrency 3")
        .expect(3);
    run.says(&["stopped: 3 samples in a row failed", "not asked"]);
}

#[test]
fn statuses_other_than_ok_are_answers_and_are_not_asked_again() {
    let server = Server::new(|request, _| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let mut reply = completion("");
        if body.contains("#3500") {
            reply["choices"][0]["finish_reason"] = json!("length");
        } else if body.contains("#22000") {
            reply["choices"][0]["message"] =
                json!({"role": "assistant", "content": null, "refusal": "I won't."});
        }
        ResponseTemplate::new(200).set_body_json(reply)
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    let words = "run --model served --task ticket --item everest-height --item human-bones --quiet";
    folder.wheel(words).expect(0);
    folder.wheel(words).expect(0);
    assert_eq!(server.asked.total(), 4);
    let losses = folder.wheel("score --json").expect(0).json()["cells"][0]["losses"].clone();
    assert_eq!(
        losses,
        json!({"truncated": 1, "refusal": 1, "empty": 2, "not_asked": 76})
    );
}

#[test]
fn requests_per_minute_are_kept() {
    let server = Server::steady("ESTIMATE: 8849", Duration::ZERO);
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &server.models("    requests_per_minute: 240\n"),
    );
    let began = Instant::now();
    folder
        .wheel("run --model served --task ticket --tier known --limit 4 --quiet")
        .expect(0);
    // Eight requests, one each quarter of a second after the first.
    assert!(
        began.elapsed() >= Duration::from_millis(7 * 250 - 50),
        "{:?}",
        began.elapsed()
    );
    assert_eq!(server.asked.total(), 8);
}

#[test]
fn concurrency_is_kept_and_used() {
    let server = Server::steady("ESTIMATE: 8849", Duration::from_millis(100));
    let folder = Folder::new();
    let model = server.model();
    let began = Instant::now();
    folder
        .wheel(&format!(
            "run --model {model} --task ticket --tier fermi --quiet --concurrency 40"
        ))
        .expect(0);
    let wide = began.elapsed();
    let began = Instant::now();
    folder
        .wheel(&format!(
            "run --model {model} --task random --tier fermi --quiet --concurrency 4"
        ))
        .expect(0);
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "40 calls, 4 at a time"
    );
    assert!(wide < Duration::from_secs(3), "{wide:?}");
}

#[test]
fn a_prefill_is_sent_recorded_and_read() {
    let server = Server::new(|request, _| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(
            body["messages"][1],
            json!({"role": "assistant", "content": "ESTIMATE:"})
        );
        ok(" 8,849")
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models("    prefill: true\n"));
    folder
        .wheel(&format!("run --model served {CELL}"))
        .expect(0);
    let line = &folder.lines("served", "ticket")[0];
    assert_eq!(line["text"], " 8,849");
    assert_eq!(line["sent"]["prefill"], "ESTIMATE:");
    folder.wheel("leaderboard").expect(0);
    assert!(folder.read("leaderboards/wheel.md").contains("servedᵖ"));
}

#[test]
fn a_server_that_echoes_the_key_in_an_answer_does_not_get_it_stored() {
    let server = Server::new(|request, _| {
        let key = request
            .headers
            .get("authorization")
            .unwrap()
            .to_str()
            .unwrap();
        let mut body = completion(&format!("ESTIMATE: 8849 {key}"));
        body["echo"] = json!({"authorization": key});
        ResponseTemplate::new(200).set_body_json(body)
    });
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &server.models("    api_key_env: SERVED_KEY\n"),
    );
    let output = folder
        .command(&format!("run --model served {CELL}"))
        .env("SERVED_KEY", "secret-value-1234\n")
        .output()
        .unwrap();
    super::support::Run::from(output).expect(0);
    let stored = folder.read("runs/served/ticket.jsonl");
    assert!(!stored.contains("secret-value-1234") && stored.contains("[key]"));
}

#[test]
fn an_empty_refusal_beside_an_answer_is_an_answer() {
    let server = Server::new(|_, _| {
        let mut body = completion("ESTIMATE: 8849");
        body["choices"][0]["message"]["refusal"] = json!("");
        ResponseTemplate::new(200).set_body_json(body)
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    folder
        .wheel(&format!("run --model served {CELL}"))
        .expect(0);
    assert_eq!(folder.lines("served", "ticket")[0]["status"], "ok");
}

#[test]
fn a_wait_of_nothing_still_backs_off_and_too_long_a_wait_stops_the_model() {
    let server = Server::new(|_, before| match before {
        0 => ResponseTemplate::new(429).insert_header("retry-after", "0"),
        _ => ok("ESTIMATE: 8849"),
    });
    let folder = Folder::new();
    folder.write("models.yaml", &server.models(""));
    folder
        .wheel(&format!("run --model served {CELL}"))
        .expect(0);
    let lines = folder.lines("served", "ticket");
    let answered = lines.iter().find(|line| line["status"] == "ok").unwrap();
    assert!(answered["clock"]["waited_ms"].as_u64().unwrap() >= 500);

    let server =
        Server::new(|_, _| ResponseTemplate::new(429).insert_header("retry-after", "7200"));
    let folder = Folder::new();
    folder.write("models.yaml", &server.models("    concurrency: 1\n"));
    folder
        .wheel("run --model served --task classic --quiet")
        .expect(4);
    assert_eq!(server.asked.total(), 1);
}
