//! Count of the blocks of a range that nothing outside of it maps.
//!
//! What lies below a page with several references counts as shared if the page spans blocks outside of the range,
//! too. So the count is too small for a range that maps such a page twice; one that consists of whole pages of a
//! level, or lies in one leaf, maps none.

use super::cursor::{Enter, Scan, Visit, narrow};
use super::{TRACKED_BLOCKS, enter_unique};
use crate::core::progress::Progress;
use crate::core::{B, Core};
use crate::geometry::{FANOUT, index_in, page_span};
use crate::interface::ObjectId;
use crate::interface::operation::Output;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::map::Map;
use crate::schedule::step::Step;
use media::{BlockAddress, Media};
use std::ops::Range;

/// Part of a count.
enum Part {
    /// The blocks of a leaf were counted.
    Leaf,
    /// None is left.
    End,
    /// Data has to be read first.
    Wait,
}

impl<M: Media> Core<M> {
    /// Counts the bytes that deallocating the range frees: simulates giving back its references.
    pub(crate) fn unique_in_step(&mut self, object: ObjectId, range: BlockRange, progress: &mut Progress) -> Step {
        if let Err(failure) = self.has_blocks(object, range) {
            return Step::Fail(failure);
        }
        let blocks = range.first..range.first + range.count;
        let mut scan = progress.scan.take().unwrap_or_else(|| Box::new(Scan::first_pass(range.first)));
        for _ in 0..self.scan_pages {
            match self.count_next_leaf(object, &mut scan, &blocks) {
                Part::Leaf => {}
                Part::End if scan.window.end == BlockAddress::MAX => return Step::Done(Output::Bytes(scan.blocks * B)),
                Part::End => scan.begin_pass(range.first),
                Part::Wait => {
                    progress.scan = Some(scan);
                    return Step::Wait;
                }
            }
        }
        progress.scan = Some(scan);
        Step::Later
    }

    fn count_next_leaf(&mut self, object: ObjectId, scan: &mut Scan, blocks: &Range<BlockNumber>) -> Part {
        if scan.block == blocks.start && pass_over_shared(&mut self.map, object, scan, blocks).is_none() {
            return Part::Wait;
        }
        if scan.block >= blocks.end {
            return Part::End;
        }
        let mut over = false;
        let visit = scan.visit(&mut self.map, object, |map, scan, pointer| {
            over = scan.block >= blocks.end;
            if over {
                return Enter::Wait;
            }
            if spans_only(scan.block, pointer.level, blocks) {
                return enter_unique(map, scan, pointer);
            }
            map.need_counts(pointer.address);
            match (map.need().is_empty(), map.space().count(pointer.address)) {
                (false, _) => Enter::Wait,
                (true, Some(1)) => Enter::Yes,
                (true, _) => Enter::No,
            }
        });
        match visit {
            Visit::End => Part::End,
            Visit::Wait if over => Part::End,
            Visit::Wait => Part::Wait,
            Visit::Leaf(first, page) => {
                let (from, to) = (scan.block.max(first), blocks.end.min(first + FANOUT as u64));
                self.map.need_counts_of(&page.entries);
                if !self.map.need().is_empty() {
                    return Part::Wait;
                }
                scan.count_entries(&page.entries[(from - first) as usize..(to - first) as usize], self.map.space());
                if scan.blocks_seen.len() > TRACKED_BLOCKS {
                    narrow(scan, |address| self.map.space().count(address));
                }
                scan.block = first + FANOUT as u64;
                Part::Leaf
            }
        }
    }
}

/// True if the page at `level` that begins with a block spans none but these.
fn spans_only(first: BlockNumber, level: u8, blocks: &Range<BlockNumber>) -> bool {
    first >= blocks.start && page_span(level) <= blocks.end - first
}

/// Passes over blocks at the start of the range below a page that spans others, too, and has several references: all
/// below it is shared with what is outside. `None` if data is missing.
fn pass_over_shared(map: &mut Map, object: ObjectId, scan: &mut Scan, blocks: &Range<BlockNumber>) -> Option<()> {
    let mut pointer = map.root_of(object)?;
    while !pointer.is_empty() && scan.block < blocks.end && scan.block.get() < page_span(pointer.level) {
        let level = pointer.level;
        if spans_only(BlockNumber::first_of_page(scan.block.page(level), level), level, blocks) {
            break;
        }
        map.need_counts(pointer.address);
        if !map.need().is_empty() {
            return None;
        }
        if map.space().count(pointer.address) != Some(1) {
            scan.block = scan.block.next_page(level);
            pointer = map.root_of(object)?;
            continue;
        }
        if level == 0 {
            break;
        }
        pointer = map.page(pointer)?.entries[index_in(scan.block, level)].child_pointer(level);
    }
    Some(())
}
