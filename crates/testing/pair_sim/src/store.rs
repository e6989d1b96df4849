//! The engine of an array, in memory: volumes, snapshots and the record of a group. It knows what is durable.
//!
//! A block is a number: 0 is unmapped, [`LOST`] cannot be read, any other one is the content of one write and of all
//! its copies. So equal numbers are what a pool calls a shared block.

use bytes::Bytes;
use random::{Random, mix};
use replication::group::Transition;
use replication::store::{
    Blocks, Change, Prepare, Replica, Run, Runs, RunsRequest, Share, Sizes, Snapshots, Step, StoreError, Tree,
};
use replication::wire::{BeginMember, CloneFrom};
use replication::{BLOCK_BYTES, Crc32c, MemberId, Point, PointId, Position, Range, Record};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;

/// A block that cannot be read.
pub(crate) const LOST: u64 = u64::MAX;
/// Blocks of a sub-tree of the lowest level; each level has 8 times as many.
const LEAF: u64 = 8;
/// Sub-trees have levels 0 and 1.
const LEVELS: u8 = 2;

/// Volumes of a group.
pub(crate) type Volumes = BTreeMap<MemberId, Vec<u64>>;

/// What an array has.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub volumes: Volumes,
    pub snapshots: BTreeMap<PointId, Volumes>,
    pub diverged: Vec<Volumes>,
    pub record: Record,
}

#[derive(Debug)]
struct State {
    /// What hosts and the group see.
    seen: Image,
    /// What a crash leaves for certain.
    durable: Image,
    /// Changes that a crash may lose, each of them or not, in the order in which they took effect.
    volatile: Vec<Step>,
    members: Vec<BeginMember>,
    base: Option<PointId>,
}

/// The engine of an array.
#[derive(Debug)]
pub(crate) struct Store {
    state: RefCell<State>,
    bad: RefCell<BTreeSet<u64>>,
    is_full: Cell<bool>,
    /// Hosts have written here since the volumes were last set back.
    has_own_writes: Cell<bool>,
    broken: RefCell<Option<String>>,
}

fn failed(reason: &str) -> StoreError {
    StoreError::Failed { reason: reason.to_owned() }
}

fn index(block: u64) -> usize {
    usize::try_from(block).unwrap_or(usize::MAX)
}

/// Content of a block.
fn content(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(BLOCK_BYTES / 8)
}

impl State {
    fn member(&self, index: u16) -> Result<MemberId, StoreError> {
        self.members.get(usize::from(index)).map(|member| member.id).ok_or_else(|| failed("no such member"))
    }

    /// Applies a change to one of the images.
    fn apply(&self, image: &mut Image, step: &Step) -> Result<(), StoreError> {
        match step {
            Step::Empty { member } => drop(image.volumes.insert(self.member(*member)?, Vec::new())),
            Step::Derive { member, parent } => {
                let parent = image.volumes.get(&self.member(*parent)?).cloned().unwrap_or_default();
                image.volumes.insert(self.member(*member)?, parent);
            }
            Step::Resize { member, blocks } => {
                image.volumes.entry(self.member(*member)?).or_default().resize(index(*blocks), 0);
            }
            Step::Write(write) => {
                let numbers: Vec<u64> = write.data.chunks(BLOCK_BYTES).map(number_of).collect();
                self.put(image, write.range(), &numbers)?;
            }
            Step::Zero(range) => self.put(image, *range, &vec![0; index(range.count)])?,
            Step::Lose(range) => self.put(image, *range, &vec![LOST; index(range.count)])?,
            Step::Clone { to, origin, from } => {
                let id = self.member(from.member)?;
                let volumes = match (origin, self.base) {
                    (CloneFrom::Working, _) => Some(&image.volumes),
                    (CloneFrom::Base, base) => base.and_then(|base| image.snapshots.get(&base)),
                };
                let source = volumes.and_then(|volumes| volumes.get(&id)).cloned().unwrap_or_default();
                let numbers: Vec<u64> =
                    (from.block..from.block + to.count).map(|at| source.get(index(at)).copied().unwrap_or(0)).collect();
                self.put(image, *to, &numbers)?;
            }
            _ => return Err(failed("no change")),
        }
        Ok(())
    }

