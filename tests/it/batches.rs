//! Batches: handed over, written down, waited for, collected; never paid for twice.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::faulty::{Act, Asked, Faulty, json, response};
use super::support::{Folder, Run, completion};

/// How a service ends an entry; given the entry and how many batches came before its own.
type End = dyn Fn(&Value, usize) -> Value + Send + Sync;

#[derive(Default)]
struct State {
    uploads: Vec<Vec<Value>>,
    /// Mark, entries.
    batches: Vec<(Value, Vec<Value>)>,
    /// Looks at a batch before it has ended.
    looks: usize,
    single_calls: usize,
    /// Whether the answer to a new batch gets lost.
    silent: bool,
    /// Whether batches never end.
    stuck: bool,
}

struct Service {
    server: Faulty,
    state: Arc<Mutex<State>>,
}

fn now() -> i64 {
    i64::try_from(
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap()
            .as_secs(),
    )
    .unwrap()
}

fn lines(values: &[Value]) -> Act {
    let text: String = values
        .iter()
        .map(|value| value.to_string() + "\n")
        .collect();
    Act::Write(response(200, &[], text.as_bytes()))
}

/// An `OpenAI`-like service.
fn openai(end: Box<End>) -> Service {
    let state: Arc<Mutex<State>> = Arc::default();
    let shared = Arc::clone(&state);
    let server = Faulty::new(move |asked| openai_act(asked, &mut shared.lock().unwrap(), &end));
    Service { server, state }
}

fn openai_act(asked: &Asked, state: &mut State, end: &End) -> Act {
    let describe = |state: &State, n: usize| {
        let ended = !state.stuck && state.looks >= 2;
        json!({"id": format!("batch-{n}"), "status": if ended { "completed" } else { "in_progress" },
            "request_counts": {"total": state.batches[n].1.len(), "completed": 0, "failed": 0},
            "metadata": {"wheel": state.batches[n].0}, "created_at": now(),
            "output_file_id": if ended { json!(format!("out-{n}")) } else { Value::Null },
            "error_file_id": if ended { json!(format!("err-{n}")) } else { Value::Null }})
    };
    let path = asked.path.as_str();
    if path == "/v1/files" {
        let text = String::from_utf8_lossy(&asked.raw).into_owned();
        assert!(text.contains("name=\"purpose\"") && text.contains("batch"));
        let entries = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        state
            .uploads
            .push(entries.filter(Value::is_object).collect());
        return Act::Write(json(
            200,
            &json!({"id": format!("file-{}", state.uploads.len() - 1)}),
        ));
    }
    if path == "/v1/batches" {
        assert_eq!(asked.body["endpoint"], "/v1/chat/completions");
        let file: usize = asked.body["input_file_id"].as_str().unwrap()[5..]
            .parse()
            .unwrap();
        let entries = state.uploads[file].clone();
        state
            .batches
            .push((asked.body["metadata"]["wheel"].clone(), entries));
        state.looks = 0;
        if state.silent {
            return Act::Stall(Vec::new());
        }
        return Act::Write(json(200, &describe(state, state.batches.len() - 1)));
    }
    if path.starts_with("/v1/batches?") {
        let all: Vec<Value> = (0..state.batches.len())
            .map(|n| describe(state, n))
            .collect();
        return Act::Write(json(200, &json!({"data": all})));
    }
    if let Some(n) = path.strip_prefix("/v1/batches/batch-") {
        state.looks += 1;
        return Act::Write(json(200, &describe(state, n.parse().unwrap())));
    }
    if let Some((kind, n)) = path
        .strip_prefix("/v1/files/")
        .and_then(|rest| rest.strip_suffix("/content")?.split_once('-'))
    {
        let n: usize = n.parse().unwrap();
        // In no order: the last comes first.
        let ends: Vec<Value> = state.batches[n]
            .1
            .iter()
            .rev()
            .map(|entry| end(entry, n))
            .collect();
        let good = |end: &Value| end["response"]["status_code"] == 200;
        return lines(
            &ends
                .into_iter()
                .filter(|end| good(end) == (kind == "out"))
                .collect::<Vec<_>>(),
        );
    }
    state.single_calls += 1;
    Act::Write(json(200, &completion("less\nESTIMATE: 100")))
}

