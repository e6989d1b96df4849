//! Sessions (RFC 8881 §2.10): slots with their replies, connections, slots of the back channel.

mod replies;
mod session;
mod slot;

use std::collections::BTreeSet;
use std::time::Duration;

use nfs::v4::session::{ChannelAttributes, SequenceArguments};
use nfs::v4::{SessionId, Status};

use crate::caller::{ConnectionId, Request};
use crate::ids;
use crate::table::{Key, Table};

use replies::Replies;
pub(crate) use replies::Shortage;
pub(crate) use session::{CallbackParameters, Direction, Session};
pub(crate) use slot::Standing;

/// Slots that a session gets even if most are granted.
const MIN_SLOTS: u32 = 4;

/// Pause between two looks for old replies in all sessions.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// What a new session is made of.
#[derive(Debug)]
pub(crate) struct NewSession {
    pub client: Key,
    pub client_id: u64,
    /// Part of the session id that cannot be guessed.
    pub check: u32,
    pub fore: ChannelAttributes,
    pub back: ChannelAttributes,
    pub callbacks: CallbackParameters,
}

/// Limits of the part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionLimits {
    pub sessions: u32,
    pub slots: u32,
    pub slots_per_session: u32,
    pub connections: u32,
    pub replies_bytes: u64,
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    limits: SessionLimits,
    table: Table<Session>,
    by_connection: BTreeSet<(ConnectionId, Key)>,
    /// Slots of all sessions.
    slots: u32,
    replies: Replies,
    /// When old replies of all sessions were looked for last, for lack of memory.
    swept: Option<Duration>,
}

