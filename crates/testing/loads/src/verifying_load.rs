//! A load that knows the expected content of every block, and checks it across crashes of the
//! array.
//!
//! Writes, clones (EXTENDED COPY), UNMAP, WRITE SAME and COMPARE AND WRITE go to regions of some
//! logical units, chosen by a seed, with reads between them. The load keeps the stamp ([`random::sector`])
//! of every block in memory. Concurrent commands never touch each other's blocks (copy sources may
//! be shared), so an acknowledged command leaves exactly one possible content.
//!
//! When a connection breaks, each command in flight may or may not have taken effect, block by
//! block. Such blocks have two possible contents, and more if it happens again before they are
//! read. The load then reconnects, for at most [`LoadOptions::outage`], and reads everything: every
//! block must hold one of its possible contents, and must keep the one found from then on. A
//! missing acknowledged effect, a torn block, or a late effect ends the load with
//! [`LoadError::Mismatch`].

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use iscsi::initiator::{Completion, TransferRequest};
use thiserror::Error;

use conformance::cdb::{self, CopySegment};
use conformance::commands::{BLOCK_BYTES, BUSY, CommandError, Compared, TASK_SET_FULL, check, compared};
use conformance::initiator::{Session, SessionError, SessionOptions};
use conformance::sense::Sense;
use conformance::url::Url;
use random::Random;
use random::sector::{number_of, numbered};

/// Number of blocks per READ when everything is read.
const VERIFY_BLOCKS: u32 = 1024;
/// Number of tries to find blocks that no command in flight touches, before waiting for one to
/// finish.
const PLACE_TRIES: usize = 8;
/// Pause between attempts to connect.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);

/// Largest number of retries of a command.
const MAX_RETRIES: u32 = 1000;
/// Pause before a retry after BUSY or TASK SET FULL.
const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// Parameters of the load.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// URLs of the logical units of one array, with 512-byte blocks; each is written from block
    /// `first_lba` on.
    pub urls: Vec<Url>,
    /// First block of the region of each logical unit.
    pub first_lba: u64,
    /// Number of blocks in the region of each logical unit.
    pub blocks: u32,
    /// Largest number of blocks in a WRITE or READ.
    pub max_write_blocks: u32,
    /// Largest number of blocks in a clone, UNMAP or WRITE SAME; at most 65535.
    pub max_extent_blocks: u32,
    /// Number of commands in flight.
    pub depth: usize,
    /// Seed of all choices.
    pub seed: u64,
    /// InitiatorName.
    pub initiator_name: String,
    /// Time limit of each command. A command that takes longer counts as a lost connection.
    pub timeout: Duration,
    /// Longest time without a connection.
    pub outage: Duration,
}

impl LoadOptions {
    /// Default parameters: 32 MiB of each logical unit, sixteen commands in flight.
    pub fn new(urls: Vec<Url>) -> Self {
        Self {
            urls,
            first_lba: 0,
            blocks: 65_536,
            max_write_blocks: 128,
            max_extent_blocks: 4096,
            depth: 16,
            seed: 1,
            initiator_name: "iqn.2026-01.org.example:verifying-load".into(),
            timeout: Duration::from_secs(20),
            outage: Duration::from_secs(60),
        }
    }
}

/// Counters of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Number of acknowledged WRITE.
    pub writes: u64,
    /// Number of acknowledged EXTENDED COPY.
    pub clones: u64,
    /// Number of acknowledged UNMAP.
    pub unmaps: u64,
    /// Number of acknowledged WRITE SAME.
    pub write_sames: u64,
    /// Number of acknowledged COMPARE AND WRITE.
    pub compare_and_writes: u64,
    /// Number of compared READ.
    pub reads: u64,
    /// Number of blocks compared, in READs and after outages.
    pub blocks_verified: u64,
    /// Number of lost connections.
    pub outages: u64,
    /// Number of commands in flight when a connection was lost.
    pub commands_in_doubt: u64,
    /// Number of blocks in doubt that held their old content.
    pub blocks_old: u64,
    /// Number of blocks in doubt that held their new content.
    pub blocks_new: u64,
    /// Number of retries after BUSY, TASK SET FULL or a unit attention.
    pub retries: u64,
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "WRITE {} · clone {} · UNMAP {} · WRITE SAME {} · COMPARE AND WRITE {} · READ {} · {} blocks verified · {} outages with {} \
             commands in doubt: {} blocks old, {} new · {} sent again",
            self.writes,
            self.clones,
            self.unmaps,
            self.write_sames,
            self.compare_and_writes,
            self.reads,
            self.blocks_verified,
            self.outages,
            self.commands_in_doubt,
            self.blocks_old,
            self.blocks_new,
            self.retries
        )
    }
}

