//! Check of a pool in use: verifies map, reference counts and counters in their state at a
//! checkpoint, while operations continue.
//!
//! A checkpoint leaves a consistent picture: the roots, the counts, and pages that are never
//! changed in place. A pass of the check takes the roots and the counts of a window of segments at
//! the freeze, holds back blocks that are freed from then on (so that no page of the picture is
//! overwritten), waits until the checkpoint is durable, and then reads every page of the picture
//! from the medium and counts the references into the window. A pool whose counts exceed the memory
//! set aside takes several passes, each with its own picture. When space gets scarce, the held
//! blocks are released and the pass starts again.

use crate::catalog::DOCUMENTS;
use crate::catalog::documents::Stored;
use crate::catalog::object::Dropped;
use crate::checksum::Crc32c;
use crate::geometry::{Pointer, blocks_for, entry_span};
use crate::interface::range::BlockNumber;

use crate::core::io::{CheckRead, Io, MapPage};
use crate::core::scan::index_check::IndexCheck;
use crate::interface::check::CheckReport;
use crate::interface::operation::{Failure, OperationId, Output};
use crate::interface::{CheckStep, ObjectId, PoolError};
use crate::map::Map;
use crate::map::counts::RoundedCounts;
use crate::map::page::{Page, StatedMapped};
use crate::medium::Medium;
use crate::schedule::step::Step;
use crate::space::layout::{Layout, SEGMENT_BLOCKS};
use crate::space::slot::SlotEntry;
use crate::space::{STICKY, SpaceMap};
use media::{BlockAddress, Buffer, Media};
use rustc_hash::FxHashMap;

const N: usize = SEGMENT_BLOCKS as usize;
type Counts = Box<[u16; N]>;

/// Number of pages read in one step.
const STEP_PAGES: u64 = 256;
/// Largest number of concurrent reads.
const READS: usize = 64;
/// Number of attempts of a pass before the check gives up.
const ATTEMPTS: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next freeze takes the picture.
    WantPicture,
    /// The checkpoint of this epoch must become durable.
    WantFlip(u64),
    /// Counts that were not in memory are being read.
    Counts,
    /// Pages are being read.
    Walk,
    /// Pages of the index of the documents are being read.
    Index,
}

/// Check in progress.
pub(crate) struct OnlineCheck {
    /// Distinguishes reads of this check from those of an abandoned one.
    generation: u64,
    phase: Phase,
    report: CheckReport,
    /// First segment of the window; `length` is the number of segments.
    from: u32,
    length: u32,
    /// Counts of the window in the picture; `None`: all zero.
    have: Vec<Option<Counts>>,
    /// Segments of the window whose counts are still to be read.
    unread: Vec<(u32, SlotEntry)>,
    /// References found.
    want: FxHashMap<u32, Counts>,
    /// Number of blocks in use according to the counter, if the window is the whole pool.
    allocated: Option<u64>,
    /// Pages still to read.
    stack: Vec<MapPage>,
    /// Check of the index of the documents; only in the first pass.
    index: Option<IndexCheck>,
    /// Counts that no entry has exactly, in this pass.
    rounded: RoundedCounts,
    /// Pages met in this pass, a bit for each block of a segment.
    met: FxHashMap<u32, Box<[u64; N / 64]>>,
    outstanding: usize,
    step: Option<OperationId>,
    attempts: u32,
    /// True if the picture is no longer complete.
    spoiled: bool,
    done: u64,
    in_this_step: u64,
}

impl OnlineCheck {
    /// Creates a check with windows of `length` segments.
    pub fn new(generation: u64, length: u32) -> Self {
        Self {
            generation,
            phase: Phase::WantPicture,
            report: CheckReport::default(),
            from: 0,
            length,
            have: Vec::new(),
            unread: Vec::new(),
            want: FxHashMap::default(),
            allocated: None,
            stack: Vec::new(),
            index: None,
            rounded: RoundedCounts::default(),
            met: FxHashMap::default(),
            outstanding: 0,
            step: None,
            attempts: 0,
            spoiled: false,
            done: 0,
            in_this_step: 0,
        }
    }

    /// True while freed blocks are held back for the picture.
    pub(crate) fn holds(&self) -> bool {
        self.phase != Phase::WantPicture && !self.spoiled
    }

    /// Gives up the picture: its blocks may be reused. The pass starts again.
    pub(crate) fn spoil(&mut self) {
        self.spoiled = self.phase != Phase::WantPicture;
    }