fn good(entry: &Value) -> Value {
    json!({"custom_id": entry["custom_id"], "response": {"status_code": 200, "body": completion("less\nESTIMATE: 100")}, "error": null})
}

fn folder(service: &Service, dialect: &str, more: &str) -> Folder {
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &format!(
            "providers:\n  - {{name: p, dialect: {dialect}, base_url: \"{}/v1\", api_key_env: SERVED_KEY}}\nmodels:\n  - {{name: served, provider: p, model: m, price: {{input: 1, output: 10, source: list, as_of: today}}{more}}}\n",
            service.server.url()
        ),
    );
    folder
}

fn wheel(folder: &Folder, words: &str) -> Run {
    Run::from(command(folder, words).output().unwrap())
}

fn command(folder: &Folder, words: &str) -> std::process::Command {
    let mut command = folder.command(words);
    command.env("SERVED_KEY", "key-of-the-tests-9f31c7");
    command
}

/// Each sample once, and how many lines failed.
fn check(folder: &Folder, samples: usize) -> usize {
    let lines = folder.lines("served", "classic");
    let answered: Vec<&Value> = lines
        .iter()
        .filter(|line| line["status"] != "error")
        .collect();
    let keys: std::collections::HashSet<String> = answered
        .iter()
        .map(|line| line["key"].to_string())
        .collect();
    assert_eq!((answered.len(), keys.len()), (samples, samples));
    lines.len() - answered.len()
}

const WORDS: &str = "run --model served --task classic --batch --poll 0.05";

#[test]
fn a_run_by_batch_asks_everything_and_what_failed_goes_into_the_next_batch() {
    let service = openai(Box::new(|entry, round| {
        let id = &entry["custom_id"];
        let prompt = entry["body"]["messages"].to_string();
        match round {
            0 if prompt.contains("chessboard") => {
                json!({"custom_id": id, "response": {"status_code": 500, "body": {"error": {"message": "oops"}}}})
            }
            0 if prompt.contains("Eiffel") => {
                json!({"custom_id": id, "response": null, "error": {"code": "batch_expired", "message": "not in time"}})
            }
            // One that was never asked for is passed over.
            _ if prompt.contains("Moon") && round == 0 => good(&json!({"custom_id": "stranger"})),
            _ => good(entry),
        }
    }));
    let folder = folder(&service, "openai_chat", "");
    let run = wheel(&folder, WORDS).expect(0).says(&[
        "batch batch-0 holds 80 samples",
        "batch batch-1 holds 6 samples",
    ]);
    assert!(run.err.contains("this run cost $"));
    assert_eq!(check(&folder, 80), 6, "failures are lines too");
    let state = service.state.lock().unwrap();
    assert_eq!((state.batches.len(), state.single_calls), (2, 0));
    let ids: std::collections::HashSet<String> = state.batches[0]
        .1
        .iter()
        .map(|entry| entry["custom_id"].to_string())
        .collect();
    assert_eq!(ids.len(), 80);
    assert!(ids.iter().all(|id| id.len() <= 66));
    let line = folder
        .lines("served", "classic")
        .into_iter()
        .find(|line| line["status"] == "ok")
        .unwrap();
    assert_eq!(line["batch"], "batch-0");
    // Half of 31 tokens in at one dollar a million and 9 out at ten.
    assert_eq!(line["cost_usd"]["computed"].as_f64().unwrap(), 0.000_060_5);
    drop(state);
    wheel(&folder, WORDS)
        .expect(0)
        .says(&["0 samples to ask, 80 already"]);
}

