//! The whole state, and the steps that concern more than one part of it. One file for each group of operations.

mod administration;
mod channels;
mod create_session;
mod destroy;
mod exchange_id;
mod io;
mod locks;
mod offload;
mod open;
mod reclaim;
mod sequence;
mod stateids;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use nfs::v4::Status;

use crate::callbacks::Callbacks;
use crate::caller::ConnectionId;
use crate::clients::{Client, Clients};
use crate::files::{FileKey, FileLimits, Files, Obstacles, Revocation, Room, Share};
use crate::grace::Grace;
use crate::limits::{Config, ConfigError, check_lease};
use crate::mutations::{Mutation, leaves_out, take_ended};
use crate::records::{Record, RecordChange, RecordChanges};
use crate::sessions::{SessionLimits, Sessions};
use crate::table::Key;

pub use administration::{ClientStanding, ClientView, LockView, OpenView, Page, SessionView, Totals};
pub use io::{Io, IoAccess};
pub use offload::{Callback, CallbackAnswer};
pub use open::{OpenRequest, OpenReservation, Opened, delegation};
pub use sequence::{Admitted, Sequenced};

/// A confirmed client, as long as it lasts: then the operations return `DEADSESSION`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientRef(Key);

/// State of a server.
#[derive(Debug)]
pub struct State {
    config: Config,
    clients: Clients,
    sessions: Sessions,
    files: Files,
    callbacks: Callbacks,
    grace: Grace,
    records: RecordChanges,
}

impl State {
    /// State at the start of a run. `records` are those that earlier runs stored; if there is one, the run begins
    /// with a grace period of at least `previous_lease`, the lease of the run before.
    pub fn new(
        config: Config,
        records: Vec<Record>,
        previous_lease: Duration,
        now: Duration,
    ) -> Result<Self, ConfigError> {
        config.validate()?;
        let limits = &config.limits;
        let sessions = SessionLimits {
            sessions: limits.sessions,
            slots: limits.slots,
            slots_per_session: limits.slots_per_session,
            connections: limits.connections_per_session,
            replies_bytes: limits.cached_replies_bytes,
        };
        let files = FileLimits {
            client_share: limits.client_share,
            opens: limits.opens,
            lock_stateids: limits.lock_stateids,
            ranges: limits.ranges,
            ranges_per_file: limits.ranges_per_file,
            owner_bytes: limits.owner_bytes,
            copies: limits.copies,
            copies_per_client: limits.copies_per_client,
        };
        Ok(Self {
            clients: Clients::new(config.boot),
            sessions: Sessions::new(sessions),
            files: Files::new(config.boot, files),
            callbacks: Callbacks::default(),
            grace: Grace::new(records, config.lease.max(previous_lease), now),
            records: RecordChanges::default(),
            config,
        })
    }

    /// Lease of clients.
    pub const fn lease(&self) -> Duration {
        self.config.lease
    }

    /// Changes the lease. A grace period that has begun stays as it is.
    pub fn set_lease(&mut self, lease: Duration) -> Result<(), ConfigError> {
        check_lease(lease)?;
        self.config.lease = lease;
        Ok(())
    }

    /// Does what is due: ends the grace period, drops clients that have been silent for too long, and makes callbacks
    /// due again that were not answered.
    pub fn advance(&mut self, now: Duration) {
        for (session, slot, reply) in take_ended() {
            self.sessions.leave(session, slot, reply, now);
        }
        self.grace.end_if_due(now);
        while let Some((since, key)) = self.clients.oldest_unconfirmed()
            && since + self.config.lease < now
        {
            self.remove_client(key, now);
        }
        let silent = |client: &Client| client.is_confirmed() && client.renewed() + self.config.courtesy < now;
        let gone: Vec<Key> =
            self.clients.iter_from(0).filter(|(_, client)| silent(client)).map(|(key, _)| key).collect();
        for key in gone {
            self.remove_client(key, now);
        }
        self.advance_callbacks(now);
    }

    /// Change of the stored records, if there is one that the caller has not taken.
    pub fn take_record_change(&mut self) -> Option<RecordChange> {
        self.records.take()
    }

    /// File whose last open is gone, if there is one that the caller has not taken.
    pub fn take_released(&mut self) -> Option<FileKey> {
        self.files.take_released()
    }

    /// A connection is closed. Its sessions stay.
    pub fn connection_closed(&mut self, connection: ConnectionId, now: Duration) {
        self.sessions.connection_closed(connection);
        if !leaves_out(Mutation::CallbackRetry) {
            self.callbacks.lose(connection, now);
        }
    }

