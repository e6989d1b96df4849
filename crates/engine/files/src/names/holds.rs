//! Holds, and the files that have a hold but no name: entries of a directory of their own, under their numbers.

use super::key;
use crate::halt::{Halt, Step};
use crate::layout::address::ORPHANS;
use crate::layout::inode::Inode;
use crate::layout::leaf::Entry;
use crate::share::Share;
use crate::tree::Tree;
use vfs::{Attributes, FileId, FsError};

/// Files that one transaction deletes.
const DELETED_TOGETHER: usize = 8;

/// Name of a file without a name.
fn name_of(file: FileId) -> String {
    file.0.to_string()
}

impl Share<'_> {
    pub(crate) fn hold(&mut self, file: FileId) -> Step<Attributes> {
        let (inode, attributes) = self.both(file)?;
        FsError::need_file(inode.kind)?;
        self.effects().hold(file, true);
        Ok(attributes)
    }

    pub(crate) fn release(&mut self, file: FileId) -> Step<()> {
        let holds = self.memory().holds(file);
        if holds == 0 {
            return Err(FsError::Stale.into());
        }
        self.effects().hold(file, false);
        if holds > 1 {
            return Ok(());
        }
        let inode = self.inode(file)?;
        if inode.links == 0 {
            self.delete_orphan(file, inode.parent_key)?;
            self.delete(file, &inode)?;
        }
        Ok(())
    }

    /// Gives a file that has lost its last name a place among those without.
    pub(super) fn add_orphan(&mut self, file: FileId, inode: &mut Inode) -> Step<()> {
        let mut orphans = self.any_inode(ORPHANS)?;
        let name = name_of(file);
        let key = key(Tree::new(self, ORPHANS, orphans.region).find(name.as_bytes())?.1)?;
        let entry = Entry { key, file, kind: inode.kind, name: name.as_bytes() };
        self.add_entry(ORPHANS, &mut orphans, &entry)?;
        self.put(ORPHANS, &orphans)?;
        (inode.parent, inode.parent_key) = (ORPHANS, key);
        self.put(file, inode)
    }

    fn delete_orphan(&mut self, file: FileId, key: u64) -> Step<()> {
        let mut orphans = self.any_inode(ORPHANS)?;
        let (found, _) = Tree::new(self, ORPHANS, orphans.region).find(name_of(file).as_bytes())?;
        if found.is_some_and(|found| found.key == key) {
            self.remove_entry(ORPHANS, &mut orphans, key)?;
            self.put(ORPHANS, &orphans)?;
        }
        Ok(())
    }
}

/// Deletes some files without name and hold, behind a key. Returns their number, and the key to continue behind
/// unless none is left.
pub(crate) fn drop_some(share: &mut Share<'_>, after: u64) -> Step<(u64, Option<u64>)> {
    share.writable()?;
    let orphans = share.any_inode(ORPHANS)?;
    let (mut unheld, mut last, memory) = (Vec::new(), after, share.memory());
    let end = Tree::new(share, ORPHANS, orphans.region).scan(after + 1, |entry| {
        if unheld.len() >= DELETED_TOGETHER {
            return false;
        }
        last = entry.key;
        if memory.holds(entry.file) == 0 {
            unheld.push((entry.file, entry.key));
        }
        true
    })?;
    for (file, key) in &unheld {
        share.delete_orphan(*file, *key)?;
        match share.any_inode(*file) {
            Ok(inode) => share.delete(*file, &inode)?,
            Err(Halt::Refused(FsError::Stale)) => {}
            Err(halt) => return Err(halt),
        }
    }
    Ok((unheld.len() as u64, (!end).then_some(last)))
}
