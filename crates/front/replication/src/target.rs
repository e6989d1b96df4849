//! The target of a group's cycles: from messages to steps of the store.
//!
//! A cycle is applied in the order in which it comes. A position says how far: every place before it is final, as no
//! later message may name it. So copies are verified (rule R3) without a memory of what was written.
//!
//! * A cycle begins when all steps of the one before have ended. It goes on if it is the one that was interrupted;
//!   otherwise all members go back to its base first (rule R6).
//! * The position becomes durable every 5 s or 1 GiB, after a flush.
//! * The recovery point appears in one commit, after a flush that followed the last change (rule R2).
//!
//! What breaks a rule is refused, and ends the session of its connection; what was applied stays as it is, and the
//! next session goes on from the durable position. Memory is bounded by the window of a session.

mod frontier;
mod session;
#[cfg(test)]
mod tests;

use crate::group::Group;
use crate::mutations::{Mutation, leaves_out};
use crate::names::Point;
use crate::place::Position;
use crate::record::Progress;
use crate::refusal::{Code, Refusal};
use crate::store::{Done, Prepare, Sizes, Step, StoreError};
use crate::wire::{Begin, Committed, Message, Ready};
use session::{Accepted, Session};
use std::collections::VecDeque;
use std::time::Duration;

/// Time after which the position is stored.
pub const SAVE_AFTER: Duration = Duration::from_secs(5);
/// Bytes after which the position is stored.
pub const SAVE_AFTER_BYTES: u64 = 1 << 30;
/// Most steps that are carried out together.
const MAX_STEPS: usize = 64;

/// Connection of a peer, as its owner numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// What a target reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetEvent {
    /// A connection is refused, and has no session any more. Its owner sends the refusal and closes it.
    Refused {
        /// Connection.
        connection: ConnectionId,
        /// Reason.
        refusal: Refusal,
    },
    /// A recovery point exists.
    Committed(Point),
}

/// A step with its number, which comes back with its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedStep {
    /// Number.
    pub number: u64,
    /// Step.
    pub step: Step,
}

/// A cycle that a connection has offered and that waits for the end of earlier steps.
#[derive(Debug)]
struct Offer {
    connection: ConnectionId,
    begin: Begin,
}

/// What is between the begin of a cycle and its end.
#[derive(Debug)]
enum Stage {
    /// No cycle.
    Idle,
    /// The members go back to the base, or their sizes are looked at. `is_gone`: nobody waits for it any more.
    Preparing { number: u64, offer: Box<Offer>, progress: Progress, is_gone: bool },
    /// Changes are applied.
    Applying,
    /// All changes have taken effect and are made durable.
    Flushing { number: u64, point: Point, connection: Option<ConnectionId> },
    /// The point is taken.
    Committing { number: u64, point: Point, connection: Option<ConnectionId> },
}

/// Storing of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Saving {
    No,
    Flushing { number: u64, position: Position },
    Storing { number: u64, position: Position },
}

/// The target of one group.
#[derive(Debug)]
pub struct Target {
    stage: Stage,
    offer: Option<Offer>,
    session: Option<Session>,
    /// Steps that were handed out for changes, also of sessions that have ended.
    running: usize,
    saving: Saving,
    saved_at: Duration,
    saved_bytes: u64,
    next_number: u64,
    ready: VecDeque<NumberedStep>,
    messages: VecDeque<(ConnectionId, Message)>,
    events: VecDeque<TargetEvent>,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            stage: Stage::Idle,
            offer: None,
            session: None,
            running: 0,
            saving: Saving::No,
            saved_at: Duration::ZERO,
            saved_bytes: 0,
            next_number: 0,
            ready: VecDeque::new(),
            messages: VecDeque::new(),
            events: VecDeque::new(),
        }
    }
}

impl Target {
    /// A message of the owner, on a connection.
    pub fn handle_message(&mut self, group: &mut Group, now: Duration, connection: ConnectionId, message: Message) {
        if let Message::Begin(begin) = message {
            self.supersede(connection);
            self.offer = Some(Offer { connection, begin });
            self.consider(group, now);
            return;
        }
        let session = self.session.as_mut().filter(|session| session.connection() == connection);
        let Some(session) = session else {
            let sentence = format!("a {} message came without a cycle that has begun", message.kind());
            return self.refuse(connection, Refusal::new(Code::Unexpected, sentence));
        };
        match session.accept(message) {
            Ok(Accepted::Change { bytes }) => self.saved_bytes += bytes,
            Ok(Accepted::End) => {}
            Err(refusal) => return self.refuse(connection, refusal),
        }
        self.proceed(group, now);
    }

