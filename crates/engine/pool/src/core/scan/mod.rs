//! Operations that go through the maps of objects in steps, while hosts go on working: counting what is unique or shared, verifying stored
//! content, finding zeros, finding who uses a block.
//!
//! A scan keeps no pointers. It remembers the next block of an object and descends from the root each time, so whatever changes between two
//! steps is seen as it then is.

pub(crate) mod online_check;
pub(crate) mod walk;

use crate::checksum::crc32c;
use crate::core::Core;
use crate::core::completion::{Io, read_result};
use crate::geometry::{FANOUT, MAX_LEVEL, Pointer, page_span};
use crate::interface::operation::{Failure, Operation, OperationId, Output};
use crate::interface::{BlockId, Incident, ObjectId, Place, PoolError, ScanStep};
use crate::map::page::Page;
use crate::schedule::step::{Progress, Step};
use crate::space::STICKY;
use crate::space::layout::SEGMENT_BLOCKS;
use block::BlockError;
use media::{BLOCK_BYTES, BlockAddress, Done, Media, MediaError};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

const B: u64 = BLOCK_BYTES as u64;
/// Shared blocks of which one pass of a count keeps track; for more it goes through the maps again.
const TRACKED_BLOCKS: usize = 1 << 20;
/// Shared pages of which a count keeps track. What lies below more of them is not counted.
const TRACKED_PAGES: usize = 1 << 22;
/// Blocks of zeros that one step deallocates.
const ZEROS: usize = 32;
/// Incidents that wait to be taken; more are forgotten.
const INCIDENTS: usize = 1024;
/// CRC-32C of a block of zeros.
const ZERO_CRC: u32 = 0x98f9_4189;

/// State of a scan between its turns.
#[derive(Default)]
pub(crate) struct Scan {
    /// Object and block to go on with.
    object: usize,
    block: u64,
    /// By level: the page last entered, as number of its span + 1.
    entered: [u64; MAX_LEVEL as usize + 1],
    /// Blocks and pages counted.
    blocks: u64,
    pages: u64,
    places: Vec<Place>,
    pages_seen: FxHashMap<u64, u32>,
    blocks_seen: FxHashMap<u64, u32>,
    /// Shared blocks in this range of addresses are tracked in this pass.
    window: std::ops::Range<u64>,
    first_pass: bool,
    verify: Option<Verify>,
    /// Pages that cannot be read: address and why.
    pub(crate) bad_pages: Vec<(u64, String)>,
}

/// A leaf whose blocks are being read.
struct Verify {
    step: ScanStep,
    outstanding: u32,
    /// Block of the object, address, CRC of what did not match.
    suspects: Vec<(u64, u64, u32)>,
    round: u8,
}

/// What a descent found.
enum Visit {
    /// A leaf at or after the scan's block: the first block it spans, and the page.
    Leaf(u64, Rc<Page>),
    /// Nothing up to the end of the object.
    End,
    /// Something has to be read first.
    Wait,
}

/// What a scan thinks of a page.
enum Enter {
    /// Look below.
    Yes,
    /// Skip what it spans.
    No,
    /// Something has to be read first.
    Wait,
}

impl Scan {
    /// Begins with another object.
    fn begin(&mut self, object: usize, block: u64) {
        (self.object, self.block) = (object, block);
        self.entered = Default::default();
    }
}

impl Operation {
    /// True for an operation that reports pages that cannot be read, instead of failing.
    pub(crate) fn survives_bad_pages(&self) -> bool {
        matches!(self, Self::Verify { .. } | Self::PlacesOf(_))
    }
}

