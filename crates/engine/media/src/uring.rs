//! Engine for files and block devices on Linux: one io_uring, filled in batches.
//!
//! Requests are staged until `submit`, then enter the kernel with one system call. It enters earlier
//! once enough are staged, so that the disk works on them while the caller prepares more. Requests
//! that do not fit the ring wait in a backlog until completions are taken. A durable write is one entry
//! with RWF_DSYNC. Partial transfers continue where they ended. The buffers of a request live in
//! its slot until the kernel has completed it, even if the disk is dropped.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::{IoUring, Probe, opcode, squeue, types};
use rustix::io::Errno;

use crate::backing::{BackingFile, Operation, Request, byte_offset};
use crate::engine::{Engine, signal};
use crate::{BLOCK_BYTES, Completion};

/// Entries of the submission ring, and most requests in the kernel. The completion ring has twice
/// as many entries, so it cannot overflow.
const DEPTH: usize = 256;
/// Number of staged requests that enter the kernel without waiting for `submit`.
const EARLY_REQUESTS: usize = 8;
/// Number of bytes that staged requests transfer and with which they do the same.
const EARLY_BYTES: usize = 64 << 10;
/// Largest transfer of one entry: its length field has 32 bits, and Linux stops before 2 GiB.
/// Longer requests continue.
const MAX_TRANSFER_BYTES: usize = 1 << 30;
/// Attempts without progress (EAGAIN, EINTR, a transfer of less than a block) before a request fails.
const MAX_ATTEMPTS: u32 = 1000;

struct Slot {
    request: Request,
    done_bytes: usize,
    attempts: u32,
}

/// One ring over one file.
pub(crate) struct Uring {
    ring: IoUring,
    backing: Arc<BackingFile>,
    wake: Arc<OwnedFd>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// Slots that have not entered the submission ring; only the first `released` of them may.
    staged: VecDeque<u32>,
    released: usize,
    /// Number of bytes that the requests transfer that were staged since the last `submit`.
    staged_bytes: usize,
    /// Slots in the submission ring that the kernel has not consumed yet, oldest first.
    batch: VecDeque<u32>,
    /// Requests that the kernel has consumed and not completed.
    in_kernel: usize,
    reaped: Vec<(u64, i32)>,
    ready: VecDeque<Completion>,
    outstanding: usize,
    /// Error code with which the kernel refused the ring itself; nothing is submitted afterwards.
    broken: Option<i32>,
}

