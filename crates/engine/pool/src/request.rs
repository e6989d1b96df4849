//! Operations with the type of their reply.
//!
//! The core's queue holds an [`Output`] for any operation. Each constructor here pairs an operation
//! with the one output that answers it, so that callers of the handle get typed replies. An output
//! of another kind is a bug of the engine and an error, never a default.

use crate::interface::difference::{DifferenceId, DifferenceStep};
use crate::interface::operation::{CopyOutcome, Failure, Operation, Output, Reshare};
use crate::interface::range::{BlockNumber, BlockRange, ByteRange};
use crate::interface::{BlockId, CatalogChange, CheckStep, Growth, ObjectId, Place, ReshareStep, ScanStep};
use block::{BlockError, CompareOutcome, ProvisioningExtent};
use bytes::Bytes;

/// Operation whose reply is a `T`.
pub(crate) struct Request<T> {
    pub operation: Operation,
    reply: fn(Output) -> Option<T>,
}

impl<T> Request<T> {
    /// Extracts the reply from the operation's output.
    pub fn reply(reply: fn(Output) -> Option<T>, output: Output) -> Result<T, Failure> {
        reply(output).ok_or_else(|| {
            let reason = "the engine answered an operation with the reply of another".into();
            Failure::Block(BlockError::Internal { reason })
        })
    }

    /// Returns the operation, and the function that extracts its reply.
    pub fn into_parts(self) -> (Operation, fn(Output) -> Option<T>) {
        (self.operation, self.reply)
    }
}

impl Request<()> {
    fn done(operation: Operation) -> Self {
        Self { operation, reply: |output| matches!(output, Output::Done).then_some(()) }
    }

    /// Writes `data` at `offset` bytes.
    pub fn write(object: ObjectId, offset: u64, data: Bytes, forced: bool) -> Self {
        Self::done(Operation::Write { object, offset, data, forced })
    }

    /// Makes ranges read as zeros.
    pub fn zero(object: ObjectId, ranges: Vec<ByteRange>, forced: bool) -> Self {
        Self::done(Operation::Zero { object, ranges, forced })
    }

    /// Completes when every operation executed before it is durable.
    pub fn flush() -> Self {
        Self::done(Operation::Flush)
    }

    /// Changes the catalog.
    pub fn catalog(changes: Vec<CatalogChange>) -> Self {
        Self::done(Operation::Catalog(changes))
    }

    /// Counts the shared blocks of a reserved volume.
    pub fn recount(object: ObjectId) -> Self {
        Self::done(Operation::Recount { object })
    }

    /// Enlarges the pool.
    pub fn grow(growth: Growth) -> Self {
        Self::done(Operation::Grow(growth))
    }
}

impl Request<Bytes> {
    /// Reads `length` bytes from `offset`.
    pub fn read(object: ObjectId, offset: u64, length: usize) -> Self {
        let operation = Operation::Read { object, offset, length };
        Self { operation, reply: |output| if let Output::Data(data) = output { Some(data) } else { None } }
    }
}

impl Request<CompareOutcome> {
    /// Compares, and writes if equal.
    pub fn compare_and_write(object: ObjectId, offset: u64, compare: Bytes, data: Bytes, forced: bool) -> Self {
        let operation = Operation::CompareAndWrite { object, offset, compare, data, forced };
        Self { operation, reply: |output| if let Output::Compared(outcome) = output { Some(outcome) } else { None } }
    }
}

/// Place in an object, in bytes from its start.
pub(crate) struct At {
    pub object: ObjectId,
    pub offset: u64,
}

impl Request<CopyOutcome> {
    fn copied(operation: Operation) -> Self {
        Self { operation, reply: |output| if let Output::Copied(outcome) = output { Some(outcome) } else { None } }
    }

    /// Shares ranges with a capture.
    pub fn capture(source: ObjectId, capture: ObjectId, ranges: Vec<BlockRange>) -> Self {
        Self::copied(Operation::Capture { source, capture, ranges })
    }

    /// Shares `length` bytes; the offsets agree modulo 4 KiB.
    pub fn clone_range(source: At, destination: At, length: u64) -> Self {
        let operation = Operation::Clone {
            source: source.object,
            source_offset: source.offset,
            destination: destination.object,
            destination_offset: destination.offset,
            length,
        };
        Self::copied(operation)
    }
}

