//! Sending one request and reading the whole response, against four clocks and a limit of size.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::Utc;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::secrets::Secrets;
use crate::domain::{ErrorClass, Reply};
use crate::model::Clocks;
use crate::provider::{
    BatchCall, Dialect, Headers, KeyHeader, ProviderError, Response, WireRequest,
};

/// A body above this waits until no other large one is in memory, in bytes.
const LARGE: usize = 256 * 1024;

/// Time for a file of a batch, which may be large.
const TRANSFER: Duration = Duration::from_hours(1);

/// A body above this is no reply to a question, in bytes.
const LARGEST: usize = 16 * 1024 * 1024;

/// The shared HTTP client with the key of one provider.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    key: Option<SecretString>,
    key_header: KeyHeader,
    headers: HeaderMap,
    clocks: Clocks,
    secrets: Secrets,
    large: Arc<Semaphore>,
    last_address: Arc<Mutex<Option<(String, url::Url)>>>,
}

/// A response, with the leave to hold it if it is large. The leave goes once the reply is stored.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) response: Response,
    pub(super) large: Option<OwnedSemaphorePermit>,
}

/// Connections for a whole run, one set for each time limit, and the leave to hold large bodies.
#[derive(Debug, Clone)]
pub struct Connections {
    by_limit: Vec<(Duration, reqwest::Client)>,
    secrets: Secrets,
    large: Arc<Semaphore>,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            by_limit: Vec::new(),
            secrets: Secrets::default(),
            large: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Connections {
    /// The client with this time limit for connecting; connections are kept and shared.
    ///
    /// # Errors
    /// The TLS set-up of this machine cannot be read.
    fn get(&mut self, connect: Duration) -> Result<reqwest::Client, reqwest::Error> {
        if let Some((_, known)) = self.by_limit.iter().find(|(limit, _)| *limit == connect) {
            return Ok(known.clone());
        }
        let client = reqwest::Client::builder()
            .user_agent(concat!("wheel/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(connect)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        self.by_limit.push((connect, client.clone()));
        Ok(client)
    }
}

/// Which clock ran out.
#[derive(Debug, Clone, Copy)]
enum Ran {
    FirstByte,
    Idle,
    Total,
}

impl Client {
    /// A client for one provider in its dialect.
    ///
    /// # Errors
    /// The TLS set-up of this machine cannot be read.
    pub(super) fn new(
        connections: &mut Connections,
        key: Option<SecretString>,
        dialect: &dyn Dialect,
        clocks: Clocks,
    ) -> Result<Self, reqwest::Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in dialect.headers() {
            headers.insert(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        if let Some(key) = &key {
            connections.secrets.add(key.expose_secret());
        }
        Ok(Self {
            http: connections.get(clocks.connect)?,
            key,
            key_header: dialect.key_header(),
            headers,
            clocks,
            secrets: connections.secrets.clone(),
            large: Arc::clone(&connections.large),
            last_address: Arc::default(),
        })
    }

    /// Sends a request and reads the body to its end.
    ///
    /// `room` is how many times the usual output limit the reply may have: it gets as many times the time.
    pub(super) async fn send(
        &self,
        request: WireRequest,
        room: u32,
    ) -> Result<Received, ProviderError> {
        let builder = self
            .http
            .post(self.address(&request.url)?)
            .header("content-type", "application/json")
            .body(request.body);
        let clocks = Clocks {
            total: self.clocks.total.saturating_mul(room),
            first_byte: self.clocks.first_byte.saturating_mul(room),
            ..self.clocks
        };
        self.receive(request.url, builder, clocks, Some(LARGEST))
            .await
    }

    /// The address, parsed; that of one model rarely changes.
    fn address(&self, text: &str) -> Result<url::Url, ProviderError> {
        let mut last = self.last_address.lock().expect("no panic while parsing");
        if let Some(known) = last.as_ref().filter(|known| known.0 == text) {
            return Ok(known.1.clone());
        }
        let url = url::Url::parse(text).map_err(|error| {
            ProviderError::local(ErrorClass::BadRequest, format!("{text}: {error}"))
        })?;
        *last = Some((text.to_owned(), url.clone()));
        Ok(url)
    }

    /// Sends a call to a batch service and reads the body to its end, however large.
    pub(super) async fn send_batch(&self, call: &BatchCall) -> Result<Received, ProviderError> {
        let (url, builder) = match call {
            BatchCall::Get(url) => (url, self.http.get(url)),
            BatchCall::Post { url, body } => (
                url,
                self.http
                    .post(url)
                    .header("content-type", "application/json")
                    .body(body.clone()),
            ),
            BatchCall::Upload { url, fields, file } => {
                let part = reqwest::multipart::Part::text(file.clone()).file_name("wheel.jsonl");
                let mut form = reqwest::multipart::Form::new();
                for (name, value) in fields {
                    form = form.text(*name, *value);
                }
                (url, self.http.post(url).multipart(form.part("file", part)))
            }
        };
        let clocks = Clocks {
            total: TRANSFER,
            first_byte: TRANSFER,
            ..self.clocks
        };
        self.receive(url.clone(), builder, clocks, None).await
    }

    async fn receive(
        &self,
        url: String,
        builder: reqwest::RequestBuilder,
        clocks: Clocks,
        largest: Option<usize>,
    ) -> Result<Received, ProviderError> {
        let mut builder = builder.headers(self.headers.clone());
        if let Some(key) = &self.key {
            let KeyHeader { name, prefix } = self.key_header;
            let value = format!("{prefix}{}", key.expose_secret());
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                ProviderError::local(ErrorClass::Auth, "the key cannot stand in a header")
            })?;
            value.set_sensitive(true);
            builder = builder.header(name, value);
        }
        let sent = Instant::now();
        let mut end = sent + clocks.total;
        let first = end.min(sent + clocks.first_byte);
        let mut response = match timeout_at(first, builder.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(connection_error(error, false)),
            Err(_) => {
                return Err(ran_out(
                    clocks,
                    if first == end {
                        Ran::Total
                    } else {
                        Ran::FirstByte
                    },
                ));
            }
        };
        let status = response.status().as_u16();
        let headers = self.read_headers(response.headers());
        let mut bytes = Signs::new(&headers);
        let mut body = Vec::new();
        let mut large = None;
        let mut last: Option<Instant> = None;
        loop {
            let (limit, clock) = match last {
                Some(last) => (last + clocks.idle, Ran::Idle),
                None => (first, Ran::FirstByte),
            };
            let clock = if limit < end { clock } else { Ran::Total };
            let chunk = match timeout_at(limit.min(end), response.chunk()).await {
                Err(_) => return Err(ran_out(clocks, clock)),
                Ok(Err(error)) => return Err(connection_error(error, true)),
                Ok(Ok(None)) => break,
                Ok(Ok(Some(chunk))) => chunk,
            };
            if bytes.show_life(&chunk) {
                last = Some(Instant::now());
            }
            body.extend_from_slice(&chunk);
            if largest.is_some_and(|largest| body.len() > largest) {
                return Err(ProviderError {
                    http_status: Some(status),
                    maybe_billed: true,
                    ..ProviderError::local(
                        ErrorClass::BadBody,
                        format!(
                            "HTTP {status} with more than {LARGEST} bytes: no reply is so long"
                        ),
                    )
                });
            }
            if body.len() > LARGE && large.is_none() && largest.is_some() {
                // The wait for other large bodies is ours, not the server's.
                let waiting = Instant::now();
                large = Arc::clone(&self.large).acquire_owned().await.ok();
                last = Some(Instant::now());
                end += waiting.elapsed();
            }
        }
        Ok(Received {
            response: Response {
                url,
                status,
                headers,
                body: self.secrets.redact(body),
                received: Utc::now(),
            },
            large,
        })
    }

    fn read_headers(&self, headers: &HeaderMap) -> Headers {
        let clean = |value: &str| {
            let mut value = value.to_owned();
            self.secrets.redact_text(&mut value);
            value
        };
        Headers(
            headers
                .iter()
                .filter_map(|(name, value)| {
                    Some((name.as_str().to_owned(), clean(value.to_str().ok()?)))
                })
                .collect(),
        )
    }

    /// Takes keys out of a reply that was put together from pieces. The pieces go with them.
    pub(super) fn redact_reply(&self, reply: &mut Reply) {
        let mut found = self.secrets.redact_text(&mut reply.text);
        if let Some(reasoning) = &mut reply.reasoning_text {
            found |= self.secrets.redact_text(reasoning);
        }
        if found {
            reply.body = Some("[the body held a key]".to_owned());
        }
    }
}

fn ran_out(clocks: Clocks, clock: Ran) -> ProviderError {
    let (limit, what) = match clock {
        Ran::FirstByte => (clocks.first_byte, "no first byte"),
        Ran::Idle => (clocks.idle, "nothing more"),
        Ran::Total => (clocks.total, "no whole reply"),
    };
    ProviderError {
        maybe_billed: true,
        ..ProviderError::local(
            ErrorClass::Timeout,
            format!("{what} within {} s", limit.as_secs_f64()),
        )
    }
}

/// Tells bytes that show a model at work from those that only keep a connection open.
#[derive(Debug)]
struct Signs {
    stream: bool,
    line_start: bool,
    comment: bool,
}

impl Signs {
    fn new(headers: &Headers) -> Self {
        Self {
            stream: headers
                .get("content-type")
                .is_some_and(|name| name.contains("event-stream")),
            line_start: true,
            comment: false,
        }
    }

    /// Whether a chunk holds more than blanks and, in an event stream, comment lines.
    fn show_life(&mut self, chunk: &[u8]) -> bool {
        if !self.stream {
            return !chunk.trim_ascii().is_empty();
        }
        let mut life = false;
        for byte in chunk {
            if *byte == b'\n' || *byte == b'\r' {
                self.line_start = true;
                continue;
            }
            if self.line_start {
                self.comment = *byte == b':';
                self.line_start = false;
            }
            life |= !self.comment;
        }
        life
    }
}

/// Whether a body is not packed as its header says, rather than cut off.
fn is_unpackable(error: &reqwest::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput};
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && matches!(io.kind(), InvalidData | InvalidInput)
        {
            return true;
        }
        cause = inner.source();
    }
    false
}

/// The causes of a failed connection in one line, without the address, which may hold credentials.
fn connection_error(error: reqwest::Error, in_body: bool) -> ProviderError {
    let class = if error.is_timeout() {
        ErrorClass::Timeout
    } else if is_unpackable(&error) {
        ErrorClass::BadBody
    } else {
        ErrorClass::Connection
    };
    let error = error.without_url();
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = inner.source();
    }
    ProviderError {
        // Without the beginning of a response there is no sign that a model was at work.
        maybe_billed: in_body,
        ..ProviderError::local(class, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blanks_keep_a_connection_and_show_no_life() {
        let mut json = Signs::new(&Headers::default());
        assert!(!json.show_life(b"  \n"));
        assert!(json.show_life(b" {"));
        let headers = Headers(vec![("content-type".into(), "text/event-stream".into())]);
        let mut stream = Signs::new(&headers);
        assert!(!stream.show_life(b": PROCES"));
        assert!(!stream.show_life(b"SING\n\n"));
        assert!(stream.show_life(b"da"));
        assert!(stream.show_life(b"ta: {}\n\n"));
        assert!(!stream.show_life(b"\n:"));
    }
}