impl Uring {
    /// Creates a ring that signals `wake` at each completion. Fails where io_uring is missing,
    /// forbidden, or too old.
    pub(crate) fn new(backing: Arc<BackingFile>, wake: Arc<OwnedFd>) -> std::io::Result<Self> {
        let entries = u32::try_from(DEPTH).unwrap_or(u32::MAX);
        // Cooperative task running (Linux 5.19) saves an interrupt per completion; older kernels
        // return EINVAL.
        let ring = match IoUring::builder().dontfork().setup_coop_taskrun().setup_taskrun_flag().build(entries) {
            Err(reason) if reason.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                IoUring::builder().dontfork().build(entries)?
            }
            outcome => outcome?,
        };
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let needed = [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE, opcode::Fallocate::CODE];
        if !needed.iter().all(|&code| probe.is_supported(code)) {
            return Err(std::io::Error::from(std::io::ErrorKind::Unsupported));
        }
        ring.submitter().register_eventfd(wake.as_raw_fd())?;
        Ok(Self {
            ring,
            backing,
            wake,
            slots: Vec::new(),
            free: Vec::new(),
            staged: VecDeque::new(),
            released: 0,
            staged_bytes: 0,
            batch: VecDeque::new(),
            in_kernel: 0,
            reaped: Vec::new(),
            ready: VecDeque::new(),
            outstanding: 0,
            broken: None,
        })
    }

    /// Submission entry for the remainder of a slot's request.
    fn entry(backing: &BackingFile, key: u32, slot: &mut Slot) -> squeue::Entry {
        let file = types::Fd(backing.raw_descriptor());
        let done = slot.done_bytes;
        let done_offset = u64::try_from(done).unwrap_or_default();
        let entry = match &mut slot.request.operation {
            Operation::Read { block, buffer } => {
                let rest = buffer.get_mut(done..).unwrap_or_default();
                let length = u32::try_from(rest.len().min(MAX_TRANSFER_BYTES)).unwrap_or_default();
                opcode::Read::new(file, rest.as_mut_ptr(), length).offset(byte_offset(*block) + done_offset).build()
            }
            Operation::Write { block, buffer, durable } => {
                let rest = buffer.get(done..).unwrap_or_default();
                let length = u32::try_from(rest.len().min(MAX_TRANSFER_BYTES)).unwrap_or_default();
                let flags = match *durable && !backing.memory() {
                    true => rustix::io::ReadWriteFlags::DSYNC.bits().cast_signed(),
                    false => 0,
                };
                opcode::Write::new(file, rest.as_ptr(), length)
                    .offset(byte_offset(*block) + done_offset)
                    .rw_flags(flags)
                    .build()
            }
            Operation::Flush => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
            Operation::Discard { block, blocks } => {
                let punch = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
                opcode::Fallocate::new(file, byte_offset(*blocks))
                    .offset(byte_offset(*block))
                    .mode(punch.bits().cast_signed())
                    .build()
            }
        };
        entry.user_data(u64::from(key))
    }

    /// Moves released requests into the ring while it has room, and enters the kernel if requests
    /// wait in the ring.
    #[expect(unsafe_code, reason = "the submission ring takes raw buffer addresses")]
    fn pump(&mut self) {
        if self.broken.is_some() {
            self.fail_unconsumed();
            return;
        }
        while self.released > 0 && self.in_kernel + self.batch.len() < DEPTH {
            let Some(key) = self.staged.pop_front() else { break };
            self.released -= 1;
            let Some(slot) = self.slots.get_mut(index(key)).and_then(Option::as_mut) else { continue };
            let entry = Self::entry(&self.backing, key, slot);
            // SAFETY: the buffer that the entry points to is owned by the slot. Its heap memory
            // neither moves nor is touched until the completion with this key has been taken
            // (`finish`), or the entry can no longer be consumed (`fail_unconsumed`: the ring is
            // never entered again). `Drop` waits for the kernel or leaks the slots. `backing` keeps
            // the file open.
            match unsafe { self.ring.submission().push(&entry) } {
                Ok(()) => self.batch.push_back(key),
                Err(_) => {
                    self.staged.push_front(key);
                    self.released += 1;
                    break;
                }
            }
        }
        if !self.batch.is_empty() {
            self.enter(0);
        }
    }

    /// Submits the ring to the kernel and waits for `want` completions.
    fn enter(&mut self, want: usize) {
        loop {
            match self.ring.submit_and_wait(want) {
                Ok(consumed) => {
                    let consumed = consumed.min(self.batch.len());
                    self.batch.drain(..consumed);
                    self.in_kernel += consumed;
                    return;
                }
                Err(reason) => match reason.raw_os_error().map(Errno::from_raw_os_error) {
                    Some(Errno::INTR) => {}
                    // The kernel is short of memory. Completions that are due make room; without
                    // any, the owner is woken to retry.
                    Some(Errno::AGAIN | Errno::BUSY) => {
                        if self.in_kernel == 0 {
                            signal(&self.wake);
                        }
                        return;
                    }
                    _ => {
                        self.broken = Some(reason.raw_os_error().unwrap_or_default());
                        self.fail_unconsumed();
                        return;
                    }
                },
            }
        }
    }

    /// Fails the requests that a broken ring will never take.
    fn fail_unconsumed(&mut self) {
        let reason = std::io::Error::from_raw_os_error(self.broken.unwrap_or_default());
        let released = self.released.min(self.staged.len());
        let keys: Vec<u32> = self.batch.drain(..).chain(self.staged.drain(..released)).collect();
        self.released = 0;
        for key in keys {
            if let Some(slot) = self.slots.get_mut(index(key)).and_then(Option::take) {
                let result = Err(slot.request.operation.error(&reason));
                self.ready.push_back(Completion { ticket: slot.request.ticket, result });
                self.free.push(key);
            }
        }
    }

    /// Takes the kernel's completions.
    fn reap(&mut self) {
        if self.in_kernel == 0 {
            return;
        }
        let mut reaped = std::mem::take(&mut self.reaped);
        reaped.extend(self.ring.completion().map(|entry| (entry.user_data(), entry.result())));
        if reaped.is_empty() && self.broken.is_none() && self.ring.submission().taskrun() {
            self.enter(0);
            reaped.extend(self.ring.completion().map(|entry| (entry.user_data(), entry.result())));
        }
        for (key, result) in reaped.drain(..) {
            self.finish(key, result);
        }
        self.reaped = reaped;
    }

    fn finish(&mut self, key: u64, result: i32) {
        self.in_kernel = self.in_kernel.saturating_sub(1);
        let Ok(key) = u32::try_from(key) else { return };
        let Some(entry) = self.slots.get_mut(index(key)) else { return };
        let Some(mut slot) = entry.take() else { return };
        let verdict = judge(&mut slot, result, self.backing.direct());
        match verdict {
            Verdict::Again => {
                *entry = Some(slot);
                self.staged.push_front(key);
                self.released += 1;
            }
            Verdict::Done => self.retire(key, slot, None),
            Verdict::Failed(reason) => self.retire(key, slot, Some(reason)),
        }
    }

    fn retire(&mut self, key: u32, slot: Slot, failure: Option<std::io::Error>) {
        let Request { ticket, operation } = slot.request;
        let result = match failure {
            None => Ok(operation.done()),
            Some(reason) => Err(operation.error(&reason)),
        };
        self.free.push(key);
        self.ready.push_back(Completion { ticket, result });
    }
}

