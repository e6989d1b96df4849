//! Scans: operations that go through the maps of objects in steps, while hosts work. They count
//! unique or shared blocks, verify stored content, find zeros, share equal blocks, find the users of a block, and find
//! where two objects differ.
//!
//! A scan keeps no pointers. It stores the next block of an object and descends from the root each
//! time, so each step sees the changes made since the previous one.

mod allotments;
mod check_step;
pub(crate) mod cursor;
pub(crate) mod descent;
mod difference;
mod index_check;
pub(crate) mod online_check;
pub(crate) mod remembered;
pub(crate) mod reshare;
pub(crate) mod sessions;
mod unique_in;
pub(crate) mod verified;
pub(crate) mod walk;

use crate::catalog::FIRST_OBJECT;
use crate::checksum::Crc32c;
use crate::core::io::Io;
use crate::core::scan::cursor::{Enter, Scan, Verify, Visit, narrow};
use crate::core::state::place;
use crate::core::{B, Core};
use crate::geometry::{FANOUT, Pointer};
use crate::interface::operation::{OperationId, Output};
use crate::interface::range::{BlockNumber, ByteRange};
use crate::interface::{BlockId, ObjectId, PoolError, ScanStep};
use crate::log::record::Shared;
use crate::map::Map;
use crate::map::page::Page;
use crate::medium::read_result;

use crate::core::progress::Progress;
use crate::schedule::step::Step;
use crate::space::STICKY;

use media::{BlockAddress, Done, Media, MediaError};
use rustc_hash::FxHashSet;

/// Number of shared blocks that one pass of a count tracks; for more blocks it repeats the pass.
const TRACKED_BLOCKS: usize = 1 << 20;
/// Number of shared pages that a count tracks. Blocks below further pages are not counted.
const TRACKED_PAGES: usize = 1 << 22;
/// Number of blocks of zeros that one step deallocates.
const ZEROS: usize = 32;
/// CRC-32C of a block of zeros.
const ZERO_CRC: Crc32c = Crc32c::new(0x98f9_4189);

impl<M: Media> Core<M> {
    /// Counts the bytes that deleting all these objects frees: simulates giving back their
    /// references.
    pub(crate) fn unique_step(&mut self, objects: &[ObjectId], progress: &mut Progress) -> Step {
        for id in objects {
            if self.map.objects().user(*id).is_none() {
                return Step::Fail(PoolError::NoSuchObject(*id).into());
            }
        }
        let mut scan = progress.scan.take().unwrap_or_else(|| Box::new(Scan::first_pass(BlockNumber::FIRST)));
        let mut objects = objects.to_vec();
        objects.sort_unstable();
        objects.dedup();
        for _ in 0..self.scan_pages {
            let Some(&object) = objects.get(scan.object) else {
                if scan.window.end == BlockAddress::MAX {
                    return Step::Done(Output::Bytes(scan.blocks * B));
                }
                // Not all shared blocks could be tracked: another pass counts the rest.
                scan.begin_pass(BlockNumber::FIRST);
                continue;
            };
            let visit = scan.visit(&mut self.map, object, enter_unique);
            match visit {
                Visit::End => {
                    let next = scan.object + 1;
                    scan.begin(next, BlockNumber::FIRST);
                }
                Visit::Wait => {
                    progress.scan = Some(scan);
                    return Step::Wait;
                }
                Visit::Leaf(first, page) => {
                    self.map.need_counts_of(&page.entries);
                    if !self.map.need().is_empty() {
                        progress.scan = Some(scan);
                        return Step::Wait;
                    }
                    scan.count_entries(&page.entries, self.map.space());
                    if scan.blocks_seen.len() > TRACKED_BLOCKS {
                        narrow(&mut scan, |address| self.map.space().count(address));
                    }
                    scan.block = first + FANOUT as u64;
                }
            }
        }
        progress.scan = Some(scan);
        Step::Later
    }

