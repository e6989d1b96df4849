//! Raw asynchronous block I/O on one file, device or simulated disk: what [`LocalMedia`](crate::LocalMedia) lays its superblocks, log
//! and data area on. A disk knows nothing of pools, fences or roots.

use std::os::fd::BorrowedFd;

use crate::growth::{Extended, Growth, GrowthError, GrowthTerms, Member};
use crate::{Buffer, Capabilities, Completion, MediaError, Ticket};

/// One disk of 4 KiB blocks, reached by submission and completion.
///
/// * The disk validates every request. One outside the device, or of no blocks, completes with [`MediaError::Io`].
/// * A buffer in flight belongs to the disk. It comes back with the completion; after an error it is gone.
/// * Requests in flight have no order among each other, also when they overlap. A caller that needs order waits for completions.
/// * A durable write is on stable storage when it completes. Any other write is after a flush that was submitted after the write
///   completed.
/// * Tickets are below 2^63; the upper half belongs to the disk.
/// * Requests start at [`Disk::submit`], or earlier. After it, a caller polls until `None` before it sleeps on the wake descriptor.
/// * Dropping a disk waits for what the operating system still works on; requests that were never started are forgotten.
pub trait Disk {
    /// Size in 4 KiB blocks. Only [`Disk::extend`] changes it.
    fn block_count(&self) -> u64;

    /// What the disk promises.
    fn capabilities(&self) -> Capabilities;

    /// True when the disk was opened for reading only: writes, flushes and discards fail.
    fn read_only(&self) -> bool {
        false
    }

    /// The files or devices that the disk is made of, when there is more than one; otherwise nothing.
    fn members(&self) -> Vec<Member> {
        Vec::new()
    }

    /// Tells which members the pool in force has, after a growth that may have been cut short: any more are let go.
    fn settle(&mut self, members: &[Member]) {
        let _ = members;
    }

    /// Makes the disk larger, durably. Blocks; requests may be in flight. The pool is told of it by its superblock later, and until then works
    /// as if nothing had happened, also after a crash.
    fn extend(&mut self, growth: &Growth, terms: &GrowthTerms) -> Result<Extended, GrowthError> {
        let _ = (growth, terms);
        Err(GrowthError::Unsupported("this disk"))
    }

    /// Fills `buffer` from `block` on. Completes with [`Done::Read`](crate::Done::Read).
    fn read(&mut self, ticket: Ticket, block: u64, buffer: Buffer);

    /// Writes `buffer` from `block` on. With `durable` it is on stable storage when it completes (Force Unit Access).
    fn write(&mut self, ticket: Ticket, block: u64, buffer: Buffer, durable: bool);

    /// Makes every write that completed before this call durable.
    fn flush(&mut self, ticket: Ticket);

    /// Tells that the blocks hold nothing of value. Advisory: their content is undefined afterwards, and a device that cannot do it
    /// completes it all the same.
    fn discard(&mut self, ticket: Ticket, block: u64, blocks: u64);

    /// Starts everything queued.
    fn submit(&mut self);

    /// The next completion, or `None` when nothing has completed yet. Never blocks.
    fn poll(&mut self) -> Option<Completion>;

    /// Starts everything queued, then blocks until `poll` has something to return or nothing is outstanding.
    fn wait(&mut self);

    /// Requests whose completion `poll` has not returned yet.
    fn outstanding(&self) -> usize;

    /// A descriptor that becomes readable when something completes after the last poll; `None` when requests complete inside the
    /// submitting call. Each completion makes a new edge, so an edge-triggered waiter never has to call [`Disk::clear_wake`].
    fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Makes the wake descriptor unreadable again, for a level-triggered waiter: call it, then poll until `None`.
    fn clear_wake(&mut self) {}
}

/// The error of a request that does not lie on a disk of `block_count` blocks, or names no block; `None` when it is fine.
pub(crate) fn range_error(operation: &'static str, block: u64, blocks: u64, block_count: u64) -> Option<MediaError> {
    let reason = match block.checked_add(blocks) {
        _ if blocks == 0 => "the request names no block".to_owned(),
        Some(end) if end <= block_count => return None,
        _ => format!("beyond the end of the device ({block_count} blocks)"),
    };
    Some(MediaError::Io { operation, address: block, blocks, reason })
}

/// Number of blocks in a buffer, as the unit of addresses.
pub(crate) fn block_length(buffer: &Buffer) -> u64 {
    u64::try_from(buffer.blocks()).unwrap_or(u64::MAX)
}
