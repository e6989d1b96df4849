//! Who may take how much space: what is kept back for checkpoints, for freeing space, and for reserved volumes.
//!
//! From what can be allocated now, these parts are kept back in this order: what the next checkpoint takes at most, from everybody; what has
//! been promised to reserved volumes, from everybody else; the reserve for operations that free space (UNMAP, zeros, deletion), from
//! everything that stores something new; and the working reserve, from everything that grows. Its first half is for small overwrites of what is
//! mapped and shared with a snapshot or clone, all of it for compare-and-write there and for small documents: so locks, and what is known of who
//! may write, can still change when the pool is full. A page that is only moved to a new address passes: its old block comes back at the next
//! checkpoint.

use crate::core::Core;
use crate::interface::operation::Operation;
use crate::interface::{CatalogChange, PoolError};
use crate::schedule::step::{Placed, Progress, Step};
use block::BlockError;
use media::{BLOCK_BYTES, Media};
use rustc_hash::FxHashMap;

/// How often an operation that nobody owes space looks for it again, once after each checkpoint.
const TRIES: u8 = 2;
/// The same for an operation that keeps nothing but what was promised, while enough is freed and waits for a checkpoint.
const ENTITLED_TRIES: u8 = 100;
/// Blocks that a checkpoint takes for a changed block of the object table: itself and its path.
pub(crate) const TABLE_PATH: u64 = 5;
/// Blocks by which one operation that detaches sub-trees makes the stored drop queue longer at most.
const DROP_GROWTH: u64 = 8;
/// The largest write that counts as a small overwrite, and by how much documents may grow in a full pool.
pub(crate) const SMALL_BYTES: usize = 64 << 10;

/// What an operation takes space for, and so how much it leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// New content: leaves every reserve.
    #[default]
    Growing,
    /// A small overwrite of mapped content that is shared: takes of the working reserve, but leaves half of it.
    Overwriting,
    /// Compare-and-write of mapped content that is shared, or a small document: takes all of the working reserve.
    Locking,
    /// Stores nothing new, or frees space.
    Freeing,
}

/// Blocks that an operation asks for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask {
    /// Blocks and pages that stay allocated.
    pub lasting: u64,
    /// Those among them that were promised to the volume.
    pub covered: u64,
    /// Those among the promised that are data, not map pages.
    pub covered_blocks: u64,
    /// Blocks that were promised to the volume, but that large writes of its own under way have taken.
    pub taken: u64,
    /// Blocks for as long as until the next checkpoint.
    pub passing: u64,
    /// Blocks that must be promised to reserved volumes in addition.
    pub promise: u64,
    /// The promise to the volume is not for everything, so it must not be kept at the cost of others.
    pub partly: bool,
    /// What it is for.
    pub purpose: Purpose,
}

/// An operation that found no room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refused {
    /// Everything that it asks for to keep was promised to it.
    entitled: bool,
    /// Blocks that would have had to be allocatable.
    needed: u64,
    /// What would have to be promised, and is left for it.
    promise: Option<(u64, u64)>,
}

impl<M: Media> Core<M> {
    /// Blocks kept back for operations that free space and for checkpoints.
    pub(crate) fn reserve_blocks(&self) -> u64 {
        (self.space.usable() / 100).max(48)
    }

    /// Blocks of the working reserve: a 256th of the pool, from 128 KiB to 256 MiB.
    pub(crate) fn working_blocks(&self) -> u64 {
        (self.space.usable() / 256).clamp(32, 65_536)
    }

    /// Blocks that the next checkpoint allocates at most: the pool's own streams, written anew, with the pages above them. Nothing else may
    /// take them, not even what frees space, or the checkpoint that would release the freed blocks could never be taken.
    pub(crate) fn checkpoint_blocks(&self) -> u64 {
        // Every object may be changed until then, so that changing one takes nothing from anybody.
        let table = self.objects.table_blocks();
        // What shrank is taken out of the map block by block, which needs the pages above it.
        let blocks =
            ((self.drops.len() + self.parked.len()) as u64 * 16 + self.documents.stored_bytes() + self.stored_bytes)
                / BLOCK_BYTES as u64
                + 2;
        // A leaf holds 256 blocks, with up to three pages above; a plan counts each block of the table with its own path.
        blocks + (blocks / 256 + 4) * 4 + table * TABLE_PATH + 32
    }

