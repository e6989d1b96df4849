//! Opens: share reservations, upgrade, downgrade, close (RFC 8881 §9.7, §9.9 to §9.11).

use std::collections::BTreeSet;

use bytes::Bytes;
use nfs::v4::{Stateid, Status};

use super::owners::Owns;
use super::shares::{Opened, Share, ShareCounts};
use super::{Entry, File, FileKey, Files, Kind, Obstacles, Open, Ranges};
use crate::mutations::{Mutation, leaves_out};
use crate::table::Key;

/// How an OPEN is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenUndo {
    key: Key,
    /// Version that the OPEN returned.
    seqid: u32,
    /// The open and its version before; `None` if the open is new.
    before: Option<(Open, u32)>,
}

impl Files {
    /// What stands in the way of a share of a file, apart from what the open `own` has itself.
    pub(crate) fn share_obstacles(
        &self,
        file: &FileKey,
        own: Option<Key>,
        wanted: Share,
        is_courteous: impl Fn(Key) -> bool,
    ) -> Obstacles {
        if leaves_out(Mutation::Deny) {
            return Obstacles::None;
        }
        let Some(found) = self.file(file).filter(|found| found.shares.union().conflicts_with(wanted)) else {
            return Obstacles::None;
        };
        let mut courteous = BTreeSet::new();
        for key in found.opens.iter().filter(|key| Some(**key) != own) {
            let Some(Entry { client, kind: Kind::Open(open), .. }) = self.entries.get(*key) else { continue };
            if !open.opened.share().conflicts_with(wanted) {
                continue;
            }
            if !is_courteous(*client) {
                return Obstacles::Held;
            }
            courteous.insert(*client);
        }
        if courteous.is_empty() { Obstacles::None } else { Obstacles::Courteous(courteous) }
    }

    /// Open that an owner has of a file.
    fn open_of_owner(&self, client: Key, file: &FileKey, owner: &Bytes) -> Option<Key> {
        let owner = self.owners.find(client, Owns::Opens, owner)?;
        self.open_of.get(&(*self.by_file.get(file)?, owner)).copied()
    }

    /// Open that an owner has of a file already, and what an OPEN adds to it.
    /// `SHARE_DENIED`: the owner's own share denies what is added (RFC 8881 §9.7).
    pub(crate) fn added_share(
        &self,
        client: Key,
        file: &FileKey,
        owner: &Bytes,
        wanted: Share,
    ) -> Result<(Option<Key>, Share), Status> {
        let own = self.open_of_owner(client, file, owner);
        let Some(share) = own.and_then(|key| self.open(key)).map(|open| open.opened.share()) else {
            return Ok((None, wanted));
        };
        let added = wanted.without(share);
        if added.conflicts_with(share) { Err(Status::SHARE_DENIED) } else { Ok((own, added)) }
    }

    /// Opens a file, or adds to what the owner has. Nothing may stand in the way. `DELAY`: too many opens.
    /// The boolean says whether the file had no open.
    pub(crate) fn add_open(
        &mut self,
        client: Key,
        file: &FileKey,
        owner: &Bytes,
        user: u32,
        wanted: Share,
    ) -> Result<(Stateid, bool, OpenUndo), Status> {
        if let Some(key) = self.open_of_owner(client, file, owner)
            && let Some(open) = self.open(key)
        {
            let seqid = self.stateid(key).seqid;
            self.set_opened(key, open.opened.with(wanted), open.opener.filter(|opener| *opener == user));
            let stateid = self.raise(key);
            return Ok((stateid, false, OpenUndo { key, seqid: stateid.seqid, before: Some((open, seqid)) }));
        }
        self.room_for_open(client, owner).check()?;
        let owner = self.owners.refer(client, Owns::Opens, owner);
        let (file, first) = self.file_for_open(file);
        let opened = Opened::new(wanted);
        let key = self.insert(client, Kind::Open(Open { file, owner, opened, opener: Some(user) }));
        self.open_of.insert((file, owner), key);
        if let Some(file) = self.files.get_mut(file) {
            file.opens.insert(key);
            file.shares.add(wanted);
        }
        let stateid = self.stateid(key);
        Ok((stateid, first, OpenUndo { key, seqid: stateid.seqid, before: None }))
    }

    /// Entry of a file, and whether the caller has to hold it. A release that was not taken is taken back instead.
    fn file_for_open(&mut self, file: &FileKey) -> (Key, bool) {
        if let Some(key) = self.by_file.get(file) {
            return (*key, false);
        }
        let new =
            File { key: *file, opens: BTreeSet::new(), shares: ShareCounts::default(), ranges: Ranges::default() };
        let key = self.files.insert(|_| new);
        self.by_file.insert(*file, key);
        (key, !self.released.remove(file))
    }

    fn set_opened(&mut self, key: Key, opened: Opened, opener: Option<u32>) {
        let Some(Entry { kind: Kind::Open(open), .. }) = self.entries.get_mut(key) else { return };
        open.opener = opener;
        let before = std::mem::replace(&mut open.opened, opened);
        if let Some(file) = self.files.get_mut(open.file) {
            file.shares.remove(before.share());
            file.shares.add(opened.share());
        }
    }

    /// Takes an OPEN back, unless the owner has opened the file again meanwhile.
    pub(crate) fn undo_open(&mut self, undo: &OpenUndo) {
        if self.open(undo.key).is_none() || self.stateid(undo.key).seqid != undo.seqid {
            return;
        }
        let Some((open, seqid)) = undo.before else { return self.close(undo.key) };
        self.set_opened(undo.key, open.opened, open.opener);
        if let Some(entry) = self.entries.get_mut(undo.key) {
            entry.seqid = seqid;
        }
    }

    /// Leaves an open a part of its share. `INVAL`: not the union of some of its OPENs.
    pub(crate) fn downgrade(&mut self, key: Key, left: Share) -> Result<Stateid, Status> {
        let open = self.open(key).ok_or(Status::BAD_STATEID)?;
        let opened = open.opened.downgraded(left).ok_or(Status::INVAL)?;
        self.set_opened(key, opened, open.opener);
        Ok(self.raise(key))
    }

    /// Closes an open, with its locks.
    pub(crate) fn close(&mut self, key: Key) {
        for lock in self.locks_of_open(key) {
            self.remove(lock);
        }
        self.remove(key);
    }
}
