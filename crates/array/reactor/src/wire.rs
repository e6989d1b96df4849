//! Socket of a connection of any protocol, and its buffers.

use super::memory::RECEIVE_BYTES;
use super::socket::Socket;
use bytes::{Buf, Bytes, BytesMut};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::rc::Rc;
use std::task::{Context, Poll};

/// Free space of the receive buffer below which a new one is allocated.
const RECEIVE_LOW_BYTES: usize = 16 << 10;
/// Length of part of a message up to which it is copied out of the receive buffer.
const SHORT_REST_BYTES: usize = 8 << 10;
/// Largest number of chunks in one write: header and data of 64 responses.
const WRITE_CHUNKS: usize = 128;
/// Output taken from the protocol ahead of the socket. Further output stays there, where it holds back
/// input.
const WRITE_AHEAD_BYTES: usize = 256 << 10;

/// Result of one read.
pub(crate) enum Received {
    Data,
    /// No data now; the task is woken later.
    Pending,
    /// The host has closed the connection.
    End,
}

/// Receive buffer of the connections of one thread: each has it while it reads, and keeps it only
/// with much of a large message in it. So connections without traffic have no buffer, and those with
/// little traffic use the same memory, which is in the processor's caches.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReceiveBuffer(Rc<RefCell<BytesMut>>);

impl ReceiveBuffer {
    /// Takes the buffer. It has no capacity while another connection has it.
    fn take(&self) -> BytesMut {
        self.0.take()
    }

    /// Returns an empty buffer. Of two, the one with more room stays; one that had to grow for a
    /// large message does not.
    fn give(&self, buffer: BytesMut) {
        let kept = self.0.take();
        let better = buffer.capacity() > kept.capacity() && buffer.capacity() <= RECEIVE_BYTES;
        self.0.replace(if better { buffer } else { kept });
    }
}

/// Socket, received bytes that are not processed yet, and bytes to write.
pub(crate) struct Wire<S> {
    socket: S,
    received: BytesMut,
    shared: ReceiveBuffer,
    /// True if `received` is memory of its own, and the shared buffer is needed to receive more.
    rests: bool,
    output: VecDeque<Bytes>,
    /// Bytes in `output`.
    output_bytes: usize,
    /// Bytes written to the socket.
    written: u64,
}

impl<S: Socket> Wire<S> {
    /// `received`: bytes that were read from the socket and not processed. `shared`: buffer of this
    /// thread.
    pub fn new(socket: S, received: BytesMut, shared: &ReceiveBuffer) -> Self {
        Self {
            socket,
            received,
            shared: shared.clone(),
            rests: true,
            output: VecDeque::new(),
            output_bytes: 0,
            written: 0,
        }
    }

    /// Socket, and bytes that were read from it and not processed. There must be no output left.
    pub fn into_parts(self) -> (S, BytesMut) {
        (self.socket, self.received)
    }

    /// Received bytes that the protocol has not taken.
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

    /// Output position after all bytes that were taken for the socket.
    pub fn end_of_output(&self) -> u64 {
        self.written + self.output_bytes as u64
    }

    /// Returns the receive buffer, and copies a short rest out of it: to be called when there is
    /// nothing to do.
    pub fn rest(&mut self) {
        if self.rests || self.received.len() > SHORT_REST_BYTES {
            return;
        }
        self.rests = true;
        let rest = BytesMut::from(&self.received[..]);
        let mut buffer = std::mem::replace(&mut self.received, rest);
        buffer.clear();
        self.shared.give(buffer);
    }

    /// Makes room for more bytes.
    fn make_room(&mut self) {
        if !std::mem::take(&mut self.rests) {
            return self.received.reserve(RECEIVE_BYTES);
        }
        let rest = std::mem::replace(&mut self.received, self.shared.take());
        let needed = rest.len() + RECEIVE_LOW_BYTES;
        if self.received.capacity() < needed {
            self.received.reserve(needed.max(RECEIVE_BYTES));
        }
        self.received.extend_from_slice(&rest);
    }

    /// Makes room for the rest of a long message, in memory of its own.
    fn make_room_for(&mut self, bytes: usize) {
        let mut own = BytesMut::with_capacity(self.received.len() + bytes);
        own.extend_from_slice(&self.received);
        let mut before = std::mem::replace(&mut self.received, own);
        if !std::mem::take(&mut self.rests) {
            before.clear();
            self.shared.give(before);
        }
    }

    /// Reads once, to receive `bytes` or less: the rest of a long message, which is then neither moved nor followed by
    /// others in its memory.
    pub fn receive_long(&mut self, bytes: usize, context: &mut Context<'_>) -> Received {
        if self.rests || self.received.capacity() - self.received.len() < bytes {
            self.make_room_for(bytes);
        }
        self.read(context)
    }

    /// Reads once.
    pub fn receive(&mut self, context: &mut Context<'_>) -> Received {
        if self.rests || self.received.capacity() - self.received.len() < RECEIVE_LOW_BYTES {
            self.make_room();
        }
        self.read(context)
    }

