//! Look-up of a name, and of the parent of a directory.

use crate::halt::Step;
use crate::share::Share;
use vfs::{Attributes, Call, FileId, Found, FsError, Name};

impl Share<'_> {
    pub(crate) fn lookup(&mut self, call: Call<'_>, directory: FileId, name: &Name) -> Step<Found> {
        let directory = self.searchable(call, directory)?;
        let found = self.entry(&directory, name.as_bytes())?.0.ok_or(FsError::NotFound)?;
        let inode = self.inode_of(&found, directory.file)?;
        Ok(Found { file: self.attributes(found.file, &inode)?, directory: directory.before })
    }

    pub(crate) fn parent(&mut self, call: Call<'_>, directory: FileId) -> Step<Attributes> {
        let parent = self.searchable(call, directory)?.inode.parent;
        Ok(self.both(parent)?.1)
    }
}