impl Sessions {
    pub(crate) const fn new(limits: SessionLimits) -> Self {
        Self {
            limits,
            table: Table::new(),
            by_connection: BTreeSet::new(),
            slots: 0,
            replies: Replies::new(limits.replies_bytes),
            swept: None,
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.table.len()
    }
    /// Slots of all sessions.
    pub(crate) const fn slots(&self) -> u32 {
        self.slots
    }
    /// Bytes of kept replies, with those reserved for requests in progress.
    pub(crate) const fn replies_bytes(&self) -> u64 {
        self.replies.used_bytes()
    }
    pub(crate) fn get(&self, key: Key) -> Option<&Session> {
        self.table.get(key)
    }
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Session> {
        self.table.get_mut(key)
    }
    /// Sessions from an index on.
    pub(crate) fn iter_from(&self, index: u32) -> impl Iterator<Item = (Key, &Session)> {
        self.table.iter_from(index)
    }

    /// Session of an id, or `BADSESSION`.
    pub(crate) fn find(&self, id: &SessionId) -> Result<Key, Status> {
        let key = self.table.at(ids::session_index(id)).ok_or(Status::BADSESSION)?;
        self.table.get(key).filter(|session| session.id() == id).map(|_| key).ok_or(Status::BADSESSION)
    }

    /// Number of slots for a session that asks for `asked`; `DELAY` if there are too few.
    pub(crate) fn grant_slots(&self, asked: u32) -> Result<u32, Status> {
        let left = self.limits.slots.saturating_sub(self.slots);
        let most = if left >= self.limits.slots / 2 {
            self.limits.slots_per_session
        } else if left >= self.limits.slots / 4 {
            self.limits.slots_per_session / 4
        } else {
            MIN_SLOTS
        };
        let granted = asked.min(most.max(MIN_SLOTS)).min(self.limits.slots_per_session);
        if granted > left || self.table.len() >= self.limits.sessions { Err(Status::DELAY) } else { Ok(granted) }
    }

    /// Adds a session with as many slots as its fore channel has requests.
    pub(crate) fn insert(&mut self, new: NewSession) -> Key {
        self.slots += new.fore.max_requests;
        self.table.insert(|key| Session::new(ids::session_id(new.client_id, key.index, new.check), new))
    }

    /// Removes a session with its replies and associations.
    pub(crate) fn remove(&mut self, key: Key) {
        let Some(session) = self.table.remove(key) else { return };
        self.slots -= session.slot_count();
        self.replies.free(session.client(), session.replies_bytes());
        for connection in session.connections() {
            self.by_connection.remove(&(connection, key));
        }
    }

    /// Associates a connection with a session, or changes the direction of its association.
    pub(crate) fn associate(&mut self, key: Key, connection: ConnectionId, direction: Direction) {
        let Some(session) = self.table.get_mut(key) else { return };
        if let Some(dropped) = session.associate(connection, direction, self.limits.connections as usize) {
            self.by_connection.remove(&(dropped, key));
        }
        self.by_connection.insert((connection, key));
    }

    /// Takes a connection out of the back channel of a session.
    pub(crate) fn end_back_channel(&mut self, key: Key, connection: ConnectionId) {
        let Some(session) = self.table.get_mut(key) else { return };
        match session.direction(connection) {
            Some(Direction::Both) => self.associate(key, connection, Direction::Fore),
            Some(Direction::Back) => {
                session.dissociate(connection);
                self.by_connection.remove(&(connection, key));
            }
            Some(Direction::Fore) | None => {}
        }
    }

    fn keys_of(&self, connection: ConnectionId) -> impl Iterator<Item = Key> {
        self.by_connection.range((connection, Key::MIN)..=(connection, Key::MAX)).map(|(_, key)| *key)
    }

    /// Sessions that a connection is associated with.
    pub(crate) fn of_connection(&self, connection: ConnectionId) -> impl Iterator<Item = &Session> {
        self.keys_of(connection).filter_map(|key| self.table.get(key))
    }

    /// Ends all associations of a connection; returns the sessions that had one.
    pub(crate) fn connection_closed(&mut self, connection: ConnectionId) -> Vec<Key> {
        let found: Vec<Key> = self.keys_of(connection).collect();
        for key in &found {
            self.by_connection.remove(&(connection, *key));
            if let Some(session) = self.table.get_mut(*key) {
                session.dissociate(connection);
            }
        }
        found
    }

    /// Takes a slot for a new request, which keeps its reply if `caches`, or finds the reply of a retry.
    pub(crate) fn enter(
        &mut self,
        key: Key,
        request: &Request,
        arguments: &SequenceArguments,
        caches: bool,
    ) -> Result<Standing, Status> {
        let session = self.table.get_mut(key).ok_or(Status::BADSESSION)?;
        let (client, reserve) = (session.client(), if caches { session.cached_reply_bytes() } else { 0 });
        let standing = session.standing(request, arguments)?;
        if matches!(standing, Standing::New) {
            let freed = session.kept_bytes(arguments.slot);
            self.replies.exchange(client, freed, u64::from(reserve))?;
            session.enter(request, arguments, reserve);
        }
        Ok(standing)
    }

    /// Why the reply of a new request cannot be kept.
    pub(crate) fn shortage(
        &self,
        key: Key,
        request: &Request,
        arguments: &SequenceArguments,
        caches: bool,
    ) -> Option<Shortage> {
        let session = self.table.get(key).filter(|_| caches)?;
        let is_new = session.standing(request, arguments) == Ok(Standing::New);
        let (freed, taken) = (session.kept_bytes(arguments.slot), session.cached_reply_bytes());
        self.replies.shortage(session.client(), freed, taken.into()).filter(|_| is_new)
    }

    /// Frees the replies of idle slots of some clients that ended before an instant.
    pub(crate) fn free_old_replies(&mut self, before: Duration, is_chosen: impl Fn(Key) -> bool) {
        let chosen = self.table.iter_from(0).filter(|(_, session)| is_chosen(session.client()));
        let keys: Vec<Key> = chosen.map(|(key, _)| key).collect();
        for key in keys {
            if let Some(session) = self.table.get_mut(key) {
                let freed = session.trim(0, before);
                self.replies.free(session.client(), freed);
            }
        }
    }

    /// Whether all sessions may be searched for old replies: a search takes time, and most find nothing new.
    pub(crate) fn may_sweep(&mut self, now: Duration) -> bool {
        let may = self.swept.is_none_or(|swept| swept + SWEEP_PAUSE <= now);
        if may {
            self.swept = Some(now);
        }
        may
    }

    /// Ends a request: keeps the reply, if there is one, and frees the slot for the next.
    pub(crate) fn leave(&mut self, key: Key, slot: u32, reply: Option<bytes::Bytes>, now: Duration) {
        let Some(session) = self.table.get_mut(key) else { return };
        let (reserved, kept) = session.leave(slot, reply, now);
        self.replies.settle(session.client(), reserved, kept);
    }

    /// Highest slot that a session should use at present. Falls while replies take more than half of their memory.
    pub(crate) fn target(&self, session: &Session) -> u32 {
        let highest = session.slot_count().saturating_sub(1);
        match self.replies.is_short() {
            true => highest.min(MIN_SLOTS - 1),
            false => highest,
        }
    }

    /// Frees the replies of slots that the client has given up: it follows a lower target, and they ended before
    /// `before`.
    pub(crate) fn trim(&mut self, key: Key, highest_used: u32, before: Duration) {
        if !self.replies.is_short() || highest_used >= MIN_SLOTS {
            return;
        }
        if let Some(session) = self.table.get_mut(key) {
            let freed = session.trim(MIN_SLOTS, before);
            self.replies.free(session.client(), freed);
        }
    }
}
