//! The file system under a sparse pool is full: the pool's own writes wait instead of failing.
//!
//! What such a write carries is safe in the log (a block to be destaged) or in the checkpoint before (a page, a count). So the write is parked as if it
//! were still on its way, which keeps every rule of the engine, and tried again now and then: one as a probe, and all when that succeeds. Meanwhile
//! reads, overwrites in place and whatever frees space go on while the log has room; what stores something new is refused as in a full pool.

#[cfg(test)]
mod tests;

use crate::content::stock::Stock;
use crate::core::Core;
use crate::core::completion::Io;
use crate::interface::PoolError;
use crate::interface::operation::{Failure, Operation};
use crate::map::page::{PAGE_BYTES, Page};
use block::BlockError;
use media::{BlockAddress, Buffer, Media, Ticket};
use std::collections::VecDeque;
use std::rc::Rc;
use zerocopy::IntoBytes;

/// Calls of pump between two probes. Each completion calls for one, and a reactor at rest does it once a second.
const PUMPS: u32 = 4;

/// Writes that wait for the file system.
#[derive(Default)]
pub(crate) struct Starved {
    parked: VecDeque<Io>,
    probe: Option<Ticket>,
    pumps: u32,
}

/// A write of a checkpoint, to be done again when need be.
pub(crate) enum Rewrite {
    /// Neighbouring pages; the address is that of the first.
    Pages(Vec<(u64, Rc<Page>)>),
    /// Something else.
    Blocks(u64, Buffer),
}

impl Rewrite {
    /// Where it goes, and what.
    pub fn request(&self, stock: &Stock) -> (u64, Buffer) {
        match self {
            Self::Pages(run) => {
                let mut buffer = stock.take(run.len());
                for ((_, page), block) in run.iter().zip(buffer.as_blocks_mut()) {
                    let (content, rest) = block.0.split_at_mut(PAGE_BYTES);
                    content.copy_from_slice(page.as_bytes());
                    rest.fill(0);
                }
                (run.first().map_or(0, |(address, _)| *address), buffer)
            }
            Self::Blocks(address, buffer) => (*address, buffer.clone()),
        }
    }
}

impl<M: Media> Core<M> {
    /// True while writes of the pool itself wait because the file system under it is full. What stores something new fails with
    /// [`BlockError::PoolFull`] then; the pool goes on by itself when there is space again.
    #[inline]
    pub fn starved(&self) -> bool {
        !self.starved.parked.is_empty() || self.starved.probe.is_some()
    }

    /// Keeps a write that found no space.
    pub(crate) fn park(&mut self, io: Io) {
        let first = !self.starved();
        self.starved.parked.push_back(io);
        self.starved.pumps = 0;
        if first {
            self.wake_waiting();
        }
    }

    /// The failure of an operation that would have to wait for the file system.
    pub(crate) fn starved_failure(operation: &Operation) -> Failure {
        match operation {
            Operation::Catalog(_) => PoolError::PoolFull.into(),
            _ => BlockError::PoolFull.into(),
        }
    }

    /// Called once in each pump: tries one of the parked writes when it is time.
    pub(crate) fn probe_parked(&mut self) {
        if self.starved.parked.is_empty() || self.starved.probe.is_some() {
            return;
        }
        self.starved.pumps += 1;
        if self.starved.pumps >= PUMPS {
            self.starved.pumps = 0;
            if let Some(io) = self.starved.parked.pop_front() {
                self.starved.probe = Some(self.again(io));
            }
        }
    }

    /// A request completed: when it was the probe and it succeeded, all the others are tried.
    pub(crate) fn note_probe(&mut self, ticket: Ticket, succeeded: bool) {
        if self.starved.probe != Some(ticket) {
            return;
        }
        self.starved.probe = None;
        if succeeded {
            for io in std::mem::take(&mut self.starved.parked) {
                self.again(io);
            }
        }
    }

    fn again(&mut self, io: Io) -> Ticket {
        let (address, buffer) = match &io {
            Io::Destage { data, .. } => {
                (data.first().map_or(0, |(address, _)| *address), self.stock.copy_of(data.iter().map(|(_, data)| data)))
            }
            Io::Checkpoint { rewrite, .. } => rewrite.request(&self.stock),
            _ => (0, Buffer::default()), // nothing else is parked
        };
        let ticket = self.ticket(io);
        self.media.write(&self.fence, ticket, BlockAddress(address), buffer);
        ticket
    }
}