    /// Counts the blocks of a volume that are not shared, and so an upper bound of the shared ones; of an address
    /// space, those of its allotments.
    pub(crate) fn recount_step(&mut self, object: ObjectId, progress: &mut Progress) -> Step {
        if self.map.objects().user(object).is_none() {
            self.map.end_count(object);
            return Step::Fail(PoolError::NoSuchObject(object).into());
        }
        if self.map.is_address_space(object) {
            return self.recount_allotments_step(object, progress);
        }
        let mut scan = progress.scan.take().unwrap_or_else(|| {
            self.map.begin_count(object);
            Box::default()
        });
        for _ in 0..self.scan_pages {
            let visit = scan.visit(&mut self.map, object, |map, scan, Pointer { address, .. }| {
                map.need_counts(address);
                match (map.need().is_empty(), map.space().count(address)) {
                    (false, _) => Enter::Wait,
                    (true, Some(1)) => {
                        scan.pages += 1;
                        Enter::Yes
                    }
                    (true, _) => Enter::No,
                }
            });
            match visit {
                Visit::Wait => {
                    progress.scan = Some(scan);
                    return Step::Wait;
                }
                Visit::Leaf(first, page) => {
                    self.map.need_counts_of(&page.entries);
                    if !self.map.need().is_empty() {
                        progress.scan = Some(scan);
                        return Step::Wait;
                    }
                    let own =
                        page.entries.iter().filter(|e| !e.is_empty() && self.map.space().count(e.address()) == Some(1));
                    scan.blocks += own.count() as u64;
                    scan.block = first + FANOUT as u64;
                }
                Visit::End => match self.end_recount(object, scan.blocks, scan.pages) {
                    Step::LogFull => {
                        progress.scan = Some(scan);
                        return Step::LogFull;
                    }
                    step => return step,
                },
            }
        }
        progress.scan = Some(scan);
        Step::Later
    }

    /// Ends a count: the volume has this many blocks and pages of its own.
    fn end_recount(&mut self, object: ObjectId, own_blocks: u64, own_pages: u64) -> Step {
        let (Some(missed), Some(o)) = (self.map.objects().missed(object), self.map.objects().get(object)) else {
            self.map.end_count(object);
            return Step::Done(Output::Done);
        };
        let shared = o.mapped.saturating_sub(own_blocks).saturating_add(missed.blocks).min(o.mapped);
        let pages = o.all_pages().saturating_sub(own_pages).saturating_add(missed.pages).min(o.all_pages());
        let reserved = o.reservation.is_some();
        let (before, pages_before) = (o.shared, o.pages_due);
        if reserved && shared >= before && pages >= pages_before {
            self.map.end_count(object);
            return Step::Done(Output::Done);
        }
        if !self.log_takes(crate::log::record::shared_bytes(1)) {
            return Step::LogFull;
        }
        self.map.end_count(object);
        let (shared, pages) = match reserved {
            true => (shared.min(before), pages.min(pages_before)),
            false => (shared, pages),
        };
        if self.map.set_shared(object, shared, pages).is_none() {
            return Step::Done(Output::Done);
        }
        self.log
            .append(|out| crate::log::record::encode_catalog(out, &[], &[Shared { object, blocks: shared, pages }]));
        Step::Durable(Output::Done)
    }

    /// Finds every place that is stored in one of the blocks.
    pub(crate) fn places_step(&mut self, blocks: &[BlockId], progress: &mut Progress) -> Step {
        let wanted: FxHashSet<BlockAddress> = blocks.iter().map(|block| BlockAddress::new(block.0)).collect();
        let mut scan = progress.scan.take().unwrap_or_default();
        for _ in 0..self.scan_pages {
            // Objects may appear and disappear meanwhile; the scan continues with the next id.
            let Some(object) = self.map.objects().first_user_from(scan.id.unwrap_or(FIRST_OBJECT)) else {
                scan.places.sort_unstable();
                return Step::Done(Output::Places(std::mem::take(&mut scan.places)));
            };
            if scan.id != Some(object) {
                scan.begin_object(object);
            }
            match scan.visit(&mut self.map, object, |_, _, _| Enter::Yes) {
                Visit::End => scan.begin_object(object.next()),
                Visit::Wait => {
                    progress.scan = Some(scan);
                    return Step::Wait;
                }
                Visit::Leaf(first, page) => {
                    for (i, entry) in page.entries.iter().enumerate() {
                        if !entry.is_empty() && wanted.contains(&entry.address()) {
                            scan.places.push(place(object, first + i as u64, entry.address()));
                        }
                    }
                    scan.block = first + FANOUT as u64;
                }
            }
        }
        progress.scan = Some(scan);
        Step::Later
    }

