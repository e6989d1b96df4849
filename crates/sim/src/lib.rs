//! The real pool engine on a simulated disk, under a seed, against a model.
//!
//! A run draws operations at all alignments, lets them overlap, and cuts the power at any moment, also inside recovery. The engine
//! tells in which order operations took effect and up to which log record it recovered; the model then knows the exact content: a prefix of the
//! effects that includes everything acknowledged. After every crash the content, the mapped counts and all reference counts are compared.
#![forbid(unsafe_code)]

mod model;
mod random;

pub use model::Model;
use model::{Change, tag_bytes};
use random::Random;

use bytes::Bytes;
use media::{FormatOptions, LocalMedia, SimDisk, SimOptions};
use pool::{CatalogChange, Core, Failure, ObjectId, ObjectKind, Operation, OperationId, Options, Output};
use std::collections::{BTreeMap, VecDeque};

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Decides everything.
    pub seed: u64,
    /// Steps.
    pub steps: u64,
    /// Size of the simulated disk in blocks.
    pub disk_blocks: u64,
    /// Memory of the engine.
    pub memory_bytes: usize,
    /// Of 1 000 steps, how many are crashes.
    pub crashes_per_mille: u64,
    /// Write so much, in so many places, that the disk is full most of the time.
    pub tight: bool,
    /// Print every operation and crash.
    pub story: bool,
}

impl RunOptions {
    /// The usual mix for a seed: several sizes of disk, log and memory.
    pub fn usual(seed: u64, steps: u64) -> Self {
        // One disk in four is so small that it is full most of the time.
        let tight = seed % 4 == 3;
        let disk_blocks = if tight { 2048 * 3 } else { 2048 * 8 };
        Self { seed, steps, disk_blocks, memory_bytes: 4 << 20, crashes_per_mille: 8, tight, story: false }
    }
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Operations submitted.
    pub operations: u64,
    /// Operations that failed for want of space.
    pub full: u64,
    /// Crashes.
    pub crashes: u64,
    /// Crashes inside recovery.
    pub recovery_crashes: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Records replayed.
    pub replayed: u64,
    /// Effects that were lost with a crash, none of them acknowledged.
    pub lost: u64,
}

impl Report {
    /// Adds another run's numbers.
    pub fn add(&mut self, other: &Report) {
        self.operations += other.operations;
        self.full += other.full;
        self.crashes += other.crashes;
        self.recovery_crashes += other.recovery_crashes;
        self.checkpoints += other.checkpoints;
        self.replayed += other.replayed;
        self.lost += other.lost;
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} operations, {} crashes ({} inside recovery), {} checkpoints, {} records replayed, {} unacknowledged effects lost, {} refused for space",
            self.operations, self.crashes, self.recovery_crashes, self.checkpoints, self.replayed, self.lost, self.full
        )
    }
}

type Engine = Core<LocalMedia<SimDisk>>;

struct InFlight {
    change: Option<Change>,
    read: Option<(u64, u64, usize)>,
}

/// A change that took effect.
struct Effect {
    sequence: u64,
    change: Change,
    operation: OperationId,
    /// Its acknowledgement promises durability.
    durable: bool,
}

struct Run {
    options: RunOptions,
    random: Random,
    disk: SimDisk,
    core: Engine,
    /// Content as of everything that took effect.
    model: Model,
    /// Content as of the last point that is known to be durable.
    base: Model,
    /// Effects since `base`: number of the next record, the change, acknowledged.
    effects: VecDeque<Effect>,
    acknowledged: std::collections::BTreeSet<OperationId>,
    in_flight: BTreeMap<OperationId, InFlight>,
    next_tag: u32,
    report: Report,
    incarnation: u64,
}

/// Runs one seed. The error tells what was wrong, at which step.
pub fn run(options: RunOptions) -> Result<Report, String> {
    let mut run = Run::new(options)?;
    for step in 0..options.steps {
        run.step().map_err(|e| format!("seed {} step {step}: {e}", options.seed))?;
    }
    run.drain().and_then(|()| run.crash()).map_err(|e| format!("seed {} at the end: {e}", options.seed))?;
    run.report.checkpoints += run.core.counters().checkpoints;
    Ok(run.report)
}

