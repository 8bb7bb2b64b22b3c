//! Given answers scored by servers: vLLM, llama.cpp, and the older completions endpoint, each played by a small stand-in
//! with known probabilities.

use serde_json::{Value, json};
use wiremock::{Request, ResponseTemplate};

use super::support::{Folder, Server};

/// Tokens of a text: runs of letters, every other character alone, a blank with what follows.
fn tokens(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for c in text.chars() {
        match found.last_mut() {
            Some(last) if last == " " => last.push(c),
            Some(last)
                if c.is_alphabetic() && last.chars().all(|l| l.is_alphabetic() || l == ' ') =>
            {
                last.push(c);
            }
            _ => found.push(c.to_string()),
        }
    }
    found
}

/// The log-probability of a token: the likelier the smaller its digits.
fn score(token: &str) -> f64 {
    let digits = token.trim().parse::<f64>();
    digits.map_or(-1.0, |digit| -0.5 - digit / 10.0)
}

fn id(token: &str) -> u64 {
    token
        .bytes()
        .fold(7, |id, byte| (id * 131 + u64::from(byte)) % 1_000_003)
}

/// What an answer after a prompt comes to.
fn wanted(target: &str) -> f64 {
    tokens(&format!(" {target}"))
        .iter()
        .map(|token| score(token))
        .sum()
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap()
}

