//! Check of a pool: walks all reachable pages and blocks, verifies every checksum, and compares the
//! reference counts with the references found.
//!
//! The pool is opened first (its log is replayed); a tool that must not change the file opens it
//! over an overlay. [`CheckOptions::memory_bytes`] limits the memory: counts that do not fit are
//! compared in further passes over the map.

use crate::catalog::DOCUMENTS;
use crate::catalog::documents::Stored;
use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::scan::walk::{Item, Tally, TreeWalk, Visit, is_own, leaf_entries};
use crate::geometry::Pointer;
use crate::interface::check::CheckReport;
use crate::interface::{ObjectId, PoolError};
use crate::map::counts::RoundedCounts;
use crate::medium::blocking::read_many;
use crate::space::STICKY;
use crate::space::layout::SEGMENT_BLOCKS;
use media::{BlockAddress, FEATURE_CEILING, FEATURE_LOCKS, FEATURE_REPLICAS, Media};

/// Largest number of data blocks read in one request.
const RUN_BLOCKS: usize = 256;
/// Number of data blocks collected before they are read.
const GATHERED: usize = 16_384;
/// Number of segments whose counts are read at once.
const SEGMENTS_AT_ONCE: usize = 128;

/// Options of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Also read and verify every data block.
    pub data: bool,
    /// Memory for reference counts: 4 KiB for each 8 MiB of the pool that is in use. With less, the
    /// check walks the map several times.
    pub memory_bytes: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { data: true, memory_bytes: 1 << 30 }
    }
}

/// Progress of a check.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckProgress {
    /// Number of blocks verified, pages included.
    pub verified: u64,
    /// Number of blocks in use according to the counters.
    pub total: u64,
}

/// Blocks that a walk over all trees has met.
struct Met {
    /// Number of map pages.
    pages: u64,
    /// Number of blocks that hold map pages or catalog.
    metadata_blocks: u64,
}

/// Data blocks to verify: object, address, CRC.
type Unread = Vec<(ObjectId, BlockAddress, Crc32c)>;

impl<M: Media> Core<M> {
    /// Checks the pool. `data`: also read and verify every data block. No operation may be in
    /// flight. Blocks the thread.
    pub fn check(&mut self, data: bool, progress: &mut dyn FnMut(CheckProgress)) -> Result<CheckReport, PoolError> {
        self.check_with(CheckOptions { data, ..CheckOptions::default() }, progress)
    }

    /// Like [`Core::check`], with options.
    pub fn check_with(
        &mut self,
        options: CheckOptions,
        progress: &mut dyn FnMut(CheckProgress),
    ) -> Result<CheckReport, PoolError> {
        self.seal_all();
        let mut report = CheckReport::default();
        let mut state = CheckProgress { verified: 0, total: self.map.space().allocated() };
        let layout = self.map.space().layout();
        self.check_objects(&mut report);
        self.check_documents(&mut report);
        self.check_allotments(&mut report);
        let (mut from, mut found, mut allocated) = (0, 0, 0);
        while from < layout.segments() {
            let mut tally = Tally::new(layout, from, options.memory_bytes);
            tally.expect(|segment| self.map.space().in_use(segment));
            let first = from == 0;
            let met = self.pass(first, options.data, &mut tally, &mut report, &mut state, progress)?;
            allocated += self.compare_counts(&tally, &mut report);
            found += tally.in_use();
            if first {
                report.pages = met.pages;
                self.check_metadata(met.metadata_blocks, &mut report);
            }
            from = tally.end();
        }
        report.blocks = found.saturating_sub(report.pages);
        if allocated != self.map.space().allocated() {
            report.find(format!(
                "{allocated} blocks are in use, the pool's counter says {}",
                self.map.space().allocated()
            ));
        }
        progress(state);
        Ok(report)
    }

    /// Checks objects without a map.
    fn check_objects(&mut self, report: &mut CheckReport) {
        let marked = |feature: u64| self.media().features() & feature != 0;
        let (ceilings, locks, replicas) = (marked(FEATURE_CEILING), marked(FEATURE_LOCKS), marked(FEATURE_REPLICAS));
        for object in self.map.objects().all() {
            let id = object.id;
            report.objects += u64::from(crate::catalog::is_user_object(id));
            if object.root.is_none() && object.mapped != 0 {
                let mapped = object.mapped;
                report.find(format!("object {id}: {mapped} blocks are said to be mapped, but its map is empty"));
            }
            let unmarked = [
                ("has a ceiling", object.ceiling_bytes.is_some() && !ceilings),
                ("is locked", object.locked_until().is_some() && !locks),
                ("is a replica", object.is_replica() && !replicas),
            ];
            for (state, _) in unmarked.into_iter().filter(|(_, is_found)| *is_found) {
                report.find(format!("object {id} {state}, but the superblock lacks its feature bit"));
            }
        }
    }

