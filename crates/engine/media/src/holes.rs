//! First writes to a sparse file, made cheap. A file system has to record every block that it gives to a file, and makes the record durable
//! with the next durable write to that file, whichever part it is to: with small first writes under way, each log write of the
//! pool costs a commit of the file system's own journal (some milliseconds instead of a tenth of one). So the first small write to a chunk of the
//! file that is all hole waits while zeros are written over the whole chunk in one request: one such commit for thousands of blocks.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::backing::{BackingFile, Operation, Request};
use crate::disk::block_length;
use crate::{Buffer, Ticket};

/// Blocks of a chunk (4 MiB).
pub(crate) const CHUNK_BLOCKS: u64 = 1024;
/// Writes of so many blocks go ahead without waiting: the file system records them in one piece anyway.
const LARGE_BLOCKS: u64 = 128;
/// Chunks filled at once; bounds the memory for zeros.
const FILLS: usize = 4;
/// Tickets from here on are those of fills.
const FILL_TICKET: Ticket = 1 << 63;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    Unknown,
    /// Waits for its turn, or its zeros are on their way.
    Filling,
    /// Has been written somewhere, or must not be filled.
    Settled,
}

/// What is known of the holes of one file, and the writes that wait.
pub(crate) struct Holes {
    backing: Arc<BackingFile>,
    chunks: Vec<Chunk>,
    held: HashMap<u64, Vec<Request>>,
    waiting: VecDeque<u64>,
    in_flight: usize,
    held_count: usize,
}

impl Holes {
    /// For a regular file; `None` for a device, for memory, and for a file that is only read.
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

    /// The file has become longer.
    pub(crate) fn grow(&mut self) {
        if let Ok(chunks) = usize::try_from(self.backing.block_count().div_ceil(CHUNK_BLOCKS)) {
            self.chunks.resize(chunks.max(self.chunks.len()), Chunk::Unknown);
        }
    }

    /// A discard of these blocks ended: chunks that lie in it as a whole are holes again, to be filled at the next small write. Nothing else is on
    /// its way to them, or the discard would have been of no use.
    pub(crate) fn discarded(&mut self, block: u64, blocks: u64) {
        for chunk in block.div_ceil(CHUNK_BLOCKS)..(block + blocks) / CHUNK_BLOCKS {
            if self.state(chunk) == Chunk::Settled {
                self.set(chunk, Chunk::Unknown);
            }
        }
    }

    /// Writes that wait for a fill.
    pub(crate) fn held(&self) -> usize {
        self.held_count
    }

    /// Fills with the engine.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Looks at a validated request. Gives it back to be started now, or keeps it.
    pub(crate) fn admit(&mut self, request: Request) -> Option<Request> {
        let (first, blocks) = match &request.operation {
            Operation::Write { block, buffer, .. } => (*block, block_length(buffer)),
            // A discard leaves its chunks settled: writes to them may be in flight, which zeros must not overtake.
            Operation::Read { .. } | Operation::Flush | Operation::Discard { .. } => return Some(request),
        };
        let mut wait_for = None;
        for chunk in first / CHUNK_BLOCKS..=(first + blocks - 1) / CHUNK_BLOCKS {
            match self.state(chunk) {
                Chunk::Settled => {}
                // Also a large write must not be overtaken by zeros.
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

    /// The next fill to start, if one may.
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

    /// True for the ticket of a fill: the completion is none of the caller's.
    pub(crate) fn is_fill(ticket: Ticket) -> bool {
        ticket & FILL_TICKET != 0
    }

    /// A fill ended. Its writes may start, also when it failed: they meet the reason themselves.
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
