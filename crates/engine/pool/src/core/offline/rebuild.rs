//! Repair: rebuilds the space map and every counter from the trees, whose checksums prove them.
//!
//! The stored counts and index are not used. The proven counts go to the spare slots and take
//! effect with a checkpoint, before the log is replayed; a crash in between leaves the pool
//! unchanged. If a map page is unreadable, it is unknown which blocks are in use: the repair then
//! changes nothing, and reports the affected ranges by volume and LBA.

#[cfg(test)]
mod tests;

use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::recovery::{Opened, Progress, damaged};
use crate::core::scan::walk::{Item, Tally, TreeWalk, Visit, children, is_own};
use crate::geometry::{Pointer, page_span};
use crate::interface::operation::Options;
use crate::interface::range::BlockNumber;
use crate::interface::{ObjectId, ObjectKind, PoolError};
use crate::map::page::Page;
use crate::medium::blocking::read_many;
use crate::space::STICKY;
use crate::space::layout::SEGMENT_BLOCKS;
use crate::space::slot::SlotEntry;
use media::{BLOCK_BYTES, BlockAddress, Buffer, Media};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use thiserror::Error;

/// Largest number of sentences listed; further ones are only counted.
const LISTED: usize = 100;
/// Number of segments whose counts are read at once.
const SEGMENTS_AT_ONCE: usize = 128;
/// Logical blocks of 512 bytes in a block.
const LBAS: u64 = BLOCK_BYTES as u64 / 512;

/// Changes that a repair makes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Changes, a sentence each, the first hundred.
    pub changes: Vec<String>,
    /// Total number of changes. 0: the pool needs no repair.
    pub count: u64,
    /// Number of map pages that the counts were derived from.
    pub pages: u64,
}

impl RepairReport {
    /// Adds a change.
    pub fn add(&mut self, change: String) {
        self.count += 1;
        if self.changes.len() < LISTED {
            self.changes.push(change);
        }
    }
}

/// Reason why a pool cannot be repaired.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RepairError {
    /// The pool cannot be opened, for a reason that no repair can fix.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// Parts of the map are unreadable, so the blocks in use cannot be proven.
    #[error("{} of the map cannot be read, so that it cannot be proven which blocks are in use", pages(*.count))]
    Unprovable {
        /// Lost ranges, a sentence each, by volume and LBA, the first hundred.
        damage: Vec<String>,
        /// Number of unreadable pages.
        count: u64,
    },
}

fn pages(count: u64) -> String {
    if count == 1 { "1 page".to_owned() } else { format!("{count} pages") }
}

/// Unusable pages by address, with the reason.
type BadPages = BTreeMap<BlockAddress, String>;

impl<M: Media> Core<M> {
    /// Opens a pool without trusting its space map: rebuilds the map from the trees within
    /// `memory_bytes`, then replays the log. The next [`Core::checkpoint`] completes the repair; it
    /// also writes all superblock copies.
    ///
    /// An error leaves everything in force unchanged.
    pub fn open_repairing(
        media: M,
        options: Options,
        memory_bytes: usize,
        progress: Progress<'_>,
    ) -> Result<(Self, Opened, RepairReport), RepairError> {
        let mut trouble = Vec::new();
        let (mut core, start) = Self::load(media, options, Some(&mut trouble))?;
        let mut report = RepairReport::default();
        for sentence in trouble {
            report.add(sentence);
        }
        core.rebuild(memory_bytes, &mut report)?;
        let opened = core.replay(start, progress)?;
        Ok((core, opened, report))
    }

