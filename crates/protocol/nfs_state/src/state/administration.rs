//! What an administrator sees and does: lists in pages, numbers, revocation.

use std::time::Duration;

use bytes::Bytes;
use nfs::v4::{SessionId, Stateid, Status};

use super::State;
use crate::clients::Client;
use crate::files::{FileKey, Holdings, ListedRange, RangePlace, Revocation};
use crate::table::Key;

/// Part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, P = u64> {
    /// Elements.
    pub elements: Vec<T>,
    /// Position at which the next part begins; `None` at the end.
    pub next: Option<P>,
}

impl<T> Page<T> {
    /// At most `most` elements, each with its position.
    fn of(mut elements: impl Iterator<Item = (u64, T)>, most: usize) -> Self {
        let taken: Vec<T> = elements.by_ref().take(most).map(|(_, element)| element).collect();
        Self { elements: taken, next: elements.next().map(|(position, _)| position) }
    }
}

/// Standing of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientStanding {
    /// No CREATE_SESSION so far.
    Unconfirmed,
    /// The lease is in force.
    Active,
    /// The lease has expired; the state is kept as long as no other client wants it.
    Courteous,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientView {
    /// Client id.
    pub id: u64,
    /// Name that the client chose.
    pub owner: Bytes,
    /// Name of its implementation; may be empty.
    pub implementation: String,
    /// Standing.
    pub standing: ClientStanding,
    /// Last renewal of the lease.
    pub renewed: Duration,
    /// Whether it has sent RECLAIM_COMPLETE.
    pub reclaim_complete: bool,
    /// Number of sessions.
    pub sessions: usize,
    /// What it has.
    pub holdings: Holdings,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    /// Session id.
    pub id: SessionId,
    /// Client id.
    pub client: u64,
    /// Number of slots.
    pub slots: u32,
    /// Requests in progress.
    pub busy: usize,
    /// Number of connections.
    pub connections: usize,
    /// Whether callbacks can be sent.
    pub back_channel: bool,
    /// Slots that the client offers for callbacks.
    pub back_slots: u32,
}

/// An open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenView {
    /// Stateid.
    pub stateid: Stateid,
    /// Client id.
    pub client: u64,
    /// File.
    pub file: FileKey,
    /// Owner.
    pub owner: Bytes,
    /// Bits of `share_access`.
    pub access: u32,
    /// Bits of `share_deny`.
    pub deny: u32,
}

/// A locked range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockView {
    /// Client id.
    pub client: u64,
    /// File.
    pub file: FileKey,
    /// Owner.
    pub owner: Bytes,
    /// First byte.
    pub offset_bytes: u64,
    /// Length; 2^64 - 1 stands for all up to the end.
    pub length_bytes: u64,
    /// Whether it excludes all other locks.
    pub exclusive: bool,
}

/// Numbers of all that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Clients, with those that are not confirmed.
    pub clients: u32,
    /// Sessions.
    pub sessions: u32,
    /// Slots.
    pub slots: u32,
    /// Bytes of kept replies.
    pub replies_bytes: u64,
    /// Opens, locks and copies.
    pub holdings: Holdings,
    /// Locked ranges.
    pub ranges: u32,
    /// Bytes of the names of owners of opens and locks.
    pub owner_bytes: u64,
    /// Callbacks that are due or not answered.
    pub callbacks: usize,
    /// Rest of the grace period at the longest so far; zero when it is over.
    pub grace: Duration,
    /// Clients for which the grace period lasts.
    pub reclaiming: usize,
}

impl State {
    /// Numbers.
    pub fn totals(&self, now: Duration) -> Totals {
        Totals {
            clients: self.clients.len(),
            sessions: self.sessions.len(),
            slots: self.sessions.slots(),
            replies_bytes: self.sessions.replies_bytes(),
            holdings: self.files.total(),
            ranges: self.files.ranges(),
            owner_bytes: self.files.owner_bytes(),
            callbacks: self.callbacks.len(),
            grace: self.grace.ends().map_or(Duration::ZERO, |ends| ends.saturating_sub(now)),
            reclaiming: self.grace.pending(),
        }
    }