/// Reason why the load ended.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The options make no sense.
    #[error("{0}")]
    Options(&'static str),
    /// A block does not hold its expected content: an acknowledged effect was lost or came late, or
    /// the block is torn.
    #[error("{url} block {lba}: found {found}, expected {expected:?} ({context})")]
    Mismatch {
        /// URL of the logical unit.
        url: String,
        /// LBA of the block.
        lba: u64,
        /// Stamp found, or a description.
        found: String,
        /// Possible stamps.
        expected: Vec<u64>,
        /// Situation in which it was noticed.
        context: &'static str,
    },
    /// A command failed in a way that an outage does not explain.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The array did not come back.
    #[error("no connection for {0:?}: {1}")]
    Outage(Duration, CommandError),
}

/// Blocks of one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    unit: usize,
    start: u32,
    count: u32,
}

impl Range {
    fn overlaps(&self, other: &Range) -> bool {
        self.unit == other.unit && self.start < other.start + other.count && other.start < self.start + self.count
    }

    fn indexes(&self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.count) as usize
    }
}

/// A command before it is sent.
#[derive(Clone, Debug)]
enum Work {
    Read(Range),
    /// First stamp; it is incremented for each block.
    Write(Range, u64),
    Clone {
        source: Range,
        destination: Range,
    },
    Unmap(Range),
    /// Stamp 0 for zeros.
    WriteSame {
        range: Range,
        stamp: u64,
        unmap: bool,
    },
    /// One block.
    CompareAndWrite {
        range: Range,
        stamp: u64,
    },
}

impl Work {
    fn target(&self) -> Range {
        match *self {
            Self::Read(range) | Self::Write(range, _) | Self::Unmap(range) => range,
            Self::Clone { destination, .. } => destination,
            Self::WriteSame { range, .. } | Self::CompareAndWrite { range, .. } => range,
        }
    }

    fn is_read(&self) -> bool {
        matches!(self, Self::Read(_))
    }
}

#[derive(Debug)]
struct InFlight {
    work: Work,
    /// Stamps of the target blocks after the command takes effect; empty for READ.
    new: Vec<u64>,
    retries: u32,
}

/// A load that knows the expected content of every block.
#[derive(Debug)]
pub struct VerifyingLoad {
    options: LoadOptions,
    random: Random,
    next_stamp: u64,
    /// Stamp of each block, for each logical unit.
    known: Vec<Vec<u64>>,
    /// Blocks that may hold stamps other than those of `known`.
    doubtful: BTreeMap<(usize, u32), Vec<u64>>,
    initialized: bool,
    /// Set after an outage until everything has been read.
    verify: bool,
    /// Sessions, one for each target, and the index of the one that each logical unit uses.
    sessions: Vec<Session>,
    session_of: Vec<usize>,
    naa: Vec<[u8; 16]>,
    in_flight: HashMap<(usize, u32), InFlight>,
    report: LoadReport,
}

/// Error during the load.
enum StepError {
    /// Lost connection: the load reconnects.
    Lost(CommandError),
    Final(LoadError),
}

impl From<SessionError> for StepError {
    fn from(error: SessionError) -> Self {
        CommandError::from(error).into()
    }
}

impl From<CommandError> for StepError {
    fn from(error: CommandError) -> Self {
        match &error {
            CommandError::Session(SessionError::Connect { .. } | SessionError::Lost(_) | SessionError::Timeout(_)) => {
                Self::Lost(error)
            }
            // A daemon that is stopping or starting.
            CommandError::Session(SessionError::Login { status, .. }) if status.class() == 3 => Self::Lost(error),
            _ => Self::Final(error.into()),
        }
    }
}

