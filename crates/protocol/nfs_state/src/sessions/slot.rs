//! A slot: the request in progress, or the last one with its reply (RFC 8881 §2.10.6.1).

use std::time::Duration;

use bytes::Bytes;
use nfs::v4::Status;

use crate::caller::{Fingerprint, Principal, Request};
use crate::mutations::{Mutation, leaves_out};

/// What a request is to its slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The next request.
    New,
    /// A retry, whose reply is there.
    Replay(Bytes),
    /// A retry, whose reply was not kept.
    Uncached,
}

/// A slot. Before its first request the last sequence id is 0, and there is no such request.
#[derive(Debug, Default)]
pub(super) struct Slot {
    sequence: u32,
    last: Option<Last>,
}

/// The last request.
#[derive(Debug)]
struct Last {
    principal: Principal,
    fingerprint: Fingerprint,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Running { reserved_bytes: u32 },
    Ended { reply: Option<Bytes>, at: Duration },
}

impl Slot {
    /// Whether its request is in progress.
    pub(super) fn is_busy(&self) -> bool {
        matches!(&self.last, Some(Last { phase: Phase::Running { .. }, .. }))
    }

    /// Bytes kept or reserved.
    pub(super) fn kept_bytes(&self) -> u64 {
        match self.last.as_ref().map(|last| &last.phase) {
            Some(Phase::Running { reserved_bytes }) => u64::from(*reserved_bytes),
            Some(Phase::Ended { reply: Some(reply), .. }) => reply.len() as u64,
            _ => 0,
        }
    }

    /// What a request is. `SEQ_MISORDERED`: neither the last nor the next. `DELAY`: the last, in progress.
    /// `SEQ_FALSE_RETRY`: the last sequence id with another content or principal.
    pub(super) fn standing(&self, sequence: u32, request: &Request) -> Result<Standing, Status> {
        if sequence == self.sequence.wrapping_add(1) && !self.is_busy() {
            return Ok(Standing::New);
        }
        if leaves_out(Mutation::Replay) && sequence == self.sequence && self.last.is_some() && !self.is_busy() {
            return Ok(Standing::New);
        }
        let last = self.last.as_ref().filter(|_| sequence == self.sequence).ok_or(Status::SEQ_MISORDERED)?;
        if last.principal != request.caller.principal || last.fingerprint != request.fingerprint {
            return Err(Status::SEQ_FALSE_RETRY);
        }
        match &last.phase {
            Phase::Running { .. } => Err(Status::DELAY),
            Phase::Ended { reply: Some(reply), .. } => Ok(Standing::Replay(reply.clone())),
            Phase::Ended { reply: None, .. } => Ok(Standing::Uncached),
        }
    }

    pub(super) fn enter(&mut self, sequence: u32, request: &Request, reserved_bytes: u32) {
        self.sequence = sequence;
        self.last = Some(Last {
            principal: request.caller.principal,
            fingerprint: request.fingerprint,
            phase: Phase::Running { reserved_bytes },
        });
    }

    /// Ends the request; returns the bytes that were reserved and those that are kept. Nothing happens without one.
    pub(super) fn leave(&mut self, reply: Option<Bytes>, at: Duration) -> (u64, u64) {
        let reserved = self.kept_bytes();
        match &mut self.last {
            Some(Last { phase: phase @ Phase::Running { .. }, .. }) => *phase = Phase::Ended { reply, at },
            _ => return (0, 0),
        }
        (reserved, self.kept_bytes())
    }

    /// Frees a reply that was kept before an instant; returns its bytes.
    pub(super) fn trim(&mut self, before: Duration) -> u64 {
        match self.last.as_mut().map(|last| &mut last.phase) {
            Some(Phase::Ended { reply, at }) if *at < before => reply.take().map_or(0, |reply| reply.len() as u64),
            _ => 0,
        }
    }
}