    fn read(&mut self, context: &mut Context<'_>) -> Received {
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

    /// Writes as much output as the socket takes. `next` is the next chunk that the protocol has. True if
    /// bytes were written.
    pub fn write(&mut self, mut next: impl FnMut() -> Option<Bytes>, context: &mut Context<'_>) -> io::Result<bool> {
        let mut progress = false;
        loop {
            while self.output_bytes < WRITE_AHEAD_BYTES
                && let Some(chunk) = next()
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use std::task::Waker;

    /// Stream with these pieces to receive.
    struct Pieces(VecDeque<Vec<u8>>);

    impl Socket for Pieces {
        type Parcel = ();

        fn poll_read(&mut self, _: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<io::Result<usize>> {
            let Some(piece) = self.0.pop_front() else { return Poll::Pending };
            assert!(piece.len() <= buffer.capacity() - buffer.len());
            buffer.extend_from_slice(&piece);
            Poll::Ready(Ok(piece.len()))
        }
        fn poll_write(&mut self, _: &mut Context<'_>, _: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
            Poll::Pending
        }
        fn local_address(&self) -> Option<SocketAddr> {
            None
        }
        fn pack(self) -> io::Result<()> {
            Ok(())
        }
        fn unpack((): ()) -> io::Result<Self> {
            Ok(Self(VecDeque::new()))
        }
    }

    fn wire(shared: &ReceiveBuffer, pieces: &[&[u8]]) -> Wire<Pieces> {
        let pieces = pieces.iter().map(|piece| piece.to_vec()).collect();
        Wire::new(Pieces(pieces), BytesMut::new(), shared)
    }

    fn receive(wire: &mut Wire<Pieces>) {
        assert!(matches!(wire.receive(&mut Context::from_waker(Waker::noop())), Received::Data));
    }

    /// Regression: each connection kept a receive buffer of 128 KiB: 480 sessions with one command
    /// outstanding held 70 MiB.
    #[test]
    fn connections_of_a_thread_use_one_receive_buffer() {
        let shared = ReceiveBuffer::default();
        let mut wires: Vec<_> = (0..100).map(|_| wire(&shared, &[&[1; 4096]])).collect();
        let mut places = Vec::new();
        for wire in &mut wires {
            receive(wire);
            places.push(wire.received().as_ptr() as usize);
            wire.received().clear();
            wire.rest();
            assert_eq!(wire.received().capacity(), 0);
        }
        assert!(places.iter().all(|place| *place == places[0]), "{places:?}");
    }

    /// Part of a message stays, in memory of its size; what follows is appended to it.
    #[test]
    fn part_of_a_message_does_not_keep_the_receive_buffer() {
        let shared = ReceiveBuffer::default();
        let mut first = wire(&shared, &[&[1; 3000], &[2; 3000]]);
        receive(&mut first);
        first.rest();
        assert_eq!(first.received().len(), 3000);
        assert!(first.received().capacity() < 4096);
        let mut second = wire(&shared, &[&[3; 100]]);
        receive(&mut second);
        assert_eq!(second.received()[..], [3; 100]);
        receive(&mut first);
        assert_eq!(first.received()[..3000], [1; 3000]);
        assert_eq!(first.received()[3000..], [2; 3000]);
        first.received().clear();
        first.rest();
        second.rest();
        assert!(shared.take().capacity() >= RECEIVE_BYTES, "the larger of two stays");
    }

    /// A long message has memory of its length, and what was received of it is copied once.
    #[test]
    fn a_long_message_has_memory_of_its_own() {
        let shared = ReceiveBuffer::default();
        let mut wire = wire(&shared, &[&[1; 100_000], &[2; 200_000], &[3; 100_000], &[4; 50]]);
        receive(&mut wire);
        let long = |wire: &mut Wire<Pieces>, bytes| {
            let received = wire.receive_long(bytes, &mut Context::from_waker(Waker::noop()));
            assert!(matches!(received, Received::Data));
        };
        long(&mut wire, 300_000);
        let place = wire.received().as_ptr();
        long(&mut wire, 100_000);
        let message = wire.received().split_to(400_000);
        assert_eq!((message.as_ptr(), message[0], message[100_000], message[399_999]), (place, 1, 2, 3));
        assert!(shared.take().capacity() >= RECEIVE_BYTES, "the buffer of the thread is free again");
        receive(&mut wire);
        assert_eq!(wire.received()[..], [4; 50]);
        assert_eq!(message[0], 1);
    }

    /// Much of a large message is not copied, and a buffer that grew for it is not kept.
    #[test]
    fn much_of_a_message_stays_where_it_is() {
        let shared = ReceiveBuffer::default();
        let mut wire = wire(&shared, &[&[1; 100_000], &[2; 100_000]]);
        receive(&mut wire);
        let place = wire.received().as_ptr();
        wire.rest();
        assert_eq!(wire.received().as_ptr(), place);
        wire.received().reserve(200_000);
        receive(&mut wire);
        assert_eq!(wire.received().len(), 200_000);
        wire.received().clear();
        wire.rest();
        assert_eq!(shared.take().capacity(), 0);
    }
}
