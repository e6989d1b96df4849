//! Reading, and looking for data and holes.

use super::LIMITS;
use crate::engine::{BLOCK_BYTES, Named};
use crate::halt::Step;
use crate::layout::inode::Inode;
use crate::share::Share;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use vfs::{Attributes, Call, Content, FileId, FsError, Seek, Segment, Sought};

/// Reads longer than this go to the engine without its cache.
pub(crate) const LARGE_BYTES: u32 = 32 << 10;

/// A read without its content.
struct Prepared {
    inode: Inode,
    /// Bytes of the file; they may be none.
    bytes: Range<u64>,
    end_of_file: bool,
    attributes: Attributes,
}

impl Share<'_> {
    pub(crate) fn read(&mut self, call: Call<'_>, file: FileId, offset_bytes: u64, length_bytes: u32) -> Step<Content> {
        let Prepared { inode, bytes, end_of_file, attributes } =
            self.prepare_read(call, file, offset_bytes, length_bytes)?;
        let segments = self.segments(file, &inode, bytes)?;
        Ok(Content { segments, end_of_file, attributes })
    }

    /// As [`Self::read`], but for the content: names its bytes in the object, unless the file has none there.
    pub(crate) fn read_named(
        &mut self,
        call: Call<'_>,
        file: FileId,
        offset_bytes: u64,
        length_bytes: u32,
    ) -> Step<Named<Content>> {
        let Prepared { inode, bytes, end_of_file, attributes } =
            self.prepare_read(call, file, offset_bytes, length_bytes)?;
        match inode.region.filter(|_| !bytes.is_empty()) {
            Some(region) => {
                let content = Content { segments: SmallVec::new(), end_of_file, attributes };
                Ok((content, Some((self.object(), region.bytes(bytes)))))
            }
            None => {
                let segments = self.segments(file, &inode, bytes)?;
                Ok((Content { segments, end_of_file, attributes }, None))
            }
        }
    }

    /// Checks a read, and notes the access.
    fn prepare_read(&mut self, call: Call<'_>, file: FileId, offset_bytes: u64, length_bytes: u32) -> Step<Prepared> {
        let (inode, mut attributes) = self.readable(call, file)?;
        LIMITS.check_io(u64::from(length_bytes))?;
        let wanted = offset_bytes.saturating_add(u64::from(length_bytes));
        let end_of_file = wanted >= inode.size_bytes;
        if length_bytes > 0 {
            self.access(&mut attributes, call.now);
        }
        Ok(Prepared { bytes: offset_bytes..wanted.min(inode.size_bytes), inode, end_of_file, attributes })
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
