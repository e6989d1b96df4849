//! Map pages that turn out to be damaged during replay of the log. The content below such a page is
//! lost already. Therefore replay drops record changes below it, instead of refusing the whole
//! pool; all other changes take effect. The pointer to the page gets a checksum that no page has,
//! so that this stale content is never read again, even if the medium returns the page later.
//! Zeroing or unmapping the whole range, or deleting the object, removes the page from the map. The
//! exception are pages at level 3 and above in a wide object: the range that such a page spans can no
//! longer be zeroed as a whole, since only the page counts the blocks below it exactly.
//!
//! A page that cannot be read at all is not given up: the medium may only be absent. And a copy
//! from below a damaged page cannot be dropped, since its destination would keep showing old
//! content. In both cases the pool does not open.

use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::recovery::damaged;
use crate::core::state::DamagedPage;
use crate::geometry::{Pointer, index_in, page_span};
use crate::interface::range::BlockNumber;
use crate::interface::{Incident, ObjectId, PoolError};
use crate::log::record::Record;
use media::{BLOCK_BYTES, BlockAddress, Media};

/// Checksum in the pointer to a page that was given up.
const LOST: Crc32c = Crc32c::new(u32::from_be_bytes(*b"LOST"));

impl<M: Media> Core<M> {
    /// Gives up a damaged page that `record` needed on the way to its changes; returns the
    /// remaining parts of the record.
    pub(crate) fn give_up<'a>(&mut self, page: DamagedPage, record: &Record<'a>) -> Result<Vec<Record<'a>>, PoolError> {
        let (object, first, count) = match *record {
            Record::Write { object, first, ref blocks, .. } => (object, first, blocks.len() as u64),
            Record::Zero { object, first, count } => (object, first, count),
            Record::Clone { destination, destination_first, count, .. } => (destination, destination_first, count),
            Record::Patch(ref patch) => (patch.patched.object, patch.patched.block, 1),
            Record::Catalog(..) | Record::Allotments(..) => return Err(damaged(page.reason)),
        };
        let Some((start, Pointer { level, crc, .. })) = self.find_page(object, first..first + count, page.address)
        else {
            return Err(damaged(page.reason));
        };
        let end = start + page_span(level);
        // An earlier record may have met the page.
        if crc != LOST {
            self.poison(object, start, level)?;
            let lba = |block: BlockNumber| block.get() * (BLOCK_BYTES as u64 / 512);
            let (first, last) = (lba(start), lba(end) - 1);
            let reason = page.reason;
            self.incidents
                .note(Incident::Metadata(format!("object {object}: LBA {first} to {last} cannot be read: {reason}")));
        }
        let mut left = Vec::new();
        for (from, to) in [(first, start.min(first + count)), (end.max(first), first + count)] {
            if from < to {
                left.push(part(record, from - first, to - from));
            }
        }
        Ok(left)
    }

    /// Finds the page at `address` on the way from the object's root to one of the blocks, among
    /// pages in memory: its first block and the pointer to it.
    fn find_page(
        &self,
        object: ObjectId,
        blocks: std::ops::Range<BlockNumber>,
        address: BlockAddress,
    ) -> Option<(BlockNumber, Pointer)> {
        let mut block = blocks.start;
        while block < blocks.end {
            let mut pointer = self.map.root_of(object)?;
            loop {
                let level = pointer.level;
                let start = BlockNumber::first_of_page(block.page(level), level);
                if pointer.address == address {
                    return Some((start, pointer));
                }
                let page = self.map.pages().peek(pointer.address).filter(|_| level > 0);
                let Some(page) = page else {
                    block = start + page_span(level);
                    break;
                };
                pointer = page.entries[index_in(block, level)].child_pointer(level);
            }
        }
        None
    }

    /// Replaces the checksum in the pointer to the page of the object that begins at `start` by one
    /// that no page has.
    fn poison(&mut self, object: ObjectId, start: BlockNumber, level: u8) -> Result<(), PoolError> {
        let broken = || damaged(format!("the map of object {object} contradicts itself"));
        let root_level = self.map.root_of(object).ok_or_else(broken)?.level;
        if level == root_level {
            return self.map.assign_root_checksum(object, LOST).ok_or_else(broken);
        }
        let index = index_in(start, level + 1);
        if !self.load_planned(|map| map.plan_path(object, start, level + 1, index..index + 1, false).is_some())? {
            return Err(broken());
        }
        self.map.assign_checksum(object, start, level, LOST).ok_or_else(broken)
    }
}

/// Returns `count` blocks of a record, starting with its `from`th.
fn part<'a>(record: &Record<'a>, from: u64, count: u64) -> Record<'a> {
    match record {
        Record::Write { object, first, blocks, data } => {
            let (from, count) = (from as usize, count as usize);
            let bytes = |blocks: &[crate::log::record::BlockWrite]| {
                blocks.iter().filter(|block| !block.address.is_none()).count() * BLOCK_BYTES
            };
            let (skipped, taken) = (bytes(&blocks[..from]), bytes(&blocks[from..from + count]));
            Record::Write {
                object: *object,
                first: *first + from as u64,
                blocks: blocks[from..from + count].to_vec(),
                data: data.and_then(|data| data.get(skipped..skipped + taken)),
            }
        }
        Record::Zero { object, first, .. } => Record::Zero { object: *object, first: *first + from, count },
        Record::Clone { source, source_first, destination, destination_first, .. } => Record::Clone {
            source: *source,
            source_first: *source_first + from,
            destination: *destination,
            destination_first: *destination_first + from,
            count,
        },
        // A patch changes one block.
        Record::Patch(patch) => Record::Patch(patch.clone()),
        Record::Catalog(changes, shared) => Record::Catalog(changes.clone(), shared.clone()),
        Record::Allotments(changes) => Record::Allotments(changes.clone()),
    }
}
