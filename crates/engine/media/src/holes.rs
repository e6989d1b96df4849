//! Fast first writes to a sparse file. A file system has to record every block that it allocates to
//! a file, and the next durable write to that file, wherever it is, makes the record durable. While
//! small first writes run, each log write of the pool therefore costs a commit of the file system's
//! own journal (some milliseconds instead of a tenth of one). So the first small write to a chunk
//! that is still a hole waits until one request has filled the whole chunk with zeros: one such
//! commit for thousands of blocks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::backing::{BackingFile, Operation, Request};
use crate::disk::block_length;
use crate::{Buffer, Ticket};

/// Blocks of one chunk (4 MiB).
pub(crate) const CHUNK_BLOCKS: u64 = 1024;
/// Writes of at least this many blocks do not wait: the file system records them in one piece
/// anyway.
const LARGE_BLOCKS: u64 = 128;
/// Chunks filled concurrently; bounds the memory for zeros.
const FILLS: usize = 4;
/// First ticket of fills.
const FILL_TICKET: Ticket = 1 << 63;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    Unknown,
    /// Queued to be filled, or its zeros are being written.
    Filling,
    /// Has been written to somewhere, or must not be filled.
    Settled,
    /// Settled, and every block of it has been written to.
    Filled,
}

/// State of the holes of one file, with the writes that wait.
pub(crate) struct Holes {
    backing: Arc<BackingFile>,
    chunks: Vec<Chunk>,
    held: HashMap<u64, Vec<Request>>,
    waiting: VecDeque<u64>,
    in_flight: usize,
    held_count: usize,
}

impl Holes {
    /// Creates the state for a regular file; `None` for a device, for memory, and for a read-only
    /// file.
    pub(crate) fn new(backing: &Arc<BackingFile>) -> Option<Self> {
        if backing.block_device() || backing.memory() || backing.read_only() {
            return None;
        }
        let chunks = usize::try_from(backing.block_count().div_ceil(CHUNK_BLOCKS)).ok()?;
        Some(Self {
            backing: Arc::clone(backing),
            chunks: vec![Chunk::Unknown; chunks],
            held: HashMap::new(),
            waiting: VecDeque::new(),
            in_flight: 0,
            held_count: 0,
        })
    }

    /// Called after the file has grown.
    pub(crate) fn grow(&mut self) {
        if let Ok(chunks) = usize::try_from(self.backing.block_count().div_ceil(CHUNK_BLOCKS)) {
            self.chunks.resize(chunks.max(self.chunks.len()), Chunk::Unknown);
        }
    }

    /// Called when a discard of these blocks has ended: chunks that lie completely in it are holes
    /// again, filled at the next small write. No other request to these chunks is in flight,
    /// because a discard must not overlap with one.
    pub(crate) fn discarded(&mut self, block: u64, blocks: u64) {
        self.discarding(block, blocks);
        for chunk in block.div_ceil(CHUNK_BLOCKS)..(block + blocks) / CHUNK_BLOCKS {
            if self.state(chunk) == Chunk::Settled {
                self.set(chunk, Chunk::Unknown);
            }
        }
    }

    /// Called before a discard of these blocks starts: none of their chunks is without holes any
    /// more.
    pub(crate) fn discarding(&mut self, block: u64, blocks: u64) {
        for chunk in block / CHUNK_BLOCKS..(block + blocks).div_ceil(CHUNK_BLOCKS) {
            if self.state(chunk) == Chunk::Filled {
                self.set(chunk, Chunk::Settled);
            }
        }
    }

    /// Whether every block of the chunks with these blocks has been written to.
    pub(crate) fn are_filled(&mut self, block: u64, blocks: u64) -> bool {
        (block / CHUNK_BLOCKS..(block + blocks).div_ceil(CHUNK_BLOCKS)).all(|chunk| {
            let first = chunk * CHUNK_BLOCKS;
            let length = CHUNK_BLOCKS.min(self.backing.block_count().saturating_sub(first));
            match self.state(chunk) {
                Chunk::Filled => true,
                Chunk::Filling => false,
                Chunk::Unknown | Chunk::Settled => {
                    let filled = self.backing.is_filled(first, length);
                    if filled {
                        self.set(chunk, Chunk::Filled);
                    }
                    filled
                }
            }
        })
    }

    /// Number of writes that wait for a fill.
    pub(crate) fn held(&self) -> usize {
        self.held_count
    }

    /// Number of fills in the engine.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Examines a validated request. Returns it if it can start now, otherwise keeps it.
    pub(crate) fn admit(&mut self, request: Request) -> Option<Request> {
        let (first, blocks) = match &request.operation {
            Operation::Write { block, buffer, .. } => (*block, block_length(buffer)),
            // A discard leaves its chunks settled: writes to them may be in flight, and zeros must
            // not overwrite those.
            Operation::Read { .. } | Operation::Flush | Operation::Discard { .. } => return Some(request),
        };
        let mut wait_for = None;
        for chunk in first / CHUNK_BLOCKS..=(first + blocks - 1) / CHUNK_BLOCKS {
            match self.state(chunk) {
                Chunk::Settled | Chunk::Filled => {}
                // A fill must not overwrite a large write either.
                Chunk::Filling => wait_for = Some(chunk),
                Chunk::Unknown
                    if blocks >= LARGE_BLOCKS || !self.backing.is_hole(chunk * CHUNK_BLOCKS, CHUNK_BLOCKS) =>
                {
                    self.set(chunk, Chunk::Settled);
                }
                Chunk::Unknown => {
                    self.set(chunk, Chunk::Filling);
                    self.waiting.push_back(chunk);
                    wait_for = Some(chunk);
                }
            }
        }
        match wait_for {
            Some(chunk) => {
                self.held.entry(chunk).or_default().push(request);
                self.held_count += 1;
                None
            }
            None => Some(request),
        }
    }

    /// Next fill to start, if another is permitted.
    pub(crate) fn next_fill(&mut self) -> Option<Request> {
        if self.in_flight >= FILLS {
            return None;
        }
        let chunk = self.waiting.pop_front()?;
        self.in_flight += 1;
        let block = chunk * CHUNK_BLOCKS;
        let blocks = CHUNK_BLOCKS.min(self.backing.block_count() - block);
        let buffer = Buffer::zeroed(usize::try_from(blocks).unwrap_or_default());
        Some(Request { ticket: FILL_TICKET | chunk, operation: Operation::Write { block, buffer, durable: false } })
    }

    /// Whether the ticket is that of a fill, whose completion is not for the caller.
    pub(crate) fn is_fill(ticket: Ticket) -> bool {
        ticket & FILL_TICKET != 0
    }

    /// Called when a fill has ended. Returns its writes, which may start. If the fill failed, they
    /// will fail for the same reason.
    pub(crate) fn filled(&mut self, ticket: Ticket) -> Vec<Request> {
        let chunk = ticket & !FILL_TICKET;
        self.in_flight = self.in_flight.saturating_sub(1);
        self.set(chunk, Chunk::Settled);
        let requests = self.held.remove(&chunk).unwrap_or_default();
        self.held_count = self.held_count.saturating_sub(requests.len());
        requests
    }

    fn state(&self, chunk: u64) -> Chunk {
        usize::try_from(chunk).ok().and_then(|chunk| self.chunks.get(chunk)).copied().unwrap_or(Chunk::Settled)
    }

    fn set(&mut self, chunk: u64, state: Chunk) {
        if let Some(slot) = usize::try_from(chunk).ok().and_then(|chunk| self.chunks.get_mut(chunk)) {
            *slot = state;
        }
    }
}
