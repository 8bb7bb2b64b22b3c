//! Limits of servers: kept where they are known, learned where they are told, and never a reason to lose a sample.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::faulty::{Act, Asked, Faulty, json, response};
use super::support::{Folder, completion};

/// Enforces a rate with a bucket that holds a second of it. `told` says whether the headers speak of it.
fn enforcing(per_minute: f64, told: bool) -> (Faulty, Arc<Mutex<Vec<u16>>>) {
    let statuses: Arc<Mutex<Vec<u16>>> = Arc::default();
    let noted = Arc::clone(&statuses);
    let per_second = per_minute / 60.0;
    let bucket = Mutex::new((per_second, Instant::now()));
    let server = Faulty::new(move |_| {
        let left = {
            let (left, at) = &mut *bucket.lock().unwrap();
            *left = (*left + at.elapsed().as_secs_f64() * per_second).min(per_second);
            *at = Instant::now();
            *left -= 1.0;
            if *left < 0.0 {
                *left += 1.0;
                -1.0
            } else {
                *left
            }
        };
        let status = if left < 0.0 { 429 } else { 200 };
        noted.lock().unwrap().push(status);
        let limit = per_minute.to_string();
        let remaining = left.max(0.0).floor().to_string();
        let reset = format!(
            "{}ms",
            ((per_second - left.max(0.0)) / per_second * 1000.0).ceil()
        );
        let mut headers = Vec::new();
        if told {
            headers.push(("x-ratelimit-limit-requests", limit.as_str()));
            headers.push(("x-ratelimit-remaining-requests", remaining.as_str()));
            headers.push(("x-ratelimit-reset-requests", reset.as_str()));
        }
        let body = if status == 429 {
            json!({"error": {"message": "slow down", "code": "rate_limit_exceeded"}})
        } else {
            std::thread::sleep(Duration::from_millis(60));
            completion("ESTIMATE: 100")
        };
        Act::Write(response(status, &headers, body.to_string().as_bytes()))
    });
    (server, statuses)
}

/// Asks a thousand prompts; gives the share of calls that were refused.
fn refused(per_minute: f64, told: bool, words: &str) -> f64 {
    let (server, statuses) = enforcing(per_minute, told);
    let folder = Folder::new();
    folder.write(
        "models.yaml",
        &format!("models:\n  - {{name: served, provider: openai_compatible, model: m, base_url: \"{}/v1\", seed: 1}}\n", server.url()),
    );
    folder
        .wheel(&format!(
            "run --model served --task baseline --epochs 25 --quiet {words}"
        ))
        .expect(0);
    let mut answers: HashMap<String, usize> = HashMap::new();
    for line in folder.lines("served", "baseline") {
        if line["status"] == "ok" {
            *answers.entry(line["key"].to_string()).or_default() += 1;
        }
    }
    assert_eq!(answers.len(), 1000, "none is lost");
    assert!(
        answers.values().all(|times| *times == 1),
        "none is answered twice"
    );
    let statuses = statuses.lock().unwrap();
    let good = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(good, 1000, "none is asked twice");
    #[expect(clippy::cast_precision_loss, reason = "a thousand calls")]
    let share = (statuses.len() - good) as f64 / statuses.len() as f64;
    share
}

#[test]
fn a_limit_that_the_headers_tell_is_kept() {
    let share = refused(12_000.0, true, "");
    assert!(share < 0.01, "{share}");
}

#[test]
fn a_limit_that_the_user_gives_is_kept() {
    let share = refused(12_000.0, false, "--rpm 12000");
    assert!(share < 0.01, "{share}");
}

#[test]
fn a_limit_that_nobody_tells_loses_no_sample() {
    refused(24_000.0, false, "--concurrency 64");
}

#[test]
fn a_wait_that_the_server_asks_for_holds_for_the_whole_model() {
    let first_429: Arc<Mutex<Option<Instant>>> = Arc::default();
    let noted = Arc::clone(&first_429);
    let early = Arc::new(Mutex::new(0));
    let counting = Arc::clone(&early);
    let server = Faulty::new(move |asked| {
        let mut first = noted.lock().unwrap();
        match *first {
            None if asked.number == 20 => {
                *first = Some(Instant::now());
                Act::Write(response(429, &[("retry-after", "1")], b"{}"))
            }
            Some(at)
                if at.elapsed() > Duration::from_millis(200)
                    && at.elapsed() < Duration::from_secs(1) =>
            {
                *counting.lock().unwrap() += 1;
                Act::Write(json(200, &completion("ESTIMATE: 100")))
            }
            _ => Act::Write(json(200, &completion("ESTIMATE: 100"))),
        }
    });
    let folder = Folder::new();
    folder
        .wheel(&format!(
            "run --model {}/v1#m --task ticket --quiet --concurrency 4",
            server.url()
        ))
        .expect(0);
    assert_eq!(
        *early.lock().unwrap(),
        0,
        "calls that came within the second"
    );
    assert_eq!(server.requests(), 81);
}

#[test]
fn an_outage_is_sat_out_and_costs_no_sample() {
    let server = Faulty::new(|asked: &Asked| {
        if (30..44).contains(&asked.number) {
            Act::Write(json(503, &json!({"error": {"message": "down"}})))
        } else {
            Act::Write(json(200, &completion("ESTIMATE: 100")))
        }
    });
    let folder = Folder::new();
    folder
        .wheel(&format!(
            "run --model {}/v1#m --task ticket --quiet --concurrency 8",
            server.url()
        ))
        .expect(0);
    assert_eq!(server.requests(), 80 + 14);

    // One that lasts too long parks the model.
    let server = Faulty::new(|asked: &Asked| {
        if asked.number >= 30 {
            Act::Write(json(503, &json!({"error": {"message": "down"}})))
        } else {
            Act::Write(json(200, &completion("ESTIMATE: 100")))
        }
    });
    let folder = Folder::new();
    let run = folder
        .wheel(&format!(
            "run --model {}/v1#m --task ticket --quiet --concurrency 8 --patience 2",
            server.url()
        ))
        .expect(3);
    run.says(&["stopped: no answer for 2 s: down", "not asked"]);
    assert!(server.requests() < 60, "{}", server.requests());
}

#[test]
fn an_allowance_that_is_used_up_parks_the_model_and_says_when_it_is_filled() {
    let server = Faulty::new(|asked: &Asked| {
        let day = json!({"error": {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED",
            "details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}, {"retryDelay": "36s"}]}});
        if asked.path.starts_with("/day") && asked.number >= 10 {
            Act::Write(json(429, &day))
        } else if asked.path.starts_with("/long") {
            Act::Write(response(429, &[("retry-after", "7200")], b"{}"))
        } else {
            Act::Write(json(200, &completion("ESTIMATE: 100")))
        }
    });
    let folder = Folder::new();
    let mut models = "models:\n".to_owned();
    for name in ["day", "long", "good"] {
        models.push_str(&format!(
            "  - {{name: {name}, provider: openai_compatible, model: m, base_url: \"{}/{name}\", concurrency: 1}}\n",
            server.url()
        ));
    }
    folder.write("models.yaml", &models);
    folder
        .wheel("run --model day --model long --model good --task ticket --quiet")
        .expect(4)
        .says(&[
            "day: stopped: Quota exceeded; it is filled again at midnight Pacific time",
            "the server asks to wait until 20",
        ]);
    assert_eq!(folder.lines("good", "ticket").len(), 80, "the others go on");
    assert_eq!(folder.lines("long", "ticket").len(), 1);
}
