//! A server that misbehaves in every way that was ever seen, at random: nothing is lost, nothing is asked twice,
//! nothing panics, no key shows, and memory stays small.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write as _;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::faulty::{Act, Asked, Faulty, json, response};
use super::support::{Folder, Run, completion};

const KEY: &str = "key-of-the-tests-9f31c7";

/// What the server does with a call. The first half comes to an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::EnumIter)]
enum Fault {
    InvalidUtf8,
    FiveMegabytes,
    Gzip,
    NoUsage,
    NullContent,
    ContentAsParts,
    AnswerTwice,
    Stream,
    CutByLimit,
    Refusal,
    Policy,
    RateWithoutHint,
    RateMilliseconds,
    RateInBody,
    ErrorIn200,
    ErrorInChoice,
    NoChoice,
    Overload503,
    Overload529,
    Server500,
    Page502,
    Page200,
    Server504,
    Timeout408,
    Conflict409,
    TruncatedJson,
    EmptyBody,
    BrokenGzip,
    ResetAtOnce,
    ResetMidBody,
    CloseMidBody,
    CloseAtOnce,
    NoHttp,
    Hang,
    Trickle,
    StallMidBody,
    BadRequest,
    TooLong,
    KeyEchoed,
}

impl Fault {
    /// Whether the reply counts as heard.
    fn answers(self) -> bool {
        (self as usize) <= (Self::Policy as usize)
    }
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn act(fault: Fault) -> Act {
    let good = || completion("less\nESTIMATE: 100");
    let error = |status: u16, body: Value| Act::Write(json(status, &body));
    let page = b"<html><body>Bad gateway</body></html>";
    let whole = || json(200, &good());
    match fault {
        Fault::InvalidUtf8 => {
            let mut bytes = json(200, &completion("less\nESTIMATE: 100 ??"));
            let at = bytes.windows(2).position(|two| two == b"??").unwrap();
            bytes[at..at + 2].copy_from_slice(&[0xff, 0xfe]);
            Act::Write(bytes)
        }
        Fault::FiveMegabytes => {
            let long = format!("{}\nESTIMATE: 100", "I think about it. ".repeat(290_000));
            Act::Write(json(200, &completion(&long)))
        }
        Fault::Gzip => Act::Write(response(
            200,
            &[("content-encoding", "gzip")],
            &gzip(good().to_string().as_bytes()),
        )),
        Fault::NoUsage => {
            let mut body = good();
            body.as_object_mut().unwrap().remove("usage");
            error(200, body)
        }
        Fault::NullContent => {
            let mut body = good();
            body["choices"][0]["message"]["content"] = Value::Null;
            error(200, body)
        }
        Fault::ContentAsParts => {
            let mut body = good();
            body["choices"][0]["message"]["content"] = json!([{"type": "thinking", "thinking": []}, {"type": "text", "text": "ESTIMATE: 100"}]);
            error(200, body)
        }
        Fault::AnswerTwice => {
            let body = good().to_string();
            Act::Write(response(200, &[], format!("{body}\n{body}").as_bytes()))
        }
        Fault::Stream => Act::Write(response(
            200,
            &[("content-type", "text/event-stream")],
            b"data: {\"choices\":[{\"delta\":{\"content\":\"ESTIMATE: 100\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        )),
        Fault::CutByLimit => {
            let mut body = good();
            body["choices"][0]["finish_reason"] = json!("length");
            error(200, body)
        }
        Fault::Refusal => {
            let mut body = good();
            body["choices"][0]["message"] = json!({"role": "assistant", "content": null, "refusal": "No."});
            error(200, body)
        }
        Fault::Policy => error(400, json!({"error": {"message": "no", "code": "content_policy_violation"}})),
        Fault::RateWithoutHint => error(429, json!({"error": {"message": "heavy load"}})),
        Fault::RateMilliseconds => Act::Write(response(429, &[("retry-after-ms", "20")], b"{}")),
        Fault::RateInBody => error(
            429,
            json!({"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED",
                "details": [{"violations": [{"quotaId": "RequestsPerMinute"}]}, {"retryDelay": "0.03s"}]}}),
        ),
        Fault::ErrorIn200 => error(200, json!({"error": {"code": 502, "message": "upstream"}})),
        Fault::ErrorInChoice => error(200, json!({"choices": [{"finish_reason": "error", "error": {"message": "oops"}}]})),
        Fault::NoChoice => error(200, json!({"choices": []})),
        Fault::Overload503 => error(503, json!({"error": {"message": "Loading model"}})),
        Fault::Overload529 => error(529, json!({"error": {"type": "overloaded_error", "message": "Overloaded"}})),
        Fault::Server500 => Act::Write(response(500, &[("content-type", "text/plain")], b"oops")),
        Fault::Page502 => Act::Write(response(502, &[("content-type", "text/html")], page)),
        Fault::Page200 => Act::Write(response(200, &[("content-type", "text/html")], page)),
        Fault::Server504 => Act::Write(response(504, &[], b"")),
        Fault::Timeout408 => error(408, json!({"error": {"message": "timed out"}})),
        Fault::Conflict409 => error(409, json!({"error": {"message": "conflict"}})),
        Fault::TruncatedJson => {
            let body = good().to_string();
            Act::Write(response(200, &[], &body.as_bytes()[..body.len() / 2]))
        }
        Fault::EmptyBody => Act::Write(response(200, &[], b"")),
        Fault::BrokenGzip => Act::Write(response(200, &[("content-encoding", "gzip")], b"no gzip at all")),
        Fault::ResetAtOnce => Act::Reset(Vec::new()),
        Fault::ResetMidBody => Act::Reset(whole()[..120].to_vec()),
        Fault::CloseMidBody => Act::Close(whole()[..120].to_vec()),
        Fault::CloseAtOnce => Act::Close(Vec::new()),
        Fault::NoHttp => Act::Close(b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
        Fault::Hang => Act::Stall(Vec::new()),
        Fault::Trickle => Act::Trickle(whole(), Duration::from_millis(50)),
        Fault::StallMidBody => Act::Stall(whole()[..120].to_vec()),
        Fault::BadRequest => error(400, json!({"error": {"message": "bad prompt"}})),
        Fault::TooLong => error(400, json!({"error": {"message": "too long", "code": "context_length_exceeded"}})),
        Fault::KeyEchoed => error(500, json!({"error": {"message": format!("no luck with {KEY}")}})),
    }
}

/// A number from what was asked, so that a mix can be had again.
fn draw(asked: &Asked, salt: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ salt;
    for byte in format!("{}{}", asked.body, asked.before).bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 29;
    hash = hash.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash ^ (hash >> 32)
}

/// Half of the calls go well, the other half badly, each way as often as any other but the slow and the large ones.
struct Mix {
    server: Faulty,
    heard: Arc<AtomicUsize>,
    seen: Arc<std::sync::Mutex<BTreeMap<Fault, usize>>>,
}

impl Mix {
    fn new() -> Self {
        let faults: Vec<Fault> = <Fault as strum::IntoEnumIterator>::iter().collect();
        let heard = Arc::new(AtomicUsize::new(0));
        let seen: Arc<std::sync::Mutex<BTreeMap<Fault, usize>>> = Arc::default();
        let (counting, noting) = (Arc::clone(&heard), Arc::clone(&seen));
        let server = Faulty::new(move |asked| {
            assert!(asked.head.contains(KEY));
            // Providers that refuse everything, each in its way.
            let stop = |status, body: Value| Act::Write(json(status, &body));
            if asked.path.starts_with("/auth") {
                return stop(
                    401,
                    json!({"error": {"message": format!("Incorrect API key provided: {KEY}")}}),
                );
            } else if asked.path.starts_with("/region") {
                return stop(
                    403,
                    json!({"error": {"code": "unsupported_country_region_territory", "message": "Country, region, or territory not supported"}}),
                );
            } else if asked.path.starts_with("/gone") {
                return stop(
                    404,
                    json!({"error": {"code": "model_not_found", "message": "The model does not exist"}}),
                );
            } else if asked.path.starts_with("/broke") {
                return stop(
                    429,
                    json!({"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}),
                );
            } else if asked.path.starts_with("/parameter") && !asked.body["seed"].is_null() {
                return stop(
                    400,
                    json!({"error": {"code": "unsupported_parameter", "param": "seed", "message": "Unsupported parameter: 'seed'"}}),
                );
            } else if asked.path.starts_with("/parameter") {
                return Act::Write(json(200, &completion("less\nESTIMATE: 100")));
            }
            let drawn = draw(asked, 7);
            let fault = faults[usize::try_from(drawn >> 8).unwrap() % faults.len()];
            let rare = matches!(
                fault,
                Fault::FiveMegabytes | Fault::Hang | Fault::Trickle | Fault::StallMidBody
            );
            // The first calls go well: a server that was never heard is given up sooner.
            let well = asked.number < 20
                || drawn.is_multiple_of(2)
                || (rare && !(drawn >> 4).is_multiple_of(3));
            if well {
                counting.fetch_add(1, Ordering::Relaxed);
                return Act::Write(json(200, &completion("less\nESTIMATE: 100")));
            }
            *noting.lock().unwrap().entry(fault).or_default() += 1;
            if fault.answers() {
                counting.fetch_add(1, Ordering::Relaxed);
            }
            act(fault)
        });
        Self {
            server,
            heard,
            seen,
        }
    }

    fn folder(&self) -> Folder {
        let folder = Folder::new();
        let mut models = "models:\n".to_owned();
        for name in ["v1", "auth", "region", "gone", "broke", "parameter"] {
            models.push_str(&format!(
                "  - {{name: {name}, provider: openai_compatible, model: m, base_url: \"{}/{name}\", api_key_env: SERVED_KEY, seed: 1}}\n",
                self.server.url()
            ));
        }
        folder.write("models.yaml", &models);
        folder
    }
}

fn start(folder: &Folder, words: &str) -> Child {
    folder
        .command(&format!(
            "run --task classic --epochs 25 --concurrency 64 --timeout 1 --idle-timeout 0.6 {words}"
        ))
        .env("SERVED_KEY", KEY)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Memory that a process has for itself, in megabytes. Pages of the program file are not counted: a debug build has more of them.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024)
}

/// Waits for the end and gives it with the largest memory seen.
fn finish(mut child: Child) -> (Run, u64) {
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(peak(&child).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    (Run::from(child.wait_with_output().unwrap()), most)
}

/// Every sample that was answered, with the number of its answers; and the reasons of those that were not.
fn ends(folder: &Folder, model: &str) -> (HashMap<String, usize>, HashMap<String, String>) {
    let mut answers: HashMap<String, usize> = HashMap::new();
    let mut reasons = HashMap::new();
    for line in folder.lines(model, "classic") {
        let key = line["key"].as_str().unwrap().to_owned();
        if line["status"] == "error" {
            reasons.insert(key, line["error"]["class"].as_str().unwrap().to_owned());
        } else {
            *answers.entry(key).or_default() += 1;
        }
    }
    reasons.retain(|key, _| !answers.contains_key(key));
    (answers, reasons)
}

#[test]
fn two_thousand_samples_against_every_fault_are_answered_once_or_listed() {
    let mix = Mix::new();
    let folder = mix.folder();
    let words =
        "--model v1 --model auth --model region --model gone --model broke --model parameter";
    let (run, peak) = finish(start(&folder, words));
    let run = run.expect(4);
    let kinds = mix.seen.lock().unwrap().clone();
    assert!(
        kinds.len() >= 35,
        "only {} kinds of fault came up",
        kinds.len()
    );
    let (answers, reasons) = ends(&folder, "v1");
    assert!(answers.values().all(|times| *times == 1));
    assert_eq!(answers.len() + reasons.len(), 2000);
    assert_eq!(
        answers.len(),
        mix.heard.load(Ordering::Relaxed),
        "every answer that the server gave is stored"
    );
    // What is listed is what the store says.
    let mut listed: BTreeMap<&str, usize> = BTreeMap::new();
    for class in reasons.values() {
        *listed.entry(class).or_default() += 1;
    }
    for (class, n) in listed {
        assert!(
            run.err.contains(&format!("{n} failed ({class})")),
            "{n} {class}: {}",
            run.err
        );
    }
    for (model, class) in [
        ("auth", "auth"),
        ("region", "region"),
        ("gone", "no_model"),
        ("broke", "quota"),
    ] {
        let lines = folder.lines(model, "classic");
        assert!(lines.len() <= 64, "{model} was asked {} times", lines.len());
        assert!(lines.iter().all(|line| line["error"]["class"] == class));
    }
    let (answers, reasons) = ends(&folder, "parameter");
    assert_eq!((answers.len(), reasons.len()), (2000, 0));
    let last = folder.lines("parameter", "classic").pop().unwrap();
    assert_eq!(last["sent"]["dropped"], json!(["seed"]));
    assert!(!run.err.contains("panicked"), "{}", run.err);
    let mut texts = vec![run.out.clone(), run.err.clone()];
    texts.push(folder.read("runs/v1/classic.jsonl"));
    texts.push(folder.read("runs/auth/classic.jsonl"));
    assert!(texts.iter().all(|text| !text.contains(KEY)));
    assert!(peak < 100, "{peak} MB");
    // The rest is asked for, and what was answered is not.
    let asked = mix.server.requests();
    let heard = mix.heard.load(Ordering::Relaxed);
    let (_, _) = finish(start(&folder, "--model v1 --quiet"));
    let (answers, _) = ends(&folder, "v1");
    assert!(answers.values().all(|times| *times == 1));
    assert!(mix.server.requests() > asked && mix.heard.load(Ordering::Relaxed) > heard);
}

#[cfg(unix)]
#[test]
fn fifty_kills_lose_no_stored_answer_and_repeat_none() {
    use std::hash::BuildHasher;
    let mix = Mix::new();
    let folder = mix.folder();
    // Random moments; the hasher's keys differ each time.
    let chance = std::collections::hash_map::RandomState::new();
    let stored = |folder: &Folder| -> HashMap<String, String> {
        let path = folder.path().join("runs/v1/classic.jsonl");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        // A kill may leave a torn last line.
        text.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|line| line["status"] != "error")
            .map(|line| {
                let asked = json!([line["conversation"], line["sent"]["seed"]]);
                (line["key"].as_str().unwrap().to_owned(), asked.to_string())
            })
            .collect()
    };
    let mut known: HashMap<String, String> = HashMap::new();
    let mut kills = 0_u64;
    // A slow machine gets more of them, and more time before each, until there are answers to lose.
    while kills < 50 || (known.len() <= 100 && kills < 200) {
        kills += 1;
        let longest = 260 + 60 * kills.saturating_sub(50);
        let times = |server: &Faulty| -> HashMap<String, usize> {
            server
                .seen()
                .into_iter()
                .map(|(body, times)| {
                    let body: Value = serde_json::from_str(&body).unwrap();
                    (json!([body["messages"], body["seed"]]).to_string(), times)
                })
                .collect()
        };
        let before = times(&mix.server);
        let mut child = start(&folder, "--model v1 --quiet");
        std::thread::sleep(Duration::from_millis(40 + chance.hash_one(kills) % longest));
        // SIGKILL on unix.
        let _ = child.kill();
        child.wait().unwrap();
        let after = times(&mix.server);
        for asked in known.values() {
            assert_eq!(before.get(asked), after.get(asked), "asked again: {asked}");
        }
        let now = stored(&folder);
        let keys: HashSet<&String> = now.keys().collect();
        assert!(
            known.keys().all(|key| keys.contains(key)),
            "an answer was lost"
        );
        known = now;
    }
    assert!(
        known.len() > 100,
        "only {} answers before the last kill",
        known.len()
    );
    finish(start(&folder, "--model v1 --quiet"));
    let (answers, reasons) = ends(&folder, "v1");
    assert!(answers.values().all(|times| *times == 1));
    assert_eq!(answers.len() + reasons.len(), 2000);
}
