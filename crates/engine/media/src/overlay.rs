//! Medium that keeps all changes in memory and never passes them on: recovery and checks run over
//! it on a pool that must not change.
//!
//! Reads return the blocks written here, and the blocks of the inner medium otherwise. A read-only
//! inner medium is sufficient. Memory: 4 KiB for each block written, which for a recovery is
//! bounded by the log that it replays and the pages that this changes.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::os::fd::BorrowedFd;

use crate::disk::block_length;
use crate::{
    BLOCK_BYTES, Block, BlockAddress, Buffer, Capabilities, Completion, Done, Fence, LogStore, MAX_ROOT_BYTES, Media,
    MediaError, RootStore, SegmentStore, Ticket,
};

/// Written blocks, by block number of the device or of the log. Boxed, so that a growing map moves
/// no content.
type Blocks = HashMap<u64, Box<Block>>;

/// Area that a read addresses.
#[derive(Clone, Copy)]
enum Place {
    Segments,
    Log,
}

/// Purpose of a request to the inner medium.
enum Request {
    /// A read of which no block was written here: the buffer passes through.
    Whole { ticket: Ticket },
    /// A run of blocks of the gathered read `gather`, from its block `at` on.
    Part { gather: u64, at: usize },
    /// A load of the inner root for a caller.
    Root { ticket: Ticket },
    /// A load of the inner root for the swaps that wait for it.
    RootForSwaps,
}

/// Read that is partly memory and partly inner medium.
struct Gather {
    ticket: Ticket,
    buffer: Buffer,
    outstanding: usize,
    failed: Option<MediaError>,
}

struct WaitingSwap {
    ticket: Ticket,
    version: u64,
    root: Vec<u8>,
}

/// [`Media`] whose changes stay in memory, over an inner medium that is only read.
///
/// * Writes, appends, seals and swaps of the root are validated as by
///   [`LocalMedia`](crate::LocalMedia), take effect at once and complete at the next poll. So do
///   flushes, but no change outlives the overlay.
/// * A discard drops the blocks written here, which then read as the inner medium holds them.
/// * A read sees the changes submitted before it. A block written here is never read from the inner
///   medium, which hides a defect of that block.
/// * Only `read`, `read_log` and `load_root` reach the inner medium.
pub struct Overlay<M: Media> {
    inner: M,
    segments: Blocks,
    log: Blocks,
    /// Root in force and its version, once known.
    root: Option<(Vec<u8>, u64)>,
    waiting_swaps: VecDeque<WaitingSwap>,
    /// Incompatible features required of the pool in memory.
    required_features: u64,
    newest_epoch: u64,
    requests: HashMap<Ticket, Request>,
    gathers: HashMap<u64, Gather>,
    next_ticket: Ticket,
    ready: VecDeque<Completion>,
}

impl<M: Media> std::fmt::Debug for Overlay<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Overlay({} blocks of segments, {} of the log)", self.segments.len(), self.log.len())
    }
}

impl<M: Media> Overlay<M> {
    /// Creates an overlay without changes. Nothing may be outstanding on `inner`.
    pub fn new(inner: M) -> Self {
        Self {
            inner,
            segments: Blocks::new(),
            log: Blocks::new(),
            root: None,
            waiting_swaps: VecDeque::new(),
            required_features: 0,
            newest_epoch: 0,
            requests: HashMap::new(),
            gathers: HashMap::new(),
            next_ticket: 0,
            ready: VecDeque::new(),
        }
    }

    /// Underlying medium.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    /// Ends the overlay and drops its changes. Completions that were not polled are lost.
    pub fn into_inner(self) -> M {
        self.inner
    }

    /// Bytes of content held in memory.
    pub fn held_bytes(&self) -> u64 {
        let blocks = self.segments.len() + self.log.len();
        u64::try_from(blocks).unwrap_or(u64::MAX).saturating_mul(BLOCK_BYTES as u64)
    }

    fn complete(&mut self, ticket: Ticket, result: Result<Done, MediaError>) {
        self.ready.push_back(Completion { ticket, result });
    }

