//! Reading, and looking for data and holes.

use super::LIMITS;
use crate::engine::BLOCK_BYTES;
use crate::halt::Step;
use crate::layout::inode::Inode;
use crate::share::Share;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use vfs::{Call, Content, FileId, FsError, Seek, Segment, Sought};

impl Share<'_> {
    pub(crate) fn read(&mut self, call: Call<'_>, file: FileId, offset_bytes: u64, length_bytes: u32) -> Step<Content> {
        let (inode, mut attributes) = self.readable(call, file)?;
        LIMITS.check_io(u64::from(length_bytes))?;
        let size_bytes = inode.size_bytes;
        let wanted = offset_bytes.saturating_add(u64::from(length_bytes));
        let segments = self.segments(file, &inode, offset_bytes..wanted.min(size_bytes))?;
        if length_bytes > 0 {
            self.access(&mut attributes, call.now);
        }
        Ok(Content { segments, end_of_file: wanted >= size_bytes, attributes })
    }

    /// Content of a range inside a file.
    pub(crate) fn segments(&mut self, file: FileId, inode: &Inode, bytes: Range<u64>) -> Step<SmallVec<[Segment; 4]>> {
        if bytes.is_empty() {
            return Ok(SmallVec::new());
        }
        let Some(region) = inode.region else {
            return Ok(smallvec![Segment::Hole { length_bytes: bytes.end - bytes.start }]);
        };
        let object = self.object();
        self.look().read(object, region.bytes(bytes)).map_err(|missing| missing.of(file))
    }

    pub(crate) fn seek(&mut self, call: Call<'_>, file: FileId, offset_bytes: u64, what: Seek) -> Step<Sought> {
        let (inode, attributes) = self.readable(call, file)?;
        let size_bytes = inode.size_bytes;
        if offset_bytes >= size_bytes {
            return Err(FsError::BeyondEnd { size_bytes }.into());
        }
        let Some(region) = inode.region else {
            let offset_bytes = if what == Seek::Hole { offset_bytes } else { size_bytes };
            return Ok(Sought { offset_bytes, end_of_file: what == Seek::Data, attributes });
        };
        let first = region.first();
        let blocks = first + offset_bytes / BLOCK_BYTES..first + size_bytes.div_ceil(BLOCK_BYTES);
        let object = self.object();
        let found = match what {
            Seek::Data => self.look().next_mapped(object, blocks),
            Seek::Hole => self.look().next_unmapped(object, blocks),
        };
        let found = (found.map_err(|missing| missing.of(file))? - first) * BLOCK_BYTES;
        let found = found.max(offset_bytes);
        Ok(Sought { offset_bytes: found.min(size_bytes), end_of_file: found >= size_bytes, attributes })
    }
}
