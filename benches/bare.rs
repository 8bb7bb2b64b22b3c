//! A bare reqwest loop and a server for it: the yardstick that `pace.py` holds `wheel` against.
//!
//! `bare serve` prints its port and answers every request at once; `GET /seconds` gives the time from the first request
//! to the last, and forgets them. `bare loop URL N CONCURRENCY` makes N calls.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures::StreamExt;

const REPLY: &str = r#"{"id":"x","model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"less\nESTIMATE: 100"}}],"usage":{"prompt_tokens":60,"completion_tokens":8,"total_tokens":68}}"#;

const PROMPT: &str = "A number wheel from 0 to 100 shows 65. Is the height of Mount Everest more or less than 22000 meters?\nReply with only two lines: more or less, then ESTIMATE: <number>. No explanation.";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve"] => serve(),
        ["loop", url, n, concurrency] => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?;
            runtime.block_on(calls(url, n.parse()?, concurrency.parse()?))
        }
        _ => Err("bare serve | bare loop URL N CONCURRENCY".into()),
    }
}

/// Makes the calls and reads each body to its end; keeps nothing.
async fn calls(url: &str, n: usize, concurrency: usize) -> Result<(), Box<dyn std::error::Error>> {
    let client = reqwest::Client::new();
    let mut replies = futures::stream::iter(0..n)
        .map(|_| {
            let body = serde_json::json!({"model": "m", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 8000});
            client
                .post(url)
                .header("content-type", "application/json")
                .body(body.to_string())
                .send()
        })
        .buffer_unordered(concurrency);
    while let Some(reply) = replies.next().await {
        reply?.error_for_status()?.bytes().await?;
    }
    Ok(())
}

fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", listener.local_addr()?.port())?;
    out.flush()?;
    let span: Span = Arc::default();
    for stream in listener.incoming() {
        let stream = stream?;
        let span = Arc::clone(&span);
        std::thread::spawn(move || {
            let _ = answer(stream, &span);
        });
    }
    Ok(())
}

/// When the first and the last request came.
type Span = Arc<Mutex<Option<(Instant, Instant)>>>;

/// Answers the requests of one connection, one after the other.
fn answer(mut stream: TcpStream, span: &Span) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{REPLY}",
        REPLY.len()
    );
    let mut known = Vec::new();
    let mut block = [0; 16 * 1024];
    loop {
        let n = stream.read(&mut block)?;
        if n == 0 {
            return Ok(());
        }
        known.extend_from_slice(&block[..n]);
        let Some(end) = known.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        if known.starts_with(b"GET /seconds") {
            let span = span.lock().expect("no panic while noting").take();
            let seconds = span.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
            let body = seconds.to_string();
            let length = body.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
            return stream.write_all(format!("{head}{body}").as_bytes());
        }
        let head = String::from_utf8_lossy(&known[..end]).to_lowercase();
        let length: usize = head
            .split("content-length:")
            .nth(1)
            .and_then(|rest| rest.lines().next()?.trim().parse().ok())
            .unwrap_or(0);
        if known.len() >= end + 4 + length {
            known.clear();
            {
                let mut span = span.lock().expect("no panic while noting");
                let now = Instant::now();
                *span = Some((span.map_or(now, |(first, _)| first), now));
            }
            stream.write_all(response.as_bytes())?;
        }
    }
}
