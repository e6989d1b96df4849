//! Whole contents that are shared: where the content of a source is, and an object with the content of a file.
//!
//! Both contents begin at a multiple of their size in the map, so that one step shares them, whatever the size: at
//! most 256 entries of each level.

use crate::engine::{BLOCK_BYTES, Object};
use crate::halt::Step;
use crate::memory::Memory;
use crate::share::Share;
use vfs::{Call, FileId, FsError, SetAttributes};

/// Source of the content of a new file.
#[derive(Clone, Copy)]
pub(crate) enum Whole<'a> {
    /// A file, maybe of another share.
    File { memory: &'a Memory, file: FileId },
    /// All of an object that is no share. Its last block is zero behind its end.
    Object { object: Object, size_bytes: u64 },
}

/// Place of content.
pub(crate) struct Content {
    pub object: Object,
    /// First block; absent if there is no content.
    pub first: Option<u64>,
    pub size_bytes: u64,
}

impl Content {
    /// Number of blocks.
    pub(crate) const fn blocks(&self) -> u64 {
        self.size_bytes.div_ceil(BLOCK_BYTES)
    }
}

impl Share<'_> {
    /// Content of a source, and the attributes that a new file takes from it.
    pub(crate) fn whole(&mut self, call: Call<'_>, whole: Whole<'_>) -> Step<(Content, SetAttributes)> {
        match whole {
            Whole::Object { object, size_bytes } => {
                Ok((Content { object, first: Some(0), size_bytes }, SetAttributes::default()))
            }
            Whole::File { memory, file } => {
                let (inode, _) = self.other(memory).readable(call, file)?;
                let first = inode.region.map(|region| region.first());
                let content = Content { object: memory.object(), first, size_bytes: inode.size_bytes };
                let (mode, user, group) = (Some(inode.mode), Some(inode.user), Some(inode.group));
                Ok((content, SetAttributes { mode, user, group, ..SetAttributes::default() }))
            }
        }
    }

    /// Maps the first blocks of another object as those of a file. Returns the size of the file.
    ///
    /// [`FsError::FileTooLarge`]: the file has more than `limit_bytes`.
    pub(crate) fn share_into(&mut self, call: Call<'_>, file: FileId, object: Object, limit_bytes: u64) -> Step<u64> {
        let memory = self.memory();
        let (content, _) = self.whole(call, Whole::File { memory, file })?;
        if content.size_bytes > limit_bytes {
            return Err(FsError::FileTooLarge { limit_bytes }.into());
        }
        if let Some(first) = content.first {
            self.name().share((content.object, first), (object, 0), content.blocks());
        }
        Ok(content.size_bytes)
    }
}
