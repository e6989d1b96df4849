//! A share inside an attempt: its super block, inodes and attributes, over the view of a transaction.

use crate::engine::{BLOCK_BYTES, Block, Object, Outcome, View};
use crate::halt::{Halt, Step, damaged};
use crate::layout::address::{Class, INODE_BYTES};
use crate::layout::address::{FILES, FIRST_FILE, ORPHANS, Part, ROOT, Region, SUPER_BLOCK, inode_at};
use crate::layout::inode::{INLINE_BYTES, Inode, Times};
use crate::layout::super_block::SuperBlock;
use crate::memory::{Effects, Memory};
use std::ops::Range;
use vfs::{Attributes, Before, ChangeValue, Changed, Device, FileId, FsError, Kind, Timestamp, policy};

/// Unchanged bytes between two changed ones that are cheaper to include than to leave out.
const JOINED: usize = 16;
/// Bytes that are compared as a whole first.
const COMPARED: usize = 256;

/// A share in one attempt.
pub(crate) struct Share<'a> {
    view: &'a mut (dyn View + 'a),
    memory: &'a Memory,
    effects: Effects,
    changes: bool,
    /// Whether attributes state the bytes in use.
    counts_used: bool,
    /// True if other changes may have followed the one whose result is read.
    is_later: bool,
}

