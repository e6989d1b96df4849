//! Syslog over UDP (RFC 5426), TCP (RFC 6587) and TLS (RFC 5425). Its receivers answer nothing: what they refuse is
//! noticed only if the connection, or the port, is refused.

use super::{described, tls};
use crate::notice::{AuditLine, Message};
use crate::render::{Sender, syslog};
use api::{SyslogSettings, SyslogTransport};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UdpSocket;

/// Time in which a closed port refuses a datagram.
const REFUSAL: Duration = Duration::from_millis(300);
/// Time in which a receiver closes its side of a connection after ours.
const CLOSE: Duration = Duration::from_secs(2);
/// Facility for local use (local0).
const LOCAL: u8 = 16;

/// Sends the syslog messages of a message.
pub(super) async fn send(settings: &SyslogSettings, message: &Message, sender: &Sender) -> Result<String, String> {
    deliver(settings, syslog::messages(sender, message, settings.facility.unwrap_or(LOCAL))).await
}

/// Sends lines of the audit, each as a syslog message.
pub(super) async fn send_audit(
    settings: &SyslogSettings,
    lines: &[AuditLine],
    sender: &Sender,
) -> Result<String, String> {
    let facility = settings.facility.unwrap_or(LOCAL);
    // A datagram has to fit into what every receiver takes.
    let most = if settings.transport == SyslogTransport::Udp { syslog::MAX_BYTES } else { syslog::MAX_AUDIT_BYTES };
    deliver(settings, lines.iter().map(|line| syslog::audit(sender, line, facility, most)).collect()).await
}

async fn deliver(settings: &SyslogSettings, messages: Vec<Vec<u8>>) -> Result<String, String> {
    let SyslogSettings { server, transport, ca, .. } = settings;
    let port = settings.port();
    let failed = |error: io::Error| format!("cannot send to {server} port {port}: {}", described(&error));
    match transport {
        SyslogTransport::Udp => datagrams(server, port, &messages).await.map_err(failed)?,
        SyslogTransport::Tcp => frames(tls::connect(server, port, None).await?, &messages).await.map_err(failed)?,
        SyslogTransport::Tls => {
            let stream = tls::connect(server, port, Some(ca.as_deref())).await?;
            frames(stream, &messages).await.map_err(failed)?;
        }
    }
    let bytes: usize = messages.iter().map(Vec::len).sum();
    Ok(format!("{bytes} bytes sent; a syslog receiver answers nothing"))
}

async fn datagrams(server: &str, port: u16, messages: &[Vec<u8>]) -> io::Result<()> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in tokio::net::lookup_host((server, port)).await? {
        match datagrams_to(address, messages).await {
            Ok(()) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn datagrams_to(address: SocketAddr, messages: &[Vec<u8>]) -> io::Result<()> {
    let own: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(own).await?;
    socket.connect(address).await?;
    for message in messages {
        socket.send(message).await?;
    }
    // A refusal by the machine arrives as an error of the socket; an answer has no meaning.
    match tokio::time::timeout(REFUSAL, socket.recv(&mut [0])).await {
        Ok(Err(error)) => Err(error),
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

/// Sends messages, each after its length, and closes the connection. What a receiver sends is thrown away.
async fn frames(mut stream: Box<dyn tls::Stream>, messages: &[Vec<u8>]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for message in messages {
        bytes.extend_from_slice(format!("{} ", message.len()).as_bytes());
        bytes.extend_from_slice(message);
    }
    stream.write_all(&bytes).await?;
    stream.shutdown().await?;
    // A receiver that has read everything closes, too; one that gave up resets the connection.
    let end = async {
        let mut buffer = [0; 512];
        loop {
            match stream.read(&mut buffer).await {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // Many receivers close TLS without its last message.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    };
    tokio::time::timeout(CLOSE, end).await.unwrap_or(Ok(()))
}
