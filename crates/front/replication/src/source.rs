//! The source of a cycle: from the difference of two points to messages.
//!
//! The changes go through the members in their order, and through each from its first block to its last. So a place
//! that was passed is final, and a position says all about a cycle that was interrupted. The order is kept while
//! reads of blocks end in any order: what was read waits for what is before it.
//!
//! A cut link ends nothing but the session: [`Source::handle_connected`] offers the same cycle again, and it goes on
//! where the target wants it.

mod shipped;
#[cfg(test)]
mod tests;
mod throttle;

use crate::mutations::{Mutation, leaves_out};
use crate::names::{GroupId, MemberId, Name, Point, PointId};
use crate::place::{BLOCK_BYTES, Position, Range};
use crate::refusal::{Code, Refusal};
use crate::store::{Blocks, Change, Run, Runs, RunsRequest, Share, Snapshots, StoreError, Tree};
use crate::wire::{
    Begin, BeginMember, Clone as CloneMessage, CloneFrom, Commit, Committed, Lost, MAX_WRITE_BLOCKS, Message, Ready,
    Resize, Start, WINDOW_BYTES, Write, Zero,
};
use shipped::Shipped;
use std::collections::VecDeque;
use std::time::Duration;
use throttle::Throttle;

/// Most entries of the queue of changes, whatever their size.
const MAX_QUEUED: usize = 4096;

/// Member of a cycle at its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanMember {
    /// Identity.
    pub id: MemberId,
    /// Name.
    pub name: Name,
    /// What its changes begin with.
    pub start: Start,
    /// Blocks of that.
    pub start_blocks: u64,
    /// Blocks in the new point.
    pub blocks: u64,
}

/// Plan of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The group.
    pub group: GroupId,
    /// The new point.
    pub point: Point,
    /// The common point with which the cycle begins; `None` to seed.
    pub base: Option<PointId>,
    /// Members, parents first; 1 to 256.
    pub members: Vec<PlanMember>,
}

/// Request to the store. The ticket comes back with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceRequest {
    /// A part of the difference.
    Runs {
        /// Ticket.
        ticket: u64,
        /// Request.
        request: RunsRequest,
    },
    /// Content of blocks.
    Read {
        /// Ticket.
        ticket: u64,
        /// Blocks.
        range: Range,
    },
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceResult {
    /// Result of [`SourceRequest::Runs`].
    Runs(Runs),
    /// Result of [`SourceRequest::Read`].
    Blocks(Blocks),
}

impl SourceRequest {
    /// Ticket.
    pub const fn ticket(&self) -> u64 {
        match self {
            Self::Runs { ticket, .. } | Self::Read { ticket, .. } => *ticket,
        }
    }

    /// Carries the request out.
    pub async fn perform(&self, snapshots: &impl Snapshots) -> Result<SourceResult, StoreError> {
        match self {
            Self::Runs { request, .. } => snapshots.runs(*request).await.map(SourceResult::Runs),
            Self::Read { range, .. } => snapshots.read(*range).await.map(SourceResult::Blocks),
        }
    }
}

/// Phase of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourcePhase {
    /// There is no session.
    Offline,
    /// The cycle was offered; the target has not answered.
    Offered,
    /// Changes are found, read and sent.
    Shipping,
    /// Everything was sent.
    Committing,
    /// The target has the point.
    Done,
    /// The cycle has ended without it: a snapshot is gone, or the store has failed.
    Failed(StoreError),
}

/// What the target has confirmed: the owner of the group stores what follows ([`crate::group::Group::confirmed`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It has gone back to the base, or goes on from there, and keeps it.
    Base(PointId),
    /// It has the point.
    Point(PointId),
}

/// What was sent, and what was not because it did not have to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shipment {
    /// Blocks sent with their content.
    pub data_blocks: u64,
    /// Blocks sent as unmapped.
    pub zero_blocks: u64,
    /// Blocks sent as copies of others.
    pub shared_blocks: u64,
    /// Blocks that could not be read.
    pub lost_blocks: u64,
}