    fn put(&self, image: &mut Image, range: Range, numbers: &[u64]) -> Result<(), StoreError> {
        let volume = image.volumes.entry(self.member(range.start.member)?).or_default();
        let (start, end) = (index(range.start.block), index(range.end().block));
        // A crash may have lost the change of the size before it.
        if volume.len() < end {
            volume.resize(end, 0);
        }
        volume.get_mut(start..end).ok_or_else(|| failed("no such blocks"))?.copy_from_slice(numbers);
        Ok(())
    }
}

fn number_of(block: &[u8]) -> u64 {
    block.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Store {
    pub fn new(record: Record, volumes: Volumes) -> Self {
        let image = Image { volumes, snapshots: BTreeMap::new(), diverged: Vec::new(), record };
        let state =
            State { seen: image.clone(), durable: image, volatile: Vec::new(), members: Vec::new(), base: None };
        Self {
            state: RefCell::new(state),
            bad: RefCell::default(),
            is_full: Cell::new(false),
            has_own_writes: Cell::new(false),
            broken: RefCell::default(),
        }
    }

    pub fn seen(&self) -> Image {
        self.state.borrow().seen.clone()
    }

    /// Looks at what is seen.
    pub fn look<T>(&self, at: impl FnOnce(&Image) -> T) -> T {
        at(&self.state.borrow().seen)
    }

    /// Looks at what a crash would leave.
    pub fn look_durable<T>(&self, at: impl FnOnce(&Image) -> T) -> T {
        at(&self.state.borrow().durable)
    }

    pub fn set_full(&self, is_full: bool) {
        self.is_full.set(is_full);
    }

    /// The block of a write goes bad.
    pub fn rot(&self, number: u64) {
        self.bad.borrow_mut().insert(number);
    }

    /// A rule that was violated.
    pub fn broken(&self) -> Option<String> {
        self.broken.borrow().clone()
    }

    fn complain(&self, complaint: &str) {
        self.broken.borrow_mut().get_or_insert(complaint.to_owned());
    }

    /// A change by hosts or administrators: durable when it returns.
    pub fn administer(&self, change: impl Fn(&mut Image)) {
        let mut state = self.state.borrow_mut();
        change(&mut state.seen);
        change(&mut state.durable);
    }

    /// The volumes were set back: what hosts had written here has to be in a snapshot.
    fn went_back(&self, image: &Image, had: &Volumes) {
        let is_kept = image.diverged.contains(had) || image.snapshots.values().any(|snapshot| snapshot == had);
        if self.has_own_writes.take() && !is_kept {
            self.complain("what a former owner had is not kept");
        }
    }

    /// Takes a group over.
    pub fn fail_over(&self, transition: &Transition) {
        let had = self.state.borrow().seen.volumes.clone();
        self.administer(|image| {
            if transition.keep_diverged {
                image.diverged.push(image.volumes.clone());
            }
            if let Some(volumes) = transition.back_to.and_then(|point| image.snapshots.get(&point)) {
                image.volumes = volumes.clone();
            }
            image.record = transition.record.clone();
        });
        self.went_back(&self.state.borrow().seen, &had);
    }

    /// Hosts write.
    pub fn host(&self, change: impl Fn(&mut Volumes)) {
        self.has_own_writes.set(true);
        self.administer(|image| change(&mut image.volumes));
    }

    /// The power fails: each change that is not durable is lost or not.
    pub fn crash(&self, random: &Random) {
        let mut state = self.state.borrow_mut();
        let volatile = std::mem::take(&mut state.volatile);
        let mut image = state.durable.clone();
        let kept = random.below(101);
        for step in volatile.iter().filter(|_| random.chance(kept)) {
            if let Err(error) = state.apply(&mut image, step) {
                self.complain(&format!("a step cannot be replayed: {error}"));
            }
        }
        state.durable = image.clone();
        state.seen = image;
    }
}

impl Replica for Store {
    async fn prepare(&self, prepare: &Prepare) -> Result<Sizes, StoreError> {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let base = prepare.base;
        if base.is_some_and(|base| !state.seen.snapshots.contains_key(&base)) {
            return Err(failed("the base is gone"));
        }
        if prepare.back {
            state.volatile.clear();
            let back = base.and_then(|base| state.seen.snapshots.get(&base)).cloned().unwrap_or_default();
            if prepare.keep_diverged {
                let had = state.seen.volumes.clone();
                state.seen.diverged.push(had);
            }
            let had = std::mem::replace(&mut state.seen.volumes, back);
            state.seen.snapshots.retain(|id, _| prepare.record.has(*id));
            self.went_back(&state.seen, &had);
        }
        state.seen.record = prepare.record.clone();
        state.members = prepare.members.clone();
        state.base = base;
        match prepare.back {
            true => state.durable = state.seen.clone(),
            false => state.durable.record = prepare.record.clone(),
        }
        let size = |volumes: &Volumes, member: &BeginMember| volumes.get(&member.id).map(|volume| volume.len() as u64);
        let working = prepare.members.iter().map(|member| size(&state.seen.volumes, member).unwrap_or(0));
        let snapshot = base.and_then(|base| state.seen.snapshots.get(&base));
        let base = prepare.members.iter().map(|member| snapshot.and_then(|volumes| size(volumes, member)));
        Ok(Sizes { working: working.collect(), base: base.collect() })
    }

    async fn change(&self, step: &Step) -> Result<(), StoreError> {
        if self.is_full.get() && matches!(step, Step::Write(_)) {
            return Err(StoreError::NoSpace);
        }
        let mut state = self.state.borrow_mut();
        let mut seen = state.seen.clone();
        state.apply(&mut seen, step)?;
        state.seen = seen;
        state.volatile.push(step.clone());
        Ok(())
    }

    async fn flush(&self) -> Result<(), StoreError> {
        let mut state = self.state.borrow_mut();
        state.volatile.clear();
        state.durable = state.seen.clone();
        Ok(())
    }

    async fn save(&self, record: &Record) -> Result<(), StoreError> {
        self.administer(|image| image.record = record.clone());
        Ok(())
    }

    async fn commit(&self, point: &Point, record: &Record) -> Result<(), StoreError> {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let ids: BTreeSet<MemberId> = state.members.iter().map(|member| member.id).collect();
        for image in [&mut state.seen, &mut state.durable] {
            // A member that is no longer in the group leaves the replica.
            image.volumes.retain(|id, _| ids.contains(id));
            image.snapshots.insert(point.id, image.volumes.clone());
            image.record = record.clone();
        }
        Ok(())
    }
}

/// The two states of a cycle at its source.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// Members with their content at the start and in the new point.
    members: Vec<(Vec<u64>, Vec<u64>)>,
    points: Vec<PointId>,
    bad: BTreeSet<u64>,
    /// Number of places of each sub-tree and block.
    places: BTreeMap<u64, u32>,
}

