//! Byte stream below a connection: a TCP socket, or one end of a simulated wire.

use bytes::BytesMut;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;

/// Connected byte stream. Calls never block; one that returns `Pending` wakes the task when it may
/// succeed.
pub trait Socket: Sized + 'static {
    /// The stream on its way to another thread.
    type Parcel: Send + 'static;

    /// Appends received bytes to `buffer`, at most as many as its free capacity, which is not zero.
    /// Returns 0 at the end of the stream.
    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<io::Result<usize>>;
    /// Writes bytes from the front of `slices`, as many as fit. Returns their number.
    fn poll_write(&mut self, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>>;
    /// Local address of this connection.
    fn local_address(&self) -> Option<SocketAddr>;
    /// Largest TCP segment, in bytes; absent where there is none, or the system does not say.
    fn segment_bytes(&self) -> Option<u32> {
        None
    }
    /// Leaves this thread. No byte is lost.
    fn pack(self) -> io::Result<Self::Parcel>;
    /// Arrives on another thread.
    fn unpack(parcel: Self::Parcel) -> io::Result<Self>;
}

/// After a short read the runtime takes the socket for empty, so the next call is `Pending` without a
/// system call; the kernel reports when data has come.
impl Socket for TcpStream {
    type Parcel = std::net::TcpStream;

    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<io::Result<usize>> {
        pin!(self.read_buf(buffer)).poll(context)
    }
    fn poll_write(&mut self, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(self).poll_write_vectored(context, slices)
    }
    fn local_address(&self) -> Option<SocketAddr> {
        self.local_addr().ok()
    }
    fn segment_bytes(&self) -> Option<u32> {
        socket2::SockRef::from(self).tcp_mss().ok()
    }
    fn pack(self) -> io::Result<Self::Parcel> {
        self.into_std()
    }
    fn unpack(parcel: Self::Parcel) -> io::Result<Self> {
        Self::from_std(parcel)
    }
}