    fn rebuild(&mut self, memory_bytes: usize, report: &mut RepairReport) -> Result<(), RepairError> {
        let layout = self.map.space().layout();
        let (mut from, mut in_use) = (0, 0);
        while from < layout.segments() {
            let mut tally = Tally::new(layout, from, memory_bytes);
            let mut bad = BadPages::new();
            let mut note = |item: &Item, reason: String| {
                bad.entry(item.pointer.address).or_insert(reason);
            };
            let (pages, own) = self.tally(&mut tally, &mut note)?;
            if !bad.is_empty() && self.forget_unreadable_drops(&bad, report) {
                // The counts are rebuilt from the start without the unreadable drops.
                (from, in_use) = (0, 0);
                continue;
            }
            if !bad.is_empty() {
                let count = bad.len() as u64;
                return Err(RepairError::Unprovable { damage: self.explain(&bad), count });
            }
            if from == 0 {
                report.pages = pages.count();
                let metadata = pages.count() + own;
                if metadata != self.map.metadata_blocks() {
                    report.add(format!(
                        "{metadata} blocks hold map pages and catalog, the pool's counter said {}",
                        self.map.metadata_blocks()
                    ));
                    self.map.set_metadata_blocks(metadata);
                }
            }
            in_use += tally.in_use();
            self.write_counts(&tally, report)?;
            from = tally.end();
        }
        if in_use != self.map.space().allocated() {
            report.add(format!("{in_use} blocks are in use, the pool's counter said {}", self.map.space().allocated()));
        }
        self.map.end_rebuild(in_use);
        self.recount_objects(report)?;
        self.recount_allotments(report)?;
        if report.count > 0 {
            // The root is rewritten even if only a number in it was wrong.
            self.map.rewrite_index(0);
        }
        Ok(())
    }

    /// Writes the counts of a window that differ from the stored ones, each block to its spare
    /// slot.
    fn write_counts(&mut self, tally: &Tally, report: &mut RepairReport) -> Result<(), PoolError> {
        let layout = self.map.space().layout();
        let none = [0u16; SEGMENT_BLOCKS as usize];
        let mut segments = tally.window();
        while !segments.is_empty() {
            let mut batch = Vec::with_capacity(SEGMENTS_AT_ONCE);
            for segment in segments.by_ref() {
                let known = self.map.space().source(segment).is_some() || tally.counts(segment).is_some();
                if known && !layout.is_metadata(segment) {
                    batch.push(segment);
                    if batch.len() == SEGMENTS_AT_ONCE {
                        break;
                    }
                }
            }
            let stored: Vec<_> =
                batch.iter().filter_map(|segment| Some((*segment, self.map.space().source(*segment)?))).collect();
            let requests: Vec<_> = stored.iter().map(|(_, (block, _))| (*block, 1)).collect();
            let mut found: BTreeMap<u32, Result<Buffer, String>> = BTreeMap::new();
            for ((segment, (block, crc)), read) in stored.iter().zip(read_many(self.medium.media_mut(), &requests)) {
                let verified = read.and_then(|buffer| match Crc32c::of(&buffer) == *crc {
                    true => Ok(buffer),
                    false => Err(format!("reference counts of segment {segment} (block {block}) fail their checksum")),
                });
                found.insert(*segment, verified);
            }
            for segment in batch {
                let want = tally.counts(segment).unwrap_or(&none);
                let blocks = layout.segment_blocks(segment) as usize;
                let free = want.iter().take(blocks).filter(|count| **count == 0).count() as u16;
                let entry = self.map.space().entry(segment);
                let differing = match found.remove(&segment) {
                    Some(Ok(buffer)) => {
                        let have = buffer.as_chunks::<2>().0.iter().map(|raw| u16::from_le_bytes(*raw));
                        // A count at its limit stays there, except in a segment that was given up.
                        let given_up = have.clone().take(blocks).all(|count| count == STICKY);
                        let wrong = |(have, want): &(u16, &u16)| have != *want && (*have != STICKY || given_up);
                        let differing = have.zip(want).filter(wrong).count();
                        if differing == 0 && entry.free() == free {
                            continue;
                        }
                        if differing == 0 {
                            let start = layout.segment_start(segment);
                            report.add(format!(
                                "segment {segment} (from block {start}): {free} blocks are free, the index said {}",
                                entry.free()
                            ));
                        }
                        differing
                    }
                    Some(Err(reason)) => {
                        report.add(reason);
                        0
                    }
                    None => want.iter().filter(|count| **count > 0).count(),
                };
                if differing > 0 {
                    let start = layout.segment_start(segment);
                    report
                        .add(format!("segment {segment} (from block {start}): {differing} reference counts are wrong"));
                }
                let mut buffer = Buffer::zeroed(1);
                for (raw, count) in buffer.as_chunks_mut::<2>().0.iter_mut().zip(want) {
                    *raw = count.to_le_bytes();
                }
                let slot = entry.next_slot();
                self.map.replace_counts(segment, SlotEntry::new(slot, Crc32c::of(&buffer), free));
                let address = layout.counts_block(segment, slot);
                self.medium.write_blocking(address, buffer).map_err(|error| damaged(error.to_string()))?;
            }
        }
        Ok(())
    }

