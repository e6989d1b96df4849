//! Disk over a file or block device, with one of three engines: io_uring, threads, or inline for
//! memory file systems.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};

use crate::backing::{BackingFile, OpenError, Operation, Request, byte_offset};
use crate::disk::{block_length, range_error};
use crate::engine::Engine;
use crate::growth::{Extended, Growth, GrowthError, GrowthTerms, wanted_blocks};
use crate::holes::Holes;
use crate::inline::Inline;
use crate::threads::Threads;
use crate::uring::Uring;
use crate::{Buffer, Capabilities, Completion, Disk, MediaError, Ticket};

/// Threads of the engine that replaces io_uring.
const THREADS: usize = 4;
/// Largest recommended request; larger ones work.
const MAX_REQUEST_BYTES: usize = 1 << 20;

/// Choice of the engine for a [`FileDisk`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// Inline on a memory file system; otherwise io_uring; otherwise, if the kernel refuses it,
    /// threads.
    #[default]
    Auto,
    /// io_uring; opening fails without it.
    Uring,
    /// A small pool of threads with blocking transfers.
    Threads,
    /// Blocking transfers inside the submitting call.
    Inline,
}

/// Options for opening a [`FileDisk`].
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Size in bytes of the sparse file that a missing or empty file becomes. A file with content
    /// is opened unchanged.
    pub create_bytes: Option<u64>,
    /// Bypass the page cache (O_DIRECT) where the file system supports it.
    pub direct: bool,
    /// Refuse writes.
    pub read_only: bool,
    /// Engine to use.
    pub engine: EngineChoice,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { create_bytes: None, direct: true, read_only: false, engine: EngineChoice::Auto }
    }
}

/// File or block device as a [`Disk`]. Holds an exclusive advisory lock while it lives.
pub struct FileDisk {
    engine: Box<dyn Engine>,
    /// Helper thread for discards of a block device under io_uring. Started when first needed.
    helper: Option<Threads>,
    /// Delayed first writes of a sparse file.
    holes: Option<Holes>,
    /// Discards of a sparse file in flight: ticket, first block, number of blocks.
    discards: Vec<(Ticket, u64, u64)>,
    ready: VecDeque<Completion>,
    engine_name: &'static str,
    uring_refused: Option<std::io::Error>,
    wake: Arc<OwnedFd>,
    backing: Arc<BackingFile>,
}

impl std::fmt::Debug for FileDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileDisk({} blocks, {})", self.backing.block_count(), self.description())
    }
}

