//! A virtual TCP connection: two byte queues of bounded length. Reads and writes take pieces of random length, so
//! that every boundary of a PDU is met.

use bytes::BytesMut;
use random::Random;
use reactor::simulation::Socket;
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// One direction.
struct Pipe {
    bytes: VecDeque<u8>,
    capacity: usize,
    /// One of the ends is gone.
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn wake(waker: &mut Option<Waker>) {
        if let Some(waker) = waker.take() {
            waker.wake();
        }
    }

    fn close(&mut self) {
        self.closed = true;
        Self::wake(&mut self.reader);
        Self::wake(&mut self.writer);
    }
}

/// One end of a connection. Dropped, it closes both directions.
pub(crate) struct End {
    input: Arc<Mutex<Pipe>>,
    output: Arc<Mutex<Pipe>>,
    local: SocketAddr,
    random: Random,
    /// Longest piece of one read or write, in bytes.
    piece: u64,
}

/// Both ends: the initiator's and the array's.
pub(crate) fn connection(random: &Random, portal: SocketAddr, peer: SocketAddr) -> (End, End) {
    let capacity = [512, 4096, 65_536, 262_144][random.below(4) as usize];
    let piece = [100, 1500, 65_536, 1 << 20][random.below(4) as usize];
    let pipe = || {
        let empty = Pipe { bytes: VecDeque::new(), capacity, closed: false, reader: None, writer: None };
        Arc::new(Mutex::new(empty))
    };
    let (one, other) = (pipe(), pipe());
    let end = |input: &Arc<Mutex<Pipe>>, output: &Arc<Mutex<Pipe>>, local| End {
        input: input.clone(),
        output: output.clone(),
        local,
        random: Random::new(random.next()),
        piece,
    };
    (end(&one, &other, peer), end(&other, &one, portal))
}

fn lock(pipe: &Mutex<Pipe>) -> MutexGuard<'_, Pipe> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl End {
    fn piece(&mut self, limit: usize) -> usize {
        let piece = self.random.below(self.piece) + 1;
        limit.min(usize::try_from(piece).unwrap_or(limit))
    }
}

impl Socket for End {
    type Parcel = Self;

    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<Result<usize>> {
        let available = lock(&self.input).bytes.len();
        let length = self.piece(available.min(buffer.capacity() - buffer.len()));
        let mut pipe = lock(&self.input);
        if available == 0 && !pipe.closed {
            pipe.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let (front, back) = pipe.bytes.as_slices();
        let first = length.min(front.len());
        buffer.extend_from_slice(front.get(..first).unwrap_or_default());
        buffer.extend_from_slice(back.get(..length - first).unwrap_or_default());
        pipe.bytes.drain(..length);
        Pipe::wake(&mut pipe.writer);
        Poll::Ready(Ok(length))
    }

    fn poll_write(&mut self, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<Result<usize>> {
        let (room, closed) = {
            let pipe = lock(&self.output);
            (pipe.capacity.saturating_sub(pipe.bytes.len()), pipe.closed)
        };
        if closed {
            return Poll::Ready(Err(Error::from(ErrorKind::BrokenPipe)));
        }
        let mut left = self.piece(room);
        let mut pipe = lock(&self.output);
        if left == 0 {
            pipe.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let mut written = 0;
        for slice in slices {
            let length = left.min(slice.len());
            pipe.bytes.extend(slice.get(..length).unwrap_or_default());
            left -= length;
            written += length;
        }
        Pipe::wake(&mut pipe.reader);
        Poll::Ready(Ok(written))
    }

    fn local_address(&self) -> Option<SocketAddr> {
        Some(self.local)
    }

    fn pack(self) -> Result<Self> {
        Ok(self)
    }

    fn unpack(parcel: Self) -> Result<Self> {
        Ok(parcel)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        lock(&self.input).close();
        lock(&self.output).close();
    }
}
