//! Client of a request: identity, authentication, and a line in the log.

use crate::http::connections::Connection;
use crate::http::problem::Fault;
use crate::token::{Denied, TokenGate};
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest time for a request, body included; longer than the reactor may take to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);

/// Peer of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Peer {
    /// A process that may open the administrative socket: the owner of the array.
    Local,
    /// A remote machine.
    Remote(SocketAddr),
}

impl Peer {
    /// Address of the peer; `None` on the administrative socket.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self {
            Self::Local => None,
            Self::Remote(address) => Some(address.ip()),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => formatter.write_str("local"),
            Self::Remote(address) => write!(formatter, "{address}"),
        }
    }
}

/// Notifies the listener that a request of the connection is in progress.
pub(super) async fn count_request(State(connection): State<Connection>, request: Request, next: Next) -> Response {
    let _in_progress = connection.request();
    next.run(request).await
}

/// Admits a request that has the token; `/health` needs none.
pub(super) async fn authenticate(State(gate): State<Arc<TokenGate>>, request: Request, next: Next) -> Response {
    if request.uri().path() == "/health" {
        return next.run(request).await;
    }
    let Some(Peer::Remote(address)) = request.extensions().get::<Peer>() else {
        return Fault::Unauthorized.into_response();
    };
    let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let checked = gate.check(authorization, address.ip(), Instant::now());
    if let Some(connection) = request.extensions().get::<Connection>() {
        connection.trust(checked.is_ok());
    }
    match checked {
        Ok(()) => next.run(request).await,
        Err(denied) => {
            tracing::warn!(peer = %address, path = request.uri().path(), ?denied, "a request without the right token");
            match denied {
                Denied::Unauthorized => Fault::Unauthorized.into_response(),
                Denied::Wait { seconds } => Fault::TooManyFailures { seconds }.into_response(),
            }
        }
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
    let (status, duration_us) =
        (response.status().as_u16(), u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
    if method == Method::GET && response.status().is_success() {
        tracing::debug!(peer, %method, path, status, duration_us, "request");
    } else {
        tracing::info!(peer, %method, path, status, duration_us, "request");
    }
    response
}