impl FileDisk {
    /// Opens and locks a file or block device. A file whose size is not a multiple of 4 096 loses
    /// the remainder.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let wake = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|reason| {
            let operation = "making an event descriptor";
            OpenError::System { path: path.display().to_string(), operation, reason: reason.into() }
        })?;
        Self::open_sharing(path, options, Arc::new(wake), true)
    }

    /// Like [`FileDisk::open`], with the event descriptor of another disk. `patient`: wait briefly
    /// for a locked file.
    pub(crate) fn open_sharing(
        path: &Path,
        options: &OpenOptions,
        wake: Arc<OwnedFd>,
        patient: bool,
    ) -> Result<Self, OpenError> {
        let failed = |operation, reason| OpenError::System { path: path.display().to_string(), operation, reason };
        let OpenOptions { create_bytes, direct, read_only, .. } = *options;
        let backing = Arc::new(BackingFile::open(path, create_bytes, direct, read_only, patient)?);
        let uring = || -> std::io::Result<Box<dyn Engine>> {
            Ok(Box::new(Uring::new(Arc::clone(&backing), Arc::clone(&wake))?))
        };
        let threads = || -> Result<Box<dyn Engine>, OpenError> {
            match Threads::new(Arc::clone(&backing), Arc::clone(&wake), THREADS) {
                Ok(threads) => Ok(Box::new(threads)),
                Err(reason) => Err(failed("starting threads", reason)),
            }
        };
        let mut uring_refused = None;
        let (engine, engine_name): (Box<dyn Engine>, _) = match options.engine {
            EngineChoice::Inline => (Box::new(Inline::new(Arc::clone(&backing))), "inline"),
            EngineChoice::Auto if backing.memory() => (Box::new(Inline::new(Arc::clone(&backing))), "inline"),
            EngineChoice::Threads => (threads()?, "threads"),
            EngineChoice::Uring => (uring().map_err(|reason| failed("setting up io_uring", reason))?, "io_uring"),
            EngineChoice::Auto => match uring() {
                Ok(engine) => (engine, "io_uring"),
                Err(reason) => {
                    uring_refused = Some(reason);
                    (threads()?, "threads")
                }
            },
        };
        let holes = Holes::new(&backing);
        Ok(Self {
            engine,
            helper: None,
            holes,
            discards: Vec::new(),
            ready: VecDeque::new(),
            engine_name,
            uring_refused,
            wake,
            backing,
        })
    }

    /// Whether `open` created the file, or gave an empty one its size.
    pub fn created(&self) -> bool {
        self.backing.created()
    }

    /// Name of the engine: `io_uring`, `threads` or `inline`.
    pub fn engine(&self) -> &'static str {
        self.engine_name
    }

    /// Whether the file is on tmpfs or ramfs: content does not survive the machine.
    pub fn memory(&self) -> bool {
        self.backing.memory()
    }

    /// Line for the log: kind of the disk and access to it.
    pub fn description(&self) -> String {
        let kind = match (self.backing.block_device(), self.backing.memory()) {
            (true, _) => "block device",
            (false, true) => "file in memory",
            (false, false) => "file",
        };
        let cache = if self.backing.direct() { "direct I/O" } else { "through the page cache" };
        match &self.uring_refused {
            Some(reason) => format!("{kind}, {cache}, {} (io_uring refused: {reason})", self.engine_name),
            None => format!("{kind}, {cache}, {}", self.engine_name),
        }
    }

    /// Event descriptor that completions make readable.
    pub(crate) fn shared_wake(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.wake)
    }

    /// Reads blocks synchronously, independent of requests in flight.
    pub(crate) fn read_now(&mut self, block: u64, blocks: usize) -> std::io::Result<Buffer> {
        let mut buffer = Buffer::zeroed(blocks);
        self.backing.read(byte_offset(block), &mut buffer)?;
        Ok(buffer)
    }

    /// See [`BackingFile::written_from`].
    pub(crate) fn written_from(&self, block: u64) -> Option<u64> {
        self.backing.written_from(block)
    }

    /// Writes blocks synchronously, independent of requests in flight. They are durable after
    /// [`FileDisk::flush_now`].
    pub(crate) fn write_now(&mut self, block: u64, buffer: Buffer) -> std::io::Result<()> {
        self.backing.write(byte_offset(block), &buffer, false)
    }

    /// Makes earlier writes durable, synchronously.
    pub(crate) fn flush_now(&mut self) -> std::io::Result<()> {
        self.backing.flush()
    }

    /// Extends the file to at least `blocks` blocks, or checks that the device has grown that far.
    pub(crate) fn grow(&mut self, blocks: u64) -> Result<(), GrowthError> {
        self.backing.grow(blocks)?;
        if let Some(holes) = &mut self.holes {
            holes.grow();
        }
        Ok(())
    }

    fn start(&mut self, request: Request) {
        let Some(holes) = &mut self.holes else { return self.engine.start(request) };
        if let Some(request) = holes.admit(request) {
            self.engine.start(request);
        }
        while let Some(fill) = holes.next_fill() {
            self.engine.start(fill);
        }
    }

    /// Next completion of the engine that is for the caller.
    fn poll_engine(&mut self) -> Option<Completion> {
        loop {
            let completion = self.engine.poll()?;
            self.note_discarded(completion.ticket);
            let Some(holes) = self.holes.as_mut().filter(|_| Holes::is_fill(completion.ticket)) else {
                return Some(completion);
            };
            for request in holes.filled(completion.ticket) {
                self.start(request);
            }
            while let Some(fill) = self.holes.as_mut().and_then(Holes::next_fill) {
                self.engine.start(fill);
            }
            self.engine.submit();
        }
    }

    /// Handles the completion of a discard of a sparse file: its holes are known again.
    fn note_discarded(&mut self, ticket: Ticket) {
        let Some(at) = self.discards.iter().position(|(found, ..)| *found == ticket) else { return };
        let (_, block, blocks) = self.discards.swap_remove(at);
        if let Some(holes) = &mut self.holes {
            holes.discarded(block, blocks);
        }
    }

    fn refuse(&mut self, ticket: Ticket, error: MediaError) {
        self.ready.push_back(Completion { ticket, result: Err(error) });
    }

    /// Error of a change to a read-only disk.
    fn change_error(&self, operation: &'static str, address: u64, blocks: u64) -> Option<MediaError> {
        self.backing.read_only().then(|| MediaError::Io {
            operation,
            address,
            blocks,
            reason: "the disk was opened for reading only".to_owned(),
        })
    }

    /// The helper thread, started if necessary.
    fn helper(&mut self) -> std::io::Result<&mut Threads> {
        if self.helper.is_none() {
            self.helper = Some(Threads::new(Arc::clone(&self.backing), Arc::clone(&self.wake), 1)?);
        }
        self.helper.as_mut().ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))
    }

    fn helper_outstanding(&self) -> usize {
        self.helper.as_ref().map_or(0, Engine::outstanding)
    }
}

