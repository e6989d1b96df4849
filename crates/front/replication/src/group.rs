//! A group at one array: epoch, role, points, and what follows from them.
//!
//! A change is planned as a new [`Record`], which its owner stores in the same commit as what it says about volumes,
//! and then applies ([`Group::apply`]). One record is stored at a time.

#[cfg(test)]
mod tests;

use crate::mutations::{Mutation, leaves_out};
use crate::names::{GroupId, Name, Point, PointId};
use crate::place::Position;
use crate::record::{Progress, Record};
use crate::refusal::{Code, Refusal};
use crate::source::Confirmation;
use crate::wire::{Begin, GroupRole, MAX_POINTS, Standing};

/// Most points of a group at an array.
pub const MAX_RECORDED: usize = 4096;

/// What an array does, according to the standing of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the source, and its next cycle begins with this common point; `None` seeds a group that never had one.
    Send {
        /// Common point.
        base: Option<PointId>,
    },
    /// It is the target, and waits for cycles.
    Receive,
    /// It has handed the group over, and the peer has taken it: [`Group::yield_to_peer`] is due.
    Yield,
    /// Nothing goes on until an administrator acts.
    Stop(Refusal),
}

/// What an owner does next with a peer that has a base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The peer has the newest point: [`Group::confirmed`] is due.
    Confirm(PointId),
    /// The cycle to the newest point goes on: [`Group::offer`] is due.
    Resume(Point),
    /// A new point may be taken: [`Group::take_point`].
    Take,
}

/// Change of a group, to be stored and then applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// State after it.
    pub record: Record,
    /// Point to which all members go back in the same commit.
    pub back_to: Option<PointId>,
    /// Before they go back, keep what the members have as snapshots of another name.
    pub keep_diverged: bool,
}

impl Transition {
    /// A change that leaves the members as they are.
    const fn of(record: Record) -> Self {
        Self { record, back_to: None, keep_diverged: false }
    }
}

/// A group.
#[derive(Clone, Debug)]
pub struct Group {
    id: GroupId,
    record: Record,
    peer: Option<Standing>,
}

impl Group {
    /// A group as it was stored.
    pub const fn new(id: GroupId, record: Record) -> Self {
        Self { id, record, peer: None }
    }

    /// Identity.
    pub const fn id(&self) -> GroupId {
        self.id
    }

    /// Durable state.
    pub const fn record(&self) -> &Record {
        &self.record
    }

    /// A record was stored.
    pub fn apply(&mut self, record: Record) {
        self.record = record;
    }

    /// Whether hosts may change the members (rule S6).
    pub fn hosts_may_write(&self) -> bool {
        self.record.role == GroupRole::Owner || leaves_out(Mutation::HostsOut)
    }

    /// What the peer is told when a link is open, and after each change of the record.
    pub fn standing(&self) -> Standing {
        let Record { epoch, role, points, .. } = &self.record;
        let (older, newer) = points.split_at(points.len().saturating_sub(MAX_POINTS / 2));
        let kept: Vec<&Point> = older.iter().filter(|point| self.is_kept(point.id)).collect();
        let kept = kept.iter().skip(kept.len().saturating_sub(MAX_POINTS / 2)).copied();
        let points = kept.chain(newer).map(|point| point.id).collect();
        Standing { group: self.id, epoch: *epoch, role: *role, points }
    }

    /// The peer is not reachable any more.
    pub fn handle_disconnected(&mut self) {
        self.peer = None;
    }

    /// The standing of the peer.
    pub fn handle_standing(&mut self, peer: Standing) -> Verdict {
        let verdict = self.judge(&peer);
        self.peer = Some(peer);
        verdict
    }

