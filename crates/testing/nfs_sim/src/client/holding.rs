//! The open of an actor with its locks: what the actor believes to have, and whether it may believe it.

use crate::ledger::{Ledger, Lock, Locks, Owner, Share, UNITS, Window};
use crate::shared::SLACK;
use nfs::v4::compound::CompoundOutcome;
use nfs::v4::io::{ReadArguments, WriteArguments};
use nfs::v4::locks::{
    ExistingLockOwner, LockArguments, LockFailure, LockTestArguments, LockType, Locker, OpenToLockOwner,
    UnlockArguments,
};
use nfs::v4::open::{CloseArguments, DelegationType, DowngradeArguments, OpenArguments, OpenClaim, OpenHow};
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::{Filehandle, Stable, StateOwner, Stateid, Status};
use random::Random;
use std::ops::Range;
use std::time::Duration;

/// Bytes of a unit.
const UNIT_BYTES: u64 = 100;

/// A call about the open.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Open {
        file: usize,
        share: Share,
    },
    Downgrade {
        left: Share,
    },
    Close,
    Lock {
        units: Range<usize>,
        lock: Lock,
    },
    Unlock {
        units: Range<usize>,
    },
    TestLock {
        units: Range<usize>,
        lock: Lock,
    },
    Read,
    /// READ or WRITE with the anonymous stateid.
    Anonymous {
        file: usize,
        writes: bool,
    },
    /// TEST_STATEID, after the server said that state was lost.
    Test,
    /// FREE_STATEID of the open or the lock that is lost.
    Free {
        stateid: Stateid,
    },
    /// OPEN with CLAIM_PREVIOUS.
    Reclaim,
    /// LOCK of units as before the restart.
    ReclaimLock {
        units: Range<usize>,
        lock: Lock,
    },
}

/// When a call was sent and answered, and what the time of a grant depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub window: Window,
    /// Run of the server that answered.
    pub run: u32,
    /// Until when a grace period may have lasted.
    pub grace_until: Duration,
    /// Until when the lease lasts at least.
    pub valid_until: Duration,
    /// Until when the grace period of the run lasts at least.
    pub grace_for: Duration,
}

/// An open, as the actor believes to have it.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    pub file: usize,
    stateid: Stateid,
    lock_stateid: Option<Stateid>,
    /// Shares that were opened.
    opened: Vec<Share>,
    pub share: Share,
    /// Since when it has had this share for certain, before the last restart of the server included.
    pub since: Duration,
    pub locks: Locks,
    /// Locks before the call in progress, if it changes them.
    before: Option<Locks>,
    /// Run that granted it; 0 while it is to be reclaimed.
    pub run: u32,
    /// Until when it is certain that the server has it.
    pub valid_until: Duration,
    /// Another client got what conflicts with it, while it was not certain.
    pub overtaken: bool,
    /// Locks that are to be reclaimed.
    reclaims: Option<Locks>,
    /// Whether a crash has found it certain: then it can be reclaimed.
    protected: bool,
    /// Whether the client had no record when the server crashed. An answer that was on its way then does not change
    /// that.
    forfeited: bool,
    /// Whether a CLOSE is in progress.
    pub closing: bool,
}

/// The open of an actor, or none.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    pub open: Option<Open>,
    /// The server said that state was lost: what is there has to be tested.
    check: bool,
    /// Stateids of lost state, to be freed.
    lost: Vec<Stateid>,
    /// Whether the last answer was a grant.
    granted: bool,
    /// The last answer was that of I/O without an open: the file, whether it was a write, and when.
    read_past: Option<(usize, bool, Window)>,
}

fn units_of(range: &Range<usize>, lock: Lock) -> Locks {
    let mut locks = [Lock::Free; UNITS];
    range.clone().for_each(|unit| locks[unit] = lock);
    locks
}

fn bytes_of(units: &Range<usize>) -> (u64, u64) {
    let length = if units.end == UNITS { u64::MAX } else { (units.end - units.start) as u64 * UNIT_BYTES };
    (units.start as u64 * UNIT_BYTES, length)
}

const fn kind_of(lock: Lock) -> LockType {
    if matches!(lock, Lock::Write) { LockType::Write } else { LockType::Read }
}

