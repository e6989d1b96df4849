//! All objects of the pool: their entries in the object table, the changes since the last freeze,
//! and the space promised to them.
//!
//! All of them are in memory: a few as an [`Object`], in use, and the others [`at rest`](AtRest).
//! An object comes into use when it changes, and is put to rest after a freeze has stored it.

use crate::catalog::object::{Object, Promises};
use crate::catalog::rest::AtRest;
use crate::catalog::{FIRST_OBJECT, is_user_object, stream};
use crate::checksum::Crc32c;
use crate::geometry::Pointer;
use crate::interface::range::BlockNumber;
use crate::interface::{ObjectId, ObjectKind};
use crate::mutations::{Mutation, leaves_out};
use media::{BLOCK_BYTES, BlockAddress};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
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
    /// Objects in use: the pool's own, those with a reservation, those that changed lately.
    in_use: FxHashMap<ObjectId, Object>,
    /// All other objects.
    at_rest: AtRest,
    /// Number of objects in use from which on some are put to rest.
    rest_from: usize,
    /// Objects whose stored entry is out of date. They are in use, since a freeze completes them.
    changed: BTreeSet<ObjectId>,
    /// One of them that is likely to change again.
    last_changed: Option<ObjectId>,
    /// Ids of objects with unreported changes, each once.
    unreported: Vec<ObjectId>,
    /// Smallest id never used.
    next: ObjectId,
    /// Number of objects deleted since the last freeze.
    deleted: u64,
    promises: Promises,
    /// Ids of objects with a reservation.
    reserved: BTreeSet<ObjectId>,
    /// Ids of captures.
    captures: BTreeSet<ObjectId>,
    /// Reserved volumes whose shared blocks are being counted, with what each count may have
    /// missed.
    counts: FxHashMap<ObjectId, Missed>,
    /// True if blocks were given back since the shared blocks of reserved volumes were counted.
    recount_due: bool,
}

impl Objects {
    pub fn new() -> Self {
        Self {
            in_use: FxHashMap::default(),
            at_rest: AtRest::default(),
            rest_from: 0,
            changed: BTreeSet::new(),
            last_changed: None,
            unreported: Vec::new(),
            next: FIRST_OBJECT,
            deleted: 0,
            promises: Promises::default(),
            reserved: BTreeSet::new(),
            captures: BTreeSet::new(),
            counts: FxHashMap::default(),
            recount_due: false,
        }
    }

