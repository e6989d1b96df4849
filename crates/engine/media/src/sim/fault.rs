//! Faults planted on a simulated disk: which request they strike, and what they do to it.

use std::ops::Range;

/// The kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOperation {
    /// Reads.
    Read,
    /// Writes, durable or not.
    Write,
    /// Flushes.
    Flush,
    /// Discards.
    Discard,
}

impl FaultOperation {
    /// As in [`MediaError::Io`](crate::MediaError::Io).
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }
}

/// What a fault does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// The request fails and has no effect. Writes that a failed flush covered are not made durable by a later one.
    Error,
    /// The request takes effect and fails nevertheless.
    ErrorAfterEffect,
    /// A write fails without effect since the file system under the file is full; elsewhere as `Error`.
    NoSpace,
    /// A write, discard or flush succeeds without effect: a lost write, a lying flush.
    Lost,
    /// A write succeeds, but its data lands this many blocks away.
    Misdirected {
        /// Distance; a place outside the device swallows the write.
        blocks: i64,
    },
}

/// A planted fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Requests it concerns.
    pub operation: FaultOperation,
    /// Only requests that touch one of these blocks; `None` for all. Flushes touch no block.
    pub blocks: Option<Range<u64>>,
    /// Matching requests to let pass first.
    pub skip: u64,
    /// Strikes every matching request after that; otherwise once.
    pub sticky: bool,
    /// What happens.
    pub effect: FaultEffect,
}

impl Fault {
    /// A fault that strikes the next matching request, once.
    pub fn once(operation: FaultOperation, effect: FaultEffect) -> Self {
        Self { operation, blocks: None, skip: 0, sticky: false, effect }
    }

    /// A fault that strikes every matching request.
    pub fn sticky(operation: FaultOperation, effect: FaultEffect) -> Self {
        Self { sticky: true, ..Self::once(operation, effect) }
    }

    /// The same fault, on requests that touch these blocks only.
    pub fn on_blocks(self, blocks: Range<u64>) -> Self {
        Self { blocks: Some(blocks), ..self }
    }

    /// The same fault, after `skip` matching requests have passed.
    pub fn after(self, skip: u64) -> Self {
        Self { skip, ..self }
    }

    fn matches(&self, operation: FaultOperation, block: u64, blocks: u64) -> bool {
        self.operation == operation
            && match &self.blocks {
                None => true,
                Some(range) => block < range.end && range.start < block.saturating_add(blocks),
            }
    }
}

/// All planted faults.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn plant(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What happens to a request. The first fault that strikes decides; those before it count the request as passed.
    pub(super) fn strike(&mut self, operation: FaultOperation, block: u64, blocks: u64) -> Option<FaultEffect> {
        for at in 0..self.0.len() {
            let fault = self.0.get_mut(at)?;
            if !fault.matches(operation, block, blocks) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            let effect = fault.effect;
            if !fault.sticky {
                self.0.remove(at);
            }
            return Some(effect);
        }
        None
    }
}
