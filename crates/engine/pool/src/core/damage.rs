//! Location of damage in terms of the operation that meets it.

use crate::core::{B, Core, LBAS_PER_BLOCK};
use crate::geometry::FANOUT;
use crate::interface::PoolError;
use crate::interface::operation::{Failure, Operation, operation_lba};
use block::{BlockError, LOGICAL_BLOCK_BYTES};
use media::BLOCK_BYTES;
use media::Media;

/// Largest number of leaves of the map (1 MiB each) searched for the first block below a damaged
/// page: 64 GiB of a range.
const LEAVES_SEARCHED: u64 = 65_536;

impl<M: Media> Core<M> {
    /// Failure of an operation that needs an unreadable or contradictory map page. A host's
    /// operation gets the LBA of the first block whose place is unknown; administration gets the
    /// reason. `page`: address of the page, if known.
    pub(super) fn damage_of(&mut self, operation: &Operation, page: Option<u64>, reason: String) -> Failure {
        if !operation.has_an_lba() {
            return PoolError::Damaged(reason).into();
        }
        let lba = self.first_below(operation, page).unwrap_or(operation_lba(operation));
        BlockError::ReadFailed { lba }.into()
    }

    /// First logical block of the operation below `page`.
    fn first_below(&mut self, operation: &Operation, page: Option<u64>) -> Option<u64> {
        let page = page?;
        let mut leaves = 0;
        for (object, offset, length) in operation.spans() {
            let mut block = offset / B;
            let end = (offset + length).div_ceil(B);
            while block < end && leaves < LEAVES_SEARCHED {
                let known = self.map.lookup(object, block).is_some();
                let below = self.map.need().pages.iter().any(|needed| needed.address == page);
                self.map.need_mut().clear();
                if !known && below {
                    return Some((block * LBAS_PER_BLOCK).max(offset / u64::from(LOGICAL_BLOCK_BYTES)));
                }
                block = (block / FANOUT as u64 + 1) * FANOUT as u64;
                leaves += 1;
            }
        }
        None
    }

    /// Object and block through which an operation needs the old content at `address`.
    pub(crate) fn place_needed(&mut self, operation: &Operation, address: u64) -> Option<(u64, u64)> {
        let block = BLOCK_BYTES as u64;
        let ends = |offset: u64, length: u64| [offset / block, (offset + length.max(1) - 1) / block];
        let mut candidates: Vec<(u64, u64)> = Vec::new();
        match operation {
            Operation::Write { object, offset, data, .. } => {
                candidates.extend(ends(*offset, data.len() as u64).map(|at| (*object, at)));
            }
            Operation::CompareAndWrite { object, offset, data, .. } => {
                let [first, last] = ends(*offset, data.len() as u64);
                candidates.extend((first..=last).map(|at| (*object, at)));
            }
            Operation::Zero { object, ranges, .. } => {
                let ends = ranges.iter().flat_map(|(offset, length)| ends(*offset, *length));
                candidates.extend(ends.map(|at| (*object, at)));
            }
            Operation::Clone { source, source_offset, destination, destination_offset, length } => {
                candidates.extend(ends(*source_offset, *length).map(|at| (*source, at)));
                candidates.extend(ends(*destination_offset, *length).map(|at| (*destination, at)));
            }
            _ => {}
        }
        let found = candidates
            .into_iter()
            .find(|&(object, at)| self.map.lookup(object, at).is_some_and(|entry| entry.address() == address));
        self.map.need_mut().clear();
        found
    }
}
