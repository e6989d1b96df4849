//! One array: its store, the state machines over it, and its ends of connections.

use crate::store::{Image, Looking, Store, View};
use random::Random;
use replication::group::{Group, Verdict};
use replication::source::{Source, SourcePhase, SourceRequest};
use replication::store::Step;
use replication::target::{ConnectionId, NumberedStep, Target, TargetEvent};
use replication::wire::{Hello, Link, LinkEvent, Message};
use replication::{Code, GroupId, PointId, Refusal};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The end of a connection at an array.
pub(crate) struct End {
    pub link: Link,
    /// Bytes on their way to it.
    pub incoming: VecDeque<u8>,
    is_agreed: bool,
}

/// The cycle that an array sends.
pub(crate) struct Sending {
    pub source: Source,
    pub view: View,
    connection: Option<ConnectionId>,
    requests: Vec<SourceRequest>,
    sessions: u32,
}

/// An array.
pub(crate) struct Side {
    pub name: &'static str,
    pub store: Store,
    pub group: Group,
    pub target: Target,
    pub sending: Option<Sending>,
    pub ends: BTreeMap<ConnectionId, End>,
    pub verdict: Option<Verdict>,
    steps: Vec<NumberedStep>,
    /// Changes take long.
    pub slow: bool,
}

/// A call of the store, which never waits.
pub(crate) fn end<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the store in memory never waits"),
    }
}

impl Side {
    pub fn new(name: &'static str, id: GroupId, store: Store) -> Self {
        let group = Group::new(id, store.look(|image| image.record.clone()));
        Self {
            name,
            store,
            group,
            target: Target::default(),
            sending: None,
            ends: BTreeMap::new(),
            verdict: None,
            steps: Vec::new(),
            slow: false,
        }
    }

    /// The power fails, and comes back.
    pub fn crash(&mut self, random: &Random) {
        self.store.crash(random);
        self.restart();
    }

    fn restart(&mut self) {
        self.group = Group::new(self.group.id(), self.store.look(|image| image.record.clone()));
        self.target = Target::default();
        self.sending = None;
        self.ends.clear();
        self.verdict = None;
        self.steps.clear();
    }

    /// A connection comes up.
    pub fn connect(&mut self, now: Duration, connection: ConnectionId, hello: Hello) {
        let end = End { link: Link::new(hello, now), incoming: VecDeque::new(), is_agreed: false };
        self.ends.insert(connection, end);
    }

    /// Whether nothing waits for the store, and no record is being stored.
    pub fn is_storing(&self) -> bool {
        let stores = |step: &NumberedStep| matches!(step.step, Step::Prepare(_) | Step::Save(_) | Step::Commit(_));
        self.steps.iter().any(stores)
    }

    /// The newest connection that is agreed on.
    pub fn newest(&self) -> Option<ConnectionId> {
        self.ends.iter().rev().find(|(_, end)| end.is_agreed && !end.link.is_over()).map(|(id, _)| *id)
    }

    /// Begins to send a cycle.
    pub fn send_cycle(&mut self, source: Source, view: View) {
        self.sending = Some(Sending { source, view, connection: None, requests: Vec::new(), sessions: 0 });
    }

    /// Tells the peer the standing of this array.
    pub fn tell(&mut self, now: Duration) {
        let standing = Message::Standing(self.group.standing());
        if let Some(end) = self.newest().and_then(|newest| self.ends.get_mut(&newest)) {
            end.link.send(now, &standing);
        }
    }

    /// Applies a change that an administrator or the group has decided, with the change of the volumes in one commit.
    pub fn transact(&mut self, record: replication::Record, change: impl Fn(&mut Image)) {
        self.store.administer(|image| {
            change(image);
            image.record = record.clone();
        });
        self.group.apply(record);
    }

    /// Bytes arrive.
    pub fn receive(&mut self, now: Duration, connection: ConnectionId, bytes: usize) {
        let Some(end) = self.ends.get_mut(&connection) else { return };
        let count = bytes.min(end.incoming.len());
        let piece: Vec<u8> = end.incoming.drain(..count).collect();
        end.link.handle_bytes(now, &piece);
        while let Some(event) = self.ends.get_mut(&connection).and_then(|end| end.link.poll_event()) {
            self.handle(now, connection, event);
        }
    }

    fn handle(&mut self, now: Duration, connection: ConnectionId, event: LinkEvent) {
        match event {
            LinkEvent::Agreed { .. } => {
                if let Some(end) = self.ends.get_mut(&connection) {
                    end.is_agreed = true;
                    let standing = Message::Standing(self.group.standing());
                    end.link.send(now, &standing);
                }
            }
            LinkEvent::Message { message: Message::Standing(standing), .. } => {
                if self.newest() == Some(connection) {
                    self.verdict = Some(self.group.handle_standing(standing));
                }
            }
            LinkEvent::Message { message, .. } => {
                let sending = self.sending.as_mut().filter(|sending| sending.connection == Some(connection));
                match sending {
                    Some(sending) => match sending.source.handle_message(message) {
                        Ok(None) => {}
                        Ok(Some(confirmation)) => {
                            let record = self.group.confirmed(confirmation);
                            self.transact(record, |_| ());
                        }
                        Err(refusal) => self.refuse(connection, refusal),
                    },
                    // An answer to what this array no longer sends.
                    None if matches!(message, Message::Ready(_) | Message::Ack(_) | Message::Committed(_)) => {}
                    None => self.target.handle_message(&mut self.group, now, connection, message),
                }
            }
            LinkEvent::Refused(_) | LinkEvent::Failed(_) | LinkEvent::Silent => self.lose(connection),
        }
    }

