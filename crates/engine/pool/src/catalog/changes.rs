//! Objects changed since an epoch ended, and those of the epoch before that a checkpoint has still to
//! store, in their state at its end.

use crate::catalog::is_user_object;
use crate::catalog::object::Object;
use crate::catalog::stream::table_block_of;
use crate::geometry::Pointer;
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::mutations::{Mutation, leaves_out};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Changed objects. Generations count the epochs of this run, from 1 on.
pub(super) struct Changes {
    /// Number of the present generation.
    generation: u64,
    /// Number of the last generation whose objects have been stored.
    stored: u64,
    /// Objects created or changed in this generation, each once.
    changed: Vec<ObjectId>,
    /// Number of them that [`Self::next_changed`] has returned.
    considered: usize,
    /// Blocks of the object table with their entries, and with those of deleted objects.
    blocks: BTreeSet<BlockNumber>,
    /// Blocks of the object table that the generation before has still to store.
    due: BTreeSet<BlockNumber>,
    /// Objects in these blocks that have changed since, as they were before; none if it did not exist.
    before: FxHashMap<ObjectId, Option<Object>>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            generation: 1,
            stored: 0,
            changed: Vec::new(),
            considered: 0,
            blocks: BTreeSet::new(),
            due: BTreeSet::new(),
            before: FxHashMap::default(),
        }
    }
}

impl Changes {
    /// Precedes each change of what is stored of an object.
    #[inline]
    pub fn note(&mut self, object: &mut Object) {
        if object.changed != self.generation {
            self.note_first(object);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_first(&mut self, object: &mut Object) {
        self.keep(object.id, Some(object));
        object.changed = self.generation;
        self.changed.push(object.id);
        self.touch(object.id);
    }

    /// Notes a new object.
    pub fn note_created(&mut self, object: &mut Object) {
        self.keep(object.id, None);
        object.changed = self.generation;
        self.changed.push(object.id);
        self.touch(object.id);
    }

    /// Notes a deleted object.
    pub fn note_deleted(&mut self, object: &Object) {
        if object.changed != self.generation {
            self.keep(object.id, Some(object));
        }
        self.touch(object.id);
    }

    /// Keeps an object as it was when the generation before ended, if that has not stored it yet.
    fn keep(&mut self, id: ObjectId, object: Option<&Object>) {
        let due = is_user_object(id) && self.due.contains(&table_block_of(id));
        if due && !leaves_out(Mutation::ObjectsBeforeChange) {
            self.before.entry(id).or_insert_with(|| object.cloned());
        }
    }

    fn touch(&mut self, id: ObjectId) {
        if is_user_object(id) {
            self.blocks.insert(table_block_of(id));
        }
    }

    /// Blocks of the object table that have changed in this generation.
    pub fn blocks(&self) -> &BTreeSet<BlockNumber> {
        &self.blocks
    }

    /// True if what an object is now was stored, or is about to be, and its root page is sealed.
    pub fn are_stored(&self, object: &Object) -> bool {
        object.changed <= self.stored
    }

    /// Ends the generation. What it has to store follows.
    pub fn end_epoch(&mut self) {
        debug_assert!(self.due.is_empty() && self.before.is_empty());
        self.due = std::mem::take(&mut self.blocks);
        self.changed.clear();
        self.considered = 0;
        self.generation += 1;
    }

    /// Next block of the object table that the generation before has to store.
    pub fn next_block(&self) -> Option<BlockNumber> {
        self.due.first().copied()
    }

    /// Object as it was when the generation before ended, if it has changed since; the inner `None`:
    /// it did not exist.
    pub fn before(&self, id: ObjectId) -> Option<Option<&Object>> {
        self.before.get(&id).map(Option::as_ref)
    }

    /// Completes the pointer to the root page of an object in its state before a change.
    pub fn complete_before(&mut self, id: ObjectId, crc: impl Fn(Pointer) -> Pointer) {
        if let Some(Some(object)) = self.before.get_mut(&id)
            && object.changed > 0
        {
            object.root_crc = crc(object.pointer()).crc;
        }
    }

    /// Notes that a block of the object table has been stored.
    pub fn block_is_stored(&mut self, block: BlockNumber) {
        self.due.remove(&block);
        if self.due.is_empty() {
            self.before = FxHashMap::default();
        }
    }

    /// Next object that has changed in this generation.
    pub fn next_changed(&mut self) -> Option<ObjectId> {
        let id = self.changed.get(self.considered).copied();
        self.considered += usize::from(id.is_some());
        id
    }

    /// Notes that everything is stored that the generation before had to store.
    pub fn end_sealing(&mut self) {
        self.stored = self.generation - 1;
    }
}
