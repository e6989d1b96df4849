//! Simulated disk with a volatile cache, crashes and faults, deterministic for a seed.
//!
//! Requests complete in random order, and `poll` may hold completions back, so that a caller meets
//! every interleaving. A completed write is in the volatile cache until a flush covers it. A crash
//! gives each write that is not durable, also those in flight, a fate: applied, lost, or torn at 4
//! KiB or 512 B. Faults can be planted: errors, lost and misdirected writes, flushes without
//! effect, bit rot, a device that shrinks or grows. Content is sparse, so a large simulated device
//! costs nothing until it is written.
//!
//! A [`SimDisk`] is a handle: clones share the disk, so a test keeps one while the back end under
//! test owns another.

mod fault;
mod image;
mod random;
mod recorder;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::disk::{block_length, range_error};
use crate::growth::{Extended, Growth, GrowthError, GrowthTerms, wanted_blocks};
use crate::{Block, Buffer, Capabilities, Completion, Disk, Done, MediaError, Ticket};
use fault::Faults;
pub use fault::{Fault, FaultEffect, FaultOperation};
pub use image::{Fate, PendingWrite};
use image::{Image, InFlightWrite};
use random::Random;
pub use recorder::Event;
use recorder::Recorder;

/// Blocks of a range of which [`SimOptions::known_room`] speaks.
const ROOM_BLOCKS: u64 = 32;

/// Content of a block after a discard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiscardOutcome {
    /// The earlier content.
    Old,
    /// Zeros.
    Zeros,
    /// Random bytes.
    Garbage,
    /// One of the outcomes above, drawn for each block.
    #[default]
    Any,
}

/// Behaviour of a [`SimDisk`].
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Seed of all random decisions.
    pub seed: u64,
    /// Size in 4 KiB blocks.
    pub block_count: u64,
    /// Of 256 polls with requests in flight, this many return `None`. From 256 on, requests
    /// complete only inside `wait`, one at a time.
    pub delay: u16,
    /// Complete requests at random; otherwise in the order of submission.
    pub reorder: bool,
    /// Complete requests inside the submitting call, as a memory file system does. Overrides `delay` and `reorder`.
    pub immediate: bool,
    /// Writes may be torn between blocks of 4 KiB at a crash.
    pub torn_blocks: bool,
    /// Writes may be torn between sectors of 512 bytes at a crash.
    pub torn_sectors: bool,
    /// Of 256 ranges of 32 blocks, this many are known to have their place below.
    pub known_room: u16,
    /// Content of discarded blocks.
    pub discard: DiscardOutcome,
    /// Events kept for [`SimDisk::story`]; 0 keeps none.
    pub story_length: usize,
}

impl SimOptions {
    /// Options with all the behaviour that a real disk may show: reordering, delays, torn writes.
    pub fn new(seed: u64, block_count: u64) -> Self {
        Self {
            seed,
            block_count,
            delay: 64,
            reorder: true,
            immediate: false,
            torn_blocks: true,
            torn_sectors: true,
            known_room: 256,
            discard: DiscardOutcome::Any,
            story_length: 0,
        }
    }

    /// Options for plain memory: requests complete at once and in order.
    pub fn immediate(seed: u64, block_count: u64) -> Self {
        Self { immediate: true, reorder: false, delay: 0, known_room: 0, ..Self::new(seed, block_count) }
    }
}

/// Counters since the disk was created. Crashes do not reset them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimCounters {
    /// Reads completed.
    pub reads: u64,
    /// Writes completed.
    pub writes: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Discards completed.
    pub discards: u64,
    /// Faults that took effect.
    pub faults: u64,
    /// Crashes.
    pub crashes: u64,
}

/// Simulated disk. Clones are handles to the same disk.
#[derive(Clone)]
pub struct SimDisk {
    state: Rc<RefCell<State>>,
}

enum Kind {
    Read { block: u64, buffer: Buffer },
    Write { id: u64, block: u64, buffer: Buffer, durable: bool },
    Flush { covers: u64 },
    Discard { id: u64, block: u64, blocks: u64 },
}

struct Request {
    ticket: Ticket,
    kind: Kind,
}