    /// Blocks that are owed to reserved volumes or kept for the next checkpoint, and are neither free nor on their way to be: 0, unless the
    /// accounting of promises is wrong.
    pub fn overdrawn_blocks(&self) -> u64 {
        (self.objects.promises().owed + self.checkpoint_blocks()).saturating_sub(self.coming_blocks())
    }

    /// Blocks that are free, or will be without anybody's doing.
    fn coming_blocks(&self) -> u64 {
        self.space.available() + self.space.pinned() + self.droppable_blocks
    }

    /// Promises an object what it was not promised before, as far as there is space for it.
    pub(crate) fn settle_deficit(&mut self, id: u64) {
        let coming = self.space.available() + self.space.pinned();
        let kept = self.objects.promises().owed
            + self.checkpoint_blocks()
            + DROP_GROWTH
            + self.reserve_blocks()
            + self.working_blocks();
        let room = coming.saturating_sub(kept);
        if self.objects.get(id).is_some_and(|object| object.deficit > 0) {
            self.objects.adjust_in_memory(id, |object| object.deficit = object.deficit.saturating_sub(room));
        }
    }

    /// After opening: what was not promised to volumes whose overwrite reserve is below 100 % is not stored.
    pub(crate) fn restore_deficits(&mut self) {
        let partly = |o: &&crate::catalog::object::Object| o.reservation.is_some_and(|r| r.overwrite_percent < 100);
        let ids: Vec<u64> = self.objects.users().filter(partly).map(|object| object.id).collect();
        for id in ids {
            let overdrawn = self.overdrawn_blocks();
            self.objects.adjust_in_memory(id, |object| object.deficit += overdrawn.min(object.promised()));
        }
    }

    /// Checks that the blocks can be allocated now.
    pub(crate) fn room(&mut self, ask: Ask, progress: &mut Progress) -> Result<(), Step> {
        if self.starved() && ask.lasting > 0 && ask.purpose != Purpose::Freeing {
            return Err(Step::Space); // which fails while the file system is full
        }
        let available = self.space.available();
        let blocks = ask.lasting + ask.passing;
        let uncovered = ask.lasting.saturating_sub(ask.covered);
        let owed = self.objects.promises().owed.saturating_sub(ask.covered);
        let reserve = match ask.purpose {
            Purpose::Freeing => 0,
            Purpose::Locking => self.reserve_blocks(),
            Purpose::Overwriting => self.reserve_blocks() + self.working_blocks() / 2,
            Purpose::Growing => self.reserve_blocks() + self.working_blocks(),
        };
        let kept = match uncovered + ask.promise {
            0 if !ask.partly => 0,
            0 => owed,
            _ => owed + DROP_GROWTH + reserve,
        };
        let needed = blocks + ask.promise + kept + self.checkpoint_blocks();
        if available < needed || crate::mutations::allocation_fails() {
            let left = (available + ask.promise + blocks).saturating_sub(needed);
            progress.refused = Some(Refused {
                entitled: uncovered <= ask.taken && ask.promise == 0 && !ask.partly,
                needed,
                promise: (ask.promise > 0).then_some((ask.promise, left)),
            });
            return Err(Step::Space);
        }
        let mut segments = Vec::new();
        if self.space.prepare(blocks, &mut segments) {
            return Ok(());
        }
        if segments.is_empty() {
            return Err(Step::Space);
        }
        self.need.segments.extend(segments);
        Err(Step::Wait)
    }

    /// The blocks of a large write are taken, those that were promised among them.
    pub(crate) fn now_in_flight(&mut self, placed: &Placed) {
        self.placed += 1;
        self.objects.change_in_flight(placed.object, |in_flight| in_flight + placed.covered);
    }