fn prompts(request: &Request) -> Vec<String> {
    let prompts = body(request)["prompt"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    prompts
        .iter()
        .map(|prompt| prompt.as_str().unwrap().to_owned())
        .collect()
}

/// The older endpoint: echoes each prompt with its tokens, and one token more.
fn echo(request: &Request) -> ResponseTemplate {
    assert_eq!(body(request)["echo"], true);
    let mut choices: Vec<Value> = prompts(request)
        .iter()
        .enumerate()
        .map(|(index, prompt)| {
            let mut tokens = tokens(prompt);
            tokens.push(" more".to_owned());
            let mut offset = 0;
            let mut offsets = Vec::new();
            for token in &tokens {
                offsets.push(offset);
                offset += token.chars().count();
            }
            let mut scores: Vec<Value> = tokens.iter().map(|token| json!(score(token))).collect();
            scores[0] = Value::Null;
            json!({"index": index, "text": "", "finish_reason": "length",
                "logprobs": {"tokens": tokens, "token_logprobs": scores, "text_offset": offsets}})
        })
        .collect();
    // Servers may answer in any order.
    choices.reverse();
    ResponseTemplate::new(200).set_body_json(
        json!({"model": "tiny", "choices": choices, "usage": {"prompt_tokens": 900, "completion_tokens": 101}}),
    )
}

fn vllm(request: &Request) -> ResponseTemplate {
    assert_eq!(body(request)["prompt_logprobs"], 0);
    let choices: Vec<Value> = prompts(request)
        .iter()
        .enumerate()
        .map(|(index, prompt)| {
            let mut places: Vec<Value> = tokens(prompt)
                .iter()
                .map(|token| json!({id(token).to_string(): {"logprob": score(token), "rank": 1, "decoded_token": token}}))
                .collect();
            places[0] = Value::Null;
            json!({"index": index, "text": "", "finish_reason": "length", "prompt_logprobs": places})
        })
        .collect();
    ResponseTemplate::new(200).set_body_json(
        json!({"model": "tiny", "choices": choices, "usage": {"prompt_tokens": 900, "completion_tokens": 102}}),
    )
}

fn llama_cpp(request: &Request) -> ResponseTemplate {
    let asked = body(request);
    match request.url.path() {
        "/tokenize" => {
            let ids: Vec<u64> = tokens(asked["content"].as_str().unwrap())
                .iter()
                .map(|token| id(token))
                .collect();
            ResponseTemplate::new(200).set_body_json(json!({"tokens": ids}))
        }
        "/completion" => {
            let grammar = asked["grammar"].as_str().unwrap();
            let forced = grammar
                .split("<[")
                .skip(1)
                .map(|part| part.split("]>").next().unwrap());
            let forced: Vec<u64> = forced.map(|id| id.parse().unwrap()).collect();
            assert_eq!(asked["n_predict"], forced.len());
            assert_eq!(asked["post_sampling_probs"], false);
            let known: Vec<String> = (0..10)
                .flat_map(|digit| [digit.to_string(), format!(" {digit}")])
                .chain(["%".to_owned()])
                .collect();
            let said: Vec<Value> = forced
                .iter()
                .map(|wanted| {
                    let token = known.iter().find(|token| id(token) == *wanted).unwrap();
                    json!({"id": wanted, "token": token, "logprob": score(token), "top_logprobs": []})
                })
                .collect();
            ResponseTemplate::new(200).set_body_json(
                json!({"content": "", "model": "tiny", "tokens_evaluated": 9, "tokens_predicted": 3, "completion_probabilities": said}),
            )
        }
        other => panic!("{other} was asked"),
    }
}

fn models(server: &Server, dialect: &str) -> String {
    let provider = format!("providers:\n  - {{name: mine, dialect: {dialect}}}\n");
    provider + &server.models("").replace("openai_compatible", "mine")
}

const RUN: &str = "run --suite spinner --item V1-S --model served --quiet";

#[test]
fn three_kinds_of_server_give_the_same_scores() {
    for (dialect, answer) in [
        (
            "openai_completions",
            echo as fn(&Request) -> ResponseTemplate,
        ),
        ("vllm", vllm),
        ("llama_cpp", llama_cpp),
    ] {
        let server = Server::new(move |request, _| answer(request));
        let folder = Folder::new();
        folder.write("models.yaml", &models(&server, dialect));
        folder.wheel(RUN).expect(0);
        let lines = folder.lines("served", "spinner");
        assert_eq!(lines.len(), 24, "{dialect}");
        for line in &lines {
            let scored = &line["scored"];
            assert_eq!(
                (&scored["mode"], &scored["merged"]),
                (&json!("exact"), &json!(0)),
                "{dialect}"
            );
            for at in [0, 7, 42, 100] {
                let target = scored["targets"][at].as_str().unwrap();
                let found = scored["log_probabilities"][at].as_f64().unwrap();
                assert!(
                    (found - wanted(target)).abs() < 1e-9,
                    "{dialect}, {target}: {found}"
                );
            }
            // What the scores are made of is kept.
            let body: Value = serde_json::from_str(line["body"].as_str().unwrap()).unwrap();
            let tokens = body["tokens_of_answers"][42].as_array().unwrap();
            let sum: f64 = tokens.iter().map(|token| token[1].as_f64().unwrap()).sum();
            assert!((sum - wanted("42%")).abs() < 1e-9, "{dialect}: {tokens:?}");
            assert_eq!(line["returned_model"], "tiny");
            assert!(line["tokens"]["input"].as_u64().unwrap() > 0);
            assert!(line["text"].is_null() && line["status"] == "ok");
        }
        // The same prompts are not sent twice.
        let before = server.requests().len();
        folder.wheel(RUN).expect(0);
        assert_eq!(server.requests().len(), before);
    }
}

#[test]
fn who_gives_no_probabilities_is_told_before_any_call() {
    let server = Server::new(|_, _| panic!("nothing is asked"));
    let folder = Folder::new();
    folder.write("models.yaml", &models(&server, "openai_chat"));
    folder.wheel(RUN).expect(2).says(&[
        "probabilities of given answers",
        "openai_chat",
        "dialect vllm, llama_cpp or openai_completions",
    ]);
    folder.write("models.yaml", &models(&server, "vllm"));
    folder
        .wheel(&format!("{RUN} --mode paper"))
        .expect(2)
        .says(&["--mode paper"]);
    folder
        .wheel("run --task classic-grid --model served --batch --quiet")
        .expect(2);
    assert!(server.requests().is_empty());
}

#[test]
fn a_server_that_ignores_the_question_is_a_failure_with_a_reason() {
    let server = Server::new(|_, _| {
        ResponseTemplate::new(200).set_body_json(json!({"choices": [{"index": 0, "text": "57"}]}))
    });
    let folder = Folder::new();
    folder.write("models.yaml", &models(&server, "vllm"));
    folder
        .wheel("run --suite spinner --item V1-S --model served")
        .expect(3)
        .says(&["stopped", "no log-probabilities"]);
    // Nothing is asked a second time of a server that cannot.
    assert!(server.requests().len() <= 24, "{}", server.requests().len());
    let lines = folder.lines("served", "spinner");
    let refused = |line: &Value| {
        line["error"]["class"] == "bad_request"
            && line["body"]
                .as_str()
                .is_some_and(|body| body.contains("57"))
    };
    assert!(lines.iter().all(refused), "{lines:?}");
    assert!(
        lines[0]["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no log-probabilities")
    );
    folder
        .wheel("score --suite spinner")
        .expect(2)
        .says(&["no variation is scored"]);
}

#[test]
fn fixed_answers_of_a_task_are_scored_for_every_question() {
    let server = Server::new(|request, _| vllm(request));
    let folder = Folder::new();
    folder.write("models.yaml", &models(&server, "vllm"));
    folder.write(
        "tasks/probe.yaml",
        "name: probe\nconditions: [low, high]\ntargets: [1, 2, 3]\nmessages:\n  - user: \"{{ question }} ({{ anchor.plain }})\"\n  - ask: [estimate]\n",
    );
    folder
        .wheel("run --task probe --item everest-height --model served --quiet")
        .expect(0);
    let lines = folder.lines("served", "probe");
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["scored"]["targets"], json!(["1", "2", "3"]));
    for (mistake, says) in [
        ("targets: [1]", "fewer than two answers"),
        ("targets: {from: 3}", "does not say which answers"),
        ("targets: {from: 3, to: 1}", "`from` must lie below `to`"),
        ("targets: [1, 1, 2]", "stands here twice"),
        ("targets: {grid: 2}", "must be from 3 to 1001"),
    ] {
        let text = folder
            .read("tasks/probe.yaml")
            .replace("targets: [1, 2, 3]", mistake);
        let other = Folder::new();
        other.write("tasks/probe.yaml", &text);
        other
            .wheel("tasks check")
            .expect(2)
            .says(&["probe.yaml", says]);
    }
}

#[test]
fn the_budget_counts_the_prompt_once_for_each_answer() {
    let server = Server::new(|request, _| vllm(request));
    let folder = Folder::new();
    let price = "    price: {input: 10, output: 10, source: list, as_of: \"2026-01-01\"}\n";
    folder.write("models.yaml", &(models(&server, "vllm") + price));
    // A prompt of 200 bytes, 102 times, at 10 dollars a million: 20 cents and more, not a fifth of a cent.
    folder.wheel(&format!("{RUN} --max-cost 0.1")).expect(4);
    assert!(server.requests().is_empty());
    folder
        .wheel(&format!("{RUN} --dry-run"))
        .expect(0)
        .prints(&["answers are scored", "2,448"]);
}
