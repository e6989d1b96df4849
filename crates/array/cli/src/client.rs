//! HTTP/1.1 client of the array, over its Unix socket or over TLS. Each request has its own
//! connection, since a command sends few.

use crate::Globals;
use crate::error::CliError;
use crate::profile::{self, Profile};
use crate::server_events::ServerEvents;
use crate::tls::{client_config, fingerprint, pinned_config};
use api::{Effect, List, Problem};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode, Uri, header};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use uuid::Uuid;

/// Port of an https URL that names none.
const DEFAULT_PORT: u16 = 8443;
/// Number of resources in one part of a long list.
pub(crate) const PART: u32 = 500;
/// Media type of bodies.
const JSON: &str = "application/json";
/// Largest accepted answer in bytes.
const MAX_ANSWER_BYTES: usize = 256 << 20;

/// Tries of a request with a key, and the pause between two.
const TRIES: usize = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// Administrative sockets of an array on this machine: that of the systemd unit, and that of
/// `windlass serve` with the default state directory.
const SOCKETS: [&str; 2] = ["/run/windlass/windlass.sock", "/var/lib/windlass/windlass.sock"];

/// Body of a request, with its media type.
type Sent = (Bytes, &'static str);
/// Beginning of an answer, with its connection: the sender of requests, and the task that moves the bytes.
type Opened = (Response<Incoming>, http1::SendRequest<Full<Bytes>>, JoinHandle<()>);

/// Client of one array.
pub(crate) struct Client {
    server: Server,
    shown: String,
    token: Option<String>,
    timeout: Duration,
}

enum Server {
    Unix(PathBuf),
    Https { host: String, port: u16, tls: Arc<ClientConfig> },
}

/// Answer to a request: its status and its resource.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    /// True if this request created the resource (status 201).
    pub(crate) created: bool,
    /// Resource in the answer.
    pub(crate) body: T,
}