/// Change that waits to be sent.
#[derive(Debug)]
enum Queued {
    Message(Message),
    Reading { ticket: u64, range: Range },
}

/// The source of one cycle.
#[derive(Debug)]
pub struct Source {
    plan: Plan,
    phase: SourcePhase,
    walk: Walk,
    queue: VecDeque<Queued>,
    queued_blocks: u64,
    requests: VecDeque<SourceRequest>,
    next_ticket: u64,
    shipped: Shipped,
    throttle: Throttle,
    window: Window,
    greeting: VecDeque<Message>,
    durable: Option<Position>,
    shipment: Shipment,
}

/// Where the walk through the difference is.
#[derive(Debug, Default)]
struct Walk {
    cursor: Position,
    /// Ticket of the part that was asked for.
    asked: Option<u64>,
    /// Shared sub-trees that the cursor is in, from the outermost.
    inside: Vec<(Tree, Range)>,
    is_over: bool,
}

/// Changes of this session that the target has not acknowledged.
#[derive(Debug, Default)]
struct Window {
    sizes: VecDeque<usize>,
    bytes: usize,
    acknowledged: u64,
}

impl Window {
    fn has_room(&self, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= WINDOW_BYTES
    }

    fn sent(&mut self, bytes: usize) {
        self.sizes.push_back(bytes);
        self.bytes += bytes;
    }

    /// Changes up to a number have taken effect. `None` if they were not sent.
    fn acknowledge(&mut self, number: u64) -> Option<()> {
        while self.acknowledged < number {
            self.bytes -= self.sizes.pop_front()?;
            self.acknowledged += 1;
        }
        (self.acknowledged == number).then_some(())
    }
}

