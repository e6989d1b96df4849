//! Writes of the pool itself that wait because the file system below it is full.

use crate::core::io::Io;
use media::Ticket;
use std::collections::VecDeque;

/// Calls of pump between two probes. Each completion calls for one, and a reactor at rest does it once a second.
const PUMPS: u32 = 4;

/// Writes that wait for the file system.
#[derive(Default)]
pub(crate) struct Starved {
    parked: VecDeque<Io>,
    probe: Option<Ticket>,
    pumps: u32,
}

impl Starved {
    /// True while writes wait.
    #[inline]
    pub fn is_starved(&self) -> bool {
        !self.parked.is_empty() || self.probe.is_some()
    }

    /// Keeps a write that found no space; true when it is the first.
    pub fn park(&mut self, io: Io) -> bool {
        let first = !self.is_starved();
        self.parked.push_back(io);
        self.pumps = 0;
        first
    }

    /// Called by every pump: the write to try again now, if any.
    pub fn due(&mut self) -> Option<Io> {
        if self.parked.is_empty() || self.probe.is_some() {
            return None;
        }
        self.pumps += 1;
        if self.pumps < PUMPS {
            return None;
        }
        self.pumps = 0;
        self.parked.pop_front()
    }

    /// The write that was tried again.
    pub fn begin_probe(&mut self, ticket: Ticket) {
        self.probe = Some(ticket);
    }

    /// A request completed. Returns the writes to try again: all, when it was the probe and succeeded.
    pub fn note_completed(&mut self, ticket: Ticket, succeeded: bool) -> VecDeque<Io> {
        if self.probe != Some(ticket) {
            return VecDeque::new();
        }
        self.probe = None;
        if succeeded { std::mem::take(&mut self.parked) } else { VecDeque::new() }
    }
}