enum Verdict {
    Done,
    Again,
    Failed(std::io::Error),
}

/// Interprets the kernel's result for a request; advances `done_bytes`.
fn judge(slot: &mut Slot, result: i32, direct: bool) -> Verdict {
    let Ok(count) = usize::try_from(result) else {
        let code = result.wrapping_neg();
        let advisory = matches!(slot.request.operation, Operation::Discard { .. });
        return match Errno::from_raw_os_error(code) {
            Errno::INTR | Errno::AGAIN if slot.attempts < MAX_ATTEMPTS => {
                slot.attempts += 1;
                Verdict::Again
            }
            Errno::OPNOTSUPP | Errno::NOSYS if advisory => Verdict::Done,
            _ => Verdict::Failed(std::io::Error::from_raw_os_error(code)),
        };
    };
    let (length, ended) = match &slot.request.operation {
        Operation::Read { buffer, .. } => (buffer.len(), std::io::ErrorKind::UnexpectedEof),
        Operation::Write { buffer, .. } => (buffer.len(), std::io::ErrorKind::WriteZero),
        Operation::Flush | Operation::Discard { .. } => return Verdict::Done,
    };
    if count == 0 {
        return Verdict::Failed(std::io::Error::from(ended));
    }
    let mut done = slot.done_bytes.saturating_add(count).min(length);
    if done == length {
        return Verdict::Done;
    }
    if direct {
        done -= done % BLOCK_BYTES; // direct I/O continues at a block boundary
    }
    if done <= slot.done_bytes {
        slot.attempts += 1;
        if slot.attempts > MAX_ATTEMPTS {
            return Verdict::Failed(std::io::Error::from(ended));
        }
    }
    slot.done_bytes = done;
    Verdict::Again
}

fn index(key: u32) -> usize {
    usize::try_from(key).unwrap_or(usize::MAX)
}

