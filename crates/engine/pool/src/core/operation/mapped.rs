//! Number of mapped blocks of a range.

use crate::core::{B, Core};
use crate::interface::ObjectId;
use crate::interface::operation::Output;
use crate::interface::range::BlockRange;
use crate::schedule::step::Step;
use media::Media;

impl<M: Media> Core<M> {
    pub(in crate::core) fn mapped_step(&mut self, object: ObjectId, range: BlockRange) -> Step {
        if let Err(failure) = self.has_blocks(object, range) {
            return Step::Fail(failure);
        }
        match self.map.mapped_in(object, range) {
            Some(blocks) => Step::Done(Output::Bytes(blocks * B)),
            None => Step::Wait,
        }
    }
}
