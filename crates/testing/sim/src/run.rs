//! One run: the real engine on a simulated disk, step by step, in parallel with the model.
//!
//! The engine reports the order in which operations took effect and, when it recovers, up to which
//! record. The model therefore knows the exact content at every instant. A read must return the
//! content as of the instant at which it read the map. After a crash the content must be the prefix
//! of the effects that the log held, and that prefix must include every effect whose reply promised
//! durability.

mod compare;
mod differences;
mod restart;
mod transactions;

use self::compare::{check_provisioning, hex};
use self::differences::InProgress;
use crate::generate::Generator;
use crate::model::{BLOCK_SECTORS, Model, Object, Undo, bytes_of, document, document_key, first_difference, value};
use crate::step::{Catalog, Numbered, Pattern, PlannedFault, Request, Step};
use crate::transaction::Seen;
use crate::world::{SPACE_SECTORS, World};
use crate::{Report, Story};
use block::{BlockError, CompareOutcome};
use bytes::Bytes;
use media::{Disk, Fault, FaultEffect, FaultOperation, FormatOptions, LocalMedia, SimDisk};
use pool::{
    Answer, BlockId, BlockNumber, BlockRange, ByteRange, CatalogChange, Core, Failure, Hour, ObjectId, ObjectKind,
    Operation, OperationId, Output, PoolError, Reshare, ReshareStep, TurnWork,
};
use random::combine;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(crate) type Engine = Core<LocalMedia<SimDisk>>;

/// Requests that the disk completes before an operation counts as stuck.
const PATIENCE: u32 = 8_000;

/// Operation in flight.
struct InFlight {
    request: Request,
    /// Content as of the instant at which a read read the map.
    expected: Option<Vec<u64>>,
    /// Expected content of a compare-and-write.
    compare: Vec<u8>,
    /// Whether the request was valid for the content when it was submitted.
    fitted: bool,
    /// Whether the space that the request needs was promised when it was submitted.
    promised: bool,
    /// Number of catalog changes that had taken effect at submission.
    catalog_effects: u64,
    /// The reply promises that everything up to this record is durable.
    promise: Option<u64>,
    /// What a transaction has seen and decided.
    seen: Option<Answer<Seen>>,
}

/// Change that took effect.
struct Effect {
    sequence: u64,
    undo: Vec<Undo>,
}

/// State of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The run may continue.
    Open,
    /// The pool was refused after damage, with an error that says so.
    Refused,
}

pub(crate) struct Run {
    pub world: World,
    pub disk: SimDisk,
    pub core: Engine,
    pub model: Model,
    effects: VecDeque<Effect>,
    in_flight: BTreeMap<OperationId, InFlight>,
    /// Differences in progress, in the order in which they began.
    differences: Vec<InProgress>,
    /// Every record below this one must survive.
    must_survive: u64,
    /// Size to which the pool has grown, and which it must not lose.
    grown_bytes: u64,
    /// Whether the pool met damaged reference counts: it takes all blocks of their segment as
    /// allocated until a repair, and in a pool this small that is nearly every block.
    counts_lost: bool,
    catalog_effects: u64,
    /// Chunks changed since the last comparison; for listed objects, all chunks.
    touched: BTreeSet<(u64, u64)>,
    touched_objects: BTreeSet<u64>,
    highest_id: u64,
    incarnation: u64,
    /// Whether faults have been planted since the pool was opened: operations may fail.
    pub troubled: bool,
    /// Whether stored data may differ from the written data: reads may fail permanently.
    pub damaged: bool,
    /// Whether the log may differ too: its end may be lost.
    pub log_damaged: bool,
    pub end: End,
    /// Content after each effect since the last crash, with the effect's record, for comparison
    /// with forks.
    history: Option<Vec<(u64, Model)>>,
    /// The only content that may have become unreadable; `None` when any may.
    pub blamed: Option<Vec<u8>>,
    /// Blocks that could not be read: object and first sector.
    pub unreadable: Vec<(u64, u64)>,
    pub report: Report,
    pub story: Story,
}

impl Run {
    pub(crate) fn new(world: World, story: Story) -> Result<Self, String> {
        let disk = SimDisk::new(world.disk());
        Self::on(disk, world, story)
    }

