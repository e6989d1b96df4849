//! Checking a pool: walk everything that is reachable, verify every checksum, and compare reference counts with what was found.
//!
//! The pool is opened (its log replayed) first; a tool that must not change the file opens it over an overlay. Memory: two bytes for each
//! block of a segment in use.

use crate::core::Core;
use crate::interface::PoolError;
use crate::layout::SEGMENT_BLOCKS;
use crate::page::{Page, crc32c};
use crate::recovery::read_blocks;
use crate::space::STICKY;
use media::Media;
use rustc_hash::FxHashMap;

/// Findings listed in full; more are only counted.
const LISTED: usize = 100;

/// How far a check is.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckProgress {
    /// Blocks verified, pages included.
    pub verified: u64,
    /// Blocks that the counters say are in use.
    pub total: u64,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Volumes and snapshots walked.
    pub objects: u64,
    /// Map pages verified.
    pub pages: u64,
    /// Data blocks verified.
    pub blocks: u64,
    /// What is wrong, a sentence each, the first hundred.
    pub findings: Vec<String>,
    /// Number of findings in all.
    pub count: u64,
}

impl CheckReport {
    /// True when nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.count == 0
    }

    fn find(&mut self, finding: String) {
        self.count += 1;
        if self.findings.len() < LISTED {
            self.findings.push(finding);
        }
    }
}

struct Expected {
    counts: FxHashMap<u32, Box<[u16; SEGMENT_BLOCKS as usize]>>,
}

impl Expected {
    /// Adds a reference and returns how many there were.
    fn add(&mut self, segment: u32, index: usize) -> u16 {
        let counts = self.counts.entry(segment).or_insert_with(|| Box::new([0; SEGMENT_BLOCKS as usize]));
        let before = counts[index];
        counts[index] = before.saturating_add(1);
        before
    }
}

