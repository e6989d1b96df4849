//! Checking a pool in use: map, reference counts and counters as they were at a checkpoint, while everything goes on.
//!
//! A checkpoint leaves a consistent picture: the roots, the counts, and pages that are never changed in place. A pass of the check takes the roots and
//! the counts of a window of segments at the freeze, holds back blocks that are freed from then on (so that no page of the picture is overwritten),
//! waits until the checkpoint is durable, and then reads every page of the picture from the medium and counts the references into the
//! window. A pool whose counts do not fit in the memory set aside takes several passes, each with a picture of its own. When space gets
//! scarce the held blocks are let go and the pass begins anew.

use crate::catalog::object::Dropped;
use crate::checksum::crc32c;
use crate::core::Core;
use crate::core::completion::{Io, read_result};
use crate::core::offline::check::{CheckReport, given_up};
use crate::geometry::Pointer;
use crate::interface::operation::{Failure, OperationId, Output};
use crate::interface::{CheckStep, PoolError};
use crate::map::page::Page;
use crate::schedule::step::Step;
use crate::space::STICKY;
use crate::space::layout::SEGMENT_BLOCKS;
use crate::space::slot::SlotEntry;
use media::{BLOCK_BYTES, BlockAddress, Buffer, Done, Media, MediaError};
use rustc_hash::FxHashMap;

const N: usize = SEGMENT_BLOCKS as usize;
type Counts = Box<[u16; N]>;

/// Pages read in one step.
const STEP_PAGES: u64 = 256;
/// Reads with the medium at once.
const READS: usize = 64;
/// How often a pass is begun anew before the check gives up.
const ATTEMPTS: u32 = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The next freeze takes the picture.
    WantPicture,
    /// The checkpoint of this epoch has to become durable.
    WantFlip(u64),
    /// Counts that were not in memory are read.
    Counts,
    /// Pages are read.
    Walk,
}

/// A check under way.
pub(crate) struct OnlineCheck {
    /// Tells reads of this check from those of one that was abandoned.
    generation: u64,
    phase: Phase,
    report: CheckReport,
    /// First segment of the window, and its length.
    from: u32,
    length: u32,
    /// Counts of the window in the picture; `None`: all zero.
    have: Vec<Option<Counts>>,
    /// Segments of the window whose counts are still to be read.
    unread: Vec<(u32, SlotEntry)>,
    /// References found.
    want: FxHashMap<u32, Counts>,
    /// Blocks in use, as the counter said, when the window is the whole pool.
    allocated: Option<u64>,
    /// Pages still to read: pointer, object, mapped blocks as the parent says.
    stack: Vec<(Pointer, u64, Option<u64>)>,
    /// Pages met in this pass, a bit for each block of a segment.
    met: FxHashMap<u32, Box<[u64; N / 64]>>,
    outstanding: usize,
    step: Option<OperationId>,
    attempts: u32,
    /// The picture is no longer complete.
    spoiled: bool,
    done: u64,
    in_this_step: u64,
}

/// A read of the check.
pub(crate) enum CheckRead {
    Page { pointer: Pointer, object: u64, mapped: Option<u64> },
    Counts { segment: u32, entry: SlotEntry },
}

impl OnlineCheck {
    fn new(generation: u64, length: u32) -> Self {
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

    /// Gives the picture up: its blocks may be used again. The pass begins anew.
    pub(crate) fn spoil(&mut self) {
        self.spoiled = self.phase != Phase::WantPicture;
    }

    fn begin_pass(&mut self) {
        self.phase = Phase::WantPicture;
        self.have.clear();
        self.unread.clear();
        self.want.clear();
        self.stack.clear();
        self.met.clear();
        self.spoiled = false;
    }

    /// Counts a reference, if it lies in the window.
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
}

impl<M: Media> Core<M> {
    /// One step of a check of the pool in use; begins one when none is under way.
    pub(crate) fn check_step(&mut self, id: OperationId) -> Step {
        if self.online_check.is_none() {
            let length = (self.options.memory_bytes / 4 / (2 * BLOCK_BYTES)).clamp(256, 1 << 16) as u32;
            let length = length.min(self.space.layout().segments().max(1));
            self.online_check = Some(Box::new(OnlineCheck::new(self.next_generation(), length)));
        }
        let Some(mut check) = self.online_check.take() else { return Step::Again };
        if check.step.is_some_and(|other| other != id && self.operations.contains_key(&other)) {
            self.online_check = Some(check);
            return Step::Fail(PoolError::Busy("a check of the pool is under way".into()).into());
        }
        if check.step != Some(id) {
            check.step = Some(id);
            check.in_this_step = 0;
        }
        let step = self.advance_check(&mut check);
        if matches!(step, Step::Done(_)) {
            check.step = None;
        }
        if !matches!(&step, Step::Done(Output::Check(step)) if step.report.is_some()) && !matches!(step, Step::Fail(_))
        {
            self.online_check = Some(check);
        }
        step
    }

