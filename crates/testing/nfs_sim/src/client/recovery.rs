//! How a client gets a session, and back what it had before a restart of the server.

use super::holding::Step;
use super::{Client, Context, SLOTS, Session, World};
use crate::calls::Answer;
use crate::ledger::{Owner, Window};
use crate::shared::LEASE;
use nfs::v4::Status;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{ChannelAttributes, ClientOwner, CreateSessionArguments, ExchangeIdArguments, StateProtection};
use std::time::Duration;

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It needs a client id.
    Identify,
    /// It needs a session.
    Create { client: u64, sequence: u32 },
    /// It gets back what it had.
    Reclaim,
    /// It works.
    Running,
    /// It has given back all.
    Gone,
}

/// A call of recovery.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Identify,
    Create { client: u64 },
    Reclaim { actor: usize, step: Step },
    Complete,
    Renew,
    Destroy,
    DestroyClient,
}

impl Client {
    /// Sends the next call of recovery, if one is due.
    pub(super) fn recover(&mut self, world: &mut World<'_>) {
        let (operations, call) = match self.standing {
            Standing::Identify => (vec![self.identification()], Call::Identify),
            Standing::Create { client, sequence } => (vec![creation(client, sequence)], Call::Create { client }),
            Standing::Reclaim => {
                let Some(next) = self.reclaim(world) else { return };
                next
            }
            Standing::Running => {
                let Some(next) = self.rest(world) else { return };
                next
            }
            Standing::Gone => return,
        };
        let pending = self.call(world, &operations, call);
        world.shared.tell(format_args!("client {}: {:?}", self.index, pending.what));
        self.control = Some(pending);
    }

    fn identification(&self) -> Operation {
        let mut verifier = [0; 8];
        verifier[..4].copy_from_slice(&self.incarnation.to_be_bytes());
        let owner = ClientOwner { verifier, owner: format!("client-{}", self.index)[..].into() };
        let protection = StateProtection::None;
        Operation::ExchangeId(Box::new(ExchangeIdArguments { owner, flags: 0, protection, implementation: None }))
    }

    /// The next reclaim, or the end of all.
    fn reclaim(&mut self, world: &mut World<'_>) -> Option<(Vec<Operation>, Call)> {
        let run = self.session?.run;
        let steps = self.actors.iter().enumerate().map(|(number, actor)| Some((number, actor.holding.reclaim(run)?)));
        let next = steps.flatten().next();
        let sequence = self.sequence(0)?;
        let Some((actor, step)) = next else {
            return Some((vec![sequence, Operation::ReclaimComplete(false)], Call::Complete));
        };
        let owner = Owner { incarnation: self.incarnation(), actor };
        let found = self.actors.get_mut(actor)?;
        found.holding.sent(&step, owner, world.ledger, world.shared.now());
        let operations = found.holding.operations(&step, world.files, &format!("owner-{actor}"));
        Some((std::iter::once(sequence).chain(operations).collect(), Call::Reclaim { actor, step }))
    }

    /// What a client does besides the work of its actors: it renews its lease, and gives its session back.
    fn rest(&mut self, world: &mut World<'_>) -> Option<(Vec<Operation>, Call)> {
        if self.leaving && self.actors.iter().all(super::Actor::is_through) {
            let session = self.session?;
            return Some((vec![Operation::DestroySession(session.id)], Call::Destroy));
        }
        let is_due = self.valid_until < world.shared.now() + LEASE / 2 && world.shared.random.chance(20);
        is_due.then(|| Some((vec![self.sequence(0)?], Call::Renew))).flatten()
    }

    /// Takes the reply to a call of recovery.
    pub(super) fn control_answered(&mut self, world: &mut World<'_>, run: u32, answer: &Answer) {
        let Some(pending) = self.control.take() else { return };
        let status = answer.status;
        world.shared.tell(format_args!("client {}: {:?} has {status:?}", self.index, pending.what));
        let sent = pending.sent;
        let in_session = matches!(pending.what, Call::Reclaim { .. } | Call::Complete | Call::Renew);
        if in_session {
            // A retry of the same request if the server asks for one.
            let pause = world.shared.within(Duration::from_millis(300));
            let due = world.shared.now() + pause;
            self.control = Some(super::Pending { due, ..pending.clone() });
            if self.sequenced(world, run, sent, answer).is_none() {
                return;
            }
            self.control = None;
        }
        let result = match pending.what {
            Call::Identify => self.identified(answer),
            Call::Create { client } => self.created(world, run, client, answer),
            Call::Reclaim { actor, step } => self.reclaimed(world, run, (actor, step, sent), answer),
            Call::Complete => self.completed(world, status),
            Call::Renew => status.map_err(|status| format!("{status:?}")),
            Call::Destroy => self.destroyed(world, answer),
            Call::DestroyClient => {
                self.standing = Standing::Gone;
                match status {
                    Ok(()) | Err(Status::STALE_CLIENTID) => Ok(()),
                    Err(status) => Err(format!("DESTROY_CLIENTID has {status:?}")),
                }
            }
        };
        if let Err(why) = result {
            world.shared.fail(format_args!("client {}: {why}", self.index));
        }
    }

