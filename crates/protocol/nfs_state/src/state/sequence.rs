//! SEQUENCE, and the end of its request (RFC 8881 §18.46, §2.10.6.1).

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use nfs::v4::Status;
use nfs::v4::session::{SequenceArguments, SequenceOk, sequence_status};

use super::{ClientRef, State, channels};
use crate::caller::Request;
use crate::mutations::{Mutation, leaves_out, store_later};
use crate::sessions::{Direction, Session, Sessions, Shortage, Standing};
use crate::table::Key;

/// Longest reply to a lone SEQUENCE that is kept, with its tag; it is kept whether the client asks for it or not.
const MAX_LONE_REPLY_BYTES: u32 = 256;

/// What becomes of a request.
#[derive(Debug)]
pub enum Sequenced {
    /// It is new: its operations are executed.
    Run(Admitted),
    /// It is a retry, and this is the reply that [`State::complete`] was given.
    Replay(Bytes),
    /// It is a retry whose reply was not kept. This is the result of SEQUENCE; the next operation has
    /// `RETRY_UNCACHED_REP`.
    Uncached(SequenceOk),
}

/// A request that occupies a slot until [`State::complete`].
#[derive(Debug)]
#[must_use = "the slot is in use until the request is completed"]
pub struct Admitted {
    session: Key,
    client: ClientRef,
    ok: SequenceOk,
    caches: bool,
    lone: bool,
    max_reply_bytes: u32,
}

impl Admitted {
    /// Client of the session.
    pub const fn client(&self) -> ClientRef {
        self.client
    }
    /// Result of SEQUENCE.
    pub const fn result(&self) -> &SequenceOk {
        &self.ok
    }
    /// Longest reply with its RPC header, and the status of an operation whose result does not fit.
    pub const fn reply_limit(&self) -> (u32, Status) {
        (self.max_reply_bytes, too_big(self.caches))
    }
    pub(super) const fn session(&self) -> Key {
        self.session
    }
}

/// Status of a reply that is too long, in a request whose reply has to be kept or not.
const fn too_big(caches: bool) -> Status {
    if caches { Status::REP_TOO_BIG_TO_CACHE } else { Status::REP_TOO_BIG }
}

impl State {
    /// SEQUENCE. Errors: `BADSESSION`, `CONN_NOT_BOUND_TO_SESSION`, `REQ_TOO_BIG`, `TOO_MANY_OPS`, `REP_TOO_BIG`,
    /// `REP_TOO_BIG_TO_CACHE`, `BADSLOT`, `BAD_HIGH_SLOT`, `SEQ_MISORDERED`, `SEQ_FALSE_RETRY`; `DELAY`: a retry of a
    /// request in progress, or no memory for its reply. An error neither renews the lease nor changes the slot.
    pub fn sequence(
        &mut self,
        request: &Request,
        arguments: &SequenceArguments,
        now: Duration,
    ) -> Result<Sequenced, Status> {
        let key = self.sessions.find(&arguments.session)?;
        let session = self.sessions.get(key).ok_or(Status::BADSESSION)?;
        let (client, fore) = (session.client(), session.fore().clone());
        let bound = session.direction(request.caller.connection);
        if bound == Some(Direction::Back) {
            return Err(Status::CONN_NOT_BOUND_TO_SESSION);
        }
        if request.length_bytes > fore.max_request_bytes {
            return Err(Status::REQ_TOO_BIG);
        }
        if request.operations > fore.max_operations {
            return Err(Status::TOO_MANY_OPS);
        }
        let caches = arguments.cache_this;
        if caches && fore.max_cached_response_bytes < channels::MIN_RESPONSE_BYTES {
            return Err(Status::REP_TOO_BIG_TO_CACHE);
        }
        let most = if caches { fore.max_cached_response_bytes } else { u32::MAX };
        let max_reply_bytes = fore.max_response_bytes.min(most);
        if request.reply_bytes > max_reply_bytes {
            return Err(too_big(caches));
        }
        self.make_room_for_reply(key, request, arguments, now);
        let standing = self.sessions.enter(key, request, arguments, caches)?;
        self.sessions.trim(key, arguments.highest_slot, now.saturating_sub(self.config.lease));
        if bound.is_none() {
            self.sessions.associate(key, request.caller.connection, Direction::Fore);
        }
        if let Some(client) = self.clients.get_mut(client) {
            client.renew(now);
        }
        let ok = self.sequence_ok(key, client, arguments)?;
        Ok(match standing {
            Standing::Replay(reply) => Sequenced::Replay(reply),
            Standing::Uncached => Sequenced::Uncached(ok),
            Standing::New => Sequenced::Run(Admitted {
                session: key,
                client: ClientRef(client),
                ok,
                caches,
                lone: request.operations == 1,
                max_reply_bytes,
            }),
        })
    }

