//! Share reservations against operations that are no OPEN (RFC 8881 §9.1.2, §18.25.4).

use std::time::Duration;

use nfs::v4::open::share_access;
use nfs::v4::{Stateid, Status};

use super::{ClientRef, State};
use crate::files::{FileKey, Obstacles, Share};

/// What an operation does with the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoAccess {
    /// Reads.
    Read,
    /// Writes, or changes the size or the allocation.
    Write,
}

impl IoAccess {
    const fn share(self) -> Share {
        let access = match self {
            Self::Read => share_access::READ,
            Self::Write => share_access::WRITE,
        };
        Share { access, deny: 0 }
    }
}

/// Right by which I/O is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// None: the permissions of the file decide.
    Special,
    /// An open for this access by the same user.
    Open,
    /// An open for this access that another user takes part in: the permissions of the file decide.
    OpenOfOther,
    /// An open for writing by which is read: the permissions of the file decide (RFC 8881 §18.22.3).
    OpenForWriting,
}

impl State {
    /// Checks I/O of a user, as the server maps users, with a stateid. Errors: those of stateids; `OPENMODE`: not
    /// open for writing; `LOCKED`: another open denies it; `GRACE`: one that can be reclaimed may deny it.
    pub fn check_io(
        &mut self,
        client: ClientRef,
        user: u32,
        file: &FileKey,
        stateid: &Stateid,
        access: IoAccess,
        now: Duration,
    ) -> Result<Io, Status> {
        match (*stateid, access) {
            (Stateid::READ_BYPASS, IoAccess::Read) => return Ok(Io::Special),
            (Stateid::ANONYMOUS | Stateid::READ_BYPASS, _) => {
                return self.check_anonymous_io(file, access, now).map(|()| Io::Special);
            }
            _ => {}
        }
        let (open, granted) = self.files.find_access(client.0, file, stateid)?;
        if granted & access.share().access != 0 {
            return Ok(if self.files.is_opener(open, user) { Io::Open } else { Io::OpenOfOther });
        }
        if access == IoAccess::Write {
            return Err(Status::OPENMODE);
        }
        self.check_grace_io(now)?;
        self.make_way(file, Some(open), access.share(), Status::LOCKED, now)?;
        Ok(Io::OpenForWriting)
    }

    /// Checks I/O without an open: of NFSv3, or with a special stateid. `LOCKED`: an open denies it. `GRACE`: one
    /// that can be reclaimed may deny it.
    pub fn check_anonymous_io(&mut self, file: &FileKey, access: IoAccess, now: Duration) -> Result<(), Status> {
        self.check_grace_io(now)?;
        self.make_way(file, None, access.share(), Status::LOCKED, now)
    }

    /// Checks I/O of an asynchronous copy. CLOSE ends the share reservation of an open, not the copies that it began:
    /// their I/O is I/O without an open. `LOCKED`: an open of another client denies it. `BAD_STATEID`: no copy.
    pub fn check_copy_io(
        &mut self,
        copy: &Stateid,
        file: &FileKey,
        access: IoAccess,
        now: Duration,
    ) -> Result<(), Status> {
        let own = self.files.copy_client(copy).ok_or(Status::BAD_STATEID)?;
        let gives_way = |client| client == own || self.is_courteous(client, now);
        match self.files.share_obstacles(file, None, access.share(), gives_way) {
            Obstacles::None => {}
            Obstacles::Courteous(mut clients) => {
                clients.remove(&own);
                self.revoke_expired(&clients);
            }
            Obstacles::Held => return Err(Status::LOCKED),
        }
        Ok(())
    }

    /// Checks that a name of a regular file may be removed or replaced. `FILE_OPEN`: an open denies writing. `GRACE`:
    /// an open may be reclaimed.
    pub fn check_remove(&mut self, file: &FileKey, now: Duration) -> Result<(), Status> {
        self.grace.end_if_due(now);
        if self.grace.is_active() {
            return Err(Status::GRACE);
        }
        self.make_way(file, None, IoAccess::Write.share(), Status::FILE_OPEN, now)
    }
}
