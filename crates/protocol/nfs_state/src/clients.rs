//! Records of clients in memory (RFC 8881 §2.4, §18.35): found by client id and by owner.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use nfs::v4::session::CreateSessionOk;
use nfs::v4::{Status, Verifier};

use crate::caller::Principal;
use crate::ids;
use crate::table::{Key, Table};

/// Outcome of a CREATE_SESSION.
pub(crate) type CreateSessionReply = Result<Box<CreateSessionOk>, Status>;

/// A client as EXCHANGE_ID names it.
#[derive(Debug)]
pub(crate) struct Identification {
    /// `co_ownerid`.
    pub owner: Bytes,
    pub verifier: Verifier,
    pub principal: Principal,
    /// Name of its implementation, for administrators.
    pub implementation: String,
}

/// One incarnation of a client.
#[derive(Debug)]
pub(crate) struct Client {
    id: u64,
    identification: Identification,
    confirmed: bool,
    /// Last renewal of the lease; before the confirmation, the EXCHANGE_ID.
    renewed: Duration,
    sessions: Vec<Key>,
    /// Sequence id of the last CREATE_SESSION, and its reply.
    created: (u32, Option<CreateSessionReply>),
    reclaim_complete: bool,
    /// Whether the durable record is written.
    recorded: bool,
    /// Whether it has had an open that denies others access.
    denies: bool,
    /// Whether the record says so.
    recorded_denies: bool,
}

impl Client {
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }
    pub(crate) const fn identification(&self) -> &Identification {
        &self.identification
    }
    pub(crate) const fn owner(&self) -> &Bytes {
        &self.identification.owner
    }
    pub(crate) const fn is_confirmed(&self) -> bool {
        self.confirmed
    }
    pub(crate) const fn renewed(&self) -> Duration {
        self.renewed
    }
    pub(crate) fn sessions(&self) -> &[Key] {
        &self.sessions
    }
    pub(crate) const fn is_reclaim_complete(&self) -> bool {
        self.reclaim_complete
    }
    pub(crate) const fn is_recorded(&self) -> bool {
        self.recorded
    }

    pub(crate) const fn denies(&self) -> bool {
        self.denies
    }
    /// Whether there is no record, or it does not say all.
    pub(crate) const fn needs_record(&self) -> bool {
        !self.recorded || (self.denies && !self.recorded_denies)
    }

    /// Sequence id that the next CREATE_SESSION has.
    pub(crate) const fn next_sequence(&self) -> u32 {
        self.created.0.wrapping_add(1)
    }

    /// Reply of the last CREATE_SESSION, if this is a retry of it; `None` if it is the next one.
    pub(crate) fn replay(&self, sequence: u32) -> Result<Option<CreateSessionReply>, Status> {
        match &self.created {
            (last, Some(reply)) if *last == sequence => Ok(Some(reply.clone())),
            (last, _) if last.wrapping_add(1) == sequence => Ok(None),
            _ => Err(Status::SEQ_MISORDERED),
        }
    }

    pub(crate) fn renew(&mut self, now: Duration) {
        self.renewed = self.renewed.max(now);
    }
    pub(crate) fn set_created(&mut self, sequence: u32, reply: CreateSessionReply) {
        self.created = (sequence, Some(reply));
    }
    pub(crate) fn add_session(&mut self, session: Key) {
        self.sessions.push(session);
    }
    pub(crate) fn remove_session(&mut self, session: Key) {
        self.sessions.retain(|other| *other != session);
    }
    pub(crate) fn set_reclaim_complete(&mut self) {
        self.reclaim_complete = true;
    }
    pub(crate) fn set_recorded(&mut self, recorded: bool) {
        self.recorded = recorded;
        self.recorded_denies = recorded && self.denies;
    }
    /// Notes an open that denies others access.
    pub(crate) fn set_denies(&mut self) {
        self.denies = true;
    }
    /// Takes what an update may change (RFC 8881 §18.35.4).
    pub(crate) fn update(&mut self, implementation: String) {
        self.identification.implementation = implementation;
    }
}

