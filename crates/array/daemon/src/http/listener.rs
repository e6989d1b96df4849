//! Sockets of the management plane: accept, bound, hand to hyper, stop gracefully.
//!
//! Each listener serves a limited number of connections; a new one displaces an idle one
//! ([`Connections`]). A connection is closed if its TLS handshake or first request is late, if no
//! request comes for half a minute, or if the client takes no data of an answer for as long. TLS offers
//! HTTP/2 ([`http2`]) and HTTP/1.1; without TLS there is HTTP/1.1 alone.

mod http2;

use crate::http::connections::{Connection, Connections, MAX_CONNECTIONS, Room};
use crate::http::console;
use crate::http::live::Streams;
use crate::http::peer::{Peer, count_request};
use crate::http::{Surroundings, guarded, metrics_router};
use crate::tls;
use anyhow::Context;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use reactor::Notice;
use reactor::{ArrayHandle, ServeError};
use rustls::ServerConfig;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Longest time for the headers of a later request, and longest idle time between requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time that an answer may stay unread in the send buffer.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Longest time for requests in progress when the array stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest number of header bytes kept for a request.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Pause after a failure of accept(2), typically for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Deadlines of a new connection.
#[derive(Clone, Copy)]
struct Deadlines {
    /// Deadline of the TLS handshake.
    handshake: Duration,
    /// Deadline from the handshake to the end of the first request's headers.
    first_request: Duration,
    /// Longest idle time of a connection of HTTP/2.
    idle: Duration,
    /// Longest time in which a client takes nothing of an answer on a stream of HTTP/2.
    stall: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            first_request: Duration::from_secs(5),
            idle: HEADER_TIMEOUT,
            stall: STALL_TIMEOUT,
        }
    }
}

/// What a connection is served with.
struct Serving {
    app: Router,
    watcher: Watcher,
    stop: watch::Receiver<bool>,
    connection: Connection,
    deadlines: Deadlines,
}

/// Bound socket, and its service.
pub(crate) enum Listener {
    /// Administrative socket, for its owner and group.
    Unix(UnixListener),
    /// REST over TLS, for clients with a token or a sign-in, and the web console. With the names of the
    /// array for which cookies are accepted, if they are known.
    Https(TcpListener, TlsAcceptor, Option<Vec<String>>),
    /// Metrics and health, for all clients.
    Metrics(TcpListener),
}