    /// Assigns a ticket of the inner medium to `request`.
    fn lend(&mut self, request: Request) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.requests.insert(ticket, request);
        ticket
    }

    /// Checks and records the epoch of a call. If a newer one was seen, completes the call and
    /// returns false.
    fn admit(&mut self, fence: &Fence, ticket: Ticket) -> bool {
        if fence.epoch < self.newest_epoch {
            self.complete(ticket, Err(MediaError::Fenced));
            return false;
        }
        self.newest_epoch = fence.epoch;
        true
    }

    /// Whether the blocks lie in the data area; otherwise completes the request with an error.
    fn in_data_area(&mut self, operation: &'static str, ticket: Ticket, address: BlockAddress, blocks: u64) -> bool {
        let (start, end) = (self.inner.data_start(), self.inner.data_end());
        let inside = blocks > 0 && address >= start && address.checked_add(blocks).is_some_and(|after| after <= end);
        if !inside {
            let reason = format!("outside the data area (blocks {start} to {end})");
            self.complete(ticket, Err(MediaError::Io { operation, address: address.get(), blocks, reason }));
        }
        inside
    }

    /// First block of a range of the ring; for an invalid range completes the request with an
    /// error.
    fn log_block(&mut self, operation: &'static str, ticket: Ticket, offset_bytes: u64, blocks: u64) -> Option<u64> {
        let block_bytes = BLOCK_BYTES as u64;
        let (first, log_blocks) = (offset_bytes / block_bytes, self.inner.log_bytes() / block_bytes);
        let inside = blocks > 0 && first.checked_add(blocks).is_some_and(|end| end <= log_blocks);
        if inside && offset_bytes.is_multiple_of(block_bytes) {
            return Some(first);
        }
        let reason = format!("byte {offset_bytes} of the log is outside its {log_blocks} blocks, or not aligned");
        self.complete(ticket, Err(MediaError::Io { operation, address: first, blocks, reason }));
        None
    }

    fn place(&self, place: Place) -> &Blocks {
        match place {
            Place::Segments => &self.segments,
            Place::Log => &self.log,
        }
    }

    fn place_mut(&mut self, place: Place) -> &mut Blocks {
        match place {
            Place::Segments => &mut self.segments,
            Place::Log => &mut self.log,
        }
    }

    fn read_inner(&mut self, place: Place, ticket: Ticket, first: u64, buffer: Buffer) {
        match place {
            Place::Segments => self.inner.read(ticket, BlockAddress::new(first), buffer),
            // The range was validated against the size of the ring, so the product fits.
            Place::Log => self.inner.read_log(ticket, first * BLOCK_BYTES as u64, buffer),
        }
    }

    /// Reads a validated range: blocks written here from memory, runs of other blocks from the
    /// inner medium.
    fn start_read(&mut self, place: Place, ticket: Ticket, first: u64, mut buffer: Buffer) {
        let held = self.place(place);
        let mut runs: Vec<(usize, u64, usize)> = Vec::new();
        let length = buffer.blocks();
        if held.is_empty() {
            runs.push((0, first, length));
        } else {
            for ((at, block), address) in buffer.as_blocks_mut().iter_mut().enumerate().zip(first..) {
                match held.get(&address) {
                    Some(content) => block.0 = content.0,
                    None => match runs.last_mut() {
                        Some((from, _, blocks)) if *from + *blocks == at => *blocks += 1,
                        _ => runs.push((at, address, 1)),
                    },
                }
            }
        }
        match runs.as_slice() {
            [] => self.complete(ticket, Ok(Done::Read(buffer))),
            [(0, _, blocks)] if *blocks == length => {
                let inner = self.lend(Request::Whole { ticket });
                self.read_inner(place, inner, first, buffer);
            }
            _ => {
                let gather = self.next_ticket;
                self.next_ticket += 1;
                self.gathers.insert(gather, Gather { ticket, buffer, outstanding: runs.len(), failed: None });
                for (at, address, blocks) in runs {
                    let inner = self.lend(Request::Part { gather, at });
                    self.read_inner(place, inner, address, Buffer::zeroed(blocks));
                }
            }
        }
    }

    fn store(&mut self, place: Place, first: u64, buffer: &Buffer) {
        let held = self.place_mut(place);
        for (address, block) in (first..).zip(buffer.as_blocks()) {
            match held.get_mut(&address) {
                Some(content) => content.0 = block.0,
                None => {
                    held.insert(address, Box::new(block.clone()));
                }
            }
        }
    }

    /// Handles the completion of one run of a gathered read; returns the read after its last run.
    fn gather(&mut self, id: u64, at: usize, result: Result<Done, MediaError>) -> Option<Completion> {
        let gather = self.gathers.get_mut(&id)?;
        gather.outstanding -= 1;
        match result {
            Ok(Done::Read(part)) => {
                let target = gather.buffer.as_blocks_mut().get_mut(at..).unwrap_or_default();
                for (target, block) in target.iter_mut().zip(part.as_blocks()) {
                    target.0 = block.0;
                }
            }
            Ok(_) => gather.failed = Some(misanswered("read")),
            Err(error) => gather.failed = Some(error),
        }
        if gather.outstanding > 0 {
            return None;
        }
        let Gather { ticket, buffer, failed, .. } = self.gathers.remove(&id)?;
        Some(Completion { ticket, result: failed.map_or(Ok(Done::Read(buffer)), Err) })
    }

    /// Records the inner root, unless a root has been swapped in since.
    fn record_root(&mut self, result: Result<Done, MediaError>) -> Result<(Vec<u8>, u64), MediaError> {
        match result {
            Ok(Done::Root(root, version)) => Ok(self.root.get_or_insert((root, version)).clone()),
            Ok(_) => Err(misanswered("root load")),
            Err(error) => Err(error),
        }
    }

    fn swap(&mut self, swap: WaitingSwap) {
        let WaitingSwap { ticket, version: expected, root } = swap;
        let Some((_, found)) = self.root else { return };
        let result = if expected != found {
            Err(MediaError::RootConflict { expected, found })
        } else if let Some(version) = found.checked_add(1) {
            self.root = Some((root, version));
            Ok(Done::Written(None))
        } else {
            Err(MediaError::BadRoot("the root's version is at its end".to_owned()))
        };
        self.complete(ticket, result);
    }

    /// Translates a completion of the inner medium into one for a caller, if it results in one.
    fn translate(&mut self, completion: Completion) -> Option<Completion> {
        let Completion { ticket, result } = completion;
        match self.requests.remove(&ticket)? {
            Request::Whole { ticket } => Some(Completion { ticket, result }),
            Request::Part { gather, at } => self.gather(gather, at, result),
            Request::Root { ticket } => {
                let result = self.record_root(result).map(|(root, version)| Done::Root(root, version));
                Some(Completion { ticket, result })
            }
            Request::RootForSwaps => {
                let outcome = self.record_root(result);
                for swap in std::mem::take(&mut self.waiting_swaps) {
                    match &outcome {
                        Ok(_) => self.swap(swap),
                        Err(error) => self.complete(swap.ticket, Err(error.clone())),
                    }
                }
                None
            }
        }
    }
}

