//! Servers that hang: each hang costs one attempt, and the sample comes back last.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::faulty::{Act, Faulty, json};
use super::support::{Folder, completion};

/// Hangs at the second request, and answers all others.
fn hanging(hang: impl Fn(&[u8]) -> Act + Send + Sync + 'static) -> Faulty {
    Faulty::new(move |asked| {
        let whole = json(200, &completion("ESTIMATE: 8849"));
        if asked.number == 1 {
            hang(&whole)
        } else {
            Act::Write(whole)
        }
    })
}

/// Runs some samples one at a time and gives the stored lines in order.
fn lines(server: &Faulty, words: &str) -> Vec<Value> {
    let folder = Folder::new();
    let began = Instant::now();
    folder
        .wheel(&format!(
            "run --model {}/v1#m --task ticket --tier known --limit 3 --concurrency 1 --quiet {words}",
            server.url()
        ))
        .expect(0);
    assert!(began.elapsed() < Duration::from_secs(20));
    let store = std::fs::read_dir(folder.path().join("runs")).unwrap();
    let model = store
        .map(|entry| entry.unwrap().file_name())
        .next()
        .unwrap();
    folder.lines(model.to_str().unwrap(), "ticket")
}

/// The hang is one line of the class, and its sample is the last that is answered.
fn check(lines: &[Value], class: &str, words: &str) {
    let failed: Vec<&Value> = lines
        .iter()
        .filter(|line| line["status"] == "error")
        .collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["error"]["class"], class);
    let message = failed[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains(words), "{message}");
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["status"], &last["key"]),
        (&json!("ok"), &failed[0]["key"])
    );
    assert_eq!(last["attempt"], 2);
    assert_eq!(lines.len(), 7);
}

#[test]
fn a_server_that_accepts_and_never_answers_costs_one_attempt() {
    let server = hanging(|_| Act::Stall(Vec::new()));
    check(
        &lines(&server, "--timeout 0.5"),
        "timeout",
        "no whole reply within 0.5 s",
    );
    let server = hanging(|_| Act::Stall(Vec::new()));
    check(
        &lines(&server, "--first-byte-timeout 0.5"),
        "timeout",
        "no first byte within 0.5 s",
    );
}

#[test]
fn a_server_that_trickles_costs_one_attempt() {
    // Each byte comes before the idle clock runs out; the whole never would.
    let server = hanging(|whole| Act::Trickle(whole.to_vec(), Duration::from_millis(100)));
    check(
        &lines(&server, "--idle-timeout 5 --timeout 1"),
        "timeout",
        "no whole reply within 1 s",
    );
}

#[test]
fn a_server_that_stops_in_mid_body_costs_one_attempt() {
    let server = hanging(|whole| Act::Stall(whole[..whole.len() - 30].to_vec()));
    check(
        &lines(&server, "--idle-timeout 0.5"),
        "timeout",
        "nothing more within 0.5 s",
    );
    let server = hanging(|whole| Act::Close(whole[..whole.len() - 30].to_vec()));
    check(&lines(&server, ""), "connection", "");
    let server = hanging(|whole| Act::Reset(whole[..whole.len() - 30].to_vec()));
    check(&lines(&server, ""), "connection", "");
}

#[test]
fn comments_of_a_stream_are_no_progress_and_its_data_are() {
    let event = |text: &str| {
        format!(
            "data: {}\n\n",
            json!({"choices": [{"delta": {"content": text}}]})
        )
    };
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let whole = format!("{}{}{end}", event("ESTIMATE: "), event("8849"));
    let server = Faulty::new(move |asked| {
        assert_eq!(asked.body["stream"], true);
        assert_eq!(asked.body["stream_options"], json!({"include_usage": true}));
        let hang = asked.number == 1;
        let body = if hang {
            format!("{}{}", event("ESTIMATE: "), ": still here\n\n".repeat(200))
        } else {
            whole.clone()
        };
        let mut bytes = head.to_vec();
        bytes.extend_from_slice(body.as_bytes());
        if hang {
            Act::Trickle(bytes, Duration::from_millis(2))
        } else {
            Act::Close(bytes)
        }
    });
    let lines = lines(&server, "--stream --idle-timeout 0.5");
    check(&lines, "timeout", "nothing more within 0.5 s");
    assert_eq!(lines[0]["text"], "ESTIMATE: 8849");
}