impl Request<Vec<ProvisioningExtent>> {
    /// Returns the provisioning status from `offset` on, at most `limit` runs.
    pub fn provisioning(object: ObjectId, offset: u64, limit: usize) -> Self {
        let operation = Operation::Provisioning { object, offset, limit };
        Self { operation, reply: |output| if let Output::Provisioning(runs) = output { Some(runs) } else { None } }
    }
}

impl Request<u64> {
    /// Counts the mapped bytes of a range.
    pub fn mapped(object: ObjectId, range: BlockRange) -> Self {
        let operation = Operation::Mapped { object, range };
        Self { operation, reply: |output| if let Output::Bytes(bytes) = output { Some(bytes) } else { None } }
    }

    /// Counts the mapped bytes of a range that nothing outside of it maps.
    pub fn unique_in(object: ObjectId, range: BlockRange) -> Self {
        let operation = Operation::UniqueIn { object, range };
        Self { operation, reply: |output| if let Output::Bytes(bytes) = output { Some(bytes) } else { None } }
    }

    /// Counts the bytes that only these objects use.
    pub fn unique(objects: Vec<ObjectId>) -> Self {
        let operation = Operation::Unique { objects };
        Self { operation, reply: |output| if let Output::Bytes(bytes) = output { Some(bytes) } else { None } }
    }
}

impl Request<ScanStep> {
    fn scan(operation: Operation) -> Self {
        Self { operation, reply: |output| if let Output::Scanned(step) = output { Some(*step) } else { None } }
    }

    /// Deallocates stored zeros: one step.
    pub fn reclaim_zeros(object: ObjectId, offset: u64) -> Self {
        Self::scan(Operation::ReclaimZeros { object, offset })
    }

    /// Verifies stored content: one step.
    pub fn verify(object: ObjectId, offset: u64, anew: bool) -> Self {
        Self::scan(Operation::Verify { object, offset, anew })
    }
}

impl Request<ReshareStep> {
    /// Shares equal blocks: one step.
    pub fn reshare(reshare: Reshare) -> Self {
        let reply = |output| if let Output::Reshared(step) = output { Some(*step) } else { None };
        Self { operation: Operation::Reshare(reshare), reply }
    }
}

impl Request<Vec<Place>> {
    /// Finds every place that is stored in one of the blocks.
    pub fn places_of(blocks: Vec<BlockId>) -> Self {
        let operation = Operation::PlacesOf(blocks);
        Self { operation, reply: |output| if let Output::Places(places) = output { Some(places) } else { None } }
    }
}

impl Request<DifferenceStep> {
    /// Compares two objects: one step.
    pub fn difference_step(difference: DifferenceId, from: BlockNumber) -> Self {
        let reply = |output| if let Output::Difference(step) = output { Some(*step) } else { None };
        Self { operation: Operation::DifferenceStep { difference, from }, reply }
    }
}

impl Request<CheckStep> {
    /// Executes one step of a check of the whole pool.
    pub fn check_step() -> Self {
        let reply = |output| if let Output::Check(step) = output { Some(*step) } else { None };
        Self { operation: Operation::CheckStep, reply }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: six places of the handle turned an unexpected output into a success without
    /// content: COMPARE AND WRITE would have reported a write.
    #[test]
    fn an_output_of_another_kind_is_an_error() {
        let refused = |reply: Result<(), Failure>| {
            assert!(matches!(reply, Err(Failure::Block(BlockError::Internal { .. }))), "{reply:?}");
        };
        let compare = Request::compare_and_write(ObjectId(1), 0, Bytes::new(), Bytes::new(), false).into_parts().1;
        refused(Request::reply(compare, Output::Done).map(|_| ()));
        refused(Request::reply(Request::read(ObjectId(1), 0, 0).into_parts().1, Output::Done).map(|_| ()));
        refused(Request::reply(Request::flush().into_parts().1, Output::Bytes(0)).map(|_| ()));
        refused(Request::reply(Request::unique(vec![]).into_parts().1, Output::Done).map(|_| ()));
        refused(Request::reply(Request::check_step().into_parts().1, Output::Done).map(|_| ()));
        refused(Request::reply(Request::places_of(vec![]).into_parts().1, Output::Done).map(|_| ()));
        refused(Request::reply(Request::provisioning(ObjectId(1), 0, 1).into_parts().1, Output::Done).map(|_| ()));
        refused(Request::reply(Request::verify(ObjectId(1), 0, true).into_parts().1, Output::Done).map(|_| ()));
        assert_eq!(Request::reply(compare, Output::Compared(CompareOutcome::Written)), Ok(CompareOutcome::Written));
    }
}
