//! Client of a request, and a line in the log.

use crate::http::connections::{Connection, RequestGuard};
use crate::http::problem::Fault;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Longest time for a request, body included; longer than the reactor may take to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// Peer of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Peer {
    /// A process that may open the administrative socket.
    Local {
        /// Its user.
        uid: u32,
    },
    /// A remote machine.
    Remote(SocketAddr),
}

impl Peer {
    /// Address of the peer; `None` on the administrative socket.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Local { .. } => None,
            Self::Remote(address) => Some(address.ip()),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local { .. } => formatter.write_str("local"),
            Self::Remote(address) => write!(formatter, "{address}"),
        }
    }
}

/// Name of the author of a request, for the log.
#[derive(Clone)]
pub(super) struct Author(pub(super) String);

/// Notifies the listener that a request of the connection is in progress, until the connection has taken
/// its answer.
pub(super) async fn count_request(State(connection): State<Connection>, request: Request, next: Next) -> Response {
    let in_progress = connection.request();
    next.run(request).await.map(|body| Body::new(Counted { body, _in_progress: in_progress }))
}

/// Body of an answer whose request is in progress.
struct Counted {
    body: Body,
    _in_progress: RequestGuard,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Limits the time of a request and logs it: changes and failures as `info`, reads as `debug`.
pub(super) async fn log_and_limit(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let peer = request.extensions().get::<Peer>().map_or_else(String::new, Peer::to_string);
    let start = Instant::now();
    let response = match tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_elapsed) => Fault::TooSlow { seconds: REQUEST_TIMEOUT.as_secs() }.into_response(),
    };
    let who = response.extensions().get::<Author>().map_or_else(String::new, |Author(name)| name.clone());
    let (status, duration_us) =
        (response.status().as_u16(), u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
    if method == Method::GET && response.status().is_success() {
        tracing::debug!(peer, who, %method, path, status, duration_us, "request");
    } else {
        tracing::info!(peer, who, %method, path, status, duration_us, "request");
    }
    response
}
