//! A receiver of webhooks.

use crate::peer::{Identity, accept, listen};
use crate::send;
use api::{ChannelSettings, WebhookBody, WebhookSettings};
use hmac::{Hmac, Mac};
use notification::Kind;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Head and body of a request.
struct Received {
    head: String,
    body: Vec<u8>,
}

/// Takes one request and answers it.
async fn receive(listener: TcpListener, tls: Option<&TlsAcceptor>, answer: &str) -> Option<Received> {
    let mut stream = accept(&listener, tls).await?;
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = stream.read(&mut buffer).await.unwrap();
        bytes.extend_from_slice(&buffer[..count]);
        let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let body = bytes.get(end + 4..).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            return Some(Received { head, body: body.to_vec() });
        }
    }
}

fn settings(url: String, body: WebhookBody, ca: Option<String>) -> ChannelSettings {
    let secret = Some("key".to_owned());
    ChannelSettings::Webhook(WebhookSettings { url, body, secret, has_secret: None, ca })
}

const OK: &str = "HTTP/1.1 202 Accepted\r\nContent-Length: 11\r\n\r\nincident\n 7";

#[tokio::test]
async fn a_webhook_is_signed_and_has_our_body() {
    let identity = Identity::new();
    for is_tls in [false, true] {
        let (listener, port) = listen().await;
        let scheme = if is_tls { "https" } else { "http" };
        let settings =
            settings(format!("{scheme}://127.0.0.1:{port}/hook?a=b"), WebhookBody::Windlass, Some(identity.ca.clone()));
        let tls = is_tls.then_some(&identity.acceptor);
        let (result, received) = tokio::join!(send(settings, Kind::Raised), receive(listener, tls, OK));
        assert_eq!(result.as_deref(), Ok("HTTP 202 Accepted incident 7"));
        let Received { head, body } = received.unwrap();
        assert!(
            head.starts_with("post /hook?a=b http/1.1") && head.contains("content-type: application/json"),
            "{head}"
        );
        let signature = head.lines().find_map(|line| line.strip_prefix("windlass-signature: t=")).unwrap();
        let (seconds, hex) = signature.split_once(",sha256=").unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(b"key").unwrap();
        mac.update(format!("{seconds}.").as_bytes());
        mac.update(&body);
        let expected: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["notices"][0]["code"], "pool-full");
        assert_eq!(body["notices"][0]["kind"], "raised");
        assert_eq!(body["id"], "00000000-0000-0000-0000-00000000002a");
        assert_eq!(body["array"]["machine"], "array1");
    }
}

#[tokio::test]
async fn a_webhook_can_have_the_body_of_alertmanager() {
    for (kind, status) in [(Kind::Raised, "firing"), (Kind::Cleared, "resolved")] {
        let (listener, port) = listen().await;
        let settings = settings(format!("http://127.0.0.1:{port}"), WebhookBody::Alertmanager, None);
        let (result, received) = tokio::join!(send(settings, kind), receive(listener, None, OK));
        assert!(result.is_ok(), "{result:?}");
        let body: Value = serde_json::from_slice(&received.unwrap().body).unwrap();
        assert_eq!((&body["version"], &body["status"]), (&json!("4"), &json!(status)));
        let alert = &body["alerts"][0];
        assert_eq!((&alert["status"], &alert["labels"]["alertname"]), (&json!(status), &json!("pool-full")));
        assert_eq!(alert["labels"], body["commonLabels"]);
        let ends = if kind == Kind::Raised { "0001-01-01T00:00:00Z" } else { "2026-01-01T01:00:00Z" };
        assert_eq!(alert["endsAt"], ends);
    }
}

#[tokio::test]
async fn other_answers_are_failures_in_the_peers_words() {
    let redirection = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let failure = "HTTP/1.1 500 Oops\r\nContent-Length: 10\r\n\r\nno\x1b[1m room";
    for (answer, words) in
        [(redirection, "HTTP 302 Found"), (failure, "HTTP 500 Internal Server Error no\\u{1b}[1m roo")]
    {
        let (listener, port) = listen().await;
        let settings = settings(format!("http://127.0.0.1:{port}"), WebhookBody::Windlass, None);
        let (result, _) = tokio::join!(send(settings, Kind::Raised), receive(listener, None, answer));
        assert_eq!(result.unwrap_err(), words);
    }
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let (identity, (listener, port)) = (Identity::new(), listen().await);
    let url = format!("https://127.0.0.1:{port}");
    let settings = settings(url, WebhookBody::Windlass, Some(Identity::new().ca));
    let (result, received) =
        tokio::join!(send(settings, Kind::Raised), receive(listener, Some(&identity.acceptor), OK));
    assert!(result.unwrap_err().contains("certificate"));
    assert!(received.is_none());
}