    fn judge(&self, peer: &Standing) -> Verdict {
        let own = &self.record;
        let stop = |code, sentence: String| Verdict::Stop(Refusal::new(code, sentence));
        if peer.group != self.id {
            return stop(Code::UnknownGroup, "the peer tells about another group".to_owned());
        }
        match (own.role, peer.role) {
            (GroupRole::Owner | GroupRole::Leaving, GroupRole::Replica) if peer.epoch > own.epoch => {
                let sentence = format!(
                    "the peer has a replica of epoch {}, and this array owns epoch {}: its state is older than that of \
                     the group",
                    peer.epoch, own.epoch
                );
                stop(Code::OlderEpoch, sentence)
            }
            (GroupRole::Owner | GroupRole::Leaving, GroupRole::Replica) => self.judge_base(peer),
            (GroupRole::Leaving, GroupRole::Owner) if peer.epoch > own.epoch => Verdict::Yield,
            (GroupRole::Replica, GroupRole::Owner | GroupRole::Leaving) if peer.epoch < own.epoch => {
                let sentence = format!("the owner is of epoch {}, and the group has come to {}", peer.epoch, own.epoch);
                stop(Code::OlderEpoch, sentence)
            }
            (GroupRole::Replica, GroupRole::Owner | GroupRole::Leaving) => Verdict::Receive,
            (GroupRole::Replica, GroupRole::Replica) => {
                stop(Code::NoOwner, "both arrays have a replica of the group: one of them has to take over".to_owned())
            }
            (GroupRole::Owner | GroupRole::Leaving, GroupRole::Owner | GroupRole::Leaving) => {
                let newer = if peer.epoch > own.epoch { "the peer" } else { "this array" };
                let sentence = format!(
                    "both arrays own the group (epochs {} here, {} there); {newer} has taken over last, and the other \
                     has to give way",
                    own.epoch, peer.epoch
                );
                stop(Code::BothOwners, sentence)
            }
        }
    }

    fn judge_base(&self, peer: &Standing) -> Verdict {
        let base = peer.points.iter().rev().copied().find(|point| self.record.has(*point));
        let never = self.record.common.is_none() && peer.points.is_empty();
        match base {
            // A cycle begins with an older point than the one it leads to.
            Some(base) => Verdict::Send { base: Some(base) },
            None if never => Verdict::Send { base: None },
            None => Verdict::Stop(Refusal::new(
                Code::MustSeed,
                "the arrays have no common point: the group must be seeded again, which sends all of it",
            )),
        }
    }

    /// Newest point that the peer has not confirmed: the cycle to it goes on, rather than a new one beginning.
    fn unfinished(&self) -> Option<&Point> {
        let newest = self.record.newest().filter(|_| self.record.role != GroupRole::Replica);
        newest.filter(|newest| newest.id.epoch == self.record.epoch && Some(newest.id) != self.record.common)
    }

    /// What follows from [`Verdict::Send`].
    pub fn next(&self, base: Option<PointId>) -> Next {
        match self.unfinished() {
            Some(newest) if Some(newest.id) == base => Next::Confirm(newest.id),
            Some(newest) => Next::Resume(newest.clone()),
            None => Next::Take,
        }
    }

    /// Takes a recovery point and offers a base for the cycle to it. The snapshots are taken in the commit that
    /// stores the record. `mark` is random.
    pub fn take_point(
        &self,
        name: Name,
        taken_ms: u64,
        mark: u64,
        base: Option<PointId>,
    ) -> Result<(Point, Transition), Refusal> {
        self.expect_owner()?;
        self.expect_room()?;
        let mut record = self.offered(base)?;
        // The peer may have later ones: the state of this array may have been set back, with an image of its pool.
        let own = record.points.iter().map(|point| point.id);
        let known = own.chain(self.peer.iter().flat_map(|peer| peer.points.iter().copied()));
        let cycle = known.filter(|id| id.epoch == record.epoch).map(|id| id.cycle).max().unwrap_or(0).saturating_add(1);
        let point = Point { id: PointId { epoch: record.epoch, cycle, mark }, name, taken_ms };
        record.points.push(point.clone());
        record.keep(Some(point.id));
        Ok((point, Transition::of(record)))
    }

    /// Offers a base for the cycle to the newest point, which exists: stored before the cycle is offered to the peer.
    pub fn offer(&self, base: Option<PointId>) -> Result<Transition, Refusal> {
        self.expect_owner()?;
        Ok(Transition::of(self.offered(base)?))
    }

    fn offered(&self, base: Option<PointId>) -> Result<Record, Refusal> {
        if let Some(base) = base.filter(|base| !self.record.has(*base)) {
            return Err(no_such_point(base));
        }
        let mut record = self.record.clone();
        record.keep(base);
        record.keep(record.newest().map(|newest| newest.id));
        Ok(record)
    }

    /// The record after the peer has confirmed that it keeps a point: what is older need not be kept any more.
    pub fn confirmed(&self, confirmation: Confirmation) -> Record {
        let (Confirmation::Base(point) | Confirmation::Point(point)) = confirmation;
        let mut record = Record { common: Some(point), ..self.record.clone() };
        record.kept.retain(|kept| *kept >= point);
        record
    }

