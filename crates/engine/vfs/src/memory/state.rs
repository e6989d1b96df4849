//! State of the engine in memory: what a restart finds, and what a snapshot copies.

use super::blocks::{BLOCK_BYTES, Blocks, Mapping, Owner, Undo};
use super::lies::Lie;
use crate::{
    Attributes, Before, ChangeValue, Changed, Cookie, FileId, FileSystemId, FsError, Kind, LinkTarget, Name, Timestamp,
    XattrName, policy,
};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Root directory of every file system.
pub(super) const ROOT: FileId = FileId(2);

/// Everything that files consist of.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) shares: BTreeMap<FileSystemId, Share>,
    pub(super) blocks: Blocks,
    /// Files with allocations.
    pub(super) promising: BTreeSet<Owner>,
    pub(super) capacity_blocks: u64,
    /// Changes of the present step.
    pub(super) undo: Vec<Undo>,
    pub(super) lie: Option<Lie>,
}

/// One file system.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub(super) files: BTreeMap<FileId, Inode>,
    pub(super) next_file: u64,
    pub(super) change: u64,
    pub(super) read_only: bool,
    pub(super) quota_blocks: Option<u64>,
    pub(super) most_files: u64,
    /// Number of holds by file. They end with the run.
    pub(super) holds: BTreeMap<FileId, u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Inode {
    /// Without the bytes used.
    pub(super) attributes: Attributes,
    /// Verifier of an exclusive creation.
    pub(super) verifier: Option<u64>,
    pub(super) xattrs: BTreeMap<XattrName, Bytes>,
    pub(super) body: Body,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    File(Mapping),
    Directory(Directory),
    Symlink(LinkTarget),
    /// Devices, pipes, sockets.
    Special,
}

#[derive(Clone, Debug)]
pub(super) struct Directory {
    pub(super) parent: FileId,
    pub(super) entries: BTreeMap<Cookie, (Name, FileId)>,
    cookies: BTreeMap<Name, Cookie>,
}

impl Inode {
    pub(super) fn mapping(&self) -> Option<&Mapping> {
        if let Body::File(mapping) = &self.body { Some(mapping) } else { None }
    }

    pub(super) fn mapping_mut(&mut self) -> Option<&mut Mapping> {
        if let Body::File(mapping) = &mut self.body { Some(mapping) } else { None }
    }

    pub(super) const fn kind(&self) -> Kind {
        self.attributes.kind
    }
}

impl Directory {
    pub(super) fn new(parent: FileId) -> Self {
        Self { parent, entries: BTreeMap::new(), cookies: BTreeMap::new() }
    }

    pub(super) fn find(&self, name: &Name) -> Option<FileId> {
        let cookie = self.cookies.get(name)?;
        self.entries.get(cookie).map(|(_, file)| *file)
    }

    /// Adds an entry, or gives an existing one another file. False if 256 other names have the same
    /// hash value.
    pub(super) fn set(&mut self, name: &Name, file: FileId) -> bool {
        let Some(cookie) = self.cookies.get(name).copied().or_else(|| self.free_cookie(name)) else { return false };
        let name = name.detached();
        self.cookies.insert(name.clone(), cookie);
        self.entries.insert(cookie, (name, file));
        true
    }

    pub(super) fn remove(&mut self, name: &Name) {
        if let Some(cookie) = self.cookies.remove(name) {
            self.entries.remove(&cookie);
        }
    }

    /// Hash of the name, and a number among equal ones: it does not depend on other names.
    fn free_cookie(&self, name: &Name) -> Option<Cookie> {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let hash = (hasher.finish() >> 9 << 8).max(Cookie::FIRST.0);
        (0..256).map(|number| Cookie(hash | number)).find(|cookie| !self.entries.contains_key(cookie))
    }
}

impl State {
    pub(super) fn lies(&self, lie: Lie) -> bool {
        self.lie == Some(lie)
    }

    pub(super) fn share(&self, share: FileSystemId) -> Result<&Share, FsError> {
        self.shares.get(&share).ok_or(FsError::Gone)
    }

