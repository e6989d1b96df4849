//! Removal of a name, and of the file with its last one.

use crate::halt::Step;
use crate::layout::inode::Inode;
use crate::share::{Share, regions};
use vfs::{Attributes, Before, Call, Expect, FileId, FsError, Kind, Place, Removed, Removes, policy};

/// A removal that was named.
#[derive(Clone)]
pub(crate) struct Draft {
    directory: FileId,
    before: Before,
    file: Attributes,
}

impl Draft {
    pub(crate) fn finish(self, share: &mut Share<'_>) -> Step<Removed> {
        Ok(Removed { directory: share.changed(self.before, self.directory)?, file: self.file })
    }
}

impl Share<'_> {
    pub(crate) fn remove(&mut self, call: Call<'_>, from: Place<'_>, removes: Removes, expect: Expect) -> Step<Draft> {
        self.writable()?;
        let mut directory = self.searchable(call, from.directory)?;
        let (found, _) = self.entry(&directory, from.name.as_bytes())?;
        policy::check_entries(&directory.before, call.caller)?;
        let found = found.ok_or(FsError::NotFound)?;
        expect.check(Some(found.file))?;
        let mut inode = self.inode_of(&found, directory.file)?;
        removes.check(inode.kind)?;
        let attributes = self.attributes(found.file, &inode)?;
        policy::check_removal(&directory.before, &attributes, call.caller)?;
        check_empty(&inode)?;
        self.name().frees_space();
        self.remove_entry(directory.file, &mut directory.inode, found.key)?;
        let file = self.unlink(call, &mut directory.inode, found.file, &mut inode)?;
        self.touch_content(directory.file, &mut directory.inode, call.now)?;
        self.put(directory.file, &directory.inode)?;
        Ok(Draft { directory: directory.file, before: Before::from(&directory.before), file })
    }

    /// Takes one name from a file, whose entry is gone or replaced. Returns its attributes after that.
    pub(crate) fn unlink(
        &mut self,
        call: Call<'_>,
        directory: &mut Inode,
        file: FileId,
        inode: &mut Inode,
    ) -> Step<Attributes> {
        self.touch(file, inode, call.now)?;
        if inode.kind == Kind::Directory {
            inode.links = 0;
            directory.links = directory.links.saturating_sub(1);
        } else {
            inode.links = inode.links.saturating_sub(1);
        }
        let after = self.attributes(file, inode)?;
        match inode.links {
            0 if self.memory().holds(file) > 0 => self.add_orphan(file, inode)?,
            0 => self.delete(file, inode)?,
            _ => self.put(file, inode)?,
        }
        Ok(after)
    }

    /// Frees an inode with everything that belongs to it.
    pub(crate) fn delete(&mut self, file: FileId, inode: &Inode) -> Step<()> {
        for region in regions(file, inode) {
            self.free_region(region)?;
        }
        self.free_inode(file)
    }
}

/// [`FsError::NotEmpty`] for a directory with entries.
pub(crate) fn check_empty(inode: &Inode) -> Step<()> {
    if inode.kind == Kind::Directory && inode.entries > 0 { Err(FsError::NotEmpty.into()) } else { Ok(()) }
}