    /// Creates a run on this disk, which is formatted.
    pub(crate) fn on(disk: SimDisk, world: World, story: Story) -> Result<Self, String> {
        let uuid = [7; 16];
        let format =
            FormatOptions { uuid, log_bytes: world.log_bytes, root: pool::initial_root(uuid), overwrite: false };
        let media = LocalMedia::format(disk.clone(), format).map_err(|e| format!("format: {e}"))?;
        let (mut core, _) = Core::open(media, world.engine(1), &mut |_| {}).map_err(|e| format!("open: {e}"))?;
        core.record_effects();
        let must_survive = core.next_sequence();
        Ok(Self {
            world,
            disk,
            core,
            model: Model::default(),
            effects: VecDeque::new(),
            in_flight: BTreeMap::new(),
            differences: Vec::new(),
            must_survive,
            grown_bytes: 0,
            counts_lost: false,
            catalog_effects: 0,
            touched: BTreeSet::new(),
            touched_objects: BTreeSet::new(),
            highest_id: 0,
            incarnation: 1,
            troubled: false,
            damaged: false,
            log_damaged: false,
            end: End::Open,
            history: None,
            blamed: None,
            unreadable: Vec::new(),
            report: Report::default(),
            story,
        })
    }

    /// Records from now on the content with which [`Run::fork`] compares.
    pub(crate) fn keep_history(&mut self) {
        self.history = Some(vec![(self.core.next_sequence(), self.model.clone())]);
    }

    /// Opens the pool on another disk, in a state that a crash now could leave, and compares
    /// everything. `damaged`: the disk was modified, so the pool may be refused, and the end of the
    /// log may be lost. `None` when it was refused.
    pub(crate) fn fork(&self, disk: SimDisk, damaged: bool) -> Result<Option<Run>, String> {
        let options = self.world.engine(self.incarnation + 1);
        let opened = LocalMedia::open(disk.clone())
            .map_err(|e| format!("superblock: {e}"))
            .and_then(|media| Core::open(media, options, &mut |_| {}).map_err(|e| e.to_string()));
        let core = match opened {
            Ok((mut core, _)) => {
                core.record_effects();
                core
            }
            Err(_) if damaged => return Ok(None),
            Err(error) => return Err(format!("recovery: {error}")),
        };
        let recovered = core.next_sequence();
        let least = self.must_survive;
        if recovered < least && !damaged {
            return Err(format!("everything below record {least} was acknowledged, but the log ends at {recovered}"));
        }
        let history = self.history.as_deref().unwrap_or_default();
        let Some((_, model)) = history.iter().rev().find(|(sequence, _)| *sequence <= recovered) else {
            return Err(format!("the log ends at {recovered}, before the last checkpoint"));
        };
        let mut run = Run {
            world: self.world.clone(),
            disk,
            core,
            model: model.clone(),
            effects: VecDeque::new(),
            in_flight: BTreeMap::new(),
            differences: Vec::new(),
            must_survive: recovered,
            grown_bytes: 0,
            counts_lost: self.counts_lost,
            catalog_effects: 0,
            touched: BTreeSet::new(),
            touched_objects: BTreeSet::new(),
            highest_id: 0,
            incarnation: self.incarnation + 1,
            troubled: damaged,
            damaged,
            log_damaged: damaged,
            end: End::Open,
            history: None,
            blamed: self.blamed.clone(),
            unreadable: Vec::new(),
            report: Report::default(),
            story: Story::default(),
        };
        run.compare(true, 0)?;
        Ok(Some(run))
    }

    /// Draws the next step. The engine assigns the id of a new object, but the step must not depend
    /// on it when other steps are left out.
    pub(crate) fn draw(&self, generator: &mut Generator) -> Step {
        if self.core.stopped().is_some() {
            return generator.after_stop();
        }
        generator.next(&self.world, &self.model, self.in_flight.len())
    }

