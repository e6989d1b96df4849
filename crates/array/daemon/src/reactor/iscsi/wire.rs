//! Socket of a connection and its buffers.

use super::socket::Socket;
use bytes::{Buf, Bytes, BytesMut};
use iscsi::connection::Connection;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::task::{Context, Poll};

/// Size of a new receive buffer.
const RECEIVE_BYTES: usize = 128 << 10;
/// Free space of the receive buffer below which a new one is allocated.
const RECEIVE_LOW_BYTES: usize = 16 << 10;
/// Largest number of chunks in one write: header and data of 64 responses.
const WRITE_CHUNKS: usize = 128;
/// Output taken from the protocol core ahead of the socket. Further output stays in the core, where
/// it holds back input.
const WRITE_AHEAD_BYTES: usize = 256 << 10;

/// Result of one read.
pub(super) enum Received {
    Data,
    /// No data now; the task is woken later.
    Pending,
    /// The initiator has closed the connection.
    End,
}

/// Socket, received bytes that are not processed yet, and bytes to write.
pub(super) struct Wire<S> {
    socket: S,
    received: BytesMut,
    output: VecDeque<Bytes>,
    /// Bytes in `output`.
    output_bytes: usize,
    /// Bytes written to the socket.
    written: u64,
}

impl<S: Socket> Wire<S> {
    /// `received`: bytes that were read from the socket and not processed.
    pub fn new(socket: S, received: BytesMut) -> Self {
        Self { socket, received, output: VecDeque::new(), output_bytes: 0, written: 0 }
    }

    /// Socket, and bytes that were read from it and not processed. There must be no output left.
    pub fn into_parts(self) -> (S, BytesMut) {
        (self.socket, self.received)
    }

    /// Received bytes that the protocol core has not taken.
    pub fn received(&mut self) -> &mut BytesMut {
        &mut self.received
    }

    /// Bytes written to the socket.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// True if bytes wait for the socket.
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// True if all output of the core is written.
    pub fn is_flushed(&self, core: &Connection) -> bool {
        self.output.is_empty() && core.output_bytes() == 0
    }

    /// Output position after everything that the core has queued.
    pub fn end_of_output(&self, core: &Connection) -> u64 {
        self.written + (self.output_bytes + core.output_bytes()) as u64
    }

    /// Reads once.
    pub fn receive(&mut self, context: &mut Context<'_>) -> Received {
        if self.received.capacity() - self.received.len() < RECEIVE_LOW_BYTES {
            self.received.reserve(RECEIVE_BYTES);
        }
        loop {
            return match self.socket.poll_read(context, &mut self.received) {
                Poll::Pending => Received::Pending,
                Poll::Ready(Ok(0)) => Received::End,
                Poll::Ready(Ok(_)) => Received::Data,
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => continue,
                Poll::Ready(Err(_reset)) => Received::End,
            };
        }
    }

    /// Writes as much of the core's output as the socket takes. True if bytes were written.
    pub fn write(&mut self, core: &mut Connection, context: &mut Context<'_>) -> io::Result<bool> {
        let mut progress = false;
        loop {
            while self.output_bytes < WRITE_AHEAD_BYTES
                && let Some(chunk) = core.poll_output()
            {
                self.output_bytes += chunk.len();
                self.output.push_back(chunk);
            }
            if self.output.is_empty() {
                return Ok(progress);
            }
            let mut slices = [IoSlice::new(&[]); WRITE_CHUNKS];
            let chunks = self.output.len().min(WRITE_CHUNKS);
            for (slice, chunk) in slices.iter_mut().zip(&self.output) {
                *slice = IoSlice::new(chunk);
            }
            match self.socket.poll_write(context, &slices[..chunks]) {
                Poll::Pending => return Ok(progress),
                Poll::Ready(Ok(written)) => {
                    progress = true;
                    self.advance(written);
                }
                Poll::Ready(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Poll::Ready(Err(error)) => return Err(error),
            }
        }
    }

    fn advance(&mut self, mut written: usize) {
        self.output_bytes -= written;
        self.written += written as u64;
        while let Some(front) = self.output.front_mut().filter(|_| written > 0) {
            let step = written.min(front.len());
            front.advance(step);
            written -= step;
            if front.is_empty() {
                self.output.pop_front();
            }
        }
    }
}
