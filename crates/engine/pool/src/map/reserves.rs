//! Reserves of free space, and the space that a change requests.
//!
//! The pool keeps back, in this order: the maximal need of the next checkpoint, from every
//! operation; the blocks promised to reserved volumes, from all others; the reserve for operations
//! that free space; and the working reserve, from every operation that grows.

use crate::catalog::DOCUMENTS;
use crate::catalog::object::Object;
use crate::catalog::stream::table_block_of;
use crate::geometry::page_span;
use crate::interface::{CatalogChange, ObjectId};
use crate::map::Map;
use crate::map::need::Counts;
use media::BLOCK_BYTES;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Largest number of blocks that a checkpoint writes for a changed block of the object table: the
/// block and its path.
pub(crate) const TABLE_PATH: u64 = 5;
/// Largest number of blocks by which one operation that detaches sub-trees extends the stored drop
/// queue.
pub(crate) const DROP_GROWTH: u64 = 8;

/// Purpose of a request for space, which determines the reserves it must leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// New content: leaves every reserve.
    #[default]
    Storing,
    /// A small overwrite of mapped, shared content: uses the working reserve up to half of it.
    Overwriting,
    /// Compare-and-write of mapped, shared content, or a small document: uses all of the working
    /// reserve.
    Locking,
    /// Stores no new data, or frees space.
    Freeing,
}

/// Blocks that an operation requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask {
    /// Number of blocks and pages that stay allocated.
    pub lasting: u64,
    /// Number of these that were promised to the volume.
    pub covered: u64,
    /// Number of the promised ones that are data, not map pages.
    pub covered_blocks: u64,
    /// Number of blocks promised to the volume that its own large writes in flight have taken.
    pub taken: u64,
    /// Number of blocks needed only until the next checkpoint.
    pub passing: u64,
    /// Number of further blocks that must be promised to reserved volumes.
    pub promise: u64,
    /// True if the promise to the volume is partial, and so must not be kept at the cost of other
    /// volumes.
    pub partial: bool,
    /// Purpose of the request.
    pub purpose: Purpose,
}

/// Largest number of blocks that a checkpoint allocates for `blocks` changed blocks of an object
/// table with `length` blocks: these blocks, and each page above them once (leaves of the map,
/// interior pages, the root).
fn table_path(blocks: u64, length: u64) -> u64 {
    // Interior pages are at most as many as leaves.
    blocks + 2 * blocks.min(length / page_span(0) + 1) + 1
}

impl Map {
    /// Number of blocks kept back for operations that free space.
    pub(crate) fn reserve_blocks(&self) -> u64 {
        (self.space.usable() / 100).max(48)
    }

    /// Number of blocks in the working reserve: a 256th of the pool, from 128 KiB to 256 MiB.
    pub(crate) fn working_blocks(&self) -> u64 {
        (self.space.usable() / 256).clamp(32, 65_536)
    }

    /// Largest number of blocks that the next checkpoint allocates: the pool's own streams,
    /// rewritten, with the pages above them. No operation may take them, even if it frees space:
    /// otherwise the checkpoint that would release the freed blocks could never be taken.
    #[inline]
    pub(crate) fn checkpoint_blocks(&self) -> u64 {
        // Counts every object as changed, so that changing one takes no further blocks.
        let table = table_path(self.objects.table_blocks(), self.objects.table_length());
        // A shrunken queue is removed from the map block by block, which needs the pages above it.
        let drops = (self.drops.stored_bytes() + self.stored_bytes) / BLOCK_BYTES as u64 + 1;
        // A leaf holds 256 blocks, with up to three pages above.
        let drops = drops + (drops / 256 + 2) * 4;
        drops + self.blocks_of_stored_documents() + table + self.blocks_of_allotments() + 32
    }

    /// Largest number of blocks that the next checkpoint allocates for the table of allotments.
    #[inline]
    fn blocks_of_allotments(&self) -> u64 {
        match self.allotments.table().blocks() {
            0 => 0,
            blocks => blocks + Self::pages_of_stream(blocks),
        }
    }

    /// Largest number of blocks that the next checkpoint allocates for the present documents.
    #[inline]
    fn blocks_of_stored_documents(&self) -> u64 {
        if self.documents.is_unsettled() { self.document_blocks(self.documents.pages_to_write()) } else { 0 }
    }

    /// True if the next checkpoint may replace a list of the documents by an index: every reserve
    /// remains.
    pub(crate) fn index_has_room(&self) -> bool {
        let others = self.checkpoint_blocks() - self.blocks_of_stored_documents();
        let index = self.document_blocks(self.documents.pages_of_whole_index());
        let kept = self.owed_blocks() + DROP_GROWTH + self.reserve_blocks() + self.working_blocks();
        self.space.available() >= others + index + kept
    }

    /// Largest number of further blocks that the next checkpoint allocates for objects created by
    /// these changes.
    pub(crate) fn blocks_of_created(&self, changes: &[CatalogChange]) -> u64 {
        let (mut created, mut length) = (0, self.objects.table_length());
        for change in changes {
            if let CatalogChange::CreateVolume { id, .. }
            | CatalogChange::CreateCapture { id, .. }
            | CatalogChange::CloneObject { id, .. } = change
            {
                created += 1;
                length = length.max(table_block_of(*id).get() + 1);
            }
        }
        let now = self.objects.table_blocks();
        let after = table_path((now + created).min(length), length);
        after.saturating_sub(table_path(now, self.objects.table_length()))
    }

