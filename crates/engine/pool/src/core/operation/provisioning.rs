//! Provisioning status: the mapped and unmapped runs of an object. A run of any length takes time in
//! proportion to the depth of the map.

use crate::core::Core;
use crate::geometry::blocks_for;
use crate::interface::ObjectId;
use crate::interface::operation::Output;
use crate::interface::range::BlockNumber;
use crate::schedule::step::Step;
use block::{Extent, LOGICAL_BLOCK_BYTES, ProvisioningExtent};
use media::Media;

/// Number of runs that one step finds.
const STEP_RUNS: usize = 1024;

impl<M: Media> Core<M> {
    pub(in crate::core) fn provisioning_step(&mut self, object: ObjectId, offset: u64, limit: usize) -> Step {
        let size = match self.readable(object, offset, u64::from(LOGICAL_BLOCK_BYTES)) {
            Ok((_, size_bytes, _)) => size_bytes,
            Err(failure) => return Step::Fail(failure),
        };
        let most = limit.clamp(1, STEP_RUNS);
        let mut runs: Vec<ProvisioningExtent> = Vec::new();
        let end = BlockNumber::new(blocks_for(size));
        let mut block = BlockNumber::of_byte(offset);
        let mut mapped = match self.map.next_block(object, block, true) {
            Some(found) => found == block,
            None => return Step::Wait,
        };
        while block < end && runs.len() < most {
            let Some(next) = self.map.next_block(object, block, !mapped) else { return Step::Wait };
            let next = next.min(end);
            let from = block.offset().max(offset) / u64::from(LOGICAL_BLOCK_BYTES);
            let to = next.offset().min(size) / u64::from(LOGICAL_BLOCK_BYTES);
            runs.push(ProvisioningExtent { extent: Extent::new(from, to - from), mapped });
            (block, mapped) = (next, !mapped);
        }
        Step::Done(Output::Provisioning(runs))
    }
}