    /// Executes one step. The error describes a violation.
    pub(crate) fn execute(&mut self, Numbered { number, step }: &Numbered) -> Result<(), String> {
        self.disk.reseed(combine(self.world.seed, *number));
        if self.story.is_on() {
            self.story.tell(format!("{number:>6}  {step}"));
        }
        match step {
            Step::Submit(request) => self.submit(request)?,
            Step::Pump { background } => {
                self.turn(usize::from(*background))?;
            }
            Step::Complete { count, background } => {
                for _ in 0..*count {
                    self.disk.wait();
                    self.turn(usize::from(*background))?;
                }
            }
            Step::Checkpoint => self.core.request_checkpoint(),
            Step::Drain => self.drain()?,
            Step::Crash { inside } => self.crash(inside, false, *number)?,
            Step::Fault(strike) => self.strike(strike),
            Step::Rot { nth, bits } => self.rot(*nth, *bits),
            Step::Heal => self.disk.clear_faults(),
        }
        match self.core.stopped() {
            Some(reason) if !self.troubled => Err(format!("the pool stopped: {reason}")),
            _ => Ok(()),
        }
    }

    /// Gives the engine a turn, and takes its results. A turn does a bounded amount of work.
    pub(crate) fn turn(&mut self, background: usize) -> Result<(), String> {
        self.core.pump(background);
        let (work, bound) = (self.core.turn_work(), TurnWork::bound(self.world.turn_blocks()));
        if !work.is_within(&bound) {
            return Err(format!("a turn is too long: {work:?}, at most {bound:?}"));
        }
        self.check_transactions()?;
        self.collect()
    }

    fn strike(&mut self, strike: &PlannedFault) {
        let PlannedFault { operation, effect, after, sticky, blocks } = strike.clone();
        self.troubled = true;
        let silent = matches!(effect, FaultEffect::Lost | FaultEffect::Misdirected { .. });
        self.damaged |= silent;
        let log_end = 256 + self.world.log_bytes / 4096 + 1;
        let everywhere =
            blocks.is_none_or(|(from, _)| from < log_end) || matches!(effect, FaultEffect::Misdirected { .. });
        self.log_damaged |= silent && operation == FaultOperation::Write && (everywhere || self.content_ends_log());
        let fault = Fault { operation, blocks: blocks.map(|(from, to)| from..to), skip: after, sticky, effect };
        self.disk.plant(fault);
    }

    /// Whether damage of content may end the log: a record that no frame declares durable has not
    /// happened if its content is not at its place, as if its frame were lost.
    fn content_ends_log(&self) -> bool {
        self.world.known_room > 0
    }

    fn rot(&mut self, nth: u64, bits: u8) {
        let stored = self.disk.stored();
        if let Some(block) = stored.get((nth % stored.len().max(1) as u64) as usize) {
            self.troubled = true;
            self.damaged = true;
            self.log_damaged |= (256..256 + self.world.log_bytes / 4096).contains(block) || self.content_ends_log();
            if self.story.is_on() {
                self.story.tell(format!("        (block {block})"));
            }
            self.disk.rot(*block, usize::from(bits));
        }
    }

    pub(crate) fn submit(&mut self, request: &Request) -> Result<(), String> {
        self.report.operations += 1;
        let fitted = self.fits(request);
        let (id, compare, seen) = match request {
            Request::Transaction { changes, picky, durable } => {
                let (id, seen) = self.submit_transaction(changes, *picky, *durable);
                (id, Vec::new(), Some(seen))
            }
            Request::Difference { base, new } => match self.submit_difference(*base, *new)? {
                Some(id) => (id, Vec::new(), None),
                None => return Ok(()),
            },
            request => {
                let (operation, compare) = self.operation(request);
                let id = match request {
                    Request::WriteAsGroup { .. } => self.core.submit_as_group(operation),
                    _ => self.core.submit(operation),
                };
                (id, compare, None)
            }
        };
        let flight = InFlight {
            request: request.clone(),
            expected: None,
            compare,
            fitted,
            promised: self.is_promised(request),
            catalog_effects: self.catalog_effects,
            promise: None,
            seen,
        };
        self.in_flight.insert(id, flight);
        self.collect()
    }