impl Disk for FileDisk {
    fn block_count(&self) -> u64 {
        self.backing.block_count()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            torn_writes: true,
            needs_flush: !self.backing.memory(),
            max_request_bytes: MAX_REQUEST_BYTES,
            immediate: self.engine.immediate(),
        }
    }

    fn read_only(&self) -> bool {
        self.backing.read_only()
    }

    fn extend(&mut self, growth: &Growth, terms: &GrowthTerms) -> Result<Extended, GrowthError> {
        match growth {
            _ if self.read_only() => Err(GrowthError::Unsupported("a file that was opened for reading only")),
            Growth::Device(_) => Err(GrowthError::Unsupported("a disk of one file")),
            Growth::Size(bytes) => {
                let block_count = wanted_blocks(*bytes, terms, 0, 0)?;
                self.grow(block_count)?;
                Ok(Extended { block_count, members: Vec::new() })
            }
        }
    }

    fn read(&mut self, ticket: Ticket, block: u64, buffer: Buffer) {
        match range_error("read", block, block_length(&buffer), self.block_count()) {
            Some(error) => self.refuse(ticket, error),
            None => self.start(Request { ticket, operation: Operation::Read { block, buffer } }),
        }
    }

    fn write(&mut self, ticket: Ticket, block: u64, buffer: Buffer, durable: bool) {
        let blocks = block_length(&buffer);
        let error = range_error("write", block, blocks, self.block_count());
        match error.or_else(|| self.change_error("write", block, blocks)) {
            Some(error) => self.refuse(ticket, error),
            None => self.start(Request { ticket, operation: Operation::Write { block, buffer, durable } }),
        }
    }

    fn has_room(&mut self, block: u64, blocks: u64) -> bool {
        match &mut self.holes {
            Some(holes) => holes.are_filled(block, blocks),
            None => self.backing.block_device(),
        }
    }

    fn flush(&mut self, ticket: Ticket) {
        match self.change_error("flush", 0, 0).or_else(|| self.backing.truncation_error()) {
            Some(error) => self.refuse(ticket, error),
            None => self.start(Request { ticket, operation: Operation::Flush }),
        }
    }

    fn discard(&mut self, ticket: Ticket, block: u64, blocks: u64) {
        let error = range_error("discard", block, blocks, self.block_count());
        if let Some(error) = error.or_else(|| self.change_error("discard", block, blocks)) {
            return self.refuse(ticket, error);
        }
        let operation = Operation::Discard { block, blocks };
        if let Some(holes) = &mut self.holes {
            holes.discarding(block, blocks);
            self.discards.push((ticket, block, blocks));
        }
        if !(self.backing.block_device() && self.engine_name == "io_uring") {
            return self.start(Request { ticket, operation });
        }
        match self.helper() {
            Ok(helper) => helper.start(Request { ticket, operation }),
            Err(reason) => {
                let error = operation.error(&reason);
                self.refuse(ticket, error);
            }
        }
    }

    fn submit(&mut self) {
        self.engine.submit();
        if let Some(helper) = &mut self.helper {
            helper.submit();
        }
    }

    fn poll(&mut self) -> Option<Completion> {
        if let Some(completion) = self.ready.pop_front() {
            return Some(completion);
        }
        self.poll_engine().or_else(|| self.helper.as_mut().and_then(Engine::poll))
    }

    fn wait(&mut self) {
        self.submit();
        loop {
            if !self.ready.is_empty() {
                return;
            }
            if self.helper_outstanding() == 0 {
                self.engine.wait();
            }
            if let Some(completion) = self.poll() {
                return self.ready.push_back(completion);
            }
            if self.outstanding() == 0 {
                return;
            }
            if self.helper_outstanding() == 0 {
                continue; // a fill ended; the writes that waited for it have started
            }
            // Completions come from two sources, which share the event descriptor. The time limit
            // is a safety net.
            let limit = Timespec { tv_sec: 1, tv_nsec: 0 };
            let mut wait_on = [PollFd::new(&self.wake, PollFlags::IN)];
            let _ = rustix::event::poll(&mut wait_on, Some(&limit));
            self.clear_wake();
        }
    }

    fn outstanding(&self) -> usize {
        let (held, fills) = self.holes.as_ref().map_or((0, 0), |holes| (holes.held(), holes.in_flight()));
        self.ready.len() + held + self.engine.outstanding() + self.helper_outstanding() - fills
    }

    fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        (!self.engine.immediate()).then(|| self.wake.as_fd())
    }

    fn clear_wake(&mut self) {
        let mut count = [0; 8];
        // EAGAIN: the descriptor was not readable.
        let _ = rustix::io::read(&self.wake, &mut count);
    }
}
