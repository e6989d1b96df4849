//! LOCK, LOCKT and LOCKU (RFC 8881 §18.10 to §18.12). A lock is granted or denied at once.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use nfs::v4::locks::{LockArguments, LockDenied, LockFailure, LockTestArguments, LockType, Locker, UnlockArguments};
use nfs::v4::open::share_access;
use nfs::v4::{StateOwner, Stateid, Status};
use xdr::Opaque;

use super::{ClientRef, State};
use crate::files::{Extent, FileKey, Files, LockObstacles, LockRequest, Range};
use crate::table::Key;

const fn is_exclusive(kind: LockType) -> bool {
    matches!(kind, LockType::Write | LockType::WriteWaiting)
}

impl State {
    /// LOCK. Errors: `DENIED` with the lock in the way; `INVAL`: a range without meaning; those of stateids;
    /// `OPENMODE`; `GRACE`, `NO_GRACE`, `RECLAIM_BAD`, `RECLAIM_CONFLICT`; `DELAY`.
    pub fn lock(
        &mut self,
        client: ClientRef,
        file: &FileKey,
        arguments: &LockArguments,
        now: Duration,
    ) -> Result<Stateid, LockFailure> {
        self.client(client).map_err(LockFailure::Other)?;
        let extent = Extent::new(arguments.offset_bytes, arguments.length_bytes).map_err(LockFailure::Other)?;
        let (open, owner) = self.locker(client, file, &arguments.locker).map_err(LockFailure::Other)?;
        let exclusive = is_exclusive(arguments.kind);
        let wanted = LockRequest { client: client.0, owner: &owner, extent, exclusive };
        self.check_lock(client, file, open, wanted, arguments.reclaim, now).map_err(LockFailure::Other)?;
        let in_the_way = match self.files.lock_obstacles(file, wanted, |client| self.is_courteous(client, now)) {
            LockObstacles::None => BTreeSet::new(),
            LockObstacles::Courteous(clients) => clients,
            LockObstacles::Held(..) if arguments.reclaim => return Err(LockFailure::Other(Status::RECLAIM_CONFLICT)),
            LockObstacles::Held(client, owner, range) => return Err(self.denied(client, owner, range)),
        };
        let room = |files: &Files| files.room_for_lock(open, wanted);
        self.make_room(client.0, room, now).map_err(LockFailure::Other)?;
        self.revoke_expired(&in_the_way);
        let stateid = self.files.add_lock(open, wanted).map_err(LockFailure::Other)?;
        self.granted(client, arguments.reclaim, false, now);
        Ok(stateid)
    }

    /// Open and owner of a lock that is wanted.
    fn locker(&self, client: ClientRef, file: &FileKey, locker: &Locker) -> Result<(Key, Bytes), Status> {
        match locker {
            Locker::New(new) => {
                let open = self.files.find_open(client.0, file, &new.open_stateid)?;
                Ok((open, new.owner.owner.as_bytes().clone()))
            }
            Locker::Existing(existing) => {
                let key = self.files.find_lock(client.0, file, &existing.stateid)?;
                self.files.lock_owner(key).ok_or(Status::BAD_STATEID)
            }
        }
    }

    /// Checks all but other locks.
    fn check_lock(
        &mut self,
        client: ClientRef,
        file: &FileKey,
        open: Key,
        wanted: LockRequest,
        reclaim: bool,
        now: Duration,
    ) -> Result<(), Status> {
        self.check_grace(client, reclaim, now)?;
        let (_, access) = self.files.find_access(client.0, file, &self.files.stateid(open))?;
        let needed = if wanted.exclusive { share_access::WRITE } else { share_access::READ };
        if access & needed == 0 {
            return Err(Status::OPENMODE);
        }
        Ok(())
    }

    fn denied(&self, client: Key, owner: Bytes, range: Range) -> LockFailure {
        let client = self.clients.get(client).map_or(0, |client| client.id());
        LockFailure::Denied(LockDenied {
            offset_bytes: range.extent.first,
            length_bytes: range.extent.length_bytes(),
            kind: if range.exclusive { LockType::Write } else { LockType::Read },
            owner: StateOwner { client, owner: Opaque::from(owner) },
        })
    }

    /// LOCKT. Errors: `DENIED` with the lock in the way; `INVAL`; `GRACE`.
    pub fn lock_test(
        &mut self,
        client: ClientRef,
        file: &FileKey,
        arguments: &LockTestArguments,
        now: Duration,
    ) -> Result<(), LockFailure> {
        self.client(client).map_err(LockFailure::Other)?;
        let extent = Extent::new(arguments.offset_bytes, arguments.length_bytes).map_err(LockFailure::Other)?;
        self.grace.end_if_due(now);
        if self.grace.is_active() {
            return Err(LockFailure::Other(Status::GRACE));
        }
        let owner = arguments.owner.owner.as_bytes();
        let wanted = LockRequest { client: client.0, owner, extent, exclusive: is_exclusive(arguments.kind) };
        match self.files.lock_obstacles(file, wanted, |client| self.is_courteous(client, now)) {
            LockObstacles::None | LockObstacles::Courteous(_) => Ok(()),
            LockObstacles::Held(client, owner, range) => Err(self.denied(client, owner, range)),
        }
    }

    /// LOCKU. Errors: those of stateids; `INVAL`; `DELAY`: a lock would become two, and there are too many.
    pub fn unlock(
        &mut self,
        client: ClientRef,
        file: &FileKey,
        arguments: &UnlockArguments,
    ) -> Result<Stateid, Status> {
        self.client(client)?;
        let extent = Extent::new(arguments.offset_bytes, arguments.length_bytes)?;
        let key = self.files.find_lock(client.0, file, &arguments.stateid)?;
        self.files.unlock(key, extent)
    }
}