    /// Engine operation of a request, and the expected content of a compare-and-write.
    fn operation(&self, request: &Request) -> (Operation, Vec<u8>) {
        let data = |start: u64, length: u64, tag, pattern| {
            Bytes::from(bytes_of((0..length as usize).map(|i| value(tag, pattern, start + i as u64))))
        };
        let operation = match request {
            Request::Read { object, start, length } => {
                Operation::Read { object: ObjectId(*object), offset: start * 512, length: *length as usize * 512 }
            }
            Request::Write { object, start, length, tag, pattern, forced } => Operation::Write {
                object: ObjectId(*object),
                offset: start * 512,
                data: data(*start, *length, *tag, *pattern),
                forced: *forced,
            },
            Request::WriteAsGroup { object, start, length, tag } => Operation::Write {
                object: ObjectId(*object),
                offset: start * 512,
                data: data(*start, *length, *tag, Pattern::Data),
                forced: false,
            },
            Request::CompareAndWrite { object, start, length, tag, matching, forced } => {
                let mut compare = self.model.values(*object, *start, *length);
                if !matching && let Some(last) = compare.last_mut() {
                    *last = value(*tag, Pattern::Data, 7);
                }
                let compare = bytes_of(compare.into_iter());
                let operation = Operation::CompareAndWrite {
                    object: ObjectId(*object),
                    offset: start * 512,
                    compare: Bytes::from(compare.clone()),
                    data: data(*start, *length, *tag, Pattern::Data),
                    forced: *forced,
                };
                return (operation, compare);
            }
            Request::Zero { object, ranges, forced } => Operation::Zero {
                object: ObjectId(*object),
                ranges: ranges.iter().map(|(start, length)| ByteRange::new(start * 512, length * 512)).collect(),
                forced: *forced,
            },
            Request::Clone { source, from, destination, to, length } => Operation::Clone {
                source: ObjectId(*source),
                source_offset: from * 512,
                destination: ObjectId(*destination),
                destination_offset: to * 512,
                length: length * 512,
            },
            Request::Capture { source, capture, ranges } => Operation::Capture {
                source: ObjectId(*source),
                capture: ObjectId(*capture),
                ranges: ranges.iter().map(|(first, count)| BlockRange::new(BlockNumber::new(*first), *count)).collect(),
            },
            Request::Flush => Operation::Flush,
            Request::Provisioning { object, start, limit } => {
                Operation::Provisioning { object: ObjectId(*object), offset: start * 512, limit: *limit as usize }
            }
            Request::Mapped { object, first, count } => Operation::Mapped {
                object: ObjectId(*object),
                range: BlockRange::new(BlockNumber::new(*first), *count),
            },
            Request::Unique { object } => Operation::Unique { objects: vec![ObjectId(*object)] },
            Request::ReclaimZeros { object, start } => {
                Operation::ReclaimZeros { object: ObjectId(*object), offset: start / BLOCK_SECTORS * 4096 }
            }
            Request::Reshare { object, start, with, shift, compare_only } => Operation::Reshare(Reshare {
                object: ObjectId(*object),
                with: ObjectId(*with),
                offset: start / BLOCK_SECTORS * 4096,
                shift_bytes: shift * 4096,
                compare_only: *compare_only,
            }),
            Request::Verify { object, start } => {
                Operation::Verify { object: ObjectId(*object), offset: start / BLOCK_SECTORS * 4096, anew: *start == 0 }
            }
            Request::PlacesOf { first } => Operation::PlacesOf((*first..first + 4).map(BlockId).collect()),
            Request::CheckStep => Operation::CheckStep,
            Request::Recount { object } => Operation::Recount { object: ObjectId(*object) },
            Request::Grow { blocks } => Operation::Grow(pool::Growth::Size(blocks * 4096)),
            Request::Catalog(changes) => Operation::Catalog(changes.iter().map(change).collect()),
            // Submitted in another way.
            Request::Transaction { .. } | Request::Difference { .. } => Operation::Flush,
        };
        (operation, Vec::new())
    }