    pub(super) fn share_mut(&mut self, share: FileSystemId) -> Result<&mut Share, FsError> {
        self.shares.get_mut(&share).ok_or(FsError::Gone)
    }

    /// [`FsError::ReadOnly`] for a snapshot.
    pub(super) fn writable(&self, share: FileSystemId) -> Result<(), FsError> {
        if self.share(share)?.read_only { Err(FsError::ReadOnly) } else { Ok(()) }
    }

    pub(super) fn inode(&self, (share, file): Owner) -> Result<&Inode, FsError> {
        self.share(share)?.files.get(&file).ok_or(FsError::Stale)
    }

    pub(super) fn inode_mut(&mut self, (share, file): Owner) -> Result<&mut Inode, FsError> {
        self.share_mut(share)?.files.get_mut(&file).ok_or(FsError::Stale)
    }

    pub(super) fn directory(&self, owner: Owner) -> Result<&Directory, FsError> {
        match self.inode(owner)? {
            Inode { body: Body::Directory(directory), .. } => Ok(directory),
            other => Err(FsError::NotDirectory { kind: other.kind() }),
        }
    }

    pub(super) fn directory_mut(&mut self, owner: Owner) -> Result<&mut Directory, FsError> {
        match self.inode_mut(owner)? {
            Inode { body: Body::Directory(directory), .. } => Ok(directory),
            other => Err(FsError::NotDirectory { kind: other.kind() }),
        }
    }

    /// Attributes with the bytes used.
    pub(super) fn attributes(&self, owner: Owner) -> Result<Attributes, FsError> {
        let inode = self.inode(owner)?;
        let mapped = inode.mapping().map_or(0, |mapping| mapping.blocks.len() as u64);
        let used_bytes = (mapped + self.promised_to(owner)) * BLOCK_BYTES;
        Ok(Attributes { used_bytes, ..inode.attributes })
    }

    /// Gives a file the next change value, and the time of a change.
    pub(super) fn touch(&mut self, owner: Owner, now: Timestamp) -> Result<(), FsError> {
        let loose = self.lies(Lie::ChangeTimesRepeat);
        let share = self.share_mut(owner.0)?;
        share.change += 1;
        let change = ChangeValue(share.change);
        let attributes = &mut self.inode_mut(owner)?.attributes;
        attributes.change = change;
        attributes.changed = if loose { now } else { policy::change_time(attributes.changed, now) };
        Ok(())
    }

    /// Notes a change of content or entries: like [`Self::touch`], and moves the modification time.
    pub(super) fn touch_content(&mut self, owner: Owner, now: Timestamp) -> Result<(), FsError> {
        self.touch(owner, now)?;
        let attributes = &mut self.inode_mut(owner)?.attributes;
        attributes.modified = attributes.changed;
        Ok(())
    }

    /// A file before and after the change that is complete now.
    pub(super) fn changed(&self, before: &Attributes, owner: Owner) -> Result<Changed, FsError> {
        let after = self.attributes(owner)?;
        let before = if self.lies(Lie::BeforeIsAfter) { &after } else { before };
        Ok(Changed { before: Before::from(before), after })
    }

    /// Notes an access.
    pub(super) fn access(&mut self, owner: Owner, now: Timestamp) -> Result<(), FsError> {
        if self.share(owner.0)?.read_only {
            return Ok(());
        }
        let inode = self.inode_mut(owner)?;
        if let Some(accessed) = policy::access_time(&inode.attributes, now) {
            inode.attributes.accessed = accessed;
            if self.lies(Lie::AccessIsChange) {
                self.touch(owner, now)?;
            }
        }
        Ok(())
    }

    /// Deletes a file and frees its space.
    pub(super) fn delete(&mut self, owner: Owner) -> Result<(), FsError> {
        self.step(owner.0, crate::SpaceReason::Pool, |state| state.unmap_all(owner))?;
        let reuses = self.lies(Lie::FileIdsRepeat);
        let share = self.share_mut(owner.0)?;
        share.files.remove(&owner.1);
        if reuses {
            share.next_file = share.next_file.min(owner.1.0);
        }
        Ok(())
    }
}