fn engine_options(options: &RunOptions, incarnation: u64) -> Options {
    Options { memory_bytes: options.memory_bytes, incarnation, destage_batch: 16, ..Options::default() }
}

impl Run {
    fn new(options: RunOptions) -> Result<Self, String> {
        let mut random = Random::new(options.seed);
        let mut sim = SimOptions::new(options.seed ^ 0x5eed, options.disk_blocks);
        sim.delay = [0, 64, 200][random.below(3) as usize];
        let disk = SimDisk::new(sim);
        let uuid = [7; 16];
        let log_bytes = [1 << 20, 2 << 20, 4 << 20][random.below(3) as usize];
        let format = FormatOptions { uuid, log_bytes, root: pool::initial_root(uuid), overwrite: false };
        let media = LocalMedia::format(disk.clone(), format).map_err(|e| e.to_string())?;
        let (mut core, _) = Core::open(media, engine_options(&options, 1), &mut |_| {}).map_err(|e| e.to_string())?;
        core.record_effects();
        Ok(Self {
            options,
            random,
            disk,
            core,
            model: Model::default(),
            base: Model::default(),
            effects: VecDeque::new(),
            acknowledged: std::collections::BTreeSet::new(),
            in_flight: BTreeMap::new(),
            next_tag: 1,
            report: Report::default(),
            incarnation: 1,
        })
    }

    fn step(&mut self) -> Result<(), String> {
        let crash = self.options.crashes_per_mille;
        match self.random.below(1000) {
            n if n < crash => self.crash()?,
            n if n < crash + 3 => self.core.request_checkpoint(),
            n if n < crash + 250 => self.pump()?,
            _ => self.submit()?,
        }
        if self.in_flight.len() > 24 {
            self.pump()?;
        }
        Ok(())
    }

    fn pump(&mut self) -> Result<(), String> {
        let background = self.random.below(4) as usize;
        self.core.pump(background);
        self.collect()
    }

