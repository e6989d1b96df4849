//! Last events of a simulated disk, to explain a failure.

use std::collections::VecDeque;
use std::fmt::Write;

use super::fault::{FaultEffect, FaultOperation};

/// Event on a simulated disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request was submitted.
    Requested {
        /// Kind of the request.
        operation: FaultOperation,
        /// First block; 0 for a flush.
        block: u64,
        /// Number of blocks; 0 for a flush.
        blocks: u64,
        /// Whether it is a durable write.
        durable: bool,
    },
    /// A request completed.
    Completed {
        /// Kind of the request.
        operation: FaultOperation,
        /// First block; 0 for a flush.
        block: u64,
        /// Number of blocks; 0 for a flush.
        blocks: u64,
        /// Fault that affected it.
        fault: Option<FaultEffect>,
    },
    /// The power was cut.
    Crash,
}

/// Bounded list of events.
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
            // Writing to a string cannot fail.
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