struct State {
    options: SimOptions,
    random: Random,
    image: Image,
    staged: Vec<Request>,
    in_flight: VecDeque<Request>,
    ready: VecDeque<Completion>,
    next_id: u64,
    faults: Faults,
    recorder: Recorder,
    counters: SimCounters,
    /// Set by a crash: requests are dropped without completion.
    off: bool,
}

impl std::fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state.borrow();
        write!(f, "SimDisk(seed {}, {} blocks, {:?})", state.options.seed, state.options.block_count, state.counters)
    }
}

impl SimDisk {
    /// Creates a disk of zeros.
    pub fn new(options: SimOptions) -> Self {
        let random = Random::new(options.seed);
        let recorder = Recorder::new(options.story_length);
        Self::from_state(State {
            options,
            random,
            image: Image::default(),
            staged: Vec::new(),
            in_flight: VecDeque::new(),
            ready: VecDeque::new(),
            next_id: 0,
            faults: Faults::default(),
            recorder,
            counters: SimCounters::default(),
            off: false,
        })
    }

    fn from_state(state: State) -> Self {
        Self { state: Rc::new(RefCell::new(state)) }
    }

    /// Cuts the power: every write that is not durable gets a fate. Returns the disk as it is after
    /// the restart. This disk and all its handles are off and drop requests. Planted faults stay
    /// with the medium.
    pub fn crash(&self) -> Self {
        let mut state = self.state.borrow_mut();
        let mut image = std::mem::take(&mut state.image);
        let writes = state.writes_in_flight();
        let options = state.options.clone();
        let mood = state.random.below(4);
        let lost_of_256 = state.random.below(257);
        let random = &mut state.random;
        image.crash(writes, &mut |_, random| draw_fate(&options, mood, lost_of_256, random), random);
        state.off = true;
        state.recorder.record(Event::Crash);
        let successor = state.successor(image);
        state.staged.clear();
        state.in_flight.clear();
        state.ready.clear();
        Self::from_state(successor)
    }

    /// Like [`SimDisk::crash`], but `choose` decides the fate of each write and this disk
    /// continues: to try all outcomes of a crash at one point. Copies the map of the content.
    pub fn crashed_copy(&self, mut choose: impl FnMut(&PendingWrite) -> Fate) -> Self {
        let mut state = self.state.borrow_mut();
        let mut image = state.image.clone();
        let writes = state.writes_in_flight();
        let random = &mut state.random;
        image.crash(writes, &mut |write, _| choose(write), random);
        Self::from_state(state.successor(image))
    }

    /// Writes whose fate a crash would decide now: completed but not durable, and in flight.
    /// Discards count as writes.
    pub fn pending_writes(&self) -> Vec<PendingWrite> {
        let state = self.state.borrow();
        state.image.pending(&state.writes_in_flight())
    }

    /// Reseeds the random generator: later events no longer depend on earlier ones.
    pub fn reseed(&self, seed: u64) {
        self.state.borrow_mut().random = Random::new(seed);
    }