    /// Largest number of blocks that a checkpoint allocates for documents if it writes this many
    /// pages of their index.
    fn document_blocks(&self, pages: u64) -> u64 {
        if pages == 0 && !self.documents.has_changed() {
            return 0;
        }
        // Each page above them is written once, wherever they are in the stream. Freed pages are in
        // the present stream.
        let stream = crate::geometry::blocks_for(self.objects.length(DOCUMENTS)) + pages;
        pages + Self::pages_of_stream(stream)
    }

    /// Largest number of further blocks that the next checkpoint allocates because of these changes
    /// of documents.
    pub(crate) fn blocks_of_documents(&self, changes: &[CatalogChange]) -> u64 {
        let mut values: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        for change in changes {
            match change {
                CatalogChange::PutDocument { key, value } => values.insert(key, Some(value.len())),
                CatalogChange::DeleteDocument { key } => values.insert(key, None),
                _ => continue,
            };
        }
        if values.is_empty() {
            return 0;
        }
        let after = self.document_blocks(self.documents.pages_to_write_after(&values));
        after.saturating_sub(self.blocks_of_stored_documents())
    }

    /// Number of blocks that are owed to reserved volumes or kept for the next checkpoint, and
    /// neither free nor about to be: 0 unless the accounting of promises is wrong.
    pub(crate) fn overdrawn_blocks(&self) -> u64 {
        (self.owed_blocks() + self.checkpoint_blocks()).saturating_sub(self.coming_blocks())
    }

    /// Number of blocks that are free, or become free without further operations.
    pub(crate) fn coming_blocks(&self) -> u64 {
        self.space.available() + self.space.pinned() + self.detached_blocks()
    }

    /// Number of blocks below detached sub-trees, at most. The number that the queue counts may be far
    /// larger than the pool, because sub-trees share.
    pub(crate) fn detached_blocks(&self) -> u64 {
        self.drops.mapped().min(self.space.allocated())
    }

    /// Promises an object the blocks of its deficit, as far as there is space for them.
    pub(crate) fn settle_deficit(&mut self, id: ObjectId) {
        let coming = self.space.available() + self.space.pinned();
        let kept =
            self.owed_blocks() + self.checkpoint_blocks() + DROP_GROWTH + self.reserve_blocks() + self.working_blocks();
        let room = coming.saturating_sub(kept);
        if self.objects.get(id).is_some_and(|object| object.deficit > 0) {
            self.objects.adjust_in_memory(id, |object| object.deficit = object.deficit.saturating_sub(room));
        }
    }

    /// Restores deficits after opening: for volumes with an overwrite reserve below 100 % they are
    /// not stored.
    pub(crate) fn restore_deficits(&mut self) {
        let partial = |id: &ObjectId| {
            self.objects.reserved(*id).and_then(|o| o.reservation).is_some_and(|r| r.overwrite_percent < 100)
        };
        let ids: Vec<ObjectId> = self.objects.reserved_ids().filter(partial).collect();
        for id in ids {
            let overdrawn = self.overdrawn_blocks();
            self.objects.adjust_in_memory(id, |object| object.deficit += overdrawn.min(object.promised()));
        }
    }

    /// Sets the counted upper bounds of the object's shared blocks and due pages.
    pub(crate) fn set_shared(&mut self, id: ObjectId, blocks: u64, pages: u64) -> Option<()> {
        self.objects.set_shared(id, blocks, pages)?;
        self.settle_deficit(id);
        Some(())
    }

    /// Request of an operation that stores new data and was planned to write `new` data blocks into
    /// an object.
    pub(crate) fn ask_for(&self, object: ObjectId, new: u64) -> Ask {
        self.ask_of(object, new, self.need.counts())
    }

    /// Like [`Map::ask_for`], with the counts of a plan.
    pub(crate) fn ask_of(&self, object: ObjectId, new: u64, counts: Counts) -> Ask {
        let pages = counts.allocations - counts.passing;
        let ask = Ask { lasting: new + pages, passing: counts.passing, ..Ask::default() };
        let Some(reserved) = self.objects.reserved(object) else { return self.covered(object, new, ask) };
        // A plan may count a page several times; the due pages are the upper bound. While detached trees still share
        // pages with the object, more are allocated, and as many come back when these trees are given up.
        let counted = pages;
        let pages = pages.min(reserved.pages_due);
        let passing = if self.has_detached() { counted - pages } else { 0 };
        let ask = Ask { passing: ask.passing + passing, ..ask };
        let fresh = counts.fresh.min(new);
        let parted = Object { shared: reserved.shared.saturating_sub(new - fresh), ..reserved.clone() };
        let shared = reserved.promised().saturating_sub(parted.promised());
        let partial = reserved.reservation.is_some_and(|reservation| reservation.overwrite_percent < 100);
        // An operation that stores nothing always works.
        let partial = partial && new + pages > 0;
        let due = fresh + shared.min(new - fresh);
        // Two concurrent writes of one block both take a block, and only one of these was promised.
        let left = reserved.promised().saturating_sub(reserved.pages_due + reserved.in_flight);
        let covered_blocks = due.min(left);
        let taken = due - covered_blocks;
        Ask { lasting: new + pages, covered: pages + covered_blocks, covered_blocks, taken, partial, ..ask }
    }

