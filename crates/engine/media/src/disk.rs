//! Raw asynchronous block I/O on one file, device or simulated disk, on which
//! [`LocalMedia`](crate::LocalMedia) stores superblocks, log and data area. A disk knows nothing of
//! pools, fences or roots.

use std::os::fd::BorrowedFd;

use crate::growth::{Extended, Growth, GrowthError, GrowthTerms, Member};
use crate::{Buffer, Capabilities, Completion, MediaError, Ticket};

/// Disk of 4 KiB blocks with asynchronous requests and completions.
///
/// * The disk validates every request. A request outside the device, or of no blocks, completes
///   with [`MediaError::Io`].
/// * A buffer in flight belongs to the disk. The completion returns it; after an error it is
///   dropped.
/// * Requests in flight are not ordered, even if they overlap. A caller that needs order waits for
///   completions.
/// * A durable write is on stable storage when it completes. Any other write is on stable storage
///   after a flush that was submitted after the write completed.
/// * Tickets are below 2^63; the upper half is reserved for the disk.
/// * Requests start at [`Disk::submit`], or earlier. After it, a caller polls until `None` before
///   it sleeps on the wake descriptor.
/// * Dropping a disk waits for requests that the operating system is executing; requests that were
///   never started are dropped.
pub trait Disk {
    /// Size in 4 KiB blocks. Only [`Disk::extend`] changes it.
    fn block_count(&self) -> u64;

    /// Guarantees of the disk.
    fn capabilities(&self) -> Capabilities;

    /// Whether the disk is read-only: writes, flushes and discards fail.
    fn read_only(&self) -> bool {
        false
    }

    /// Files or devices that form the disk, if there is more than one; otherwise empty.
    fn members(&self) -> Vec<Member> {
        Vec::new()
    }

    /// Sets the members that the current root names. Members beyond them, left by an interrupted
    /// growth, are released.
    fn settle(&mut self, members: &[Member]) {
        let _ = members;
    }

    /// Grows the disk durably. Blocks; requests may be in flight. The superblock records the growth
    /// later; until then, and after a crash before, the pool has its old size.
    fn extend(&mut self, growth: &Growth, terms: &GrowthTerms) -> Result<Extended, GrowthError> {
        let _ = (growth, terms);
        Err(GrowthError::Unsupported("this disk"))
    }

    /// Fills `buffer` from `block` on. Completes with [`Done::Read`](crate::Done::Read).
    fn read(&mut self, ticket: Ticket, block: u64, buffer: Buffer);

    /// Writes `buffer` from `block` on. With `durable` it is on stable storage when it completes (Force Unit Access).
    fn write(&mut self, ticket: Ticket, block: u64, buffer: Buffer, durable: bool);

    /// Whether these blocks are known to have their place in what is below: a write to them needs no
    /// new space, and a durable one costs no commit of a file system's journal. Cheap; false if it is
    /// not known, and for memory.
    fn has_room(&mut self, block: u64, blocks: u64) -> bool;

    /// Makes every write that completed before this call durable.
    fn flush(&mut self, ticket: Ticket);

    /// Declares that the blocks hold no data. Advisory: their content is undefined afterwards, and
    /// a device without discard completes the request too.
    fn discard(&mut self, ticket: Ticket, block: u64, blocks: u64);

    /// Starts all queued requests.
    fn submit(&mut self);

    /// Next completion, or `None` if there is none yet. Never blocks.
    fn poll(&mut self) -> Option<Completion>;

    /// Starts all queued requests, then blocks until `poll` has a completion or nothing is
    /// outstanding.
    fn wait(&mut self);

    /// Number of requests whose completion `poll` has not returned yet.
    fn outstanding(&self) -> usize;

    /// Descriptor that becomes readable when a request completes after the last poll; `None` when
    /// requests complete inside the submitting call. Each completion creates a new edge, so an
    /// edge-triggered waiter never has to call [`Disk::clear_wake`].
    fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Makes the wake descriptor unreadable again, for a level-triggered waiter: call this, then
    /// poll until `None`.
    fn clear_wake(&mut self) {}
}

/// Error of a request that does not lie on a disk of `block_count` blocks, or names no block;
/// `None` for a valid one.
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
