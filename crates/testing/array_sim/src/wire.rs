//! A virtual TCP connection: two byte queues of bounded length. Reads and writes take pieces of random length, so that every
//! boundary of a PDU is met.

use bytes::BytesMut;
use daemon::simulation::Socket;
use random::Random;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::SocketAddr;
use std::rc::Rc;
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
    input: Rc<RefCell<Pipe>>,
    output: Rc<RefCell<Pipe>>,
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
        Rc::new(RefCell::new(empty))
    };
    let (one, other) = (pipe(), pipe());
    let end = |input: &Rc<RefCell<Pipe>>, output: &Rc<RefCell<Pipe>>, local| End {
        input: input.clone(),
        output: output.clone(),
        local,
        random: Random::new(random.next()),
        piece,
    };
    (end(&one, &other, peer), end(&other, &one, portal))
}

impl End {
    fn piece(&mut self, limit: usize) -> usize {
        let piece = self.random.below(self.piece) + 1;
        limit.min(usize::try_from(piece).unwrap_or(limit))
    }
}

impl Socket for End {
    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut BytesMut) -> Poll<Result<usize>> {
        let available = self.input.borrow().bytes.len();
        let length = self.piece(available.min(buffer.capacity() - buffer.len()));
        let mut pipe = self.input.borrow_mut();
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
            let pipe = self.output.borrow();
            (pipe.capacity.saturating_sub(pipe.bytes.len()), pipe.closed)
        };
        if closed {
            return Poll::Ready(Err(Error::from(ErrorKind::BrokenPipe)));
        }
        let mut left = self.piece(room);
        let mut pipe = self.output.borrow_mut();
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
}

impl Drop for End {
    fn drop(&mut self) {
        self.input.borrow_mut().close();
        self.output.borrow_mut().close();
    }
}
