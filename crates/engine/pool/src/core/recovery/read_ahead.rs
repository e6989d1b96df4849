//! Read-ahead of replay: frames are read in batches, and the pages and counts that the records of a
//! batch need are read together, many at once, before the first of them is replayed.
//!
//! This only fills the caches. A record is planned again when its turn comes, because those before
//! it change the map, and the replay reads what is still missing. So nothing here reports an error:
//! a page or count that cannot be read is read once more by the record that needs it.

use super::scanner::{Scanner, records_of};
use crate::core::Core;
use crate::geometry::Pointer;
use crate::interface::PoolError;
use crate::log::ReplayPoint;
use crate::log::frame::FrameInfo;
use crate::log::record::Record;
use crate::map::Map;
use crate::map::page::{PAGE_BYTES, Page};
use crate::medium::blocking::read_many;
use media::{BlockAddress, Media};
use std::collections::VecDeque;

/// Content of the frames of a batch at which it is complete, in bytes.
const BATCH_BYTES: usize = 4 << 20;
/// Most records of a batch, and the part of the pool's memory that their pages may take: each record
/// of a scattered load needs one.
const BATCH_RECORDS: usize = 4096;
const MEMORY_PART: usize = 16;
/// Passes over the records of a batch: one for each level of a map, and one for counts.
const PASSES: usize = crate::geometry::PATH_PAGES + 1;

/// Frame with the replay point before it.
pub(super) struct AheadFrame {
    pub(super) before: ReplayPoint,
    pub(super) info: FrameInfo,
    pub(super) content: Vec<u8>,
}

/// Frames of the log that are replayed next, in order.
pub(super) struct Ahead {
    scanner: Scanner,
    frames: VecDeque<AheadFrame>,
}

impl Ahead {
    /// Starts with the frames that the scanner returns next.
    pub(super) fn new(scanner: Scanner) -> Self {
        Self { scanner, frames: VecDeque::new() }
    }

    /// Replay point before the next frame.
    pub(super) fn point(&self) -> ReplayPoint {
        self.frames.front().map_or(self.scanner.point(), |frame| frame.before)
    }
}

impl<M: Media> Core<M> {
    /// Returns the next frame to replay; `None` at the end of the log.
    pub(super) fn next_frame_of(&mut self, ahead: &mut Ahead) -> Result<Option<AheadFrame>, PoolError> {
        if ahead.frames.is_empty() {
            let most = (self.options.memory_bytes / MEMORY_PART / PAGE_BYTES).clamp(16, BATCH_RECORDS);
            let (mut bytes, mut records) = (0, 0_usize);
            while bytes < BATCH_BYTES && records < most {
                let before = ahead.scanner.point();
                let Some((info, content)) = ahead.scanner.next(self.medium.media_mut())? else { break };
                bytes += content.len();
                records += info.records as usize;
                ahead.frames.push_back(AheadFrame { before, info, content });
            }
            self.read_needs_of(&ahead.frames);
        }
        Ok(ahead.frames.pop_front())
    }

    /// Reads the pages and counts that the records of these frames need.
    fn read_needs_of(&mut self, frames: &VecDeque<AheadFrame>) {
        let records = frames.iter().flat_map(|frame| records_of(&frame.content));
        let mut records: Vec<Record<'_>> =
            records.filter_map(Result::ok).filter(|record| self.is_possible(record)).collect();
        for _ in 0..PASSES {
            self.map.forget_need();
            records.retain(|record| lacks_data(&mut self.map, record));
            let need = self.map.take_need();
            if need.pages.is_empty() && need.segments.is_empty() {
                break;
            }
            self.read_pages_ahead(need.pages);
            self.read_counts_ahead(need.segments);
        }
        self.map.forget_need();
    }

    fn read_pages_ahead(&mut self, mut pages: Vec<Pointer>) {
        pages.sort_unstable_by_key(|pointer| pointer.address);
        pages.dedup_by_key(|pointer| pointer.address);
        let runs: Vec<(BlockAddress, usize)> = pages.iter().map(|pointer| (pointer.address, 1)).collect();
        let blocks = read_many(self.medium.media_mut(), &runs);
        for (Pointer { address, level, crc }, block) in pages.into_iter().zip(blocks) {
            if let Ok(page) = block.and_then(|block| Page::parse(&block, address, level, crc)) {
                self.map.page_arrived(address, page);
            }
        }
    }

    fn read_counts_ahead(&mut self, mut segments: Vec<u32>) {
        segments.sort_unstable();
        segments.dedup();
        let place = |segment: &u32| Some((*segment, self.map.space().source(*segment)?.0));
        let places: Vec<(u32, BlockAddress)> = segments.iter().filter_map(place).collect();
        let runs: Vec<(BlockAddress, usize)> = places.iter().map(|(_, address)| (*address, 1)).collect();
        let blocks = read_many(self.medium.media_mut(), &runs);
        for ((segment, _), block) in places.into_iter().zip(blocks) {
            if let Ok(block) = block {
                // Counts that fail their checksum stay missing.
                let _unusable = self.map.counts_arrived(segment, &block);
            }
        }
    }
}

/// Plans a record as far as the data in memory suffices; true if pages or counts are missing, which
/// are noted in the map's need. Records of the catalog are not planned: they are few, and may create
/// the objects of later records.
fn lacks_data(map: &mut Map, record: &Record<'_>) -> bool {
    let noted = |map: &Map| map.need().pages.len() + map.need().segments.len();
    let before = noted(map);
    match record {
        Record::Write { object, first, blocks, .. } => {
            for block in blocks.iter().filter(|block| !block.address.is_none()) {
                map.need_counts(block.address);
            }
            let _planned = map.plan_blocks(*object, *first, blocks.len() as u64);
        }
        Record::Zero { object, first, count } => {
            let _planned = map.plan_pieces(*object, *first, *count);
        }
        Record::Clone { source, source_first, destination, destination_first, count } => {
            let _planned = map.plan_clone(*source, *source_first, *destination, *destination_first, *count);
        }
        Record::Patch(patch) => {
            map.need_counts(patch.patched.address);
            let _planned = map.plan_blocks(patch.patched.object, patch.patched.block, 1);
        }
        Record::Catalog(..) | Record::Allotments(..) => {}
    }
    noted(map) > before
}
