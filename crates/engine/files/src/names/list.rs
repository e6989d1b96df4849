//! Listing of a directory.

use crate::halt::{Halt, Step, damaged};
use crate::share::Share;
use crate::tree::{Found, Tree};
use bytes::Bytes;
use vfs::{Attributes, Call, Cookie, Encoding, Entry, FileId, FsError, Listing, Name, Permission, policy};

impl Share<'_> {
    pub(crate) fn list(
        &mut self,
        call: Call<'_>,
        directory: FileId,
        after: Cookie,
        most: usize,
        attributes: bool,
    ) -> Step<Listing> {
        let inode = self.directory(directory)?;
        let mut of_directory = self.attributes(directory, &inode)?;
        policy::check(&of_directory, call.caller, Permission::Read)?;
        self.access(&mut of_directory, call.now);
        let mut found: Vec<(Found, Bytes)> = Vec::new();
        let Some(first) = after.0.checked_add(1) else {
            return Ok(Listing { entries: Vec::new(), end: true, directory: of_directory });
        };
        let end = Tree::new(self, directory, inode.region).scan(first, |entry| {
            if found.len() >= most.max(1) {
                return false;
            }
            let (key, file, kind) = (entry.key, entry.file, entry.kind);
            found.push((Found { key, file, kind }, Bytes::copy_from_slice(entry.name)));
            true
        })?;
        let mut entries = Vec::new();
        for (found, name) in found {
            entries.push(Entry {
                cookie: Cookie(found.key),
                name: Name::new(name, Encoding::Any).map_err(|_| damaged(directory))?,
                file: found.file,
                kind: found.kind,
                attributes: if attributes { Some(self.attributes_of(&found, directory)?) } else { None },
            });
        }
        Ok(Listing { entries, end, directory: of_directory })
    }

    /// Attributes of an entry's file, or the reason why there are none.
    fn attributes_of(&mut self, found: &Found, directory: FileId) -> Step<Result<Attributes, FsError>> {
        let inode = self.inode_of(found, directory);
        match inode.and_then(|inode| self.attributes(found.file, &inode)) {
            Ok(attributes) => Ok(Ok(attributes)),
            Err(Halt::Refused(error)) => Ok(Err(error)),
            Err(halt) => Err(halt),
        }
    }
}