    /// Whether only lack of space can refuse the request in the present state.
    fn fits(&self, request: &Request) -> bool {
        let inside = |object: &u64, start: u64, length: u64| {
            self.model.objects.get(object).is_some_and(|object| start + length <= object.sectors)
        };
        let writable = |object: &u64| self.model.objects.get(object).is_some_and(Object::takes_writes);
        match request {
            Request::Read { object, start, length } => inside(object, *start, *length),
            Request::Write { object, start, length, .. } | Request::CompareAndWrite { object, start, length, .. } => {
                writable(object) && inside(object, *start, *length)
            }
            Request::WriteAsGroup { object, start, length, .. } => {
                self.model.objects.get(object).is_some_and(|of| !of.snapshot) && inside(object, *start, *length)
            }
            Request::Zero { object, ranges, .. } => {
                writable(object) && ranges.iter().all(|(start, length)| inside(object, *start, *length))
            }
            Request::Clone { source, from, destination, to, length } => {
                writable(destination) && inside(source, *from, *length) && inside(destination, *to, *length)
            }
            // Only the engine knows whether the object is a capture.
            Request::Capture { .. } => false,
            Request::Flush => true,
            Request::Provisioning { object, start, .. } => inside(object, *start, 1),
            Request::Mapped { object, first, count } => {
                self.model.objects.get(object).is_some_and(|o| first + count <= o.sectors.div_ceil(BLOCK_SECTORS))
            }
            Request::Unique { object } | Request::Verify { object, .. } | Request::Recount { object } => {
                self.model.objects.contains_key(object)
            }
            Request::ReclaimZeros { object, .. } => writable(object),
            Request::Reshare { object, with, .. } => {
                let is_volume = |id: &u64| self.model.objects.get(id).is_some_and(|of| of.sectors != SPACE_SECTORS);
                writable(object) && is_volume(object) && is_volume(with)
            }
            Request::PlacesOf { .. } | Request::CheckStep | Request::Difference { .. } => true,
            Request::Grow { blocks } => *blocks > self.disk.block_count(),
            Request::Transaction { changes, .. } => self.model.takes(changes),
            Request::Catalog(changes) if self.model.forbids(changes).is_some() => false,
            Request::Catalog(changes) => match changes.as_slice() {
                [Catalog::Clone { source, id, .. }] => {
                    self.model.objects.contains_key(source) && !self.model.objects.contains_key(id)
                }
                [Catalog::Delete { id } | Catalog::WriteCache { id, .. } | Catalog::ZeroDetection { id, .. }] => {
                    self.model.objects.contains_key(id)
                }
                [Catalog::Replica { id, .. }] => self.model.objects.get(id).is_some_and(|object| !object.snapshot),
                [Catalog::Resize { id, sectors }] => self
                    .model
                    .objects
                    .get(id)
                    .filter(|object| object.sectors != SPACE_SECTORS)
                    .is_some_and(|object| object.sectors <= *sectors || sectors.is_multiple_of(BLOCK_SECTORS)),
                [Catalog::Create { id, .. } | Catalog::CreateCapture { id, .. }] => {
                    !self.model.objects.contains_key(id)
                }
                [Catalog::Put { .. } | Catalog::Remove { .. }] => true,
                // Only the engine can judge the combination of several changes.
                _ => false,
            },
        }
    }

    /// Processes effects and results, in order.
    pub(crate) fn collect(&mut self) -> Result<(), String> {
        let mut results = Vec::new();
        while let Some(result) = self.core.poll_finished() {
            results.push(result);
        }
        for (id, sequence) in self.core.take_effects() {
            let outcome = results.iter().find(|(found, _)| *found == id).and_then(|(_, result)| result.as_ref().ok());
            self.took_effect(id, sequence, outcome)?;
        }
        for (id, result) in results {
            let Some(flight) = self.in_flight.remove(&id) else { continue };
            match flight.request {
                Request::Difference { .. } if self.difference_finished(id, &result)? => {}
                _ => self.finished(flight, result)?,
            }
        }
        Ok(())
    }

