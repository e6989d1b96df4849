//! Operations on the content of regular files, one file each, and what they have in common.

mod allocate;
mod holes;
mod read;
mod size;
mod space;
mod transfer;
mod whole;
mod write;

pub(crate) use read::LARGE_BYTES;
pub(crate) use transfer::{From, shared_at_once};
pub(crate) use whole::Whole;

use crate::engine::BLOCK_BYTES;
use crate::halt::Step;
use crate::layout::inode::Inode;
use crate::share::Share;
use std::ops::Range;
use vfs::{Attributes, Before, Call, Changed, FileId, FsError, Limits, policy};

/// Limits of a share.
pub(crate) const LIMITS: Limits = Limits {
    grain_bytes: BLOCK_BYTES as u32,
    file_bytes: 1 << 44,
    io_bytes: 1 << 20,
    move_bytes: 16 << 20,
    listed_entries: 64,
    links: 65_000,
    // A region of 64 KiB, less the 5 bytes that each attribute has beside name and value.
    xattr_bytes: 65_536 - 5 * 256,
    xattr_names: 256,
};

/// A file before a change of its content, and its inode as it shall be.
pub(crate) struct Target {
    pub file: FileId,
    pub inode: Inode,
    pub before: Attributes,
}

/// A change of one file that was named.
#[derive(Clone)]
pub(crate) struct Draft {
    file: FileId,
    before: Before,
    /// Inode after the change.
    inode: Inode,
}

impl Draft {
    /// `inode`: as it is after the change.
    pub(crate) fn new(file: FileId, before: &Attributes, inode: Inode) -> Self {
        Self { file, before: Before::from(before), inode }
    }

    /// Result after the execution.
    pub(crate) fn finish(self, share: &mut Share<'_>) -> Step<Changed> {
        let Self { file, before, inode } = self;
        if share.is_later() {
            // Inode and mapped bytes must be of the same instant.
            return share.changed(before, file);
        }
        Ok(Changed { before, after: share.attributes(file, &inode)? })
    }

    /// [`Self::finish`] with its arguments the other way round.
    pub(crate) fn finished(share: &mut Share<'_>, draft: Self) -> Step<Changed> {
        draft.finish(share)
    }
}

impl Share<'_> {
    /// A regular file whose content the call may change.
    pub(crate) fn changeable(&mut self, call: Call<'_>, file: FileId) -> Step<Target> {
        self.writable()?;
        let (inode, before) = self.both(file)?;
        FsError::need_file(inode.kind)?;
        policy::check_write(&before, call)?;
        Ok(Target { file, inode, before })
    }

    /// A regular file whose content the call may read.
    fn readable(&mut self, call: Call<'_>, file: FileId) -> Step<(Inode, Attributes)> {
        let (inode, attributes) = self.both(file)?;
        FsError::need_file(inode.kind)?;
        policy::check_read(&attributes, call)?;
        Ok((inode, attributes))
    }

    /// Ends a change of content.
    fn complete(&mut self, call: Call<'_>, mut target: Target, end: u64) -> Step<Draft> {
        target.inode.size_bytes = target.inode.size_bytes.max(end);
        target.inode.mode = policy::mode_after_change(&target.before, call.caller);
        self.touch_content(target.file, &mut target.inode, call.now)?;
        self.put(target.file, &target.inode)?;
        Ok(Draft::new(target.file, &target.before, target.inode))
    }
}

/// Blocks that a range of bytes touches.
fn touched(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / BLOCK_BYTES..bytes.end.div_ceil(BLOCK_BYTES)
}

/// Range that is not empty and lies in the largest file.
pub(crate) fn range(offset_bytes: u64, length_bytes: u64) -> Result<Range<u64>, FsError> {
    if length_bytes == 0 {
        return Err(FsError::BadRange);
    }
    Ok(offset_bytes..LIMITS.end(offset_bytes, length_bytes)?)
}
