//! All objects of the pool: their entries in the object table, the changes since the last freeze,
//! and the space promised to them.
//!
//! All of them are in memory: a few as an [`Object`], in use, and the others [`at rest`](AtRest).
//! An object comes into use when it changes, and is put to rest after a freeze has stored it.

use crate::catalog::object::{Object, Promises};
use crate::catalog::{FIRST_OBJECT, is_user_object, stream};
use crate::geometry::Pointer;
use media::BLOCK_BYTES;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Blocks and pages that became shared during the count of an object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Missed {
    pub blocks: u64,
    pub pages: u64,
}

/// Set of all objects. An object changes only through these methods, which keep the account of
/// promises and note what the next checkpoint has to write.
pub(crate) struct Objects {
    by_id: FxHashMap<u64, Object>,
    /// Objects whose entry in the table is out of date.
    changed: BTreeSet<u64>,
    /// Smallest id never used.
    next: u64,
    /// Number of objects deleted since the last freeze.
    deleted: u64,
    promises: Promises,
    /// Reserved volumes whose shared blocks are being counted, and what each count may have missed.
    counts: FxHashMap<u64, Missed>,
    /// True if blocks were given back since the shared blocks of reserved volumes were counted.
    recount_due: bool,
}

impl Objects {
    pub fn new() -> Self {
        Self {
            by_id: FxHashMap::default(),
            changed: BTreeSet::new(),
            next: FIRST_OBJECT,
            deleted: 0,
            promises: Promises::default(),
            counts: FxHashMap::default(),
            recount_due: false,
        }
    }

    /// An object, one of the pool's own included.
    #[inline]
    pub fn get(&self, id: u64) -> Option<&Object> {
        self.by_id.get(&id)
    }

    /// Returns what `read` takes from an object, the pool's own included.
    #[inline]
    pub fn user(&self, id: u64) -> Option<&Object> {
        self.by_id.get(&id).filter(|object| is_user_object(object.id))
    }

    /// Reads an object, one of the pool's own included.
    #[inline]
    pub fn read<T>(&self, id: u64, read: impl FnOnce(&Object) -> T) -> Option<T> {
        self.by_id.get(&id).map(read)
    }

    /// The pointer to the root page; its address is 0 for an empty map.
    #[inline]
    pub fn root(&self, id: u64) -> Option<Pointer> {
        self.read(id, Object::pointer)
    }

    /// Every object by id, the pool's own first.
    pub fn all(&self) -> Vec<&Object> {
        let mut all: Vec<_> = self.by_id.values().collect();
        all.sort_unstable_by_key(|object| object.id);
        all
    }

    /// Every volume, snapshot and capture by id.
    pub fn users(&self) -> impl Iterator<Item = &Object> {
        self.all().into_iter().filter(|object| is_user_object(object.id))
    }

    /// Blocks of the object table that may change until the next freeze, at most.
    pub fn table_blocks(&self) -> u64 {
        (self.by_id.len() as u64 + self.deleted).min(self.table_length())
    }

    /// Number of blocks of an object table that ends with the largest id used so far.
    pub fn table_length(&self) -> u64 {
        self.next.div_ceil(stream::SLOTS_PER_BLOCK)
    }

    /// Smallest id never used.
    pub fn next_id(&self) -> u64 {
        self.next
    }

