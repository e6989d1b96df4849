//! The medium, the purpose of each request in flight, and the reusable buffers of requests.

pub(crate) mod blocking;

use crate::content::stock::Stock;
use crate::mutations::{Mutation, leaves_out};
use media::{BLOCK_BYTES, BlockAddress, Buffer, Completion, Done, Fence, Media, MediaError, Ticket};
use rustc_hash::FxHashMap;

/// Medium with the requests in flight. `T` is the purpose of a request.
pub(crate) struct Medium<M, T> {
    media: M,
    fence: Fence,
    requests: FxHashMap<Ticket, T>,
    next: Ticket,
    stock: Stock,
    /// Runs of blocks whose content is on its way although the map names them.
    arriving: Vec<Run>,
    /// Reads of such blocks, which start when the content has arrived.
    held_reads: Vec<(Ticket, Run)>,
}

/// Consecutive blocks.
#[derive(Clone, Copy)]
struct Run {
    address: BlockAddress,
    blocks: u64,
}

impl Run {
    fn overlaps(&self, other: &Self) -> bool {
        self.address < other.address + other.blocks && other.address < self.address + self.blocks
    }
}

impl<M: Media, T> Medium<M, T> {
    /// Creates a medium without requests.
    pub fn new(media: M, fence: Fence) -> Self {
        Self {
            media,
            fence,
            requests: FxHashMap::default(),
            next: 1,
            stock: Stock::default(),
            arriving: Vec::new(),
            held_reads: Vec::new(),
        }
    }

    /// Medium behind this one.
    pub fn media(&self) -> &M {
        &self.media
    }

    /// Medium for blocking requests. No other request may be in flight.
    pub fn media_mut(&mut self) -> &mut M {
        &mut self.media
    }

    /// Returns the medium.
    pub fn into_media(self) -> M {
        self.media
    }

    /// Reusable buffers.
    pub fn stock(&self) -> &Stock {
        &self.stock
    }