    /// Deallocates stored blocks of zeros, at most one leaf at a time.
    pub(crate) fn zeros_step(&mut self, object: ObjectId, offset: u64, progress: &mut Progress) -> Step {
        if let Err(failure) = self.writable(object, 0, 0, progress.origin) {
            return Step::Fail(failure);
        }
        let mut scan = progress
            .scan
            .take()
            .unwrap_or_else(|| Box::new(Scan { block: BlockNumber::of_byte(offset), ..Scan::default() }));
        let (first, page) = match scan.visit(&mut self.map, object, |_, _, _| Enter::Yes) {
            Visit::End => return Step::Done(Output::Scanned(Box::default())),
            Visit::Wait => {
                progress.scan = Some(scan);
                return Step::Wait;
            }
            Visit::Leaf(first, page) => (first, page),
        };
        let Some((mut step, mut ranges)) = self.zeros_of_leaf(&page, first, scan.block.max(first)) else {
            progress.scan = Some(scan);
            return Step::Wait;
        };
        let size = self.map.objects().length(object);
        // The last block of a volume may be short.
        for range in &mut ranges {
            range.length = range.length.min(size.saturating_sub(range.offset));
        }
        if step.next.is_some_and(|next| next >= size) {
            step.next = None;
        }
        if ranges.is_empty() {
            return Step::Done(Output::Scanned(Box::new(step)));
        }
        match self.zero_step(object, &ranges, true, progress) {
            Step::Done(_) | Step::Durable(_) => Step::Durable(Output::Scanned(Box::new(step))),
            other => {
                progress.scan = Some(scan);
                other
            }
        }
    }

    /// Finds the blocks of zeros in a leaf whose first block is `first`, starting with block
    /// `from`: result of the step, and their ranges. `None` if content has to be read first.
    fn zeros_of_leaf(
        &mut self,
        page: &Page,
        first: BlockNumber,
        from: BlockNumber,
    ) -> Option<(ScanStep, Vec<ByteRange>)> {
        let mut step = ScanStep { next: Some((first + FANOUT as u64).offset()), ..ScanStep::default() };
        let mut ranges: Vec<ByteRange> = Vec::new();
        let mut complete = true;
        let mut candidates = 0;
        for (block, entry) in first.onwards().zip(&page.entries).skip((from - first) as usize) {
            if entry.is_empty() {
                continue;
            }
            step.scanned_bytes += B;
            if entry.crc() != ZERO_CRC {
                continue;
            }
            if candidates == ZEROS {
                step.next = Some(block.offset());
                step.scanned_bytes -= B;
                break;
            }
            candidates += 1;
            match self.map.content_of(entry) {
                None => complete = false,
                Some(data) if crate::core::operation::is_zero(&data[..]) => {
                    step.deallocated_bytes += B;
                    match ranges.last_mut() {
                        Some(last) if last.offset + last.length == block.offset() => last.length += B,
                        _ => ranges.push(ByteRange::new(block.offset(), B)),
                    }
                }
                Some(_) => {}
            }
        }
        complete.then_some((step, ranges))
    }

