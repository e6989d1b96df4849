//! All objects of the pool: their entries in the object table, the changes since the last freeze,
//! and the space promised to them.
//!
//! All of them are in memory: a few as an [`Object`], in use, and the others [`at rest`](AtRest).
//! An object comes into use when it changes, and is put to rest after a freeze has stored it.

use crate::catalog::changes::Changes;
use crate::catalog::object::{Object, Promises};
use crate::catalog::rest::AtRest;
use crate::catalog::{FIRST_OBJECT, is_user_object, stream};
use crate::checksum::Crc32c;
use crate::geometry::Pointer;
use crate::interface::range::BlockNumber;
use crate::interface::{ObjectId, ObjectKind};
use media::{BLOCK_BYTES, BlockAddress};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

mod resting;

/// Blocks and pages that became shared during the count of an object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Missed {
    pub blocks: u64,
    pub pages: u64,
}

impl Missed {
    /// Adds what became shared later.
    pub fn add(&mut self, more: Self) {
        self.blocks = self.blocks.saturating_add(more.blocks);
        self.pages = self.pages.saturating_add(more.pages);
    }
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
    /// Objects in use, each once, in the order in which they are considered for rest; and deleted ones.
    candidates: VecDeque<ObjectId>,
    /// Number of them that are still to be considered now.
    considering: usize,
    /// Objects whose stored entry is out of date.
    changes: Changes,
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
            candidates: VecDeque::new(),
            considering: 0,
            changes: Changes::default(),
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
        self.candidates.push_back(object.id);
        self.in_use.insert(object.id, object);
    }

    fn note_kind(&mut self, object: &Object) {
        if object.kind == ObjectKind::Capture {
            self.captures.insert(object.id);
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
        self.changes.note_created(&mut object);
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
        self.changes.note_deleted(&object);
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
        self.changes.note(object);
        let reserved = object.reservation.is_some();
        self.promises.change(object, change);
        if reserved != object.reservation.is_some() {
            match reserved {
                true => self.reserved.remove(&id),
                false => self.reserved.insert(id),
            };
        }
        report(&mut self.unreported, object);
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
            None => {
                self.wake(id)?;
                self.in_use.get_mut(&id)?
            }
        };
        if object.root != address {
            self.changes.note(object);
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
        self.changes.note(object);
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
        self.changes.note(object);
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
            missed.add(Missed { blocks, pages });
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

    /// Returns the object if it is a volume with a reservation.
    #[inline]
    pub fn reserved(&self, id: ObjectId) -> Option<&Object> {
        match self.promises.objects {
            0 => None,
            _ => self.in_use.get(&id).filter(|object| object.reservation.is_some() && !object.is_address_space()),
        }
    }

    /// Changes the number of promised blocks that large writes of an object have taken.
    pub fn change_in_flight(&mut self, id: ObjectId, change: impl FnOnce(u64) -> u64) {
        // The object may have been deleted meanwhile.
        self.adjust_in_memory(id, |object| object.in_flight = change(object.in_flight));
    }

    /// Blocks of the object table that a freeze has to write, ascending.
    pub fn changed_blocks(&self) -> &BTreeSet<BlockNumber> {
        self.changes.blocks()
    }

    /// True if no object has its entry in this block of the object table.
    pub fn is_unused(&self, block: BlockNumber) -> bool {
        let mut ids = stream::ids_of_block(block).take(stream::SLOTS_PER_BLOCK as usize);
        self.at_rest.in_block(block).next().is_none()
            && !ids.any(|id| is_user_object(id) && self.in_use.contains_key(&id))
    }

    /// Content of a block of the object table as it was when the epoch before the present one ended, or
    /// as it is now, if that has stored the block already.
    fn stored_block(&self, block: BlockNumber) -> [u8; BLOCK_BYTES] {
        let mut content = [0u8; BLOCK_BYTES];
        let mut at_rest = self.at_rest.in_block(block).peekable();
        for (id, slot) in stream::ids_of_block(block).zip(content.chunks_exact_mut(stream::SLOT_BYTES)) {
            let resting = at_rest.next_if(|object| object.id == id);
            match (self.changes.before(id), resting) {
                (Some(before), _) => before.iter().for_each(|object| stream::encode_object(object, slot)),
                (None, Some(object)) => stream::encode_object(&object, slot),
                (None, None) => match self.in_use.get(&id).filter(|_| is_user_object(id)) {
                    Some(object) => stream::encode_object(object, slot),
                    None => continue,
                },
            }
        }
        content
    }

    /// Content of the next block of the object table that the epoch before the present one has to store,
    /// after its objects have taken over the checksums of their root pages, which `crc` knows. `None`: it
    /// has stored all of them.
    pub fn next_table_block(&mut self, crc: impl Fn(Pointer) -> Pointer) -> Option<(BlockNumber, [u8; BLOCK_BYTES])> {
        let block = self.changes.next_block()?;
        for id in stream::ids_of_block(block).take(stream::SLOTS_PER_BLOCK as usize) {
            self.changes.complete_before(id, &crc);
            self.complete_root(id, &crc);
        }
        let content = self.stored_block(block);
        self.changes.block_is_stored(block);
        Some((block, content))
    }

    /// Lets the next object that has changed since the end of the epoch before take over the checksum
    /// of its root page, if that epoch placed it. False if there is none.
    pub fn complete_next(&mut self, crc: impl Fn(Pointer) -> Pointer) -> bool {
        let Some(id) = self.changes.next_changed() else { return false };
        self.complete_root(id, crc);
        true
    }

    /// Takes over the checksum of a root page that an object got before it was sealed. A root that was
    /// sealed before keeps its checksum, whatever is at its address now.
    pub fn complete_root(&mut self, id: ObjectId, crc: impl Fn(Pointer) -> Pointer) {
        if let Some(object) = self.in_use.get_mut(&id).filter(|object| object.changed > 0) {
            object.root_crc = crc(object.pointer()).crc;
        }
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

    /// Ends the epoch: what has changed until now is to be stored as it is now.
    pub fn end_epoch(&mut self) {
        self.changes.end_epoch();
        self.deleted = 0;
    }

    /// Notes that everything is stored that the epoch before had to store.
    pub fn end_sealing(&mut self) {
        self.rest_from = 0;
        self.changes.end_sealing();
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

    pub(super) fn volume(id: ObjectId) -> Object {
        Object::new(id, 1 << 20)
    }

    pub(super) fn frozen(ids: std::ops::Range<u64>) -> Objects {
        let mut objects = Objects::new();
        objects.load(volume(crate::catalog::OBJECT_TABLE));
        ids.for_each(|id| objects.insert(volume(ObjectId(id))));
        objects.take_unreported(usize::MAX);
        freeze(&mut objects);
        objects
    }

    pub(super) fn freeze(objects: &mut Objects) {
        freeze_with(objects, |root| root);
    }

    pub(super) fn freeze_with(objects: &mut Objects, crc: impl Fn(Pointer) -> Pointer) {
        objects.end_epoch();
        while objects.next_table_block(&crc).is_some() {}
        objects.end_sealing();
    }

    /// The freeze stored a block of the table as it was; the objects in it may change before that.
    #[test]
    fn an_object_that_changes_before_it_is_stored_is_stored_as_it_was() {
        let mut objects = frozen(16..20);
        let size = |objects: &mut Objects, id, bytes| {
            objects.adjust(ObjectId(id), |object| object.size_bytes = bytes).unwrap();
        };
        objects.rest(0);
        size(&mut objects, 16, 1 << 21);
        size(&mut objects, 17, 1 << 21);
        objects.set_root(ObjectId(17), BlockAddress::new(500)).unwrap();
        let before = objects.stored_block(BlockNumber::FIRST);
        objects.end_epoch();
        size(&mut objects, 16, 1 << 22);
        size(&mut objects, 18, 1 << 22);
        objects.remove(ObjectId(17)).unwrap();
        objects.remove(ObjectId(19)).unwrap();
        objects.insert(volume(ObjectId(20)));
        let crc = |pointer: Pointer| Pointer { crc: Crc32c::new(99), ..pointer };
        let (_, stored) = objects.next_table_block(crc).unwrap();
        assert_eq!(objects.next_table_block(crc), None);
        objects.end_sealing();
        let decode = |id: u64, content: &[u8; BLOCK_BYTES]| {
            stream::decode_object(ObjectId(id), &content.as_chunks::<64>().0[id as usize]).unwrap()
        };
        for id in [16, 18, 19, 20] {
            let crc = decode(id, &stored).map(|object| Object { root_crc: Crc32c::NONE, ..object });
            assert_eq!(crc, decode(id, &before), "{id}");
        }
        assert_eq!(decode(17, &stored).unwrap().pointer(), crc(decode(17, &before).unwrap().pointer()));
        assert_eq!(decode(18, &objects.stored_block(BlockNumber::FIRST)).unwrap().size_bytes, 1 << 22);
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
        freeze(&mut objects);
        objects.rest(0);
        objects.adjust(ObjectId(21), |object| object.mapped = 1).unwrap();
        objects.remove(ObjectId(22)).unwrap();
        assert_eq!(objects.capture_ids().collect::<Vec<_>>(), [20, 21].map(ObjectId));
        let mut loaded = Objects::new();
        loaded.load_block(BlockNumber::FIRST, &objects.stored_block(BlockNumber::FIRST)).unwrap();
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
            freeze(&mut objects);
            objects.rest(0);
            assert!(objects.at_rest.contains(ObjectId(16)));
        }
        assert_eq!(objects.take_unreported(9), [ObjectId(16)]);
        objects.adjust(ObjectId(16), |object| object.write_cache = false).unwrap();
        assert_eq!(objects.take_unreported(9), [ObjectId(16)]);
        assert_eq!(objects.take_unreported(9), []);
    }
}
