//! Generator of the steps of a run. Steps depend on the content so far, so that operations overlap;
//! a drawn step is fixed.

use crate::model::{BLOCK_SECTORS, Model};
use crate::step::{Catalog, Inside, Pattern, PlannedFault, Request, Step};
use crate::transaction::Change;
use crate::world::{Faults, Kind, MOST_SECTORS, SPACE_SECTORS, World};
use media::{FaultEffect, FaultOperation};
use random::Random;
use std::collections::VecDeque;

/// Generator of steps.
pub(crate) struct Generator {
    random: Random,
    next_tag: u32,
    next_id: u64,
    /// Present hour of locks.
    hour: u32,
    /// Last writes, for copies.
    written: VecDeque<Written>,
    /// Last copies.
    copied: VecDeque<Copied>,
    /// Copy that a step is about to share, and that hosts change meanwhile.
    shared: Option<Copied>,
}

/// Write that a copy repeats.
#[derive(Clone, Copy)]
struct Written {
    object: u64,
    start: u64,
    length: u64,
    tag: u32,
    pattern: Pattern,
}

/// Copy that a host has made.
#[derive(Clone, Copy)]
struct Copied {
    object: u64,
    from: u64,
    start: u64,
    length: u64,
}

/// Writes and copies that are remembered.
const WRITTEN: usize = 12;

/// Sectors that a map page at level 3 spans.
const PART_SECTORS: u64 = BLOCK_SECTORS << 32;
/// Places of an address space where content is: around bounds of pages of all levels, and in its last part.
const PLACES: [u64; 7] = [
    0,
    PART_SECTORS,
    PART_SECTORS << 13,
    6 * (PART_SECTORS << 13),
    6 * (PART_SECTORS << 13) + PART_SECTORS,
    6 * (PART_SECTORS << 13) + (PART_SECTORS << 8),
    SPACE_SECTORS - PART_SECTORS,
];

/// Blocks of the unit of ceilings.
const CEILING_BLOCKS: u64 = pool::CEILING_UNIT_BYTES / 4096;

/// First id of objects; lower ids belong to the pool itself.
pub(crate) const FIRST_OBJECT: u64 = 16;