    fn client(&self, client: ClientRef) -> Result<&Client, Status> {
        self.clients.get(client.0).ok_or(Status::DEADSESSION)
    }

    /// Whether the lease of a client has expired: it keeps its state as long as no other client wants it. A client with
    /// a request in progress is not silent.
    fn is_courteous(&self, client: Key, now: Duration) -> bool {
        let Some(client) = self.clients.get(client).filter(|client| client.renewed() + self.config.lease < now) else {
            return false;
        };
        if leaves_out(Mutation::LeaseEnd) {
            return false;
        }
        client.sessions().iter().filter_map(|key| self.sessions.get(*key)).all(|session| session.busy() == 0)
    }

    /// Revokes all state of clients whose lease has expired. They keep their sessions, and learn it from SEQUENCE. As
    /// they may not reclaim what others get, their records go.
    fn revoke_expired(&mut self, clients: &BTreeSet<Key>) {
        for client in clients.iter().filter(|_| !leaves_out(Mutation::Revocation)) {
            self.files.revoke_client(*client, Revocation::Expired);
            self.remove_record(*client);
        }
    }

    /// Makes room for a share of a file: state of clients whose lease has expired gives way; `held` if other state is
    /// in the way.
    fn make_way(
        &mut self,
        file: &FileKey,
        own: Option<Key>,
        wanted: Share,
        held: Status,
        now: Duration,
    ) -> Result<(), Status> {
        match self.files.share_obstacles(file, own, wanted, |client| self.is_courteous(client, now)) {
            Obstacles::None => {}
            Obstacles::Courteous(clients) => self.revoke_expired(&clients),
            Obstacles::Held => return Err(held),
        }
        Ok(())
    }

    /// Makes room for what a client wants: while all is full, the courteous client that is silent for longest goes.
    /// `DELAY`: the client has its share, or no client is silent.
    fn make_room(&mut self, own: Key, room: impl Fn(&Files) -> Room, now: Duration) -> Result<(), Status> {
        loop {
            match room(&self.files) {
                Room::Enough => return Ok(()),
                Room::ShareUsed => return Err(Status::DELAY),
                Room::Full => {}
            }
            let others = self.clients.iter_from(0).filter(|(key, _)| *key != own && self.files.takes_room(*key));
            let silent = others.filter(|(key, _)| self.is_courteous(*key, now));
            let longest = silent.min_by_key(|(_, client)| client.renewed()).map(|(key, _)| key);
            self.remove_client(longest.ok_or(Status::DELAY)?, now);
        }
    }

    /// Writes the record of a client, unless it is written. A client that has not freed what was revoked gets none:
    /// it may not know of its loss, and would reclaim all (RFC 8881 §8.4.2.1).
    fn write_record(&mut self, key: Key) {
        let lost = self.files.held(key).has_lost();
        if let Some(client) = self.clients.get_mut(key)
            && client.needs_record()
            && (client.is_recorded() || !lost || leaves_out(Mutation::RecordOfLoss))
            && !leaves_out(Mutation::Record)
        {
            client.set_recorded(true);
            self.records.write(client.owner(), self.config.boot, client.denies());
        }
    }

    /// Removes the record of a client, of this run or of an earlier one.
    fn remove_record(&mut self, key: Key) {
        let Some(client) = self.clients.get_mut(key) else { return };
        let owner: Bytes = client.owner().clone();
        if (client.is_recorded() || self.grace.keeps_record(&owner)) && !leaves_out(Mutation::RecordRemoved) {
            client.set_recorded(false);
            self.records.remove(&owner);
        }
        self.grace.lost(&owner);
    }

    /// Removes a client with all that it has.
    fn remove_client(&mut self, key: Key, now: Duration) {
        let Some(client) = self.clients.get(key) else { return };
        let (confirmed, sessions) = (client.is_confirmed(), client.sessions().to_vec());
        if confirmed {
            self.remove_record(key);
        }
        for session in sessions {
            self.remove_session(session, now);
        }
        self.callbacks.forget_client(key);
        self.files.forget_client(key);
        self.clients.remove(key);
    }

    /// Removes a session.
    fn remove_session(&mut self, key: Key, now: Duration) {
        let Some(session) = self.sessions.get(key) else { return };
        if let Some(client) = self.clients.get_mut(session.client()) {
            client.remove_session(key);
        }
        self.callbacks.session_gone(key, now);
        self.sessions.remove(key);
    }
}
