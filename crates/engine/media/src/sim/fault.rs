//! Planted faults of a simulated disk: affected requests, and effects.

use std::ops::Range;

/// Kind of request.
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

/// Effect of a fault on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// The request fails without effect. A later flush does not make durable the writes that a
    /// failed flush covered.
    Error,
    /// The request takes effect, but reports failure. A durable write takes effect in the cache only,
    /// and no later flush makes it durable: its own flush failed.
    ErrorAfterEffect,
    /// A write fails without effect because the file system under the file is full; other requests
    /// as with `Error`.
    NoSpace,
    /// A write, discard or flush reports success without effect.
    Lost,
    /// A write succeeds, but its data is stored this many blocks away.
    Misdirected {
        /// Distance; a target outside the device drops the write.
        blocks: i64,
    },
}

/// Planted fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kind of the affected requests.
    pub operation: FaultOperation,
    /// Affects only requests that touch one of these blocks; `None` for all. Flushes touch no
    /// block.
    pub blocks: Option<Range<u64>>,
    /// Number of matching requests to skip first.
    pub skip: u64,
    /// Affects every matching request after that; otherwise only one.
    pub sticky: bool,
    /// Effect.
    pub effect: FaultEffect,
}

impl Fault {
    /// Creates a fault that affects the next matching request only.
    pub fn once(operation: FaultOperation, effect: FaultEffect) -> Self {
        Self { operation, blocks: None, skip: 0, sticky: false, effect }
    }

    /// Creates a fault that affects every matching request.
    pub fn sticky(operation: FaultOperation, effect: FaultEffect) -> Self {
        Self { sticky: true, ..Self::once(operation, effect) }
    }

    /// Restricts the fault to requests that touch these blocks.
    pub fn on_blocks(self, blocks: Range<u64>) -> Self {
        Self { blocks: Some(blocks), ..self }
    }

    /// Delays the fault until `skip` matching requests have passed.
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

    /// Effect on a request, if any. The first fault that applies decides; those before it count the
    /// request as skipped.
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
