//! Asynchronous copies and their callbacks (RFC 7862 §15.2, §16.1; RFC 8881 §2.10.6, §20.9).

use std::time::Duration;

use nfs::v4::callback::{OffloadArguments, ReferringCall, ReferringCalls, SequenceArguments};
use nfs::v4::session::CallbackSecurity;
use nfs::v4::{Done, Stateid, Status};

use super::{Admitted, ClientRef, State};
use crate::callbacks::{BackPlace, CallbackId, Referring};
use crate::caller::ConnectionId;
use crate::files::CopyDenied;
use crate::mutations::{Mutation, leaves_out};
use crate::table::Key;

/// Pause before a callback is sent again.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a callback is tried, beyond a lease.
const PATIENCE: Duration = Duration::from_secs(60);

/// A callback to be sent: CB_SEQUENCE and CB_OFFLOAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callback {
    /// Name for [`State::callback_answered`].
    pub id: CallbackId,
    /// Where it is sent.
    pub connection: ConnectionId,
    /// Program that the client named.
    pub program: u32,
    /// Credential that the client accepts.
    pub security: CallbackSecurity,
    /// Arguments of CB_SEQUENCE.
    pub sequence: SequenceArguments,
    /// Arguments of CB_OFFLOAD.
    pub offload: OffloadArguments,
}

/// Reply to a callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallbackAnswer {
    /// CB_SEQUENCE failed.
    SequenceFailed(Status),
    /// CB_SEQUENCE succeeded, and this is the outcome of CB_OFFLOAD.
    Offload(Done),
    /// The RPC call failed, or the reply cannot be decoded.
    Unusable,
}

impl State {
    /// Begins an asynchronous copy; returns its stateid.
    pub fn begin_copy(&mut self, client: ClientRef) -> Result<Stateid, CopyDenied> {
        self.client(client).map_err(|_| CopyDenied::NoClient)?;
        self.files.begin_copy(client.0)
    }

    /// Whether a copy goes on, or its callback is due: a copy ends with its client.
    pub fn is_copying(&self, stateid: &Stateid) -> bool {
        self.files.copy_client(stateid).is_some()
    }

    /// Whether a stateid is a copy of a client, for OFFLOAD_STATUS and OFFLOAD_CANCEL; `BAD_STATEID` if not.
    pub fn check_copy(&self, client: ClientRef, stateid: &Stateid) -> Result<(), Status> {
        let is_own = |found: &Key| *found == client.0 || leaves_out(Mutation::CopyOwner);
        let found = self.files.copy_client(stateid).filter(is_own);
        found.map(drop).ok_or(Status::BAD_STATEID)
    }

    /// Ends a copy without a callback, or gives the callback up.
    pub fn end_copy(&mut self, stateid: &Stateid) {
        if let Some(id) = self.callbacks.of_copy(stateid) {
            self.give_up(id);
        }
        self.files.end_copy(stateid);
    }

    /// Call of a request that a callback will refer to.
    pub fn referring(&self, admitted: &Admitted) -> Referring {
        let result = admitted.result();
        Referring { session: result.session, slot: result.slot, sequence: result.sequence }
    }

    /// Makes the callback of a copy due. The copy ends when it is answered, or given up after a lease and a minute.
    /// Nothing happens for a copy that has ended, or whose callback is due.
    pub fn queue_callback(&mut self, offload: OffloadArguments, referring: Option<Referring>, now: Duration) {
        let Some(client) = self.files.copy_client(&offload.stateid) else { return };
        if self.callbacks.of_copy(&offload.stateid).is_none() {
            let expires = now + self.config.lease + PATIENCE;
            self.callbacks.add(client, offload, referring, (now, expires));
        }
    }

    /// Whether callbacks of a session whose client keeps its lease can use no other connection.
    pub fn is_only_back_channel(&self, connection: ConnectionId, now: Duration) -> bool {
        let mut sessions = self.sessions.of_connection(connection);
        sessions.any(|session| session.has_only_back(connection) && !self.is_courteous(session.client(), now))
    }

    /// Whether callbacks can reach a client.
    pub(super) fn has_back_connection(&self, client: Key) -> bool {
        let sessions = self.clients.get(client).map(|client| client.sessions()).unwrap_or_default();
        sessions.iter().filter_map(|key| self.sessions.get(*key)).any(|session| session.back_connection().is_some())
    }

    /// A callback that can be sent, if there is one. It counts as sent.
    pub fn next_callback(&mut self, now: Duration) -> Option<Callback> {
        let due: Vec<(CallbackId, Key, Option<BackPlace>)> =
            self.callbacks.due(now).map(|(id, callback)| (id, callback.client(), callback.place())).collect();
        due.into_iter().find_map(|(id, client, place)| {
            let (place, connection) = match place {
                Some(place) => (place, self.sessions.get(place.session)?.back_connection()?),
                None => self.take_back_place(client)?,
            };
            self.callbacks.sent(id, place, connection, now);
            self.callback(id, place, connection)
        })
    }

