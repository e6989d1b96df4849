//! Changes of objects without a record of the log: ids, loading, counts of shared blocks, and what
//! a repair corrects.

use crate::catalog::OBJECT_TABLE;
use crate::catalog::allotments::allotment::Allotment;
use crate::catalog::object::Object;
use crate::checksum::Crc32c;
use crate::geometry::{Pointer, STREAM_LEVEL};
use crate::interface::ObjectId;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::map::due::Due;
use media::BLOCK_BYTES;

impl Map {
    /// Takes an unused id.
    pub fn take_id(&mut self) -> ObjectId {
        self.objects.take_id()
    }

    /// Takes at most `most` volumes, snapshots and captures that changed since this last returned
    /// them, or were deleted.
    pub fn take_unreported(&mut self, most: usize) -> Vec<ObjectId> {
        self.objects.take_unreported(most)
    }

    /// Reserves all ids below `next`.
    pub fn raise_next_id(&mut self, next: ObjectId) {
        self.objects.raise_next(next);
    }

    /// Loads one of the pool's own streams: its root page, and its length in bytes.
    pub fn load_stream(&mut self, id: ObjectId, root: Pointer, length: u64) {
        self.objects.load(Object {
            root: root.address,
            root_crc: root.crc,
            level: if root.is_empty() { STREAM_LEVEL } else { root.level },
            ..Object::new(id, length)
        });
    }

    /// Notes the number of mapped blocks of one of the pool's own streams.
    pub fn set_mapped(&mut self, stream: ObjectId, mapped: u64) {
        self.objects.set_mapped(stream, mapped);
    }

    /// Sets the length of one of the pool's own streams.
    pub fn set_length(&mut self, stream: ObjectId, bytes: u64) -> Option<()> {
        self.objects.set_length(stream, bytes)
    }

    /// Extends the object table, unless it has this block.
    pub fn extend_table(&mut self, last: BlockNumber) -> Option<()> {
        let length = self.objects.length(OBJECT_TABLE).max((last + 1).offset());
        self.objects.set_length(OBJECT_TABLE, length)
    }

    /// Adds the objects in a block of the stored table.
    pub fn load_table_block(&mut self, block: BlockNumber, content: &[u8; BLOCK_BYTES]) -> Result<(), String> {
        self.objects.load_block(block, content)
    }

    /// Puts objects to rest if more than `most` are in use.
    #[inline]
    pub fn rest_objects(&mut self, most: usize) {
        self.objects.rest(most);
    }

    /// Begins to count the shared blocks of a volume.
    pub fn begin_count(&mut self, id: ObjectId) {
        self.objects.begin_count(id);
    }

    /// Ends the count of a volume's shared blocks.
    pub fn end_count(&mut self, id: ObjectId) {
        self.objects.end_count(id);
        self.allotments.forget_count(id);
    }

    /// Begins to count what an allotment is due; returns the number of the count.
    pub fn begin_allotment_count(&mut self, id: ObjectId, range: BlockRange) -> u64 {
        self.allotments.begin_count(id, range)
    }

    /// Ends a count: the bounds of the shared blocks and of the pages of the allotment, if they are lower than
    /// before.
    pub fn end_allotment_count(
        &mut self,
        id: ObjectId,
        range: BlockRange,
        number: u64,
        due: Due,
    ) -> Option<(u64, u64)> {
        let missed = self.allotments.end_count(id, range, number)?;
        let (of, now) = self.allotments.at(id, range.first).filter(|(of, _)| *of == range)?;
        let mut counted = Allotment { shared: 0, pages_due: 0, ..*now };
        counted.raise(of, due.shared.saturating_add(missed.blocks), due.pages.saturating_add(missed.pages));
        let (shared, pages_due) = (counted.shared.min(now.shared), counted.pages_due.min(now.pages_due));
        (shared < now.shared || pages_due < now.pages_due).then_some((shared, pages_due))
    }

    /// Requests a count of the shared blocks of every reserved volume.
    pub fn request_recount(&mut self) {
        self.objects.request_recount();
    }

    /// Takes the reserved volumes, and the objects with allotments, whose shared blocks are to be counted again.
    pub fn take_due_recounts(&mut self) -> Vec<ObjectId> {
        let mut due = self.objects.take_due_recounts();
        due.extend(self.allotments.objects_to_count());
        due.sort_unstable();
        due.dedup();
        due
    }

    /// Notes that a large write has taken promised blocks of an object.
    pub fn promise_taken(&mut self, id: ObjectId, blocks: u64) {
        self.change_in_flight(id, |in_flight| in_flight + blocks);
    }

    /// Notes that a large write that took promised blocks takes effect or has failed.
    pub fn promise_settled(&mut self, id: ObjectId, blocks: u64) {
        self.change_in_flight(id, |in_flight| in_flight.saturating_sub(blocks));
    }

    fn change_in_flight(&mut self, id: ObjectId, change: impl FnOnce(u64) -> u64) {
        match self.is_address_space(id) {
            true => self.allotments.change_in_flight(id, change),
            false => self.objects.change_in_flight(id, change),
        }
    }

    /// Corrects the number of mapped blocks of an object, and with it the blocks promised to it.
    pub fn correct_mapped(&mut self, id: ObjectId, mapped: u64) {
        self.objects.adjust(id, |object| {
            object.mapped = mapped;
            object.shared = object.shared.min(mapped);
        });
    }

    /// Replaces the checksum in the pointer to the root page of an object.
    pub fn assign_root_checksum(&mut self, id: ObjectId, crc: Crc32c) -> Option<()> {
        self.objects.adjust(id, |object| object.root_crc = crc)
    }
}