    /// Reads the blocks of a leaf from the medium and verifies them.
    pub(crate) fn verify_step(
        &mut self,
        id: OperationId,
        object: ObjectId,
        offset: u64,
        anew: bool,
        p: &mut Progress,
    ) -> Step {
        if let Err(failure) = self.readable(object, 0, 0) {
            return Step::Fail(failure);
        }
        let mut scan = match p.scan.take() {
            Some(scan) => scan,
            None => {
                if anew {
                    self.remembered.verified_mut().clear();
                }
                let verify = Verify { step: ScanStep::default(), outstanding: 0, suspects: Vec::new(), round: 0 };
                Box::new(Scan { block: BlockNumber::of_byte(offset), verify: Some(verify), ..Scan::default() })
            }
        };
        let step = self.verify_leaf(id, object, &mut scan);
        if !matches!(step, Step::Done(_) | Step::Fail(_)) {
            p.scan = Some(scan);
        }
        step
    }

    fn verify_leaf(&mut self, id: OperationId, object: ObjectId, scan: &mut Scan) -> Step {
        let Some(verify) = &mut scan.verify else { return Step::Done(Output::Scanned(Box::default())) };
        if verify.outstanding > 0 {
            return Step::Io;
        }
        if verify.round > 0 {
            let (round, suspects) = (verify.round, std::mem::take(&mut verify.suspects));
            return self.verify_again(id, object, scan, round, suspects);
        }
        let (verified, memory) = (self.remembered.verified_mut(), self.options.memory_bytes / 16);
        let visit = scan.visit(&mut self.map, object, |map, _, Pointer { address, .. }| {
            map.need_counts(address);
            if !map.need().is_empty() {
                return Enter::Wait;
            }
            let shared = map.space().count(address).is_some_and(|count| count > 1);
            if shared && !verified.first(address, memory) { Enter::No } else { Enter::Yes }
        });
        let (first, page) = match visit {
            Visit::Wait => return Step::Wait,
            Visit::End => {
                let step = scan.verify.take().map(|verify| verify.step).unwrap_or_default();
                return Step::Done(Output::Scanned(Box::new(step)));
            }
            Visit::Leaf(first, page) => (first, page),
        };
        self.map.need_counts_of(&page.entries);
        if !self.map.need().is_empty() {
            return Step::Wait;
        }
        let mut blocks: Vec<(BlockNumber, BlockAddress, Crc32c)> = Vec::with_capacity(FANOUT);
        for (i, entry) in page.entries.iter().enumerate() {
            let (address, block) = (entry.address(), first + i as u64);
            // Content that is only in the log is not at its place yet, and is not verified.
            if entry.is_empty() || block < scan.block || self.map.content().is_dirty(address) {
                continue;
            }
            if self.map.space().count(address).is_some_and(|count| count > 1)
                && !self.remembered.verified_mut().first(address, self.options.memory_bytes / 16)
            {
                continue;
            }
            blocks.push((block, address, entry.crc()));
        }
        scan.block = first + FANOUT as u64;
        let Some(verify) = &mut scan.verify else { return Step::Done(Output::Scanned(Box::default())) };
        verify.step.next = Some(scan.block.offset());
        verify.step.scanned_bytes = blocks.len() as u64 * B;
        verify.round = 1;
        blocks.sort_unstable_by_key(|(_, address, _)| *address);
        self.read_to_verify(id, scan, &blocks)
    }

    /// Re-examines mismatches: blocks that have been overwritten since are dropped, the rest is
    /// read once more; blocks that then fail are bad.
    fn verify_again(
        &mut self,
        id: OperationId,
        object: ObjectId,
        scan: &mut Scan,
        round: u8,
        suspects: Vec<(BlockNumber, BlockAddress, Crc32c)>,
    ) -> Step {
        let mut still = Vec::new();
        let mut complete = true;
        for &(block, address, crc) in &suspects {
            match self.map.lookup(object, block) {
                None => complete = false,
                Some(entry) => {
                    if entry.address() == address && entry.crc() == crc && !self.map.content().is_dirty(address) {
                        still.push((block, address, crc));
                    }
                }
            }
        }
        let Some(verify) = &mut scan.verify else { return Step::Done(Output::Scanned(Box::default())) };
        if !complete {
            verify.suspects = suspects;
            return Step::Wait;
        }
        if round == 1 && !still.is_empty() {
            verify.round = 2;
            return self.read_to_verify(id, scan, &still);
        }
        for (block, address, _) in still {
            verify.step.bad.push(place(object, block, address));
        }
        if self.map.objects().get(object).is_none_or(|o| verify.step.next.is_some_and(|next| next >= o.size_bytes)) {
            verify.step.next = None;
        }
        Step::Done(Output::Scanned(Box::new(std::mem::take(&mut verify.step))))
    }