    /// Checks the index of the documents: its pages, the order of its keys, the number of entries.
    fn check_documents(&mut self, report: &mut CheckReport) {
        let Stored::Index(root) = self.map.documents().stored() else { return };
        match self.read_index_tree(DOCUMENTS, root, &mut |_, _| {}) {
            Ok(findings) => findings.iter().for_each(|finding| report.find(format!("the documents: {finding}"))),
            Err(error) => report.find(format!("the documents: {error}")),
        }
    }

    fn check_metadata(&self, found: u64, report: &mut CheckReport) {
        if report.is_clean() && found != self.map.metadata_blocks() {
            report.find(format!(
                "{found} blocks hold map pages and catalog, the pool's counter says {}",
                self.map.metadata_blocks()
            ));
        }
    }

    /// Walks all trees once. The `first` pass reports damage of the trees; each pass verifies the
    /// data blocks of its window.
    fn pass(
        &mut self,
        first: bool,
        data: bool,
        tally: &mut Tally,
        report: &mut CheckReport,
        state: &mut CheckProgress,
        progress: &mut dyn FnMut(CheckProgress),
    ) -> Result<Met, PoolError> {
        let mut walk = TreeWalk::new(self.all_roots(), first);
        let mut unread = Unread::new();
        let mut rounded = RoundedCounts::default();
        let mut own = 0;
        while let Some(visits) = walk.next(self) {
            for (item, visit) in &visits {
                let Item { object, pointer: Pointer { address, .. }, .. } = *item;
                let _ = tally.add(address);
                if first {
                    self.judge(item, visit, report);
                }
                let Visit::Page(page) = visit else { continue };
                if first {
                    rounded.note(address, page);
                }
                state.verified += u64::from(first);
                for entry in leaf_entries(page) {
                    match tally.add(entry.address()) {
                        Ok(Some(0)) => {}
                        Ok(_) => continue,
                        Err(()) if first => {
                            let address = entry.address();
                            report.find(format!("object {object}: block address {address} lies outside the data area"));
                            continue;
                        }
                        Err(()) => continue,
                    }
                    state.verified += 1;
                    // Content below a detached sub-tree has no owner: the other owner of a block
                    // may have overwritten it in place.
                    if data
                        && object != ObjectId::NONE
                        && self.map.content_at(entry.address(), entry.crc()).is_none()
                        && self.unwritten_block(entry.address()).is_none()
                    {
                        unread.push((object, entry.address(), entry.crc()));
                    }
                }
                if first && is_own(object) {
                    own += leaf_entries(page).count() as u64;
                }
            }
            if unread.len() >= GATHERED {
                self.check_data(std::mem::take(&mut unread), report);
            }
            progress(*state);
        }
        self.check_data(unread, report);
        rounded.findings().for_each(|finding| report.find(finding));
        Ok(Met { pages: walk.pages.count(), metadata_blocks: walk.pages.count() + own })
    }

    /// Reports damage of one pointer and of its page.
    fn judge(&self, item: &Item, visit: &Visit, report: &mut CheckReport) {
        let Item { object, pointer: Pointer { address, .. }, expected_mapped, .. } = *item;
        let page = match visit {
            Visit::Outside => {
                return report.find(format!("object {object}: map page address {address} lies outside the data area"));
            }
            Visit::Bad(reason) => return report.find(format!("object {object}: {reason}")),
            Visit::Again(None) => return,
            Visit::Page(page) | Visit::Again(Some(page)) => page,
        };
        match expected_mapped {
            Some(stated) if !stated.is_of(page.mapped()) => {
                let (mapped, stated) = (page.mapped(), stated.blocks);
                report.find(format!("map page {address}: {mapped} blocks mapped, its parent says {stated}"));
            }
            None if object != ObjectId::NONE => {
                let mapped = self.map.objects().read(object, |object| object.mapped).unwrap_or(0);
                if mapped != page.mapped() {
                    let found = page.mapped();
                    report.find(format!("object {object}: {found} blocks are mapped, its entry says {mapped}"));
                }
            }
            _ => {}
        }
        if let (Visit::Page(_), Some(sum)) = (visit, page.contradiction()) {
            let header_mapped = page.mapped();
            report.find(format!("map page {address}: its entries map {sum} blocks, its header says {header_mapped}"));
        }
    }

