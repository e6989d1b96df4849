//! How far a cycle has come: before the frontier everything is final.

use crate::mutations::{Mutation, leaves_out};
use crate::place::{MAX_MEMBERS, Position, Range};
use crate::refusal::{Code, Refusal};
use crate::store::{Sizes, Step};
use crate::wire::{BeginMember, Clone as CloneMessage, CloneFrom, Resize, Start};

/// The frontier of a session.
#[derive(Debug)]
pub(super) struct Frontier {
    position: Position,
    /// Members whose changes have begun.
    entered: u16,
    /// Member that was resized last.
    resized: Option<u16>,
    starts: Vec<Start>,
    sizes: Sizes,
}

fn outside() -> Refusal {
    Refusal::new(Code::OutsideGroup, "a change is beyond the end of the group or of a member")
}

impl Frontier {
    /// A frontier at the position from which a cycle goes on.
    pub fn new(members: &[BeginMember], position: Position, sizes: Sizes) -> Result<Self, Refusal> {
        let count = members.len();
        if sizes.working.len() != count || sizes.base.len() != count || count > MAX_MEMBERS {
            return Err(Refusal::new(Code::StoreFailed, "the store knows another number of members"));
        }
        let is_based = |(member, base): (&BeginMember, &Option<u64>)| member.start != Start::Base || base.is_some();
        if !members.iter().zip(&sizes.base).all(is_based) {
            return Err(Refusal::new(Code::OutsideGroup, "a member begins as in the base, and is not in it"));
        }
        let entered = position.member.saturating_add(u16::from(position.block > 0));
        let starts = members.iter().map(|member| member.start).collect();
        Ok(Self { position, entered, resized: None, starts, sizes })
    }

    /// The position.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The end of the group.
    pub fn end(&self) -> Position {
        Position::end(u16::try_from(self.starts.len()).unwrap_or(u16::MAX))
    }

    fn size(&self, member: u16) -> Option<u64> {
        self.sizes.working.get(usize::from(member)).copied()
    }

    /// Moves to a position. Returns the steps with which members begin on the way, each with its member.
    pub fn reach(&mut self, to: Position) -> Result<Vec<(Step, u16)>, Refusal> {
        if to < self.position {
            let sentence = "a change is before one that came already: changes ascend through the group";
            return Err(Refusal::new(Code::OutOfOrder, sentence));
        }
        if to > self.end() {
            return Err(outside());
        }
        let mut steps = Vec::new();
        while let Some(start) = self.starts.get(usize::from(self.entered)).filter(|_| self.entered <= to.member) {
            let member = self.entered;
            let (step, blocks) = match *start {
                Start::Base => (None, self.size(member)),
                Start::Nothing => (Some(Step::Empty { member }), Some(0)),
                Start::Parent(parent) => (Some(Step::Derive { member, parent }), self.size(parent)),
            };
            if let (Some(size), Some(blocks)) = (self.sizes.working.get_mut(usize::from(member)), blocks) {
                *size = blocks;
            }
            steps.extend(step.map(|step| (step, member)));
            self.entered += 1;
        }
        self.position = to;
        Ok(steps)
    }

    /// Checks that a range lies within its member, and moves behind it.
    pub fn pass(&mut self, range: Range) -> Result<(), Refusal> {
        match self.size(range.start.member) {
            Some(blocks) if range.end().block <= blocks => {
                self.position = range.end();
                Ok(())
            }
            _ => Err(outside()),
        }
    }

    /// Checks the source of a copy (rule R3); the frontier is at its destination.
    pub fn check_source(&self, clone: &CloneMessage) -> Result<(), Refusal> {
        let source = clone.source();
        let member = usize::from(source.start.member);
        let blocks = match clone.origin {
            CloneFrom::Base => self.sizes.base.get(member).copied().flatten(),
            CloneFrom::Working => self.sizes.working.get(member).copied(),
        };
        if blocks.is_none_or(|blocks| source.end().block > blocks) {
            return Err(outside());
        }
        let is_final = clone.origin == CloneFrom::Base || source.end() <= clone.to.start;
        match is_final || leaves_out(Mutation::Final) {
            true => Ok(()),
            false => Err(Refusal::new(Code::NotFinal, "a copy is of a place that may still change in this cycle")),
        }
    }

    /// A member gets another size, before any of its blocks changes.
    pub fn resize(&mut self, resize: Resize) -> Result<(), Refusal> {
        let start = Position { member: resize.member, block: 0 };
        if self.position != start || self.resized == Some(resize.member) {
            let sentence = "a member gets another size once, before its blocks change";
            return Err(Refusal::new(Code::OutOfOrder, sentence));
        }
        self.resized = Some(resize.member);
        match self.sizes.working.get_mut(usize::from(resize.member)) {
            Some(size) => *size = resize.blocks,
            None => return Err(outside()),
        }
        Ok(())
    }
}
