//! A syslog receiver over UDP, TCP and TLS.

use crate::peer::{Identity, accept, listen, read_to_end};
use crate::send;
use api::{ChannelSettings, SyslogSettings, SyslogTransport};
use notification::Kind;
use tokio::net::UdpSocket;

fn settings(port: u16, transport: SyslogTransport, ca: Option<String>) -> ChannelSettings {
    let (server, facility) = ("127.0.0.1".to_owned(), Some(3));
    ChannelSettings::Syslog(SyslogSettings { server, port: Some(port), transport, facility, ca, audit: false })
}

/// Priority is facility × 8 + severity: daemon.crit, and daemon.notice for the end.
const HEADS: [(Kind, &str); 2] = [
    (Kind::Raised, "<26>1 2026-01-01T00:00:01.000000Z array1 windlass 7 raised [windlass@32473 "),
    (Kind::Cleared, "<29>1 2026-01-01T00:00:01.000000Z array1 windlass 7 cleared [windlass@32473 "),
];

#[tokio::test]
async fn a_datagram_is_a_message() {
    for (kind, head) in HEADS {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let port = socket.local_addr().unwrap().port();
        let result = send(settings(port, SyslogTransport::Udp, None), kind).await;
        assert!(result.unwrap().ends_with("a syslog receiver answers nothing"));
        let mut buffer = [0; 4096];
        let count = socket.recv(&mut buffer).await.unwrap();
        let text = std::str::from_utf8(&buffer[..count]).unwrap();
        assert!(text.starts_with(head) && text.ends_with("the pool is full"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    }
}

#[tokio::test]
async fn streams_carry_each_message_after_its_length() {
    let identity = Identity::new();
    for transport in [SyslogTransport::Tcp, SyslogTransport::Tls] {
        for (kind, head) in HEADS {
            let (listener, port) = listen().await;
            let tls = (transport == SyslogTransport::Tls).then_some(&identity.acceptor);
            let receive = async { read_to_end(accept(&listener, tls).await.unwrap()).await };
            let settings = settings(port, transport, Some(identity.ca.clone()));
            let (result, text) = tokio::join!(send(settings, kind), receive);
            assert!(result.is_ok(), "{transport:?} {result:?}");
            let (length, message) = text.split_once(' ').unwrap();
            assert_eq!(length.parse::<usize>().unwrap(), message.len());
            assert!(message.starts_with(head), "{message}");
        }
    }
}

#[tokio::test]
async fn refusals_are_noticed() {
    // A port that nobody listens on any more.
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    drop(socket);
    let error = send(settings(port, SyslogTransport::Udp, None), Kind::Raised).await.unwrap_err();
    assert!(error.contains("refused"), "{error}");
    // A certificate of another authority.
    let (identity, (listener, port)) = (Identity::new(), listen().await);
    let settings = settings(port, SyslogTransport::Tls, Some(Identity::new().ca));
    let (result, accepted) = tokio::join!(send(settings, Kind::Raised), accept(&listener, Some(&identity.acceptor)));
    assert!(result.unwrap_err().contains("certificate") && accepted.is_none());
}