    fn took_effect(&mut self, id: OperationId, sequence: u64, outcome: Option<&Output>) -> Result<(), String> {
        let Some(flight) = self.in_flight.get_mut(&id) else { return Ok(()) };
        match &flight.request {
            Request::Read { object, start, length } => {
                flight.expected = Some(self.model.values(*object, *start, *length));
                return Ok(());
            }
            Request::CheckStep => {
                return match outcome {
                    Some(Output::Check(step)) => match &step.report {
                        Some(report) if !report.is_clean() && !self.troubled => {
                            Err(format!("online check: {}", report.findings.join("; ")))
                        }
                        _ => Ok(()),
                    },
                    _ => Err("a step of a check took effect without a result".into()),
                };
            }
            Request::Reshare { .. } => {
                let adds_up = |step: &ReshareStep| {
                    let considered = step.compared_bytes + step.already_bytes + step.unreadable_bytes;
                    step.freed_bytes <= step.shared_bytes
                        && step.shared_bytes + step.different_bytes == step.compared_bytes
                        && considered <= step.scanned_bytes
                };
                return match outcome {
                    Some(Output::Reshared(step)) if adds_up(step) => Ok(()),
                    other => Err(format!("{}: {other:?}", flight.request)),
                };
            }
            Request::Unique { .. }
            | Request::ReclaimZeros { .. }
            | Request::Verify { .. }
            | Request::PlacesOf { .. }
            | Request::Grow { .. }
            | Request::Recount { .. } => return Ok(()),
            Request::Difference { .. } => return self.difference_took_effect(id, outcome),
            Request::Provisioning { object, start, limit } => {
                return match outcome {
                    Some(Output::Provisioning(runs)) => check_provisioning(&self.model, *object, *start, *limit, runs),
                    _ => Err("provisioning took effect without a result".into()),
                };
            }
            Request::Mapped { object, first, count } => {
                // A damaged page may hide blocks from the count, but adds none.
                let known = !self.model.stores_zeros && !self.damaged;
                let expected = self.model.objects.get(object).map_or(0, |object| object.mapped_in(*first, *count));
                return match outcome {
                    Some(Output::Bytes(bytes)) if !known || *bytes == expected * 4096 => Ok(()),
                    other => Err(format!("{}: {other:?}, should be {expected} blocks", flight.request)),
                };
            }
            Request::CompareAndWrite { object, start, length, .. } => {
                let there = bytes_of(self.model.values(*object, *start, *length).into_iter());
                let difference = there.iter().zip(&flight.compare).position(|(a, b)| a != b);
                let found = match outcome {
                    Some(Output::Compared(CompareOutcome::Miscompare { offset_bytes })) => Some(*offset_bytes as usize),
                    _ => None,
                };
                if difference != found {
                    return Err(format!("{}: first difference at {found:?}, should be {difference:?}", flight.request));
                }
                if found.is_some() {
                    return Ok(());
                }
            }
            Request::Catalog(changes) => {
                self.catalog_effects += 1;
                if let Some(id) = self.model.forbids(changes) {
                    return Err(format!("{}: takes effect, although object {id} is locked", flight.request));
                }
                for change in changes {
                    if let Catalog::Create { id, .. } | Catalog::CreateCapture { id, .. } | Catalog::Clone { id, .. } =
                        change
                    {
                        self.highest_id = self.highest_id.max(*id);
                    }
                }
            }
            _ => {}
        }
        if self.model.reply_promises_durability(&flight.request) {
            flight.promise = Some(sequence);
        }
        let mut undo = Vec::new();
        let request = flight.request.clone();
        let replica = self.model.replica_changed_by(&request);
        let closed = |id| Err(format!("{request}: takes effect, although object {id} is a replica"));
        match &request {
            Request::Transaction { changes, picky, .. } => {
                let Some(seen) = flight.seen.as_ref().and_then(Answer::take) else {
                    return Err(format!("{request}: took effect without a result"));
                };
                if !seen.0 {
                    flight.promise = None;
                } else if let Some(id) = replica {
                    return closed(id);
                }
                self.took_effect_together(&request, (changes, *picky), &seen, &mut undo)?;
            }
            request => {
                if let Some(id) = replica {
                    return closed(id);
                }
                self.model.apply(request, &mut undo);
                self.end_differences(request);
            }
        }
        for part in &undo {
            match part {
                Undo::Chunk { object, index, .. } => {
                    self.touched.insert((*object, *index));
                }
                Undo::Object { object, .. } => {
                    self.touched_objects.insert(*object);
                }
                Undo::Header { .. }
                | Undo::Document { .. }
                | Undo::Reserved { .. }
                | Undo::Ceiling { .. }
                | Undo::Locked { .. }
                | Undo::Replica { .. }
                | Undo::Allotted { .. } => {}
            }
        }
        self.effects.push_back(Effect { sequence, undo });
        if let Some(history) = &mut self.history {
            history.push((sequence, self.model.clone()));
        }
        Ok(())
    }

