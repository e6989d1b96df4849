//! Sockets of the management plane: accept, bound, hand to hyper, stop gracefully.
//!
//! Each listener serves a bounded number of connections, and few of one address ([`Places`]). A connection that sends no request for half a
//! minute is closed, and so is one that takes nothing of its answer for as long.

use crate::http::peer::{Peer, authenticate};
use crate::http::places::Places;
use crate::http::{metrics_router, router};
use crate::token::TokenGate;
use crate::{ArrayHandle, ServeError};
use anyhow::Context;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// How long a TLS handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may take to send a request's headers, or be idle between requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a machine may leave an answer in our send buffer.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How long requests in progress may take when the array stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait after accept(2) failed, typically for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// A bound socket and what is served there.
pub(crate) enum Listener {
    /// The administrative socket: whoever may open it is the owner.
    Unix(UnixListener),
    /// REST over TLS, for those who have the token.
    Https(TcpListener, TlsAcceptor, Arc<TokenGate>),
    /// Metrics and health, for everybody.
    Metrics(TcpListener),
}

impl Listener {
    /// Binds the administrative socket; nobody but its owner can open it.
    pub(crate) fn unix(path: &Path) -> Result<Self, ServeError> {
        let bound = UnixListener::bind(path);
        let listener = bound.with_context(|| format!("cannot listen on the socket {}", path.display()))?;
        // The umask has seen to it already; a umask is easily lost in a later change.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
            .with_context(|| format!("cannot set the mode of {}", path.display()))?;
        Ok(Self::Unix(listener))
    }

    /// Binds the HTTPS port.
    pub(crate) async fn https(
        address: SocketAddr,
        tls: Arc<ServerConfig>,
        gate: TokenGate,
    ) -> Result<Self, ServeError> {
        let listener = TcpListener::bind(address).await.map_err(|error| ServeError::bind(address, error))?;
        Ok(Self::Https(listener, TlsAcceptor::from(tls), Arc::new(gate)))
    }

    /// Binds the metrics port.
    pub(crate) async fn metrics(address: SocketAddr) -> Result<Self, ServeError> {
        Ok(Self::Metrics(TcpListener::bind(address).await.map_err(|error| ServeError::bind(address, error))?))
    }

    /// Serves until told to stop, then lets requests in progress finish.
    async fn run(self, array: ArrayHandle, mut stop: watch::Receiver<bool>) {
        let app = match &self {
            Self::Unix(_) => router(array),
            Self::Https(_, _, gate) => {
                router(array).layer(axum::middleware::from_fn_with_state(Arc::clone(gate), authenticate))
            }
            Self::Metrics(_) => metrics_router(array),
        };
        let graceful = GracefulShutdown::new();
        let places = Places::default();
        loop {
            let place = tokio::select! {
                place = places.free() => place,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let accepted = tokio::select! {
                accepted = self.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let place = match peer {
                        Peer::Local => Some(place),
                        Peer::Remote(address) => places.give(place, address.ip()),
                    };
                    let Some(place) = place else {
                        tracing::debug!(%peer, "a connection too many of one address was closed");
                        continue;
                    };
                    let app = app.clone().layer(Extension(peer));
                    let watcher = graceful.watcher();
                    tokio::spawn(async move {
                        stream.serve(app, watcher).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(self);
        if timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
            tracing::warn!("requests were still in progress when the array stopped");
        }
    }

    async fn accept(&self) -> io::Result<(Accepted, Peer)> {
        match self {
            Self::Unix(listener) => {
                let (stream, _unnamed) = listener.accept().await?;
                Ok((Accepted::Unix(stream), Peer::Local))
            }
            Self::Https(listener, tls, _) => {
                let (stream, address) = accept_tcp(listener).await?;
                Ok((Accepted::Tls(stream, tls.clone()), Peer::Remote(address)))
            }
            Self::Metrics(listener) => {
                let (stream, address) = accept_tcp(listener).await?;
                Ok((Accepted::Tcp(stream), Peer::Remote(address)))
            }
        }
    }
}

/// A connection of a machine that ends when what was sent is not taken.
async fn accept_tcp(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, address) = listener.accept().await?;
    let stall_ms = u32::try_from(STALL_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    rustix::net::sockopt::set_tcp_user_timeout(&stream, stall_ms)?;
    Ok((stream, address))
}

/// A connection before its first byte.
enum Accepted {
    Unix(UnixStream),
    Tls(TcpStream, TlsAcceptor),
    Tcp(TcpStream),
}

impl Accepted {
    async fn serve(self, app: Router, watcher: Watcher) {
        match self {
            Self::Unix(stream) => serve_http(stream, app, watcher).await,
            Self::Tcp(stream) => serve_http(stream, app, watcher).await,
            Self::Tls(stream, acceptor) => match timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => serve_http(stream, app, watcher).await,
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                Err(_elapsed) => tracing::debug!("TLS handshake took too long"),
            },
        }
    }
}

async fn serve_http(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, app: Router, watcher: Watcher) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Listeners that are bound and not served yet.
#[derive(Default)]
pub(crate) struct Listeners(Vec<Listener>);

impl Listeners {
    pub(crate) fn add(&mut self, listener: Listener) {
        self.0.push(listener);
    }

    /// Where HTTPS is served, with its real port.
    pub(crate) fn http_address(&self) -> Option<SocketAddr> {
        self.0.iter().find_map(|listener| match listener {
            Listener::Https(listener, ..) => listener.local_addr().ok(),
            Listener::Unix(_) | Listener::Metrics(_) => None,
        })
    }

    /// Serves them all.
    pub(crate) fn run(self, array: &ArrayHandle) -> Running {
        let (stop, _) = watch::channel(false);
        let tasks =
            self.0.into_iter().map(|listener| tokio::spawn(listener.run(array.clone(), stop.subscribe()))).collect();
        Running { stop, tasks }
    }
}

/// Listeners at work.
pub(crate) struct Running {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Running {
    /// Stops accepting, lets requests in progress finish, returns after 5 s at the latest.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a listener failed");
            }
        }
    }
}
