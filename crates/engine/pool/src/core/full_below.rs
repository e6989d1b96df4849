//! The file system under a sparse pool is full: the pool's own writes wait instead of failing.
//!
//! The content of such a write is safe in the log (a block to be destaged) or in the previous
//! checkpoint (a page, a count, the root). So the write is parked as if it were still in flight, which keeps
//! every rule of the engine, and retried periodically: one write as a probe, and all when that
//! succeeds. Meanwhile reads, overwrites in place and operations that free space continue as long
//! as the log has room; operations that store new data are refused as in a full pool.

#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::core::io::{Io, Rewrite};
use crate::interface::PoolError;
use crate::interface::operation::{Failure, Operation};
use block::BlockError;
use media::{BlockAddress, Buffer, Media, Ticket};

impl<M: Media> Core<M> {
    /// Parks a write that found no space.
    pub(super) fn park(&mut self, io: Io) {
        if self.parked.park(io) {
            self.schedule.retry_all();
        }
    }

    /// Failure of an operation that would have to wait for the file system.
    pub(super) fn full_below_failure(operation: &Operation) -> Failure {
        match operation {
            Operation::Catalog(_) => PoolError::PoolFull.into(),
            _ => BlockError::PoolFull.into(),
        }
    }

    /// Called once in each pump: retries one of the parked writes when it is due.
    pub(super) fn probe_parked(&mut self) {
        if let Some(io) = self.parked.due()
            && let Some(ticket) = self.again(io)
        {
            self.parked.begin_probe(ticket);
        }
    }

    /// Handles a completed request: if it was the probe and succeeded, retries all other parked
    /// writes.
    pub(super) fn note_probe(&mut self, ticket: Ticket, succeeded: bool) {
        for io in self.parked.note_completed(ticket, succeeded) {
            self.again(io);
        }
    }

    /// Content of a block of the pool's own streams that the checkpoint in progress has still to write.
    pub(in crate::core) fn unwritten_block(&self, address: BlockAddress) -> Option<Buffer> {
        let parked = self.parked.iter().filter_map(|io| match io {
            Io::Checkpoint { rewrite: Rewrite::Blocks(at, buffer), .. } => Some((*at, buffer)),
            _ => None,
        });
        let mut unwritten = parked.chain(self.checkpoints.blocks_to_write());
        unwritten.find(|(at, _)| *at == address).map(|(_, buffer)| buffer.clone())
    }

    fn again(&mut self, io: Io) -> Option<Ticket> {
        let (address, buffer) = match &io {
            Io::Destage { data, .. } => {
                let (address, _) = data.first()?;
                (*address, self.medium.stock().copy_of(data.iter().map(|(_, data)| data)))
            }
            Io::Checkpoint { rewrite, .. } => rewrite.request(self.medium.stock()),
            Io::Swap => return self.swap_frozen_root(),
            Io::Confirm { position, frame } => {
                let (offset, frame) = (position % self.media().log_bytes(), frame.clone());
                return Some(self.medium.append_again(io, offset, frame));
            }
            Io::Placed { held: Some((address, content)), .. } => {
                let (address, buffer) = (*address, self.medium.stock().copy_of_bytes(content));
                return Some(self.medium.write_durable(io, address, buffer));
            }
            _ => return None, // no other kind of write is parked
        };
        Some(self.medium.write(io, address, buffer))
    }
}