    fn begin_pass(&mut self) {
        self.phase = Phase::WantPicture;
        self.have.clear();
        self.unread.clear();
        self.want.clear();
        self.stack.clear();
        self.index = None;
        self.rounded = RoundedCounts::default();
        self.met.clear();
        self.spoiled = false;
    }

    /// Counts a reference within the window.
    fn refer(&mut self, segment: u32, index: usize) {
        if (self.from..self.from + self.length).contains(&segment) {
            let counts = self.want.entry(segment).or_insert_with(|| Box::new([0; N]));
            counts[index] = counts[index].saturating_add(1);
        }
    }

    /// Notes that a page was met; true the first time.
    fn meet(&mut self, segment: u32, index: usize) -> bool {
        let bits = self.met.entry(segment).or_insert_with(|| Box::new([0; N / 64]));
        let bit = 1 << (index % 64);
        let first = bits[index / 64] & bit == 0;
        bits[index / 64] |= bit;
        first
    }

    /// True if the next freeze has to take a picture.
    pub fn wants_picture(&self) -> bool {
        self.phase == Phase::WantPicture
    }

    /// Operation that drives the check.
    pub fn driver(&self) -> Option<OperationId> {
        self.step
    }

    /// Starts or continues a step for `id`.
    pub fn drive(&mut self, id: OperationId) {
        if self.step != Some(id) {
            self.step = Some(id);
            self.in_this_step = 0;
        }
    }

    /// Ends the step.
    pub fn end_step(&mut self) {
        self.step = None;
    }

    /// True if a read with this generation belongs to this check.
    pub fn is(&self, generation: u64) -> bool {
        self.generation == generation
    }

    /// Handles a completed read. After the last one, returns the operation to continue.
    pub fn arrived(&mut self, space: &SpaceMap, read: CheckRead, block: Result<Buffer, String>) -> Option<OperationId> {
        self.outstanding = self.outstanding.saturating_sub(1);
        if !self.spoiled {
            match read {
                CheckRead::Page(wanted) => self.page_arrived(space.layout(), wanted, block),
                CheckRead::Index(read) => {
                    if let Some(index) = &mut self.index {
                        index.arrived(&read, block);
                    }
                }
                CheckRead::Counts { segment, entry } => self.counts_arrived(space, segment, entry, block),
            }
        }
        self.step.filter(|_| self.outstanding == 0)
    }

    /// Advances as far as the limit of concurrent reads allows. `stalled`: no checkpoint completes
    /// now.
    pub fn advance<M: Media>(&mut self, map: &Map, medium: &mut Medium<M, Io>, stalled: bool) -> Step {
        loop {
            if self.outstanding > 0 {
                match self.phase {
                    Phase::Walk if !self.spoiled => self.read_pages(map, medium),
                    Phase::Index if !self.spoiled => self.read_index(medium),
                    _ => {}
                }
                return Step::Io;
            }
            if self.spoiled {
                self.begin_pass();
                self.attempts += 1;
                if self.attempts > ATTEMPTS {
                    return Step::Fail(Failure::Pool(PoolError::Busy(
                        "the pool is too full to hold freed blocks back for a check: free some space, or check it offline".into(),
                    )));
                }
            }
            match self.phase {
                Phase::WantPicture | Phase::WantFlip(_) if stalled => {
                    return Step::Fail(Failure::Pool(PoolError::Busy(
                        "the file system under the pool is full: a check needs a checkpoint, which cannot be written"
                            .into(),
                    )));
                }
                Phase::WantPicture => {
                    return Step::Later;
                }
                Phase::WantFlip(epoch) if map.pages().committed_epoch() < epoch => return Step::Later,
                Phase::WantFlip(_) => self.phase = Phase::Counts,
                Phase::Counts => {
                    while self.outstanding < READS
                        && let Some((segment, entry)) = self.unread.pop()
                    {
                        let Some(slot) = entry.slot() else { continue };
                        let block = map.space().layout().counts_block(segment, slot);
                        let read = CheckRead::Counts { segment, entry };
                        medium.read(Io::Check { generation: self.generation, read }, block, 1);
                        self.outstanding += 1;
                    }
                    if self.outstanding == 0 {
                        self.phase = Phase::Walk;
                    }
                }
                Phase::Walk if !self.stack.is_empty() && self.in_this_step < STEP_PAGES => self.read_pages(map, medium),
                Phase::Walk if !self.stack.is_empty() => return self.progress(map, None),
                Phase::Walk => self.phase = Phase::Index,
                Phase::Index if self.index_has_more() && self.in_this_step < STEP_PAGES => self.read_index(medium),
                Phase::Index if self.index_has_more() => return self.progress(map, None),
                Phase::Index => {
                    for finding in self.index.take().map(IndexCheck::findings).unwrap_or_default() {
                        self.report.find(format!("the documents: {finding}"));
                    }
                    for finding in self.rounded.findings() {
                        self.report.find(finding);
                    }
                    self.compare_window(map.space());
                    self.from += self.length;
                    let report =
                        (self.from >= map.space().layout().segments()).then(|| std::mem::take(&mut self.report));
                    self.begin_pass();
                    return self.progress(map, report);
                }
            }
        }
    }