    /// Checks whether a cycle may be applied here.
    pub fn check_cycle(&self, begin: &Begin) -> Result<(), Refusal> {
        let (own, point) = (&self.record, begin.point.id);
        if begin.group != self.id {
            return Err(Refusal::new(Code::UnknownGroup, "there is no such group with this peer"));
        }
        if own.role != GroupRole::Replica {
            let sentence = format!("this array owns the group, since epoch {}", own.epoch);
            return Err(Refusal::new(Code::BothOwners, sentence));
        }
        if point.epoch < own.epoch {
            let sentence = format!("the cycle is of epoch {}, and the group has come to {}", point.epoch, own.epoch);
            return Err(Refusal::new(Code::OlderEpoch, sentence));
        }
        let newest = own.newest().map(|newest| newest.id);
        let begun = own.progress.as_ref().map(|progress| progress.point);
        if let Some(newer) = [newest, begun].into_iter().flatten().find(|newer| *newer > point) {
            let sentence = format!("the cycle leads to {point}, and {newer} is newer");
            return Err(Refusal::new(Code::OlderCycle, sentence));
        }
        self.expect_room()?;
        match begin.base.filter(|base| !own.has(*base)) {
            Some(base) => Err(no_such_point(base)),
            None => Ok(()),
        }
    }

    /// The record of a replica that has begun a cycle: it has gone back to the base, and keeps it.
    pub(crate) fn with_cycle(&self, begin: &Begin, progress: Progress) -> Record {
        let mut record = self.record.clone();
        record.epoch = record.epoch.max(begin.point.id.epoch);
        record.common = begin.base;
        record.progress = Some(progress);
        // The owner keeps the base: it has offered it.
        record.keep(begin.base);
        record.kept.retain(|kept| Some(*kept) >= begin.base);
        if record.diverged {
            record.points.retain(|point| begin.base.is_some_and(|base| point.id <= base));
            record.diverged = false;
        }
        let points: Vec<PointId> = record.points.iter().map(|point| point.id).collect();
        record.kept.retain(|kept| points.contains(kept));
        record
    }

    /// The record of a replica with a new position of its cycle.
    pub(crate) fn with_position(&self, position: Position) -> Record {
        let mut record = self.record.clone();
        if let Some(progress) = &mut record.progress {
            (progress.member, progress.block) = (position.member, position.block);
        }
        record
    }

    /// The record of a replica with a new point.
    pub(crate) fn with_point(&self, point: &Point) -> Record {
        let mut record = self.record.clone();
        record.points.push(point.clone());
        record.keep(Some(point.id));
        record.progress = None;
        record
    }

    /// Whether replication needs a point (rule R5): the newest, and what the peer may count on.
    pub fn is_kept(&self, point: PointId) -> bool {
        let own = &self.record;
        let is_newest = own.newest().is_some_and(|newest| newest.id == point);
        let is_replica = own.role == GroupRole::Replica;
        let is_counted_on = own.kept.binary_search(&point).is_ok();
        let forgets = is_replica && leaves_out(Mutation::BothCommon);
        (is_newest || is_counted_on && !forgets) && !leaves_out(Mutation::Common)
    }

    /// Deletes a point.
    ///
    /// [`Code::CommonPoint`] if replication needs it.
    pub fn delete(&self, point: PointId) -> Result<Transition, Refusal> {
        if !self.record.has(point) {
            return Err(no_such_point(point));
        }
        if self.is_kept(point) {
            let sentence = "the point is needed for replication: it is common with the peer, or the newest";
            return Err(Refusal::new(Code::CommonPoint, sentence));
        }
        let mut record = self.record.clone();
        record.points.retain(|own| own.id != point);
        Ok(Transition::of(record))
    }

    /// Takes the group over: the members go back to a point, the newest if none is named, and hosts may write. What a
    /// former owner had beyond it is kept (rule R6). The target has to be quiet ([`crate::target::Target::is_quiet`]).
    ///
    /// * [`Code::NotReplica`]: this array owns the group.
    /// * [`Code::NoSuchPoint`]: there is no complete point, or not the one that was named.
    /// * [`Code::OwnerInUse`]: the owner is reachable, and its hosts may write, or it hands the group over and its last
    ///   point has not arrived. `force` overrides it.
    pub fn fail_over(&self, point: Option<PointId>, force: bool) -> Result<Transition, Refusal> {
        let own = &self.record;
        if own.role != GroupRole::Replica {
            return Err(Refusal::new(Code::NotReplica, "this array owns the group already"));
        }
        let back_to = self.point(point)?;
        let peer = self.peer.as_ref();
        let newest = own.newest().map(|newest| newest.id);
        if peer.is_some_and(|peer| peer.role == GroupRole::Leaving && peer.points.last().copied() != newest) && !force {
            let sentence =
                "the owner hands the group over, and its last point is not here yet: wait for it, or force it";
            return Err(Refusal::new(Code::OwnerInUse, sentence));
        }
        if peer.is_some_and(|peer| peer.role == GroupRole::Owner) && !force {
            let sentence = "the owner of the group is reachable and its hosts may write: hand the group over there, or \
                            force it here";
            return Err(Refusal::new(Code::OwnerInUse, sentence));
        }
        let epoch = own.epoch.max(peer.map_or(0, |peer| peer.epoch)).saturating_add(1);
        let record = Record { epoch, role: GroupRole::Owner, progress: None, diverged: false, ..own.clone() };
        let keep_diverged = own.diverged && !leaves_out(Mutation::KeepDiverged);
        Ok(Transition { record, back_to: Some(back_to), keep_diverged })
    }

