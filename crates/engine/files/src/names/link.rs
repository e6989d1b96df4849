//! One more name for a file.

use super::{entry, key};
use crate::content::LIMITS;
use crate::halt::Step;
use crate::share::Share;
use vfs::{Before, Call, FileId, FsError, Kind, Linked, Place, policy};

/// A link that was named.
#[derive(Clone)]
pub(crate) struct Draft {
    directory: (FileId, Before),
    file: (FileId, Before),
}

impl Draft {
    pub(crate) fn finish(self, share: &mut Share<'_>) -> Step<Linked> {
        let directory = share.changed(self.directory.1, self.directory.0)?;
        Ok(Linked { directory, file: share.changed(self.file.1, self.file.0)? })
    }
}

impl Share<'_> {
    pub(crate) fn link(&mut self, call: Call<'_>, file: FileId, to: Place<'_>) -> Step<Draft> {
        self.writable()?;
        self.directory(to.directory)?;
        let (mut inode, before) = self.both(file)?;
        if inode.kind == Kind::Directory {
            return Err(FsError::IsDirectory.into());
        }
        let mut directory = self.searchable(call, to.directory)?;
        let (existing, free) = self.entry(&directory, to.name.as_bytes())?;
        policy::check_entries(&directory.before, call.caller)?;
        if inode.links == 0 {
            return Err(FsError::NotFound.into());
        }
        if let Some(existing) = existing {
            return Err(FsError::Exists { file: existing.file, kind: existing.kind }.into());
        }
        if inode.links >= LIMITS.links {
            return Err(FsError::TooManyLinks { limit: LIMITS.links }.into());
        }
        let key = key(free)?;
        self.add_entry(directory.file, &mut directory.inode, &entry(key, file, &inode, to.name))?;
        inode.links += 1;
        (inode.parent, inode.parent_key) = (directory.file, key);
        self.touch(file, &mut inode, call.now)?;
        self.put(file, &inode)?;
        self.touch_content(directory.file, &mut directory.inode, call.now)?;
        self.put(directory.file, &directory.inode)?;
        Ok(Draft { directory: (directory.file, Before::from(&directory.before)), file: (file, Before::from(&before)) })
    }
}
