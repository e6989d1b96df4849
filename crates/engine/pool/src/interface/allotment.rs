//! Changes of allotments: ranges of an address space for which the pool promises space.

use crate::interface::ObjectId;
use crate::interface::range::BlockRange;

/// Change of the allotments of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllotmentChange {
    /// Promises space for all blocks of a range.
    Allot { object: ObjectId, range: BlockRange },
    /// Ends the promises in a range.
    Release { object: ObjectId, range: BlockRange },
    /// Sets the counted upper bounds of an allotment.
    Count { object: ObjectId, range: BlockRange, shared: u64, pages_due: u64 },
}

impl AllotmentChange {
    /// Object and range.
    pub const fn place(&self) -> (ObjectId, BlockRange) {
        match self {
            Self::Allot { object, range } | Self::Release { object, range } | Self::Count { object, range, .. } => {
                (*object, *range)
            }
        }
    }
}