    /// Like [`Map::ask_for`], for an operation that frees space.
    pub(crate) fn ask_to_free(&self, object: ObjectId, new: u64) -> Ask {
        Ask { purpose: Purpose::Freeing, partial: false, ..self.ask_for(object, new) }
    }

    /// Largest number of further blocks that must be promised when `source` shares `count` blocks
    /// with a range of `destination`.
    pub(crate) fn promise_of_sharing(&self, source: ObjectId, destination: ObjectId, count: u64) -> u64 {
        let more = |id: ObjectId| {
            let Some(o) = self.objects.reserved(id) else { return 0 };
            let mut after = o.clone();
            after.raise_shared(count, crate::geometry::pages_of_run(count));
            after.promised().saturating_sub(o.promised())
        };
        if source == destination { more(source) } else { more(source) + more(destination) }
    }

    /// Number of further blocks that must be promised after these changes.
    pub(crate) fn promise_of_changes(&self, changes: &[CatalogChange]) -> u64 {
        let mut after: FxHashMap<ObjectId, Object> = FxHashMap::default();
        let known = |after: &FxHashMap<ObjectId, Object>, id: ObjectId| {
            after.get(&id).cloned().or_else(|| self.objects.get(id).map(Cow::into_owned))
        };
        for change in changes {
            match change {
                CatalogChange::CreateVolume { id, size_bytes } | CatalogChange::CreateCapture { id, size_bytes } => {
                    after.insert(*id, Object::new(*id, *size_bytes));
                }
                CatalogChange::CloneObject { source, id, .. } => {
                    let Some(mut object) = known(&after, *source) else { continue };
                    object.raise_shared(u64::MAX, u64::MAX);
                    let clone = Object { reservation: None, tracked: false, ..object.clone() };
                    after.insert(*source, object);
                    after.insert(*id, clone);
                }
                CatalogChange::SetReservation { id, reservation } => {
                    let Some(mut object) = known(&after, *id) else { continue };
                    if !object.tracked {
                        object.raise_shared(u64::MAX, u64::MAX);
                    }
                    object.reservation = *reservation;
                    object.deficit = 0;
                    after.insert(*id, object);
                }
                CatalogChange::Resize { id, size_bytes } => {
                    let Some(mut object) = known(&after, *id) else { continue };
                    object.resize(*size_bytes);
                    object.level =
                        object.level.max(crate::geometry::level_for(crate::geometry::blocks_for(*size_bytes)));
                    after.insert(*id, object);
                }
                CatalogChange::Rollback { id, source } => {
                    let (Some(mut object), Some(mut source)) = (known(&after, *id), known(&after, *source)) else {
                        continue;
                    };
                    source.raise_shared(u64::MAX, u64::MAX);
                    (object.size_bytes, object.level, object.mapped) = (source.size_bytes, source.level, source.mapped);
                    object.raise_shared(u64::MAX, u64::MAX);
                    after.insert(source.id, source);
                    after.insert(*id, object);
                }
                CatalogChange::DeleteObject { id } => {
                    if let Some(object) = known(&after, *id) {
                        after.insert(*id, Object { reservation: None, ..object });
                    }
                }
                CatalogChange::SetWriteCache { .. }
                | CatalogChange::SetZeroDetection { .. }
                | CatalogChange::SetCeiling { .. }
                | CatalogChange::Lock { .. }
                | CatalogChange::Unlock { .. }
                | CatalogChange::SetReplica { .. }
                | CatalogChange::PutDocument { .. }
                | CatalogChange::DeleteDocument { .. } => {}
            }
        }
        let shared: BTreeSet<ObjectId> = changes.iter().filter_map(shared_by).collect();
        let percent = |id: ObjectId| {
            let set = changes.iter().filter_map(|change| match change {
                CatalogChange::SetReservation { id: of, reservation } if *of == id => {
                    Some(reservation.map_or(100, |reservation| reservation.overwrite_percent))
                }
                _ => None,
            });
            set.chain(self.objects.read(id, Object::overwrite_percent)).max().unwrap_or(100)
        };
        let allotted: u64 = shared.into_iter().map(|id| self.promise_of_sharing_all(id, percent(id))).sum();
        let before: u64 = after.keys().filter_map(|id| self.objects.read(*id, Object::promised)).sum();
        let after: u64 = after.values().map(Object::promised).sum();
        after.saturating_sub(before) + allotted
    }
}

/// Object of which a change shares everything.
fn shared_by(change: &CatalogChange) -> Option<ObjectId> {
    match change {
        CatalogChange::CloneObject { source, .. } | CatalogChange::Rollback { source, .. } => Some(*source),
        _ => None,
    }
}