    /// A large write takes effect or fails.
    pub(crate) fn no_longer_in_flight(&mut self, placed: &Placed) {
        self.placed -= 1;
        self.objects.change_in_flight(placed.object, |in_flight| in_flight - placed.covered);
    }

    /// What an operation asks for that was planned to write `new` data blocks into an object and stores something new.
    pub(crate) fn ask_for(&self, object: u64, new: u64) -> Ask {
        let pages = self.need.allocations - self.need.passing;
        let ask = Ask { lasting: new + pages, passing: self.need.passing, ..Ask::default() };
        let Some(reserved) = self.objects.reserved(object) else { return ask };
        // A plan may count a page several times; what is due is the most that can be needed.
        let pages = pages.min(reserved.pages_due);
        let fresh = self.need.fresh.min(new);
        let parted =
            crate::catalog::object::Object { shared: reserved.shared.saturating_sub(new - fresh), ..reserved.clone() };
        let shared = reserved.promised().saturating_sub(parted.promised());
        let partly = reserved.reservation.is_some_and(|reservation| reservation.overwrite_percent < 100);
        // What stores nothing works in any case.
        let partly = partly && new + pages > 0;
        let due = fresh + shared.min(new - fresh);
        // Two writes of the same block under way both take one, and only one of them was promised.
        let left = reserved.promised().saturating_sub(reserved.pages_due + reserved.in_flight);
        let covered_blocks = due.min(left);
        let taken = due - covered_blocks;
        Ask { lasting: new + pages, covered: pages + covered_blocks, covered_blocks, taken, partly, ..ask }
    }

    /// As [`Core::ask_for`], for an operation that frees space.
    pub(crate) fn ask_to_free(&self, object: u64, new: u64) -> Ask {
        Ask { purpose: Purpose::Freeing, partly: false, ..self.ask_for(object, new) }
    }

    /// Blocks that must be promised in addition when `source` shares `count` blocks with a range of `destination`, at most.
    pub(crate) fn promise_of_sharing(&self, source: u64, destination: u64, count: u64) -> u64 {
        let more = |id: u64| {
            let Some(o) = self.objects.reserved(id) else { return 0 };
            let mut after = o.clone();
            after.share(count, crate::geometry::pages_of_run(count));
            after.promised().saturating_sub(o.promised())
        };
        if source == destination { more(source) } else { more(source) + more(destination) }
    }

    /// Blocks that must be promised in addition after these changes.
    pub(crate) fn promise_of_changes(&self, changes: &[CatalogChange]) -> u64 {
        let mut after: FxHashMap<u64, crate::catalog::object::Object> = FxHashMap::default();
        let known = |after: &FxHashMap<u64, crate::catalog::object::Object>, id: u64| {
            after.get(&id).cloned().or_else(|| self.objects.get(id).cloned())
        };
        for change in changes {
            match change {
                CatalogChange::CreateVolume { id, size_bytes } | CatalogChange::CreateCapture { id, size_bytes } => {
                    after.insert(id.0, crate::catalog::object::Object::new(id.0, *size_bytes));
                }
                CatalogChange::CloneObject { source, id, .. } => {
                    let Some(mut object) = known(&after, source.0) else { continue };
                    object.share(u64::MAX, u64::MAX);
                    let clone = crate::catalog::object::Object { reservation: None, tracked: false, ..object.clone() };
                    after.insert(source.0, object);
                    after.insert(id.0, clone);
                }
                CatalogChange::SetReservation { id, reservation } => {
                    let Some(mut object) = known(&after, id.0) else { continue };
                    if !object.tracked {
                        object.share(u64::MAX, u64::MAX);
                    }
                    object.reservation = *reservation;
                    object.deficit = 0;
                    after.insert(id.0, object);
                }
                CatalogChange::Resize { id, size_bytes } => {
                    let Some(mut object) = known(&after, id.0) else { continue };
                    object.resize(*size_bytes);
                    object.level =
                        object.level.max(crate::geometry::level_for(crate::geometry::blocks_for(*size_bytes)));
                    after.insert(id.0, object);
                }
                CatalogChange::Rollback { id, source } => {
                    let (Some(mut object), Some(mut source)) = (known(&after, id.0), known(&after, source.0)) else {
                        continue;
                    };
                    source.share(u64::MAX, u64::MAX);
                    (object.size_bytes, object.level, object.mapped) = (source.size_bytes, source.level, source.mapped);
                    object.share(u64::MAX, u64::MAX);
                    after.insert(source.id, source);
                    after.insert(id.0, object);
                }
                CatalogChange::DeleteObject { id } => {
                    if let Some(object) = known(&after, id.0) {
                        after.insert(id.0, crate::catalog::object::Object { reservation: None, ..object });
                    }
                }
                CatalogChange::SetWriteCache { .. }
                | CatalogChange::SetZeroDetection { .. }
                | CatalogChange::PutDocument { .. }
                | CatalogChange::DeleteDocument { .. } => {}
            }
        }
        let before: u64 =
            after.keys().filter_map(|id| self.objects.get(*id)).map(crate::catalog::object::Object::promised).sum();
        let after: u64 = after.values().map(crate::catalog::object::Object::promised).sum();
        after.saturating_sub(before)
    }