    /// A connection is gone.
    pub fn handle_disconnected(&mut self, connection: ConnectionId) {
        self.forget(connection);
    }

    /// Ends the session, if there is one: no further change is begun. Before the group changes its role, its owner
    /// waits until [`Target::is_quiet`].
    pub fn stop(&mut self, refusal: &Refusal) {
        for connection in self.connections() {
            self.refuse(connection, refusal.clone());
        }
    }

    /// Whether no step is being carried out and none can begin.
    pub fn is_quiet(&self) -> bool {
        let is_idle = matches!(self.stage, Stage::Idle | Stage::Applying) && self.saving == Saving::No;
        self.running == 0 && is_idle && self.session.is_none() && self.offer.is_none() && self.ready.is_empty()
    }

    /// An instant: stores the position when it is due.
    pub fn handle_instant(&mut self, group: &mut Group, now: Duration) {
        self.proceed(group, now);
    }

    /// Instant at which the position is due to be stored.
    pub fn due(&self) -> Option<Duration> {
        let has_news = matches!(self.stage, Stage::Applying) && self.saving == Saving::No;
        let has_news = has_news && self.session.as_ref().is_some_and(Session::has_news);
        has_news.then(|| self.saved_at.saturating_add(SAVE_AFTER))
    }

    /// The next step for the store. Steps that were handed out may be carried out in any order, and together.
    pub fn poll_step(&mut self) -> Option<NumberedStep> {
        if let Some(step) = self.ready.pop_front() {
            return Some(step);
        }
        if !matches!(self.stage, Stage::Applying) || self.running >= MAX_STEPS {
            return None;
        }
        let number = self.next_number + 1;
        let step = self.session.as_mut()?.next_step(number)?;
        self.next_number = number;
        self.running += 1;
        Some(NumberedStep { number, step })
    }

    /// The result of a step.
    pub fn handle_done(&mut self, group: &mut Group, now: Duration, number: u64, result: Result<Done, StoreError>) {
        let is_saving = match self.saving {
            Saving::No => false,
            Saving::Flushing { number: own, .. } | Saving::Storing { number: own, .. } => own == number,
        };
        match (is_saving, std::mem::replace(&mut self.stage, Stage::Idle)) {
            (true, stage) => {
                self.stage = stage;
                self.saving_done(group, result);
            }
            (false, Stage::Preparing { number: own, offer, progress, is_gone }) if own == number => {
                self.prepared(group, now, *offer, progress, is_gone, result);
            }
            (false, Stage::Flushing { number: own, point, connection }) if own == number => {
                self.flushed(group, point, connection, result);
            }
            (false, Stage::Committing { number: own, point, connection }) if own == number => {
                self.committed(group, point, connection, result);
            }
            (false, stage) => {
                self.stage = stage;
                self.running = self.running.saturating_sub(1);
                self.change_done(number, result);
            }
        }
        self.proceed(group, now);
    }

