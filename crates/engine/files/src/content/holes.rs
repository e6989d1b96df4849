//! Zeros: with growth and promises kept, or inside the file and with promises ended.

use super::{Draft, range};
use crate::engine::BLOCK_BYTES;
use crate::halt::Step;
use crate::share::Share;
use vfs::{Call, FileId, FsError};

impl Share<'_> {
    pub(crate) fn zero(&mut self, call: Call<'_>, file: FileId, offset_bytes: u64, length_bytes: u64) -> Step<Draft> {
        let mut target = self.changeable(call, file)?;
        let bytes = range(offset_bytes, length_bytes)?;
        let region = self.reach(file, &mut target.inode, bytes.end)?;
        let object = self.object();
        self.name().zero(object, region.bytes(bytes.clone()));
        self.complete(call, target, bytes.end)
    }

    pub(crate) fn deallocate(
        &mut self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u64,
    ) -> Step<Draft> {
        let target = self.changeable(call, file)?;
        let end = offset_bytes.checked_add(length_bytes).filter(|_| length_bytes > 0).ok_or(FsError::BadRange)?;
        let size_bytes = target.inode.size_bytes;
        let Some(region) = target.inode.region.filter(|_| offset_bytes < size_bytes) else {
            return Ok(Draft::new(file, &target.before, target.inode));
        };
        // The part of the last block behind the end belongs to the range.
        let end = if end >= size_bytes { size_bytes.next_multiple_of(BLOCK_BYTES) } else { end };
        let object = self.object();
        self.name().zero(object, region.bytes(offset_bytes..end));
        let whole = offset_bytes.div_ceil(BLOCK_BYTES)..end / BLOCK_BYTES;
        if !whole.is_empty() {
            self.name().release(object, region.first() + whole.start..region.first() + whole.end);
        }
        self.complete(call, target, 0)
    }
}