    fn client_id(&self, key: Key) -> u64 {
        self.clients.get(key).map_or(0, Client::id)
    }

    /// Clients, from a position on: 0 or that of an earlier part.
    pub fn list_clients(&self, from: u64, most: usize, now: Duration) -> Page<ClientView> {
        let view = |(key, client): (Key, &Client)| {
            let standing = match client.is_confirmed() {
                false => ClientStanding::Unconfirmed,
                true if self.is_courteous(key, now) => ClientStanding::Courteous,
                true => ClientStanding::Active,
            };
            let view = ClientView {
                id: client.id(),
                owner: client.owner().clone(),
                implementation: client.identification().implementation.clone(),
                standing,
                renewed: client.renewed(),
                reclaim_complete: client.is_reclaim_complete(),
                sessions: client.sessions().len(),
                holdings: self.files.held(key),
            };
            (u64::from(key.index), view)
        };
        Page::of(self.clients.iter_from(index_of(from)).map(view), most)
    }

    /// Sessions.
    pub fn list_sessions(&self, from: u64, most: usize) -> Page<SessionView> {
        let sessions = self.sessions.iter_from(index_of(from)).map(|(key, session)| {
            let view = SessionView {
                id: *session.id(),
                client: self.client_id(session.client()),
                slots: session.slot_count(),
                busy: session.busy(),
                connections: session.connections().count(),
                back_channel: session.back_connection().is_some(),
                back_slots: session.back().max_requests,
            };
            (u64::from(key.index), view)
        });
        Page::of(sessions, most)
    }

    /// Opens.
    pub fn list_opens(&self, from: u64, most: usize) -> Page<OpenView> {
        let opens = self.files.opens_from(index_of(from)).map(|(key, client, file, owner, share)| {
            let (stateid, client) = (self.files.stateid(key), self.client_id(client));
            let view = OpenView { stateid, client, file, owner, access: share.access, deny: share.deny };
            (u64::from(key.index), view)
        });
        Page::of(opens, most)
    }

    /// Locked ranges of files in a share or in all, by file, from a position on: 0 or that of an earlier part. There
    /// may be fewer than `most` before the end: a part looks at 256 files at most, and its cost does not depend on the
    /// parts before.
    pub fn list_locks(&self, share: Option<u64>, from: u128, most: usize) -> Page<LockView, u128> {
        let (ranges, next) = self.files.ranges_from(share, range_place(from), most.max(1));
        let view = |ListedRange { client, file, owner, range }| LockView {
            client: self.client_id(client),
            file,
            owner,
            offset_bytes: range.extent.first,
            length_bytes: range.extent.length_bytes(),
            exclusive: range.exclusive,
        };
        Page { elements: ranges.into_iter().map(view).collect(), next: next.map(position) }
    }

    /// Revokes all state of a client, which learns it from SEQUENCE, and its right to reclaim. A client that is not
    /// confirmed is removed. `STALE_CLIENTID`: there is no such client.
    pub fn revoke_client(&mut self, id: u64, now: Duration) -> Result<(), Status> {
        let key = self.clients.find(id)?;
        if self.clients.get(key).is_some_and(|client| !client.is_confirmed()) {
            self.remove_client(key, now);
            return Ok(());
        }
        for id in self.callbacks.of_client(key) {
            self.give_up(id);
        }
        self.files.revoke_client(key, Revocation::Administrative);
        self.remove_record(key);
        self.grace.end_if_due(now);
        Ok(())
    }

    /// Revokes all opens and locks in a share that is rolled back or deleted; returns the number of clients that had
    /// any. They keep their right to reclaim in other shares.
    pub fn revoke_share(&mut self, share: u64) -> usize {
        self.files.revoke_share(share).len()
    }
}

/// Place of a range as a position.
fn position(RangePlace { file, first, owner }: RangePlace) -> u128 {
    u128::from(file) << 96 | u128::from(first) << 32 | u128::from(owner)
}

fn range_place(position: u128) -> RangePlace {
    RangePlace { file: (position >> 96) as u32, first: (position >> 32) as u64, owner: position as u32 }
}

fn index_of(position: u64) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
