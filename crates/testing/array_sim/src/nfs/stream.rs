//! Virtual connection of a host of NFS as a stream of its client, which the host can cut.

use crate::wire::End;
use bytes::BytesMut;
use reactor::simulation::Socket;
use std::cell::RefCell;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Most bytes of one read.
const READ_BYTES: usize = 64 << 10;

/// Connection, or what is left of it after a cut. Clones are the same connection.
#[derive(Clone)]
pub(super) struct Wire(Rc<RefCell<Option<End>>>);

impl Wire {
    pub(super) fn new(end: End) -> Self {
        Self(Rc::new(RefCell::new(Some(end))))
    }

    /// Closes both directions.
    pub(super) fn cut(&self) {
        let end = self.0.take();
        drop(end);
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let mut end = self.0.borrow_mut();
        let Some(end) = end.as_mut() else { return Poll::Ready(Ok(())) };
        let mut read = BytesMut::with_capacity(buffer.remaining().min(READ_BYTES));
        let result = end.poll_read(context, &mut read);
        result.map_ok(|length| buffer.put_slice(read.get(..length).unwrap_or_default()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<Result<usize>> {
        match self.0.borrow_mut().as_mut() {
            Some(end) => end.poll_write(context, &[IoSlice::new(data)]),
            None => Poll::Ready(Err(Error::from(ErrorKind::BrokenPipe))),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        self.cut();
        Poll::Ready(Ok(()))
    }
}
