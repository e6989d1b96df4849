//! Files that are created without a name: intermediate content of a call, deleted at its end.

use crate::halt::Step;
use crate::layout::address::ORPHANS;
use crate::layout::inode::{Inode, Times};
use crate::share::{Share, blank};
use vfs::{FileId, FsError, Kind, Timestamp};

/// Every caller may read it, since no filehandle leads to it.
const MODE: u16 = 0o444;

impl Share<'_> {
    /// Creates an empty regular file of user 0 without a name, and holds it.
    pub(crate) fn create_unnamed(&mut self, now: Timestamp) -> Step<FileId> {
        self.writable()?;
        let file = self.next_file()?;
        let times = Times { accessed: now, modified: now, changed: now, born: now };
        let mut inode = Inode { mode: MODE, links: 0, times, ..blank(Kind::File, ORPHANS) };
        inode.change = self.next_change()?;
        self.effects().changed_at(now);
        self.add_orphan(file, &mut inode)?;
        self.effects().hold(file, true);
        Ok(file)
    }

    /// [`FsError::Replaced`]: a roll-back has ended all holds, that of this file too.
    pub(crate) fn need_held(&self, file: FileId) -> Step<()> {
        if self.memory().holds(file) == 0 { Err(FsError::Replaced.into()) } else { Ok(()) }
    }
}