    /// Plants a fault.
    pub fn plant(&self, fault: Fault) {
        self.state.borrow_mut().faults.plant(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.state.borrow_mut().faults.clear();
    }

    /// Changes the stored content of a block without a request: bit rot, or an operator's mistake.
    pub fn damage(&self, block: u64, change: impl FnOnce(&mut [u8])) {
        self.state.borrow_mut().image.damage(block, change);
    }

    /// Flips `bits` random bits of a block.
    pub fn rot(&self, block: u64, bits: usize) {
        let state = &mut *self.state.borrow_mut();
        let random = &mut state.random;
        state.image.damage(block, |content| {
            for _ in 0..bits {
                let at = random.index(content.len());
                if let Some(byte) = content.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        });
    }

    /// Content that a read of the block would return now, without a request.
    pub fn peek(&self, block: u64) -> Block {
        let mut content = Block::default();
        self.state.borrow().image.read(block, &mut content.0);
        content
    }

    /// Changes the size. Blocks beyond a smaller size are lost; requests there fail.
    pub fn resize(&self, block_count: u64) {
        let mut state = self.state.borrow_mut();
        state.options.block_count = block_count;
        state.image.truncate(block_count);
    }

    /// Number of blocks with content other than zeros.
    pub fn stored_blocks(&self) -> usize {
        self.state.borrow().image.stored_blocks()
    }

    /// Blocks with content other than zeros, ascending.
    pub fn stored(&self) -> Vec<u64> {
        self.state.borrow().image.stored()
    }

    /// Counters so far.
    pub fn counters(&self) -> SimCounters {
        self.state.borrow().counters
    }

    /// Last events, oldest first; empty unless [`SimOptions::story_length`] is above 0.
    pub fn events(&self) -> Vec<Event> {
        self.state.borrow().recorder.events()
    }

    /// Last events as text, one per line.
    pub fn story(&self) -> String {
        self.state.borrow().recorder.story()
    }
}

/// Fate of one write under the mood of a crash: 0 loses all, 1 applies all, otherwise drawn.
fn draw_fate(options: &SimOptions, mood: u64, lost_of_256: u64, random: &mut Random) -> Fate {
    match mood {
        0 => return Fate::Lost,
        1 => return Fate::Applied,
        _ => {}
    }
    if random.below(256) < lost_of_256 {
        return Fate::Lost;
    }
    match random.below(6) {
        0 if options.torn_blocks => Fate::TornBlocks,
        1 if options.torn_sectors => Fate::TornSectors,
        2 if options.torn_sectors => Fate::Prefix,
        _ => Fate::Applied,
    }
}

impl State {
    fn successor(&mut self, image: Image) -> State {
        let mut counters = self.counters;
        counters.crashes += 1;
        let mut recorder = self.recorder.clone();
        recorder.record(Event::Crash);
        State {
            options: self.options.clone(),
            random: Random::new(self.random.next()),
            image,
            staged: Vec::new(),
            in_flight: VecDeque::new(),
            ready: VecDeque::new(),
            next_id: self.next_id,
            faults: self.faults.clone(),
            recorder,
            counters,
            off: false,
        }
    }

    /// Writes and discards that have not completed, in request order.
    fn writes_in_flight(&self) -> Vec<InFlightWrite> {
        let requests = self.in_flight.iter().chain(&self.staged);
        let mut writes: Vec<_> = requests
            .filter_map(|request| match &request.kind {
                Kind::Write { id, block, buffer, .. } => Some(InFlightWrite::write(*id, *block, buffer)),
                Kind::Discard { id, block, blocks } => Some(InFlightWrite::discard(*id, *block, *blocks)),
                _ => None,
            })
            .collect();
        writes.sort_by_key(|write| write.id);
        writes
    }

    fn accept(&mut self, ticket: Ticket, kind: Kind) {
        if self.off {
            return;
        }
        let request = Request { ticket, kind };
        if self.options.immediate {
            let completion = self.execute(request);
            self.ready.push_back(completion);
        } else {
            self.staged.push(request);
        }
    }

    /// Next request to execute, by the rules of order.
    fn pick(&mut self) -> Option<Request> {
        if !self.options.reorder || self.in_flight.len() < 2 {
            return self.in_flight.pop_front();
        }
        let at = self.random.index(self.in_flight.len());
        self.in_flight.swap_remove_back(at)
    }

    fn execute(&mut self, request: Request) -> Completion {
        let Request { ticket, kind } = request;
        let (operation, block, blocks) = match &kind {
            Kind::Read { block, buffer } => (FaultOperation::Read, *block, block_length(buffer)),
            Kind::Write { block, buffer, .. } => (FaultOperation::Write, *block, block_length(buffer)),
            Kind::Flush { .. } => (FaultOperation::Flush, 0, 0),
            Kind::Discard { block, blocks, .. } => (FaultOperation::Discard, *block, *blocks),
        };
        let effect = self.faults.strike(operation, block, blocks);
        self.counters.faults += u64::from(effect.is_some());
        let failed = || {
            if effect == Some(FaultEffect::NoSpace) {
                return Err(MediaError::NoSpace { operation: operation.word(), address: block, blocks });
            }
            let reason = "Input/output error (simulated)".to_owned();
            Err(MediaError::Io { operation: operation.word(), address: block, blocks, reason })
        };
        let result = match kind {
            Kind::Read { block, mut buffer } => {
                self.counters.reads += 1;
                self.image.read_all(block, &mut buffer);
                match effect {
                    Some(FaultEffect::Error | FaultEffect::NoSpace | FaultEffect::ErrorAfterEffect) => failed(),
                    _ => Ok(Done::Read(buffer)),
                }
            }
            Kind::Write { id, block, buffer, durable } => {
                self.counters.writes += 1;
                match effect {
                    Some(FaultEffect::Error | FaultEffect::NoSpace | FaultEffect::Lost) => {}
                    Some(FaultEffect::Misdirected { blocks }) => {
                        let elsewhere = block.wrapping_add_signed(blocks) % self.options.block_count.max(1);
                        let end = elsewhere.saturating_add(block_length(&buffer));
                        if end <= self.options.block_count {
                            self.image.write(id, elsewhere, &buffer, durable);
                        }
                    }
                    // The data reached the cache, and the flush behind it failed.
                    Some(FaultEffect::ErrorAfterEffect) if durable => self.image.write_abandoned(id, block, &buffer),
                    Some(FaultEffect::ErrorAfterEffect) | None => self.image.write(id, block, &buffer, durable),
                }
                match effect {
                    Some(FaultEffect::Error | FaultEffect::NoSpace | FaultEffect::ErrorAfterEffect) => failed(),
                    _ => Ok(Done::Written(Some(buffer))),
                }
            }
            Kind::Flush { covers } => {
                self.counters.flushes += 1;
                match effect {
                    // The cache may have dropped blocks that it could not write: a later flush does
                    // not restore them.
                    Some(FaultEffect::Error | FaultEffect::NoSpace) => {
                        self.image.abandon(covers);
                        failed()
                    }
                    Some(FaultEffect::ErrorAfterEffect) => {
                        self.image.flush(covers);
                        failed()
                    }
                    Some(FaultEffect::Lost | FaultEffect::Misdirected { .. }) => Ok(Done::Written(None)),
                    None => {
                        self.image.flush(covers);
                        Ok(Done::Written(None))
                    }
                }
            }
            Kind::Discard { id, block, blocks } => {
                self.counters.discards += 1;
                match effect {
                    Some(FaultEffect::Error | FaultEffect::NoSpace) => failed(),
                    Some(FaultEffect::ErrorAfterEffect) => {
                        self.image.discard(id, block, blocks, self.options.discard, &mut self.random);
                        failed()
                    }
                    Some(FaultEffect::Lost | FaultEffect::Misdirected { .. }) => Ok(Done::Written(None)),
                    None => {
                        self.image.discard(id, block, blocks, self.options.discard, &mut self.random);
                        Ok(Done::Written(None))
                    }
                }
            }
        };
        if self.recorder.is_on() {
            self.recorder.record(Event::Completed { operation, block, blocks, fault: effect });
        }
        Completion { ticket, result }
    }

    fn release(&mut self) {
        self.in_flight.extend(self.staged.drain(..));
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Whether the request lies on the disk; otherwise completes it with an error.
    fn in_range(&mut self, operation: FaultOperation, ticket: Ticket, block: u64, blocks: u64) -> bool {
        let error = range_error(operation.word(), block, blocks, self.options.block_count);
        let Some(error) = error else { return true };
        if !self.off {
            self.ready.push_back(Completion { ticket, result: Err(error) });
        }
        false
    }

    fn record_request(&mut self, operation: FaultOperation, block: u64, blocks: u64, durable: bool) {
        if self.recorder.is_on() {
            self.recorder.record(Event::Requested { operation, block, blocks, durable });
        }
    }
}

impl Disk for SimDisk {
    fn block_count(&self) -> u64 {
        self.state.borrow().options.block_count
    }

    fn capabilities(&self) -> Capabilities {
        let options = &self.state.borrow().options;
        Capabilities {
            torn_writes: options.torn_blocks || options.torn_sectors,
            needs_flush: true,
            max_request_bytes: 1 << 20,
            immediate: options.immediate,
        }
    }

    fn extend(&mut self, growth: &Growth, terms: &GrowthTerms) -> Result<Extended, GrowthError> {
        let Growth::Size(bytes) = growth else {
            return Err(GrowthError::Unsupported("a simulated disk"));
        };
        let block_count = wanted_blocks(*bytes, terms, 0, 0)?;
        let state = &mut *self.state.borrow_mut();
        // A file system allocates the new last block.
        let effect = state.faults.strike(FaultOperation::Write, block_count - 1, 1);
        if let Some(FaultEffect::Error | FaultEffect::ErrorAfterEffect | FaultEffect::NoSpace) = effect {
            state.counters.faults += 1;
            let (path, operation) = ("the disk".to_owned(), "allocating its new last block");
            let reason = std::io::Error::other(format!("{effect:?} (simulated)"));
            return Err(GrowthError::System { path, operation, reason });
        }
        if state.faults.strike(FaultOperation::Flush, 0, 0) == Some(FaultEffect::Error) {
            state.counters.faults += 1;
            state.image.abandon(state.image.completed_writes());
            let reason = std::io::Error::other("Input/output error (simulated)");
            return Err(GrowthError::FlushFailed { path: "the disk".to_owned(), reason });
        }
        if block_count > state.options.block_count {
            state.options.block_count = block_count;
            state.image.truncate(block_count);
        }
        Ok(Extended { block_count, members: Vec::new() })
    }

    fn read(&mut self, ticket: Ticket, block: u64, buffer: Buffer) {
        let mut state = self.state.borrow_mut();
        let blocks = block_length(&buffer);
        state.record_request(FaultOperation::Read, block, blocks, false);
        if state.in_range(FaultOperation::Read, ticket, block, blocks) {
            state.accept(ticket, Kind::Read { block, buffer });
        }
    }

    fn write(&mut self, ticket: Ticket, block: u64, buffer: Buffer, durable: bool) {
        let mut state = self.state.borrow_mut();
        let blocks = block_length(&buffer);
        state.record_request(FaultOperation::Write, block, blocks, durable);
        let id = state.id();
        if state.in_range(FaultOperation::Write, ticket, block, blocks) {
            state.accept(ticket, Kind::Write { id, block, buffer, durable });
        }
    }

    fn has_room(&mut self, block: u64, blocks: u64) -> bool {
        let options = &self.state.borrow().options;
        let known = |range: u64| Random::new(options.seed ^ range).below(256) < u64::from(options.known_room);
        (block / ROOM_BLOCKS..=(block + blocks - 1) / ROOM_BLOCKS).all(known)
    }

    fn flush(&mut self, ticket: Ticket) {
        let mut state = self.state.borrow_mut();
        state.record_request(FaultOperation::Flush, 0, 0, false);
        let covers = state.image.completed_writes();
        state.accept(ticket, Kind::Flush { covers });
    }

    fn discard(&mut self, ticket: Ticket, block: u64, blocks: u64) {
        let mut state = self.state.borrow_mut();
        state.record_request(FaultOperation::Discard, block, blocks, false);
        let id = state.id();
        if state.in_range(FaultOperation::Discard, ticket, block, blocks) {
            state.accept(ticket, Kind::Discard { id, block, blocks });
        }
    }

    fn submit(&mut self) {
        self.state.borrow_mut().release();
    }

    fn poll(&mut self) -> Option<Completion> {
        let mut state = self.state.borrow_mut();
        if let Some(completion) = state.ready.pop_front() {
            return Some(completion);
        }
        if state.in_flight.is_empty() {
            return None;
        }
        let delay = u64::from(state.options.delay);
        if delay > 0 && state.random.below(256) < delay {
            return None;
        }
        let request = state.pick()?;
        Some(state.execute(request))
    }

    fn wait(&mut self) {
        let mut state = self.state.borrow_mut();
        state.release();
        if state.ready.is_empty()
            && let Some(request) = state.pick()
        {
            let completion = state.execute(request);
            state.ready.push_back(completion);
        }
    }

    fn outstanding(&self) -> usize {
        let state = self.state.borrow();
        state.staged.len() + state.in_flight.len() + state.ready.len()
    }
}
