//! The page on this machine alone, and the store behind it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;

use super::{Answer, Panel, Refused, page};
use crate::bank::Bank;
use crate::store::CellFile;

/// An answer is that long at most, in bytes.
const BODY: usize = 4096;

/// A server that is bound and not yet running.
pub struct PeopleServer {
    listener: TcpListener,
    /// Where the page is.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    page: String,
    bank: Bank,
    port: u16,
    kept: Mutex<(Panel, CellFile)>,
    said: Box<dyn Fn(usize, usize) + Send + Sync>,
}

/// A server that cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The page's own template.
    #[error(transparent)]
    Page(#[from] minijinja::Error),
    /// The port is taken, or the system refuses.
    #[error("cannot listen on 127.0.0.1:{0}: {1}")]
    Listen(u16, std::io::Error),
    /// The connection to all browsers broke.
    #[error("the server stopped: {0}")]
    Stopped(std::io::Error),
}

impl PeopleServer {
    /// Binds to a port of this machine, 0 for any. `said` is told the people so far and the answers of the one who just
    /// answered.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn bind(
        port: u16,
        bank: Bank,
        panel: Panel,
        file: CellFile,
        said: impl Fn(usize, usize) + Send + Sync + 'static,
    ) -> Result<Self, ServeError> {
        let page = page(&bank, true)?;
        let listen = |error| ServeError::Listen(port, error);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Self {
            listener,
            address,
            shared: Arc::new(Shared {
                page,
                bank,
                port: address.port(),
                kept: Mutex::new((panel, file)),
                said: Box::new(said),
            }),
        })
    }

    /// Serves until `stop` ends.
    ///
    /// # Errors
    /// The listener broke.
    pub async fn run(
        self,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let router = Router::new()
            .route(
                "/",
                get(|State(shared): State<Arc<Shared>>| async move { Html(shared.page.clone()) }),
            )
            .route("/answer", post(answer))
            .layer(DefaultBodyLimit::max(BODY))
            .layer(middleware::from_fn_with_state(
                Arc::clone(&self.shared),
                own_page_only,
            ))
            .with_state(self.shared);
        axum::serve(self.listener, router)
            .with_graceful_shutdown(stop)
            .await
            .map_err(ServeError::Stopped)
    }
}

/// Other sites that a browser has open may not reach in: neither by a name that leads here nor by a script.
async fn own_page_only(
    State(shared): State<Arc<Shared>>,
    request: Request,
    next: Next,
) -> Response {
    if is_own(request.headers(), shared.port) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "this page answers only itself").into_response()
    }
}

fn is_own(headers: &HeaderMap, port: u16) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host =
        |text: &str| text == format!("127.0.0.1:{port}") || text == format!("localhost:{port}");
    let origin = text(header::ORIGIN);
    text(header::HOST).is_some_and(host)
        && origin.is_none_or(|origin| origin.strip_prefix("http://").is_some_and(host))
}

async fn answer(State(shared): State<Arc<Shared>>, request: axum::body::Bytes) -> Response {
    let answer: Answer = match serde_json::from_slice(&request) {
        Ok(answer) => answer,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let mut kept = shared.kept.lock().expect("no panic while keeping");
    let (panel, file) = &mut *kept;
    let record = match panel.record(&answer, &shared.bank) {
        Ok(record) => record,
        Err(why) => {
            let status = match why {
                Refused::Twice => StatusCode::CONFLICT,
                Refused::Unreadable => StatusCode::UNPROCESSABLE_ENTITY,
                Refused::Unknown(_) | Refused::Token => StatusCode::BAD_REQUEST,
            };
            return (status, why.to_string()).into_response();
        }
    };
    if let Err(error) = file.append(std::slice::from_ref(&record)) {
        panel.forget(&record);
        return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response();
    }
    (shared.said)(panel.people(), panel.count(&answer.person));
    StatusCode::NO_CONTENT.into_response()
}
