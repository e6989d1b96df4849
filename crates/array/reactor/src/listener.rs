//! Listening sockets of all protocols.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Connections that the kernel keeps until they are accepted.
const BACKLOG: u32 = 256;
/// Pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// Listens on an address, also while connections of an earlier process are closing.
pub(super) fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accepts connections until it is dropped.
pub(super) async fn accept_each(listener: TcpListener, connected: impl Fn(TcpStream, SocketAddr)) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let _no_delay = stream.set_nodelay(true);
                connected(stream, peer);
            }
            Err(error) => {
                // Descriptors are probably exhausted; other connections may close soon.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