impl<'a> Share<'a> {
    pub(crate) fn new(view: &'a mut (dyn View + 'a), memory: &'a Memory, counts_used: bool) -> Self {
        Self { view, memory, effects: Effects::default(), changes: false, counts_used, is_later: false }
    }

    /// Notes that other changes may have followed the one whose result is read.
    pub(crate) const fn look_later(&mut self) {
        self.is_later = true;
    }

    pub(crate) const fn is_later(&self) -> bool {
        self.is_later
    }

    pub(crate) const fn object(&self) -> Object {
        self.memory.object()
    }

    /// State in memory, as it was before the attempt.
    pub(crate) const fn memory(&self) -> &'a Memory {
        self.memory
    }

    /// Changes of the state in memory.
    pub(crate) const fn effects(&mut self) -> &mut Effects {
        &mut self.effects
    }

    /// The view, for looks.
    pub(crate) fn look(&mut self) -> &mut (dyn View + 'a) {
        self.view
    }

    /// The view, for changes.
    pub(crate) fn name(&mut self) -> &mut (dyn View + 'a) {
        self.changes = true;
        self.view
    }

    /// Another share of the same engine in the same attempt, to look at.
    pub(crate) fn other<'b>(&'b mut self, memory: &'b Memory) -> Share<'b> {
        Share::new(&mut *self.view, memory, self.counts_used)
    }

    /// Effects of a look, if it has any. Few have.
    pub(crate) fn into_effects(self) -> Option<Effects> {
        (!self.effects.is_empty()).then_some(self.effects)
    }

    /// End of the attempt, with its effects.
    pub(crate) fn outcome<T>(self, value: T) -> Outcome<(T, Effects)> {
        if self.changes { Outcome::Commit((value, self.effects)) } else { Outcome::Nothing((value, self.effects)) }
    }

    /// [`FsError::ReadOnly`] for a snapshot.
    pub(crate) const fn writable(&self) -> Step<()> {
        if self.memory.read_only() { Err(Halt::Refused(FsError::ReadOnly)) } else { Ok(()) }
    }

    /// Super block before the attempt.
    pub(crate) fn super_block(&mut self) -> Step<SuperBlock> {
        if let Some(known) = self.memory.super_block() {
            return Ok(known);
        }
        let found = self.stored_super_block()?.unwrap_or_default();
        self.memory.know_super_block(found);
        Ok(found)
    }

    /// Super block, if the share was ever changed.
    pub(crate) fn stored_super_block(&mut self) -> Step<Option<SuperBlock>> {
        Ok(SuperBlock::decode(self.block(SUPER_BLOCK, ROOT)?).map_err(|()| damaged(ROOT))?)
    }

    /// A block that belongs to a file.
    pub(crate) fn block(&mut self, block: u64, of: FileId) -> Step<&Block> {
        self.view.block(self.memory.object(), block).map_err(|missing| missing.of(of))
    }

    /// Changes a block where it differs.
    pub(crate) fn store(&mut self, block: u64, new: &Block, of: FileId) -> Step<()> {
        let old = *self.block(block, of)?;
        self.store_ranges(block, new, differences(&old, new), of)
    }

    /// Stores these ranges of a block.
    pub(crate) fn store_ranges(
        &mut self,
        block: u64,
        new: &Block,
        ranges: impl IntoIterator<Item = Range<usize>>,
        of: FileId,
    ) -> Step<()> {
        for range in ranges {
            self.put_bytes(block, range.start, new.get(range).unwrap_or_default(), of)?;
        }
        Ok(())
    }

    /// Inode of a file that a caller may name. [`FsError::Stale`]: there is none.
    pub(crate) fn inode(&mut self, file: FileId) -> Step<Inode> {
        let may_be_named = file == ROOT || (FIRST_FILE..FILES).contains(&file.0);
        if !may_be_named {
            return Err(FsError::Stale.into());
        }
        let inode = self.any_inode(file)?;
        if self.memory.read_only() && inode.links == 0 {
            return Err(FsError::Stale.into());
        }
        Ok(inode)
    }

    /// Inode of any file, the directory of files without names among them.
    pub(crate) fn any_inode(&mut self, file: FileId) -> Step<Inode> {
        let (block, bytes) = inode_at(file);
        let stored = self.block(block, file)?.get(bytes).unwrap_or_default();
        match Inode::decode(stored, file) {
            Ok(Some(inode)) => Ok(inode),
            Ok(None) if file == ROOT || file == ORPHANS => Ok(self.initial_directory(file)),
            Ok(None) => Err(FsError::Stale.into()),
            Err(()) => Err(damaged(file).into()),
        }
    }

    /// Root or directory of files without names, before its first change.
    fn initial_directory(&self, file: FileId) -> Inode {
        let root = self.memory.root();
        let (mode, user, group) = if file == ROOT { (root.mode, root.user, root.group) } else { (0, 0, 0) };
        let born = root.born;
        Inode {
            mode,
            user,
            group,
            links: 2,
            times: Times { accessed: born, modified: born, changed: born, born },
            ..blank(Kind::Directory, file)
        }
    }

    pub(crate) fn directory(&mut self, file: FileId) -> Step<Inode> {
        let inode = self.inode(file)?;
        FsError::need_directory(inode.kind)?;
        Ok(inode)
    }

    /// Stores an inode.
    pub(crate) fn put(&mut self, file: FileId, inode: &Inode) -> Step<()> {
        self.put_inode(file, &inode.encode(file))
    }

    /// Frees an inode.
    pub(crate) fn free_inode(&mut self, file: FileId) -> Step<()> {
        self.effects.access(file, None);
        self.put_inode(file, &[0; INODE_BYTES])
    }

    fn put_inode(&mut self, file: FileId, bytes: &[u8; INODE_BYTES]) -> Step<()> {
        let (block, range) = inode_at(file);
        self.put_bytes(block, range.start, bytes, file)
    }

    /// Stores bytes of a block.
    pub(crate) fn put_bytes(&mut self, block: u64, at: usize, bytes: &[u8], of: FileId) -> Step<()> {
        self.changes = true;
        let range = at..at + bytes.len();
        let stored = self.view.edit(self.memory.object(), block, range).map_err(|missing| missing.of(of))?;
        stored.copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn next_file(&mut self) -> Step<FileId> {
        let file = self.memory.next_file(&mut self.effects).ok_or(Halt::Exhausted)?;
        if file.0 >= FILES { Err(FsError::NoSpace(vfs::SpaceReason::Files).into()) } else { Ok(file) }
    }

    pub(crate) fn next_change(&mut self) -> Step<u64> {
        self.memory.next_change(&mut self.effects).ok_or(Halt::Exhausted)
    }

    /// Notes a change of anything: change value and time. The access time goes into the inode with it.
    pub(crate) fn touch(&mut self, file: FileId, inode: &mut Inode, now: Timestamp) -> Step<()> {
        inode.change = self.next_change()?;
        let last = inode.times.changed.max(self.super_block()?.changed_floor);
        inode.times.changed = policy::change_time(last, now);
        self.effects.changed_at(inode.times.changed);
        if let Some(accessed) = self.memory.accessed(file) {
            inode.times.accessed = accessed;
            self.effects.access(file, None);
        }
        Ok(())
    }

    /// Notes a change of content or entries.
    pub(crate) fn touch_content(&mut self, file: FileId, inode: &mut Inode, now: Timestamp) -> Step<()> {
        self.touch(file, inode, now)?;
        inode.times.modified = inode.times.changed;
        Ok(())
    }

    /// Notes an access, in memory.
    pub(crate) fn access(&mut self, attributes: &mut Attributes, now: Timestamp) {
        if self.memory.read_only() {
            return;
        }
        if let Some(accessed) = policy::access_time(attributes, now) {
            attributes.accessed = accessed;
            self.effects.access(attributes.file, Some(accessed));
        }
    }

    /// Attributes of a file.
    pub(crate) fn attributes(&mut self, file: FileId, inode: &Inode) -> Step<Attributes> {
        let SuperBlock { change_base, changed_floor, .. } = self.super_block()?;
        let used_blocks = if self.counts_used { self.mapped(file, inode)? + self.promised(file, inode)? } else { 0 };
        Ok(Attributes {
            file,
            kind: inode.kind,
            mode: inode.mode,
            links: inode.links,
            user: inode.user,
            group: inode.group,
            size_bytes: inode.size_bytes,
            used_bytes: used_blocks * BLOCK_BYTES,
            device: inode.device,
            change: ChangeValue(change_base.wrapping_add(inode.change)),
            accessed: self.memory.accessed(file).unwrap_or(inode.times.accessed),
            modified: inode.times.modified,
            changed: inode.times.changed.max(changed_floor),
            born: inode.times.born,
        })
    }

    /// Attributes of a file, with its inode.
    pub(crate) fn both(&mut self, file: FileId) -> Step<(Inode, Attributes)> {
        let inode = self.inode(file)?;
        Ok((inode, self.attributes(file, &inode)?))
    }

    /// A file before and after the change that is complete.
    pub(crate) fn changed(&mut self, before: Before, file: FileId) -> Step<Changed> {
        let (_, after) = self.both(file)?;
        Ok(Changed { before, after })
    }

    /// Looks at what is mapped in a region that a change gives to a file, so that its result can be told.
    pub(crate) fn expect(&mut self, region: Region, file: FileId) -> Step<()> {
        if self.counts_used {
            self.view.mapped(self.memory.object(), region.blocks()).map_err(|missing| missing.of(file))?;
        }
        Ok(())
    }

    /// Mapped blocks of a file.
    pub(crate) fn mapped(&mut self, file: FileId, inode: &Inode) -> Step<u64> {
        let mut blocks = 0;
        for region in regions(file, inode) {
            blocks += self.view.mapped(self.memory.object(), region.blocks()).map_err(|missing| missing.of(file))?;
        }
        Ok(blocks)
    }

    /// Blocks that the allocations of a file promise.
    pub(crate) fn promised(&mut self, file: FileId, inode: &Inode) -> Step<u64> {
        match inode.region {
            Some(region) if inode.kind == Kind::File => {
                self.view.promised(self.memory.object(), region.blocks()).map_err(|missing| missing.of(file))
            }
            _ => Ok(0),
        }
    }
}