impl Listener {
    /// Binds the administrative socket, which its owner can open and, if there is one, its group.
    pub(crate) fn unix(path: &Path, group: Option<u32>) -> Result<Self, ServeError> {
        let bound = UnixListener::bind(path);
        let listener = bound.with_context(|| format!("cannot listen on the socket {}", path.display()))?;
        let group = group.filter(|group| match give_to(path, *group) {
            Ok(()) => true,
            Err(error) => {
                let help = "run the array in the group (Group= of the systemd unit), or set [server] socket_group";
                tracing::warn!(%error, group, help, "the socket is for its owner alone");
                false
            }
        });
        // Without a group the umask already ensures this, but a later change may lose the umask.
        let mode = if group.is_some() { 0o660 } else { 0o600 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
            .with_context(|| format!("cannot set the mode of {}", path.display()))?;
        Ok(Self::Unix(listener))
    }

    /// Binds the HTTPS port.
    pub(crate) async fn https(
        address: SocketAddr,
        tls: Arc<ServerConfig>,
        names: Option<Vec<String>>,
    ) -> Result<Self, ServeError> {
        let listener = TcpListener::bind(address).await.map_err(|error| ServeError::bind(address, error))?;
        Ok(Self::Https(listener, TlsAcceptor::from(tls), names))
    }

    /// Binds the metrics port.
    pub(crate) async fn metrics(address: SocketAddr) -> Result<Self, ServeError> {
        Ok(Self::Metrics(TcpListener::bind(address).await.map_err(|error| ServeError::bind(address, error))?))
    }

    /// Serves until `stop` is set, then lets requests in progress finish.
    async fn run(
        self,
        array: ArrayHandle,
        surroundings: Surroundings,
        deadlines: Deadlines,
        mut stop: watch::Receiver<bool>,
    ) {
        let streams = Arc::<Streams>::default();
        let app = match &self {
            Self::Unix(_) => guarded(array, Arc::clone(&streams), surroundings, None),
            Self::Https(_, _, names) => {
                let programs = guarded(array, Arc::clone(&streams), surroundings, names.clone());
                programs.layer(axum::middleware::from_fn(console::serve))
            }
            Self::Metrics(_) => metrics_router(array, surroundings.desk),
        };
        let graceful = GracefulShutdown::new();
        let connections = Connections::default();
        let displacements = Notice::default();
        loop {
            let accepted = tokio::select! {
                accepted = self.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let room = tokio::select! {
                        room = connections.make_room() => room,
                        _ = stop.wait_for(|stop| *stop) => break,
                    };
                    report_displacement(room, &displacements);
                    let connection = connections.join(peer.address());
                    let counted = axum::middleware::from_fn_with_state(connection.clone(), count_request);
                    let app = app.clone().layer(counted).layer(Extension(peer)).layer(Extension(connection.clone()));
                    let (watcher, stop) = (graceful.watcher(), stop.clone());
                    let serving = Serving { app, watcher, stop, connection: connection.clone(), deadlines };
                    tokio::spawn(async move {
                        tokio::select! {
                            () = stream.serve(serving) => {}
                            () = connection.displaced() => tracing::debug!(%peer, "a connection was displaced"),
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(self);
        streams.stop();
        if timeout(DRAIN_TIMEOUT, graceful.shutdown()).await.is_err() {
            tracing::warn!("requests were still in progress when the array stopped");
        }
    }

    async fn accept(&self) -> io::Result<(Accepted, Peer)> {
        match self {
            Self::Unix(listener) => {
                let (stream, _unnamed) = listener.accept().await?;
                let uid = stream.peer_cred()?.uid();
                Ok((Accepted::Unix(stream), Peer::Local { uid }))
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

/// Gives a file to a group, unless it has it.
fn give_to(path: &Path, group: u32) -> io::Result<()> {
    if std::fs::metadata(path)?.gid() == group {
        return Ok(());
    }
    std::os::unix::fs::chown(path, None, Some(group))
}

/// Logs the displacement of connections, at most every ten seconds.
fn report_displacement(room: Room, displacements: &Notice) {
    let Room::Displaced(network) = room else { return };
    if let Some(closed) = displacements.count(Instant::now()) {
        let network = network.map_or_else(|| "local".to_owned(), |network| network.to_string());
        tracing::warn!(
            network,
            closed,
            "a listener of the management plane has {MAX_CONNECTIONS} connections: idle ones are closed for new ones"
        );
    }
}

/// Accepts a TCP connection, which ends if the client does not take sent data.
async fn accept_tcp(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, address) = listener.accept().await?;
    let stall_ms = u32::try_from(STALL_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
    rustix::net::sockopt::set_tcp_user_timeout(&stream, stall_ms)?;
    Ok((stream, address))
}

/// Accepted connection before its first byte.
enum Accepted {
    Unix(UnixStream),
    Tls(TcpStream, TlsAcceptor),
    Tcp(TcpStream),
}

impl Accepted {
    async fn serve(self, serving: Serving) {
        match self {
            Self::Unix(stream) => serve_http(stream, false, serving).await,
            Self::Tcp(stream) => serve_http(stream, false, serving).await,
            Self::Tls(stream, acceptor) => match timeout(serving.deadlines.handshake, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => {
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(tls::HTTP_2);
                    serve_http(stream, is_http2, serving).await;
                }
                Ok(Err(error)) => tracing::debug!(%error, "TLS handshake failed"),
                Err(_elapsed) => tracing::debug!("TLS handshake took too long"),
            },
        }
    }
}

async fn serve_http(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, is_http2: bool, serving: Serving) {
    let (connection, first_request) = (serving.connection.clone(), serving.deadlines.first_request);
    let silent = async {
        tokio::time::sleep(first_request).await;
        if connection.has_asked() {
            std::future::pending::<()>().await;
        }
    };
    let served = async {
        if is_http2 {
            http2::serve(stream, serving).await;
        } else {
            serve_http1(stream, serving).await;
        }
    };
    tokio::select! {
        () = served => {}
        () = silent => tracing::debug!("a connection without a request was closed"),
    }
}

async fn serve_http1(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, serving: Serving) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_header_size(MAX_HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(serving.app));
    report_end(serving.watcher.watch(served).await);
}

/// Logs why a connection has ended.
fn report_end(ended: hyper::Result<()>) {
    if let Err(error) = ended {
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

    /// Address of HTTPS, with its real port.
    pub(crate) fn http_address(&self) -> Option<SocketAddr> {
        self.0.iter().find_map(|listener| match listener {
            Listener::Https(listener, ..) => listener.local_addr().ok(),
            Listener::Unix(_) | Listener::Metrics(_) => None,
        })
    }

    /// Serves all listeners.
    pub(crate) fn run(self, array: &ArrayHandle, surroundings: &Surroundings) -> Running {
        self.run_with(array, surroundings, Deadlines::default())
    }

    fn run_with(self, array: &ArrayHandle, surroundings: &Surroundings, deadlines: Deadlines) -> Running {
        let (stop, _) = watch::channel(false);
        let run = |listener: Listener| {
            tokio::spawn(listener.run(array.clone(), surroundings.clone(), deadlines, stop.subscribe()))
        };
        let tasks = self.0.into_iter().map(run).collect();
        Running { stop, tasks }
    }
}

/// Served listeners.
pub(crate) struct Running {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Running {
    /// Stops accepting and lets requests in progress finish; returns after 5 s at the latest.
    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        for task in self.tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a listener failed");
            }
        }
    }
}

#[cfg(test)]
mod tests;