impl VerifyingLoad {
    /// Creates a load. The regions are zeroed when it starts.
    pub fn new(options: LoadOptions) -> Result<Self, LoadError> {
        if options.urls.is_empty() || options.depth == 0 {
            return Err(LoadError::Options("a load needs a logical unit and a depth"));
        }
        let longest = options.max_write_blocks.max(options.max_extent_blocks);
        if options.max_write_blocks == 0 || options.max_extent_blocks == 0 || options.max_extent_blocks > 65_535 {
            return Err(LoadError::Options("commands have at least one block, and clones at most 65535"));
        }
        if options.blocks < longest.saturating_mul(2) {
            return Err(LoadError::Options("a region has to be twice as long as the longest command"));
        }
        let mut session_of = Vec::new();
        let mut first_of: Vec<usize> = Vec::new();
        for (index, url) in options.urls.iter().enumerate() {
            let known = first_of.iter().position(|first| options.urls[*first].same_session(url));
            session_of.push(known.unwrap_or(first_of.len()));
            if known.is_none() {
                first_of.push(index);
            }
        }
        Ok(Self {
            random: Random::new(options.seed),
            next_stamp: 1,
            known: vec![vec![0; options.blocks as usize]; options.urls.len()],
            doubtful: BTreeMap::new(),
            initialized: false,
            verify: false,
            sessions: Vec::new(),
            session_of,
            naa: Vec::new(),
            in_flight: HashMap::new(),
            report: LoadReport::default(),
            options,
        })
    }

    /// Counters so far.
    pub fn report(&self) -> &LoadReport {
        &self.report
    }