    fn read_to_verify(
        &mut self,
        id: OperationId,
        scan: &mut Scan,
        blocks: &[(BlockNumber, BlockAddress, Crc32c)],
    ) -> Step {
        let Some(verify) = &mut scan.verify else { return Step::Again };
        let limit = self.medium.request_blocks(FANOUT);
        // Suspects are read one by one, so that one bad block does not hide its neighbours.
        let limit = if verify.round == 1 { limit } else { 1 };
        let mut at = 0;
        while at < blocks.len() {
            let mut n = 1;
            while n < limit && blocks.get(at + n).is_some_and(|next| next.1 == blocks[at].1 + n as u64) {
                n += 1;
            }
            let run = blocks[at..at + n].to_vec();
            let address = blocks[at].1;
            self.medium.read(Io::Verify { operation: id, blocks: run }, address, n);
            verify.outstanding += 1;
            at += n;
        }
        if blocks.is_empty() { Step::Again } else { Step::Io }
    }

    pub(crate) fn verified(
        &mut self,
        id: OperationId,
        blocks: Vec<(BlockNumber, BlockAddress, Crc32c)>,
        result: Result<Done, MediaError>,
    ) {
        let buffer = read_result(result).ok().filter(|buffer| buffer.blocks() == blocks.len());
        let Some(pending) = self.schedule.get_mut(id) else { return };
        let Some(verify) = pending.progress.scan.as_mut().and_then(|scan| scan.verify.as_mut()) else { return };
        verify.outstanding -= 1;
        match buffer {
            None => verify.suspects.extend(blocks),
            Some(buffer) => {
                let found = buffer.as_blocks().iter().zip(blocks);
                verify.suspects.extend(found.filter(|(data, (_, _, crc))| Crc32c::of(&data.0) != *crc).map(|(_, b)| b));
            }
        }
        if verify.outstanding == 0 {
            self.schedule.make_ready(id);
        }
    }
}

/// Decides for a count: it descends below a page when it has met all of its references, so that
/// nothing else refers to it.
fn enter_unique(map: &mut Map, scan: &mut Scan, Pointer { address, .. }: Pointer) -> Enter {
    map.need_counts(address);
    if !map.need().is_empty() {
        return Enter::Wait;
    }
    match map.space().count(address) {
        Some(1) => Enter::Yes,
        Some(STICKY) | None => Enter::No,
        Some(count) => {
            if scan.pages_seen.len() >= TRACKED_PAGES && !scan.pages_seen.contains_key(&address) {
                return Enter::No;
            }
            let seen = scan.pages_seen.entry(address).or_default();
            *seen += 1;
            if *seen == u32::from(count) { Enter::Yes } else { Enter::No }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use media::BLOCK_BYTES;

    #[test]
    fn the_checksum_of_zeros_is_what_the_scan_looks_for() {
        assert_eq!(Crc32c::of(&[0; BLOCK_BYTES]), ZERO_CRC);
    }

    #[test]
    fn a_narrowed_window_counts_the_rest_later() {
        let mut scan = Scan { window: BlockAddress::NONE..BlockAddress::MAX, first_pass: true, ..Scan::default() };
        scan.blocks_seen = (0..10).map(|address| (BlockAddress::new(address), 2)).collect();
        scan.blocks = 10;
        narrow(&mut scan, |_| Some(2));
        assert_eq!(scan.window, BlockAddress::NONE..BlockAddress::new(5));
        assert_eq!((scan.blocks_seen.len(), scan.blocks), (5, 5));
    }
}