    /// Free slot of the back channel of any session of a client.
    fn take_back_place(&mut self, client: Key) -> Option<(BackPlace, ConnectionId)> {
        let sessions = self.clients.get(client)?.sessions();
        sessions.iter().find_map(|key| {
            let session = self.sessions.get_mut(*key)?;
            let connection = session.back_connection()?;
            let (slot, sequence) = session.take_back_slot()?;
            Some((BackPlace { session: *key, slot, sequence }, connection))
        })
    }

    fn callback(&self, id: CallbackId, place: BackPlace, connection: ConnectionId) -> Option<Callback> {
        let callback = self.callbacks.get(id)?;
        let session = self.sessions.get(place.session)?;
        let referring = callback.referring().map(|call| ReferringCalls {
            session: call.session,
            calls: vec![ReferringCall { sequence: call.sequence, slot: call.slot }].into(),
        });
        Some(Callback {
            id,
            connection,
            program: session.callbacks().program,
            security: session.callbacks().security.clone()?,
            sequence: SequenceArguments {
                session: *session.id(),
                sequence: place.sequence,
                slot: place.slot,
                highest_slot: session.highest_back_slot(),
                cache_this: false,
                referring: referring.into_iter().collect::<Vec<_>>().into(),
            },
            offload: callback.offload().clone(),
        })
    }

    /// Whether a callback is to be sent, or sent and not answered.
    pub fn is_callback_pending(&self, id: CallbackId) -> bool {
        self.callbacks.get(id).is_some()
    }

    /// Takes the reply to a callback. Ids of callbacks that have ended are ignored.
    pub fn callback_answered(&mut self, id: CallbackId, answer: CallbackAnswer, now: Duration) {
        let Some(callback) = self.callbacks.get(id) else { return };
        let (place, stateid) = (callback.place(), callback.offload().stateid);
        let session = place.and_then(|place| self.sessions.get_mut(place.session));
        let answer = match answer {
            // The client has executed it before, and has not kept the reply.
            CallbackAnswer::SequenceFailed(Status::RETRY_UNCACHED_REP) => CallbackAnswer::Offload(Ok(())),
            answer => answer,
        };
        match (answer, session, place) {
            (CallbackAnswer::SequenceFailed(Status::DELAY), _, _) => self.callbacks.again(id, now + PAUSE, place),
            (CallbackAnswer::SequenceFailed(_) | CallbackAnswer::Unusable, Some(session), Some(place)) => {
                let misordered = answer == CallbackAnswer::SequenceFailed(Status::SEQ_MISORDERED);
                let before = if misordered { session.step_back_slot_back(place.slot) } else { None };
                match before {
                    // The client has not executed the request before this one.
                    Some(sequence) => self.callbacks.again(id, now, Some(BackPlace { sequence, ..place })),
                    None => {
                        session.doubt_back_slot(place.slot);
                        self.callbacks.again(id, now + PAUSE, None);
                    }
                }
            }
            (CallbackAnswer::SequenceFailed(_) | CallbackAnswer::Unusable, _, _) => {
                self.callbacks.again(id, now + PAUSE, None);
            }
            (CallbackAnswer::Offload(done), session, place) => {
                if let (Some(session), Some(place)) = (session, place) {
                    session.free_back_slot(place.slot);
                }
                if done == Err(Status::DELAY) {
                    self.callbacks.again(id, now + PAUSE, None);
                } else {
                    self.callbacks.remove(id);
                    self.files.end_copy(&stateid);
                }
            }
        }
    }

    /// Gives a callback up. Whether the client has executed it is not known.
    pub(super) fn give_up(&mut self, id: CallbackId) {
        let Some(callback) = self.callbacks.remove(id) else { return };
        if let Some(place) = callback.place()
            && let Some(session) = self.sessions.get_mut(place.session)
        {
            session.doubt_back_slot(place.slot);
        }
    }

    /// Makes due again what was not answered within a lease, and gives up what is too old. A request is not repeated on
    /// a connection that lives (RFC 8881 §2.9.2): one that is silent leaves the back channel of its session.
    pub(super) fn advance_callbacks(&mut self, now: Duration) {
        if !leaves_out(Mutation::CallbackRetry) {
            let before = now.saturating_sub(self.config.lease);
            for (session, connection) in self.callbacks.lose_before(before, now) {
                self.sessions.end_back_channel(session, connection);
            }
        }
        for id in self.callbacks.expired(now) {
            let stateid = self.callbacks.get(id).map(|callback| callback.offload().stateid);
            self.give_up(id);
            if let Some(stateid) = stateid {
                self.files.end_copy(&stateid);
            }
        }
    }
}