    /// Returns an object, including the pool's own.
    pub fn get(&self, id: ObjectId) -> Option<Cow<'_, Object>> {
        match self.in_use.get(&id) {
            Some(object) => Some(Cow::Borrowed(object)),
            None => self.at_rest.get(id).map(Cow::Owned),
        }
    }

    /// Returns what `read` takes from an object, the pool's own included.
    #[inline]
    pub fn read<T>(&self, id: ObjectId, read: impl FnOnce(&Object) -> T) -> Option<T> {
        match self.in_use.get(&id) {
            Some(object) => Some(read(object)),
            None => self.read_at_rest(id, read),
        }
    }

    #[cold]
    #[inline(never)]
    fn read_at_rest<T>(&self, id: ObjectId, read: impl FnOnce(&Object) -> T) -> Option<T> {
        self.at_rest.get(id).map(|object| read(&object))
    }

    /// Returns a volume, snapshot or capture.
    pub fn user(&self, id: ObjectId) -> Option<Cow<'_, Object>> {
        self.get(id).filter(|object| is_user_object(object.id))
    }

    /// Pointer to the root page; its address is 0 for an empty map.
    #[inline]
    pub fn root(&self, id: ObjectId) -> Option<Pointer> {
        self.read(id, Object::pointer)
    }

    /// Ids of all objects, ascending, the pool's own first.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.ids_from(ObjectId::NONE)
    }

    /// Ids of all objects from `id` on, ascending.
    fn ids_from(&self, id: ObjectId) -> impl Iterator<Item = ObjectId> {
        let mut in_use: Vec<ObjectId> = self.in_use.keys().copied().filter(|other| *other >= id).collect();
        in_use.sort_unstable();
        let (mut in_use, mut at_rest) = (in_use.into_iter().peekable(), self.at_rest.ids(id).peekable());
        std::iter::from_fn(move || match (in_use.peek(), at_rest.peek()) {
            (Some(one), Some(other)) if one > other => at_rest.next(),
            (Some(_), _) => in_use.next(),
            (None, _) => at_rest.next(),
        })
    }

    /// All objects by id, the pool's own first.
    pub fn all(&self) -> impl Iterator<Item = Cow<'_, Object>> {
        self.ids().filter_map(|id| self.get(id))
    }

    /// Ids of all volumes, snapshots and captures, ascending.
    pub fn user_ids(&self) -> impl Iterator<Item = ObjectId> {
        self.ids().filter(|id| is_user_object(*id))
    }

    /// Ids of all volumes, snapshots and captures from `id` on, ascending.
    pub fn user_ids_from(&self, id: ObjectId) -> impl Iterator<Item = ObjectId> {
        self.ids_from(id.max(FIRST_OBJECT))
    }

    /// Ids of all captures, ascending.
    pub fn capture_ids(&self) -> impl Iterator<Item = ObjectId> {
        self.captures.iter().copied()
    }

    /// Smallest id of a volume, snapshot or capture that is not below `id`.
    pub fn first_user_from(&self, id: ObjectId) -> Option<ObjectId> {
        let from = id.max(FIRST_OBJECT);
        let in_use = self.in_use.keys().copied().filter(|id| *id >= from).min();
        in_use.into_iter().chain(self.at_rest.ids(from).next()).min()
    }

    /// Largest number of blocks of the object table that may change until the next freeze.
    pub fn table_blocks(&self) -> u64 {
        ((self.in_use.len() + self.at_rest.len()) as u64 + self.deleted).min(self.table_length())
    }

    /// Number of blocks of an object table that ends with the largest id used so far.
    pub fn table_length(&self) -> u64 {
        self.next.0.div_ceil(stream::SLOTS_PER_BLOCK)
    }

    /// Smallest id never used.
    pub fn next_id(&self) -> ObjectId {
        self.next
    }

    /// Takes an unused id.
    pub fn take_id(&mut self) -> ObjectId {
        let id = self.next;
        self.next = id.next();
        id
    }

    /// Reserves all ids below `next`.
    pub fn raise_next(&mut self, next: ObjectId) {
        self.next = self.next.max(next);
    }

    /// Loads an object into use.
    pub fn load(&mut self, object: Object) {
        self.raise_next(object.id.next());
        self.promises.add(&object);
        if object.reservation.is_some() {
            self.reserved.insert(object.id);
        }
        self.note_kind(&object);
        self.in_use.insert(object.id, object);
    }

    fn note_kind(&mut self, object: &Object) {
        if object.kind == ObjectKind::Capture {
            self.captures.insert(object.id);
        }
    }

    /// Brings an object at rest into use.
    #[cold]
    #[inline(never)]
    fn wake(&mut self, id: ObjectId) -> Option<&mut Object> {
        let object = self.at_rest.take(id)?;
        Some(self.in_use.entry(id).or_insert(object))
    }

    /// Puts all objects to rest that can be, if more than `most` are in use.
    #[inline]
    pub fn rest(&mut self, most: usize) {
        if self.in_use.len() > most.max(self.rest_from) {
            self.rest_now(most);
        }
    }

    fn rest_now(&mut self, most: usize) {
        let Self { in_use, at_rest, changed, .. } = self;
        // The checksum of a changed object's root page is not known before the next freeze.
        let complete = |id: &ObjectId| !changed.contains(id) || leaves_out(Mutation::Rest);
        in_use.retain(|id, object| !(is_user_object(*id) && complete(id) && at_rest.insert(object)));
        // The next attempt pays only after a freeze, or with many more objects in use.
        self.rest_from = 2 * in_use.len();
        if in_use.capacity() > 16 * in_use.len().max(most) {
            in_use.shrink_to(2 * most);
        }
    }

    /// Takes at most `most` volumes, snapshots and captures that changed since this last returned
    /// them, or were deleted.
    pub fn take_unreported(&mut self, most: usize) -> Vec<ObjectId> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(id) = self.unreported.pop()
        {
            match self.in_use.get_mut(&id) {
                Some(object) => object.unreported = false,
                None => self.at_rest.note_reported(id),
            }
            taken.extend(is_user_object(id).then_some(id));
        }
        taken
    }

    /// Adds a new object.
    pub fn insert(&mut self, mut object: Object) {
        self.changed.insert(object.id);
        object.unreported = true;
        self.unreported.push(object.id);
        self.load(object);
    }

    /// Removes an object and returns it.
    pub fn remove(&mut self, id: ObjectId) -> Option<Object> {
        let object = self.in_use.remove(&id).or_else(|| self.at_rest.take(id))?;
        self.promises.remove(&object);
        self.reserved.remove(&id);
        self.captures.remove(&id);
        if !object.unreported {
            self.unreported.push(id);
        }
        self.recount_due = true;
        self.deleted += 1;
        self.changed.insert(id);
        Some(object)
    }

    /// Changes an object, and updates its promise.
    pub fn adjust(&mut self, id: ObjectId, change: impl FnOnce(&mut Object)) -> Option<()> {
        let object = match self.in_use.get_mut(&id) {
            Some(object) => object,
            None => {
                self.wake(id)?;
                self.in_use.get_mut(&id)?
            }
        };
        let reserved = object.reservation.is_some();
        self.promises.change(object, change);
        if reserved != object.reservation.is_some() {
            match reserved {
                true => self.reserved.remove(&id),
                false => self.reserved.insert(id),
            };
        }
        report(&mut self.unreported, object);
        self.changed.insert(id);
        Some(())
    }

    /// Changes parts of an object that are not stored, and updates its promise.
    pub fn adjust_in_memory(&mut self, id: ObjectId, change: impl FnOnce(&mut Object)) {
        // An object at rest has no such parts yet.
        if (self.in_use.contains_key(&id) || self.wake(id).is_some())
            && let Some(object) = self.in_use.get_mut(&id)
        {
            self.promises.change(object, change);
        }
    }

    /// Sets the address of the root page; 0: the object has none. The checksum of a new one is not
    /// known yet.
    #[inline]
    pub fn set_root(&mut self, id: ObjectId, address: BlockAddress) -> Option<()> {
        let object = match self.in_use.get_mut(&id) {
            Some(object) => object,
            None => self.wake(id)?,
        };
        if object.root != address {
            (object.root, object.root_crc) = (address, Crc32c::NONE);
        }
        Some(())
    }

    /// Sets a new root page at `address` on `level`; its checksum is not known yet.
    pub fn raise_root(&mut self, id: ObjectId, address: BlockAddress, level: u8) -> Option<()> {
        let object = match self.in_use.get_mut(&id) {
            Some(object) => object,
            None => {
                self.wake(id)?;
                self.in_use.get_mut(&id)?
            }
        };
        object.root = address;
        object.root_crc = Crc32c::NONE;
        object.level = level;
        Some(())
    }

    /// Changes the number of mapped blocks by `delta`.
    #[inline]
    pub fn change_mapped(&mut self, id: ObjectId, delta: i64) -> Option<()> {
        let object = match self.in_use.get_mut(&id) {
            Some(object) => object,
            None => {
                self.wake(id)?;
                self.in_use.get_mut(&id)?
            }
        };
        report(&mut self.unreported, object);
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
        if self.last_changed != Some(id) {
            self.last_changed = Some(id);
            self.changed.insert(id);
        }
        if delta < 0 && !self.counts.is_empty() {
            self.note_more_shared(id, delta.unsigned_abs(), 0);
        }
        Some(())
    }

    /// Sets the number of mapped blocks of one of the pool's own streams, as counted while reading
    /// it.
    pub fn set_mapped(&mut self, id: ObjectId, mapped: u64) {
        if let Some(object) = self.in_use.get_mut(&id) {
            object.mapped = mapped;
        }
    }

    /// Size of an object, or length of one of the pool's own streams, in bytes; 0 if it does not
    /// exist.
    pub fn length(&self, id: ObjectId) -> u64 {
        self.read(id, |object| object.size_bytes).unwrap_or(0)
    }

    /// Sets the length of one of the pool's own streams.
    pub fn set_length(&mut self, id: ObjectId, bytes: u64) -> Option<()> {
        self.in_use.get_mut(&id)?.size_bytes = bytes;
        Some(())
    }

    /// Notes that up to `blocks` mapped blocks of an object, and as many pages, may be shared from
    /// now on.
    #[inline]
    pub fn more_shared(&mut self, id: ObjectId, blocks: u64, pages: u64) -> Option<()> {
        match self.in_use.get(&id) {
            Some(object) if !object.tracked && self.counts.is_empty() => Some(()),
            _ => self.more_shared_of_tracked(id, blocks, pages),
        }
    }

    #[inline(never)]
    fn more_shared_of_tracked(&mut self, id: ObjectId, blocks: u64, pages: u64) -> Option<()> {
        self.note_more_shared(id, blocks, pages);
        match self.is_tracked(id)? {
            true => self.adjust(id, |object| object.raise_shared(blocks, pages)),
            false => Some(()),
        }
    }

    /// True if the object is tracked; objects at rest are not.
    #[inline]
    fn is_tracked(&self, id: ObjectId) -> Option<bool> {
        match self.in_use.get(&id) {
            Some(object) => Some(object.tracked),
            None => self.read_at_rest(id, |object| object.tracked),
        }
    }

    /// Notes that this many shared blocks are the object's own now.
    #[inline]
    pub fn fewer_shared(&mut self, id: ObjectId, blocks: u64) -> Option<()> {
        if blocks == 0 || !self.is_tracked(id)? {
            return Some(());
        }
        self.adjust(id, |object| object.shared = object.shared.saturating_sub(blocks))
    }

    /// Notes that the object has got a page of its own.
    #[inline]
    pub fn page_given(&mut self, id: ObjectId) -> Option<()> {
        if !self.is_tracked(id)? {
            return Some(());
        }
        self.adjust(id, |object| object.pages_due = object.pages_due.saturating_sub(1))
    }

    /// Sets the counted upper bounds of the object's shared blocks and due pages.
    pub fn set_shared(&mut self, id: ObjectId, blocks: u64, pages: u64) -> Option<()> {
        self.adjust(id, |object| {
            (object.shared, object.pages_due) = (0, 0);
            object.raise_shared(blocks, pages);
            object.tracked = true;
        })
    }

    /// Notes what a count in progress may have missed.
    pub fn note_more_shared(&mut self, id: ObjectId, blocks: u64, pages: u64) {
        if !self.counts.is_empty()
            && let Some(missed) = self.counts.get_mut(&id)
        {
            missed.blocks = missed.blocks.saturating_add(blocks);
            missed.pages = missed.pages.saturating_add(pages);
        }
    }

    /// Starts a count of the shared blocks of an object.
    pub fn begin_count(&mut self, id: ObjectId) {
        self.counts.insert(id, Missed::default());
    }

    /// Blocks and pages that the count of an object may have missed; `None` if none is in progress.
    pub fn missed(&self, id: ObjectId) -> Option<Missed> {
        self.counts.get(&id).copied()
    }

    /// Ends a count.
    pub fn end_count(&mut self, id: ObjectId) {
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
    pub fn take_due_recounts(&mut self) -> Vec<ObjectId> {
        self.recount_due = false;
        let reserved = self.reserved.iter().filter_map(|id| self.in_use.get(id)).filter(|object| object.shared > 0);
        reserved.map(|object| object.id).filter(|id| !self.counts.contains_key(id)).collect()
    }

    /// Ids of the objects with a reservation, ascending.
    pub fn reserved_ids(&self) -> impl Iterator<Item = ObjectId> {
        self.reserved.iter().copied()
    }

    /// Space promised to all reserved volumes.
    #[inline]
    pub fn promises(&self) -> &Promises {
        &self.promises
    }

    /// Returns the object if it has a reservation.
    #[inline]
    pub fn reserved(&self, id: ObjectId) -> Option<&Object> {
        match self.promises.objects {
            0 => None,
            _ => self.in_use.get(&id).filter(|object| object.reservation.is_some()),
        }
    }

    /// Changes the number of promised blocks that large writes of an object have taken.
    pub fn change_in_flight(&mut self, id: ObjectId, change: impl FnOnce(u64) -> u64) {
        // The object may have been deleted meanwhile.
        self.adjust_in_memory(id, |object| object.in_flight = change(object.in_flight));
    }

    /// Blocks of the object table that a freeze has to write.
    pub fn changed_blocks(&self) -> BTreeSet<BlockNumber> {
        let users = self.changed.iter().filter(|id| is_user_object(**id));
        users.map(|id| stream::table_block_of(*id)).collect()
    }

    /// Content of a block of the object table.
    pub fn table_block(&self, block: BlockNumber) -> [u8; BLOCK_BYTES] {
        let mut content = [0u8; BLOCK_BYTES];
        let mut at_rest = self.at_rest.in_block(block).peekable();
        for (id, slot) in stream::ids_of_block(block).zip(content.chunks_exact_mut(stream::SLOT_BYTES)) {
            if let Some(object) = at_rest.next_if(|object| object.id == id) {
                stream::encode_object(&object, slot);
            } else if let Some(object) = self.in_use.get(&id).filter(|_| is_user_object(id)) {
                stream::encode_object(object, slot);
            }
        }
        content
    }

    /// Adds the objects in a block of the stored table.
    pub fn load_block(&mut self, block: BlockNumber, content: &[u8; BLOCK_BYTES]) -> Result<(), String> {
        let mut objects = Vec::with_capacity(stream::SLOTS_PER_BLOCK as usize);
        for (id, slot) in stream::ids_of_block(block).zip(content.chunks_exact(stream::SLOT_BYTES)) {
            objects.extend(stream::decode_object(id, slot)?);
        }
        if let Some(last) = objects.last() {
            self.raise_next(last.id.next());
        }
        objects.iter().for_each(|object| self.note_kind(object));
        self.at_rest.insert_block(block, &objects).into_iter().for_each(|object| self.load(object.clone()));
        Ok(())
    }

    /// Notes that the freeze has written the changes.
    pub fn note_frozen(&mut self) {
        self.rest_from = 0;
        self.changed.clear();
        self.last_changed = None;
        self.deleted = 0;
    }

    /// Takes over the checksum of one object's sealed root page, if `crcs` has it.
    pub fn seal_root(&mut self, id: ObjectId, crcs: &FxHashMap<BlockAddress, Crc32c>) -> Option<()> {
        seal_root(self.in_use.get_mut(&id)?, crcs);
        Some(())
    }

    /// Takes over the checksums of sealed root pages; `crcs` has them by address.
    pub fn seal_roots(&mut self, crcs: &FxHashMap<BlockAddress, Crc32c>) {
        // A root is sealed in the epoch in which it was placed, and placing it changed its object.
        // An unchanged object whose root is among the sealed pages all the same is in a damaged
        // pool: the count of its root was too low, and the block was given to another page. Its
        // pointer keeps the old checksum, so that no read takes the other page for its root.
        for id in &self.changed {
            if let Some(object) = self.in_use.get_mut(id) {
                seal_root(object, crcs);
            }
        }
    }
}

