//! Callbacks that are due or sent (RFC 8881 §2.10.6, RFC 7862 §16.1): at most one for each asynchronous copy.

use std::collections::BTreeMap;
use std::time::Duration;

use nfs::v4::SessionId;
use nfs::v4::callback::OffloadArguments;

use crate::caller::ConnectionId;
use crate::table::Key;

/// Name of a callback, unique in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallbackId(u64);

/// Call that a callback is about: the client may get its reply after the callback (RFC 8881 §2.10.6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referring {
    /// Session.
    pub session: SessionId,
    /// Slot.
    pub slot: u32,
    /// Sequence id of the slot.
    pub sequence: u32,
}

/// Slot of a back channel that a callback has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackPlace {
    pub session: Key,
    pub slot: u32,
    pub sequence: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// To be sent, not before an instant; with its slot, if it was sent before.
    Due { not_before: Duration, place: Option<BackPlace> },
    /// Sent, and not answered.
    Sent { place: BackPlace, connection: ConnectionId, at: Duration },
}

#[derive(Debug)]
pub(crate) struct Callback {
    client: Key,
    offload: OffloadArguments,
    referring: Option<Referring>,
    phase: Phase,
    /// When it is given up.
    expires: Duration,
}

impl Callback {
    pub(crate) const fn client(&self) -> Key {
        self.client
    }
    pub(crate) const fn offload(&self) -> &OffloadArguments {
        &self.offload
    }
    pub(crate) const fn referring(&self) -> Option<Referring> {
        self.referring
    }
    /// Slot that it has.
    pub(crate) const fn place(&self) -> Option<BackPlace> {
        match self.phase {
            Phase::Due { place, .. } => place,
            Phase::Sent { place, .. } => Some(place),
        }
    }
    const fn is_sent(&self) -> bool {
        matches!(self.phase, Phase::Sent { .. })
    }
}

/// All callbacks, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Callbacks {
    last: u64,
    pending: BTreeMap<CallbackId, Callback>,
}

impl Callbacks {
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn add(
        &mut self,
        client: Key,
        offload: OffloadArguments,
        referring: Option<Referring>,
        (now, expires): (Duration, Duration),
    ) -> CallbackId {
        self.last += 1;
        let id = CallbackId(self.last);
        let phase = Phase::Due { not_before: now, place: None };
        self.pending.insert(id, Callback { client, offload, referring, phase, expires });
        id
    }

    pub(crate) fn get(&self, id: CallbackId) -> Option<&Callback> {
        self.pending.get(&id)
    }
    /// The callback of a copy.
    pub(crate) fn of_copy(&self, stateid: &nfs::v4::Stateid) -> Option<CallbackId> {
        self.pending.iter().find(|(_, callback)| callback.offload.stateid == *stateid).map(|(id, _)| *id)
    }
    /// Whether a client has a callback that is not sent.
    pub(crate) fn is_due_for(&self, client: Key) -> bool {
        self.pending.values().any(|callback| callback.client == client && !callback.is_sent())
    }
    /// Callbacks that may be sent, with their clients and the slots that they have.
    pub(crate) fn due(&self, now: Duration) -> impl Iterator<Item = (CallbackId, &Callback)> {
        let is_due = move |phase: &Phase| matches!(phase, Phase::Due { not_before, .. } if *not_before <= now);
        self.pending.iter().filter(move |(_, callback)| is_due(&callback.phase)).map(|(id, callback)| (*id, callback))
    }

    pub(crate) fn sent(&mut self, id: CallbackId, place: BackPlace, connection: ConnectionId, at: Duration) {
        if let Some(callback) = self.pending.get_mut(&id) {
            callback.phase = Phase::Sent { place, connection, at };
        }
    }

    /// Makes a callback due again. With its slot, it is a retry of the same request.
    pub(crate) fn again(&mut self, id: CallbackId, not_before: Duration, place: Option<BackPlace>) {
        if let Some(callback) = self.pending.get_mut(&id) {
            callback.phase = Phase::Due { not_before, place };
        }
    }

    pub(crate) fn remove(&mut self, id: CallbackId) -> Option<Callback> {
        self.pending.remove(&id)
    }

    /// Makes due again the callbacks that were sent on a connection which is gone.
    pub(crate) fn lose(&mut self, gone: ConnectionId, now: Duration) {
        for callback in self.pending.values_mut() {
            if let Phase::Sent { place, connection, .. } = callback.phase
                && connection == gone
            {
                callback.phase = Phase::Due { not_before: now, place: Some(place) };
            }
        }
    }

    /// Makes due again the callbacks that were sent before an instant and not answered. Returns their sessions and
    /// connections.
    pub(crate) fn lose_before(&mut self, before: Duration, now: Duration) -> Vec<(Key, ConnectionId)> {
        let mut silent = Vec::new();
        for callback in self.pending.values_mut() {
            if let Phase::Sent { place, connection, at } = callback.phase
                && at < before
            {
                callback.phase = Phase::Due { not_before: now, place: Some(place) };
                silent.push((place.session, connection));
            }
        }
        silent
    }

    /// Takes the slots of a session that is gone from the callbacks that have them.
    pub(crate) fn session_gone(&mut self, session: Key, now: Duration) {
        for callback in self.pending.values_mut() {
            if callback.place().is_some_and(|place| place.session == session) {
                callback.phase = Phase::Due { not_before: now, place: None };
            }
        }
    }

    /// Callbacks of a client.
    pub(crate) fn of_client(&self, client: Key) -> Vec<CallbackId> {
        self.pending.iter().filter(|(_, callback)| callback.client == client).map(|(id, _)| *id).collect()
    }

    /// Removes the callbacks of a client.
    pub(crate) fn forget_client(&mut self, client: Key) {
        self.pending.retain(|_, callback| callback.client != client);
    }

    /// Callbacks that are given up.
    pub(crate) fn expired(&self, now: Duration) -> Vec<CallbackId> {
        self.pending.iter().filter(|(_, callback)| callback.expires <= now).map(|(id, _)| *id).collect()
    }
}