    /// Makes room for the reply of a new request: replies of idle slots that are older than a lease go, of courteous
    /// clients first.
    fn make_room_for_reply(&mut self, key: Key, request: &Request, arguments: &SequenceArguments, now: Duration) {
        let before = now.saturating_sub(self.config.lease);
        let Some(client) = self.sessions.get(key).map(Session::client) else { return };
        let shortage = |sessions: &Sessions| sessions.shortage(key, request, arguments, arguments.cache_this);
        if shortage(&self.sessions) == Some(Shortage::OfClient) {
            self.sessions.free_old_replies(before, |other| other == client);
        }
        if shortage(&self.sessions) != Some(Shortage::OfAll) || !self.sessions.may_sweep(now) {
            return;
        }
        let keys = self.clients.iter_from(0).map(|(key, _)| key);
        let courteous: BTreeSet<Key> = keys.filter(|key| self.is_courteous(*key, now)).collect();
        self.sessions.free_old_replies(before, |other| courteous.contains(&other));
        if shortage(&self.sessions) == Some(Shortage::OfAll) {
            self.sessions.free_old_replies(before, |_| true);
        }
    }

    fn sequence_ok(&self, key: Key, client: Key, arguments: &SequenceArguments) -> Result<SequenceOk, Status> {
        let session = self.sessions.get(key).ok_or(Status::BADSESSION)?;
        Ok(SequenceOk {
            session: arguments.session,
            sequence: arguments.sequence,
            slot: arguments.slot,
            highest_slot: session.slot_count().saturating_sub(1),
            target_highest_slot: self.sessions.target(session),
            status_flags: self.status_flags(client, session.back_fault()),
        })
    }

    fn status_flags(&self, key: Key, back_fault: bool) -> u32 {
        let held = self.files.held(key);
        let expired = match held.is_live() {
            true => sequence_status::EXPIRED_SOME_STATE_REVOKED,
            false => sequence_status::EXPIRED_ALL_STATE_REVOKED,
        };
        let reclaims = self
            .clients
            .get(key)
            .is_some_and(|client| !client.is_reclaim_complete() && self.grace.was_recorded(client.owner()));
        let path_down = self.callbacks.is_due_for(key) && !self.has_back_connection(key);
        [
            (held.expired > 0, expired),
            (held.revoked > 0, sequence_status::ADMIN_STATE_REVOKED),
            (reclaims, sequence_status::RESTART_RECLAIM_NEEDED),
            (path_down, sequence_status::CALLBACK_PATH_DOWN),
            (back_fault, sequence_status::BACK_CHANNEL_FAULT),
        ]
        .into_iter()
        .filter(|(is_set, _)| *is_set)
        .fold(0, |flags, (_, flag)| flags | flag)
    }

    /// Ends a request with its reply, the results of the COMPOUND without the RPC header: it differs in a retry. The
    /// reply is kept if the client asked for it and it is within [`Admitted::reply_limit`].
    pub fn complete(&mut self, admitted: Admitted, reply: &[Bytes], now: Duration) {
        let length = reply.iter().fold(0usize, |sum, chunk| sum.saturating_add(chunk.len()));
        let most =
            if admitted.lone { admitted.max_reply_bytes.min(MAX_LONE_REPLY_BYTES) } else { admitted.max_reply_bytes };
        let keeps = (admitted.caches || admitted.lone) && length <= most as usize;
        let kept = keeps.then(|| {
            // The chunks may be slices of larger buffers.
            let mut bytes = BytesMut::with_capacity(length);
            reply.iter().for_each(|chunk| bytes.extend_from_slice(chunk));
            bytes.freeze()
        });
        if leaves_out(Mutation::SlotBeforeSend) {
            return store_later((admitted.session, admitted.ok.slot, kept));
        }
        self.sessions.leave(admitted.session, admitted.ok.slot, kept, now);
    }
}
