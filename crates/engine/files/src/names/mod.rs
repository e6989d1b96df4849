//! Operations on names, one file each, and what they have in common.

mod climb;
mod create;
mod create_sharing;
mod holds;
mod link;
mod list;
mod lookup;
mod remove;
mod rename;
mod unnamed;

#[cfg(test)]
pub(crate) use climb::MOST_LEVELS;
pub(crate) use climb::{Climb, Climbing};
pub(crate) use holds::drop_some;

use crate::halt::{Halt, Step, damaged};
use crate::layout::inode::Inode;
use crate::layout::leaf::Entry;
use crate::share::Share;
use crate::tree::{Found, Tree};
use vfs::{Attributes, Call, FileId, FsError, Name, Permission, SpaceReason, policy};

/// Directory in which names change.
pub(crate) struct Directory {
    pub file: FileId,
    pub inode: Inode,
    pub before: Attributes,
}

impl Share<'_> {
    /// A directory in which the caller may look names up.
    pub(crate) fn searchable(&mut self, call: Call<'_>, file: FileId) -> Step<Directory> {
        let inode = self.directory(file)?;
        let before = self.attributes(file, &inode)?;
        policy::check(&before, call.caller, Permission::Execute)?;
        Ok(Directory { file, inode, before })
    }

    /// Entry of a name, and a free key if it has none.
    pub(crate) fn entry(&mut self, directory: &Directory, name: &[u8]) -> Step<(Option<Found>, Option<u64>)> {
        Tree::new(self, directory.file, directory.inode.region).find(name)
    }

    /// Inode to which an entry leads. That there is none is damage of the directory.
    pub(crate) fn inode_of(&mut self, found: &Found, directory: FileId) -> Step<Inode> {
        match self.inode(found.file) {
            Err(Halt::Refused(FsError::Stale)) => Err(damaged(directory).into()),
            inode => inode,
        }
    }

    /// Adds an entry. The nodes of the directory may not be looked at after that.
    pub(crate) fn add_entry(&mut self, directory: FileId, inode: &mut Inode, entry: &Entry<'_>) -> Step<()> {
        let mut tree = Tree::new(self, directory, inode.region);
        tree.insert(entry)?;
        inode.region = tree.region();
        inode.entries += 1;
        Ok(())
    }

    pub(crate) fn remove_entry(&mut self, directory: FileId, inode: &mut Inode, key: u64) -> Step<()> {
        Tree::new(self, directory, inode.region).remove(key)?;
        inode.entries = inode.entries.saturating_sub(1);
        Ok(())
    }
}

/// A key for a new entry.
pub(crate) fn key(free: Option<u64>) -> Step<u64> {
    free.ok_or(Halt::Refused(FsError::NoSpace(SpaceReason::Collisions)))
}

/// Entry of a file.
pub(crate) fn entry<'a>(key: u64, file: FileId, inode: &Inode, name: &'a Name) -> Entry<'a> {
    Entry { key, file, kind: inode.kind, name: name.as_bytes() }
}