/// Regions of a file: of content and of extended attributes.
pub(crate) fn regions(file: FileId, inode: &Inode) -> impl Iterator<Item = Region> {
    inode.region.into_iter().chain(xattr_region(file, inode.xattr_bytes))
}

/// Region of extended attributes of this length.
pub(crate) fn xattr_region(file: FileId, xattr_bytes: u32) -> Option<Region> {
    Class::of_size(u64::from(xattr_bytes))
        .filter(|_| xattr_bytes > 0)
        .map(|class| Region::of_file(class, Part::Xattrs, file))
}

/// Inode of a file without content.
pub(crate) fn blank(kind: Kind, parent: FileId) -> Inode {
    Inode {
        kind,
        mode: 0,
        user: 0,
        group: 0,
        links: 1,
        size_bytes: 0,
        region: None,
        change: 0,
        times: Times::default(),
        device: Device::default(),
        parent,
        parent_key: 0,
        verifier: None,
        entries: 0,
        target: [0; INLINE_BYTES],
        xattr_bytes: 0,
    }
}

/// Ranges in which two blocks differ; close ones are joined.
fn differences(old: &Block, new: &Block) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let parts = old.chunks(COMPARED).zip(new.chunks(COMPARED)).enumerate().filter(|(_, (old, new))| old != new);
    for (part, (old, new)) in parts {
        let words = old.chunks(8).zip(new.chunks(8)).enumerate().filter(|(_, (old, new))| old != new);
        for (word, _) in words {
            let start = part * COMPARED + word * 8;
            match ranges.last_mut() {
                Some(last) if start - last.end <= JOINED => last.end = start + 8,
                _ => ranges.push(start..start + 8),
            }
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_and_joined() {
        let (old, mut new) = ([7; 4096], [7; 4096]);
        assert_eq!(differences(&old, &new), []);
        for at in [0, 20, 100, 255, 256, 4095] {
            new[at] = 8;
        }
        assert_eq!(differences(&old, &new), [0..24, 96..104, 248..264, 4088..4096]);
    }
}