    fn advance_check(&mut self, check: &mut OnlineCheck) -> Step {
        loop {
            if check.outstanding > 0 {
                if check.phase == Phase::Walk && check.outstanding < READS && !check.spoiled {
                    self.read_pages(check);
                }
                return Step::Io;
            }
            if check.spoiled {
                check.begin_pass();
                check.attempts += 1;
                if check.attempts > ATTEMPTS {
                    return Step::Fail(Failure::Pool(PoolError::Busy(
                        "the pool is too full to hold freed blocks back for a check: free some space, or check it offline".into(),
                    )));
                }
            }
            match check.phase {
                Phase::WantPicture | Phase::WantFlip(_) if self.starved() => {
                    return Step::Fail(Failure::Pool(PoolError::Busy(
                        "the file system under the pool is full: a check needs a checkpoint, which cannot be written"
                            .into(),
                    )));
                }
                Phase::WantPicture => {
                    self.checkpoint_wanted = true;
                    return Step::Later;
                }
                Phase::WantFlip(epoch) if self.committed_epoch < epoch => return Step::Later,
                Phase::WantFlip(_) => check.phase = Phase::Counts,
                Phase::Counts => {
                    while check.outstanding < READS
                        && let Some((segment, entry)) = check.unread.pop()
                    {
                        let Some(slot) = entry.slot() else { continue };
                        let block = self.space.layout().counts_block(segment, slot);
                        let ticket = self.ticket(Io::Check {
                            generation: check.generation,
                            read: CheckRead::Counts { segment, entry },
                        });
                        self.media.read(ticket, BlockAddress(block), Buffer::zeroed(1));
                        check.outstanding += 1;
                    }
                    if check.outstanding == 0 {
                        check.phase = Phase::Walk;
                    }
                }
                Phase::Walk if !check.stack.is_empty() && check.in_this_step < STEP_PAGES => self.read_pages(check),
                Phase::Walk if !check.stack.is_empty() => return self.check_progress(check, None),
                Phase::Walk => {
                    self.compare_window(check);
                    check.from += check.length;
                    let report =
                        (check.from >= self.space.layout().segments()).then(|| std::mem::take(&mut check.report));
                    check.begin_pass();
                    return self.check_progress(check, report);
                }
            }
        }
    }

    fn check_progress(&self, check: &OnlineCheck, report: Option<CheckReport>) -> Step {
        let passes = u64::from(self.space.layout().segments().div_ceil(check.length).max(1));
        let total = (self.metadata_blocks * passes).max(check.done).max(1);
        let done = if report.is_some() { total } else { check.done.min(total - 1) };
        Step::Done(Output::Check(Box::new(CheckStep { done, total, report })))
    }

    fn read_pages(&mut self, check: &mut OnlineCheck) {
        let layout = self.space.layout();
        while check.outstanding < READS && check.in_this_step < STEP_PAGES {
            let Some((pointer, object, mapped)) = check.stack.pop() else { return };
            let address = pointer.0;
            let Some((segment, index)) = layout.locate(address) else {
                check.report.find(format!("object {object}: map page address {address} lies outside the data area"));
                continue;
            };
            check.refer(segment, index);
            if !check.meet(segment, index) {
                continue;
            }
            check.outstanding += 1;
            check.in_this_step += 1;
            check.done += 1;
            let read = CheckRead::Page { pointer, object, mapped };
            let ticket = self.ticket(Io::Check { generation: check.generation, read });
            self.media.read(ticket, BlockAddress(address), Buffer::zeroed(1));
        }
    }