    /// True when a large write that has taken blocks can go on: it gives back what it did not need.
    fn placed_go_on(&self) -> bool {
        let waiting = |id: &&u64| self.operations.get(id).is_some_and(|pending| pending.progress.placed.is_some());
        self.placed > self.space_waiters.iter().filter(waiting).count()
    }

    /// True when blocks are on their way to become allocatable.
    fn space_is_coming(&self) -> bool {
        !self.drops.is_empty() || self.space.pinned() > 0 || self.frozen.is_some()
    }

    /// Lets operations that found no space try again when some has come back, and fails them when none can. True when there is now something
    /// to do.
    pub(crate) fn retry_space(&mut self) -> bool {
        if self.space_waiters.is_empty() {
            return false;
        }
        if !self.drops.is_empty() {
            self.reclaim(256);
        }
        self.let_go_of_held_space();
        if self.space_is_coming() && self.stopped.is_none() {
            // One in flight ends by itself, and one that cannot start waits for a read.
            return self.frozen.is_none() && !std::mem::replace(&mut self.checkpoint_wanted, true);
        }
        if self.placed_go_on() && self.stopped.is_none() {
            return false;
        }
        self.fail_or_retry_space();
        true
    }

    /// While operations wait for space, a check of the pool must not hold any back.
    pub(crate) fn let_go_of_held_space(&mut self) {
        if !self.space_waiters.is_empty()
            && let Some(check) = &mut self.online_check
        {
            check.spoil();
        }
    }

    /// After a checkpoint every waiter tries once more; one that has tried twice fails: what had been freed when it came is released by then.
    /// Those whose space was promised go on as long as it is on its way.
    pub(crate) fn fail_or_retry_space(&mut self) {
        let coming = self.coming_blocks();
        let busy = self.placed_go_on();
        for id in std::mem::take(&mut self.space_waiters) {
            let Some(pending) = self.operations.get_mut(&id) else { continue };
            let refused = pending.progress.refused;
            let entitled = refused.is_some_and(|refused| refused.entitled);
            // What large writes under way do not need comes back.
            pending.progress.space_tries += u8::from(!(entitled && busy));
            // What was promised is there, but not released yet.
            let due = entitled && refused.is_some_and(|refused| coming >= refused.needed);
            if pending.progress.space_tries > if due { ENTITLED_TRIES } else { TRIES } {
                pending.failed = Some(match (&pending.operation, refused.and_then(|refused| refused.promise)) {
                    (Operation::Catalog(_), Some((needed, left))) => PoolError::NoRoomForReservation {
                        needed_bytes: needed * BLOCK_BYTES as u64,
                        available_bytes: left * BLOCK_BYTES as u64,
                    }
                    .into(),
                    (Operation::Catalog(_), None) => PoolError::PoolFull.into(),
                    _ => BlockError::PoolFull.into(),
                });
            }
            self.ready.push_back(id);
        }
    }
}