    /// The point that a test of the replica clones: the newest if none is named. Replication goes on meanwhile.
    pub fn test(&self, point: Option<PointId>) -> Result<PointId, Refusal> {
        self.point(point)
    }

    fn point(&self, point: Option<PointId>) -> Result<PointId, Refusal> {
        match point.or(self.record.newest().map(|newest| newest.id)) {
            None => Err(Refusal::new(Code::NoSuchPoint, "there is no complete recovery point")),
            Some(point) if self.record.has(point) => Ok(point),
            Some(point) => Err(no_such_point(point)),
        }
    }

    /// Begins to hand the group over: hosts write no more, and the last point is taken in the same commit. When the
    /// peer has it, the peer takes over and has lost nothing.
    pub fn hand_over(
        &self,
        name: Name,
        taken_ms: u64,
        mark: u64,
        base: Option<PointId>,
    ) -> Result<(Point, Transition), Refusal> {
        if self.record.role == GroupRole::Leaving {
            return Err(Refusal::new(Code::NotOwner, "the group is being handed over already"));
        }
        let (point, mut transition) = self.take_point(name, taken_ms, mark, base)?;
        transition.record.role = GroupRole::Leaving;
        Ok((point, transition))
    }

    /// Ends a hand-over that the peer has not completed: hosts may write again.
    ///
    /// [`Code::BothOwners`] unless the peer is reachable and still a replica.
    pub fn keep(&self) -> Result<Transition, Refusal> {
        if self.record.role != GroupRole::Leaving {
            return Err(Refusal::new(Code::NotOwner, "the group is not being handed over"));
        }
        match &self.peer {
            Some(peer) if peer.role == GroupRole::Replica => {
                let record = Record { role: GroupRole::Owner, ..self.record.clone() };
                Ok(Transition::of(record))
            }
            _ => Err(Refusal::new(Code::BothOwners, "the peer is not reachable, and may have taken the group over")),
        }
    }

    /// Gives way to a peer that has taken over: hosts write no more, and the next cycle of the peer sets the members
    /// back to a common point (rule R6).
    ///
    /// * [`Code::NotOwner`]: this array has a replica.
    /// * [`Code::OwnerInUse`]: the peer has not taken over, or is not reachable.
    pub fn yield_to_peer(&self) -> Result<Transition, Refusal> {
        let own = &self.record;
        if own.role == GroupRole::Replica {
            return Err(not_owner());
        }
        let peer = self.peer.as_ref().filter(|peer| peer.role != GroupRole::Replica && peer.epoch > own.epoch);
        let Some(peer) = peer else {
            let sentence = "the peer has not taken the group over, or is not reachable";
            return Err(Refusal::new(Code::OwnerInUse, sentence));
        };
        // After a hand-over that was completed, the peer has all that this array has.
        let newest = own.newest().map(|newest| newest.id);
        let is_complete = own.role == GroupRole::Leaving && newest.is_some_and(|newest| peer.points.contains(&newest));
        let record = Record {
            epoch: peer.epoch,
            role: GroupRole::Replica,
            progress: None,
            diverged: !is_complete,
            ..own.clone()
        };
        Ok(Transition::of(record))
    }

    fn expect_room(&self) -> Result<(), Refusal> {
        if self.record.points.len() < MAX_RECORDED {
            return Ok(());
        }
        let sentence =
            format!("the group has {MAX_RECORDED} recovery points: delete some, or let a schedule keep fewer");
        Err(Refusal::new(Code::TooManyPoints, sentence))
    }

    fn expect_owner(&self) -> Result<(), Refusal> {
        match self.record.role {
            GroupRole::Replica => Err(not_owner()),
            GroupRole::Owner | GroupRole::Leaving => Ok(()),
        }
    }
}

fn not_owner() -> Refusal {
    Refusal::new(Code::NotOwner, "this array has a replica of the group")
}

fn no_such_point(point: PointId) -> Refusal {
    Refusal::new(Code::NoSuchPoint, format!("there is no recovery point {point}"))
}