    pub(crate) fn check_arrived(&mut self, generation: u64, read: CheckRead, result: Result<Done, MediaError>) {
        let Some(mut check) = self.online_check.take_if(|check| check.generation == generation) else { return };
        check.outstanding = check.outstanding.saturating_sub(1);
        if !check.spoiled {
            match read {
                CheckRead::Page { pointer, object, mapped } => {
                    self.check_page(&mut check, pointer, object, mapped, result)
                }
                CheckRead::Counts { segment, entry } => self.check_counts(&mut check, segment, entry, result),
            }
        }
        if check.outstanding == 0
            && let Some(id) = check.step
        {
            self.make_ready(id);
        }
        self.online_check = Some(check);
    }

    fn check_page(
        &mut self,
        check: &mut OnlineCheck,
        (address, level, crc): Pointer,
        object: u64,
        parent_says: Option<u64>,
        result: Result<Done, MediaError>,
    ) {
        let layout = self.space.layout();
        let page = match read_result(result).and_then(|buffer| Page::parse(&buffer, address, level, crc)) {
            Ok(page) => page,
            Err(reason) => return check.report.find(format!("object {object}: {reason}")),
        };
        check.report.pages += 1;
        let mapped = page.mapped();
        if let Some(says) = parent_says.filter(|says| *says != mapped) {
            check.report.find(format!("map page {address}: {mapped} blocks mapped, its parent says {says}"));
        }
        let entries = page.entries.iter().filter(|e| !e.is_empty());
        let sum: u64 = entries.clone().map(|e| if level == 0 { 1 } else { e.mapped() }).sum();
        if sum != mapped {
            check.report.find(format!("map page {address}: its entries map {sum} blocks, its header says {mapped}"));
        }
        for entry in entries {
            if level > 0 {
                check.stack.push(((entry.address(), level - 1, entry.crc()), object, Some(entry.mapped())));
                continue;
            }
            match layout.locate(entry.address()) {
                Some((segment, index)) => check.refer(segment, index),
                None => {
                    let address = entry.address();
                    check.report.find(format!("object {object}: block address {address} lies outside the data area"));
                }
            }
        }
    }

    fn check_counts(
        &mut self,
        check: &mut OnlineCheck,
        segment: u32,
        entry: SlotEntry,
        result: Result<Done, MediaError>,
    ) {
        let read = read_result(result);
        match read {
            Ok(buffer) if crc32c(&buffer) == entry.crc() => {
                let mut counts: Counts = Box::new([0; N]);
                for (count, raw) in counts.iter_mut().zip(buffer.as_chunks::<2>().0) {
                    *count = u16::from_le_bytes(*raw);
                }
                if let Some(place) = check.have.get_mut((segment - check.from) as usize) {
                    *place = Some(counts);
                }
            }
            // A later checkpoint may have written to this place.
            _ if self.space.entry(segment) != entry => check.spoiled = true,
            Ok(_) => check.report.find(format!("reference counts of segment {segment} fail their checksum")),
            Err(reason) => check.report.find(format!("reference counts of segment {segment}: {reason}")),
        }
    }

    /// Called by a freeze, when the picture is complete in memory: takes it, if a check waits for one.
    pub(crate) fn take_picture(&mut self, epoch: u64) {
        if self.replaying.is_some() {
            return;
        }
        let Some(mut check) = self.online_check.take_if(|check| check.phase == Phase::WantPicture) else { return };
        let layout = self.space.layout();
        let to = (check.from + check.length).min(layout.segments());
        for segment in check.from..to {
            let counts = if layout.is_metadata(segment) { None } else { self.space.counts(segment) };
            let entry = self.space.entry(segment);
            if counts.is_none() && entry.slot().is_some() {
                check.unread.push((segment, entry));
            }
            check.have.push(counts);
        }
        let whole = check.from == 0 && to == layout.segments();
        check.allocated = whole.then_some(self.space.allocated());
        let objects = self.objects.all();
        check.report.objects = objects.iter().filter(|o| crate::catalog::is_user_object(o.id)).count() as u64;
        for object in objects {
            let says = crate::catalog::is_user_object(object.id).then_some(object.mapped);
            match object.root {
                0 if says.unwrap_or(0) != 0 => check.report.find(format!(
                    "object {}: {} blocks are said to be mapped, but its map is empty",
                    object.id, object.mapped
                )),
                0 => {}
                root => check.stack.push(((root, object.level, object.root_crc), object.id, says)),
            }
        }
        for &Dropped { address, level, crc, .. } in self.drops.iter().chain(&self.parked) {
            check.stack.push(((address, level, crc), 0, None));
        }
        check.phase = Phase::WantFlip(epoch);
        self.online_check = Some(check);
    }

