//! HTTP/2 over TLS: what clients get, and what floods of frames come to.

use super::super::http2::MAX_STREAMS;
use super::*;
use crate::http::cookie;
use crate::http::tests::people::PASSWORD;
use axum::body::Bytes;
use axum::http::{Request, Version};
use h2::client::{Builder, SendRequest};
use h2::{Reason, RecvStream};
use serde_json::{Value, json};
use tokio::io::{ReadHalf, WriteHalf};

const HTTP_1_1: &[u8] = b"http/1.1";
/// Bytes of a client's first message (RFC 9113 §3.4), with an empty SETTINGS frame.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

// Types and flags of frames (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Header block of a request without authority, encoded by the static table (RFC 7541 appendix A).
fn block(method: u8, path: &str) -> Vec<u8> {
    let mut block = vec![method, 0x87, 0x04, u8::try_from(path.len()).unwrap()];
    block.extend_from_slice(path.as_bytes());
    block
}

fn get_block(path: &str) -> Vec<u8> {
    block(0x82, path)
}

/// The same with a body of JSON, which may follow.
fn post_block(path: &str) -> Vec<u8> {
    let mut block = block(0x83, path);
    block.extend_from_slice(b"\x0f\x10\x10application/json");
    block
}

/// Connection on which frames are written byte by byte.
struct Raw {
    reader: ReadHalf<TlsStream<TcpStream>>,
    writer: WriteHalf<TlsStream<TcpStream>>,
}

impl Raw {
    async fn open(https: &Https, from: [u8; 4]) -> Self {
        let stream = https.handshake_for(from, &[tls::HTTP_2]).await;
        let (reader, mut writer) = tokio::io::split(stream);
        writer.write_all(PREFACE).await.unwrap();
        Self { reader, writer }
    }

    async fn send(&mut self, frames: &[u8]) {
        self.writer.write_all(frames).await.unwrap();
        self.writer.flush().await.unwrap();
    }

    /// Next frame of a kind: its stream and payload. `None` at the end of the connection.
    async fn next(&mut self, kind: u8) -> Option<(u32, Vec<u8>)> {
        next(&mut self.reader, kind).await
    }
}

async fn next(reader: &mut ReadHalf<TlsStream<TcpStream>>, wanted: u8) -> Option<(u32, Vec<u8>)> {
    loop {
        let mut head = [0; 9];
        timeout(PATIENCE, reader.read_exact(&mut head)).await.unwrap().ok()?;
        let [high, middle, low, kind, _flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]).try_into().unwrap()];
        timeout(PATIENCE, reader.read_exact(&mut payload)).await.unwrap().ok()?;
        if kind == wanted {
            return Some((u32::from_be_bytes(stream), payload));
        }
    }
}

/// Reason of a GOAWAY frame.
fn reason(goaway: &[u8]) -> Reason {
    Reason::from(u32::from_be_bytes(goaway[4..8].try_into().unwrap()))
}

/// Client of HTTP/2.
#[derive(Clone)]
struct Client {
    sender: SendRequest<Bytes>,
    origin: String,
    token: String,
}

impl Client {
    async fn open(https: &Https, from: [u8; 4]) -> Self {
        Self::with(https, from, &Builder::new()).await
    }

    async fn with(https: &Https, from: [u8; 4], builder: &Builder) -> Self {
        let stream = https.handshake_for(from, &[tls::HTTP_2, HTTP_1_1]).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(tls::HTTP_2));
        let (sender, connection) = builder.handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let origin = format!("https://localhost:{}", https.address.port());
        Self { sender, origin, token: https.token.clone() }
    }

    fn request(&self, method: &str, path: &str) -> axum::http::request::Builder {
        let request = Request::builder().version(Version::HTTP_2).method(method).uri(format!("{}{path}", self.origin));
        request.header("content-type", "application/json")
    }

    /// Sends a request, with a body that ends or without; returns the head of the answer and its body.
    async fn send(&self, request: Request<Option<Value>>) -> Result<axum::http::Response<RecvStream>, h2::Error> {
        let (head, body) = request.into_parts();
        let mut sender = timeout(PATIENCE, self.sender.clone().ready()).await.unwrap()?;
        let (answer, mut stream) = sender.send_request(Request::from_parts(head, ()), body.is_none())?;
        if let Some(body) = body {
            stream.send_data(Bytes::from(body.to_string()), true)?;
        }
        timeout(PATIENCE, answer).await.unwrap()
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.request(method, path).header("authorization", format!("Bearer {}", self.token));
        let answer = self.send(request.body(body).unwrap()).await.unwrap();
        let status = answer.status().as_u16();
        (status, serde_json::from_slice(&whole(answer.into_body()).await.unwrap()).unwrap_or_default())
    }

    /// Opens a live stream, and waits for its first event.
    async fn live(&self) -> RecvStream {
        let request = self.request("GET", "/api/v1/live?topics=array");
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let answer = self.send(request.body(None).unwrap()).await.unwrap();
        assert_eq!(answer.status(), 200);
        let mut body = answer.into_body();
        let first = timeout(PATIENCE, body.data()).await.unwrap().unwrap().unwrap();
        assert!(first.starts_with(b"event: hello"), "{first:?}");
        body
    }
}