    /// Runs until `stop` is set, through any number of outages, then waits for the commands in flight. May be called
    /// again.
    ///
    /// If `stop` is set while there is no connection, this returns at once; blocks in doubt are
    /// then read by the next call.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<(), LoadError> {
        self.persist(stop, true)
    }

    /// Connects if necessary, and reads every block, as after an outage.
    pub fn verify_all(&mut self) -> Result<(), LoadError> {
        self.verify = self.initialized;
        self.persist(&AtomicBool::new(true), false)
    }

    fn persist(&mut self, stop: &AtomicBool, may_stop_without_connection: bool) -> Result<(), LoadError> {
        let mut since = None;
        loop {
            match self.run_connected(stop, &mut since) {
                Ok(()) => return Ok(()),
                Err(StepError::Final(error)) => return Err(error),
                Err(StepError::Lost(error)) => {
                    self.lose_connection();
                    let begin = *since.get_or_insert_with(Instant::now);
                    if begin.elapsed() > self.options.outage {
                        return Err(LoadError::Outage(self.options.outage, error));
                    }
                    if may_stop_without_connection && stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    std::thread::sleep(RECONNECT_PAUSE);
                }
            }
        }
    }

    fn run_connected(&mut self, stop: &AtomicBool, since: &mut Option<Instant>) -> Result<(), StepError> {
        self.connect()?;
        if !self.initialized {
            self.initialize()?;
            self.initialized = true;
        }
        if self.verify {
            self.read_everything()?;
            self.verify = false;
        }
        *since = None;
        while !stop.load(Ordering::Relaxed) {
            while self.in_flight.len() < self.options.depth {
                let Some(work) = self.choose() else {
                    break;
                };
                self.submit(work, 0)?;
            }
            self.finish_one()?;
        }
        while !self.in_flight.is_empty() {
            self.finish_one()?;
        }
        Ok(())
    }

    // Connection.

    fn connect(&mut self) -> Result<(), StepError> {
        if !self.sessions.is_empty() {
            return Ok(());
        }
        let mut sessions: Vec<Session> = Vec::new();
        let mut naa = Vec::new();
        for (index, url) in self.options.urls.iter().enumerate() {
            let position = self.session_of.get(index).copied().unwrap_or(0);
            if position == sessions.len() {
                let options = SessionOptions {
                    initiator_name: self.options.initiator_name.clone(),
                    qualifier: u16::try_from(position).unwrap_or(u16::MAX),
                    timeout: self.options.timeout,
                    maximum_segment: None,
                };
                sessions.push(Session::connect(url, &options)?);
            }
            if let Some(session) = sessions.get_mut(position) {
                session.select(url);
                session.clear_unit_attentions()?;
                naa.push(session.naa_designator()?);
            }
        }
        self.sessions = sessions;
        self.naa = naa;
        Ok(())
    }

    /// Every command in flight may have had its effect on any of its blocks.
    fn lose_connection(&mut self) {
        if !self.sessions.is_empty() {
            self.report.outages += 1;
        }
        self.sessions.clear();
        self.verify = self.initialized;
        for (_, in_flight) in self.in_flight.drain() {
            let range = in_flight.work.target();
            if in_flight.work.is_read() {
                continue;
            }
            self.report.commands_in_doubt += 1;
            for (block, new) in (range.start..).zip(in_flight.new) {
                let possible = self.doubtful.entry((range.unit, block)).or_default();
                if !possible.contains(&new) {
                    possible.push(new);
                }
            }
        }
    }

    fn lun(&self, unit: usize) -> [u8; 8] {
        self.options.urls.get(unit).map(Url::lun_bytes).unwrap_or_default()
    }

    fn initialize(&mut self) -> Result<(), StepError> {
        let step = self.options.max_extent_blocks.min(2048);
        for unit in 0..self.options.urls.len() {
            let mut start = 0;
            while start < self.options.blocks {
                let count = step.min(self.options.blocks - start);
                self.submit(Work::WriteSame { range: Range { unit, start, count }, stamp: 0, unmap: true }, 0)?;
                start += count;
                while self.in_flight.len() >= self.options.depth {
                    self.finish_one()?;
                }
            }
        }
        while !self.in_flight.is_empty() {
            self.finish_one()?;
        }
        self.report.write_sames = 0;
        Ok(())
    }

    fn read_everything(&mut self) -> Result<(), StepError> {
        for unit in 0..self.options.urls.len() {
            let mut start = 0;
            while start < self.options.blocks {
                let count = VERIFY_BLOCKS.min(self.options.blocks - start);
                self.submit(Work::Read(Range { unit, start, count }), 0)?;
                start += count;
                while self.in_flight.len() >= self.options.depth {
                    self.finish_one()?;
                }
            }
        }
        while !self.in_flight.is_empty() {
            self.finish_one()?;
        }
        Ok(())
    }

    // Commands.

    fn range(&mut self, longest: u32) -> Range {
        let unit = self.random.index(self.options.urls.len());
        // Short commands are more frequent than long ones, and half of all are aligned to 4 KiB.
        let cap = 1 + self.random.below(u64::from(longest));
        let mut count = u32::try_from(1 + self.random.below(cap)).unwrap_or(1);
        let room = u64::from(self.options.blocks - count);
        let mut start = u32::try_from(self.random.below(room + 1)).unwrap_or(0);
        if self.random.below(2) == 0 {
            start &= !7;
            count = count.next_multiple_of(8).min(longest).min(self.options.blocks - start);
        }
        Range { unit, start, count }
    }

    fn is_free(&self, work: &Work) -> bool {
        let target = work.target();
        let source = if let Work::Clone { source, .. } = work { Some(*source) } else { None };
        if source.is_some_and(|source| source.overlaps(&target)) {
            return false;
        }
        self.in_flight.values().all(|other| {
            let theirs = other.work.target();
            let their_source = if let Work::Clone { source, .. } = other.work { Some(source) } else { None };
            let both_read = work.is_read() && other.work.is_read();
            (both_read || !target.overlaps(&theirs))
                && their_source.is_none_or(|their_source| work.is_read() || !target.overlaps(&their_source))
                && source.is_none_or(|source| other.work.is_read() || !source.overlaps(&theirs))
        })
    }

    /// Chooses a command whose blocks no command in flight touches; `None` when none was found
    /// quickly.
    fn choose(&mut self) -> Option<Work> {
        for _ in 0..PLACE_TRIES {
            let work = match self.random.below(20) {
                0..8 => {
                    let range = self.range(self.options.max_write_blocks);
                    let stamp = self.next_stamp;
                    self.next_stamp += u64::from(range.count);
                    Work::Write(range, stamp)
                }
                8..12 => {
                    let source = self.range(self.options.max_extent_blocks);
                    let mut destination = self.range(self.options.max_extent_blocks);
                    destination.count = source.count;
                    destination.start = destination.start.min(self.options.blocks - source.count);
                    if self.random.below(2) == 0 {
                        // Equal modulo 4 KiB, like hosts' copies.
                        destination.start = (destination.start & !7) | (source.start & 7);
                        destination.start = if destination.start + source.count > self.options.blocks {
                            source.start & 7
                        } else {
                            destination.start
                        };
                    }
                    Work::Clone { source, destination }
                }
                12..14 => Work::Unmap(self.range(self.options.max_extent_blocks)),
                14 => {
                    let unmap = self.random.below(2) == 0;
                    Work::WriteSame { range: self.range(self.options.max_extent_blocks), stamp: 0, unmap }
                }
                15 => {
                    let stamp = self.next_stamp;
                    self.next_stamp += 1;
                    Work::WriteSame { range: self.range(self.options.max_write_blocks), stamp, unmap: false }
                }
                16 => {
                    let stamp = self.next_stamp;
                    self.next_stamp += 1;
                    let range = Range { count: 1, ..self.range(1) };
                    Work::CompareAndWrite { range, stamp }
                }
                _ => Work::Read(self.range(self.options.max_write_blocks)),
            };
            if self.is_free(&work) {
                return Some(work);
            }
        }
        None
    }

    fn stamps(&self, range: Range) -> Vec<u64> {
        self.known.get(range.unit).and_then(|unit| unit.get(range.indexes())).map(<[u64]>::to_vec).unwrap_or_default()
    }

    fn submit(&mut self, work: Work, retries: u32) -> Result<(), StepError> {
        let lba = |range: Range| self.options.first_lba + u64::from(range.start);
        let out = |data: Vec<u8>| TransferRequest::Out(Bytes::from(data));
        let (cdb, transfer, new) = match &work {
            Work::Read(range) => {
                let bytes = range.count * BLOCK_BYTES as u32;
                (cdb::read16(lba(*range), range.count), TransferRequest::In(bytes), Vec::new())
            }
            Work::Write(range, first) => {
                let new: Vec<u64> = (*first..).take(range.count as usize).collect();
                let mut data = BytesMut::zeroed(new.len() * BLOCK_BYTES);
                for (block, stamp) in data.chunks_exact_mut(BLOCK_BYTES).zip(&new) {
                    block.copy_from_slice(&numbered(*stamp));
                }
                (cdb::write16(lba(*range), range.count, false), TransferRequest::Out(data.freeze()), new)
            }
            Work::Clone { source, destination } => {
                let designators: Vec<[u8; 16]> =
                    [source, destination].iter().filter_map(|range| self.naa.get(range.unit).copied()).collect();
                let segment = CopySegment {
                    source: 0,
                    destination: 1,
                    source_lba: lba(*source),
                    destination_lba: lba(*destination),
                    blocks: u16::try_from(source.count).unwrap_or(u16::MAX),
                };
                let list = cdb::extended_copy_list(&designators, &[segment]);
                let cdb = cdb::extended_copy(u32::try_from(list.len()).unwrap_or(u32::MAX));
                (cdb, out(list), self.stamps(*source))
            }
            Work::Unmap(range) => {
                let list = cdb::unmap_list(&[(lba(*range), range.count)]);
                let cdb = cdb::unmap(u16::try_from(list.len()).unwrap_or(u16::MAX));
                (cdb, out(list), vec![0; range.count as usize])
            }
            Work::WriteSame { range, stamp, unmap } => {
                let cdb = cdb::write_same16(lba(*range), range.count, *unmap, false);
                (cdb, out(numbered(*stamp).to_vec()), vec![*stamp; range.count as usize])
            }
            Work::CompareAndWrite { range, stamp } => {
                let old = self.stamps(*range).first().copied().unwrap_or(0);
                let data = [numbered(old), numbered(*stamp)].concat();
                (cdb::compare_and_write(lba(*range), 1), out(data), vec![*stamp])
            }
        };
        let unit = work.target().unit;
        let position = self.session_of.get(unit).copied().unwrap_or(0);
        let lun = self.lun(unit);
        // Counted as in flight even when sending it fails half way.
        let Some(session) = self.sessions.get_mut(position) else {
            return Err(StepError::Final(LoadError::Options("no session")));
        };
        let (tag, result) = session.enqueue(lun, cdb, transfer);
        self.in_flight.insert((position, tag), InFlight { work, new, retries });
        result.map_err(StepError::from)
    }

    /// Waits until a command of any session has finished.
    fn finish_one(&mut self) -> Result<(), StepError> {
        if self.in_flight.is_empty() {
            return Ok(());
        }
        let deadline = Instant::now() + self.options.timeout;
        let patience = if self.sessions.len() == 1 { self.options.timeout } else { Duration::from_micros(500) };
        loop {
            for position in 0..self.sessions.len() {
                if !self.in_flight.keys().any(|(session, _)| *session == position) {
                    continue;
                }
                let Some(session) = self.sessions.get_mut(position) else {
                    continue;
                };
                if let Some(completion) = session.poll(patience)? {
                    return self.finish(position, completion);
                }
            }
            if Instant::now() > deadline {
                return Err(SessionError::Timeout(self.options.timeout).into());
            }
        }
    }

    fn finish(&mut self, position: usize, completion: Completion) -> Result<(), StepError> {
        let Some(InFlight { work, new, retries }) = self.in_flight.remove(&(position, completion.initiator_task_tag))
        else {
            return Ok(());
        };
        let busy = matches!(completion.status, BUSY | TASK_SET_FULL);
        let attention = matches!(Sense::parse(&completion.sense), Some(Sense { key: Sense::UNIT_ATTENTION, .. }));
        if (busy || attention) && retries < MAX_RETRIES {
            self.report.retries += 1;
            if busy {
                std::thread::sleep(RETRY_PAUSE);
            }
            return self.submit(work, retries + 1);
        }
        let (name, count) = match &work {
            Work::Read(range) => {
                let data = check("READ", completion)?;
                self.report.reads += 1;
                return self.verify(*range, &data).map_err(StepError::Final);
            }
            Work::CompareAndWrite { range, .. } => {
                if let Compared::Miscompare(_) = compared(completion)? {
                    return Err(StepError::Final(self.mismatch(
                        *range,
                        0,
                        "a miscompare".to_owned(),
                        "COMPARE AND WRITE with the expected content of the block",
                    )));
                }
                self.report.compare_and_writes += 1;
                self.set_known(work.target(), &new);
                return Ok(());
            }
            Work::Write(..) => ("WRITE", &mut self.report.writes),
            Work::Clone { .. } => ("EXTENDED COPY", &mut self.report.clones),
            Work::Unmap(_) => ("UNMAP", &mut self.report.unmaps),
            Work::WriteSame { .. } => ("WRITE SAME", &mut self.report.write_sames),
        };
        check(name, completion)?;
        *count += 1;
        self.set_known(work.target(), &new);
        Ok(())
    }

    /// Records these contents of the blocks.
    fn set_known(&mut self, range: Range, new: &[u64]) {
        if let Some(blocks) = self.known.get_mut(range.unit).and_then(|unit| unit.get_mut(range.indexes())) {
            for (block, stamp) in blocks.iter_mut().zip(new) {
                *block = *stamp;
            }
        }
    }

    fn verify(&mut self, range: Range, data: &[u8]) -> Result<(), LoadError> {
        let context = if self.verify { "after an outage" } else { "while running" };
        if data.len() != range.count as usize * BLOCK_BYTES {
            return Err(self.mismatch(range, 0, format!("{} bytes", data.len()), context));
        }
        let expected = self.stamps(range);
        for ((index, content), expected) in (0..range.count).zip(data.chunks_exact(BLOCK_BYTES)).zip(expected) {
            let Some(stamp) = number_of(content) else {
                return Err(self.mismatch(range, index, "torn or foreign data".to_owned(), context));
            };
            let possible = self.doubtful.remove(&(range.unit, range.start + index));
            if stamp == expected {
                self.report.blocks_old += u64::from(possible.is_some());
            } else if possible.as_ref().is_some_and(|possible| possible.contains(&stamp)) {
                self.report.blocks_new += 1;
                self.set_known(Range { start: range.start + index, count: 1, ..range }, &[stamp]);
            } else {
                if let Some(possible) = possible {
                    self.doubtful.insert((range.unit, range.start + index), possible);
                }
                return Err(self.mismatch(range, index, format!("stamp {stamp}"), context));
            }
            self.report.blocks_verified += 1;
        }
        Ok(())
    }

    fn mismatch(&self, range: Range, index: u32, found: String, context: &'static str) -> LoadError {
        let block = range.start + index;
        let mut expected = self.stamps(Range { start: block, count: 1, ..range });
        expected.extend(self.doubtful.get(&(range.unit, block)).into_iter().flatten());
        LoadError::Mismatch {
            url: self.options.urls.get(range.unit).map(Url::to_string).unwrap_or_default(),
            lba: self.options.first_lba + u64::from(block),
            found,
            expected,
            context,
        }
    }
}
