//! TCP forwarder that counts the bytes of its connections, independent of other traffic of the
//! machine.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Forwarder from a port of 127.0.0.1 to a portal. It runs as long as the process.
pub(super) struct Proxy {
    address: SocketAddr,
    bytes: Arc<AtomicU64>,
}

impl Proxy {
    /// Starts to listen, and forwards to `portal`.
    pub(super) fn start(portal: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on 127.0.0.1")?;
        let address = listener.local_addr()?;
        let bytes = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&bytes);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // If the portal does not answer, the client notices it: its connection is closed
                // here.
                if let Ok(server) = TcpStream::connect(portal) {
                    forward_both(client, server, &counter);
                }
            }
        });
        Ok(Self { address, bytes })
    }

    /// URL of a logical unit through this proxy.
    pub(super) fn url(&self, url: &str) -> Result<String> {
        let rest = url.strip_prefix("iscsi://").and_then(|rest| rest.split_once('/'));
        let (_, path) = rest.with_context(|| format!("{url} is no iSCSI URL"))?;
        Ok(format!("iscsi://{}/{path}", self.address))
    }

    /// Bytes in both directions so far, without TCP and IP headers.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// Forwards each direction on its own thread.
fn forward_both(client: TcpStream, server: TcpStream, counter: &Arc<AtomicU64>) {
    // If a socket cannot be cloned, the connection is closed and the client reports it.
    let (Ok(client_reader), Ok(server_reader)) = (client.try_clone(), server.try_clone()) else { return };
    for stream in [&client, &server] {
        let _slower_only = stream.set_nodelay(true);
    }
    for (from, to) in [(client_reader, server), (server_reader, client)] {
        let counter = Arc::clone(counter);
        thread::spawn(move || forward(from, to, &counter));
    }
}

/// Forwards until one side closes, then closes both.
fn forward(mut from: TcpStream, mut to: TcpStream, counter: &AtomicU64) {
    let mut buffer = vec![0; 256 << 10];
    while let Ok(read) = from.read(&mut buffer) {
        let piece = buffer.get(..read).unwrap_or_default();
        // Counted first: whoever has received bytes finds them counted.
        counter.fetch_add(piece.len() as u64, Ordering::Relaxed);
        if piece.is_empty() || to.write_all(piece).is_err() {
            break;
        }
    }
    for stream in [&from, &to] {
        let _already_closed = stream.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn bytes_of_both_directions_are_counted() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy::start(server.local_addr().unwrap()).unwrap();
        let url = proxy.url("iscsi://127.0.0.1:3260/iqn.2026-01.org.example:t/3").unwrap();
        assert_eq!(url, format!("iscsi://{}/iqn.2026-01.org.example:t/3", proxy.address));
        let mut client = TcpStream::connect(proxy.address).unwrap();
        let (mut served, _) = server.accept().unwrap();
        client.write_all(b"question").unwrap();
        let mut question = [0; 8];
        served.read_exact(&mut question).unwrap();
        served.write_all(b"answer").unwrap();
        let mut answer = [0; 6];
        client.read_exact(&mut answer).unwrap();
        assert_eq!((&question, &answer), (b"question", b"answer"));
        drop(served);
        assert_eq!(client.read(&mut answer).unwrap(), 0);
        assert_eq!(proxy.bytes(), 14);
        assert!(proxy.url("nbd://x").is_err());
    }
}