impl<M: Media> Core<M> {
    /// Descends to the next leaf of an object at or after the scan's block. `enter` is asked once for each page.
    fn visit(
        &mut self,
        scan: &mut Scan,
        object: u64,
        mut enter: impl FnMut(&mut Self, &mut Scan, Pointer) -> Enter,
    ) -> Visit {
        'from_root: loop {
            let Some((root, root_level, root_crc)) = self.root_of(object) else { return Visit::End };
            if root == 0 || scan.block >= page_span(root_level) {
                return Visit::End;
            }
            let mut pointer = (root, root_level, root_crc);
            loop {
                let (address, level, _) = pointer;
                let span = scan.block / page_span(level);
                let at = usize::from(level);
                if let Some((_, reason)) = scan.bad_pages.iter().find(|(bad, _)| *bad == address) {
                    if let Some(verify) = &mut scan.verify {
                        verify.step.damaged.push(reason.clone());
                    }
                    scan.block = (span + 1) * page_span(level);
                    continue 'from_root;
                }
                // In the middle of a page's span, the page was entered before.
                if scan.block.is_multiple_of(page_span(level)) && scan.entered[at] != span + 1 {
                    match enter(self, scan, pointer) {
                        Enter::Yes => scan.entered[at] = span + 1,
                        Enter::No => {
                            scan.block = (span + 1) * page_span(level);
                            continue 'from_root;
                        }
                        Enter::Wait => return Visit::Wait,
                    }
                }
                let Some(page) = self.page(pointer) else { return Visit::Wait };
                if level == 0 {
                    return Visit::Leaf(span * FANOUT as u64, page);
                }
                let index = crate::geometry::index_in(scan.block, level);
                match page.entries[index..].iter().position(|entry| !entry.is_empty()) {
                    Some(0) => {
                        let entry = page.entries[index];
                        pointer = (entry.address(), level - 1, entry.crc());
                    }
                    skip => {
                        let child = page_span(level - 1);
                        let next = scan.block / child + skip.unwrap_or(FANOUT - index) as u64;
                        scan.block = next * child;
                        continue 'from_root;
                    }
                }
            }
        }
    }

    /// What deleting all these objects frees: simulates giving back their references.
    pub(crate) fn unique_step(&mut self, objects: &[u64], progress: &mut Progress) -> Step {
        for id in objects {
            if self.objects.user(*id).is_none() {
                return Step::Fail(PoolError::NoSuchObject(*id).into());
            }
        }
        let mut scan = progress
            .scan
            .take()
            .unwrap_or_else(|| Box::new(Scan { window: 0..u64::MAX, first_pass: true, ..Scan::default() }));
        let mut objects = objects.to_vec();
        objects.sort_unstable();
        objects.dedup();
        for _ in 0..self.scan_pages {
            let Some(&object) = objects.get(scan.object) else {
                if scan.window.end == u64::MAX {
                    return Step::Done(Output::Bytes(scan.blocks * B));
                }
                // Not all shared blocks could be tracked: once more for the rest.
                scan.window = scan.window.end..u64::MAX;
                scan.first_pass = false;
                scan.pages_seen.clear();
                scan.blocks_seen.clear();
                scan.begin(0, 0);
                continue;
            };
            let visit = self.visit(&mut scan, object, |core, scan, (address, _, _)| {
                core.need_counts(address);
                if !core.need.is_empty() {
                    return Enter::Wait;
                }
                match core.space.count(address) {
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
            });
            match visit {
                Visit::End => {
                    let next = scan.object + 1;
                    scan.begin(next, 0);
                }
                Visit::Wait => {
                    progress.scan = Some(scan);
                    return Step::Wait;
                }
                Visit::Leaf(first, page) => {
                    self.need_counts_of(&page.entries);
                    if !self.need.is_empty() {
                        progress.scan = Some(scan);
                        return Step::Wait;
                    }
                    for entry in page.entries.iter().filter(|entry| !entry.is_empty()) {
                        let address = entry.address();
                        match self.space.count(address) {
                            Some(1) => scan.blocks += u64::from(scan.first_pass),
                            Some(STICKY) | None => {}
                            Some(_) if !scan.window.contains(&address) => {}
                            Some(count) => {
                                let seen = scan.blocks_seen.entry(address).or_default();
                                *seen += 1;
                                scan.blocks += u64::from(*seen == u32::from(count));
                            }
                        }
                    }
                    if scan.blocks_seen.len() > TRACKED_BLOCKS {
                        narrow(&mut scan, |address| self.space.count(address));
                    }
                    scan.block = first + FANOUT as u64;
                }
            }
        }
        progress.scan = Some(scan);
        Step::Later
    }

    /// Counts the blocks that a volume shares with nobody, and with that how many it shares at most.
    pub(crate) fn recount_step(&mut self, object: u64, progress: &mut Progress) -> Step {
        if self.objects.user(object).is_none() {
            self.objects.end_count(object);
            return Step::Fail(PoolError::NoSuchObject(object).into());
        }
        let mut scan = progress.scan.take().unwrap_or_else(|| {
            self.objects.begin_count(object);
            Box::default()
        });
        for _ in 0..self.scan_pages {
            let visit = self.visit(&mut scan, object, |core, scan, (address, _, _)| {
                core.need_counts(address);
                match (core.need.is_empty(), core.space.count(address)) {
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
                    self.need_counts_of(&page.entries);
                    if !self.need.is_empty() {
                        progress.scan = Some(scan);
                        return Step::Wait;
                    }
                    let own = page.entries.iter().filter(|e| !e.is_empty() && self.space.count(e.address()) == Some(1));
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

    /// Ends a count: the volume has so many blocks and pages for itself.
    fn end_recount(&mut self, object: u64, own_blocks: u64, own_pages: u64) -> Step {
        let (Some(missed), Some(o)) = (self.objects.missed(object), self.objects.get(object)) else {
            self.objects.end_count(object);
            return Step::Done(Output::Done);
        };
        let shared = o.mapped.saturating_sub(own_blocks).saturating_add(missed.blocks).min(o.mapped);
        let pages = o.all_pages().saturating_sub(own_pages).saturating_add(missed.pages).min(o.all_pages());
        let reserved = o.reservation.is_some();
        let (before, pages_before) = (o.shared, o.pages_due);
        if reserved && shared >= before && pages >= pages_before {
            self.objects.end_count(object);
            return Step::Done(Output::Done);
        }
        if !self.log_takes(crate::log::record::shared_bytes(1)) {
            return Step::LogFull;
        }
        self.objects.end_count(object);
        let (shared, pages) = match reserved {
            true => (shared.min(before), pages.min(pages_before)),
            false => (shared, pages),
        };
        if self.set_shared(object, shared, pages).is_none() {
            return Step::Done(Output::Done);
        }
        self.log.append(|out| crate::log::record::encode_catalog(out, &[], &[(object, shared, pages)]));
        Step::Durable(Output::Done)
    }

    /// Finds every place that is stored in one of the blocks.
    pub(crate) fn places_step(&mut self, blocks: &[u64], progress: &mut Progress) -> Step {
        let wanted: FxHashSet<u64> = blocks.iter().copied().collect();
        let objects = self.object_ids();
        let mut scan = progress.scan.take().unwrap_or_default();
        for _ in 0..self.scan_pages {
            // Objects may come and go meanwhile; the scan goes on with the next id.
            let Some(&object) = objects.iter().find(|id| **id >= scan.object as u64) else {
                scan.places.sort_unstable();
                return Step::Done(Output::Places(std::mem::take(&mut scan.places)));
            };
            if object != scan.object as u64 {
                scan.begin(object as usize, 0);
            }
            match self.visit(&mut scan, object, |_, _, _| Enter::Yes) {
                Visit::End => scan.begin(object as usize + 1, 0),
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

    /// Deallocates stored blocks of zeros, up to a leaf at a time.
    pub(crate) fn zeros_step(&mut self, object: u64, offset: u64, progress: &mut Progress) -> Step {
        if let Err(failure) = self.writable(object, 0, 0) {
            return Step::Fail(failure);
        }
        let mut scan = progress.scan.take().unwrap_or_else(|| Box::new(Scan { block: offset / B, ..Scan::default() }));
        let (first, page) = match self.visit(&mut scan, object, |_, _, _| Enter::Yes) {
            Visit::End => return Step::Done(Output::Scanned(Box::default())),
            Visit::Wait => {
                progress.scan = Some(scan);
                return Step::Wait;
            }
            Visit::Leaf(first, page) => (first, page),
        };
        let from = scan.block.max(first);
        let mut step = ScanStep { next: Some((first + FANOUT as u64) * B), ..ScanStep::default() };
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let mut complete = true;
        let mut candidates = 0;
        for block in from..first + FANOUT as u64 {
            let entry = page.entries[(block - first) as usize];
            if entry.is_empty() {
                continue;
            }
            step.scanned_bytes += B;
            if entry.crc() != ZERO_CRC {
                continue;
            }
            if candidates == ZEROS {
                step.next = Some(block * B);
                step.scanned_bytes -= B;
                break;
            }
            candidates += 1;
            match self.blocks.get(entry.address(), entry.crc()) {
                None => {
                    self.need.blocks.push((entry.address(), entry.crc()));
                    complete = false;
                }
                Some(data) if crate::core::operation::is_zero(&data[..]) => {
                    step.deallocated_bytes += B;
                    match ranges.last_mut() {
                        Some(last) if last.0 + last.1 == block * B => last.1 += B,
                        _ => ranges.push((block * B, B)),
                    }
                }
                Some(_) => {}
            }
        }
        if !complete {
            progress.scan = Some(scan);
            return Step::Wait;
        }
        let size = self.objects.get(object).map_or(0, |o| o.size_bytes);
        // The last block of a volume may be short.
        for range in &mut ranges {
            range.1 = range.1.min(size.saturating_sub(range.0));
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

    /// Reads a leaf's blocks from the medium and verifies them.
    pub(crate) fn verify_step(
        &mut self,
        id: OperationId,
        object: u64,
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
                    self.verified.clear();
                }
                let verify = Verify { step: ScanStep::default(), outstanding: 0, suspects: Vec::new(), round: 0 };
                Box::new(Scan { block: offset / B, verify: Some(verify), ..Scan::default() })
            }
        };
        let step = self.verify_leaf(id, object, &mut scan);
        if !matches!(step, Step::Done(_) | Step::Fail(_)) {
            p.scan = Some(scan);
        }
        step
    }

    fn verify_leaf(&mut self, id: OperationId, object: u64, scan: &mut Scan) -> Step {
        let Some(verify) = &mut scan.verify else { return Step::Done(Output::Scanned(Box::default())) };
        if verify.outstanding > 0 {
            return Step::Io;
        }
        if verify.round > 0 {
            let (round, suspects) = (verify.round, std::mem::take(&mut verify.suspects));
            return self.verify_again(id, object, scan, round, suspects);
        }
        let visit = self.visit(scan, object, |core, _, (address, _, _)| {
            core.need_counts(address);
            if !core.need.is_empty() {
                return Enter::Wait;
            }
            let shared = core.space.count(address).is_some_and(|count| count > 1);
            if shared && !core.first_verification(address) { Enter::No } else { Enter::Yes }
        });
        let (first, page) = match visit {
            Visit::Wait => return Step::Wait,
            Visit::End => {
                let step = scan.verify.take().map(|verify| verify.step).unwrap_or_default();
                return Step::Done(Output::Scanned(Box::new(step)));
            }
            Visit::Leaf(first, page) => (first, page),
        };
        self.need_counts_of(&page.entries);
        if !self.need.is_empty() {
            return Step::Wait;
        }
        let mut blocks: Vec<(u64, u64, u32)> = Vec::with_capacity(FANOUT);
        for (i, entry) in page.entries.iter().enumerate() {
            let (address, block) = (entry.address(), first + i as u64);
            // What is only in the log so far has nothing at its place to verify.
            if entry.is_empty() || block < scan.block || self.blocks.is_dirty(address) {
                continue;
            }
            if self.space.count(address).is_some_and(|count| count > 1) && !self.first_verification(address) {
                continue;
            }
            blocks.push((block, address, entry.crc()));
        }
        scan.block = first + FANOUT as u64;
        let Some(verify) = &mut scan.verify else { return Step::Done(Output::Scanned(Box::default())) };
        verify.step.next = Some(scan.block * B);
        verify.step.scanned_bytes = blocks.len() as u64 * B;
        verify.round = 1;
        blocks.sort_unstable_by_key(|(_, address, _)| *address);
        self.read_to_verify(id, scan, &blocks)
    }

    /// Looks at what did not match: whatever has been overwritten since is no longer of interest, the rest is read once more, and what fails then
    /// is bad.
    fn verify_again(
        &mut self,
        id: OperationId,
        object: u64,
        scan: &mut Scan,
        round: u8,
        suspects: Vec<(u64, u64, u32)>,
    ) -> Step {
        let mut still = Vec::new();
        let mut complete = true;
        for &(block, address, crc) in &suspects {
            match self.lookup(object, block) {
                None => complete = false,
                Some(entry) => {
                    if entry.address() == address && entry.crc() == crc && !self.blocks.is_dirty(address) {
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
        if self.objects.get(object).is_none_or(|o| verify.step.next.is_some_and(|next| next >= o.size_bytes)) {
            verify.step.next = None;
        }
        Step::Done(Output::Scanned(Box::new(std::mem::take(&mut verify.step))))
    }

    fn read_to_verify(&mut self, id: OperationId, scan: &mut Scan, blocks: &[(u64, u64, u32)]) -> Step {
        let Some(verify) = &mut scan.verify else { return Step::Again };
        let limit = (self.media.capabilities().max_request_bytes / BLOCK_BYTES).clamp(1, FANOUT);
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
            let ticket = self.ticket(Io::Verify { operation: id, blocks: run });
            self.media.read(ticket, BlockAddress(address), self.stock.take(n));
            verify.outstanding += 1;
            at += n;
        }
        if blocks.is_empty() { Step::Again } else { Step::Io }
    }

    pub(crate) fn verified(&mut self, id: OperationId, blocks: Vec<(u64, u64, u32)>, result: Result<Done, MediaError>) {
        let buffer = read_result(result).ok().filter(|buffer| buffer.blocks() == blocks.len());
        let Some(pending) = self.pending_mut(id) else { return };
        let Some(verify) = pending.progress.scan.as_mut().and_then(|scan| scan.verify.as_mut()) else { return };
        verify.outstanding -= 1;
        match buffer {
            None => verify.suspects.extend(blocks),
            Some(buffer) => {
                let found = buffer.as_blocks().iter().zip(blocks);
                verify.suspects.extend(found.filter(|(data, (_, _, crc))| crc32c(&data.0) != *crc).map(|(_, b)| b));
            }
        }
        if verify.outstanding == 0 {
            self.make_ready(id);
        }
    }

    /// True when the pass of `Verify` under way meets this shared block or page for the first time, as far as it remembers.
    fn first_verification(&mut self, address: u64) -> bool {
        // 256 bytes and the place in the table for each segment.
        if self.verified.len() > (self.options.memory_bytes / 16 / 320).max(16) {
            self.verified.clear();
        }
        let bits = self.verified.entry(address / SEGMENT_BLOCKS).or_insert_with(|| Box::new([0; VERIFIED_WORDS]));
        let (word, bit) = ((address % SEGMENT_BLOCKS / 64) as usize, 1 << (address % 64));
        let first = bits[word] & bit == 0;
        bits[word] |= bit;
        first
    }

    /// Remembers something that is wrong on the medium, for [`Catalog::take_incidents`](crate::Catalog::take_incidents).
    pub(crate) fn note_incident(&mut self, incident: Incident) {
        if self.incidents.len() < INCIDENTS && !self.incidents.contains(&incident) {
            self.incidents.push_back(incident);
        }
    }

    /// What was found to be wrong since the last call.
    pub fn take_incidents(&mut self) -> Vec<Incident> {
        self.incidents.drain(..).collect()
    }

    /// The error of a read of `block` of an object, which is noted.
    pub(crate) fn bad_block(&mut self, object: u64, block: u64, address: u64) -> Failure {
        self.note_incident(Incident::BadBlock(place(object, block, address)));
        BlockError::ReadFailed { lba: block * (B / 512) }.into()
    }
}

/// Words of a bitmap of one segment.
pub(crate) const VERIFIED_WORDS: usize = (SEGMENT_BLOCKS / 64) as usize;

fn place(object: u64, block: u64, address: u64) -> Place {
    Place { object: ObjectId(object), offset_bytes: block * B, block: BlockId(address) }
}

/// Gives up the upper half of the tracked blocks; a further pass counts them.
fn narrow(scan: &mut Scan, count: impl Fn(u64) -> Option<u16>) {
    let mut addresses: Vec<u64> = scan.blocks_seen.keys().copied().collect();
    let middle = addresses.len() / 2;
    let (_, end, _) = addresses.select_nth_unstable(middle);
    let end = *end;
    let (blocks_seen, blocks) = (&mut scan.blocks_seen, &mut scan.blocks);
    blocks_seen.retain(|address, seen| {
        let keep = *address < end;
        if !keep && count(*address).map(u32::from) == Some(*seen) {
            *blocks -= 1;
        }
        keep
    });
    scan.window.end = end;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_zeros_is_what_the_scan_looks_for() {
        assert_eq!(crc32c(&[0; BLOCK_BYTES]), ZERO_CRC);
    }

    #[test]
    fn a_narrowed_window_counts_the_rest_later() {
        let mut scan = Scan { window: 0..u64::MAX, first_pass: true, ..Scan::default() };
        scan.blocks_seen = (0..10).map(|address| (address, 2)).collect();
        scan.blocks = 10;
        narrow(&mut scan, |_| Some(2));
        assert_eq!((scan.window.clone(), scan.blocks_seen.len(), scan.blocks), (0..5, 5, 5));
    }
}