/// First run of units with one lock.
fn run_of(locks: &Locks) -> Option<(Range<usize>, Lock)> {
    let start = locks.iter().position(|lock| *lock != Lock::Free)?;
    let end = locks[start..].iter().position(|lock| *lock != locks[start]).map_or(UNITS, |length| start + length);
    Some((start..end, locks[start]))
}

/// Units of a locked range of the server.
pub(crate) fn units_of_bytes(offset_bytes: u64, length_bytes: u64) -> Range<usize> {
    let unit = |bytes: u64| usize::try_from(bytes / UNIT_BYTES).unwrap_or(UNITS).min(UNITS);
    unit(offset_bytes)..unit(offset_bytes.saturating_add(length_bytes))
}

impl Open {
    /// Locks that the server has, if it has the open.
    pub fn certain_locks(&self) -> Locks {
        let mut locks = self.locks;
        let left = self.reclaims.unwrap_or_default();
        locks.iter_mut().zip(left).filter(|(_, left)| *left != Lock::Free).for_each(|(lock, _)| *lock = Lock::Free);
        locks
    }

    /// Whether two owners cannot have both.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let locks = self.certain_locks().into_iter().zip(other.certain_locks());
        self.file == other.file
            && (self.share.conflicts_with(other.share) || locks.into_iter().any(|(one, two)| one.conflicts_with(two)))
    }

    /// Part of the stateid that stays.
    pub const fn other(&self) -> [u8; 12] {
        self.stateid.other
    }
}

impl Holding {
    /// Whether the open is certain.
    pub fn is_valid(&self, now: Duration) -> bool {
        !self.check && self.open.as_ref().is_some_and(|open| open.valid_until >= now && !open.forfeited)
    }

    /// Whether the open was lost, or may have been.
    pub const fn needs_test(&self) -> bool {
        (self.check && self.open.is_some()) || !self.lost.is_empty()
    }

    /// Whether the last answer was a grant; false the second time.
    pub fn take_granted(&mut self) -> bool {
        std::mem::take(&mut self.granted)
    }

    /// I/O without an open that was done with the last answer; nothing the second time.
    pub const fn take_read_past(&mut self) -> Option<(usize, bool, Window)> {
        self.read_past.take()
    }

    /// A step that may be taken, at random; `None` for nothing.
    pub fn choose(&self, random: &Random, files: usize) -> Option<Step> {
        let share =
            |random: &Random| Share { access: 1 + random.index(3) as u32, deny: [0, 0, 1, 2, 3][random.index(5)] };
        if let Some(step) = self.repair() {
            return Some(step);
        }
        let Some(open) = &self.open else {
            if random.chance(20) {
                return Some(Step::Anonymous { file: random.index(files), writes: random.chance(50) });
            }
            return Some(Step::Open { file: random.index(files), share: share(random) });
        };
        let start = random.index(UNITS);
        let units = start..start + 1 + random.index(UNITS - start);
        let lock = match open.share.access {
            1 => Lock::Read,
            2 => Lock::Write,
            _ => [Lock::Read, Lock::Write][random.index(2)],
        };
        match random.below(14) {
            0 => {
                let share = share(random);
                // What conflicts with the own open is refused whatever others have.
                (!share.conflicts_with(open.share)).then_some(Step::Open { file: open.file, share })
            }
            // Locks keep the access that they need.
            1 if open.locks == Locks::default() => {
                Some(Step::Downgrade { left: *open.opened.get(random.index(open.opened.len()))? })
            }
            1..=3 => Some(Step::Close),
            4..=8 => Some(Step::Lock { units, lock }),
            9 | 10 => open.lock_stateid.map(|_| Step::Unlock { units }),
            11 | 12 => Some(Step::TestLock { units, lock }),
            _ => (open.share.access & 1 != 0).then_some(Step::Read),
        }
    }

    /// What has to be done first, after state was lost.
    pub fn repair(&self) -> Option<Step> {
        if let Some(stateid) = self.lost.first() {
            return Some(Step::Free { stateid: *stateid });
        }
        (self.check && self.open.is_some()).then_some(Step::Test)
    }

    /// The next reclaim after a restart of the server.
    pub fn reclaim(&self, run: u32) -> Option<Step> {
        let open = self.open.as_ref()?;
        if open.run != run {
            return Some(Step::Reclaim);
        }
        run_of(open.reclaims.as_ref()?).map(|(units, lock)| Step::ReclaimLock { units, lock })
    }