    fn finished(&mut self, flight: InFlight, result: Result<Output, Failure>) -> Result<(), String> {
        let InFlight { request, expected, fitted, promised, catalog_effects, promise, .. } = flight;
        if let Err(failure) = result {
            let expected = match &failure {
                Failure::Block(BlockError::PoolFull) | Failure::Pool(PoolError::PoolFull) => {
                    self.report.full += 1;
                    // An operation with reserved space must get it.
                    let reserved = match &request {
                        Request::Write { object, .. } | Request::CompareAndWrite { object, .. } => {
                            let found = self.model.objects.get(object);
                            found.is_some_and(|of| of.reserved == Some(100) && of.sectors != SPACE_SECTORS)
                        }
                        _ => false,
                    };
                    let reserved = reserved || promised;
                    !reserved || catalog_effects != self.catalog_effects || self.troubled
                }
                Failure::Block(BlockError::Gone | BlockError::OutOfRange { .. } | BlockError::ReadOnly)
                | Failure::Pool(PoolError::NoSuchObject(_) | PoolError::ObjectExists(_))
                | Failure::Pool(PoolError::BadSize { .. } | PoolError::NoVolume(_)) => {
                    // Wrong only if the request was valid all the time.
                    !fitted || catalog_effects != self.catalog_effects || !self.fits(&request)
                }
                // Only one pool exists, no request is that long, and the log takes every write.
                Failure::Block(
                    BlockError::ForeignSource | BlockError::TooLong { .. } | BlockError::Internal { .. },
                ) => false,
                Failure::Block(BlockError::PoolStopped { .. }) => self.troubled,
                Failure::Block(BlockError::ReadFailed { .. } | BlockError::SourceReadFailed { .. })
                | Failure::Unreadable { .. }
                | Failure::Pool(PoolError::Damaged(_)) => self.troubled,
                Failure::Pool(PoolError::Stopped(_)) => self.troubled,
                Failure::Pool(PoolError::NoRoomForReservation { .. }) => true,
                Failure::Pool(PoolError::Busy(_)) => true,
                // One growth at a time, and never to a smaller size.
                Failure::Pool(PoolError::CannotGrow(_)) => matches!(request, Request::Grow { .. }),
                // Only an object that has a ceiling, or had one in between.
                Failure::Pool(PoolError::AboveCeiling { .. }) => {
                    catalog_effects != self.catalog_effects || self.model.has_ceiling(&request)
                }
                Failure::Pool(PoolError::BadCeiling { .. }) => catalog_effects != self.catalog_effects,
                Failure::Pool(PoolError::Locked { .. }) => {
                    let forbids =
                        matches!(&request, Request::Catalog(changes) if self.model.forbids(changes).is_some());
                    catalog_effects != self.catalog_effects || forbids
                }
                // Differences check this themselves.
                Failure::Pool(PoolError::DifferenceEnded(_)) => false,
                // The generator locks snapshots alone.
                Failure::Pool(PoolError::NoSnapshot(_)) => false,
                Failure::Pool(PoolError::BadDocument { .. } | PoolError::BadReservation { .. }) => false,
            };
            self.report.failed += u64::from(self.troubled);
            if self.story.is_on() {
                self.story.tell(format!("        {request}: failed: {}", words(&failure)));
            }
            return if expected { Ok(()) } else { Err(format!("{request}: {}", words(&failure))) };
        }
        if let (Ok(Output::Data(data)), Request::Read { object, start, length }) = (&result, &request) {
            let Some(expected) = expected else { return Err(format!("{request}: returned without a picture")) };
            if data.len() as u64 != length * 512 {
                return Err(format!("{request}: returned {} bytes", data.len()));
            }
            if let Some(at) = first_difference(&expected, data) {
                let found = data.get(at * 512..at * 512 + 8).map(hex).unwrap_or_default();
                return Err(format!(
                    "{request}: sector {} of object {object} is {found}, should be {:016x}",
                    start + at as u64,
                    expected.get(at).copied().unwrap_or_default()
                ));
            }
        }
        if let Request::Grow { blocks } = request {
            self.grown_bytes = self.grown_bytes.max(blocks * 4096);
        }
        if let Some(sequence) = promise {
            self.must_survive = self.must_survive.max(sequence);
            while self.effects.front().is_some_and(|effect| effect.sequence <= self.must_survive) {
                self.effects.pop_front();
            }
        }
        Ok(())
    }

