//! The session of a connection: its changes in their order, from their arrival until they have taken effect.

use crate::mutations::{Mutation, leaves_out};
use crate::names::Point;
use crate::place::Position;
use crate::refusal::{Code, Refusal};
use crate::store::{Sizes, Step};
use crate::target::ConnectionId;
use crate::target::frontier::Frontier;
use crate::wire::{Begin, CloneFrom, Message, WINDOW_BYTES};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;

/// Most changes that are ahead of one that takes long.
const MAX_AHEAD: usize = 1024;

/// What identifies a cycle: SHA-256 of the message that begins it.
pub(super) fn digest(begin: &Begin) -> [u8; 32] {
    Sha256::digest(Message::Begin(begin.clone()).encode()).into()
}

/// What was accepted.
pub(super) enum Accepted {
    /// A change.
    Change { bytes: u64 },
    /// The end of the changes.
    End,
}

/// A change that has not taken effect.
#[derive(Debug)]
struct Pending {
    /// `None` for one that only moves the position.
    step: Option<Step>,
    /// Number, once it was handed out.
    number: Option<u64>,
    is_done: bool,
    waits_for_earlier: bool,
    holds_later: bool,
    /// Position when it has taken effect.
    after: Position,
    /// Bytes of its message; 0 for the first steps of several.
    bytes: usize,
}

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    connection: ConnectionId,
    point: Point,
    frontier: Frontier,
    has_started: bool,
    has_ended: bool,
    /// In the order of their messages; those that were handed out are first.
    pending: VecDeque<Pending>,
    handed_out: usize,
    held_bytes: usize,
    applied: Position,
    saved: Position,
    acknowledged: u64,
    told: u64,
}

fn unexpected(sentence: impl Into<String>) -> Refusal {
    Refusal::new(Code::Unexpected, sentence)
}

impl Session {
    /// A session that goes on from a position.
    pub fn new(connection: ConnectionId, begin: Begin, position: Position, sizes: Sizes) -> Result<Self, Refusal> {
        let frontier = Frontier::new(&begin.members, position, sizes)?;
        Ok(Self {
            connection,
            point: begin.point,
            frontier,
            has_started: false,
            has_ended: false,
            pending: VecDeque::new(),
            handed_out: 0,
            held_bytes: 0,
            applied: position,
            saved: position,
            acknowledged: 0,
            told: 0,
        })
    }

    pub const fn connection(&self) -> ConnectionId {
        self.connection
    }

    pub const fn point(&self) -> &Point {
        &self.point
    }

    /// Accepts a message of the cycle.
    pub fn accept(&mut self, message: Message) -> Result<Accepted, Refusal> {
        if self.has_ended {
            return Err(unexpected(format!("a {} message came after the end of the cycle", message.kind())));
        }
        if let Message::Commit(commit) = message {
            if commit.point != self.point.id {
                return Err(unexpected("the end of another cycle came"));
            }
            if self.frontier.position() != self.frontier.end() {
                return Err(unexpected("the cycle ends before its changes have come to the end of the group"));
            }
            self.has_ended = true;
            return Ok(Accepted::End);
        }
        let bytes = message.window_bytes();
        if self.held_bytes.saturating_add(bytes) > WINDOW_BYTES {
            let sentence = "more bytes are on their way than the window permits";
            return Err(Refusal::new(Code::WindowExceeded, sentence));
        }
        if !self.has_started && message != Message::Progress(self.frontier.position()) {
            return Err(unexpected("the cycle does not go on at the position that was asked for"));
        }
        self.has_started = true;
        self.plan(message, bytes)?;
        Ok(Accepted::Change { bytes: bytes as u64 })
    }

