//! The last events of a simulated disk, to tell the story of a failure.

use std::collections::VecDeque;
use std::fmt::Write;

use super::fault::{FaultEffect, FaultOperation};

/// Something that happened on a simulated disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was made.
    Requested {
        /// Its kind.
        operation: FaultOperation,
        /// First block; 0 for a flush.
        block: u64,
        /// Number of blocks; 0 for a flush.
        blocks: u64,
        /// A durable write.
        durable: bool,
    },
    /// A request completed.
    Completed {
        /// Its kind.
        operation: FaultOperation,
        /// First block; 0 for a flush.
        block: u64,
        /// Number of blocks; 0 for a flush.
        blocks: u64,
        /// The fault that struck it.
        fault: Option<FaultEffect>,
    },
    /// The power was cut.
    Crash,
}

/// A bounded list of events.
#[derive(Clone, Debug)]
pub(super) struct Recorder {
    length: usize,
    events: VecDeque<Event>,
}

impl Recorder {
    pub(super) fn new(length: usize) -> Self {
        Self { length, events: VecDeque::new() }
    }

    pub(super) fn is_on(&self) -> bool {
        self.length > 0
    }

    pub(super) fn record(&mut self, event: Event) {
        if !self.is_on() {
            return;
        }
        if self.events.len() >= self.length {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.events.iter().cloned().collect()
    }

    pub(super) fn story(&self) -> String {
        let mut story = String::new();
        for event in &self.events {
            // Writing to a string does not fail.
            let _ = match event {
                Event::Requested { operation, block, blocks, durable } => {
                    let durable = if *durable { " durable" } else { "" };
                    writeln!(story, "requested {}{durable} {block}+{blocks}", operation.word())
                }
                Event::Completed { operation, block, blocks, fault: None } => {
                    writeln!(story, "completed {} {block}+{blocks}", operation.word())
                }
                Event::Completed { operation, block, blocks, fault: Some(fault) } => {
                    writeln!(story, "completed {} {block}+{blocks} with {fault:?}", operation.word())
                }
                Event::Crash => writeln!(story, "crash"),
            };
        }
        story
    }
}
