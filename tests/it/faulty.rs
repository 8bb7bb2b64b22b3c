//! A server beneath HTTP libraries, which can misbehave in every way that a socket allows.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A request as it came.
pub struct Asked {
    pub path: String,
    pub head: String,
    pub body: Value,
    /// The body as it came; `body` is null if it is no JSON.
    pub raw: Vec<u8>,
    /// How often the same body came before.
    pub before: usize,
    /// How many requests came before, in all.
    pub number: usize,
}

/// What the server does.
pub enum Act {
    /// Writes this and waits for the next request.
    Write(Vec<u8>),
    /// Writes this and ends the connection in order.
    Close(Vec<u8>),
    /// Writes this and resets the connection.
    Reset(Vec<u8>),
    /// Writes this and then nothing more.
    Stall(Vec<u8>),
    /// Writes this byte by byte, at this distance.
    Trickle(Vec<u8>, Duration),
}

type Answer = dyn Fn(&Asked) -> Act + Send + Sync;

struct Shared {
    answer: Box<Answer>,
    seen: Mutex<HashMap<String, usize>>,
    number: AtomicUsize,
    ended: AtomicBool,
}

pub struct Faulty {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Faulty {
    pub fn new(answer: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            seen: Mutex::default(),
            number: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.ended.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&accepting);
                if let Ok(stream) = stream {
                    std::thread::spawn(move || serve(stream, &shared));
                }
            }
        });
        Self { address, shared }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests that came.
    pub fn requests(&self) -> usize {
        self.shared.number.load(Ordering::Relaxed)
    }

    /// How often each body came.
    pub fn seen(&self) -> HashMap<String, usize> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(Duration::from_millis(50)));
    while let Some((length, mut asked)) = next_request(&stream, shared) {
        let body = asked.body.to_string();
        asked.before = {
            let mut seen = shared.seen.lock().unwrap();
            let times = seen.entry(body).or_default();
            *times += 1;
            *times - 1
        };
        asked.number = shared.number.fetch_add(1, Ordering::Relaxed);
        let act = (shared.answer)(&asked);
        if let Act::Reset(bytes) = &act {
            // Closing with the request unread makes the system reset the connection.
            let _ = stream.write_all(bytes);
            std::thread::sleep(Duration::from_millis(20));
            return;
        }
        let mut request = vec![0; length];
        if stream.read_exact(&mut request).is_err() {
            return;
        }
        match act {
            Act::Write(bytes) => {
                if stream.write_all(&bytes).is_err() {
                    return;
                }
            }
            Act::Close(bytes) => {
                let _ = stream.write_all(&bytes);
                return;
            }
            Act::Stall(bytes) => {
                let _ = stream.write_all(&bytes);
                until_gone(&mut stream, shared, Duration::MAX);
                return;
            }
            Act::Trickle(bytes, pause) => {
                for byte in bytes {
                    if stream.write_all(&[byte]).is_err() || until_gone(&mut stream, shared, pause)
                    {
                        return;
                    }
                }
            }
            Act::Reset(_) => unreachable!("handled before the request was read"),
        }
    }
}

/// Waits; true once the other side has gone or the server has ended.
fn until_gone(stream: &mut TcpStream, shared: &Shared, wait: Duration) -> bool {
    let began = Instant::now();
    while began.elapsed() < wait {
        if shared.ended.load(Ordering::Relaxed) || matches!(stream.read(&mut [0; 64]), Ok(0)) {
            return true;
        }
    }
    false
}

/// Looks at the next request without taking it from the socket. `None` once the other side has gone.
fn next_request(stream: &TcpStream, shared: &Shared) -> Option<(usize, Asked)> {
    let mut buffer = vec![0; 256 * 1024];
    loop {
        if shared.ended.load(Ordering::Relaxed) {
            return None;
        }
        let n = match stream.peek(&mut buffer) {
            Ok(0) => return None,
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(_) => return None,
        };
        let Some(end) = buffer[..n].windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
        let length: usize = head
            .lines()
            .find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse().unwrap())
            })
            .unwrap_or(0);
        if n < end + 4 + length {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        let body = &buffer[end + 4..end + 4 + length];
        let asked = Asked {
            path: head.split(' ').nth(1).unwrap_or_default().to_owned(),
            head,
            body: serde_json::from_slice(body).unwrap_or(Value::Null),
            raw: body.to_vec(),
            before: 0,
            number: 0,
        };
        return Some((end + 4 + length, asked));
    }
}

/// A whole response.
pub fn response(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        bytes.push_str("content-type: application/json\r\n");
    }
    for (name, value) in headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    bytes.push_str("\r\n");
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A whole response with a JSON body.
pub fn json(status: u16, body: &Value) -> Vec<u8> {
    response(status, &[], body.to_string().as_bytes())
}