impl Client {
    /// Reads the URL, the token and the certificates. Connects only when a request is sent.
    pub(crate) fn new(globals: &Globals) -> Result<Self, CliError> {
        if let Some(profile) = chosen_profile(globals)? {
            return Self::of_profile(&profile, globals);
        }
        let shown = globals.server.clone().unwrap_or_else(|| local_server(SOCKETS.map(Path::new)));
        let server = parse_server(&shown, globals)?;
        let token = match (&globals.token, &globals.token_file) {
            (Some(token), _) => Some(token.trim().to_owned()),
            (None, Some(path)) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    CliError::failed(format!("cannot read the token in {}: {error}", path.display()))
                })?;
                Some(text.trim().to_owned())
            }
            (None, None) => None,
        };
        Ok(Self { server, shown, token, timeout: Duration::from_secs(globals.timeout) })
    }

    /// Client of an array that `windlass login` has kept.
    pub(crate) fn of_profile(profile: &Profile, globals: &Globals) -> Result<Self, CliError> {
        let Profile { server: shown, token, certificate } = profile;
        let (host, port) = parse_https(shown)?;
        let server = Server::Https { host, port, tls: pinned_config(certificate)? };
        let timeout = Duration::from_secs(globals.timeout);
        Ok(Self { server, shown: shown.clone(), token: Some(token.clone()), timeout })
    }

    /// Sends a GET request for a resource.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CliError> {
        let (_, body) = self.send(Method::GET, path, None).await?;
        parse(&body)
    }

    /// Sends a GET request for a file.
    pub(crate) async fn bytes(&self, path: &str) -> Result<Bytes, CliError> {
        Ok(self.send(Method::GET, path, None).await?.1)
    }

    /// Sends a GET request for a text.
    pub(crate) async fn text(&self, path: &str) -> Result<String, CliError> {
        String::from_utf8(self.bytes(path).await?.into())
            .map_err(|_| CliError::failed("the array's answer is not text".to_owned()))
    }

    /// Sends a POST request with a text.
    pub(crate) async fn post_text<T: DeserializeOwned>(
        &self,
        path: &str,
        kind: &'static str,
        text: String,
    ) -> Result<T, CliError> {
        let (_, body) = self.send(Method::POST, path, Some((text.into(), kind))).await?;
        parse(&body)
    }

    /// Reads a list, part by part if the array divides it.
    pub(crate) async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, CliError> {
        Ok(self.up_to(path, usize::MAX).await?.0)
    }

    /// Reads a list, part by part, until it has `wanted` resources. Also returns the number of resources that match,
    /// if the array states it.
    pub(crate) async fn up_to<T: DeserializeOwned>(
        &self,
        path: &str,
        wanted: usize,
    ) -> Result<(Vec<T>, Option<u64>), CliError> {
        let List { mut items, mut next, total, .. } = self.get::<List<T>>(path).await?;
        while let Some(path) = next.filter(|_| items.len() < wanted) {
            let part = self.get::<List<T>>(&path).await?;
            items.extend(part.items);
            next = part.next;
        }
        items.truncate(wanted);
        Ok((items, total))
    }

    /// Reads a list that can be long, in parts.
    pub(crate) async fn long_list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, CliError> {
        self.list(&with_limit(path, PART)).await
    }

    /// Sends a POST request that creates a resource or starts a job.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Answer<T>, CliError> {
        let (status, body) = self.send(Method::POST, path, Some((encode(body)?, JSON))).await?;
        Ok(Answer { created: status == StatusCode::CREATED, body: parse(&body)? })
    }

    /// Sends a POST request with a key, again if its answer did not arrive: the array executes it once.
    pub(crate) async fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, CliError> {
        let key = Uuid::new_v4().to_string();
        let sent = (encode(body)?, JSON);
        let mut tries = 0;
        loop {
            tries += 1;
            match self.send_with(Method::POST, path, Some(sent.clone()), Some(&key)).await {
                Err(error) if error.is_unreachable() && tries < TRIES => tokio::time::sleep(PAUSE).await,
                answer => return parse(&answer?.1),
            }
        }
    }

    /// Sends a PATCH request that changes a resource.
    pub(crate) async fn patch<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, CliError> {
        let (_, body) = self.send(Method::PATCH, path, Some((encode(body)?, JSON))).await?;
        parse(&body)
    }

    /// Sends a POST request whose answer has no resource.
    pub(crate) async fn submit(&self, path: &str, body: &impl Serialize) -> Result<(), CliError> {
        self.send(Method::POST, path, Some((encode(body)?, JSON))).await.map(drop)
    }

    /// Sends a PUT request whose answer has no resource.
    pub(crate) async fn put(&self, path: &str, body: &impl Serialize) -> Result<(), CliError> {
        self.send(Method::PUT, path, Some((encode(body)?, JSON))).await.map(drop)
    }

    /// Sends a DELETE request for a resource.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), CliError> {
        self.send(Method::DELETE, path, None).await.map(drop)
    }

    /// Sends a DELETE request that has a reply; `None` if there is nothing left to describe.
    pub(crate) async fn delete_with<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, CliError> {
        let (status, body) = self.send(Method::DELETE, path, None).await?;
        if status == StatusCode::NO_CONTENT { Ok(None) } else { parse(&body).map(Some) }
    }

    /// Asks what a change would do, instead of making it.
    pub(crate) async fn rehearse<B: Serialize>(
        &self,
        method: Method,
        path: &str,
        body: Option<&B>,
    ) -> Result<Effect, CliError> {
        let path = format!("{path}{}dry_run=true", if path.contains('?') { '&' } else { '?' });
        let (_, body) = self.send(method, &path, body.map(encode).transpose()?.map(|body| (body, JSON))).await?;
        parse(&body)
    }

    async fn send(&self, method: Method, path: &str, body: Option<Sent>) -> Result<(StatusCode, Bytes), CliError> {
        self.send_with(method, path, body, None).await
    }

    /// Sends a request. `key`: a repeat with it gets the same answer.
    async fn send_with(
        &self,
        method: Method,
        path: &str,
        body: Option<Sent>,
        key: Option<&str>,
    ) -> Result<(StatusCode, Bytes), CliError> {
        match tokio::time::timeout(self.timeout, self.exchange(method, path, body, key)).await {
            Ok(result) => result,
            Err(_elapsed) => Err(CliError::timed_out(self.timeout.as_secs())),
        }
    }

    /// Opens a stream of events.
    pub(crate) async fn events(&self, path: &str) -> Result<ServerEvents, CliError> {
        let opened = tokio::time::timeout(self.timeout, self.open(Method::GET, path, None, None)).await;
        let (response, sender, connection) =
            opened.map_err(|_elapsed| CliError::timed_out(self.timeout.as_secs()))??;
        if response.status().is_success() {
            return Ok(ServerEvents::new(response.into_body(), sender, connection));
        }
        let refused = tokio::time::timeout(self.timeout, self.finish((response, sender, connection))).await;
        let refused = refused.map_err(|_elapsed| CliError::timed_out(self.timeout.as_secs()))?;
        Err(refused.err().unwrap_or_else(|| CliError::failed("the array sends no stream".to_owned())))
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<Sent>,
        key: Option<&str>,
    ) -> Result<(StatusCode, Bytes), CliError> {
        self.finish(self.open(method, path, body, key).await?).await
    }

    /// Sends a request. Returns the beginning of the answer, and the task that moves the rest.
    async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<Sent>,
        key: Option<&str>,
    ) -> Result<Opened, CliError> {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, self.host());
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some((_, kind)) = &body {
            request = request.header(header::CONTENT_TYPE, *kind);
        }
        let request = request
            .body(Full::new(body.map(|(bytes, _)| bytes).unwrap_or_default()))
            .map_err(|error| CliError::usage(format!("the request cannot be sent: {error}")))?;
        match &self.server {
            Server::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(|error| self.unreachable(&error))?;
                self.begin(stream, request).await
            }
            Server::Https { host, port, tls } => {
                let connected = connect_tls(host, *port, Arc::clone(tls), server_name(host)?).await;
                let stream = connected.map_err(|error| self.unreachable(&error))?;
                self.begin(stream, request).await
            }
        }
    }

    /// Sends the request over a connection. Returns the beginning of the answer, and the task that moves the rest.
    async fn begin(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        request: Request<Full<Bytes>>,
    ) -> Result<Opened, CliError> {
        let broken = |error: hyper::Error| {
            let message =
                format!("the array at {} closed the connection before its answer was complete: {error}", self.shown);
            CliError::unreachable(message, "the array may be stopping: see its log")
        };
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        let connection = tokio::spawn(async move {
            // The reader of the answer has the error.
            let _ended = connection.await;
        });
        let response = sender.send_request(request).await.map_err(broken)?;
        Ok((response, sender, connection))
    }

    /// Reads the rest of an answer.
    async fn finish(&self, (response, sender, connection): Opened) -> Result<(StatusCode, Bytes), CliError> {
        let status = response.status();
        let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
        let body =
            body.map_err(|error| CliError::failed(format!("cannot read the array's answer: {error}")))?.to_bytes();
        drop(sender);
        connection.abort();
        if status.is_success() {
            return Ok((status, body));
        }
        Err(match serde_json::from_slice::<Problem>(&body) {
            Ok(problem) => CliError::problem(problem),
            Err(_) => CliError::failed(format!(
                "{} answered with HTTP status {status} and no error document: it is probably not a Windlass array",
                self.shown
            )),
        })
    }

    fn host(&self) -> String {
        match &self.server {
            Server::Unix(_) => "localhost".to_owned(),
            Server::Https { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            Server::Https { host, port, .. } => format!("{host}:{port}"),
        }
    }

    /// Error for an array that does not answer, with advice.
    fn unreachable(&self, error: &io::Error) -> CliError {
        let message = format!("cannot reach the array at {}: {error}", self.shown);
        match (&self.server, error.kind()) {
            (_, io::ErrorKind::PermissionDenied) => CliError::denied(
                message,
                "root, the user that runs the array and its group may use its socket: join the group, use sudo, or https with a token",
            ),
            (Server::Unix(_), _) => CliError::unreachable(
                message,
                "start it with  windlass serve --state-dir DIR  and name it with  --server unix:DIR/windlass.sock",
            ),
            (Server::Https { host, .. }, io::ErrorKind::InvalidData) => {
                CliError::unreachable(message, &certificate_help(host, error))
            }
            (Server::Https { .. }, _) => CliError::unreachable(
                message,
                "check host and port; the array listens for HTTPS only if it was started with  --http ADDR:PORT",
            ),
        }
    }
}