    fn compare_window(&mut self, check: &mut OnlineCheck) {
        let layout = self.space.layout();
        let zero = [0u16; N];
        let mut allocated = 0u64;
        for (i, have) in check.have.iter().enumerate() {
            let segment = check.from + i as u32;
            if layout.is_metadata(segment) {
                continue;
            }
            let have = have.as_deref().unwrap_or(&zero);
            let want = check.want.get(&segment).map_or(&zero, |counts| &**counts);
            allocated += have.iter().filter(|count| **count > 0).count() as u64;
            if have == want {
                continue;
            }
            if self.space.is_given_up(segment, have) {
                check.report.find(given_up(layout, segment));
            }
            for (at, (have, want)) in have.iter().zip(want).enumerate() {
                if have != want && *have != STICKY {
                    let address = layout.segment_start(segment) + at as u64;
                    check.report.find(format!("block {address}: reference count {have}, found {want} references"));
                }
            }
        }
        check.report.blocks += allocated;
        if let Some(says) = check.allocated.filter(|says| *says != allocated) {
            check.report.find(format!("{allocated} blocks are in use, the pool's counter says {says}"));
        }
    }

    /// Ends a check of the pool in use before its result.
    pub fn abandon_check(&mut self) {
        let Some(check) = self.online_check.take() else { return };
        if let Some((id, pending)) = check.step.and_then(|id| Some((id, self.operations.get_mut(&id)?))) {
            pending.failed = Some(PoolError::Busy("the check was abandoned".into()).into());
            self.make_ready(id);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::{CatalogChange, ObjectId, Operation, Options};
    use media::{FormatOptions, LocalMedia, SimDisk, SimOptions};

    fn run(core: &mut Core<LocalMedia<SimDisk>>, operation: Operation) -> Output {
        let id = core.submit(operation);
        for _ in 0..10_000 {
            core.pump(1);
            if let Some((found, result)) = core.poll_finished() {
                assert_eq!(found, id);
                return result.unwrap();
            }
        }
        panic!("an operation never finishes");
    }

    #[test]
    fn wrong_counts_are_found() {
        let disk = SimDisk::new(SimOptions::immediate(1, 2048 * 6));
        let format =
            FormatOptions { uuid: [1; 16], log_bytes: 1 << 20, root: crate::initial_root([1; 16]), overwrite: false };
        let media = LocalMedia::format(disk, format).unwrap();
        let (mut core, _) = Core::open(media, Options::default(), &mut |_| {}).unwrap();
        let create = CatalogChange::CreateVolume { id: ObjectId(16), size_bytes: 4 << 20 };
        run(&mut core, Operation::Catalog(vec![create]));
        run(&mut core, Operation::Write { object: 16, offset: 0, data: vec![1; 65_536].into(), forced: false });
        let check = |core: &mut Core<_>| loop {
            let Output::Check(step) = run(core, Operation::CheckStep) else { panic!() };
            if let Some(report) = step.report {
                return report;
            }
        };
        assert_eq!(check(&mut core).findings, Vec::<String>::new());
        let entry = core.lookup(16, 3).unwrap();
        core.space.increment(entry.address()).unwrap();
        core.objects.adjust(16, |object| object.mapped += 1).unwrap();
        let report = check(&mut core);
        assert_eq!(report.count, 2, "{:?}", report.findings);
        assert!(report.findings[0].contains("its parent says 17"), "{:?}", report.findings);
        assert!(report.findings[1].contains("reference count 2, found 1"), "{:?}", report.findings);
        // Abandoned in the middle, the next one begins anew.
        let id = core.submit(Operation::CheckStep);
        core.pump(1);
        core.abandon_check();
        core.pump(1);
        let (found, result) = core.poll_finished().unwrap();
        assert!(found == id && result.is_err_and(|e| matches!(e, Failure::Pool(PoolError::Busy(_)))));
        assert!(!check(&mut core).is_clean());
    }
}