/// The whole body of an answer.
async fn whole(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut bytes = Vec::new();
    while let Some(piece) = timeout(PATIENCE, body.data()).await.unwrap() {
        let piece = piece?;
        body.flow_control().release_capacity(piece.len())?;
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// A client of HTTP/1.1 gets an answer from an address that is not used otherwise.
async fn others_are_served(https: &Https) {
    let mut other = https.handshake([127, 0, 0, 9]).await;
    assert_eq!(https.get(&mut other, "/api/v1/volumes").await, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn tls_offers_both_protocols() {
    let https = Https::start().await;
    for (offered, chosen) in [
        (vec![tls::HTTP_2, HTTP_1_1], Some(tls::HTTP_2)),
        (vec![HTTP_1_1, tls::HTTP_2], Some(tls::HTTP_2)),
        (vec![HTTP_1_1], Some(HTTP_1_1)),
        (vec![], None),
    ] {
        let mut stream = https.handshake_for([127, 0, 0, 2], &offered).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen);
        if chosen != Some(tls::HTTP_2) {
            assert_eq!(https.get(&mut stream, "/api/v1/volumes").await, "HTTP/1.1 200 OK");
        }
    }
    let client = Client::open(&https, [127, 0, 0, 2]).await;
    for name in ["v1", "v2"] {
        let made = client.ask("POST", "/api/v1/volumes", Some(json!({ "name": name, "size_bytes": 1 << 20 }))).await;
        assert_eq!(made.0, 201, "{}", made.1);
    }
    let (status, listed) = client.ask("GET", "/api/v1/volumes?sort=name", None).await;
    assert_eq!((status, &listed["total"], &listed["items"][1]["name"]), (200, &json!(2), &json!("v2")));
    let (status, document) = client.ask("GET", "/api/v1/openapi.json", None).await;
    assert!(status == 200 && document["paths"].as_object().unwrap().len() > 50, "an answer of many pieces");
    assert_eq!(client.ask("GET", "/api/v1/none", None).await.0, 404);
    let tunnel = Request::builder().version(Version::HTTP_2).method("CONNECT").uri("192.0.2.1:443");
    let refused = client.send(tunnel.body(None).unwrap()).await.unwrap();
    assert!(refused.status().is_client_error(), "{}", refused.status());
}

/// Over HTTP/2 a request has no header `Host`, and a browser sends each cookie in a header of its own.
#[tokio::test]
async fn a_browser_signs_in_and_changes() {
    let https = Https::start().await;
    let client = Client::open(&https, [127, 0, 0, 2]).await;
    let user = json!({ "name": "otto", "role": "operator", "password": PASSWORD, "must_change": false });
    assert_eq!(client.ask("POST", "/api/v1/users", Some(user)).await.0, 201);
    let page = |path: &str| {
        let request = client.request("POST", path).header("origin", &client.origin);
        request.header("sec-fetch-site", "same-origin")
    };
    let body = json!({ "user": "otto", "password": PASSWORD });
    let answer = client.send(page("/api/v1/sign-in").body(Some(body)).unwrap()).await.unwrap();
    let pair = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let value = pair.split_once('=').unwrap().1.to_owned();
    let change = |origin: &str| {
        let request = client.request("POST", "/api/v1/volumes").header("origin", origin);
        let request = request.header("cookie", "a=b").header("cookie", &pair);
        let request = request.header("windlass-csrf", cookie::csrf(&value)).header("sec-fetch-site", "same-origin");
        request.body(Some(json!({ "name": "v1", "size_bytes": 1 << 20 }))).unwrap()
    };
    assert_eq!(client.send(change("https://localhost:1")).await.unwrap().status(), 403);
    assert_eq!(client.send(change(&client.origin)).await.unwrap().status(), 201);
}

/// Each browser took six of the 16 streams of an address: the third administrator behind one router lost
/// some.
#[tokio::test]
async fn three_administrators_behind_one_address_all_get_in() {
    let https = Https::start().await;
    let mut browsers = Vec::new();
    for _ in 0..3 {
        let client = Client::open(&https, [127, 0, 0, 2]).await;
        let mut tabs = Vec::new();
        for _ in 0..6 {
            tabs.push(client.live().await);
            assert_eq!(client.ask("GET", "/api/v1/volumes", None).await.0, 200);
        }
        browsers.push((client, tabs));
    }
    for (client, tabs) in &mut browsers {
        assert_eq!(client.ask("GET", "/api/v1/volumes", None).await.0, 200);
        for tab in tabs {
            assert!(!timeout(PATIENCE, tab.data()).await.unwrap().unwrap().unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn a_stream_too_many_is_refused_and_the_connection_lives() {
    let https = Https::start().await;
    let mut raw = Raw::open(&https, [127, 0, 0, 2]).await;
    let mut frames = Vec::new();
    for at in 0..MAX_STREAMS {
        frames.extend(frame(HEADERS, END_HEADERS, 2 * at + 1, &post_block("/api/v1/sign-in")));
    }
    let further = 2 * MAX_STREAMS + 1;
    frames.extend(frame(HEADERS, END_HEADERS | END_STREAM, further, &get_block("/health")));
    raw.send(&frames).await;
    let refused = raw.next(RST_STREAM).await;
    assert_eq!(refused, Some((further, u32::from(Reason::REFUSED_STREAM).to_be_bytes().to_vec())));
    // One of the others ends.
    let mut frames = frame(RST_STREAM, 0, 1, &u32::from(Reason::CANCEL).to_be_bytes());
    frames.extend(frame(HEADERS, END_HEADERS | END_STREAM, further + 2, &get_block("/health")));
    raw.send(&frames).await;
    assert_eq!(raw.next(DATA).await.unwrap().0, further + 2);
    others_are_served(&https).await;
}

/// CVE-2023-44487: each stream is reset at once, so that the limit of streams is never reached.
#[tokio::test]
async fn a_flood_of_resets_ends_its_connection() {
    let https = Https::start().await;
    let administrator = Client::open(&https, [127, 0, 0, 3]).await;
    let Raw { mut reader, mut writer } = Raw::open(&https, [127, 0, 0, 2]).await;
    let flood = tokio::spawn(async move {
        for at in 0..10_000 {
            let mut frames = frame(HEADERS, END_HEADERS | END_STREAM, 2 * at + 1, &get_block("/api/v1/volumes"));
            frames.extend(frame(RST_STREAM, 0, 2 * at + 1, &u32::from(Reason::CANCEL).to_be_bytes()));
            if writer.write_all(&frames).await.is_err() {
                break;
            }
        }
        let _ended = writer.flush().await;
        writer
    });
    assert_eq!(administrator.ask("GET", "/api/v1/volumes", None).await.0, 200);
    let goaway = next(&mut reader, GOAWAY).await;
    assert_eq!(goaway.map(|(_, payload)| reason(&payload)), Some(Reason::ENHANCE_YOUR_CALM));
    assert_eq!(next(&mut reader, GOAWAY).await, None, "the end");
    assert_eq!(administrator.ask("GET", "/api/v1/volumes", None).await.0, 200);
    others_are_served(&https).await;
    drop(flood.await);
}

/// CVE-2024-27316: headers that never end.
#[tokio::test]
async fn a_flood_of_continuations_ends_its_connection() {
    let https = Https::start().await;
    let administrator = Client::open(&https, [127, 0, 0, 3]).await;
    let Raw { mut reader, mut writer } = Raw::open(&https, [127, 0, 0, 2]).await;
    let flood = tokio::spawn(async move {
        let mut sent = writer.write_all(&frame(HEADERS, END_STREAM, 1, &get_block("/health"))).await.is_ok();
        // A field that is not added to the table: `a` with 126 bytes.
        let mut field = vec![0, 1, b'a', 126];
        field.extend([b'b'; 126]);
        let mut frames = 0;
        while sent && frames < 10_000 {
            sent = writer.write_all(&frame(CONTINUATION, 0, 1, &field.repeat(100))).await.is_ok();
            frames += 1;
        }
        frames
    });
    assert_eq!(administrator.ask("GET", "/api/v1/volumes", None).await.0, 200);
    assert!(next(&mut reader, u8::MAX).await.is_none(), "the end");
    drop(reader);
    let frames = timeout(PATIENCE, flood).await.unwrap().unwrap();
    // What fits into the buffers of the sockets is not read.
    assert!(frames < 2_000, "{frames} frames");
    assert_eq!(administrator.ask("GET", "/api/v1/volumes", None).await.0, 200);
}

/// Headers up to the limit of HTTP/1.1 are taken.
#[tokio::test]
async fn headers_are_limited_as_over_http1() {
    let https = Https::start().await;
    let client = Client::open(&https, [127, 0, 0, 2]).await;
    let with = async |bytes: usize| {
        let mut request = client.request("GET", "/health");
        for at in 0..bytes >> 10 {
            request = request.header(format!("x-{at}"), "y".repeat(1 << 10));
        }
        client.send(request.body(None).unwrap()).await.map(|answer| answer.status().as_u16())
    };
    assert_eq!(with(MAX_HEADER_BYTES - (8 << 10)).await.unwrap(), 200);
    assert_eq!(with(MAX_HEADER_BYTES + (8 << 10)).await.unwrap(), 431);
    assert_eq!(client.ask("GET", "/api/v1/volumes", None).await.0, 200);
}

/// Slow bodies of one address take nothing from others, and end like slow bodies of HTTP/1.1.
#[tokio::test]
async fn hundreds_of_slow_bodies_keep_nobody_out() {
    let https = Https::start().await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        let client = Client::open(&https, [127, 0, 0, 2]).await;
        for _ in 0..62 {
            let head = client.request("POST", "/api/v1/sign-in").body(()).unwrap();
            let mut sender = timeout(PATIENCE, client.sender.clone().ready()).await.unwrap().unwrap();
            slow.push(sender.send_request(head, false).unwrap());
        }
    }
    let administrator = Client::open(&https, [127, 0, 0, 3]).await;
    for _ in 0..20 {
        assert_eq!(administrator.ask("GET", "/api/v1/volumes", None).await.0, 200);
    }
    let neighbour = Client::open(&https, [127, 0, 0, 2]).await;
    assert_eq!(neighbour.ask("GET", "/api/v1/volumes", None).await.0, 200);
    others_are_served(&https).await;
    tokio::time::pause();
    for (answer, _body) in slow {
        assert_eq!(answer.await.unwrap().status(), 408);
    }
}

/// A client that opens no window for an answer kept it, and a stream, for as long as it liked.
#[tokio::test]
async fn an_answer_that_is_not_taken_ends_its_stream_alone() {
    let stall = Duration::from_millis(300);
    let https = Https::with(Deadlines { handshake: NEVER, first_request: NEVER, idle: NEVER, stall }).await;
    let mut builder = Builder::new();
    builder.initial_window_size(1000);
    let client = Client::with(&https, [127, 0, 0, 2], &builder).await;
    let live = client.live().await;
    let request =
        client.request("GET", "/api/v1/openapi.json").header("authorization", format!("Bearer {}", client.token));
    let mut body = client.send(request.body(None).unwrap()).await.unwrap().into_body();
    let error = loop {
        match timeout(PATIENCE, body.data()).await.unwrap() {
            Some(Ok(_not_taken)) => {}
            Some(Err(error)) => break error,
            None => panic!("the answer is complete"),
        }
    };
    assert_eq!(error.reason(), Some(Reason::CANCEL));
    assert_eq!(client.ask("GET", "/health", None).await.0, 200);
    // A stream whose client waits for the array is none of those.
    drop(live);
}

#[tokio::test]
async fn an_idle_connection_is_told_and_closed() {
    let idle = Duration::from_millis(200);
    let https = Https::with(Deadlines { handshake: NEVER, first_request: NEVER, idle, stall: NEVER }).await;
    let used = Client::open(&https, [127, 0, 0, 3]).await;
    let mut live = used.live().await;
    // It answers pings.
    let stream = https.handshake_for([127, 0, 0, 2], &[tls::HTTP_2]).await;
    let (_sender, silent) = h2::client::handshake(stream).await.unwrap();
    timeout(PATIENCE, silent).await.unwrap().unwrap();
    let mut raw = Raw::open(&https, [127, 0, 0, 2]).await;
    raw.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &get_block("/health"))).await;
    let goaway = raw.next(GOAWAY).await.unwrap();
    assert_eq!(reason(&goaway.1), Reason::NO_ERROR);
    // It does not answer the ping, by which a client says that it has read the first GOAWAY.
    assert_eq!(raw.next(u8::MAX).await, None, "the end");
    assert!(timeout(PATIENCE, live.data()).await.unwrap().unwrap().is_ok());
    assert_eq!(used.ask("GET", "/api/v1/volumes", None).await.0, 200);
}

#[tokio::test]
async fn the_stop_of_the_array_ends_connections() {
    let https = Https::start().await;
    let client = Client::open(&https, [127, 0, 0, 2]).await;
    let live = client.live().await;
    let idle = Client::open(&https, [127, 0, 0, 3]).await;
    assert_eq!(idle.ask("GET", "/api/v1/volumes", None).await.0, 200);
    let mut silent = Raw::open(&https, [127, 0, 0, 4]).await;
    let Https { running, .. } = https;
    timeout(DRAIN_TIMEOUT * 2, running.stop()).await.unwrap();
    let last = whole(live).await.unwrap();
    assert!(String::from_utf8_lossy(&last).contains("event: bye"), "{last:?}");
    assert!(silent.next(GOAWAY).await.is_some());
    let later = async { idle.sender.clone().ready().await.map(drop) };
    assert!(timeout(PATIENCE, later).await.unwrap().is_err());
}