/// Remembers a write or copy instead of the oldest one.
fn keep<T>(list: &mut VecDeque<T>, one: T) {
    list.push_back(one);
    if list.len() > WRITTEN {
        list.pop_front();
    }
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            next_tag: 1,
            next_id: FIRST_OBJECT,
            hour: 1,
            written: VecDeque::new(),
            copied: VecDeque::new(),
            shared: None,
        }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    fn tag(&mut self) -> u32 {
        self.next_tag += 1;
        self.next_tag
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Draws the next step of a run with this content.
    pub(crate) fn next(&mut self, world: &World, model: &Model, in_flight: usize) -> Step {
        if in_flight > 24 {
            return Step::Complete { count: 8, background: 1 };
        }
        let kind = world.draw(&self.random);
        self.step(kind, world, model)
    }

    /// Draws a step after the pool has stopped: only reopening helps.
    pub(crate) fn after_stop(&mut self) -> Step {
        if self.one_in(2) { Step::Heal } else { Step::Crash { inside: Vec::new() } }
    }

    fn step(&mut self, kind: Kind, world: &World, model: &Model) -> Step {
        match kind {
            Kind::Pump => Step::Pump { background: self.of(&[0, 0, 1, 4]) },
            Kind::Complete => {
                Step::Complete { count: self.of(&[1, 1, 1, 2, 4, 12]), background: self.of(&[0, 0, 1, 8]) }
            }
            Kind::Checkpoint => Step::Checkpoint,
            Kind::Drain => Step::Drain,
            Kind::Crash => {
                let mut inside = Vec::new();
                while inside.len() < 3 && self.one_in(6) {
                    let (writes, flushes) = (self.below(60), self.below(4));
                    inside.push(Inside { writes, flushes, checkpoint: !self.one_in(4) });
                }
                Step::Crash { inside }
            }
            Kind::Fault => Step::Fault(self.strike(world)),
            Kind::Rot => Step::Rot { nth: self.below(4096), bits: self.of(&[1, 2, 8]) },
            Kind::Heal => Step::Heal,
            _ => Step::Submit(self.request(kind, world, model)),
        }
    }

    /// Draws a fault, which may or may not damage the disk; the run records which faults it has
    /// seen.
    fn strike(&mut self, world: &World) -> PlannedFault {
        if world.faults == Faults::Lies {
            let (after, sticky) = (self.of(&[0, 0, 1, 3]), self.one_in(2));
            return PlannedFault {
                operation: FaultOperation::Flush,
                effect: FaultEffect::Lost,
                after,
                sticky,
                blocks: None,
            };
        }
        let operation = self.of(&[
            FaultOperation::Read,
            FaultOperation::Read,
            FaultOperation::Write,
            FaultOperation::Write,
            FaultOperation::Flush,
        ]);
        let distance = self.of(&[1, 8, 300, -1, -64]);
        let errors = [FaultEffect::Error, FaultEffect::ErrorAfterEffect, FaultEffect::NoSpace];
        let damage = world.faults == Faults::Damage;
        let effect = match operation {
            FaultOperation::Read => FaultEffect::Error,
            FaultOperation::Write if damage => {
                self.of(&[FaultEffect::Lost, FaultEffect::Misdirected { blocks: distance }])
            }
            FaultOperation::Write => self.of(&errors),
            _ if damage => FaultEffect::Lost,
            _ => self.of(&errors[..2]),
        };
        let silent = matches!(effect, FaultEffect::Lost | FaultEffect::Misdirected { .. });
        let data = (2048u64, world.disk_blocks);
        let blocks = match (operation, self.below(4)) {
            (FaultOperation::Flush, _) | (_, 0) => None,
            (_, 1) => Some((256, 256 + world.log_bytes / 4096)),
            (_, 2) => Some(data),
            _ => {
                let from = 4096 + self.below(world.disk_blocks - 4096);
                Some((from, from + self.of(&[1, 16, 128])))
            }
        };
        let sticky = self.one_in(3) && !(silent && operation == FaultOperation::Write);
        PlannedFault { operation, effect, after: self.of(&[0, 0, 1, 3, 10, 40]), sticky, blocks }
    }

    fn object(&mut self, model: &Model) -> Option<(u64, u64)> {
        let at = self.below(model.objects.len() as u64) as usize;
        model.objects.iter().nth(at).map(|(id, object)| (*id, object.sectors))
    }

    /// Draws an object to write to, mostly not a snapshot.
    fn writable(&mut self, model: &Model) -> Option<(u64, u64)> {
        let mut found = self.object(model)?;
        for _ in 0..3 {
            if self.one_in(20) || model.objects.get(&found.0).is_some_and(|object| !object.snapshot) {
                break;
            }
            found = self.object(model)?;
        }
        Some(found)
    }

    /// Draws a range of sectors within `sectors`, often aligned, often near the start so that
    /// operations overlap; in an address space, near one of several places.
    fn range(&mut self, world: &World, sectors: u64, longest: u64) -> (u64, u64) {
        if sectors == SPACE_SECTORS {
            let place = self.of(&PLACES);
            let (start, length) = self.range(world, PART_SECTORS, longest);
            return (place + start, length);
        }
        let window = match self.below(8) {
            0 => sectors,
            1 | 2 => sectors.min(world.window_sectors * 8),
            _ => sectors.min(world.window_sectors),
        };
        let align = self.of(&[1, 8, 8, 8, 2048]);
        let start = self.below(window) / align * align;
        let length = 1 + self.below(longest.min(sectors - start));
        let length = if align > 1 { length.next_multiple_of(BLOCK_SECTORS).min(sectors - start) } else { length };
        (start, length)
    }

    /// Draws a part of an object that one entry of a map page spans, or several: two starts in objects of
    /// these sizes, and the length; `None` if an object is too small. Clones of it share whole sub-trees.
    fn part(&mut self, sectors: u64, other_sectors: u64) -> Option<(u64, u64, u64)> {
        let level = self.of(&[2, 3, 4, 4, 5]);
        let span = BLOCK_SECTORS << (8 * level);
        let count = self.of(&[1, 1, 2, 3]);
        let mut start = |sectors: u64| {
            let place = if sectors == SPACE_SECTORS { self.of(&PLACES) } else { 0 };
            place / span * span + self.below(2) * span
        };
        let (from, to) = (start(sectors), start(other_sectors));
        let length = [(from, sectors), (to, other_sectors)].map(|(at, end)| end.saturating_sub(at) / span).into_iter();
        let count = length.fold(count, u64::min);
        (count > 0).then_some((from, to, count * span))
    }

    fn create(&mut self, world: &World) -> Catalog {
        if world.spaces && self.one_in(2) {
            return Catalog::Create { id: self.id(), sectors: SPACE_SECTORS };
        }
        let most = world.volume_sectors;
        let whole = self.of(&[64, most / 4 + 8, most, most]) / 8 * 8;
        Catalog::Create { id: self.id(), sectors: (whole + self.of(&[0, 0, 1, 7, 3])).min(MOST_SECTORS) }
    }

    fn catalog(&mut self, kind: Kind, world: &World, model: &Model) -> Catalog {
        let Some((object, sectors)) = self.object(model) else { return self.create(world) };
        let few = model.objects.len() <= world.objects;
        match kind {
            Kind::Create if few => self.create(world),
            Kind::CloneObject if few => Catalog::Clone { source: object, id: self.id(), snapshot: self.one_in(3) },
            Kind::Delete | Kind::Create | Kind::CloneObject if !few || self.one_in(3) => Catalog::Delete { id: object },
            Kind::Resize => {
                let (id, sectors) = self.writable(model).unwrap_or((object, sectors));
                let most = (world.volume_sectors * 2).min(MOST_SECTORS - 8);
                let new = 8 + self.below((sectors * 2).min(most));
                // A volume may shrink only to whole blocks; one attempt in ten is refused.
                let whole = new < sectors && !self.one_in(10);
                Catalog::Resize { id, sectors: if whole { new / BLOCK_SECTORS * BLOCK_SECTORS } else { new } }
            }
            Kind::Rollback => {
                // Mostly to an object that shares with it.
                let (id, _) = self.writable(model).unwrap_or((object, sectors));
                let related = model.objects.iter().find(|(_, other)| other.parent == id).map(|(other, _)| *other);
                let parent =
                    model.objects.get(&id).map(|object| object.parent).filter(|id| model.objects.contains_key(id));
                let source = if self.one_in(4) { Some(object) } else { related.or(parent) };
                Catalog::Rollback { id, source: source.unwrap_or(object) }
            }
            Kind::Reserve => {
                let (id, sectors) = self.writable(model).unwrap_or((object, sectors));
                let limited = model.objects.get(&id).is_some_and(|object| !object.snapshot && sectors == SPACE_SECTORS);
                if world.allots && limited && self.one_in(2) {
                    let units: Option<u64> = self.of(&[None, Some(1), Some(2), Some(3), Some(5)]);
                    let blocks = units.map(|units| units * CEILING_BLOCKS);
                    return Catalog::Ceiling { id, blocks };
                }
                let percent = self.of(&[None, Some(100), Some(100), Some(100), Some(30), Some(0)]);
                // In an address space, what is allotted stays promised.
                let kept = sectors == SPACE_SECTORS && percent.is_some();
                Catalog::Reserve { id, percent: if kept { Some(100) } else { percent } }
            }
            Kind::Document => {
                let key = self.below(world.documents) as u8;
                // Now and then a document goes, or many of them in a row.
                if self.one_in(if key % 4 == 3 { 2 } else { 5 }) {
                    return Catalog::Remove { key };
                }
                let most = self.of(&world.document_bytes);
                Catalog::Put { key, tag: self.tag(), bytes: self.below(most) as u32 }
            }
            _ if model.objects.get(&object).is_some_and(|of| of.snapshot && of.parent != 0) => self.lock(object),
            _ => Catalog::WriteCache { id: object, enabled: self.one_in(2) },
        }
    }

    /// Draws a lock, or the end of one; time passes.
    fn lock(&mut self, id: u64) -> Catalog {
        self.hour += self.of(&[0, 0, 1, 2]);
        match self.below(3) {
            // Now and then it would end a lock earlier.
            0 | 1 => Catalog::Lock { id, until: self.hour + self.below(4) as u32 },
            _ => Catalog::Unlock { id, now: self.hour },
        }
    }

    /// Adds the end of a lock in front of a deletion, mostly.
    fn unlocking(&mut self, change: Catalog, model: &Model) -> Vec<Catalog> {
        match change {
            Catalog::Delete { id } if model.objects.get(&id).is_some_and(|object| object.locked.is_some()) => {
                self.hour += self.of(&[0, 0, 1, 2]);
                let unlock = Catalog::Unlock { id, now: self.hour };
                if self.one_in(4) { vec![change] } else { vec![unlock, change] }
            }
            change => vec![change],
        }
    }

    /// Draws a capture of ranges of an object; creates the capture first when there is none.
    fn capture(&mut self, source: u64, sectors: u64, world: &World, model: &Model) -> Request {
        // A snapshot has a parent; a capture does not.
        let captures = model.objects.iter().filter(|(_, object)| object.snapshot && object.parent == 0);
        let captures: Vec<(u64, u64)> = captures.map(|(id, object)| (*id, object.sectors)).collect();
        if captures.is_empty() || (model.objects.len() <= world.objects && self.one_in(4)) {
            return Request::Catalog(vec![Catalog::CreateCapture { id: self.id(), sectors }]);
        }
        let (capture, captured_sectors) = self.of(&captures);
        let mut ranges = Vec::new();
        for _ in 0..1 + self.below(4) {
            let longest = self.of(&[8, 100, 3000, 600_000]);
            // One in twenty may reach beyond the end of one of the two.
            let within = if self.one_in(20) { sectors } else { sectors.min(captured_sectors) };
            let (start, length) = self.range(world, within, longest);
            let first = start / BLOCK_SECTORS;
            ranges.push((first, (start + length).div_ceil(BLOCK_SECTORS) - first));
        }
        Request::Capture { source, capture, ranges }
    }

    /// Draws a step of a difference of two snapshots; without one, a snapshot of this object.
    fn difference(&mut self, object: u64, model: &Model) -> Request {
        let snapshots = model.objects.iter().filter(|(_, object)| object.snapshot);
        let snapshots: Vec<u64> = snapshots.map(|(id, _)| *id).collect();
        if snapshots.is_empty() {
            return Request::Catalog(vec![Catalog::Clone { source: object, id: self.id(), snapshot: true }]);
        }
        // Mostly the two newest, which share much.
        if let [.., base, new] = snapshots[..]
            && self.one_in(2)
        {
            return Request::Difference { base: Some(base), new };
        }
        let base = match self.below(20) {
            0 | 1 => None,
            // It may be a volume.
            2 => Some(object),
            _ => Some(self.of(&snapshots)),
        };
        Request::Difference { base, new: self.of(&snapshots) }
    }

    /// Draws a transaction of one to six changes of up to three objects.
    fn transaction(&mut self, world: &World, model: &Model) -> Request {
        let objects: Vec<_> = (0..3).filter_map(|_| self.writable(model)).collect();
        let mut changes = Vec::new();
        let mut large = !self.one_in(4);
        for _ in 0..1 + self.below(6) {
            let (object, sectors) = self.of(&objects);
            if world.allots
                && sectors == SPACE_SECTORS
                && let Some(change) = self.allotment(world, object, model)
            {
                changes.push(change);
                continue;
            }
            let (start, length) = self.range(world, sectors, 24);
            changes.push(match self.below(8) {
                0 | 1 => Change::Look { object, sector: start },
                2 | 3 => {
                    let length = length.min(BLOCK_SECTORS - start % BLOCK_SECTORS);
                    Change::Edit { object, start, length, tag: self.tag() }
                }
                4 => {
                    let longest = self.of(&[7, 64, 500, 5000, 3_000_000]);
                    let (start, length) = self.range(world, sectors, longest);
                    Change::Zero { object, start, length }
                }
                5 => {
                    let (source, source_sectors) = self.of(&objects);
                    let longest = self.of(&[8, 100, 3000, 600_000]);
                    let (from, length) = self.range(world, source_sectors, longest);
                    let [from, to, left] = [from, start, sectors - start].map(|sectors| sectors / BLOCK_SECTORS);
                    let blocks = (length / BLOCK_SECTORS).min(left).min(source_sectors / BLOCK_SECTORS - from);
                    Change::Clone { source, from, destination: object, to, blocks }
                }
                kind => {
                    let pattern = self.of(&[Pattern::Data, Pattern::Data, Pattern::Mixed, Pattern::Zeros]);
                    let (mut start, mut length) = (start, length.max(2));
                    if kind == 6 && !large {
                        large = true;
                        (start, length) = self.range(world, sectors, world.large_sectors.min(400));
                        length = length.max(65);
                    }
                    Change::Write { object, start, length: length.min(sectors - start), tag: self.tag(), pattern }
                }
            });
        }
        Request::Transaction { changes, picky: self.one_in(4), durable: self.one_in(2) }
    }

    /// Draws a change of allotments of an address space, or a write into an allotted range, or nothing.
    fn allotment(&mut self, world: &World, object: u64, model: &Model) -> Option<Change> {
        let kind = self.below(8);
        if kind < 2 {
            let longest = self.of(&[8, 64, 600, 2400]);
            let (start, length) = self.range(world, SPACE_SECTORS, longest);
            let (first, blocks) = (start / BLOCK_SECTORS, length.div_ceil(BLOCK_SECTORS));
            let blocks = blocks.min(SPACE_SECTORS / BLOCK_SECTORS - first);
            return Some(Change::Allot { object, first, blocks });
        }
        let allotments = model.objects.get(&object)?.allotments();
        if allotments.is_empty() {
            return None;
        }
        let (first, count) = self.of(&allotments);
        let at = first + self.below(count);
        let blocks = 1 + self.below((first + count - at).min(7));
        match kind {
            2 if self.one_in(2) => Some(Change::Release { object, first: at, blocks }),
            3 | 4 => Some(Change::Write {
                object,
                start: at * BLOCK_SECTORS,
                length: blocks * BLOCK_SECTORS,
                tag: self.tag(),
                pattern: self.of(&[Pattern::Data, Pattern::Data, Pattern::Mixed]),
            }),
            5 if self.one_in(2) => {
                let to = self.of(&allotments).0;
                Some(Change::Clone { source: object, from: at, destination: object, to, blocks })
            }
            _ => None,
        }
    }

    fn request(&mut self, kind: Kind, world: &World, model: &Model) -> Request {
        let Some((object, sectors)) = self.object(model) else {
            return Request::Catalog(vec![self.create(world)]);
        };
        let Some((target, target_sectors)) = self.writable(model) else {
            return Request::Flush;
        };
        match kind {
            Kind::Read => {
                let longest = self.of(&[8, 64, 256, 600]);
                let (start, length) = self.range(world, sectors, longest);
                Request::Read { object, start, length }
            }
            Kind::Write | Kind::LargeWrite => {
                if let Some(Copied { object, from, start, length }) = self.shared.take()
                    && kind == Kind::Write
                {
                    let object = self.of(&[object, object, from]);
                    let start = start + self.below(length);
                    let (length, tag) = (1 + self.below(16), self.tag());
                    return Request::Write { object, start, length, tag, pattern: Pattern::Data, forced: false };
                }
                let small = kind == Kind::Write;
                let longest = if small { self.of(&world.small_sectors) } else { world.large_sectors };
                let (start, mut length) = self.range(world, target_sectors, longest);
                if !small {
                    length = length.max(65).min(target_sectors - start);
                }
                if model.objects.get(&target).is_some_and(|object| object.replica) && self.one_in(2) {
                    return Request::WriteAsGroup { object: target, start, length, tag: self.tag() };
                }
                let pattern = self.of(&[
                    Pattern::Data,
                    Pattern::Data,
                    Pattern::Data,
                    Pattern::Data,
                    Pattern::Mixed,
                    Pattern::Zeros,
                ]);
                let tag = self.tag();
                keep(&mut self.written, Written { object: target, start, length, tag, pattern });
                Request::Write { object: target, start, length, tag, pattern, forced: self.one_in(8) }
            }
            Kind::Copy => {
                let at = self.below(self.written.len().max(1) as u64) as usize;
                let Some(&Written { object: from, start, length, tag, pattern }) = self.written.get(at) else {
                    return Request::Flush;
                };
                if start >= target_sectors {
                    return Request::Flush;
                }
                let length = length.min(target_sectors - start);
                keep(&mut self.copied, Copied { object: target, from, start, length });
                let pattern = if pattern == Pattern::Data && self.one_in(4) { Pattern::Twin } else { pattern };
                Request::Write { object: target, start, length, tag, pattern, forced: self.one_in(8) }
            }
            Kind::Reshare => {
                let compare_only = self.one_in(8);
                let at = self.below(self.copied.len().max(1) as u64) as usize;
                match self.copied.get(at).copied() {
                    Some(copied) if !self.one_in(4) => {
                        self.shared = Some(copied);
                        let Copied { object, from: with, start, .. } = copied;
                        Request::Reshare { object, start: start / 2048 * 2048, with, shift: 0, compare_only }
                    }
                    _ => {
                        let (start, _) = self.range(world, target_sectors, 8);
                        let shift = if self.one_in(3) { 0 } else { self.of(&[1, -1, 8, -64, 256]) };
                        Request::Reshare { object: target, start, with: object, shift, compare_only }
                    }
                }
            }
            Kind::CompareAndWrite => {
                let longest = self.of(&[1, 8, 20]);
                let (start, length) = self.range(world, target_sectors, longest);
                let (matching, forced) = (!self.one_in(4), self.one_in(8));
                Request::CompareAndWrite { object: target, start, length, tag: self.tag(), matching, forced }
            }
            Kind::Zero => {
                let mut ranges = Vec::new();
                for _ in 0..1 + self.below(3) {
                    let longest = self.of(&[7, 64, 500, 5000, 3_000_000]);
                    let part = if world.spaces && self.one_in(4) {
                        self.part(target_sectors, target_sectors).map(|(start, _, length)| (start, length))
                    } else {
                        None
                    };
                    ranges.push(part.unwrap_or_else(|| self.range(world, target_sectors, longest)));
                }
                Request::Zero { object: target, ranges, forced: self.one_in(8) }
            }
            Kind::Clone if self.one_in(5) => self.capture(object, sectors, world, model),
            Kind::Clone => {
                if world.spaces
                    && self.one_in(3)
                    && let Some((from, to, length)) = self.part(sectors, target_sectors)
                {
                    return Request::Clone { source: object, from, destination: target, to, length };
                }
                let longest = self.of(&[8, 100, 3000, 600_000]);
                let (from, length) = self.range(world, sectors, longest);
                let (to, _) = self.range(world, target_sectors, 8);
                // Source and destination agree modulo a block; the device layer copies other
                // ranges.
                let to = to / BLOCK_SECTORS * BLOCK_SECTORS + from % BLOCK_SECTORS;
                if to >= target_sectors {
                    return Request::Flush;
                }
                let length = length.min(target_sectors - to);
                Request::Clone { source: object, from, destination: target, to, length }
            }
            Kind::Provisioning if self.one_in(2) => {
                let longest = self.of(&[64, 3000, 3_000_000, PART_SECTORS]);
                let (start, length) = match self.part(sectors, sectors) {
                    Some((start, _, length)) if self.one_in(3) => (start, length),
                    _ => self.range(world, sectors, longest),
                };
                let (first, end) = (start / BLOCK_SECTORS, (start + length).div_ceil(BLOCK_SECTORS));
                Request::Mapped { object, first, count: end - first }
            }
            Kind::Provisioning => {
                let (start, _) = self.range(world, sectors, 8);
                Request::Provisioning { object, start, limit: self.of(&[1, 2, 8, 64]) }
            }
            Kind::Transaction => self.transaction(world, model),
            Kind::Difference if self.one_in(20) => {
                let enabled = self.one_in(3);
                Request::Catalog(vec![Catalog::Replica { id: target, enabled }])
            }
            Kind::Difference => self.difference(object, model),
            Kind::Unique => Request::Unique { object },
            Kind::Grow => Request::Grow { blocks: world.disk_blocks + self.of(&[1, 60, 700, 2048, 5000]) },
            Kind::ZeroDetection => {
                Request::Catalog(vec![Catalog::ZeroDetection { id: target, enabled: self.one_in(2) }])
            }
            Kind::Scan => {
                let (start, _) = self.range(world, sectors, 8);
                match self.below(8) {
                    0 => Request::ReclaimZeros { object: target, start },
                    1 => Request::Verify { object, start },
                    2 => Request::PlacesOf { first: 4096 + self.below(world.disk_blocks - 4096) },
                    3 => Request::Recount { object: target },
                    _ => Request::CheckStep,
                }
            }
            Kind::Rollback
            | Kind::Reserve
            | Kind::Create
            | Kind::CloneObject
            | Kind::Delete
            | Kind::Resize
            | Kind::WriteCache
            | Kind::Document => {
                let change = self.catalog(kind, world, model);
                Request::Catalog(self.unlocking(change, model))
            }
            Kind::Batch => {
                // Several changes at once, with deletions in between, and occasionally one that
                // makes all of them fail.
                let mut changes = Vec::new();
                for _ in 0..2 + self.below(4) {
                    let kind = self.of(&[
                        Kind::Create,
                        Kind::CloneObject,
                        Kind::Delete,
                        Kind::Document,
                        Kind::WriteCache,
                        Kind::Resize,
                    ]);
                    let mut change = self.catalog(kind, world, model);
                    if let Catalog::Put { bytes, .. } = &mut change {
                        // All changes of a commit have to fit in one frame of the smallest log.
                        *bytes %= 9000;
                    }
                    if let Catalog::Clone { id, source, snapshot: false } = change
                        && let Some(source) = model.objects.get(&source)
                        && self.one_in(3)
                    {
                        // A clone that is larger than its source.
                        let sectors = (source.sectors + self.below(world.volume_sectors)).min(MOST_SECTORS);
                        changes.extend([change, Catalog::Resize { id, sectors }]);
                    } else if let Catalog::Clone { id, snapshot: true, .. } = change
                        && self.one_in(4)
                    {
                        changes.extend([change, Catalog::Lock { id, until: self.hour + self.below(4) as u32 }]);
                    } else if let Catalog::Clone { id, .. } = change
                        && self.one_in(3)
                    {
                        changes.extend([
                            change,
                            Catalog::Clone { source: id, id: self.id(), snapshot: self.one_in(2) },
                            Catalog::Delete { id },
                        ]);
                    } else {
                        changes.push(change);
                    }
                }
                Request::Catalog(changes)
            }
            _ => Request::Flush,
        }
    }
}