fn identity(tree: &[u64]) -> u64 {
    tree.iter().fold(tree.len() as u64, |hash, number| mix(hash ^ mix(number.wrapping_add(1)))) | 1 << 63
}

impl View {
    pub fn new(members: Vec<(Vec<u64>, Vec<u64>)>, points: Vec<PointId>, store: &Store) -> Self {
        let mut places = BTreeMap::new();
        for (_, new) in &members {
            new.iter().filter(|number| **number != 0).for_each(|number| *places.entry(*number).or_insert(0) += 1);
            for level in 0..LEVELS {
                let trees = new.chunks_exact(index(LEAF.pow(u32::from(level) + 1)));
                trees.for_each(|tree| *places.entry(identity(tree)).or_insert(0) += 1);
            }
        }
        Self { members, points, bad: store.bad.borrow().clone(), places }
    }

    /// Blocks that differ.
    pub fn changed(&self) -> u64 {
        let differ = |(start, new): &(Vec<u64>, Vec<u64>)| {
            (0..new.len())
                .filter(|at| start.get(*at).copied().unwrap_or(0) != new.get(*at).copied().unwrap_or(0))
                .count()
        };
        self.members.iter().map(differ).sum::<usize>() as u64
    }

    fn share(&self, number: u64) -> Option<Share> {
        let is_shared = self.places.get(&number).is_some_and(|places| *places > 1);
        // Blocks that were lost have nothing in common.
        NonZeroU64::new(number).filter(|_| is_shared && number != LOST).map(Share)
    }