fn misanswered(operation: &str) -> MediaError {
    MediaError::BadRoot(format!("the inner medium answered a {operation} with something else"))
}

impl<M: Media> SegmentStore for Overlay<M> {
    fn read(&mut self, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        if self.in_data_area("read", ticket, address, block_length(&buffer)) {
            self.start_read(Place::Segments, ticket, address.get(), buffer);
        }
    }

    fn write(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        if self.admit(fence, ticket) && self.in_data_area("write", ticket, address, block_length(&buffer)) {
            self.store(Place::Segments, address.get(), &buffer);
            self.complete(ticket, Ok(Done::Written(Some(buffer))));
        }
    }

    fn write_durable(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, buffer: Buffer) {
        self.write(fence, ticket, address, buffer);
    }

    fn has_room(&mut self, _: BlockAddress, _: u64) -> bool {
        false
    }

    fn flush(&mut self, fence: &Fence, ticket: Ticket) {
        if self.admit(fence, ticket) {
            self.complete(ticket, Ok(Done::Written(None)));
        }
    }

    fn discard(&mut self, fence: &Fence, ticket: Ticket, address: BlockAddress, blocks: u64) {
        if self.admit(fence, ticket) && self.in_data_area("discard", ticket, address, blocks) {
            let range = address.get()..(address + blocks).get();
            // Iterates over the smaller set: a discard may cover far more blocks than were written
            // here, or far fewer.
            if usize::try_from(blocks).is_ok_and(|blocks| blocks <= self.segments.len()) {
                for block in range {
                    self.segments.remove(&block);
                }
            } else {
                self.segments.retain(|block, _| !range.contains(block));
            }
            self.complete(ticket, Ok(Done::Written(None)));
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { torn_writes: false, needs_flush: false, ..self.inner.capabilities() }
    }

    fn block_count(&self) -> u64 {
        self.inner.block_count()
    }

    fn data_start(&self) -> BlockAddress {
        self.inner.data_start()
    }

    fn data_end(&self) -> BlockAddress {
        self.inner.data_end()
    }
}

impl<M: Media> LogStore for Overlay<M> {
    fn log_bytes(&self) -> u64 {
        self.inner.log_bytes()
    }

