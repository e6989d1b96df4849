//! Queue of the pool's own writes that wait because the file system below is full.

use crate::core::io::Io;
use media::Ticket;
use std::collections::VecDeque;

/// Number of pumps between two probes. Each completion causes a pump, and an idle reactor pumps
/// once a second.
const PUMPS: u32 = 4;

/// Writes that wait for space in the file system.
#[derive(Default)]
pub(crate) struct ParkedWrites {
    waiting: VecDeque<Io>,
    probe: Option<Ticket>,
    pumps: u32,
    /// Checkpoints since a host's write was refused for lack of space; absent once a later write
    /// found space.
    refused: Option<u8>,
}

impl ParkedWrites {
    /// True while writes wait, and after the refusal of a host's write until space is likely again:
    /// until another such write, or all writes of two checkpoints, found space.
    pub fn is_full_below(&self) -> bool {
        self.any() || self.refused.is_some()
    }

    /// Records that a host's write found no space. True if the pool was not full below before.
    pub fn note_refused(&mut self) -> bool {
        let first = !self.is_full_below();
        self.refused = Some(0);
        first
    }

    /// Records that a host's write found space.
    pub fn note_placed(&mut self) {
        self.refused = None;
    }

    /// Records a finished checkpoint: all its writes found space.
    pub fn note_checkpoint(&mut self) {
        self.refused = self.refused.filter(|checkpoints| *checkpoints == 0).map(|_| 1);
    }

    /// True while writes wait.
    #[inline]
    pub fn any(&self) -> bool {
        !self.waiting.is_empty() || self.probe.is_some()
    }

    /// Adds a write that found no space; true if it is the first.
    pub fn park(&mut self, io: Io) -> bool {
        let first = !self.any();
        self.waiting.push_back(io);
        self.pumps = 0;
        first
    }

    /// Writes that wait.
    pub fn iter(&self) -> impl Iterator<Item = &Io> {
        self.waiting.iter()
    }

    /// Called by every pump: returns the write to retry now, if any.
    pub fn due(&mut self) -> Option<Io> {
        if self.waiting.is_empty() || self.probe.is_some() {
            return None;
        }
        self.pumps += 1;
        if self.pumps < PUMPS {
            return None;
        }
        self.pumps = 0;
        self.waiting.pop_front()
    }

    /// Notes the ticket of the retried write.
    pub fn begin_probe(&mut self, ticket: Ticket) {
        self.probe = Some(ticket);
    }

    /// Handles a completed request. If it was the probe and succeeded, returns all other writes for
    /// a retry.
    pub fn note_completed(&mut self, ticket: Ticket, succeeded: bool) -> VecDeque<Io> {
        if self.probe != Some(ticket) {
            return VecDeque::new();
        }
        self.probe = None;
        if succeeded { std::mem::take(&mut self.waiting) } else { VecDeque::new() }
    }
}