    fn identified(&mut self, answer: &Answer) -> Result<(), String> {
        match answer.outcomes.first() {
            Some(Outcome::ExchangeId(Ok(ok))) => {
                self.standing = Standing::Create { client: ok.client, sequence: ok.sequence };
                Ok(())
            }
            Some(Outcome::ExchangeId(Err(Status::DELAY))) => Ok(()),
            other => Err(format!("EXCHANGE_ID has {other:?}")),
        }
    }

    fn created(&mut self, world: &mut World<'_>, run: u32, client: u64, answer: &Answer) -> Result<(), String> {
        match answer.outcomes.first() {
            Some(Outcome::CreateSession(Ok(ok))) => {
                self.session = Some(Session { id: ok.session, run, sequences: [0; SLOTS] });
                if (ok.fore_channel.max_requests as usize) < SLOTS {
                    return Err(format!("a session has {} slots", ok.fore_channel.max_requests));
                }
            }
            Some(Outcome::CreateSession(Err(Status::DELAY))) => return Ok(()),
            Some(Outcome::CreateSession(Err(Status::STALE_CLIENTID | Status::SEQ_MISORDERED))) => {
                self.standing = Standing::Identify;
                return Ok(());
            }
            other => return Err(format!("CREATE_SESSION has {other:?}")),
        }
        let now = world.shared.now();
        for number in 1..self.incarnation {
            world.ledger.gone(crate::shared::Incarnation { client: self.index, number }, now);
        }
        // Calls of an earlier session may still be executed for a while.
        self.actors.iter_mut().for_each(|actor| actor.ready = now + Duration::from_secs(1));
        if self.id.replace(client) == Some(client) {
            self.standing = Standing::Running;
            return Ok(());
        }
        self.standing = Standing::Reclaim;
        self.actors.iter_mut().for_each(|actor| actor.holding.expect_reclaim());
        Ok(())
    }

    fn reclaimed(
        &mut self,
        world: &mut World<'_>,
        run: u32,
        (number, step, sent): (usize, Step, Duration),
        answer: &Answer,
    ) -> Result<(), String> {
        let context = Context {
            window: Window { sent, answered: world.shared.now() },
            run,
            grace_until: world.server.grace_until(),
            valid_until: sent + LEASE,
            grace_for: world.server.grace_for(),
        };
        let owner = Owner { incarnation: self.incarnation(), actor: number };
        if answer.status.is_ok() {
            world.shared.report.reclaims += 1;
        }
        let Some(actor) = self.actors.get_mut(number) else { return Ok(()) };
        let outcomes = answer.outcomes.get(1..).unwrap_or_default();
        actor.holding.answered(&step, outcomes, owner, world.ledger, context)
    }

    fn completed(&mut self, world: &World<'_>, status: Result<(), Status>) -> Result<(), String> {
        match status {
            Ok(()) => {
                self.standing = Standing::Running;
                self.actors.iter_mut().for_each(|actor| actor.holding.end_reclaim());
                Ok(())
            }
            Err(Status::DELAY) => Ok(()),
            Err(status) => Err(format!("RECLAIM_COMPLETE has {status:?} at {:?}", world.shared.now())),
        }
    }

    fn destroyed(&mut self, world: &mut World<'_>, answer: &Answer) -> Result<(), String> {
        match answer.status {
            Ok(()) | Err(Status::BADSESSION) => {
                self.session = None;
                let Some(client) = self.id else { return Ok(()) };
                // Some clients leave without a word.
                if world.shared.random.chance(30) {
                    self.standing = Standing::Gone;
                    return Ok(());
                }
                self.control = Some(self.call(world, &[Operation::DestroyClientId(client)], Call::DestroyClient));
                Ok(())
            }
            Err(Status::DELAY) => Ok(()),
            Err(status) => Err(format!("DESTROY_SESSION has {status:?}")),
        }
    }
}

fn creation(client: u64, sequence: u32) -> Operation {
    let channel = ChannelAttributes {
        header_pad_bytes: 0,
        max_request_bytes: 65_536,
        max_response_bytes: 65_536,
        max_cached_response_bytes: 2048,
        max_operations: 16,
        max_requests: SLOTS as u32,
        rdma_reads: None,
    };
    Operation::CreateSession(Box::new(CreateSessionArguments {
        client,
        sequence,
        flags: 0,
        fore_channel: channel.clone(),
        back_channel: channel,
        callback_program: 0x4000_0000,
        callback_security: Vec::new().into(),
    }))
}
