//! Allotments: looks at them, and their changes.

use super::View;
use crate::interface::ObjectId;
use crate::interface::allotment::AllotmentChange;
use crate::interface::operation::ADDRESS_SPACE_BYTES;
use crate::interface::range::BlockRange;
use crate::transaction::Missing;

impl View<'_> {
    /// Allotted parts of a range before the transaction, in order; none touches the next.
    pub fn allotted(&mut self, object: ObjectId, blocks: BlockRange) -> Result<Vec<BlockRange>, Missing> {
        self.has_blocks(object, blocks)?;
        Ok(self.present.allotted(object, blocks))
    }

    /// Blocks for which allotments promise space, of those in a range, before the transaction: those that are
    /// unmapped or shared. It is an upper bound where an allotment shares blocks.
    pub fn promised(&mut self, object: ObjectId, blocks: BlockRange) -> Result<u64, Missing> {
        self.look_at(object, blocks)?;
        if blocks.count == 0 {
            return Ok(0);
        }
        self.present.promised(object, blocks).ok_or(Missing(()))
    }

    /// Promises space for a range of blocks of an address space: no later write into it fails for lack of space.
    /// What is shared later raises the promise, or is refused. Fails if the pool cannot keep the promise, or
    /// has 65 536 allotments. It takes effect after all changes of content.
    pub fn allot(&mut self, object: ObjectId, blocks: BlockRange) -> Result<(), Missing> {
        self.change_allotments(AllotmentChange::Allot { object, range: blocks })
    }

    /// Ends the promises in a range of blocks of an address space. It takes effect after all changes of
    /// content.
    pub fn release(&mut self, object: ObjectId, blocks: BlockRange) -> Result<(), Missing> {
        self.change_allotments(AllotmentChange::Release { object, range: blocks })
    }

    fn change_allotments(&mut self, change: AllotmentChange) -> Result<(), Missing> {
        let (object, range) = change.place();
        let bytes = range.bytes();
        self.changeable(object, bytes.offset, bytes.length)?;
        if self.size_bytes(object)? != ADDRESS_SPACE_BYTES {
            return Err(self.internal("only an address space has allotments"));
        }
        if range.count > 0 {
            self.changes.allotments.push(change);
        }
        self.bounded()
    }
}