    /// Waits until no operation is in flight.
    pub(crate) fn drain(&mut self) -> Result<(), String> {
        let mut turns = 0;
        while turns < PATIENCE {
            if self.in_flight.is_empty() {
                return Ok(());
            }
            self.disk.wait();
            self.turn(1)?;
            turns += 1;
            // Content that finds no room after its record was logged holds up replies until there is some.
            if turns == PATIENCE / 2 && self.core.has_parked_writes() {
                self.disk.clear_faults();
            }
        }
        let stuck: Vec<_> = self.in_flight.values().map(|flight| flight.request.to_string()).collect();
        Err(format!("never finishes: {}", stuck.join("; ")))
    }
}

fn words(failure: &Failure) -> String {
    match failure {
        Failure::Block(error) => error.to_string(),
        Failure::Pool(error) => error.to_string(),
        failure @ Failure::Unreadable { .. } => failure.to_string(),
    }
}

fn hour(number: u32) -> Hour {
    Hour::new(number).unwrap_or(Hour::MAX)
}

/// Engine form of a catalog change.
fn change(change: &Catalog) -> CatalogChange {
    match change {
        Catalog::Create { id, sectors } => CatalogChange::CreateVolume { id: ObjectId(*id), size_bytes: sectors * 512 },
        Catalog::CreateCapture { id, sectors } => {
            CatalogChange::CreateCapture { id: ObjectId(*id), size_bytes: sectors * 512 }
        }
        Catalog::Clone { source, id, snapshot } => CatalogChange::CloneObject {
            source: ObjectId(*source),
            id: ObjectId(*id),
            kind: if *snapshot { ObjectKind::Snapshot } else { ObjectKind::Volume },
        },
        Catalog::Delete { id } => CatalogChange::DeleteObject { id: ObjectId(*id) },
        Catalog::Resize { id, sectors } => CatalogChange::Resize { id: ObjectId(*id), size_bytes: sectors * 512 },
        Catalog::WriteCache { id, enabled } => CatalogChange::SetWriteCache { id: ObjectId(*id), enabled: *enabled },
        Catalog::Rollback { id, source } => CatalogChange::Rollback { id: ObjectId(*id), source: ObjectId(*source) },
        Catalog::Ceiling { id, blocks } => {
            CatalogChange::SetCeiling { id: ObjectId(*id), ceiling_bytes: blocks.map(|blocks| blocks * 4096) }
        }
        Catalog::Replica { id, enabled } => CatalogChange::SetReplica { id: ObjectId(*id), enabled: *enabled },
        Catalog::Lock { id, until } => CatalogChange::Lock { id: ObjectId(*id), until: hour(*until) },
        Catalog::Unlock { id, now } => CatalogChange::Unlock { id: ObjectId(*id), now: hour(*now) },
        Catalog::Reserve { id, percent } => CatalogChange::SetReservation {
            id: ObjectId(*id),
            reservation: percent.map(|overwrite_percent| pool::Reservation { overwrite_percent }),
        },
        Catalog::ZeroDetection { id, enabled } => {
            CatalogChange::SetZeroDetection { id: ObjectId(*id), enabled: *enabled }
        }
        Catalog::Put { key, tag, bytes } => {
            CatalogChange::PutDocument { key: document_key(*key), value: Bytes::from(document(*tag, *bytes)) }
        }
        Catalog::Remove { key } => CatalogChange::DeleteDocument { key: document_key(*key) },
    }
}
