//! Peers that are down, slow, silent, or send nonsense without end: a try ends in time, with a reason, and keeps a
//! bounded part of what it reads.

use crate::peer::listen;
use crate::send;
use api::{ChannelSettings, EmailSettings, MailTls, SyslogSettings, SyslogTransport, WebhookBody, WebhookSettings};
use notification::{Kind, TIME_LIMIT};
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

/// One channel of each kind to a port.
fn channels(port: u16) -> [ChannelSettings; 5] {
    let email = |tls| EmailSettings {
        server: "127.0.0.1".to_owned(),
        port: Some(port),
        tls,
        ca: None,
        user: None,
        password: None,
        has_password: None,
        from: "array@example.org".to_owned(),
        to: vec!["ops@example.org".to_owned()],
    };
    let webhook = |scheme: &str| WebhookSettings {
        url: format!("{scheme}://127.0.0.1:{port}/"),
        body: WebhookBody::Windlass,
        secret: None,
        has_secret: None,
        ca: None,
    };
    let server = "127.0.0.1".to_owned();
    let transport = SyslogTransport::Tls;
    [
        ChannelSettings::Email(email(MailTls::Starttls)),
        ChannelSettings::Email(email(MailTls::Tls)),
        ChannelSettings::Webhook(webhook("http")),
        ChannelSettings::Webhook(webhook("https")),
        ChannelSettings::Syslog(SyslogSettings {
            server,
            port: Some(port),
            transport,
            facility: None,
            ca: None,
            audit: false,
        }),
    ]
}

#[tokio::test]
async fn a_peer_that_is_down_is_named() {
    let (listener, port) = listen().await;
    drop(listener);
    for settings in channels(port) {
        let error = send(settings, Kind::Raised).await.unwrap_err();
        assert!(error.to_lowercase().contains("refused"), "{error}");
    }
}

/// In virtual time, which stands still while anything moves: the limit is reached only because the peer is silent.
#[tokio::test(start_paused = true)]
async fn a_peer_that_never_answers_is_given_up_in_time() {
    for settings in channels(0) {
        let (listener, port) = listen().await;
        let settings = with_port(settings, port);
        let begun = Instant::now();
        let silent = async {
            let (_stream, _) = listener.accept().await.unwrap();
            std::future::pending::<()>().await;
        };
        let result = tokio::select! {
            result = send(settings, Kind::Raised) => result,
            () = silent => unreachable!(),
        };
        assert!(result.is_err(), "{result:?}");
        assert!(begun.elapsed() <= TIME_LIMIT + std::time::Duration::from_secs(1), "{:?}", begun.elapsed());
    }
}

/// A byte each second renews no limit.
#[tokio::test(start_paused = true)]
async fn a_peer_that_is_slow_is_given_up_in_time() {
    for settings in channels(0) {
        let (listener, port) = listen().await;
        let settings = with_port(settings, port);
        let begun = Instant::now();
        let slow = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            while stream.write_all(b"2").await.is_ok() {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
            std::future::pending::<()>().await;
        };
        let result = tokio::select! {
            result = send(settings, Kind::Raised) => result,
            () = slow => unreachable!(),
        };
        assert!(result.is_err(), "{result:?}");
        assert!(begun.elapsed() <= TIME_LIMIT + std::time::Duration::from_secs(1), "{:?}", begun.elapsed());
    }
}

/// Garbage without a line break, as much as the sender takes: if it kept all, this would not end before the memory.
#[tokio::test]
async fn a_peer_that_sends_garbage_without_end_is_given_up() {
    for start in [&b""[..], b"220 x\r\n", b"HTTP/1.1 500 x\r\n\r\n", b"HTTP/1.1 200 x\r\nx: ", b"\x16\x03\x03\xff\xff"]
    {
        for settings in channels(0) {
            let (listener, port) = listen().await;
            let settings = with_port(settings, port);
            let garbage = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut sent = 0_usize;
                let _ended = stream.write_all(start).await;
                while stream.write_all(&[b'\xe2'; 64 << 10]).await.is_ok() {
                    sent += 64 << 10;
                    assert!(sent < 256 << 20, "the sender takes everything");
                }
                std::future::pending::<()>().await;
            };
            let result = tokio::select! {
                result = send(settings, Kind::Raised) => result,
                () = garbage => unreachable!(),
            };
            let words = match result {
                Ok(words) | Err(words) => words,
            };
            assert!(words.chars().count() <= 301 && !words.contains('\u{fffd}') | words.starts_with("HTTP"), "{words}");
        }
    }
}

fn with_port(settings: ChannelSettings, port: u16) -> ChannelSettings {
    let same = |other: &ChannelSettings| match (&settings, other) {
        (ChannelSettings::Email(one), ChannelSettings::Email(other)) => one.tls == other.tls,
        (ChannelSettings::Webhook(one), ChannelSettings::Webhook(other)) => {
            one.url.starts_with("https") == other.url.starts_with("https")
        }
        (ChannelSettings::Syslog(_), ChannelSettings::Syslog(_)) => true,
        _ => false,
    };
    channels(port).into_iter().find(same).unwrap()
}