    /// Operations of a step.
    pub fn operations(&self, step: &Step, files: &[Filehandle], name: &str) -> Vec<Operation> {
        let owner = || StateOwner { client: 0, owner: name.into() };
        let open = self.open.as_ref();
        let stateid = open.map_or(Stateid::ANONYMOUS, |open| open.stateid);
        let file = match step {
            Step::Open { file, .. } | Step::Anonymous { file, .. } => *file,
            _ => open.map_or(0, |open| open.file),
        };
        let put = files.get(file).map(|handle| Operation::PutFilehandle(handle.clone()));
        let openings = |share: Share, claim| OpenArguments {
            seqid: 0,
            share_access: share.access,
            share_deny: share.deny,
            owner: owner(),
            how: OpenHow::NoCreate,
            claim,
        };
        let operation = match step {
            Step::Open { share, .. } => Operation::Open(Box::new(openings(*share, OpenClaim::Filehandle))),
            Step::Reclaim => {
                let claim = OpenClaim::Previous(DelegationType::None);
                Operation::Open(Box::new(openings(open.map(|open| open.share).unwrap_or_default(), claim)))
            }
            Step::Downgrade { left } => Operation::Downgrade(DowngradeArguments {
                stateid,
                seqid: 0,
                share_access: left.access,
                share_deny: left.deny,
            }),
            Step::Close => Operation::Close(CloseArguments { seqid: 0, stateid }),
            Step::Lock { units, lock } => self.locking(units, *lock, false, owner()),
            Step::ReclaimLock { units, lock } => self.locking(units, *lock, true, owner()),
            Step::Unlock { units } => {
                let (offset_bytes, length_bytes) = bytes_of(units);
                let stateid = open.and_then(|open| open.lock_stateid).unwrap_or(stateid);
                let kind = LockType::Read;
                Operation::Unlock(UnlockArguments { kind, seqid: 0, stateid, offset_bytes, length_bytes })
            }
            Step::TestLock { units, lock } => {
                let (offset_bytes, length_bytes) = bytes_of(units);
                let (kind, owner) = (kind_of(*lock), owner());
                Operation::LockTest(LockTestArguments { kind, offset_bytes, length_bytes, owner })
            }
            Step::Read => Operation::Read(ReadArguments { stateid, offset_bytes: 0, count_bytes: 16 }),
            Step::Anonymous { writes: false, .. } => {
                Operation::Read(ReadArguments { stateid: Stateid::ANONYMOUS, offset_bytes: 0, count_bytes: 16 })
            }
            Step::Anonymous { writes: true, .. } => Operation::Write(WriteArguments {
                stateid: Stateid::ANONYMOUS,
                offset_bytes: 0,
                stable: Stable::FileSync,
                data: name.as_bytes().into(),
            }),
            Step::Test => {
                let both = [Some(stateid), open.and_then(|open| open.lock_stateid)];
                return vec![Operation::TestStateid(both.into_iter().flatten().collect::<Vec<_>>().into())];
            }
            Step::Free { stateid } => return vec![Operation::FreeStateid(*stateid)],
        };
        put.into_iter().chain([operation]).collect()
    }

    fn locking(&self, units: &Range<usize>, lock: Lock, reclaim: bool, owner: StateOwner) -> Operation {
        let (offset_bytes, length_bytes) = bytes_of(units);
        let open_stateid = self.open.as_ref().map_or(Stateid::ANONYMOUS, |open| open.stateid);
        let locker = match self.open.as_ref().and_then(|open| open.lock_stateid) {
            Some(stateid) => Locker::Existing(ExistingLockOwner { stateid, seqid: 0 }),
            None => Locker::New(OpenToLockOwner { open_seqid: 0, open_stateid, lock_seqid: 0, owner }),
        };
        Operation::Lock(Box::new(LockArguments { kind: kind_of(lock), reclaim, offset_bytes, length_bytes, locker }))
    }

