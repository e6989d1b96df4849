//! What compounds need of sessions: the slot of a SEQUENCE, and its limits.

use crate::client::CallFacts;
use bytes::Bytes;
use nfs::v4::SessionId;
use nfs::v4::Status;
use nfs::v4::session::{SequenceArguments, SequenceOk};

/// Slot of a session that a compound has taken, with the session's limits (RFC 8881 §18.36).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Client of the session.
    pub client: u64,
    /// Session.
    pub session: SessionId,
    /// Number of the slot.
    pub slot: u32,
    /// Whether the reply will be kept for a retry.
    pub cache_this: bool,
    /// Longest reply, header of the call included.
    pub response_bytes: usize,
    /// Longest reply that is kept.
    pub cached_bytes: usize,
}

/// Outcome of a SEQUENCE.
#[derive(Clone, Debug)]
pub enum Sequenced {
    /// A new request. The limits of request and operations were checked.
    New(SequenceOk, Slot),
    /// A retry: the results of the compound that it repeats.
    Replay(Vec<Bytes>),
}

/// The state of clients, as far as compounds need it.
pub trait Sessions {
    /// Takes a slot for a compound of `operations` operations.
    ///
    /// * `TOO_MANY_OPS`, `REQ_TOO_BIG`: above the limits of the session.
    fn sequence(
        &self,
        caller: &CallFacts<'_>,
        operations: u32,
        arguments: &SequenceArguments,
    ) -> Result<Sequenced, Status>;

    /// Ends the use of a slot, with the results of the compound, before they are sent. `None`: their
    /// outcome is not known, and a retry must not be executed.
    fn finish(&self, slot: &Slot, results: Option<&[Bytes]>);
}

/// No sessions: no client can have one.
pub(crate) struct NoSessions;

impl Sessions for NoSessions {
    fn sequence(&self, _: &CallFacts<'_>, _: u32, _: &SequenceArguments) -> Result<Sequenced, Status> {
        Err(Status::BADSESSION)
    }

    fn finish(&self, _: &Slot, _: Option<&[Bytes]>) {}
}