/// Advice after a failed TLS handshake.
fn certificate_help(host: &str, error: &io::Error) -> String {
    let tls_error = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls_error {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => format!("use a name from the certificate, or add this one: restart the array with  --http-name {host}"),
        Some(rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        )) => "compare the clocks of this machine and the array, or renew the certificate".to_owned(),
        Some(rustls::Error::InvalidCertificate(_)) => {
            "trust the certificate with  --ca FILE  (a copy of the array's STATE_DIR/tls/cert.pem)".to_owned()
        }
        _ => "check the port; the array listens for HTTPS at the address that  --http  names".to_owned(),
    }
}

/// URL of the array on this machine: of the first socket that exists, or whose directory does not
/// show its files to this user; of the first one if there is none.
fn local_server(sockets: [&Path; 2]) -> String {
    let present = sockets.into_iter().find(|socket| !matches!(socket.try_exists(), Ok(false)));
    format!("unix:{}", present.unwrap_or(sockets[0]).display())
}

/// Profile for the commands: that of `--profile`, or the default one if neither an array is named nor one runs on
/// this machine.
fn chosen_profile(globals: &Globals) -> Result<Option<Profile>, CliError> {
    let is_here = || SOCKETS.iter().any(|socket| !matches!(Path::new(socket).try_exists(), Ok(false)));
    match &globals.profile {
        Some(name) => profile::find(Some(name)),
        None if globals.server.is_some() || is_here() => Ok(None),
        None => profile::find(None),
    }
}