    fn progress(&self, map: &Map, report: Option<CheckReport>) -> Step {
        let passes = u64::from(map.space().layout().segments().div_ceil(self.length).max(1));
        let total = (map.metadata_blocks() * passes).max(self.done).max(1);
        let done = if report.is_some() { total } else { self.done.min(total - 1) };
        Step::Done(Output::Check(Box::new(CheckStep { done, total, report })))
    }

    fn index_has_more(&self) -> bool {
        self.index.as_ref().is_some_and(IndexCheck::has_more)
    }

    fn read_index<M: Media>(&mut self, medium: &mut Medium<M, Io>) {
        while self.outstanding < READS
            && self.in_this_step < STEP_PAGES
            && let Some((read, address)) = self.index.as_mut().and_then(IndexCheck::next)
        {
            self.outstanding += 1;
            self.in_this_step += 1;
            self.done += 1;
            medium.read(Io::Check { generation: self.generation, read: CheckRead::Index(read) }, address, 1);
        }
    }

    fn read_pages<M: Media>(&mut self, map: &Map, medium: &mut Medium<M, Io>) {
        let layout = map.space().layout();
        while self.outstanding < READS && self.in_this_step < STEP_PAGES {
            let Some(wanted) = self.stack.pop() else { return };
            let MapPage { pointer: Pointer { address, .. }, object, .. } = wanted;
            let Some((segment, index)) = layout.locate(address) else {
                self.report.find(format!("object {object}: map page address {address} lies outside the data area"));
                continue;
            };
            self.refer(segment, index);
            if !self.meet(segment, index) {
                continue;
            }
            self.outstanding += 1;
            self.in_this_step += 1;
            self.done += 1;
            let read = CheckRead::Page(wanted);
            medium.read(Io::Check { generation: self.generation, read }, address, 1);
        }
    }

    fn page_arrived(&mut self, layout: Layout, wanted: MapPage, block: Result<Buffer, String>) {
        let MapPage { pointer: Pointer { address, level, crc }, object, first, expected_mapped } = wanted;
        let page = match block.and_then(|buffer| Page::parse(&buffer, address, level, crc)) {
            Ok(page) => page,
            Err(reason) => return self.report.find(format!("object {object}: {reason}")),
        };
        self.report.pages += 1;
        let mapped = page.mapped();
        if let Some(stated) = expected_mapped.filter(|stated| !stated.is_of(mapped)) {
            let stated = stated.blocks;
            self.report.find(format!("map page {address}: {mapped} blocks mapped, its parent says {stated}"));
        }
        self.rounded.note(address, &page);
        let entries = (0..).zip(&page.entries).filter(|(_, e)| !e.is_empty());
        if let Some(sum) = page.contradiction() {
            self.report.find(format!("map page {address}: its entries map {sum} blocks, its header says {mapped}"));
        }
        for (index, entry) in entries {
            let first = first + index * entry_span(level);
            if level > 0 {
                let pointer = entry.child_pointer(level);
                self.stack.push(MapPage { pointer, object, first, expected_mapped: Some(entry.stated_mapped(level)) });
                continue;
            }
            if let (DOCUMENTS, Some(index)) = (object, &mut self.index) {
                index.note_place(first, entry.address(), entry.crc());
            }
            match layout.locate(entry.address()) {
                Some((segment, index)) => self.refer(segment, index),
                None => {
                    let address = entry.address();
                    self.report.find(format!("object {object}: block address {address} lies outside the data area"));
                }
            }
        }
    }