impl Source {
    /// A cycle without a session.
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            phase: SourcePhase::Offline,
            walk: Walk::default(),
            queue: VecDeque::new(),
            queued_blocks: 0,
            requests: VecDeque::new(),
            next_ticket: 0,
            shipped: Shipped::default(),
            throttle: Throttle::default(),
            window: Window::default(),
            greeting: VecDeque::new(),
            durable: None,
            shipment: Shipment::default(),
        }
    }

    /// The plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The phase.
    pub const fn phase(&self) -> &SourcePhase {
        &self.phase
    }

    /// What was sent in all sessions.
    pub const fn shipment(&self) -> Shipment {
        self.shipment
    }

    /// Position up to which the target has the cycle durably, as far as is known.
    pub const fn durable(&self) -> Option<Position> {
        self.durable
    }

    /// Sets the most bytes per second; `None` for no limit.
    pub fn set_limit(&mut self, bytes_per_second: Option<u64>) {
        self.throttle.set(bytes_per_second);
    }

    /// Instant from which [`Source::poll_message`] has a message that the limit has held back.
    pub fn due(&self) -> Option<Duration> {
        let Some(Queued::Message(message)) = self.queue.front() else { return None };
        let waits = self.phase == SourcePhase::Shipping && self.window.has_room(message.window_bytes());
        waits.then(|| self.throttle.opens())
    }

    /// A link is open, and both ends have told their standing: offers the cycle.
    pub fn handle_connected(&mut self) {
        if self.is_live() {
            self.end_session();
            self.phase = SourcePhase::Offered;
            self.greeting.push_back(Message::Begin(self.begin()));
        }
    }

    /// The link is gone.
    pub fn handle_disconnected(&mut self) {
        if self.is_live() {
            self.end_session();
            self.phase = SourcePhase::Offline;
        }
    }

    /// A message of the target. The refusal is the answer to it; it ends the session.
    pub fn handle_message(&mut self, message: Message) -> Result<Option<Confirmation>, Refusal> {
        match (&self.phase, message) {
            (SourcePhase::Offered, Message::Ready(ready)) => self.start(ready),
            (SourcePhase::Offered | SourcePhase::Committing, Message::Committed(Committed { point })) => {
                self.expect(point)?;
                self.end_session();
                self.phase = SourcePhase::Done;
                Ok(Some(Confirmation::Point(point)))
            }
            (SourcePhase::Shipping | SourcePhase::Committing, Message::Ack(number)) => {
                let sentence = "more changes are acknowledged than were sent, or fewer than before";
                self.window.acknowledge(number).ok_or_else(|| Refusal::new(Code::Unexpected, sentence))?;
                Ok(None)
            }
            (SourcePhase::Shipping | SourcePhase::Committing, Message::Progress(position)) => {
                self.durable = Some(position);
                Ok(None)
            }
            (_, message) => {
                let sentence = format!("a {} message came where none is expected", message.kind());
                Err(Refusal::new(Code::Unexpected, sentence))
            }
        }
    }

    /// The next request to the store.
    pub fn poll_request(&mut self) -> Option<SourceRequest> {
        if self.phase != SourcePhase::Shipping {
            return None;
        }
        if self.requests.is_empty() && self.walk.asked.is_none() && !self.walk.is_over && self.has_room() {
            let ticket = self.ticket();
            self.walk.asked = Some(ticket);
            let below = self.walk.inside.last().map(|(tree, _)| tree.level);
            let request = RunsRequest { from: self.walk.cursor, below };
            return Some(SourceRequest::Runs { ticket, request });
        }
        self.requests.pop_front()
    }

    /// The result of a request. Those of an earlier session are ignored.
    pub fn handle_result(&mut self, ticket: u64, result: Result<SourceResult, StoreError>) {
        if self.phase != SourcePhase::Shipping {
            return;
        }
        let is_runs = self.walk.asked == Some(ticket);
        let at = self
            .queue
            .iter()
            .position(|queued| matches!(queued, Queued::Reading { ticket: own, .. } if *own == ticket));
        match (result, at) {
            (Ok(SourceResult::Runs(runs)), _) if is_runs => {
                self.walk.asked = None;
                self.take_runs(runs);
            }
            (Ok(SourceResult::Blocks(blocks)), Some(at)) => self.take_blocks(at, &blocks),
            (Err(error), at) if is_runs || at.is_some() => {
                self.end_session();
                self.phase = SourcePhase::Failed(error);
            }
            _ => {}
        }
    }

    /// The next message for the target.
    pub fn poll_message(&mut self, now: Duration) -> Option<Message> {
        if let Some(message) = self.greeting.pop_front() {
            return Some(message);
        }
        if self.phase != SourcePhase::Shipping || now < self.throttle.opens() {
            return None;
        }
        match self.queue.front()? {
            Queued::Message(message) if self.window.has_room(message.window_bytes()) => {}
            Queued::Message(_) | Queued::Reading { .. } => return None,
        }
        let Some(Queued::Message(message)) = self.queue.pop_front() else { return None };
        if let Message::Commit(_) = message {
            self.phase = SourcePhase::Committing;
            return Some(message);
        }
        let bytes = message.window_bytes();
        self.throttle.take(now, bytes);
        self.window.sent(bytes);
        self.count(&message);
        Some(message)
    }

    fn is_live(&self) -> bool {
        !matches!(self.phase, SourcePhase::Done | SourcePhase::Failed(_))
    }

    fn begin(&self) -> Begin {
        let members = self.plan.members.iter();
        let members = members.map(|own| BeginMember { id: own.id, name: own.name.clone(), start: own.start });
        let Plan { group, point, base, .. } = &self.plan;
        Begin { group: *group, point: point.clone(), base: *base, members: members.collect() }
    }

    fn expect(&self, point: PointId) -> Result<(), Refusal> {
        match point == self.plan.point.id {
            true => Ok(()),
            false => Err(Refusal::new(Code::Unexpected, format!("the answer is about another cycle, {point}"))),
        }
    }

    fn end_session(&mut self) {
        self.walk = Walk { is_over: true, ..Walk::default() };
        self.queue.clear();
        self.queued_blocks = 0;
        self.requests.clear();
        self.greeting.clear();
        self.window = Window::default();
    }

    /// The target wants the changes from a position on.
    fn start(&mut self, ready: Ready) -> Result<Option<Confirmation>, Refusal> {
        self.expect(ready.point)?;
        let position = ready.position();
        let end = self.end();
        let is_inside = match self.plan.members.get(usize::from(position.member)) {
            Some(member) => position.block <= member.blocks.max(member.start_blocks),
            None => position == end,
        };
        if !is_inside {
            return Err(Refusal::new(Code::OutsideGroup, "the position of the target is not in the group"));
        }
        self.durable = Some(position);
        self.phase = SourcePhase::Shipping;
        self.walk = Walk { cursor: position, ..Walk::default() };
        self.push(Message::Progress(position));
        match position.block {
            0 => self.enter(position.member),
            _ => self.advance(position),
        }
        Ok(self.plan.base.map(Confirmation::Base))
    }

    const fn end_of(&self) -> usize {
        self.plan.members.len()
    }

    fn end(&self) -> Position {
        Position::end(u16::try_from(self.end_of()).unwrap_or(u16::MAX))
    }

    fn ticket(&mut self) -> u64 {
        self.next_ticket += 1;
        self.next_ticket
    }

    fn has_room(&self) -> bool {
        let bytes = usize::try_from(self.queued_blocks).unwrap_or(usize::MAX).saturating_mul(BLOCK_BYTES);
        self.queue.len() < MAX_QUEUED && bytes < WINDOW_BYTES
    }

    fn push(&mut self, message: Message) {
        self.queue.push_back(Queued::Message(message));
    }

    /// The walk comes to the start of a member, or to the end of the group.
    fn enter(&mut self, member: u16) {
        self.walk.cursor = Position { member, block: 0 };
        self.walk.inside.clear();
        match self.plan.members.get(usize::from(member)) {
            Some(own) => {
                if own.blocks != own.start_blocks {
                    let blocks = own.blocks;
                    self.push(Message::Resize(Resize { member, blocks }));
                }
                self.advance(self.walk.cursor);
            }
            None => {
                self.walk.is_over = true;
                self.push(Message::Progress(self.end()));
                self.push(Message::Commit(Commit { point: self.plan.point.id }));
            }
        }
    }

    /// The walk has come to a position: notes sub-trees that it has left, and goes on to the next member at the end.
    fn advance(&mut self, to: Position) {
        self.walk.cursor = to;
        while let Some((tree, range)) = self.walk.inside.pop_if(|(_, range)| range.end() <= to) {
            self.shipped.note(tree.share, range.start);
        }
        let blocks = self.plan.members.get(usize::from(to.member)).map_or(0, |own| own.blocks);
        if to.block >= blocks {
            self.enter(to.member.saturating_add(1));
        }
    }

    fn take_runs(&mut self, part: Runs) {
        let Position { member, block } = self.walk.cursor;
        let blocks = self.plan.members.get(usize::from(member)).map_or(0, |own| own.blocks);
        for Run { first, change } in part.runs {
            let start = Position { member, block: first };
            match change {
                Change::Zero { count } => self.push(Message::Zero(Zero { range: Range { start, count } })),
                Change::Data { shares } => self.take_data(start, &shares),
            }
        }
        let until = Position { member, block: part.until.min(blocks).max(block) };
        match part.tree {
            None => self.advance(until),
            Some(tree) => self.take_tree(until, tree),
        }
    }

    fn take_tree(&mut self, start: Position, tree: Tree) {
        self.advance_within(start);
        let range = Range { start, count: tree.count };
        let blocks = self.plan.members.get(usize::from(start.member)).map_or(0, |own| own.blocks);
        let is_within = range.end().block <= blocks;
        match self.shipped.find(tree.share, tree.count, start).filter(|_| is_within) {
            Some(from) => {
                self.push_clone(range, from);
                self.advance(range.end());
            }
            None => self.walk.inside.push((tree, range)),
        }
    }

    /// As [`Source::advance`], but there are further blocks in the member.
    fn advance_within(&mut self, to: Position) {
        self.walk.cursor = to;
        while let Some((tree, range)) = self.walk.inside.pop_if(|(_, range)| range.end() <= to) {
            self.shipped.note(tree.share, range.start);
        }
    }

    fn push_clone(&mut self, to: Range, from: Position) {
        self.push(Message::Clone(CloneMessage { to, origin: CloneFrom::Working, from }));
    }

    /// Splits blocks with content into copies of what was shipped, and pieces to be read.
    fn take_data(&mut self, start: Position, shares: &[Option<Share>]) {
        let mut rest = shares;
        let mut at = start;
        while let Some(first) = rest.first() {
            let known = first.and_then(|share| self.shipped.find(share, 1, at));
            let length = match known {
                Some(from) => {
                    let follows = |(offset, share): &(u64, &Option<Share>)| {
                        let found = share.and_then(|share| self.shipped.find(share, 1, at));
                        found == Some(from.after(*offset))
                    };
                    // The source ends before the destination begins.
                    (0_u64..).zip(rest).take_while(follows).count()
                }
                None => {
                    let is_new =
                        |share: &&Option<Share>| share.is_none_or(|share| self.shipped.find(share, 1, at).is_none());
                    rest.iter().take(MAX_WRITE_BLOCKS).take_while(is_new).count()
                }
            }
            .max(1);
            let range = Range { start: at, count: length as u64 };
            let (piece, left) = rest.split_at(length);
            match known {
                Some(from) => self.push_clone(range, from),
                None => self.read(range, piece),
            }
            rest = left;
            at = range.end();
        }
    }

    fn read(&mut self, range: Range, shares: &[Option<Share>]) {
        for (offset, share) in (0_u64..).zip(shares) {
            if let Some(share) = share {
                self.shipped.note(*share, range.start.after(offset));
            }
        }
        let ticket = self.ticket();
        self.queued_blocks += range.count;
        self.queue.push_back(Queued::Reading { ticket, range });
        self.requests.push_back(SourceRequest::Read { ticket, range });
    }

    /// Puts what was read, and what could not be read, in the place of the entry that waits for it.
    fn take_blocks(&mut self, at: usize, blocks: &Blocks) {
        let Some(Queued::Reading { range, .. }) = self.queue.get(at) else { return };
        let range = *range;
        let mut messages = VecDeque::new();
        let mut rest = &blocks.checksums[..];
        let mut offset = 0;
        while let Some(first) = rest.first() {
            let length = rest.iter().take_while(|crc| crc.is_some() == first.is_some()).count();
            let (piece, left) = rest.split_at(length);
            let start = range.start.after(offset as u64);
            if first.is_some() {
                let data = blocks.data.slice(offset * BLOCK_BYTES..(offset + length) * BLOCK_BYTES);
                let checksums = piece.iter().copied().flatten().collect();
                messages.push_back(Message::Write(Write { start, checksums, data }));
            } else if !leaves_out(Mutation::Lost) {
                messages.push_back(Message::Lost(Lost { range: Range { start, count: length as u64 } }));
            }
            rest = left;
            offset += length;
        }
        assert_eq!(offset as u64, range.count, "the store has read another number of blocks");
        // Blocks count until they are sent; those without content no longer.
        let lost = blocks.checksums.iter().filter(|crc| crc.is_none()).count() as u64;
        self.queued_blocks -= lost;
        let behind = self.queue.split_off(at + 1);
        self.queue.pop_back();
        self.queue.extend(messages.into_iter().map(Queued::Message));
        self.queue.extend(behind);
    }

    /// Counts a message that is sent.
    fn count(&mut self, message: &Message) {
        match message {
            Message::Write(write) => {
                self.queued_blocks -= write.range().count;
                self.shipment.data_blocks += write.range().count;
            }
            Message::Zero(zero) => self.shipment.zero_blocks += zero.range.count,
            Message::Clone(clone) => self.shipment.shared_blocks += clone.to.count,
            Message::Lost(lost) => self.shipment.lost_blocks += lost.range.count,
            _ => {}
        }
    }
}