    /// The next message for the owner, and the connection on which it is sent.
    pub fn poll_message(&mut self) -> Option<(ConnectionId, Message)> {
        if let Some(message) = self.messages.pop_front() {
            return Some(message);
        }
        let session = self.session.as_mut()?;
        let number = session.take_acknowledgement()?;
        Some((session.connection(), Message::Ack(number)))
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<TargetEvent> {
        self.events.pop_front()
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    fn hand_out(&mut self, step: Step) -> u64 {
        let number = self.number();
        self.ready.push_back(NumberedStep { number, step });
        number
    }

    /// Ends what a connection has begun.
    fn forget(&mut self, connection: ConnectionId) {
        let _ended = self.session.take_if(|session| session.connection() == connection);
        let _withdrawn = self.offer.take_if(|offer| offer.connection == connection);
        match &mut self.stage {
            Stage::Preparing { offer, is_gone, .. } if offer.connection == connection => *is_gone = true,
            Stage::Flushing { connection: own, .. } | Stage::Committing { connection: own, .. } => {
                let _gone = own.take_if(|own| *own == connection);
            }
            _ => {}
        }
        self.messages.retain(|(own, _)| *own != connection);
    }

    fn refuse(&mut self, connection: ConnectionId, refusal: Refusal) {
        self.forget(connection);
        self.events.push_back(TargetEvent::Refused { connection, refusal });
    }

    /// Connections with a session, or with a cycle that was offered.
    fn connections(&self) -> Vec<ConnectionId> {
        let preparing = match &self.stage {
            Stage::Preparing { offer, is_gone: false, .. } => Some(offer.connection),
            _ => None,
        };
        let session = self.session.as_ref().map(Session::connection);
        let offered = self.offer.as_ref().map(|offer| offer.connection);
        let mut connections: Vec<_> = [session, offered, preparing].into_iter().flatten().collect();
        connections.sort_unstable();
        connections.dedup();
        connections
    }

    /// Another connection takes the place of those before it.
    fn supersede(&mut self, connection: ConnectionId) {
        for other in self.connections().into_iter().filter(|other| *other != connection) {
            let sentence = "another connection has begun a cycle of the group";
            self.refuse(other, Refusal::new(Code::Superseded, sentence));
        }
        self.forget(connection);
    }

    /// Whether steps of an earlier session can still change anything.
    fn is_drained(&self) -> bool {
        let is_still =
            self.running == 0 && self.saving == Saving::No && matches!(self.stage, Stage::Idle | Stage::Applying);
        is_still
            || leaves_out(Mutation::Drain) && !matches!(self.stage, Stage::Committing { .. } | Stage::Preparing { .. })
    }

    /// Decides about a cycle that was offered, once everything before it has ended.
    fn consider(&mut self, group: &mut Group, now: Duration) {
        if !self.is_drained() {
            return;
        }
        let Some(offer) = self.offer.take() else { return };
        let begin = &offer.begin;
        if let Err(refusal) = group.check_cycle(begin) {
            return self.refuse(offer.connection, refusal);
        }
        if group.record().newest().is_some_and(|newest| newest.id == begin.point.id) {
            let committed = Message::Committed(Committed { point: begin.point.id });
            return self.messages.push_back((offer.connection, committed));
        }
        self.stage = Stage::Idle;
        let digest = session::digest(begin);
        let same = |progress: &&Progress| progress.digest == digest || leaves_out(Mutation::SameCycle);
        let going_on = group.record().progress.as_ref().filter(same).filter(|_| !group.record().diverged).cloned();
        let back = going_on.is_none();
        let fresh = Progress { point: begin.point.id, base: begin.base, digest, member: 0, block: 0 };
        let progress =
            going_on.map_or(fresh, |going_on| Progress { point: begin.point.id, base: begin.base, digest, ..going_on });
        let keep_diverged = back && group.record().diverged && !leaves_out(Mutation::KeepDiverged);
        let prepare = Prepare {
            members: begin.members.clone(),
            base: begin.base,
            back: back && !leaves_out(Mutation::BackFirst),
            keep_diverged,
            record: group.with_cycle(begin, progress.clone()),
        };
        let number = self.hand_out(Step::Prepare(Box::new(prepare)));
        self.saved_at = now;
        self.saved_bytes = 0;
        self.stage = Stage::Preparing { number, offer: Box::new(offer), progress, is_gone: false };
    }

    fn prepared(
        &mut self,
        group: &mut Group,
        now: Duration,
        Offer { connection, begin }: Offer,
        progress: Progress,
        is_gone: bool,
        result: Result<Done, StoreError>,
    ) {
        let sizes = match result {
            Ok(Done::Prepared(sizes)) => sizes,
            Ok(Done::Ended) => Sizes { working: Vec::new(), base: Vec::new() },
            Err(error) => return self.refuse_unless(is_gone, connection, store_refusal(&error)),
        };
        group.apply(group.with_cycle(&begin, progress.clone()));
        self.saved_at = now;
        if is_gone {
            return;
        }
        match Session::new(connection, begin, progress.position(), sizes) {
            Ok(session) => self.session = Some(session),
            Err(refusal) => return self.refuse(connection, refusal),
        }
        self.stage = Stage::Applying;
        let Position { member, block } = progress.position();
        self.messages.push_back((connection, Message::Ready(Ready { point: progress.point, member, block })));
    }

    fn refuse_unless(&mut self, is_gone: bool, connection: ConnectionId, refusal: Refusal) {
        if !is_gone {
            self.refuse(connection, refusal);
        }
    }

    /// Begins what is due.
    fn proceed(&mut self, group: &mut Group, now: Duration) {
        self.consider(group, now);
        let is_due = self.is_save_due(now);
        let Some(session) = &mut self.session else { return };
        session.retire();
        if !matches!(self.stage, Stage::Applying) || self.saving != Saving::No {
            return;
        }
        if session.is_complete() {
            let (point, connection) = (session.point().clone(), Some(session.connection()));
            match leaves_out(Mutation::Whole) {
                true => self.commit(group, point, connection),
                false => {
                    let number = self.hand_out(Step::Flush);
                    self.stage = Stage::Flushing { number, point, connection };
                }
            }
        } else if session.has_news() && is_due {
            let position = session.position_to_save();
            self.saved_at = now;
            self.saved_bytes = 0;
            match leaves_out(Mutation::PositionAfterFlush) {
                true => self.save(group, position),
                false => self.saving = Saving::Flushing { number: self.hand_out(Step::Flush), position },
            }
        }
    }

    fn is_save_due(&self, now: Duration) -> bool {
        now >= self.saved_at.saturating_add(SAVE_AFTER) || self.saved_bytes >= SAVE_AFTER_BYTES
    }

    fn save(&mut self, group: &Group, position: Position) {
        let record = group.with_position(position);
        let number = self.hand_out(Step::Save(Box::new(record)));
        self.saving = Saving::Storing { number, position };
    }

    fn saving_done(&mut self, group: &mut Group, result: Result<Done, StoreError>) {
        let saving = std::mem::replace(&mut self.saving, Saving::No);
        let connection = self.session.as_ref().map(Session::connection);
        match (saving, result) {
            (Saving::Flushing { position, .. }, Ok(_)) => self.save(group, position),
            (Saving::Storing { position, .. }, Ok(_)) => {
                group.apply(group.with_position(position));
                if let Some(session) = &mut self.session {
                    session.saved(position);
                    self.messages.push_back((session.connection(), Message::Progress(position)));
                }
            }
            (_, Err(error)) => {
                if let Some(connection) = connection {
                    self.refuse(connection, store_refusal(&error));
                }
            }
            (Saving::No, Ok(_)) => {}
        }
    }

    fn change_done(&mut self, number: u64, result: Result<Done, StoreError>) {
        let Some(session) = &mut self.session else { return };
        let is_own = session.done(number);
        let connection = session.connection();
        if let (true, Err(error)) = (is_own, result) {
            self.refuse(connection, store_refusal(&error));
        }
    }

    fn commit(&mut self, group: &Group, point: Point, connection: Option<ConnectionId>) {
        let record = group.with_point(&point);
        let number = self.hand_out(Step::Commit(Box::new((point.clone(), record))));
        self.stage = Stage::Committing { number, point, connection };
    }

    fn flushed(
        &mut self,
        group: &Group,
        point: Point,
        connection: Option<ConnectionId>,
        result: Result<Done, StoreError>,
    ) {
        match (result, connection) {
            (Ok(_), connection) => self.commit(group, point, connection),
            (Err(error), Some(connection)) => self.refuse(connection, store_refusal(&error)),
            (Err(_), None) => {}
        }
    }

    fn committed(
        &mut self,
        group: &mut Group,
        point: Point,
        connection: Option<ConnectionId>,
        result: Result<Done, StoreError>,
    ) {
        match (result, connection) {
            (Ok(_), connection) => {
                group.apply(group.with_point(&point));
                if let Some(connection) = connection {
                    self.session = None;
                    self.messages.push_back((connection, Message::Committed(Committed { point: point.id })));
                }
                self.events.push_back(TargetEvent::Committed(point));
            }
            (Err(error), Some(connection)) => self.refuse(connection, store_refusal(&error)),
            (Err(_), None) => {}
        }
    }
}

/// What the owner is answered when the store has failed.
fn store_refusal(error: &StoreError) -> Refusal {
    match error {
        StoreError::NoSpace => Refusal::new(Code::NoSpace, "the pool of the replica has no room"),
        StoreError::Failed { reason } => {
            Refusal::new(Code::StoreFailed, format!("the replica cannot be changed: {reason}"))
        }
    }
}