    fn append(&mut self, fence: &Fence, ticket: Ticket, offset_bytes: u64, frame: Buffer) {
        if self.admit(fence, ticket)
            && let Some(first) = self.log_block("append", ticket, offset_bytes, block_length(&frame))
        {
            self.store(Place::Log, first, &frame);
            self.complete(ticket, Ok(Done::Written(Some(frame))));
        }
    }

    fn read_log(&mut self, ticket: Ticket, offset_bytes: u64, buffer: Buffer) {
        if let Some(first) = self.log_block("read", ticket, offset_bytes, block_length(&buffer)) {
            self.start_read(Place::Log, ticket, first, buffer);
        }
    }

    fn seal(&mut self, fence: &Fence, ticket: Ticket) {
        if self.admit(fence, ticket) {
            self.complete(ticket, Ok(Done::Written(None)));
        }
    }
}

impl<M: Media> RootStore for Overlay<M> {
    fn load_root(&mut self, ticket: Ticket) {
        match &self.root {
            Some((root, version)) => {
                let done = Done::Root(root.clone(), *version);
                self.complete(ticket, Ok(done));
            }
            None => {
                let inner = self.lend(Request::Root { ticket });
                self.inner.load_root(inner);
            }
        }
    }

    /// No other program opens what is only in memory.
    fn require_features(&mut self, incompatible: u64) {
        self.required_features |= incompatible;
    }

    fn features(&self) -> u64 {
        self.inner.features() | self.required_features
    }

    fn swap_root(&mut self, fence: &Fence, ticket: Ticket, version: u64, root: &[u8]) {
        if !self.admit(fence, ticket) {
            return;
        }
        if root.len() > MAX_ROOT_BYTES {
            let reason = format!("a root of {} bytes does not fit: at most {MAX_ROOT_BYTES}", root.len());
            return self.complete(ticket, Err(MediaError::BadRoot(reason)));
        }
        let swap = WaitingSwap { ticket, version, root: root.to_vec() };
        if self.root.is_some() && self.waiting_swaps.is_empty() {
            return self.swap(swap);
        }
        self.waiting_swaps.push_back(swap);
        if self.waiting_swaps.len() == 1 {
            let inner = self.lend(Request::RootForSwaps);
            self.inner.load_root(inner);
        }
    }
}

impl<M: Media> Media for Overlay<M> {
    fn submit(&mut self) {
        self.inner.submit();
    }

    fn poll(&mut self) -> Option<Completion> {
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Some(completion);
            }
            let completion = self.inner.poll()?;
            if let Some(completion) = self.translate(completion) {
                return Some(completion);
            }
        }
    }

    fn wait(&mut self) {
        self.inner.submit();
        loop {
            if let Some(completion) = self.poll() {
                return self.ready.push_front(completion);
            }
            if self.requests.is_empty() {
                return;
            }
            self.inner.wait();
        }
    }

    fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.wake_descriptor()
    }

    fn clear_wake(&mut self) {
        self.inner.clear_wake();
    }
}