/// Takes over the checksum of a root page placed since the last freeze. A root that was sealed
/// before keeps its checksum, whatever is at its address now.
fn seal_root(object: &mut Object, crcs: &FxHashMap<BlockAddress, Crc32c>) {
    if object.root_crc == Crc32c::NONE
        && let Some(crc) = crcs.get(&object.root)
    {
        object.root_crc = *crc;
    }
}

/// Records a change of an object, unless one is unreported already.
#[inline]
fn report(unreported: &mut Vec<ObjectId>, object: &mut Object) {
    if !std::mem::replace(&mut object.unreported, true) {
        unreported.push(object.id);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::interface::Reservation;

    fn volume(id: ObjectId) -> Object {
        Object::new(id, 1 << 20)
    }

    fn frozen(ids: std::ops::Range<u64>) -> Objects {
        let mut objects = Objects::new();
        objects.load(volume(crate::catalog::OBJECT_TABLE));
        ids.for_each(|id| objects.insert(volume(ObjectId(id))));
        objects.take_unreported(usize::MAX);
        objects.note_frozen();
        objects
    }

    #[test]
    fn only_objects_that_a_freeze_has_stored_rest() {
        let mut objects = frozen(16..26);
        objects.change_mapped(ObjectId(20), 1).unwrap();
        objects.rest(10);
        assert_eq!((objects.in_use.len(), objects.at_rest.len()), (2, 9), "the table and the changed object");
        objects.set_root(ObjectId(20), BlockAddress::new(500)).unwrap();
        objects.seal_roots(&FxHashMap::from_iter([(BlockAddress::new(500), Crc32c::new(99))]));
        objects.note_frozen();
        objects.rest(1);
        assert_eq!((objects.in_use.len(), objects.at_rest.len()), (1, 10));
        let root = Pointer { address: BlockAddress::new(500), level: 0, crc: Crc32c::new(99) };
        assert_eq!(objects.root(ObjectId(20)), Some(root));
    }

    #[test]
    fn few_objects_in_use_do_not_rest() {
        let mut objects = frozen(16..26);
        objects.rest(11);
        assert_eq!(objects.in_use.len(), 11);
    }

    /// Otherwise every turn of the pool would look at all objects, as long as none may rest.
    #[test]
    fn an_attempt_is_repeated_after_a_freeze_or_with_more_objects_only() {
        let mut objects = frozen(16..16);
        (16..26).for_each(|id| objects.insert(volume(ObjectId(id))));
        objects.rest(1);
        assert_eq!((objects.at_rest.len(), objects.rest_from), (0, 22));
        objects.note_frozen();
        objects.rest(1);
        assert_eq!((objects.at_rest.len(), objects.rest_from), (10, 2));
    }

    #[test]
    fn objects_with_a_promise_stay_in_use() {
        let mut objects = frozen(16..26);
        let reservation = Some(Reservation { overwrite_percent: 100 });
        objects.adjust(ObjectId(18), |object| (object.reservation, object.tracked) = (reservation, true)).unwrap();
        objects.note_frozen();
        objects.rest(0);
        assert_eq!(objects.in_use.keys().copied().collect::<BTreeSet<_>>(), BTreeSet::from([1, 18].map(ObjectId)));
        let stored = objects.table_block(BlockNumber::FIRST);
        let mut loaded = Objects::new();
        loaded.load_block(BlockNumber::FIRST, &stored).unwrap();
        assert_eq!(loaded.in_use.keys().collect::<Vec<_>>(), [&ObjectId(18)]);
        assert_eq!((loaded.promises.promised, loaded.promises.objects), (256, 1));
        assert_eq!((loaded.table_block(BlockNumber::FIRST), loaded.next_id()), (stored, ObjectId(26)));
    }

    #[test]
    fn all_objects_are_listed_in_order_wherever_they_are() {
        let mut objects = frozen(16..26);
        objects.rest(0);
        objects.insert(volume(ObjectId(30)));
        objects.adjust(ObjectId(17), |object| object.write_cache = true).unwrap();
        assert_eq!(objects.remove(ObjectId(18)).map(|object| object.id), Some(ObjectId(18)));
        let expected: Vec<_> = [16, 17].into_iter().chain(19..26).chain([30]).map(ObjectId).collect();
        assert_eq!(objects.user_ids().collect::<Vec<_>>(), expected);
        assert_eq!(objects.ids().next(), Some(ObjectId(1)));
        let first_from = [0, 17, 18, 26, 31].map(|id| objects.first_user_from(ObjectId(id)));
        assert_eq!(first_from, [Some(16), Some(17), Some(19), Some(30), None].map(|id| id.map(ObjectId)));
        assert_eq!(objects.user_ids_from(ObjectId(0)).collect::<Vec<_>>(), expected);
        assert_eq!(objects.user_ids_from(ObjectId(18)).collect::<Vec<_>>(), expected[2..]);
        assert_eq!(objects.table_blocks(), 1);
        assert!(objects.get(ObjectId(18)).is_none() && objects.adjust(ObjectId(18), |_| ()).is_none());
    }

    #[test]
    fn captures_are_listed_wherever_they_are() {
        let mut objects = frozen(16..20);
        for id in [20, 21, 22].map(ObjectId) {
            objects.insert(Object { kind: ObjectKind::Capture, ..volume(id) });
        }
        objects.note_frozen();
        objects.rest(0);
        objects.adjust(ObjectId(21), |object| object.mapped = 1).unwrap();
        objects.remove(ObjectId(22)).unwrap();
        assert_eq!(objects.capture_ids().collect::<Vec<_>>(), [20, 21].map(ObjectId));
        let mut loaded = Objects::new();
        loaded.load_block(BlockNumber::FIRST, &objects.table_block(BlockNumber::FIRST)).unwrap();
        assert_eq!(loaded.capture_ids().collect::<Vec<_>>(), [20, 21].map(ObjectId));
        loaded.remove(ObjectId(20)).unwrap();
        assert_eq!(loaded.capture_ids().collect::<Vec<_>>(), [ObjectId(21)]);
    }

    /// The list of unreported changes names an object once, or it would grow with every change of
    /// an object that rests in between.
    #[test]
    fn a_change_is_reported_once_although_the_object_rests() {
        let mut objects = frozen(16..18);
        for _ in 0..3 {
            objects.adjust(ObjectId(16), |object| object.write_cache = true).unwrap();
            objects.note_frozen();
            objects.rest(0);
            assert!(objects.at_rest.contains(ObjectId(16)));
        }
        assert_eq!(objects.take_unreported(9), [ObjectId(16)]);
        objects.adjust(ObjectId(16), |object| object.write_cache = false).unwrap();
        assert_eq!(objects.take_unreported(9), [ObjectId(16)]);
        assert_eq!(objects.take_unreported(9), []);
    }
}