    /// Notes that a call is sent: what it may give, and what the actor has no more for certain.
    pub fn sent(&mut self, step: &Step, owner: Owner, ledger: &mut Ledger, now: Duration) {
        match step {
            Step::Open { file, share } => ledger.may_have(owner, *file, *share, &Locks::default()),
            Step::Lock { units, lock } => {
                let Some(open) = &mut self.open else { return };
                ledger.may_have(owner, open.file, open.share, &units_of(units, *lock));
                open.before = Some(open.locks);
                units.clone().for_each(|unit| open.locks[unit] = open.locks[unit].min(*lock));
            }
            Step::Unlock { units } => {
                let Some(open) = &mut self.open else { return };
                open.before = Some(open.locks);
                units.clone().for_each(|unit| open.locks[unit] = Lock::Free);
            }
            Step::Downgrade { left } => {
                let Some(open) = &mut self.open else { return };
                (open.share, open.since) = (*left, now);
            }
            Step::Reclaim | Step::ReclaimLock { .. } => {
                let Some(open) = &self.open else { return };
                ledger.may_have(owner, open.file, open.share, &open.locks);
            }
            Step::Close => self.open.iter_mut().for_each(|open| open.closing = true),
            Step::TestLock { .. } | Step::Read | Step::Anonymous { .. } | Step::Test | Step::Free { .. } => {}
        }
    }

    /// The outcome of a call will never be known: the session is gone.
    pub fn gave_up(&mut self, step: &Step) {
        match step {
            Step::Close => self.open = None,
            Step::Free { .. } => self.lost.clear(),
            _ => {}
        }
        if let Some(open) = &mut self.open {
            open.before = None;
        }
    }

    /// The server crashes. `grace_for`: until when its grace period lasts at least. A client that has `lost`
    /// something, and not freed it, or whose reclaims were never complete, has nothing to reclaim.
    pub fn crashed(&mut self, run: u32, (now, grace_for): (Duration, Duration), lost: bool) {
        if let Some(open) = self.open.as_mut().filter(|_| lost) {
            (open.valid_until, open.forfeited) = (Duration::ZERO, true);
        }
        let is_valid = self.is_valid(now);
        if let Some(open) = &mut self.open {
            let waits = open.run != run && open.protected && now <= grace_for;
            open.protected = (is_valid || waits) && !open.forfeited;
        }
    }

    /// A server that was started anew has nothing of this: it has to be reclaimed.
    pub fn expect_reclaim(&mut self) {
        self.lost.clear();
        self.check = false;
        if let Some(open) = &mut self.open {
            open.run = 0;
            open.reclaims = Some(open.locks);
            open.lock_stateid = None;
            open.opened = vec![open.share];
        }
    }

    /// The reclaims are over.
    pub fn end_reclaim(&mut self) {
        if let Some(open) = &mut self.open {
            open.reclaims = None;
        }
    }

    /// The server renewed the lease, and said whether the client has lost state. The error: what it has was given away.
    pub fn renewed(&mut self, run: u32, lost: bool, valid_until: Duration, now: Duration) -> Result<(), String> {
        self.check |= lost;
        let Some(open) = self.open.as_mut().filter(|open| open.run == run) else { return Ok(()) };
        if self.check || valid_until < now {
            return Ok(());
        }
        open.valid_until = open.valid_until.max(valid_until);
        match open.overtaken {
            true => Err(format!("{open:?} is in force, and another client got what conflicts with it")),
            false => Ok(()),
        }
    }

    /// Takes the results of a call.
    pub fn answered(
        &mut self,
        step: &Step,
        outcomes: &[Outcome],
        owner: Owner,
        ledger: &mut Ledger,
        context: Context,
    ) -> Result<(), String> {
        let last = outcomes.last().ok_or("no results")?;
        let status = last.status();
        let now = context.window.answered;
        let is_valid = self.is_valid(now);
        let result = match (step, status) {
            (_, Err(Status::DELAY)) => {
                self.refused(step, now);
                Ok(())
            }
            (Step::Free { stateid }, _) => {
                self.lost.retain(|other| other != stateid);
                match status {
                    Ok(()) | Err(Status::BAD_STATEID) => Ok(()),
                    status => Err(format!("{status:?}")),
                }
            }
            (Step::Test, Ok(())) => self.tested(last, owner, ledger, context),
            (_, Err(Status::EXPIRED | Status::BAD_STATEID)) if self.open.is_some() && !is_valid => {
                self.refused(step, now);
                self.lose(owner, ledger, now);
                Ok(())
            }
            (Step::Reclaim | Step::ReclaimLock { .. }, _) => self.reclaimed(step, last, owner, ledger, context),
            (_, Err(Status::GRACE)) if grants(step) && context.window.sent <= context.grace_until + SLACK => {
                self.refused(step, now);
                Ok(())
            }
            (_, Ok(())) => self.succeeded(step, last, owner, ledger, context),
            (_, Err(status)) => self.denied(step, status, owner, ledger, context),
        };
        let state = format!("{:?}", self.open);
        self.settle(step, owner, ledger, now);
        result.map_err(|why| format!("{step:?} of {owner:?}, {status:?}: {why}; {state}"))
    }