    fn ticket(&mut self, purpose: T) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        self.requests.insert(ticket, purpose);
        ticket
    }

    /// Reads blocks from `address` on.
    pub fn read(&mut self, purpose: T, address: BlockAddress, blocks: usize) {
        let ticket = self.ticket(purpose);
        self.start_read(ticket, Run { address, blocks: blocks as u64 });
    }

    /// Starts a read, or holds it until content that is on its way has arrived.
    fn start_read(&mut self, ticket: Ticket, run: Run) {
        if !self.arriving.is_empty()
            && self.arriving.iter().any(|arriving| arriving.overlaps(&run))
            && !leaves_out(Mutation::ReadAfterContent)
        {
            return self.held_reads.push((ticket, run));
        }
        self.media.read(ticket, run.address, self.stock.take(run.blocks as usize));
    }

    /// Writes content that is durable on completion. Reads of its blocks wait until
    /// [`Self::release_reads`].
    pub fn write_held(&mut self, purpose: T, address: BlockAddress, content: Buffer) {
        self.arriving.push(Run { address, blocks: content.blocks() as u64 });
        self.write_durable(purpose, address, content);
    }

    /// Writes content that is durable on completion.
    pub fn write_durable(&mut self, purpose: T, address: BlockAddress, content: Buffer) -> Ticket {
        let ticket = self.ticket(purpose);
        self.media.write_durable(&self.fence, ticket, address, content);
        ticket
    }

    /// Notes that the content written at `address` has arrived, and starts the reads that waited for
    /// it.
    pub fn release_reads(&mut self, address: BlockAddress) {
        self.arriving.retain(|arriving| arriving.address != address);
        for (ticket, run) in std::mem::take(&mut self.held_reads) {
            self.start_read(ticket, run);
        }
    }

    /// Whether a write to these blocks needs no new space below the pool, as far as is known.
    pub fn has_room(&mut self, address: BlockAddress, blocks: u64) -> bool {
        self.media.has_room(address, blocks)
    }

    /// Writes blocks from `address` on.
    pub fn write(&mut self, purpose: T, address: BlockAddress, content: Buffer) -> Ticket {
        let ticket = self.ticket(purpose);
        self.media.write(&self.fence, ticket, address, content);
        ticket
    }

    /// Writes a frame into the log ring.
    pub fn append(&mut self, purpose: T, offset: u64, frame: Buffer) {
        let ticket = self.ticket(purpose);
        self.media.append(&self.fence, ticket, offset, frame);
    }

    /// Like [`Self::append`], for a repeated write; returns its ticket.
    pub fn append_again(&mut self, purpose: T, offset: u64, frame: Buffer) -> Ticket {
        let ticket = self.ticket(purpose);
        self.media.append(&self.fence, ticket, offset, frame);
        ticket
    }

    /// Makes completed writes durable.
    pub fn flush(&mut self, purpose: T) {
        let ticket = self.ticket(purpose);
        self.media.flush(&self.fence, ticket);
    }

    /// Discards blocks in the file system or device below the pool.
    pub fn discard(&mut self, purpose: T, address: BlockAddress, blocks: u64) {
        let ticket = self.ticket(purpose);
        self.media.discard(&self.fence, ticket, address, blocks);
    }

    /// Marks the pool, from the next root on, as one that uses these incompatible features.
    pub fn require_features(&mut self, incompatible: u64) {
        self.media.require_features(incompatible);
    }

    /// Replaces the root of `version`.
    pub fn swap_root(&mut self, purpose: T, version: u64, root: &[u8]) -> Ticket {
        let ticket = self.ticket(purpose);
        self.media.swap_root(&self.fence, ticket, version, root);
        ticket
    }

    /// Writes a block and waits for it. No other request may be in flight.
    pub fn write_blocking(&mut self, address: BlockAddress, content: Buffer) -> Result<(), MediaError> {
        self.media.write(&self.fence, 0, address, content);
        blocking::await_ticket(&mut self.media, 0).map(|_| ())
    }

    /// Submits new requests to the medium.
    pub fn submit(&mut self) {
        self.media.submit();
    }

    /// Blocks until the medium reports a completion or has no request.
    pub fn wait(&mut self) {
        self.media.wait();
    }

    /// Takes the next completion.
    pub fn poll(&mut self) -> Option<Completion> {
        self.media.poll()
    }

    /// Takes the purpose of a request; `None` for a request that was not made here.
    pub fn take(&mut self, ticket: Ticket) -> Option<T> {
        self.requests.remove(&ticket)
    }

    /// Returns the buffer of a completed write to the stock.
    pub fn recycle(&self, result: &mut Result<Done, MediaError>) {
        if let Ok(Done::Written(written)) = result
            && let Some(buffer) = written.take()
        {
            self.stock.give(buffer);
        }
    }

    /// Number of requests in flight; reads that wait for content are not.
    pub fn in_flight(&self) -> usize {
        self.requests.len() - self.held_reads.len()
    }

    /// Purposes of the requests in flight.
    pub fn purposes(&self) -> impl Iterator<Item = &T> {
        self.requests.values()
    }

    /// Number that changes with every request.
    pub fn issued(&self) -> Ticket {
        self.next
    }

    /// True if requests complete inside the submitting call, as those to memory do.
    pub fn answers_at_once(&self) -> bool {
        self.media.capabilities().immediate
    }

    /// True if a completed write is durable only after a flush.
    pub fn needs_flush(&self) -> bool {
        self.media.capabilities().needs_flush
    }

    /// Largest number of blocks in one request, at most `limit`.
    pub fn request_blocks(&self, limit: usize) -> usize {
        (self.media.capabilities().max_request_bytes / BLOCK_BYTES).clamp(1, limit)
    }
}

/// Returns the buffer of a completed read, or the reason of its failure.
pub(crate) fn read_result(result: Result<Done, MediaError>) -> Result<Buffer, String> {
    match result {
        Ok(Done::Read(buffer)) => Ok(buffer),
        Ok(_) => Err("the medium answered a read with something else".into()),
        Err(error) => Err(error.to_string()),
    }
}
