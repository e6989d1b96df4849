//! Super block: raising the high waters, and the roll-back of a share.

use crate::engine::BLOCK_BYTES;
use crate::halt::Step;
use crate::layout::address::{ROOT, SUPER_BLOCK};
use crate::layout::super_block::SuperBlock;
use crate::memory::Memory;
use crate::share::Share;
use bytes::Bytes;
use vfs::Timestamp;

/// Numbers of files that are reserved together.
const FILE_STEP: u64 = 1024;
/// Change values that are reserved together.
const CHANGE_STEP: u64 = 1 << 20;

/// High waters before and after.
pub(crate) type Raised = ((u64, u64), (u64, u64));

impl Share<'_> {
    /// Raises the high waters by a step each. The first call for a share stores its super block, with this key.
    pub(crate) fn raise(&mut self, hash_key: [u8; 16]) -> Step<Raised> {
        self.writable()?;
        let old = self.stored_super_block()?.unwrap_or(SuperBlock { hash_key, ..SuperBlock::default() });
        let new = SuperBlock {
            file_high: old.file_high.saturating_add(FILE_STEP),
            change_high: old.change_high.saturating_add(CHANGE_STEP),
            ..old
        };
        self.store(SUPER_BLOCK, &new.encode(), ROOT)?;
        self.effects().change_super_block();
        Ok(((old.file_high, old.change_high), (new.file_high, new.change_high)))
    }

    /// Gives the share the content of another one. No number of a file and no change value is given again,
    /// and every file has changed. Names keep the key of the content, a share without content its own key; `hash_key`
    /// is for a share that has none.
    pub(crate) fn roll_back(&mut self, to: &Memory, now: Timestamp, hash_key: [u8; 16]) -> Step<()> {
        self.writable()?;
        let (own, theirs) = (self.stored_super_block()?, self.other(to).stored_super_block()?);
        let hash_key = theirs.or(own).map_or(hash_key, |stored| stored.hash_key);
        let (own, theirs) = (own.unwrap_or_default(), theirs.unwrap_or_default());
        let new = SuperBlock {
            hash_key,
            file_high: own.file_high.max(theirs.file_high),
            change_high: own.change_high.max(theirs.change_high),
            change_base: own.change_base.saturating_add(own.change_high),
            changed_floor: now.max(self.memory().latest().next()).max(own.changed_floor.next()),
        };
        let (object, block) = (self.object(), Bytes::copy_from_slice(&new.encode()));
        self.name().replace(object, to.object());
        self.name().write(object, SUPER_BLOCK * BLOCK_BYTES, block.into());
        self.effects().change_super_block();
        Ok(())
    }
}