impl Engine for Uring {
    fn start(&mut self, request: Request) {
        self.outstanding += 1;
        self.staged_bytes += request.operation.bytes();
        let slot = Some(Slot { request, done_bytes: 0, attempts: 0 });
        let key = match self.free.pop() {
            Some(key) => {
                if let Some(entry) = self.slots.get_mut(index(key)) {
                    *entry = slot;
                }
                key
            }
            None => {
                self.slots.push(slot);
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 requests in flight")
            }
        };
        self.staged.push_back(key);
        if self.staged.len() - self.released >= EARLY_REQUESTS || self.staged_bytes >= EARLY_BYTES {
            self.submit();
        }
    }

    fn submit(&mut self) {
        self.staged_bytes = 0;
        self.released = self.staged.len();
        if self.released > 0 {
            self.pump();
        }
    }

    fn poll(&mut self) -> Option<Completion> {
        if self.outstanding == 0 {
            return None;
        }
        if self.ready.is_empty() {
            self.reap();
            if self.released > 0 || !self.batch.is_empty() {
                self.pump();
            }
        }
        let completion = self.ready.pop_front()?;
        self.outstanding -= 1;
        Some(completion)
    }

    fn wait(&mut self) {
        self.submit();
        loop {
            self.reap();
            if self.released > 0 || !self.batch.is_empty() {
                self.pump();
            }
            if !self.ready.is_empty() || self.outstanding == 0 {
                return;
            }
            match (self.broken, self.in_kernel) {
                (None, 1..) => self.enter(1),
                // Nothing to wait for in the kernel: either it is short of memory, or the ring
                // broke and completions come without it.
                _ => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        }
    }

    fn outstanding(&self) -> usize {
        self.outstanding
    }

    fn immediate(&self) -> bool {
        false
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // Requests that never entered the kernel are dropped; the buffers of the others have to
        // outlive the kernel's use.
        self.staged.clear();
        self.released = 0;
        while self.in_kernel > 0 && self.broken.is_none() {
            self.enter(1);
            self.reap();
            self.staged.clear(); // not to be continued
            self.released = 0;
        }
        if self.in_kernel > 0 {
            std::mem::forget(std::mem::take(&mut self.slots));
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::Buffer;

    /// Ring over a file without a name; `None`, with the reason printed, if the kernel refuses one.
    fn uring() -> Option<Uring> {
        let path = std::env::temp_dir().join(format!("windlass-media-uring-{}", std::process::id()));
        let backing = BackingFile::open(&path, Some(1 << 20), false, false, false).unwrap();
        std::fs::remove_file(&path).unwrap();
        let wake = rustix::event::eventfd(0, rustix::event::EventfdFlags::NONBLOCK).unwrap();
        Uring::new(Arc::new(backing), Arc::new(wake)).inspect_err(|reason| println!("skipped: {reason}")).ok()
    }

    /// All requests of a turn entered the kernel at its end: the disk rested while the turn prepared them,
    /// and the processor rested while the disk had them all.
    #[test]
    fn requests_enter_the_kernel_while_more_are_prepared() {
        let Some(mut uring) = uring() else { return };
        let start = |uring: &mut Uring, at: usize, blocks: usize| {
            let operation = Operation::Write { block: at as u64, buffer: Buffer::zeroed(blocks), durable: false };
            uring.start(Request { ticket: at as u64, operation });
        };
        for at in 0..EARLY_REQUESTS - 1 {
            start(&mut uring, at, 1);
        }
        assert_eq!((uring.staged.len(), uring.in_kernel), (EARLY_REQUESTS - 1, 0), "few and small ones wait");
        start(&mut uring, EARLY_REQUESTS - 1, 1);
        assert_eq!((uring.staged.len(), uring.in_kernel), (0, EARLY_REQUESTS));
        start(&mut uring, 16, EARLY_BYTES / BLOCK_BYTES);
        assert_eq!((uring.staged.len(), uring.in_kernel), (0, EARLY_REQUESTS + 1), "one large one does not");
        while uring.outstanding() > 0 {
            uring.wait();
            while let Some(completion) = uring.poll() {
                completion.result.unwrap();
            }
        }
    }
}