    fn collect(&mut self) -> Result<(), String> {
        // What took effect in this call, in order; reads see the content as of their own place in it.
        let mut results = BTreeMap::new();
        while let Some((id, result)) = self.core.poll_finished() {
            results.insert(id, result);
        }
        for (id, sequence) in self.core.take_effects() {
            if let Some(change) = self.in_flight.get_mut(&id).and_then(|f| f.change.take()) {
                if let Change::CompareAndWrite { .. } = change
                    && matches!(results.get(&id), Some(Ok(Output::Compared(block::CompareOutcome::Miscompare { .. }))))
                {
                    if self.model.would_match(&change) {
                        return Err("a compare-and-write reported a difference where there is none".into());
                    }
                    continue;
                }
                if let Change::CompareAndWrite { .. } = change
                    && !self.model.would_match(&change)
                {
                    return Err("a compare-and-write wrote although the content differs".into());
                }
                let durable = self.model.acknowledgement_is_durable(&change);
                self.model.apply(&change);
                self.effects.push_back(Effect { sequence, change, operation: id, durable });
            }
        }
        for (id, result) in results {
            let Some(flight) = self.in_flight.remove(&id) else { continue };
            match result {
                Ok(output) => {
                    if let (Output::Data(data), Some((object, offset, length))) = (&output, flight.read) {
                        // Operations in flight may or may not be visible; sectors that none of them touches must be exact.
                        self.model.check_read(
                            object,
                            offset,
                            length,
                            data,
                            self.in_flight.values().filter_map(|f| f.change.as_ref()),
                        )?;
                    }
                    self.acknowledged.insert(id);
                }
                Err(Failure::Block(block::BlockError::PoolFull) | Failure::Pool(pool::PoolError::PoolFull)) => {
                    self.report.full += 1;
                }
                Err(Failure::Block(
                    block::BlockError::Gone | block::BlockError::OutOfRange { .. } | block::BlockError::ReadOnly,
                )) => {}
                Err(Failure::Pool(pool::PoolError::NoSuchObject(_))) => {}
                Err(other) => return Err(format!("operation {id} failed: {other:?}")),
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), String> {
        for _ in 0..100_000 {
            self.pump()?;
            if self.in_flight.is_empty() {
                return Ok(());
            }
        }
        Err(format!("{} operations never finish: {:?}", self.in_flight.len(), self.in_flight.keys().next()))
    }

    fn object(&mut self) -> Option<(u64, u64)> {
        let ids: Vec<_> = self.model.objects.iter().map(|(id, o)| (*id, o.sectors)).collect();
        if ids.is_empty() { None } else { Some(ids[self.random.below(ids.len() as u64) as usize]) }
    }

    /// A range of sectors within `sectors`, often aligned, often near the start so that operations meet.
    fn range(&mut self, sectors: u64, longest: u64) -> (u64, u64) {
        let window = match self.random.below(4) {
            0 => sectors,
            1 => sectors.min(if self.options.tight { 65_536 } else { 4096 }),
            _ => sectors.min(1024),
        };
        let align = [1, 8, 8, 2048][self.random.below(4) as usize];
        let start = self.random.below(window) / align * align;
        let length = 1 + self.random.below(longest.min(sectors - start));
        let length = if align > 1 { length.next_multiple_of(8).min(sectors - start) } else { length };
        (start, length)
    }

    fn submit(&mut self) -> Result<(), String> {
        let (change, read, operation) = match self.draw() {
            Some(x) => x,
            None => return self.create(),
        };
        self.report.operations += 1;
        if self.options.story {
            match (&change, read) {
                (None, Some((object, start, sectors))) => {
                    println!("Read {{ object: {object}, start: {start}, length: {sectors} }}")
                }
                (Some(change), _) => println!("{change:?}"),
                (None, None) => println!("{operation:?}"),
            }
        }
        let id = self.core.submit(operation);
        self.in_flight.insert(id, InFlight { change, read });
        self.collect()
    }

    fn create(&mut self) -> Result<(), String> {
        let id = self.core.new_object_id();
        let sizes: &[u64] =
            if self.options.tight { &[300_000, 2_000_000] } else { &[64, 3000, 4096, 300_000, 2_000_000] };
        let sectors = sizes[self.random.below(sizes.len() as u64) as usize] + self.random.below(9);
        let change = Change::Create { id, sectors };
        let operation =
            Operation::Catalog(vec![CatalogChange::CreateVolume { id: ObjectId(id), size_bytes: sectors * 512 }]);
        self.report.operations += 1;
        let id = self.core.submit(operation);
        self.in_flight.insert(id, InFlight { change: Some(change), read: None });
        self.collect()
    }

    #[expect(clippy::type_complexity, reason = "change, read, operation: used once")]
    fn draw(&mut self) -> Option<(Option<Change>, Option<(u64, u64, usize)>, Operation)> {
        let (object, sectors) = self.object()?;
        let tag = self.next_tag;
        Some(match self.random.below(100) {
            0..=1 if self.model.objects.len() < 6 => return None,
            2..=3 if self.model.objects.len() < 7 => {
                let id = self.core.new_object_id();
                let kind = if self.random.below(3) == 0 { ObjectKind::Snapshot } else { ObjectKind::Volume };
                let operation = Operation::Catalog(vec![CatalogChange::CloneObject {
                    source: ObjectId(object),
                    id: ObjectId(id),
                    kind,
                }]);
                (
                    Some(Change::CloneObject { source: object, id, snapshot: kind == ObjectKind::Snapshot }),
                    None,
                    operation,
                )
            }
            4 if self.model.objects.len() > if self.options.tight { 5 } else { 2 } => {
                let operation = Operation::Catalog(vec![CatalogChange::DeleteObject { id: ObjectId(object) }]);
                (Some(Change::Delete { id: object }), None, operation)
            }
            5 => {
                let new = 8 + self.random.below(sectors * 2).min(4_000_000);
                // Only to whole blocks may a volume shrink.
                let sectors = if new < sectors { new / 8 * 8 } else { new };
                let operation =
                    Operation::Catalog(vec![CatalogChange::Resize { id: ObjectId(object), size_bytes: sectors * 512 }]);
                (Some(Change::Resize { id: object, sectors }), None, operation)
            }
            6..=30 => {
                let (start, length) = self.range(sectors, 256);
                let read = (object, start, length as usize);
                (None, Some(read), Operation::Read { object, offset: start * 512, length: length as usize * 512 })
            }
            31..=68 => {
                self.next_tag += 1;
                let longest =
                    [8, 8, 64, 64, if self.options.tight { 4000 } else { 400 }][self.random.below(5) as usize];
                let (start, length) = self.range(sectors, longest);
                let zero = self.random.below(8) == 0;
                let tag = if zero { 0 } else { tag };
                let data = tag_bytes(tag, start, length);
                let forced = self.random.below(8) == 0;
                let operation = Operation::Write { object, offset: start * 512, data: Bytes::from(data), forced };
                (Some(Change::Write { object, start, length, tag }), None, operation)
            }
            69..=74 => {
                self.next_tag += 1;
                let (start, length) = self.range(sectors, 4);
                let compare = if self.random.below(4) == 0 {
                    tag_bytes(tag, start, length)
                } else {
                    self.model.content(object, start, length)
                };
                let data = tag_bytes(tag, start, length);
                let operation = Operation::CompareAndWrite {
                    object,
                    offset: start * 512,
                    compare: Bytes::from(compare.clone()),
                    data: Bytes::from(data),
                    forced: false,
                };
                (Some(Change::CompareAndWrite { object, start, length, tag, compare }), None, operation)
            }
            75..=82 => {
                let mut ranges = Vec::new();
                for _ in 0..1 + self.random.below(3) {
                    let longest =
                        [7, 64, 5000, 3_000_000][self.random.below(if self.options.tight { 2 } else { 4 }) as usize];
                    ranges.push(self.range(sectors, longest));
                }
                let bytes = ranges.iter().map(|(s, l)| (s * 512, l * 512)).collect();
                (Some(Change::Zero { object, ranges }), None, Operation::Zero { object, ranges: bytes, forced: false })
            }
            83..=94 => {
                let (destination, destination_sectors) = self.object()?;
                let longest =
                    [8, 100, 3000, 600_000][self.random.below(if self.options.tight { 2 } else { 4 }) as usize];
                let (from, length) = self.range(sectors, longest);
                let (to, _) = self.range(destination_sectors, 8);
                // Source and destination agree modulo 8 sectors; the device layer copies what does not.
                let to = to / 8 * 8 + from % 8;
                if to >= destination_sectors {
                    return self.draw();
                }
                let length = length.min(destination_sectors - to).min(sectors - from);
                let operation = Operation::Clone {
                    source: object,
                    source_offset: from * 512,
                    destination,
                    destination_offset: to * 512,
                    length: length * 512,
                };
                (Some(Change::Clone { source: object, from, destination, to, length }), None, operation)
            }
            95 => {
                let enabled = self.random.below(2) == 0;
                let operation =
                    Operation::Catalog(vec![CatalogChange::SetWriteCache { id: ObjectId(object), enabled }]);
                (Some(Change::Nothing { write_cache: Some((object, enabled)) }), None, operation)
            }
            96 => {
                let key = format!("document/{}", self.random.below(5));
                let value = vec![tag as u8; self.random.below(9000) as usize];
                let change = Change::Document { key: key.clone(), value: Some(value.clone()) };
                let operation = Operation::Catalog(vec![CatalogChange::PutDocument { key, value: Bytes::from(value) }]);
                (Some(change), None, operation)
            }
            _ => (Some(Change::Nothing { write_cache: None }), None, Operation::Flush),
        })
    }

    /// Cuts the power, recovers (perhaps crashing again on the way) and compares.
    fn crash(&mut self) -> Result<(), String> {
        self.report.crashes += 1;
        if self.options.story {
            println!("Crash");
        }
        self.report.checkpoints += self.core.counters().checkpoints;
        self.in_flight.clear();
        let mut disk = self.disk.crash();
        loop {
            self.incarnation += 1;
            if self.random.below(6) == 0 {
                // Power fails again while the pool is opened: after some number of requests everything fails, then the lights go out.
                let nth = 1 + self.random.below(60);
                for operation in [media::FaultOperation::Write, media::FaultOperation::Flush] {
                    disk.plant(media::Fault::sticky(operation, media::FaultEffect::Error).after(nth));
                }
                let opened = LocalMedia::open(disk.clone())
                    .map_err(|e| e.to_string())
                    .and_then(|m| {
                        Core::open(m, engine_options(&self.options, self.incarnation), &mut |_| {})
                            .map_err(|e| e.to_string())
                    })
                    .and_then(|(mut core, _)| core.checkpoint().map_err(|e| e.to_string()));
                let _ = opened;
                disk.clear_faults();
                disk = disk.crash();
                self.report.recovery_crashes += 1;
                continue;
            }
            let media = LocalMedia::open(disk.clone()).map_err(|e| format!("open: {e}"))?;
            let (core, opened) = Core::open(media, engine_options(&self.options, self.incarnation), &mut |_| {})
                .map_err(|e| format!("recovery: {e}"))?;
            self.core = core;
            self.disk = disk;
            self.report.replayed += opened.records;
            break;
        }
        let recovered = self.core.next_sequence();
        // The exact prefix of effects that the log holds.
        let mut expected = std::mem::take(&mut self.base);
        for Effect { sequence, change, operation, durable } in std::mem::take(&mut self.effects) {
            if sequence <= recovered {
                expected.apply(&change);
            } else {
                if self.acknowledged.contains(&operation) && durable {
                    return Err(format!("operation {operation} ({change:?}) was acknowledged as durable and is lost"));
                }
                self.report.lost += 1;
            }
        }
        self.acknowledged.clear();
        self.base = expected.clone();
        self.model = expected;
        self.compare()?;
        self.core.record_effects();
        Ok(())
    }

    fn compare(&mut self) -> Result<(), String> {
        let report = self.core.check(true, &mut |_| {}).map_err(|e| e.to_string())?;
        if !report.is_clean() {
            return Err(format!(
                "check after recovery: {} findings: {}",
                report.count,
                report.findings[..report.findings.len().min(6)].join("; ")
            ));
        }
        let ids: Vec<u64> = self.model.objects.keys().copied().collect();
        if ids != self.core.object_ids() {
            return Err(format!("objects: recovered {:?}, expected {ids:?}", self.core.object_ids()));
        }
        for id in ids {
            let info = self.core.object(id).ok_or("object vanished")?;
            let object = &self.model.objects[&id];
            if info.size_bytes != object.sectors * 512 {
                return Err(format!(
                    "object {id}: size {} instead of {} sectors",
                    info.size_bytes / 512,
                    object.sectors
                ));
            }
            let blocks = object.mapped_blocks();
            let sectors = object.sectors;
            if info.mapped_bytes != blocks.len() as u64 * 4096 {
                return Err(format!(
                    "object {id}: {} blocks mapped, expected {}",
                    info.mapped_bytes / 4096,
                    blocks.len()
                ));
            }
            for block in blocks {
                let start = block * 8;
                let length = (sectors - start).min(8);
                let content = self.read(id, start, length)?;
                if content != self.model.content(id, start, length) {
                    return Err(format!("object {id}: block {block} has the wrong content after recovery"));
                }
            }
        }
        for (key, value) in &self.model.documents {
            if self.core.documents().get(key).map(|v| &v[..]) != Some(&value[..]) {
                return Err(format!("document {key} is not what it was"));
            }
        }
        Ok(())
    }

    fn read(&mut self, object: u64, start: u64, sectors: u64) -> Result<Vec<u8>, String> {
        let id = self.core.submit(Operation::Read { object, offset: start * 512, length: sectors as usize * 512 });
        for _ in 0..100_000 {
            while let Some((found, result)) = self.core.poll_finished() {
                if found == id {
                    return match result {
                        Ok(Output::Data(data)) => Ok(data.to_vec()),
                        other => Err(format!("read of object {object} sector {start}: {other:?}")),
                    };
                }
            }
            self.core.pump(0);
        }
        Err("a read never finished".into())
    }
}