    fn refuse(&mut self, connection: ConnectionId, refusal: Refusal) {
        if let Some(end) = self.ends.get_mut(&connection) {
            end.link.refuse(refusal);
        }
        self.lose(connection);
    }

    /// A connection is of no use any more; its output may still leave.
    pub fn lose(&mut self, connection: ConnectionId) {
        if self.newest().is_none_or(|newest| newest <= connection) {
            self.verdict = None;
            self.group.handle_disconnected();
        }
        self.target.handle_disconnected(connection);
        if let Some(sending) = self.sending.as_mut().filter(|sending| sending.connection == Some(connection)) {
            sending.connection = None;
            sending.requests.clear();
            sending.source.handle_disconnected();
        }
    }

    /// Moves everything that needs no store. Returns the point that the peer has confirmed.
    pub fn settle(&mut self, now: Duration) -> Option<PointId> {
        for end in self.ends.values_mut() {
            end.link.handle_instant(now);
        }
        let silent: Vec<_> = self.ends.iter().filter(|(_, end)| end.link.is_over()).map(|(id, _)| *id).collect();
        silent.into_iter().for_each(|id| self.lose(id));
        self.ends.retain(|_, end| !end.link.is_over() || end.link.output_bytes() > 0);
        self.target.handle_instant(&mut self.group, now);
        self.settle_target(now);
        self.settle_source(now)
    }

    fn settle_target(&mut self, now: Duration) {
        while let Some(step) = self.target.poll_step() {
            self.steps.push(step);
        }
        while let Some((connection, message)) = self.target.poll_message() {
            if let Some(end) = self.ends.get_mut(&connection) {
                end.link.send(now, &message);
            }
        }
        while let Some(event) = self.target.poll_event() {
            match event {
                TargetEvent::Refused { connection, refusal } => self.refuse(connection, refusal),
                TargetEvent::Committed(_) => self.tell(now),
            }
        }
    }

    fn settle_source(&mut self, now: Duration) -> Option<PointId> {
        let newest = self.newest();
        let may_send = matches!(self.verdict, Some(Verdict::Send { .. }));
        let sending = self.sending.as_mut()?;
        if sending.connection != newest && may_send {
            sending.source.handle_disconnected();
            sending.requests.clear();
            sending.connection = newest;
            sending.sessions += 1;
            sending.source.handle_connected();
        }
        let end = sending.connection.and_then(|connection| self.ends.get_mut(&connection));
        if let Some(end) = end {
            while let Some(message) = sending.source.poll_message(now) {
                end.link.send(now, &message);
            }
        }
        while let Some(request) = sending.source.poll_request() {
            sending.requests.push(request);
        }
        match sending.source.phase() {
            SourcePhase::Done => {
                let point = sending.source.plan().point.id;
                self.sending = None;
                self.tell(now);
                Some(point)
            }
            SourcePhase::Failed(_) => {
                self.sending = None;
                None
            }
            _ => None,
        }
    }

    /// Carries out one of the steps and requests that wait, in any order. True if what is durable may have changed.
    pub fn work(&mut self, now: Duration, random: &Random) -> bool {
        let requests = self.sending.as_ref().map_or(0, |sending| sending.requests.len());
        let at = random.index(self.steps.len() + requests);
        if let Some(sending) = self.sending.as_mut().filter(|_| at < requests) {
            let request = sending.requests.swap_remove(at);
            let looking = Looking { view: &sending.view, store: &self.store, random };
            sending.source.handle_result(request.ticket(), end(request.perform(&looking)));
            return false;
        }
        if self.steps.is_empty() {
            return false;
        }
        let at = at - requests;
        let is_short = matches!(self.steps[at].step, Step::Prepare(_) | Step::Save(_) | Step::Flush);
        if self.slow && !is_short && random.chance(95) {
            return false;
        }
        let NumberedStep { number, step } = self.steps.swap_remove(at);
        let result = end(step.perform(&self.store));
        self.target.handle_done(&mut self.group, now, number, result);
        matches!(step, Step::Prepare(_) | Step::Commit(_) | Step::Flush)
    }

    /// Whether steps of a cycle wait that would change the volumes.
    pub fn has_changes(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Data blocks that were sent, and blocks that have changed, if the cycle had one session.
    pub fn shipped(&self) -> Option<(u64, u64)> {
        let sending = self.sending.as_ref().filter(|sending| sending.sessions == 1)?;
        Some((sending.source.shipment().data_blocks, sending.view.changed()))
    }

    /// Stops what is received before the role changes. False until it is quiet.
    pub fn quieten(&mut self) -> bool {
        self.target.stop(&Refusal::new(Code::Superseded, "the group changes its role"));
        while let Some(event) = self.target.poll_event() {
            if let TargetEvent::Refused { connection, refusal } = event {
                self.refuse(connection, refusal);
            }
        }
        self.target.is_quiet() && self.steps.is_empty()
    }
}