    /// Takes back what `sent` took away.
    fn refused(&mut self, step: &Step, now: Duration) {
        let Some(open) = &mut self.open else { return };
        open.closing = false;
        if let Some(before) = open.before.take() {
            open.locks = before;
        }
        if matches!(step, Step::Downgrade { .. }) {
            (open.share, open.since) = (union(&open.opened), now);
        }
    }

    /// Tells the ledger what the actor has.
    fn settle(&self, step: &Step, owner: Owner, ledger: &mut Ledger, now: Duration) {
        match (&self.open, step) {
            (Some(open), Step::Open { file, .. }) if open.file != *file => {
                ledger.has(owner, *file, None, &Locks::default(), now);
            }
            (Some(open), _) if self.check => ledger.may_have(owner, open.file, open.share, &open.locks),
            (Some(open), _) => ledger.has(owner, open.file, Some(open.share), &open.locks, now),
            (None, Step::Open { file, .. }) => ledger.has(owner, *file, None, &Locks::default(), now),
            (None, _) => {}
        }
    }

    /// The open is lost.
    fn lose(&mut self, owner: Owner, ledger: &mut Ledger, now: Duration) {
        if let Some(open) = self.open.take() {
            ledger.has(owner, open.file, None, &Locks::default(), now);
            self.lost.extend(open.lock_stateid);
            self.lost.push(open.stateid);
        }
        self.check = false;
    }

    fn tested(&mut self, outcome: &Outcome, owner: Owner, ledger: &mut Ledger, context: Context) -> Result<(), String> {
        let Outcome::TestStateid(Ok(statuses)) = outcome else { return Err("no statuses".to_owned()) };
        if statuses.iter().any(Result::is_err) {
            self.lose(owner, ledger, context.window.answered);
            return Ok(());
        }
        self.check = false;
        self.renewed(context.run, false, context.valid_until, context.window.answered)
    }

    fn succeeded(
        &mut self,
        step: &Step,
        outcome: &Outcome,
        owner: Owner,
        ledger: &mut Ledger,
        context: Context,
    ) -> Result<(), String> {
        match (step, outcome) {
            (Step::Open { file, share }, Outcome::Open(Ok(ok))) => {
                return self.opened(*file, *share, ok.stateid, context);
            }
            (Step::Downgrade { left }, Outcome::Downgrade(Ok(stateid))) => {
                let Some(open) = &mut self.open else { return Ok(()) };
                (open.stateid, open.share, open.opened) = (*stateid, *left, vec![*left]);
            }
            (Step::Close, _) => {
                let Some(open) = self.open.take() else { return Ok(()) };
                ledger.has(owner, open.file, None, &Locks::default(), context.window.answered);
            }
            (Step::Lock { units, lock }, Outcome::Lock(Ok(stateid))) => {
                let Some(open) = &mut self.open else { return Ok(()) };
                open.before = None;
                open.lock_stateid = Some(*stateid);
                units.clone().for_each(|unit| open.locks[unit] = *lock);
                self.granted = true;
            }
            (Step::Unlock { .. }, Outcome::Unlock(Ok(stateid))) => {
                let Some(open) = &mut self.open else { return Ok(()) };
                (open.before, open.lock_stateid) = (None, Some(*stateid));
            }
            (Step::Anonymous { file, writes }, _) => self.read_past = Some((*file, *writes, context.window)),
            (Step::TestLock { .. } | Step::Read, _) => {}
            (_, other) => return Err(format!("results {other:?}")),
        }
        Ok(())
    }

