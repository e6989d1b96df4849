//! Connections of clients that are silent or send too much, against a listener on the loopback interface.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod http2;

use super::*;
use crate::memory::{TemporaryDirectory, spawn};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Longest time for a request of a well-behaved client.
const PATIENCE: Duration = Duration::from_secs(60);

/// Deadlines that end no connection, so that only displacement does.
const NEVER: Duration = Duration::from_secs(3600);

/// HTTPS listener over an array in memory, with the credentials of a client.
struct Https {
    address: SocketAddr,
    token: String,
    connector: TlsConnector,
    running: Running,
    _array: ArrayHandle,
    _directory: TemporaryDirectory,
}

impl Https {
    async fn start() -> Self {
        Self::with(Deadlines { handshake: NEVER, first_request: NEVER, idle: NEVER, stall: NEVER }).await
    }

    async fn with(deadlines: Deadlines) -> Self {
        let directory = TemporaryDirectory::new();
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let names = crate::tls::Names::of(listen.ip(), &[]);
        let mode = crate::TlsMode::SelfSigned { names: Vec::new() };
        let tls = crate::tls::server_config(&mode, directory.path(), &names).unwrap();
        let surroundings = Surroundings::of(directory.path(), false);
        surroundings.gate.prepare_https().await.unwrap();
        let token = std::fs::read_to_string(directory.path().join("admin.token")).unwrap();
        let mut listeners = Listeners::default();
        listeners.add(Listener::https(listen, tls, None).await.unwrap());
        let address = listeners.http_address().unwrap();
        let array = spawn(|_, _, _| {});
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(directory.path().join("tls/cert.pem")).unwrap()).unwrap();
        let client = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            address,
            token: token.trim().to_owned(),
            connector: TlsConnector::from(Arc::new(client)),
            running: listeners.run_with(&array, &surroundings, deadlines),
            _array: array,
            _directory: directory,
        }
    }

    /// Opens a TCP connection from an address of the loopback network.
    async fn connect(&self, from: [u8; 4]) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from((from, 0))).unwrap();
        socket.connect(self.address).await.unwrap()
    }

    async fn handshake(&self, from: [u8; 4]) -> TlsStream<TcpStream> {
        self.handshake_for(from, &[]).await
    }

    /// Opens a TLS connection that offers these protocols.
    async fn handshake_for(&self, from: [u8; 4], protocols: &[&[u8]]) -> TlsStream<TcpStream> {
        let name = ServerName::try_from("localhost").unwrap();
        let stream = self.connect(from).await;
        let mut client = rustls::ClientConfig::clone(self.connector.config());
        client.alpn_protocols = protocols.iter().map(|of| of.to_vec()).collect();
        let connector = TlsConnector::from(Arc::new(client));
        timeout(PATIENCE, connector.connect(name, stream)).await.unwrap().unwrap()
    }

    /// Sends a GET request with the token on an open connection, which stays open; returns the
    /// status line.
    async fn get(&self, stream: &mut TlsStream<TcpStream>, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", self.token);
        let answer = async {
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = vec![0; 64 << 10];
            let length = stream.read(&mut answer).await.unwrap();
            String::from_utf8_lossy(&answer[..length]).lines().next().unwrap_or_default().to_owned()
        };
        timeout(PATIENCE, answer).await.unwrap()
    }
}

/// Regression: 64 silent connections from four addresses locked out all other clients. The listener
/// served 64 at a time and accepted no more, so that requests from other addresses timed out as
/// long as the silent ones were renewed.
#[tokio::test]
async fn hundreds_of_silent_connections_keep_nobody_out() {
    let https = Https::start().await;
    let mut administrator = https.handshake([127, 0, 0, 2]).await;
    assert_eq!(https.get(&mut administrator, "/api/v1/system").await, "HTTP/1.1 200 OK");
    let mut silent = Vec::new();
    for round in 0..100_u8 {
        for last in 2..6 {
            silent.push(https.connect([127, 0, 0, last]).await);
        }
        if round % 25 == 0 {
            let mut other = https.handshake([127, 0, 0, 9]).await;
            assert_eq!(https.get(&mut other, "/health").await, "HTTP/1.1 200 OK");
        }
    }
    // Requests from an address that silent connections use too, and on a connection that is older
    // than them.
    let mut neighbour = https.handshake([127, 0, 0, 3]).await;
    assert_eq!(https.get(&mut neighbour, "/api/v1/volumes").await, "HTTP/1.1 200 OK");
    assert_eq!(https.get(&mut administrator, "/api/v1/volumes").await, "HTTP/1.1 200 OK");
    // The oldest connections were closed, the newest were not.
    let end = timeout(PATIENCE, silent[0].read(&mut [0])).await.unwrap();
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    assert!(silent.last().unwrap().try_read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock));
}

/// Regression: a connection without a request kept its place for half a minute.
#[tokio::test]
async fn a_connection_is_closed_when_its_first_request_is_late() {
    let connections = Connections::default();
    let (mut client, server) = tokio::io::duplex(1 << 10);
    let graceful = GracefulShutdown::new();
    let connection = connections.join(None);
    let deadlines = Deadlines { first_request: Duration::from_millis(1), ..Deadlines::default() };
    let (_keep, stop) = watch::channel(false);
    let serving = Serving { app: Router::new(), watcher: graceful.watcher(), stop, connection, deadlines };
    timeout(PATIENCE, serve_http(server, false, serving)).await.unwrap();
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
}
