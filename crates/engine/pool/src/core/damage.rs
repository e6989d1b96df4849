//! Location of damage in terms of the operation that meets it.

#[cfg(test)]
mod tests;

use crate::core::{B, Core, LBAS_PER_BLOCK};
use crate::interface::operation::{Failure, Operation, operation_lba};
use crate::interface::range::{BlockNumber, ByteRange};
use crate::interface::{ObjectId, PoolError};
use block::{BlockError, LOGICAL_BLOCK_BYTES};
use media::BlockAddress;
use media::Media;

/// Largest number of leaves of the map (1 MiB each) searched for the first block below a damaged
/// page: 64 GiB of a range.
const LEAVES_SEARCHED: u64 = 65_536;

/// Side of an operation on which damage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Object that the operation was sent to; for a copy, the destination.
    Device,
    /// Source of a copy.
    Source,
}

impl Side {
    /// Side of the first or of another span of an operation.
    fn of(operation: &Operation, first: bool) -> Self {
        if first && matches!(operation, Operation::Clone { .. }) { Self::Source } else { Self::Device }
    }

    /// Failure of an operation by a read on this side.
    pub(super) fn fault(self, failure: Failure) -> Failure {
        match (self, failure) {
            (Self::Source, Failure::Block(error)) => error.at_source().into(),
            (_, failure) => failure,
        }
    }
}

/// Failure of an operation by damage whose place is not known: the first block of its first span.
pub(super) fn unknown_place(operation: &Operation) -> BlockError {
    let error = BlockError::ReadFailed { lba: operation_lba(operation) };
    if Side::of(operation, true) == Side::Source { error.at_source() } else { error }
}

impl<M: Media> Core<M> {
    /// Failure of an operation that needs an unreadable or contradictory map page. A host's
    /// operation gets the LBA of the first block whose place is unknown; administration gets the
    /// reason. `page`: address of the page, if known.
    pub(super) fn damage_of(&mut self, operation: &Operation, page: Option<BlockAddress>, reason: String) -> Failure {
        if !operation.has_an_lba() {
            return PoolError::Damaged(reason).into();
        }
        match self.first_below(operation, page) {
            Some((side, lba)) => side.fault(BlockError::ReadFailed { lba }.into()),
            None => unknown_place(operation).into(),
        }
    }

    /// First logical block of the operation below `page`, or below a page that contradicts the map.
    fn first_below(&mut self, operation: &Operation, page: Option<BlockAddress>) -> Option<(Side, u64)> {
        let mut leaves = 0;
        for (index, (object, ByteRange { offset, length })) in operation.spans().into_iter().enumerate() {
            let mut block = BlockNumber::of_byte(offset);
            let end = BlockNumber::new((offset + length).div_ceil(B));
            while block < end && leaves < LEAVES_SEARCHED {
                self.map.forget_need();
                let known = self.map.has_path(object, block);
                let below = match page {
                    Some(page) => self.map.need().pages.iter().any(|needed| needed.address == page),
                    None => self.map.need().damaged.is_some(),
                };
                self.map.forget_need();
                if !known && below {
                    let lba = (block.get() * LBAS_PER_BLOCK).max(offset / u64::from(LOGICAL_BLOCK_BYTES));
                    return Some((Side::of(operation, index == 0), lba));
                }
                block = block.next_page(0);
                leaves += 1;
            }
        }
        None
    }

    /// Side, object and block through which an operation needs the old content at `address`. `seen`:
    /// blocks that a transaction has looked at.
    pub(crate) fn place_needed(
        &mut self,
        operation: &Operation,
        seen: &[(ObjectId, BlockNumber)],
        address: BlockAddress,
    ) -> Option<(Side, ObjectId, BlockNumber)> {
        let ends = |offset: u64, length: u64| [offset, offset + length.max(1) - 1].map(BlockNumber::of_byte);
        let mut candidates: Vec<(Side, ObjectId, BlockNumber)> = Vec::new();
        let own = Side::Device;
        match operation {
            Operation::Write { object, offset, data, .. } => {
                candidates.extend(ends(*offset, data.len() as u64).map(|at| (own, *object, at)));
            }
            Operation::CompareAndWrite { object, offset, data, .. } => {
                let [first, last] = ends(*offset, data.len() as u64);
                candidates.extend(first.onwards().take_while(|at| *at <= last).map(|at| (own, *object, at)));
            }
            Operation::Zero { object, ranges, .. } => {
                let ends = ranges.iter().flat_map(|range| ends(range.offset, range.length));
                candidates.extend(ends.map(|at| (own, *object, at)));
            }
            Operation::Clone { source, source_offset, destination, destination_offset, length } => {
                candidates.extend(ends(*source_offset, *length).map(|at| (Side::Source, *source, at)));
                candidates.extend(ends(*destination_offset, *length).map(|at| (own, *destination, at)));
            }
            _ => candidates.extend(seen.iter().map(|(object, at)| (own, *object, *at))),
        }
        let found = candidates
            .into_iter()
            .find(|&(_, object, at)| self.map.lookup(object, at).is_some_and(|entry| entry.address() == address));
        self.map.forget_need();
        found
    }
}