    fn opened(&mut self, file: usize, share: Share, stateid: Stateid, context: Context) -> Result<(), String> {
        self.granted = true;
        match &mut self.open {
            Some(open) if open.stateid.other == stateid.other => {
                open.stateid = stateid;
                open.opened.push(share);
                open.share = union(&open.opened);
                open.since = context.window.answered;
                return Ok(());
            }
            Some(_) if !self.check => return Err("the open was lost".to_owned()),
            Some(open) => {
                self.lost.extend(open.lock_stateid);
                self.lost.push(open.stateid);
            }
            None => {}
        }
        self.check = false;
        self.open = Some(Open {
            file,
            stateid,
            lock_stateid: None,
            opened: vec![share],
            share,
            since: context.window.answered,
            locks: Locks::default(),
            before: None,
            run: context.run,
            valid_until: context.valid_until,
            overtaken: false,
            reclaims: None,
            protected: false,
            forfeited: false,
            closing: false,
        });
        Ok(())
    }

    /// A refusal needs something that is in the way.
    fn denied(
        &mut self,
        step: &Step,
        status: Status,
        owner: Owner,
        ledger: &mut Ledger,
        context: Context,
    ) -> Result<(), String> {
        self.refused(step, context.window.answered);
        let file = self.open.as_ref().map_or(0, |open| open.file);
        let justified = match (step, status) {
            (Step::Open { file, share }, Status::SHARE_DENIED) => ledger.denies(owner, *file, *share, context.window),
            (Step::Anonymous { file, writes }, Status::LOCKED) => {
                ledger.denies(owner, *file, anonymous(*writes), context.window)
            }
            (Step::Lock { units, lock } | Step::TestLock { units, lock }, Status::DENIED) => {
                ledger.locks_out(owner, file, &units_of(units, *lock), context.window)
            }
            _ => false,
        };
        if justified { Ok(()) } else { Err("nothing is in the way".to_owned()) }
    }

    fn reclaimed(
        &mut self,
        step: &Step,
        outcome: &Outcome,
        owner: Owner,
        ledger: &mut Ledger,
        context: Context,
    ) -> Result<(), String> {
        let Some(open) = &mut self.open else { return Ok(()) };
        match (step, outcome) {
            (Step::Reclaim, Outcome::Open(Ok(ok))) => {
                (open.stateid, open.run, open.protected) = (ok.stateid, context.run, false);
                open.forfeited = false;
                self.granted = true;
                return self.renewed(context.run, false, context.valid_until, context.window.answered);
            }
            (Step::ReclaimLock { units, .. }, Outcome::Lock(Ok(stateid))) => {
                open.lock_stateid = Some(*stateid);
                if let Some(left) = &mut open.reclaims {
                    units.clone().for_each(|unit| left[unit] = Lock::Free);
                }
                self.granted = true;
                return Ok(());
            }
            _ => {}
        }
        let refusals = [Status::NO_GRACE, Status::RECLAIM_BAD, Status::RECLAIM_CONFLICT];
        let refused = match outcome {
            Outcome::Lock(Err(LockFailure::Other(status))) | Outcome::Open(Err(status)) => refusals.contains(status),
            _ => false,
        };
        // The lease may have ended before the restart, or the grace period before the reclaim.
        let now = context.window.answered;
        let certain = !open.forfeited && now <= context.grace_for && (open.protected || open.valid_until >= now);
        match step {
            // The open stays.
            Step::ReclaimLock { .. } => (open.locks, open.reclaims) = (open.certain_locks(), None),
            _ => {
                self.lose(owner, ledger, now);
                self.lost.clear();
            }
        }
        if refused && !certain { Ok(()) } else { Err("a reclaim is refused".to_owned()) }
    }
}

/// Whether a step asks for new state.
const fn grants(step: &Step) -> bool {
    matches!(step, Step::Open { .. } | Step::Lock { .. } | Step::TestLock { .. } | Step::Anonymous { .. })
}

/// Share that I/O without an open needs.
pub(crate) const fn anonymous(writes: bool) -> Share {
    Share { access: if writes { 2 } else { 1 }, deny: 0 }
}

fn union(shares: &[Share]) -> Share {
    shares.iter().fold(Share::default(), |all, share| all.with(*share))
}