    /// Corrects the numbers of mapped blocks in the object table.
    fn recount_objects(&mut self, report: &mut RepairReport) -> Result<(), PoolError> {
        let mut roots = BTreeMap::new();
        for item in self.all_roots().into_iter().filter(|item| item.object != ObjectId::NONE && !is_own(item.object)) {
            roots.insert(item.object, item.pointer);
        }
        let ids: Vec<ObjectId> = self.map.objects().user_ids().collect();
        for id in ids {
            let mapped = match roots.get(&id) {
                None => 0,
                Some(&Pointer { address, level, crc }) => {
                    let block = crate::core::recovery::read_blocks(self.medium.media_mut(), address, 1)?;
                    Page::parse(&block, address, level, crc).map_err(PoolError::Damaged)?.mapped()
                }
            };
            let said = self.map.objects().read(id, |object| object.mapped);
            let Some(said) = said.filter(|said| *said != mapped) else { continue };
            report.add(format!("object {id}: {mapped} blocks are mapped, its entry said {said}"));
            self.map.correct_mapped(id, mapped);
        }
        Ok(())
    }

    /// Drops deleted trees that cannot be walked because of bad pages: no reader needs them, and
    /// blocks that only they refer to are free once the counts are rebuilt without them. False if
    /// there are none.
    fn forget_unreadable_drops(&mut self, bad: &BadPages, report: &mut RepairReport) -> bool {
        let tainted = self.tainted(bad);
        let before = report.count;
        self.map.retain_drops(|dropped| {
            let keep = !tainted.contains(&dropped.pointer.address);
            if !keep {
                report.add(format!(
                    "a deleted tree (page {}) cannot be walked: its space comes back",
                    dropped.pointer.address
                ));
            }
            keep
        });
        report.count > before
    }

    /// Pages from which a bad page can be reached.
    fn tainted(&mut self, bad: &BadPages) -> FxHashSet<BlockAddress> {
        let mut tainted: FxHashSet<BlockAddress> = bad.keys().copied().collect();
        loop {
            let before = tainted.len();
            let mut walk = TreeWalk::new(self.all_roots(), false);
            while let Some(visits) = walk.next(self) {
                for (item, visit) in &visits {
                    if let Visit::Page(page) = visit
                        && children(item, page).any(|child| tainted.contains(&child.pointer.address))
                    {
                        tainted.insert(item.pointer.address);
                    }
                }
            }
            if tainted.len() == before {
                return tainted;
            }
        }
    }

    /// Describes the content that is unreadable because of bad pages, by object and LBA.
    fn explain(&mut self, bad: &BadPages) -> Vec<String> {
        let tainted = self.tainted(bad);
        let mut sentences = Vec::new();
        let mut roots = self.all_roots();
        roots.retain(|item| tainted.contains(&item.pointer.address));
        for root in roots.into_iter().rev() {
            let mut stack = vec![root];
            let mut lost: Vec<(BlockNumber, BlockNumber, BlockAddress)> = Vec::new();
            while let Some(item) = stack.pop() {
                let Pointer { address, level, crc } = item.pointer;
                if bad.contains_key(&address) {
                    lost.push((item.first, item.first + page_span(level), address));
                    continue;
                }
                let block = read_many(self.medium.media_mut(), &[(address, 1)]).pop();
                let page = block.and_then(|block| Page::parse(&block.ok()?, address, level, crc).ok());
                let Some(page) = page else { continue };
                stack.extend(children(&item, &page).filter(|child| tainted.contains(&child.pointer.address)));
            }
            lost.sort_unstable();
            for (first, end, address) in lost {
                let reason = bad.get(&address).map_or("", String::as_str);
                sentences.push(match self.map.objects().get(root.object) {
                    None => format!("a deleted tree whose space has not come back yet: {reason}"),
                    Some(object) => {
                        let what = match (is_own(object.id), object.kind) {
                            (true, _) => "the catalog's stream",
                            (_, ObjectKind::Volume) => "volume",
                            (_, ObjectKind::Snapshot) => "snapshot",
                            (_, ObjectKind::Capture) => "capture",
                        };
                        let last = (end.get() * LBAS).min(object.size_bytes.div_ceil(512)).saturating_sub(1);
                        format!("{what} {}: LBA {} to {last}: {reason}", object.id, first.get() * LBAS)
                    }
                });
                if sentences.len() >= LISTED {
                    return sentences;
                }
            }
        }
        sentences
    }
}