impl<M: Media> Core<M> {
    /// Checks the pool. `data`: also read and verify every data block. Nothing may be in flight. Blocks.
    pub fn check(&mut self, data: bool, progress: &mut dyn FnMut(CheckProgress)) -> Result<CheckReport, PoolError> {
        let mut report = CheckReport::default();
        let mut expected = Expected { counts: FxHashMap::default() };
        let mut state = CheckProgress { verified: 0, total: self.space.allocated() };
        let mut ids: Vec<u64> = self.objects.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let Some((address, level, crc)) = self.root_of(id) else { continue };
            let mapped = self.objects.get(&id).map_or(0, |o| o.mapped);
            report.objects += u64::from(crate::assign::is_user_object(id));
            if address == 0 {
                if mapped != 0 {
                    report.find(format!("object {id}: {mapped} blocks are said to be mapped, but its map is empty"));
                }
                continue;
            }
            let found = self.walk((address, level, crc), id, data, &mut expected, &mut report, &mut state, progress)?;
            if let Some(found) = found
                && found != mapped
            {
                report.find(format!("object {id}: {found} blocks are mapped, its entry says {mapped}"));
            }
        }
        for dropped in self.drops.clone() {
            // Content below a detached sub-tree is no longer anybody's: a block of it may have been overwritten in place by its other owner.
            self.walk(
                (dropped.address, dropped.level, dropped.crc),
                0,
                false,
                &mut expected,
                &mut report,
                &mut state,
                progress,
            )?;
        }
        self.compare_counts(&expected, &mut report)?;
        progress(state);
        Ok(report)
    }

    /// Walks a tree. Returns the mapped blocks that the root page claims, or `None` when it cannot be read.
    #[expect(clippy::too_many_arguments, reason = "one recursive walk with its accumulators")]
    fn walk(
        &mut self,
        root: (u64, u8, u32),
        id: u64,
        data: bool,
        expected: &mut Expected,
        report: &mut CheckReport,
        state: &mut CheckProgress,
        progress: &mut dyn FnMut(CheckProgress),
    ) -> Result<Option<u64>, PoolError> {
        let layout = self.space.layout();
        let mut stack = vec![(root, None::<u64>)];
        let mut claimed = None;
        while let Some(((address, level, crc), parent_says)) = stack.pop() {
            let Some((segment, index)) = layout.locate(address) else {
                report.find(format!("object {id}: map page address {address} lies outside the data area"));
                continue;
            };
            let seen = expected.add(segment, index) > 0;
            let page = match self.fetch_page(address, level, crc)? {
                Ok(page) => page,
                Err(reason) => {
                    report.find(format!("object {id}: {reason}"));
                    continue;
                }
            };
            if claimed.is_none() && parent_says.is_none() {
                claimed = Some(page.mapped());
            }
            if let Some(says) = parent_says
                && says != page.mapped()
            {
                report.find(format!("map page {address}: {} blocks mapped, its parent says {says}", page.mapped()));
            }
            if seen {
                continue;
            }
            report.pages += 1;
            state.verified += 1;
            let mut unread = Vec::new();
            let entries = page.entries.iter().filter(|e| !e.is_empty());
            let sum: u64 = entries.clone().map(|e| if level == 0 { 1 } else { e.mapped() }).sum();
            if sum != page.mapped() {
                report.find(format!(
                    "map page {address}: its entries map {sum} blocks, its header says {}",
                    page.mapped()
                ));
            }
            for entry in entries {
                if level > 0 {
                    stack.push(((entry.address(), level - 1, entry.crc()), Some(entry.mapped())));
                    continue;
                }
                let Some((segment, index)) = layout.locate(entry.address()) else {
                    report.find(format!("object {id}: block address {} lies outside the data area", entry.address()));
                    continue;
                };
                if expected.add(segment, index) > 0 {
                    continue;
                }
                report.blocks += 1;
                state.verified += 1;
                if data && self.blocks.get(entry.address(), entry.crc()).is_none() {
                    unread.push((entry.address(), entry.crc()));
                }
            }
            for address in self.bad_blocks(unread) {
                report.find(format!("object {id}: data block {address} fails its checksum or cannot be read"));
            }
            if report.pages.is_multiple_of(64) {
                progress(*state);
            }
        }
        Ok(claimed)
    }

    /// Reads data blocks (address and CRC) and returns the addresses of those that are not what they should be. Neighbours are read together.
    fn bad_blocks(&mut self, mut blocks: Vec<(u64, u32)>) -> Vec<u64> {
        blocks.sort_unstable();
        let mut bad = Vec::new();
        for run in blocks.chunk_by(|a, b| a.0 + 1 == b.0) {
            let Some(&(first, _)) = run.first() else { continue };
            let whole = read_blocks(&mut self.media, first, run.len());
            for (i, &(address, crc)) in run.iter().enumerate() {
                let good = match &whole {
                    Ok(buffer) => buffer.as_blocks().get(i).is_some_and(|block| crc32c(&block.0) == crc),
                    // One of them cannot be read: find out which.
                    Err(_) => read_blocks(&mut self.media, address, 1).is_ok_and(|block| crc32c(&block) == crc),
                };
                if !good {
                    bad.push(address);
                }
            }
        }
        bad
    }

    /// A page from memory or the medium; the inner error says what is wrong with it.
    fn fetch_page(
        &mut self,
        address: u64,
        level: u8,
        crc: u32,
    ) -> Result<Result<std::rc::Rc<Page>, String>, PoolError> {
        if let Some(cached) = self.pages.get(&address) {
            return Ok(if cached.page.level() == level {
                Ok(cached.page.clone())
            } else {
                Err(format!("map page {address} is at another level than its parent says"))
            });
        }
        match read_blocks(&mut self.media, address, 1) {
            Ok(block) => Ok(Page::parse(&block, address, level, crc).map(std::rc::Rc::new)),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    fn compare_counts(&mut self, expected: &Expected, report: &mut CheckReport) -> Result<(), PoolError> {
        let layout = self.space.layout();
        let mut allocated = 0u64;
        for segment in 0..layout.segments() {
            if layout.is_metadata(segment) {
                continue;
            }
            let start = layout.segment_start(segment);
            let counts = match self.space.counts(segment) {
                Some(counts) => counts,
                None => {
                    self.need.clear();
                    if let Some((block, _)) = self.space.source(segment) {
                        let loaded = read_blocks(&mut self.media, block, 1)
                            .map_err(|e| e.to_string())
                            .and_then(|b| self.space.load(segment, &b));
                        if let Err(reason) = loaded {
                            report.find(reason);
                            continue;
                        }
                    }
                    match self.space.counts(segment) {
                        Some(counts) => counts,
                        None => Box::new([0; SEGMENT_BLOCKS as usize]),
                    }
                }
            };
            let zero = [0u16; SEGMENT_BLOCKS as usize];
            let found = expected.counts.get(&segment).map_or(&zero, |c| &**c);
            for (i, (have, want)) in counts.iter().zip(found).enumerate() {
                allocated += u64::from(*have > 0);
                if have != want && *have != STICKY {
                    let address = start + i as u64;
                    report.find(format!("block {address}: reference count {have}, found {want} references"));
                }
                if *have > 0 && self.space.is_allocatable(start + i as u64) {
                    report.find(format!("block {}: in use, but offered for allocation", start + i as u64));
                }
            }
            self.space.evict(4096);
        }
        if allocated != self.space.allocated() {
            report.find(format!("{allocated} blocks are in use, the pool's counter says {}", self.space.allocated()));
        }
        Ok(())
    }
}