    /// The largest shared sub-tree that begins at a block.
    fn tree(&self, start: &[u64], new: &[u64], block: u64, below: Option<u8>) -> Option<Tree> {
        (0..below.unwrap_or(LEVELS)).rev().find_map(|level| {
            let count = LEAF.pow(u32::from(level) + 1);
            let range = index(block)..index(block + count);
            let tree = new.get(range.clone()).filter(|_| block.is_multiple_of(count))?;
            let is_there = start.get(range) == Some(tree);
            let is_sound = tree.iter().any(|number| *number != 0) && !tree.contains(&LOST);
            let share = self.share(identity(tree)).filter(|_| !is_there && is_sound)?;
            Some(Tree { share, count, level })
        })
    }
}

/// A view in the store that has its snapshots, with the seed of its steps.
pub(crate) struct Looking<'a> {
    pub view: &'a View,
    pub store: &'a Store,
    pub random: &'a Random,
}

impl Snapshots for Looking<'_> {
    async fn runs(&self, RunsRequest { from, below }: RunsRequest) -> Result<Runs, StoreError> {
        let points = &self.view.points;
        if !self.store.look(|image| points.iter().all(|point| image.snapshots.contains_key(point))) {
            return Err(failed("a snapshot of the cycle is gone"));
        }
        let (start, new) = self.view.members.get(usize::from(from.member)).ok_or_else(|| failed("no such member"))?;
        let mut runs: Vec<Run> = Vec::new();
        let (mut at, mut left) = (from.block, 1 + self.random.below(24));
        while index(at) < new.len() && left > 0 {
            let tree = self.view.tree(start, new, at, below);
            if tree.is_some() {
                return Ok(Runs { runs, until: at, tree });
            }
            let (was, is) = (start.get(index(at)).copied().unwrap_or(0), new.get(index(at)).copied().unwrap_or(0));
            if was != is {
                left -= 1;
                let share = self.view.share(is);
                match (runs.last_mut().filter(|run| run.first + run.change.count() == at), is) {
                    (Some(Run { change: Change::Zero { count }, .. }), 0) => *count += 1,
                    (Some(Run { change: Change::Data { shares }, .. }), 1..) => shares.push(share),
                    (_, 0) => runs.push(Run { first: at, change: Change::Zero { count: 1 } }),
                    (_, _) => runs.push(Run { first: at, change: Change::Data { shares: vec![share] } }),
                }
            }
            at += 1;
        }
        Ok(Runs { runs, until: at.max(from.block + 1), tree: None })
    }

    async fn read(&self, range: Range) -> Result<Blocks, StoreError> {
        let Position { member, block } = range.start;
        let (_, new) = self.view.members.get(usize::from(member)).ok_or_else(|| failed("no such member"))?;
        let numbers = new.get(index(block)..index(block + range.count)).ok_or_else(|| failed("no such blocks"))?;
        let mut data = Vec::with_capacity(numbers.len() * BLOCK_BYTES);
        let mut checksums = Vec::new();
        for number in numbers {
            let content = content(*number);
            let is_bad = *number == LOST || self.view.bad.contains(number);
            checksums.push((!is_bad).then(|| Crc32c::of(&content)));
            data.extend_from_slice(&content);
        }
        Ok(Blocks { checksums, data: Bytes::from(data) })
    }
}
