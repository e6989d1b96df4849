//! Attributes, and the target of a symbolic link.

use crate::content::{Draft, LIMITS};
use crate::halt::{Halt, Step, damaged};
use crate::layout::inode::INLINE_BYTES;
use crate::share::Share;
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;
use vfs::{Attributes, Call, FileId, FsError, Kind, LinkTarget, Segment, SetAttributes, Timestamp, policy};

impl Share<'_> {
    pub(crate) fn set_attributes(
        &mut self,
        call: Call<'_>,
        file: FileId,
        set: &SetAttributes,
        guard: Option<Timestamp>,
    ) -> Step<Draft> {
        self.writable()?;
        let (mut inode, before) = self.both(file)?;
        let after = policy::set_attributes(&before, set, call)?;
        LIMITS.check_size(set.size_bytes.unwrap_or(0))?;
        if guard.is_some_and(|guard| guard != before.changed) {
            return Err(FsError::GuardMismatch { changed: before.changed }.into());
        }
        if *set == SetAttributes::default() {
            return Ok(Draft::new(file, &before, inode));
        }
        if let Some(size_bytes) = set.size_bytes {
            self.resize(file, &mut inode, size_bytes)?;
        }
        self.touch(file, &mut inode, call.now)?;
        (inode.mode, inode.user, inode.group) = (after.mode, after.user, after.group);
        (inode.times.accessed, inode.times.modified) = (after.accessed, after.modified);
        inode.verifier = None;
        self.put(file, &inode)?;
        Ok(Draft::new(file, &before, inode))
    }

    pub(crate) fn read_link(&mut self, file: FileId) -> Step<(LinkTarget, Attributes)> {
        let (inode, attributes) = self.both(file)?;
        match inode.kind {
            Kind::Symlink => {}
            Kind::Directory => return Err(FsError::IsDirectory.into()),
            kind => return Err(FsError::WrongKind { kind }.into()),
        }
        let bytes = if inode.region.is_none() {
            let length = usize::try_from(inode.size_bytes).unwrap_or(usize::MAX).min(INLINE_BYTES);
            Bytes::copy_from_slice(inode.target.get(..length).unwrap_or_default())
        } else {
            let length_bytes = inode.size_bytes.min(vfs::TARGET_BYTES as u64);
            flat(self.segments(file, &inode, 0..length_bytes)?)
        };
        Ok((LinkTarget::new(bytes).map_err(|_| damaged(file))?, attributes))
    }

    /// Writes access times that are in memory alone. Returns how many.
    pub(crate) fn write_accessed(&mut self, most: usize) -> Step<usize> {
        let files = self.memory().some_accessed(most);
        for file in &files {
            let accessed = self.memory().accessed(*file);
            match self.any_inode(*file) {
                Ok(mut inode) => {
                    inode.times.accessed = accessed.unwrap_or(inode.times.accessed);
                    self.put(*file, &inode)?;
                }
                Err(Halt::Wait) => return Err(Halt::Wait),
                Err(_) => {}
            }
            self.effects().access(*file, None);
        }
        Ok(files.len())
    }
}

/// Segments as one buffer, holes as zeros.
pub(crate) fn flat(segments: SmallVec<[Segment; 4]>) -> Bytes {
    let mut all = BytesMut::new();
    for segment in &segments {
        match segment {
            Segment::Data(data) => all.extend_from_slice(data),
            Segment::Hole { length_bytes } => {
                let zeros = usize::try_from(*length_bytes).unwrap_or(usize::MAX);
                all.resize(all.len().saturating_add(zeros), 0);
            }
        }
    }
    all.freeze()
}
