//! Transactions that overwrite blocks in place and nothing else, as most writes of files do. They need neither space
//! nor a plan.

use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::operation::is_zero;
use crate::mutations::{Mutation, leaves_out};
use crate::transaction::changes::Changes;
use media::Media;

/// Most blocks that are looked at one by one.
const MOST_BLOCKS: usize = 8;

impl<M: Media> Core<M> {
    /// Carries out and logs changes of which each gives content that is not zero to a block that is mapped, unshared
    /// and in a leaf which this epoch owns. False, without effect, for any others, and if the log takes no more now.
    /// `None` if the map contradicts itself.
    pub(super) fn overwrite_in_place(&mut self, changes: &Changes) -> Option<bool> {
        let blocks_alone = changes.ranges.is_empty() && changes.allotments.is_empty();
        if !blocks_alone || changes.contents.len() > MOST_BLOCKS || !self.log_takes(Self::transaction_bytes(changes)) {
            return Some(false);
        }
        let mut contents = changes.contents.iter();
        if !contents
            .all(|((object, block), content)| !is_zero(&content.data[..]) && self.map.is_replaceable(*object, *block))
        {
            return Some(false);
        }
        for (place, content) in &changes.contents {
            let crc = Crc32c::of(&content.data[..]);
            if !self.replace(*place, content, crc) {
                return None;
            }
            if leaves_out(Mutation::OneFrame) {
                self.log.close();
            }
        }
        Some(true)
    }
}
