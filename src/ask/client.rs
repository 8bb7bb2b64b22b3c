//! Sending one request and reading the whole response within one time limit.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::domain::ErrorClass;
use crate::provider::{Headers, ProviderError, WireRequest};

/// A response as it came.
#[derive(Debug)]
pub struct Response {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Vec<u8>,
}

/// The shared HTTP client with the key of one provider.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    key: Option<SecretString>,
    timeout: Duration,
}

/// One client for the whole run: connections are kept and shared.
///
/// # Errors
/// The TLS set-up of this machine cannot be read.
pub fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(concat!("wheel/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

impl Client {
    /// A client for one provider.
    #[must_use]
    pub fn new(http: reqwest::Client, key: Option<SecretString>, timeout: Duration) -> Self {
        Self { http, key, timeout }
    }

    /// Sends a request and reads the body to its end.
    pub(super) async fn send(&self, request: &WireRequest) -> Result<Response, ProviderError> {
        let call = async {
            let mut builder = self
                .http
                .post(&request.url)
                .header("content-type", "application/json")
                .body(request.body.clone());
            if let Some(key) = &self.key {
                builder = builder.bearer_auth(key.expose_secret());
            }
            let response = builder.send().await?;
            let status = response.status().as_u16();
            let headers = Headers(
                response
                    .headers()
                    .iter()
                    .filter_map(|(name, value)| {
                        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
                    })
                    .collect(),
            );
            let body = self.redact(&response.bytes().await?);
            Ok(Response {
                status,
                headers,
                body,
            })
        };
        match tokio::time::timeout(self.timeout, call).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(connection_error(error)),
            Err(_) => Err(ProviderError::local(
                ErrorClass::Timeout,
                format!("no whole reply within {} s", self.timeout.as_secs_f64()),
            )),
        }
    }

    /// Takes the key out of what a server sent back, before anybody reads it.
    fn redact(&self, body: &[u8]) -> Vec<u8> {
        let Some(key) = self.key.as_ref().map(|key| key.expose_secret().as_bytes()) else {
            return body.to_vec();
        };
        let mut clean = Vec::with_capacity(body.len());
        let mut rest = body;
        while let Some(at) = rest.windows(key.len()).position(|window| window == key) {
            clean.extend_from_slice(&rest[..at]);
            clean.extend_from_slice(b"[key]");
            rest = &rest[at + key.len()..];
        }
        clean.extend_from_slice(rest);
        clean
    }
}

/// The causes of a failed connection in one line, without the address, which may hold credentials.
fn connection_error(error: reqwest::Error) -> ProviderError {
    let class = if error.is_timeout() {
        ErrorClass::Timeout
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
    ProviderError::local(class, message)
}