/// Incarnations of one owner.
#[derive(Clone, Copy, Debug, Default)]
struct Incarnations {
    confirmed: Option<Key>,
    unconfirmed: Option<Key>,
}

/// All clients.
#[derive(Debug)]
pub(crate) struct Clients {
    boot: u32,
    table: Table<Client>,
    by_owner: BTreeMap<Bytes, Incarnations>,
    /// Clients without a session so far, the oldest first.
    unconfirmed: BTreeSet<(Duration, Key)>,
}

impl Clients {
    pub(crate) const fn new(boot: u32) -> Self {
        Self { boot, table: Table::new(), by_owner: BTreeMap::new(), unconfirmed: BTreeSet::new() }
    }

    /// Number of clients, with those that are not confirmed.
    pub(crate) fn len(&self) -> u32 {
        self.table.len()
    }
    pub(crate) fn unconfirmed_len(&self) -> usize {
        self.unconfirmed.len()
    }
    pub(crate) fn get(&self, key: Key) -> Option<&Client> {
        self.table.get(key)
    }
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut Client> {
        self.table.get_mut(key)
    }
    /// Clients from an index on.
    pub(crate) fn iter_from(&self, index: u32) -> impl Iterator<Item = (Key, &Client)> {
        self.table.iter_from(index)
    }

    /// Client of an id; `STALE_CLIENTID` if there is none in this run.
    pub(crate) fn find(&self, id: u64) -> Result<Key, Status> {
        let key = self.table.at(ids::client_index(id)).ok_or(Status::STALE_CLIENTID)?;
        self.table.get(key).filter(|client| client.id == id).map(|_| key).ok_or(Status::STALE_CLIENTID)
    }

    pub(crate) fn confirmed(&self, owner: &[u8]) -> Option<Key> {
        self.by_owner.get(owner)?.confirmed
    }
    pub(crate) fn unconfirmed(&self, owner: &[u8]) -> Option<Key> {
        self.by_owner.get(owner)?.unconfirmed
    }
    /// The client that has waited for its CREATE_SESSION for longest.
    pub(crate) fn oldest_unconfirmed(&self) -> Option<(Duration, Key)> {
        self.unconfirmed.first().copied()
    }

    /// Adds a client that is not confirmed. The owner has no other such client.
    pub(crate) fn insert(&mut self, identification: Identification, now: Duration) -> Key {
        let owner = identification.owner.clone();
        let boot = self.boot;
        let key = self.table.insert(|key| Client {
            id: ids::client_id(boot, key),
            identification,
            confirmed: false,
            renewed: now,
            sessions: Vec::new(),
            created: (0, None),
            reclaim_complete: false,
            recorded: false,
            denies: false,
            recorded_denies: false,
        });
        self.unconfirmed.insert((now, key));
        self.by_owner.entry(owner).or_default().unconfirmed = Some(key);
        key
    }

    /// Confirms a client. Its owner has no confirmed client.
    pub(crate) fn confirm(&mut self, key: Key, now: Duration) {
        let Some(client) = self.table.get_mut(key) else { return };
        self.unconfirmed.remove(&(client.renewed, key));
        client.confirmed = true;
        client.renewed = now;
        let incarnations = self.by_owner.entry(client.owner().clone()).or_default();
        *incarnations = Incarnations { confirmed: Some(key), unconfirmed: None };
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<Client> {
        let client = self.table.remove(key)?;
        self.unconfirmed.remove(&(client.renewed, key));
        if let Some(incarnations) = self.by_owner.get_mut(client.owner()) {
            let other = |place: Option<Key>| place.filter(|other| *other != key);
            incarnations.confirmed = other(incarnations.confirmed);
            incarnations.unconfirmed = other(incarnations.unconfirmed);
            if incarnations.confirmed.is_none() && incarnations.unconfirmed.is_none() {
                self.by_owner.remove(client.owner());
            }
        }
        Some(client)
    }
}