/// Waits until the log of batches holds a word.
fn until_logged(folder: &Folder, word: &str) {
    let began = Instant::now();
    let path = folder.path().join("runs/served/batches.log");
    while !std::fs::read_to_string(&path)
        .unwrap_or_default()
        .contains(word)
    {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "no {word} in the log"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_the_batch_running_and_a_later_run_collects_it() {
    let service = openai(Box::new(|entry, _| good(entry)));
    service.state.lock().unwrap().stuck = true;
    let folder = folder(&service, "openai_chat", "");
    let child = command(&folder, WORDS)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until_logged(&folder, "submitted");
    std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    Run::from(child.wait_with_output().unwrap())
        .expect(130)
        .says(&["batches run on", "80 samples sit in batches that run on"]);
    // Another run neither asks for them nor hands them over again.
    wheel(&folder, "run --model served --task classic")
        .expect(3)
        .says(&["0 samples to ask", "80 in batches"]);
    {
        let mut state = service.state.lock().unwrap();
        assert_eq!((state.batches.len(), state.single_calls), (1, 0));
        state.stuck = false;
        state.looks = 2;
    }
    // Even a plain run of another task collects first.
    wheel(&folder, "run --model served --task baseline --quiet").expect(0);
    check(&folder, 80);
    let state = service.state.lock().unwrap();
    assert_eq!((state.batches.len(), state.single_calls), (1, 40));
}

#[cfg(unix)]
#[test]
fn a_kill_before_the_id_is_known_loses_no_batch() {
    let service = openai(Box::new(|entry, _| good(entry)));
    service.state.lock().unwrap().silent = true;
    let folder = folder(&service, "openai_chat", "");
    let mut child = command(&folder, WORDS)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while service.state.lock().unwrap().batches.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.read("runs/served/batches.log").contains("submitted"));
    service.state.lock().unwrap().silent = false;
    wheel(&folder, WORDS).expect(0);
    check(&folder, 80);
    assert_eq!(
        service.state.lock().unwrap().batches.len(),
        1,
        "found by its mark, not made again"
    );
    // One that never reached the service is made anew.
    let folder = self::folder(&service, "openai_chat", "");
    folder.write(
        "runs/served/batches.log",
        "{\"event\":\"intended\",\"tag\":\"0000000000000000\",\"at\":1,\"entries\":[]}\n",
    );
    wheel(&folder, WORDS).expect(0);
    check(&folder, 80);
    assert_eq!(service.state.lock().unwrap().batches.len(), 2);
}

#[test]
fn a_refused_parameter_and_a_budget_hold_for_batches_too() {
    let service = openai(Box::new(|entry, _| {
        if entry["body"]["temperature"].is_null() {
            good(entry)
        } else {
            json!({"custom_id": entry["custom_id"], "response": {"status_code": 400, "body": {"error": {"message": "no", "param": "temperature", "code": "unsupported_value"}}}})
        }
    }));
    let folder = folder(&service, "openai_chat", ", temperature: 1");
    wheel(&folder, WORDS).expect(0);
    check(&folder, 80);
    let last = folder.lines("served", "classic").pop().unwrap();
    assert_eq!(last["sent"]["dropped"], json!(["temperature"]));
    assert_eq!(service.state.lock().unwrap().batches.len(), 2);
    // A batched call costs at most half of 8,000 tokens at ten dollars: a dollar is room for 24 at a time.
    let folder = self::folder(&service, "openai_chat", "");
    wheel(&folder, &format!("{WORDS} --max-cost 1")).expect(0);
    check(&folder, 80);
    let sizes: Vec<usize> = service.state.lock().unwrap().batches[2..]
        .iter()
        .map(|(_, entries)| entries.len())
        .collect();
    assert_eq!(sizes, [24, 24, 24, 8]);
    let folder = self::folder(&service, "openai_chat", "");
    wheel(&folder, &format!("{WORDS} --max-cost 0.03"))
        .expect(4)
        .says(&["80 not asked, stopped: the budget leaves no room"]);
    assert_eq!(service.state.lock().unwrap().batches.len(), 6);
}

#[test]
fn a_budget_holds_over_the_batches_of_several_models() {
    let service = openai(Box::new(|entry, _| {
        let mut body = completion("less\nESTIMATE: 100");
        body["usage"] =
            json!({"prompt_tokens": 31, "completion_tokens": 8000, "total_tokens": 8031});
        json!({"custom_id": entry["custom_id"], "response": {"status_code": 200, "body": body}})
    }));
    let folder = Folder::new();
    let mut models = format!(
        "providers:\n  - {{name: p, dialect: openai_chat, base_url: \"{}/v1\", api_key_env: SERVED_KEY}}\nmodels:\n",
        service.server.url()
    );
    for name in ["a", "b", "c"] {
        models.push_str(&format!("  - {{name: {name}, provider: p, model: m, price: {{input: 1, output: 10, source: list, as_of: today}}}}\n"));
    }
    folder.write("models.yaml", &models);
    // Six entries of at most four cents each, for three models; a dollar and a half would be room for all but one model.
    wheel(&folder, "run --model a --model b --model c --task classic --limit 3 --batch --poll 0.05 --max-cost 0.25")
        .expect(4)
        .says(&["the budget leaves no room"]);
    let entries: usize = service
        .state
        .lock()
        .unwrap()
        .batches
        .iter()
        .map(|(_, entries)| entries.len())
        .sum();
    assert_eq!(entries, 6, "six entries cost 24 cents");
}

#[cfg(unix)]
#[test]
fn a_kill_while_results_are_stored_stores_none_of_them_twice() {
    let service = openai(Box::new(|entry, _| {
        if entry["body"]["messages"].to_string().contains("Moon") {
            json!({"custom_id": entry["custom_id"], "response": {"status_code": 500, "body": {"error": {"message": "oops"}}}})
        } else {
            good(entry)
        }
    }));
    let folder = folder(&service, "openai_chat", "");
    // The log says nothing of the end, as after a kill between the results and their mark.
    wheel(&folder, &format!("{WORDS} --limit 3")).expect(3);
    let log = folder.read("runs/served/batches.log");
    let kept: Vec<&str> = log
        .lines()
        .filter(|line| !line.contains("collected"))
        .collect();
    let before = folder.lines("served", "classic").len();
    folder.write("runs/served/batches.log", &format!("{}\n", kept.join("\n")));
    wheel(
        &folder,
        "run --model served --task baseline --limit 1 --quiet",
    )
    .expect(0);
    assert_eq!(folder.lines("served", "classic").len(), before);
}

#[test]
fn results_that_are_not_whole_are_fetched_again_and_a_gateway_that_gives_up_makes_no_second_batch()
{
    let fetched = Arc::new(Mutex::new(0));
    let counting = Arc::clone(&fetched);
    let state: Arc<Mutex<State>> = Arc::default();
    let shared = Arc::clone(&state);
    let end: Box<End> = Box::new(|entry, _| good(entry));
    let server = Faulty::new(move |asked| {
        let state = &mut *shared.lock().unwrap();
        let act = openai_act(asked, state, &end);
        match (asked.path.as_str(), act) {
            // The batch is made, and the answer is that of a gateway.
            ("/v1/batches", _) => Act::Write(response(
                504,
                &[("content-type", "text/html")],
                b"<html>timeout</html>",
            )),
            (path, Act::Write(bytes)) if path.ends_with("/content") && path.contains("out-") => {
                *counting.lock().unwrap() += 1;
                if *counting.lock().unwrap() == 1 {
                    Act::Write(response(
                        200,
                        &[("content-type", "text/html")],
                        b"<html>later</html>",
                    ))
                } else {
                    Act::Write(bytes)
                }
            }
            // The service counts what is done.
            (path, Act::Write(_)) if path.starts_with("/v1/batches/batch-") => {
                let n: usize = path["/v1/batches/batch-".len()..].parse().unwrap();
                let entries = state.batches[n].1.len();
                Act::Write(json(
                    200,
                    &json!({"id": format!("batch-{n}"), "status": "completed", "request_counts": {"total": entries, "completed": entries, "failed": 0}, "output_file_id": format!("out-{n}")}),
                ))
            }
            (_, act) => act,
        }
    });
    let service = Service { server, state };
    let folder = folder(&service, "openai_chat", "");
    wheel(&folder, &format!("{WORDS} --limit 3")).expect(3);
    wheel(&folder, &format!("{WORDS} --limit 3"))
        .expect(0)
        .says(&["are not whole"]);
    check(&folder, 6);
    assert_eq!(service.state.lock().unwrap().batches.len(), 1);
    assert_eq!(*fetched.lock().unwrap(), 2);
}

#[test]
fn a_store_with_a_batch_under_way_is_not_merged() {
    let service = openai(Box::new(|entry, _| good(entry)));
    let folder = folder(&service, "openai_chat", "");
    folder.write(
        "part/served/batches.log",
        "{\"event\":\"intended\",\"tag\":\"0000000000000000\",\"at\":1,\"entries\":[]}\n",
    );
    folder
        .wheel("merge part")
        .expect(1)
        .says(&["part/served/batches.log: a batch is under way"]);
}

/// An Anthropic-like service, which keeps no mark.
fn anthropic() -> Service {
    let state: Arc<Mutex<State>> = Arc::default();
    let shared = Arc::clone(&state);
    let server = Faulty::new(move |asked| {
        let state = &mut *shared.lock().unwrap();
        let describe = |state: &State, n: usize| {
            let ended = state.looks >= 1;
            json!({"id": format!("msgbatch_{n}"), "type": "message_batch", "processing_status": if ended { "ended" } else { "in_progress" },
                "created_at": chrono::Utc::now().to_rfc3339(),
                "request_counts": {"processing": if ended { 0 } else { state.batches[n].1.len() }, "succeeded": if ended { state.batches[n].1.len() - if n == 0 { 4 } else { 0 } } else { 0 }, "errored": 0, "canceled": 0, "expired": 0},
                "results_url": "https://elsewhere.example.com/results"})
        };
        assert!(
            asked
                .head
                .to_lowercase()
                .contains("x-api-key: key-of-the-tests")
        );
        match asked.path.as_str() {
            "/v1/messages/batches" => {
                let entries = asked.body["requests"].as_array().unwrap().clone();
                state.batches.push((Value::Null, entries));
                state.looks = 0;
                if state.silent {
                    return Act::Stall(Vec::new());
                }
                Act::Write(json(200, &describe(state, state.batches.len() - 1)))
            }
            "/v1/messages/batches?limit=100" => {
                let all: Vec<Value> = (0..state.batches.len())
                    .map(|n| describe(state, n))
                    .collect();
                Act::Write(json(200, &json!({"data": all})))
            }
            path if path.ends_with("/results") => {
                let n: usize = path
                    .trim_end_matches("/results")
                    .rsplit('_')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap();
                let ends: Vec<Value> = state.batches[n].1.iter().rev().map(|entry| {
                    assert_eq!(entry["params"]["max_tokens"], 8000);
                    let prompt = entry["params"]["messages"].to_string();
                    let result = if prompt.contains("chessboard") && n == 0 {
                        json!({"type": "expired"})
                    } else if prompt.contains("Moon") && n == 0 {
                        json!({"type": "errored", "error": {"type": "error", "error": {"type": "api_error", "message": "oops"}}})
                    } else {
                        json!({"type": "succeeded", "message": {"id": "x", "model": "m", "content": [{"type": "text", "text": "less\nESTIMATE: 100"}], "stop_reason": "end_turn", "usage": {"input_tokens": 31, "output_tokens": 9}}})
                    };
                    json!({"custom_id": entry["custom_id"], "result": result})
                }).collect();
                lines(&ends)
            }
            path => {
                let n = path.rsplit('_').next().unwrap().parse().unwrap();
                state.looks += 1;
                Act::Write(json(200, &describe(state, n)))
            }
        }
    });
    Service { server, state }
}

#[cfg(unix)]
#[test]
fn anthropic_batches_are_asked_found_again_and_read() {
    let service = anthropic();
    let folder = folder(&service, "anthropic_messages", "");
    // The answer to the first gets lost with the program.
    service.state.lock().unwrap().silent = true;
    let mut child = command(&folder, WORDS)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while service.state.lock().unwrap().batches.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    service.state.lock().unwrap().silent = false;
    wheel(&folder, WORDS)
        .expect(0)
        .says(&["msgbatch_0", "msgbatch_1 holds 4 samples"]);
    assert_eq!(check(&folder, 80), 4);
    assert_eq!(service.state.lock().unwrap().batches.len(), 2);
}

#[test]
fn models_that_take_no_batches_are_named() {
    let folder = Folder::new();
    folder
        .wheel("run --model scripted/pull=0.5 --task classic --batch")
        .expect(2)
        .says(&["scripted/pull=0.5 takes no batches"]);
}