/// Name that the certificate of a host has to have.
fn server_name(host: &str) -> Result<ServerName<'static>, CliError> {
    ServerName::try_from(host.to_owned()).map_err(|_| CliError::usage(format!("{host:?} is not the name of a machine")))
}

/// Opens a connection to a port of a host, which has to be `name` if `tls` verifies it.
async fn connect_tls(
    host: &str,
    port: u16,
    tls: Arc<ClientConfig>,
    name: ServerName<'static>,
) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect((host, port)).await?;
    TlsConnector::from(tls).connect(name, stream).await
}

/// SHA-256 of the certificate that a server presents, whoever it is.
pub(crate) async fn presented_certificate(url: &str, globals: &Globals) -> Result<String, CliError> {
    let (host, port) = parse_https(url)?;
    let unreachable = |error: io::Error| {
        CliError::unreachable(format!("cannot reach the array at {url}: {error}"), "check host and port")
    };
    let connect = connect_tls(&host, port, client_config(None, true)?, server_name(&host)?);
    let patience = Duration::from_secs(globals.timeout);
    let connected = tokio::time::timeout(patience, connect).await;
    let stream = connected.map_err(|_| CliError::timed_out(globals.timeout))?.map_err(unreachable)?;
    let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let first = certificates.first().map(fingerprint);
    first.ok_or_else(|| CliError::failed(format!("the array at {url} presents no certificate")))
}

/// Parses the URL of the array.
fn parse_server(url: &str, globals: &Globals) -> Result<Server, CliError> {
    if let Some(path) = url.strip_prefix("unix:") {
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() {
            return Err(CliError::usage(format!("{url:?} names no socket: write unix:/path/to/windlass.sock")));
        }
        return Ok(Server::Unix(PathBuf::from(path)));
    }
    let (host, port) = parse_https(url)?;
    let tls = client_config(globals.ca.as_deref(), globals.insecure)?;
    Ok(Server::Https { host, port, tls })
}

