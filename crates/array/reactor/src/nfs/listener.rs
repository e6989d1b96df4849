//! Listening sockets of the NFS server and the connections that they accept.

use super::super::clock;
use super::super::listener::bind;
use super::super::socket::Socket;
use super::connection::ConnectionTask;
use super::service::Service;
use crate::ServeError;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::net::TcpListener;
use vfs::FileSystem;

/// Listens on all addresses. Returns them with their actual ports.
pub(crate) fn listen(addresses: &[SocketAddr]) -> Result<(Vec<TcpListener>, Vec<SocketAddr>), ServeError> {
    let bound = |address: &SocketAddr| {
        let failed = |error| ServeError::bind(*address, error);
        let listener = bind(*address).map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        Ok((listener, local))
    };
    addresses.iter().map(bound).collect()
}

impl<F: FileSystem + 'static> Service<F> {
    /// Serves a new connection in a task of its own.
    pub(super) fn connected(self: &Rc<Self>, socket: impl Socket, peer: SocketAddr) {
        let Some(member) = self.registry.join(peer) else {
            if let Some(count) = self.registry.closed.refused.count(clock::now()) {
                tracing::warn!(%peer, count, "NFS connection refused: all others have calls in progress");
            }
            return;
        };
        tokio::task::spawn_local(ConnectionTask::new(socket, Rc::clone(self), member).serve());
    }
}
