//! Byte stream below an iSCSI connection: a TCP socket, or one end of a simulated wire.

use bytes::BytesMut;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// Connected byte stream. Calls never block: `WouldBlock` asks for a readiness poll first.
pub trait Socket: 'static {
    /// Appends received bytes to `buffer`. Returns 0 at the end of the stream.
    fn try_read(&mut self, buffer: &mut BytesMut) -> io::Result<usize>;
    /// Writes bytes from the front of `slices`, as many as fit. Returns their number.
    fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize>;
    /// Ready when [`try_read`](Self::try_read) may succeed; otherwise wakes the task later.
    fn poll_read_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Ready when [`try_write`](Self::try_write) may succeed; otherwise wakes the task later.
    fn poll_write_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>>;
    /// Local address of this connection.
    fn local_address(&self) -> Option<SocketAddr>;
}

impl Socket for TcpStream {
    fn try_read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        self.try_read_buf(buffer)
    }
    fn try_write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.try_write_vectored(slices)
    }
    fn poll_read_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        TcpStream::poll_read_ready(self, context)
    }
    fn poll_write_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        TcpStream::poll_write_ready(self, context)
    }
    fn local_address(&self) -> Option<SocketAddr> {
        self.local_addr().ok()
    }
}