/// Host and port of an https URL.
fn parse_https(url: &str) -> Result<(String, u16), CliError> {
    let wrong = || CliError::usage(format!("{url:?} is not the URL of an array: write unix:PATH or https://HOST:PORT"));
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    if uri.scheme_str() != Some("https") || !matches!(uri.path(), "" | "/") {
        return Err(wrong());
    }
    let host = uri.host().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
    Ok((host, uri.port_u16().unwrap_or(DEFAULT_PORT)))
}

fn encode(body: &impl Serialize) -> Result<Bytes, CliError> {
    serde_json::to_vec(body).map(Bytes::from).map_err(|error| CliError::failed(error.to_string()))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, CliError> {
    serde_json::from_slice(body)
        .map_err(|error| CliError::failed(format!("the array's response is malformed: {error}")))
}

/// Encodes a name as one segment of a path: everything but the unreserved characters of RFC 3986
/// and `@` is percent-encoded.
pub(crate) fn segment(name: &str) -> String {
    let mut text = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'@') {
            text.push(char::from(byte));
        } else {
            let _infallible = write!(text, "%{byte:02X}");
        }
    }
    // A dot segment would be removed from the path (RFC 3986 §5.2.4).
    if matches!(text.as_str(), "." | "..") { text.replace('.', "%2E") } else { text }
}

/// Path and query with a limit on the number of resources.
pub(crate) fn with_limit(path: &str, most: u32) -> String {
    format!("{path}{}limit={most}", if path.contains('?') { '&' } else { '?' })
}

/// Name or value of a parameter in a query.
pub(crate) fn encoded(text: &str) -> String {
    segment(text).replace('@', "%40")
}

/// Builds a query string from the parameters that have a value.
pub(crate) fn query(parameters: &[(&str, Option<&str>)]) -> String {
    let given: Vec<String> =
        parameters.iter().filter_map(|(name, value)| value.map(|value| format!("{name}={}", encoded(value)))).collect();
    if given.is_empty() { String::new() } else { format!("?{}", given.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::{certificate_help, local_server, query, segment};
    use rustls::{CertificateError, Error};
    use std::io;
    use std::path::Path;

    /// Regression: `windlass serve --state-dir /var/lib/windlass` was running, and the commands
    /// looked for its socket in /run/windlass only.
    #[test]
    fn the_socket_of_the_default_state_directory_is_the_second_place() {
        let [absent, present] = [Path::new("/nonexistent/windlass.sock"), Path::new("/dev/null")];
        assert_eq!(local_server([absent, present]), "unix:/dev/null");
        assert_eq!(local_server([present, absent]), "unix:/dev/null");
        assert_eq!(local_server([absent, absent]), "unix:/nonexistent/windlass.sock");
    }

    /// Regression: after a name mismatch the help suggested `--ca`, which had been given.
    #[test]
    fn the_help_after_a_handshake_is_about_what_was_wrong() {
        let help = |error| certificate_help("192.0.2.2", &io::Error::new(io::ErrorKind::InvalidData, error));
        let wrong = |error| help(Error::InvalidCertificate(error));
        assert!(wrong(CertificateError::NotValidForName).ends_with("--http-name 192.0.2.2"));
        assert!(wrong(CertificateError::UnknownIssuer).contains("--ca FILE"));
        assert!(wrong(CertificateError::Expired).contains("clocks"));
        assert!(help(Error::HandshakeNotComplete).starts_with("check the port"));
    }

    #[test]
    fn names_cannot_leave_their_place_in_the_path() {
        assert_eq!(segment("win-dc1"), "win-dc1");
        assert_eq!(segment("v1@monday"), "v1@monday");
        assert_eq!(segment("../hosts/x?y#z"), "..%2Fhosts%2Fx%3Fy%23z");
        assert_eq!(segment(".."), "%2E%2E");
        assert_eq!(segment("ü"), "%C3%BC");
        assert_eq!(query(&[("volume", Some("a&b")), ("limit", None)]), "?volume=a%26b");
        assert_eq!(query(&[("volume", None)]), "");
    }
}