    /// Reads data blocks and reports damaged ones. Neighbours are read together.
    fn check_data(&mut self, mut blocks: Unread, report: &mut CheckReport) {
        blocks.sort_unstable_by_key(|(_, address, _)| *address);
        let mut rest = blocks.as_slice();
        let mut runs: Vec<&[(ObjectId, BlockAddress, Crc32c)]> = Vec::new();
        while let Some((_, start, _)) = rest.first() {
            let follows = (0..).zip(rest).take_while(|(offset, (_, address, _))| *address == *start + *offset);
            let (run, after) = rest.split_at(follows.count().clamp(1, RUN_BLOCKS));
            runs.push(run);
            rest = after;
        }
        let requests: Vec<_> = runs.iter().filter_map(|run| Some((run.first()?.1, run.len()))).collect();
        for (chunk, requests) in runs.chunks(64).zip(requests.chunks(64)) {
            for (run, whole) in chunk.iter().zip(read_many(self.medium.media_mut(), requests)) {
                // If a run cannot be read, each of its blocks is read alone.
                let single = match &whole {
                    Ok(_) => Vec::new(),
                    Err(_) => {
                        read_many(self.medium.media_mut(), &run.iter().map(|block| (block.1, 1)).collect::<Vec<_>>())
                    }
                };
                for (i, (object, address, crc)) in run.iter().enumerate() {
                    let good = match &whole {
                        Ok(buffer) => buffer.as_blocks().get(i).is_some_and(|block| Crc32c::of(&block.0) == *crc),
                        Err(_) => matches!(single.get(i), Some(Ok(block)) if Crc32c::of(block) == *crc),
                    };
                    if !good {
                        report.find(format!(
                            "object {object}: data block {address} fails its checksum or cannot be read"
                        ));
                    }
                }
            }
        }
    }

    /// Compares the stored counts of a window with the references found. Returns the number of
    /// blocks in use by the stored counts.
    fn compare_counts(&mut self, tally: &Tally, report: &mut CheckReport) -> u64 {
        let layout = self.map.space().layout();
        let mut allocated = 0u64;
        let known = |core: &Self, segment: u32| {
            core.map.space().is_resident(segment) || core.map.space().source(segment).is_some()
        };
        let mut segments = tally.window();
        while !segments.is_empty() {
            let mut batch = Vec::with_capacity(SEGMENTS_AT_ONCE);
            for segment in segments.by_ref() {
                let counted = known(self, segment) || tally.counts(segment).is_some();
                if counted && !layout.is_metadata(segment) {
                    batch.push(segment);
                    if batch.len() == SEGMENTS_AT_ONCE {
                        break;
                    }
                }
            }
            let unread: Vec<_> = batch
                .iter()
                .filter(|segment| !self.map.space().is_resident(**segment))
                .filter_map(|segment| Some((*segment, self.map.space().source(*segment)?.0)))
                .collect();
            let requests: Vec<_> = unread.iter().map(|(_, block)| (*block, 1)).collect();
            let mut damaged = Vec::new();
            for ((segment, _), block) in unread.iter().zip(read_many(self.medium.media_mut(), &requests)) {
                if let Err(reason) = block.and_then(|block| self.map.counts_arrived(*segment, &block)) {
                    report.find(reason);
                    damaged.push(*segment);
                }
            }
            let none = [0u16; SEGMENT_BLOCKS as usize];
            for segment in batch {
                if damaged.contains(&segment) {
                    continue;
                }
                let counts = self.map.space().counts(segment);
                let have = counts.as_deref().unwrap_or(&none);
                let want = tally.counts(segment).unwrap_or(&none);
                if self.map.space().is_given_up(segment, have) {
                    report.find(layout.given_up(segment));
                }
                for (offset, (have, want)) in (0..).zip(have.iter().zip(want)) {
                    let address = layout.segment_start(segment) + offset;
                    allocated += u64::from(*have > 0);
                    if have != want && *have != STICKY {
                        report.find(format!("block {address}: reference count {have}, found {want} references"));
                    }
                    if *have > 0 && self.map.space().is_allocatable(address) {
                        report.find(format!("block {address}: in use, but offered for allocation"));
                    }
                }
            }
            self.map.evict_counts(4096);
        }
        allocated
    }
}
