//! The medium, what each request with it is for, and the buffers that requests use again.

pub(crate) mod blocking;

use crate::content::stock::Stock;
use media::{BLOCK_BYTES, BlockAddress, Buffer, Completion, Done, Fence, Media, MediaError, Ticket};
use rustc_hash::FxHashMap;

/// The medium and the requests that are with it. `T` says what a request is for.
pub(crate) struct Medium<M, T> {
    media: M,
    fence: Fence,
    requests: FxHashMap<Ticket, T>,
    next: Ticket,
    stock: Stock,
}

impl<M: Media, T> Medium<M, T> {
    /// A medium without requests.
    pub fn new(media: M, fence: Fence) -> Self {
        Self { media, fence, requests: FxHashMap::default(), next: 1, stock: Stock::default() }
    }

    /// The medium.
    pub fn media(&self) -> &M {
        &self.media
    }

    /// The medium, for requests that block. Nothing else may be with it.
    pub fn media_mut(&mut self) -> &mut M {
        &mut self.media
    }

    /// Gives the medium back.
    pub fn into_media(self) -> M {
        self.media
    }

    /// Buffers that are used again.
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
    pub fn read(&mut self, purpose: T, address: u64, blocks: usize) {
        let ticket = self.ticket(purpose);
        self.media.read(ticket, BlockAddress(address), self.stock.take(blocks));
    }

    /// Writes blocks from `address` on.
    pub fn write(&mut self, purpose: T, address: u64, content: Buffer) -> Ticket {
        let ticket = self.ticket(purpose);
        self.media.write(&self.fence, ticket, BlockAddress(address), content);
        ticket
    }

    /// Writes a frame into the log ring.
    pub fn append(&mut self, purpose: T, offset: u64, frame: Buffer) {
        let ticket = self.ticket(purpose);
        self.media.append(&self.fence, ticket, offset, frame);
    }

    /// Makes completed writes durable.
    pub fn flush(&mut self, purpose: T) {
        let ticket = self.ticket(purpose);
        self.media.flush(&self.fence, ticket);
    }

    /// Gives blocks back to what is below the pool.
    pub fn discard(&mut self, purpose: T, address: u64, blocks: u64) {
        let ticket = self.ticket(purpose);
        self.media.discard(&self.fence, ticket, BlockAddress(address), blocks);
    }

    /// Replaces the root of `version`.
    pub fn swap_root(&mut self, purpose: T, version: u64, root: &[u8]) {
        let ticket = self.ticket(purpose);
        self.media.swap_root(&self.fence, ticket, version, root);
    }

    /// Writes a block and waits for it. Nothing else may be with the medium.
    pub fn write_blocking(&mut self, address: u64, content: Buffer) -> Result<(), MediaError> {
        self.media.write(&self.fence, 0, BlockAddress(address), content);
        blocking::await_ticket(&mut self.media, 0).map(|_| ())
    }

    /// Hands new requests to the medium.
    pub fn submit(&mut self) {
        self.media.submit();
    }

    /// Blocks until the medium has something to report or nothing is with it.
    pub fn wait(&mut self) {
        self.media.wait();
    }

    /// The next completion, its request's purpose, and buffers of writes back in the stock. The purpose is `None` for a request of
    /// somebody else.
    pub fn poll(&mut self) -> Option<Completion> {
        self.media.poll()
    }

    /// Takes what a request was for.
    pub fn take(&mut self, ticket: Ticket) -> Option<T> {
        self.requests.remove(&ticket)
    }

    /// Puts the buffer of a completed write back into the stock.
    pub fn recycle(&self, result: &mut Result<Done, MediaError>) {
        if let Ok(Done::Written(written)) = result
            && let Some(buffer) = written.take()
        {
            self.stock.give(buffer);
        }
    }

    /// Number of requests with the medium.
    pub fn in_flight(&self) -> usize {
        self.requests.len()
    }

    /// What the requests with the medium are for.
    pub fn purposes(&self) -> impl Iterator<Item = &T> {
        self.requests.values()
    }

    /// Changes with every request.
    pub fn issued(&self) -> Ticket {
        self.next
    }

    /// True when a completed write is durable only after a flush.
    pub fn needs_flush(&self) -> bool {
        self.media.capabilities().needs_flush
    }

    /// Blocks of one request at most, up to `limit`.
    pub fn request_blocks(&self, limit: usize) -> usize {
        (self.media.capabilities().max_request_bytes / BLOCK_BYTES).clamp(1, limit)
    }
}

/// The buffer of a completed read, or what went wrong.
pub(crate) fn read_result(result: Result<Done, MediaError>) -> Result<Buffer, String> {
    match result {
        Ok(Done::Read(buffer)) => Ok(buffer),
        Ok(_) => Err("the medium answered a read with something else".into()),
        Err(error) => Err(error.to_string()),
    }
}