    fn counts_arrived(&mut self, space: &SpaceMap, segment: u32, entry: SlotEntry, block: Result<Buffer, String>) {
        match block {
            Ok(buffer) if Crc32c::of(&buffer) == entry.crc() => {
                let mut counts: Counts = Box::new([0; N]);
                for (count, raw) in counts.iter_mut().zip(buffer.as_chunks::<2>().0) {
                    *count = u16::from_le_bytes(*raw);
                }
                if let Some(place) = self.have.get_mut((segment - self.from) as usize) {
                    *place = Some(counts);
                }
            }
            // A later checkpoint may have overwritten this slot.
            _ if space.entry(segment) != entry => self.spoiled = true,
            Ok(_) => self.report.find(format!("reference counts of segment {segment} fail their checksum")),
            Err(reason) => self.report.find(format!("reference counts of segment {segment}: {reason}")),
        }
    }

    /// Called by a freeze when the picture is complete in memory: takes it, if the check waits for
    /// one.
    pub fn take_picture(&mut self, map: &Map, epoch: u64) {
        if self.phase != Phase::WantPicture {
            return;
        }
        let (space, layout) = (map.space(), map.space().layout());
        let to = (self.from + self.length).min(layout.segments());
        for segment in self.from..to {
            let counts = if layout.is_metadata(segment) { None } else { space.counts(segment) };
            let entry = space.entry(segment);
            if counts.is_none() && entry.slot().is_some() {
                self.unread.push((segment, entry));
            }
            self.have.push(counts);
        }
        let whole = self.from == 0 && to == layout.segments();
        self.allocated = whole.then_some(space.allocated());
        self.report.objects = 0;
        for object in map.objects().all() {
            let user = crate::catalog::is_user_object(object.id);
            let expected_mapped = user.then_some(StatedMapped::exact(object.mapped));
            self.report.objects += u64::from(user);
            match object.root {
                BlockAddress::NONE if user && object.mapped != 0 => self.report.find(format!(
                    "object {}: {} blocks are said to be mapped, but its map is empty",
                    object.id, object.mapped
                )),
                BlockAddress::NONE => {}
                _ => self.stack.push(MapPage {
                    pointer: object.pointer(),
                    object: object.id,
                    first: BlockNumber::FIRST,
                    expected_mapped,
                }),
            }
        }
        for &Dropped { pointer, .. } in map.drops().all() {
            self.stack.push(MapPage {
                pointer,
                object: ObjectId::NONE,
                first: BlockNumber::FIRST,
                expected_mapped: None,
            });
        }
        self.index = match map.documents().stored() {
            Stored::Index(root) if self.from == 0 => {
                Some(IndexCheck::new(root, blocks_for(map.objects().length(DOCUMENTS))))
            }
            _ => None,
        };
        self.phase = Phase::WantFlip(epoch);
    }

    /// Completes the pointers of the picture of `epoch`, whose pages are sealed now.
    pub fn complete_picture(&mut self, epoch: u64, completed: impl Fn(Pointer) -> Pointer) {
        if self.phase == Phase::WantFlip(epoch) {
            self.stack.iter_mut().for_each(|page| page.pointer = completed(page.pointer));
        }
    }

    fn compare_window(&mut self, space: &SpaceMap) {
        let layout = space.layout();
        let zero = [0u16; N];
        let mut allocated = 0u64;
        for (i, have) in self.have.iter().enumerate() {
            let segment = self.from + i as u32;
            if layout.is_metadata(segment) {
                continue;
            }
            let have = have.as_deref().unwrap_or(&zero);
            let want = self.want.get(&segment).map_or(&zero, |counts| &**counts);
            allocated += have.iter().filter(|count| **count > 0).count() as u64;
            if have == want {
                continue;
            }
            if space.is_given_up(segment, have) {
                self.report.find(layout.given_up(segment));
            }
            for (at, (have, want)) in have.iter().zip(want).enumerate() {
                if have != want && *have != STICKY {
                    let address = layout.segment_start(segment) + at as u64;
                    self.report.find(format!("block {address}: reference count {have}, found {want} references"));
                }
            }
        }
        self.report.blocks += allocated;
        if let Some(counter) = self.allocated.filter(|counter| *counter != allocated) {
            self.report.find(format!("{allocated} blocks are in use, the pool's counter says {counter}"));
        }
    }
}