    fn plan(&mut self, message: Message, bytes: usize) -> Result<(), Refusal> {
        let step = match message {
            Message::Progress(position) => {
                self.reach(position)?;
                None
            }
            Message::Resize(resize) => {
                self.reach(Position { member: resize.member, block: 0 })?;
                self.frontier.resize(resize)?;
                Some(Step::Resize { member: resize.member, blocks: resize.blocks })
            }
            Message::Write(write) => {
                self.reach(write.start)?;
                self.frontier.pass(write.range())?;
                Some(Step::Write(write))
            }
            Message::Zero(zero) => {
                self.reach(zero.range.start)?;
                self.frontier.pass(zero.range)?;
                Some(Step::Zero(zero.range))
            }
            Message::Lost(lost) => {
                self.reach(lost.range.start)?;
                self.frontier.pass(lost.range)?;
                Some(Step::Lose(lost.range))
            }
            Message::Clone(clone) => {
                self.reach(clone.to.start)?;
                self.frontier.check_source(&clone)?;
                self.frontier.pass(clone.to)?;
                Some(Step::Clone { to: clone.to, origin: clone.origin, from: clone.from })
            }
            other => return Err(unexpected(format!("a {} message is none of the source of a cycle", other.kind()))),
        };
        self.push(step, self.frontier.position(), bytes);
        Ok(())
    }

    /// Moves the frontier, and plans the starts of members on the way.
    fn reach(&mut self, position: Position) -> Result<(), Refusal> {
        for (step, member) in self.frontier.reach(position)? {
            self.push(Some(step), Position { member, block: 0 }, 0);
        }
        Ok(())
    }

    fn push(&mut self, step: Option<Step>, after: Position, bytes: usize) {
        let is_whole = matches!(step, Some(Step::Empty { .. } | Step::Derive { .. } | Step::Resize { .. }));
        let is_copy = matches!(step, Some(Step::Clone { origin: CloneFrom::Working, .. }));
        let waits_for_earlier = is_whole || is_copy && !leaves_out(Mutation::CloneWaits);
        let pending =
            Pending { step, number: None, is_done: false, waits_for_earlier, holds_later: is_whole, after, bytes };
        self.held_bytes += bytes;
        self.pending.push_back(pending);
    }

    /// The next step that may begin, which gets this number.
    pub fn next_step(&mut self, number: u64) -> Option<Step> {
        if self.handed_out >= MAX_AHEAD {
            return None;
        }
        loop {
            let running = self.pending.iter().take(self.handed_out);
            let (mut is_running, mut is_held) = (false, false);
            for earlier in running.filter(|earlier| !earlier.is_done) {
                is_running = true;
                is_held |= earlier.holds_later;
            }
            let next = self.pending.get_mut(self.handed_out)?;
            if is_held || is_running && next.waits_for_earlier {
                return None;
            }
            self.handed_out += 1;
            match next.step.take() {
                Some(step) => {
                    next.number = Some(number);
                    return Some(step);
                }
                None => next.is_done = true,
            }
            self.retire();
        }
    }

    /// A step has taken effect, or failed. False if it is not of this session.
    pub fn done(&mut self, number: u64) -> bool {
        let own = self.pending.iter_mut().take(self.handed_out).find(|pending| pending.number == Some(number));
        match own {
            Some(pending) => {
                pending.is_done = true;
                true
            }
            None => false,
        }
    }

    /// Takes note of what has taken effect, and everything before it.
    pub fn retire(&mut self) {
        // What only moves the position needs no step.
        while let Some(next) = self.pending.get_mut(self.handed_out).filter(|next| next.step.is_none()) {
            next.is_done = true;
            self.handed_out += 1;
        }
        while self.pending.front().is_some_and(|first| first.is_done) {
            let Some(first) = self.pending.pop_front() else { return };
            self.handed_out -= 1;
            self.applied = first.after;
            self.held_bytes -= first.bytes;
            self.acknowledged += u64::from(first.bytes > 0);
        }
    }

    /// Number of changes that have taken effect, if it was not told yet.
    pub fn take_acknowledgement(&mut self) -> Option<u64> {
        let news = self.acknowledged > self.told;
        self.told = self.acknowledged;
        news.then_some(self.told)
    }

    /// Whether the end has come and all changes have taken effect.
    pub fn is_complete(&self) -> bool {
        self.has_ended && (self.pending.is_empty() || leaves_out(Mutation::Complete))
    }

    /// Whether more has taken effect than the stored position says.
    pub fn has_news(&self) -> bool {
        self.applied > self.saved
    }

    /// Position before which everything has taken effect.
    pub fn position_to_save(&self) -> Position {
        match leaves_out(Mutation::PositionOfApplied) {
            true => self.frontier.position(),
            false => self.applied,
        }
    }

    /// A position was stored.
    pub fn saved(&mut self, position: Position) {
        self.saved = position;
    }
}
