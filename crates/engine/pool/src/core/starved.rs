//! The file system under a sparse pool is full: the pool's own writes wait instead of failing.
//!
//! What such a write carries is safe in the log (a block to be destaged) or in the checkpoint before (a page, a count). So the write is
//! parked as if it were still on its way, which keeps every rule of the engine, and tried again now and then: one as a probe, and all when
//! that succeeds. Meanwhile reads, overwrites in place and operations that free space go on while the log has room; operations that store
//! something new are refused as in a full pool.

#[cfg(test)]
mod tests;

use crate::core::Core;
use crate::core::io::Io;
use crate::interface::PoolError;
use crate::interface::operation::{Failure, Operation};
use block::BlockError;
use media::{Media, Ticket};

impl<M: Media> Core<M> {
    /// Keeps a write that found no space.
    pub(super) fn park(&mut self, io: Io) {
        if self.starved.park(io) {
            self.schedule.retry_all();
        }
    }

    /// The failure of an operation that would have to wait for the file system.
    pub(super) fn starved_failure(operation: &Operation) -> Failure {
        match operation {
            Operation::Catalog(_) => PoolError::PoolFull.into(),
            _ => BlockError::PoolFull.into(),
        }
    }

    /// Called once in each pump: tries one of the parked writes when it is time.
    pub(super) fn probe_parked(&mut self) {
        if let Some(io) = self.starved.due()
            && let Some(ticket) = self.again(io)
        {
            self.starved.begin_probe(ticket);
        }
    }

    /// A request completed: when it was the probe and it succeeded, all the others are tried.
    pub(super) fn note_probe(&mut self, ticket: Ticket, succeeded: bool) {
        for io in self.starved.note_completed(ticket, succeeded) {
            self.again(io);
        }
    }

    fn again(&mut self, io: Io) -> Option<Ticket> {
        let (address, buffer) = match &io {
            Io::Destage { data, .. } => {
                let (address, _) = data.first()?;
                (*address, self.medium.stock().copy_of(data.iter().map(|(_, data)| data)))
            }
            Io::Checkpoint { rewrite, .. } => rewrite.request(self.medium.stock()),
            _ => return None, // nothing else is parked
        };
        Some(self.medium.write(io, address, buffer))
    }
}