    /// Takes an unused id.
    pub fn take_id(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Reserves all ids below `next`.
    pub fn raise_next(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// Loads an object into use.
    pub fn load(&mut self, object: Object) {
        self.raise_next(object.id + 1);
        self.promises.add(&object);
        self.by_id.insert(object.id, object);
    }

    /// Adds a new object.
    pub fn insert(&mut self, object: Object) {
        self.changed.insert(object.id);
        self.load(object);
    }

    /// Removes an object and returns it.
    pub fn remove(&mut self, id: u64) -> Option<Object> {
        let object = self.by_id.remove(&id)?;
        self.promises.remove(&object);
        self.recount_due = true;
        self.deleted += 1;
        self.changed.insert(id);
        Some(object)
    }

    /// Changes an object, and updates its promise.
    pub fn adjust(&mut self, id: u64, change: impl FnOnce(&mut Object)) -> Option<()> {
        let object = self.by_id.get_mut(&id)?;
        self.promises.change(object, change);
        self.changed.insert(id);
        Some(())
    }

    /// Changes parts of an object that are not stored, and updates its promise.
    pub fn adjust_in_memory(&mut self, id: u64, change: impl FnOnce(&mut Object)) {
        if let Some(object) = self.by_id.get_mut(&id) {
            self.promises.change(object, change);
        }
    }

    /// Sets the address of the root page; 0: the object has none.
    #[inline]
    pub fn set_root(&mut self, id: u64, address: u64) -> Option<()> {
        self.by_id.get_mut(&id)?.root = address;
        Some(())
    }

    /// Sets a new root page at `address` on `level`; its checksum is not known yet.
    pub fn raise_root(&mut self, id: u64, address: u64, level: u8) -> Option<()> {
        let object = self.by_id.get_mut(&id)?;
        object.root = address;
        object.root_crc = 0;
        object.level = level;
        Some(())
    }

    /// Changes the number of mapped blocks by `delta`.
    #[inline]
    pub fn change_mapped(&mut self, id: u64, delta: i64) -> Option<()> {
        let object = self.by_id.get_mut(&id)?;
        if object.tracked {
            self.promises.remove(object);
        }
        if delta < 0 {
            object.unmap(delta.unsigned_abs());
        }
        object.mapped = object.mapped.checked_add_signed(delta)?;
        if object.tracked {
            object.shared = object.shared.min(object.mapped);
            self.promises.add(object);
        }
        self.changed.insert(id);
        if delta < 0 && !self.counts.is_empty() {
            self.note_more_shared(id, delta.unsigned_abs(), 0);
        }
        Some(())
    }

    /// Sets the number of mapped blocks of one of the pool's own streams, as counted while reading
    /// it.
    pub fn set_mapped(&mut self, id: u64, mapped: u64) {
        if let Some(object) = self.by_id.get_mut(&id) {
            object.mapped = mapped;
        }
    }

    /// Size of an object, or length of one of the pool's own streams, in bytes; 0 if it does not
    /// exist.
    pub fn length(&self, id: u64) -> u64 {
        self.by_id.get(&id).map_or(0, |object| object.size_bytes)
    }

    /// Sets the length of one of the pool's own streams.
    pub fn set_length(&mut self, id: u64, bytes: u64) -> Option<()> {
        self.by_id.get_mut(&id)?.size_bytes = bytes;
        Some(())
    }

    /// Up to `blocks` that an object has mapped, and as many pages, may be shared from now on.
    pub fn more_shared(&mut self, id: u64, blocks: u64, pages: u64) -> Option<()> {
        self.note_more_shared(id, blocks, pages);
        match self.by_id.get(&id)?.tracked {
            true => self.adjust(id, |object| object.share(blocks, pages)),
            false => Some(()),
        }
    }

    /// So many blocks of an object were shared, and are its own now.
    #[inline]
    pub fn fewer_shared(&mut self, id: u64, blocks: u64) -> Option<()> {
        if blocks == 0 || !self.by_id.get(&id)?.tracked {
            return Some(());
        }
        self.adjust(id, |object| object.shared = object.shared.saturating_sub(blocks))
    }

    /// Notes that the object has got a page of its own.
    #[inline]
    pub fn page_given(&mut self, id: u64) -> Option<()> {
        if !self.by_id.get(&id)?.tracked {
            return Some(());
        }
        self.adjust(id, |object| object.pages_due = object.pages_due.saturating_sub(1))
    }

    /// Sets the counted upper bounds of the object's shared blocks and due pages.
    pub fn set_shared(&mut self, id: u64, blocks: u64, pages: u64) -> Option<()> {
        self.adjust(id, |object| {
            (object.shared, object.pages_due) = (0, 0);
            object.share(blocks, pages);
            object.tracked = true;
        })
    }

    /// Notes what a count in progress may have missed.
    pub fn note_more_shared(&mut self, id: u64, blocks: u64, pages: u64) {
        if !self.counts.is_empty()
            && let Some(missed) = self.counts.get_mut(&id)
        {
            missed.blocks = missed.blocks.saturating_add(blocks);
            missed.pages = missed.pages.saturating_add(pages);
        }
    }

    /// Starts a count of the shared blocks of an object.
    pub fn begin_count(&mut self, id: u64) {
        self.counts.insert(id, Missed::default());
    }

    /// Blocks and pages that the count of an object may have missed; `None` if none is in progress.
    pub fn missed(&self, id: u64) -> Option<Missed> {
        self.counts.get(&id).copied()
    }

    /// Ends a count.
    pub fn end_count(&mut self, id: u64) {
        self.counts.remove(&id);
    }

    /// True if blocks were given back that reserved volumes may have shared.
    pub fn recount_due(&self) -> bool {
        self.recount_due
    }

    /// Requests a recount of the shared blocks of reserved volumes.
    pub fn request_recount(&mut self) {
        self.recount_due = true;
    }

    /// Takes the due recount: reserved volumes with shared blocks that are not being counted.
    pub fn take_due_recounts(&mut self) -> Vec<u64> {
        self.recount_due = false;
        let reserved = self.by_id.values().filter(|object| object.reservation.is_some() && object.shared > 0);
        let mut ids: Vec<u64> = reserved.map(|object| object.id).filter(|id| !self.counts.contains_key(id)).collect();
        ids.sort_unstable();
        ids
    }

    /// What is promised to all reserved volumes.
    #[inline]
    pub fn promises(&self) -> &Promises {
        &self.promises
    }

    /// Returns the object if it has a reservation.
    #[inline]
    pub fn reserved(&self, id: u64) -> Option<&Object> {
        match self.promises.objects {
            0 => None,
            _ => self.by_id.get(&id).filter(|object| object.reservation.is_some()),
        }
    }

    /// Changes the number of promised blocks that large writes of an object have taken.
    pub fn change_in_flight(&mut self, id: u64, change: impl FnOnce(u64) -> u64) {
        // The object may have been deleted meanwhile.
        self.adjust_in_memory(id, |object| object.in_flight = change(object.in_flight));
    }

    /// Blocks of the object table that a freeze has to write.
    pub fn changed_blocks(&self) -> BTreeSet<u64> {
        let users = self.changed.iter().filter(|id| is_user_object(**id));
        users.map(|id| id / stream::SLOTS_PER_BLOCK).collect()
    }

    /// Content of a block of the object table.
    pub fn table_block(&self, block: u64) -> [u8; BLOCK_BYTES] {
        let mut content = [0u8; BLOCK_BYTES];
        for (i, slot) in content.chunks_exact_mut(stream::SLOT_BYTES).enumerate() {
            if let Some(object) = self.user(block * stream::SLOTS_PER_BLOCK + i as u64) {
                stream::encode_object(object, slot);
            }
        }
        content
    }

    /// The objects that a stored table holds are added.
    pub fn load_table(&mut self, table: &[u8]) -> Result<(), String> {
        for (id, slot) in table.chunks_exact(stream::SLOT_BYTES).enumerate() {
            if let Some(object) = stream::decode_object(id as u64, slot)? {
                self.load(object);
            }
        }
        Ok(())
    }

    /// Notes that the freeze has written the changes.
    pub fn note_frozen(&mut self) {
        self.changed.clear();
        self.deleted = 0;
    }

    /// Takes over the checksum of one object's sealed root page, if `crcs` has it.
    pub fn seal_root(&mut self, id: u64, crcs: &FxHashMap<u64, u32>) -> Option<()> {
        let object = self.by_id.get_mut(&id)?;
        if let Some(crc) = crcs.get(&object.root) {
            object.root_crc = *crc;
        }
        Some(())
    }

    /// Takes over the checksums of sealed root pages; `crcs` has them by address.
    pub fn seal_roots(&mut self, crcs: &FxHashMap<u64, u32>) {
        for object in self.by_id.values_mut() {
            if let Some(crc) = crcs.get(&object.root) {
                object.root_crc = *crc;
            }
        }
    }
}
