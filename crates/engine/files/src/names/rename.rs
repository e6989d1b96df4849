//! Renaming, with the replacement of what has the new name.

use super::remove::check_empty;
use super::{Climb, Climbing, Directory, entry, key};
use crate::halt::Step;
use crate::layout::inode::Inode;
use crate::share::Share;
use crate::tree::{Found, Tree};
use vfs::{Attributes, Before, Call, Expect, FileId, FsError, Kind, Permission, Place, Renamed, policy};

/// A rename that was named.
#[derive(Clone)]
pub(crate) struct Draft {
    from: (FileId, Before),
    to: (FileId, Before),
    file: FileId,
    replaced: Option<Attributes>,
}

impl Draft {
    pub(crate) fn finish(self, share: &mut Share<'_>) -> Step<Renamed> {
        Ok(Renamed {
            from: share.changed(self.from.1, self.from.0)?,
            to: share.changed(self.to.1, self.to.0)?,
            file: share.both(self.file)?.1,
            replaced: self.replaced,
        })
    }
}

/// What the names lead to.
struct Files {
    found: Found,
    inode: Inode,
    replaced: Option<(Found, Inode)>,
}

impl Share<'_> {
    pub(crate) fn rename(
        &mut self,
        call: Call<'_>,
        (from, to): (Place<'_>, Place<'_>),
        expect: Expect,
        known: Option<Climb>,
    ) -> Step<Climbing<Draft>> {
        self.writable()?;
        self.directory(from.directory)?;
        self.directory(to.directory)?;
        let old = self.searchable(call, from.directory)?;
        let (found, _) = self.entry(&old, from.name.as_bytes())?;
        let new = self.searchable(call, to.directory)?;
        let (replaced, _) = self.entry(&new, to.name.as_bytes())?;
        policy::check_entries(&old.before, call.caller)?;
        policy::check_entries(&new.before, call.caller)?;
        let found = found.ok_or(FsError::NotFound)?;
        expect.check(replaced.map(|found| found.file))?;
        let mut draft = Draft {
            from: (old.file, Before::from(&old.before)),
            to: (new.file, Before::from(&new.before)),
            file: found.file,
            replaced: None,
        };
        let inode = self.inode_of(&found, old.file)?;
        if replaced.is_some_and(|replaced| replaced.file == found.file) {
            self.attributes(found.file, &inode)?;
            return Ok(Ok(draft));
        }
        let replaced = match replaced {
            Some(replaced) => Some((replaced, self.inode_of(&replaced, new.file)?)),
            None => None,
        };
        // In its own directory, a directory gets no other one above it.
        if inode.kind == Kind::Directory
            && old.file != new.file
            && let Some(climb) = self.climb(known, new.file, Some(found.file))?
        {
            return Ok(Err(climb));
        }
        let files = Files { found, inode, replaced };
        self.check_rename(call, &old, &new, &files)?;
        draft.replaced = self.exchange(call, (old, new), to, files)?;
        Ok(Ok(draft))
    }

    /// Checks kinds and permissions.
    fn check_rename(&mut self, call: Call<'_>, old: &Directory, new: &Directory, files: &Files) -> Step<()> {
        let moves_directory = files.inode.kind == Kind::Directory;
        let attributes = self.attributes(files.found.file, &files.inode)?;
        policy::check_removal(&old.before, &attributes, call.caller)?;
        if moves_directory && old.file != new.file {
            policy::check(&attributes, call.caller, Permission::Write)?;
        }
        let Some((replaced, inode)) = &files.replaced else { return Ok(()) };
        match (moves_directory, inode.kind) {
            (true, kind) => FsError::need_directory(kind)?,
            (false, Kind::Directory) => return Err(FsError::IsDirectory.into()),
            (false, _) => {}
        }
        let attributes = self.attributes(replaced.file, inode)?;
        policy::check_removal(&new.before, &attributes, call.caller)?;
        check_empty(inode)
    }

    /// Names the changes. Returns the file that lost its name.
    fn exchange(
        &mut self,
        call: Call<'_>,
        (old, new): (Directory, Directory),
        to: Place<'_>,
        files: Files,
    ) -> Step<Option<Attributes>> {
        let Files { found, mut inode, replaced } = files;
        let (same, mut of_old) = (old.file == new.file, old.inode);
        self.remove_entry(old.file, &mut of_old, found.key)?;
        let mut of_new = if same { of_old } else { new.inode };
        let mut lost = None;
        let key = match replaced {
            Some((replaced, mut of_replaced)) => {
                Tree::new(self, new.file, of_new.region).set(&replaced, found.file, inode.kind)?;
                lost = Some(self.unlink(call, &mut of_new, replaced.file, &mut of_replaced)?);
                replaced.key
            }
            None => {
                // The old entry is gone, so that its key may be free.
                let key = key(Tree::new(self, new.file, of_new.region).find(to.name.as_bytes())?.1)?;
                self.add_entry(new.file, &mut of_new, &entry(key, found.file, &inode, to.name))?;
                key
            }
        };
        (inode.parent, inode.parent_key) = (new.file, key);
        self.touch(found.file, &mut inode, call.now)?;
        self.put(found.file, &inode)?;
        if !same {
            if inode.kind == Kind::Directory {
                of_old.links = of_old.links.saturating_sub(1);
                of_new.links += 1;
                self.effects().move_directory();
            }
            self.touch_content(old.file, &mut of_old, call.now)?;
            self.put(old.file, &of_old)?;
        }
        self.touch_content(new.file, &mut of_new, call.now)?;
        self.put(new.file, &of_new)?;
        Ok(lost)
    }
}
