//! Bench of a check: nexuses to the logical units, scratch ranges, and the administrator's hook.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use iscsi::initiator::TransferRequest;
use iscsi::pdu::{TaskManagementFunction, TaskManagementResponse};

use super::answer::Answer;
use super::check::{Need, NotPassed, Verdict, expect_bytes, failed, skipped};
use super::hook;
use super::run::Options;
use crate::cdb::{self, Cdb};
use crate::commands::GOOD;
use crate::initiator::{Session, SessionError, SessionOptions};
use crate::url::Url;
use random::Random;

/// Size of a logical block in bytes.
pub const BLOCK: usize = 512;
/// Alignment of scratch ranges in blocks: 1 MiB.
const ALIGNMENT: u64 = 2048;
/// Largest number of consecutive unit attentions that are cleared.
const MAX_ATTENTIONS: usize = 16;

/// An I_T nexus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Nexus {
    /// The first initiator through the first portal.
    A,
    /// The first initiator through the second portal.
    A2,
    /// A second initiator through the first portal.
    B,
    /// A third initiator through the first portal.
    C,
}

/// A logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    First,
    Second,
    Number(u16),
}

/// A nexus and a logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    nexus: Nexus,
    unit: Unit,
}

/// Nexus A to the first logical unit.
pub const A: Path = Path { nexus: Nexus::A, unit: Unit::First };
/// Nexus A2 to the first logical unit.
pub const A2: Path = Path { nexus: Nexus::A2, unit: Unit::First };
/// Nexus B to the first logical unit.
pub const B: Path = Path { nexus: Nexus::B, unit: Unit::First };
/// Nexus C to the first logical unit.
pub const C: Path = Path { nexus: Nexus::C, unit: Unit::First };

impl Path {
    /// Path of this nexus to the second logical unit.
    pub const fn second(self) -> Self {
        Self { unit: Unit::Second, ..self }
    }

    /// Path of this nexus to another LUN.
    pub const fn lun(self, lun: u16) -> Self {
        Self { unit: Unit::Number(lun), ..self }
    }
}

/// A command in flight.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    nexus: Nexus,
    tag: u32,
    opcode: u8,
}

/// Resources of a check.
pub struct Bench<'a> {
    options: &'a Options,
    stop: &'a AtomicBool,
    sessions: BTreeMap<Nexus, Session>,
    cursor: u64,
    random: Random,
    pool_filled: Option<Instant>,
}

impl<'a> Bench<'a> {
    /// Creates a bench without connections. `stop` ends long checks early.
    pub fn new(options: &'a Options, stop: &'a AtomicBool) -> Self {
        Self { options, stop, sessions: BTreeMap::new(), cursor: 0, random: Random::new(1), pool_filled: None }
    }

    /// First requirement of a check that is not met.
    pub fn missing_need(&self, needs: &[Need]) -> Option<Need> {
        needs.iter().copied().find(|need| match need {
            Need::Writes => !self.options.destroy_data,
            Need::SecondPortal => self.options.second_portal.is_none(),
            Need::SecondUnit => self.options.second_lun.is_none(),
            Need::Hook => self.options.hook.is_none(),
        })
    }

    /// Options of the run.
    pub fn options(&self) -> &Options {
        self.options
    }

    /// Fails once `stop` is set.
    pub fn check_stopped(&self) -> Verdict {
        if self.stop.load(Ordering::Relaxed) { skipped("interrupted") } else { Ok(()) }
    }

    // Nexuses.

    /// URL of a path: host, port, target and LUN.
    pub fn url(&self, path: Path) -> Result<Url, NotPassed> {
        let mut url = self.options.url.clone();
        if path.nexus == Nexus::A2 {
            let Some((host, port)) = &self.options.second_portal else {
                return skipped(Need::SecondPortal.missing());
            };
            url.host.clone_from(host);
            url.port = *port;
        }
        url.lun = match (path.unit, self.options.second_lun) {
            (Unit::First, _) => url.lun,
            (Unit::Number(lun), _) | (Unit::Second, Some(lun)) => lun,
            (Unit::Second, None) => return skipped(Need::SecondUnit.missing()),
        };
        Ok(url)
    }

    /// Name, ISID and time limit of a nexus.
    pub fn session_options(&self, path: Path) -> SessionOptions {
        let which = match path.nexus {
            Nexus::A | Nexus::A2 => 0,
            Nexus::B => 1,
            Nexus::C => 2,
        };
        let given = self.options.initiators.get(which).cloned();
        let base = self.options.initiators.first().cloned().unwrap_or_else(|| SessionOptions::default().initiator_name);
        SessionOptions {
            initiator_name: given.unwrap_or_else(|| if which == 0 { base } else { format!("{base}-{}", which + 1) }),
            // A2 has the same initiator port as A.
            qualifier: 1,
            timeout: self.options.timeout,
            maximum_segment: None,
        }
    }

    /// Session of a nexus; if there is none, opens it and clears its unit attentions.
    pub fn session(&mut self, path: Path) -> Result<&mut Session, NotPassed> {
        let (url, options) = (self.url(path)?, self.session_options(path));
        if let Entry::Vacant(place) = self.sessions.entry(path.nexus) {
            place.insert(Session::connect(&url, &options)?);
            self.clear_unit_attentions_of(path.nexus)?;
        }
        match self.sessions.get_mut(&path.nexus) {
            Some(session) => Ok(session),
            None => failed("no session"),
        }
    }

    /// Opens another session, with this suffix to the initiator name. The bench does not keep it.
    pub fn other_session(&self, name: &str) -> Result<Session, SessionError> {
        let url = &self.options.url;
        let base = self.session_options(A);
        let options = SessionOptions { initiator_name: format!("{}-{name}", base.initiator_name), ..base };
        Session::connect(url, &options)
    }

    /// Opens another session, with exactly this initiator name. The bench does not keep it.
    pub fn named_session(&self, name: &str) -> Result<Session, SessionError> {
        let options = SessionOptions { initiator_name: name.to_owned(), ..self.session_options(A) };
        Session::connect(&self.options.url, &options)
    }

    /// Cuts the TCP connection of a nexus.
    pub fn cut(&mut self, path: Path) {
        self.sessions.remove(&path.nexus);
    }

    /// Cuts all connections, after a check that may have left state behind.
    pub fn cut_all(&mut self) {
        self.sessions.clear();
    }

    /// Logs out of a nexus.
    pub fn log_out(&mut self, path: Path) -> Verdict {
        match self.sessions.remove(&path.nexus) {
            Some(session) => Ok(session.logout()?),
            None => Ok(()),
        }
    }

    /// Clears unit attentions of all nexuses; drops those whose session broke.
    pub fn clear_unit_attentions(&mut self) {
        let nexuses: Vec<_> = self.sessions.keys().copied().collect();
        for nexus in nexuses {
            if self.clear_unit_attentions_of(nexus).is_err() {
                self.sessions.remove(&nexus);
            }
        }
    }

    fn clear_unit_attentions_of(&mut self, nexus: Nexus) -> Verdict {
        let mut paths = vec![Path { nexus, unit: Unit::First }];
        if self.options.second_lun.is_some() {
            paths.push(Path { nexus, unit: Unit::Second });
        }
        for path in paths {
            let lun = self.url(path)?.lun_bytes();
            let Some(session) = self.sessions.get_mut(&nexus) else { return Ok(()) };
            for _ in 0..MAX_ATTENTIONS {
                let tag = session.submit_to(lun, cdb::test_unit_ready(), TransferRequest::None)?;
                let answer = Answer::new(0, session.wait(tag)?);
                // Any other answer is left to the check.
                if !matches!(answer.sense(), Some((0x06, ..))) {
                    break;
                }
            }
        }
        Ok(())
    }

    // Commands.

    /// Sends a command and waits for its answer.
    pub fn send(&mut self, path: Path, cdb: Cdb, transfer: TransferRequest) -> Result<Answer, NotPassed> {
        let task = self.submit(path, cdb, transfer)?;
        self.wait(task)
    }

    /// Sends a command without data.
    pub fn ask(&mut self, path: Path, cdb: Cdb) -> Result<Answer, NotPassed> {
        self.send(path, cdb, TransferRequest::None)
    }

    /// Sends a command with room for `bytes` bytes of Data-In.
    pub fn fetch(&mut self, path: Path, cdb: Cdb, bytes: u32) -> Result<Answer, NotPassed> {
        self.send(path, cdb, TransferRequest::In(bytes))
    }

    /// Sends a command with Data-Out.
    pub fn send_data(&mut self, path: Path, cdb: Cdb, data: impl Into<Bytes>) -> Result<Answer, NotPassed> {
        self.send(path, cdb, TransferRequest::Out(data.into()))
    }

    /// Sends a command without waiting for the answer.
    pub fn submit(&mut self, path: Path, cdb: Cdb, transfer: TransferRequest) -> Result<Task, NotPassed> {
        let lun = self.url(path)?.lun_bytes();
        let tag = self.session(path)?.submit_to(lun, cdb, transfer)?;
        Ok(Task { nexus: path.nexus, tag, opcode: cdb[0] })
    }

    /// Waits for the answer to a command.
    pub fn wait(&mut self, task: Task) -> Result<Answer, NotPassed> {
        match self.sessions.get_mut(&task.nexus) {
            Some(session) => Ok(Answer::new(task.opcode, session.wait(task.tag)?)),
            None => failed("the session of a command has ended"),
        }
    }

    /// Waits for the answer to a command for at most `patience`; answers to other commands of the
    /// nexus are lost.
    pub fn wait_for(&mut self, task: Task, patience: Duration) -> Result<Option<Answer>, NotPassed> {
        let Some(session) = self.sessions.get_mut(&task.nexus) else {
            return failed("the session of a command has ended");
        };
        let started = Instant::now();
        loop {
            let left = patience.saturating_sub(started.elapsed());
            match session.poll(left)? {
                Some(completion) if completion.initiator_task_tag == task.tag => {
                    return Ok(Some(Answer::new(task.opcode, completion)));
                }
                None if left.is_zero() => return Ok(None),
                _ => {}
            }
        }
    }

    /// Sends a task management function for the logical unit of the path and waits for the response.
    pub fn manage(
        &mut self,
        path: Path,
        function: TaskManagementFunction,
        task: Option<Task>,
    ) -> Result<TaskManagementResponse, NotPassed> {
        let url = self.url(path)?;
        let session = self.session(path)?;
        session.select(&url);
        Ok(session.task_management(function, task.map(|task| task.tag))?)
    }

    /// Forgets a command: no answer is expected any more.
    pub fn forget(&mut self, task: Task) {
        if let Some(session) = self.sessions.get_mut(&task.nexus) {
            session.machine().forget(task.tag);
        }
    }

    // The medium.

    /// Number of blocks, from READ CAPACITY (16). The kit supports only blocks of 512 bytes.
    pub fn capacity(&mut self, path: Path) -> Result<u64, NotPassed> {
        let answer = self.fetch(path, cdb::read_capacity16(), 32)?.good()?;
        match answer.number(8, 4)? {
            512 => Ok(answer.number(0, 8)?.saturating_add(1)),
            bytes => skipped(format!("the logical unit has blocks of {bytes} bytes")),
        }
    }

    /// Reserves a range of blocks to write to, aligned to 1 MiB, on both logical units. Its content
    /// is undefined.
    pub fn scratch(&mut self, blocks: u64) -> Result<u64, NotPassed> {
        let mut capacity = self.capacity(A)?;
        if self.options.second_lun.is_some() {
            capacity = capacity.min(self.capacity(A.second())?);
        }
        let end = capacity / ALIGNMENT * ALIGNMENT;
        let length = blocks.next_multiple_of(ALIGNMENT);
        if length > end {
            return skipped(format!("the logical unit has less than {length} blocks"));
        }
        if self.cursor + length > end {
            self.cursor = 0;
        }
        let lba = self.cursor;
        self.cursor += length;
        Ok(lba)
    }

    /// Makes the next scratch range the first one: checks that fill the pool write to the second
    /// half of the logical unit.
    pub fn rewind(&mut self) {
        self.cursor = 0;
    }

    /// Data without zeros that differs from block to block and from call to call.
    pub fn pattern(&mut self, blocks: usize) -> Vec<u8> {
        let first = self.random.next();
        let mut data = Vec::with_capacity(blocks * BLOCK);
        for block in 0..blocks as u64 {
            let word = random::combine(first, block) | 0x0101_0101_0101_0101;
            for _ in 0..BLOCK / 8 {
                data.extend_from_slice(&word.to_be_bytes());
            }
        }
        data
    }

    /// Writes whole blocks, in pieces of 1 MiB.
    pub fn write(&mut self, path: Path, lba: u64, data: &[u8]) -> Verdict {
        for (piece, at) in data.chunks(1 << 20).zip((lba..).step_by(2048)) {
            let blocks = u32::try_from(piece.len() / BLOCK).unwrap_or(u32::MAX);
            self.send_data(path, cdb::write16(at, blocks, false), piece.to_vec())?.good()?;
        }
        Ok(())
    }

    /// Reads blocks, in pieces of 1 MiB.
    pub fn read(&mut self, path: Path, lba: u64, blocks: u32) -> Result<Vec<u8>, NotPassed> {
        let mut data = Vec::new();
        let (mut at, mut left) = (lba, blocks);
        while left > 0 {
            let piece = left.min(2048);
            let bytes = piece * 512;
            data.extend_from_slice(
                self.fetch(path, cdb::read16(at, piece), bytes)?.good()?.length(bytes as usize)?.data(),
            );
            at += u64::from(piece);
            left -= piece;
        }
        Ok(data)
    }

    /// Reads blocks and compares them.
    pub fn expect_content(&mut self, path: Path, lba: u64, expected: &[u8]) -> Verdict {
        let blocks = u32::try_from(expected.len() / BLOCK).unwrap_or(u32::MAX);
        let found = self.read(path, lba, blocks)?;
        expect_bytes(&format!("content from LBA {lba}"), &found, expected)
    }

    /// Makes a range read as zeros: by UNMAP, or by writing zeros where there is no UNMAP.
    pub fn clear(&mut self, path: Path, lba: u64, blocks: u32) -> Verdict {
        let list = cdb::unmap_list(&[(lba, blocks)]);
        let answer = self.send_data(path, cdb::unmap(24), list)?;
        let zeros = vec![0; blocks as usize * BLOCK];
        if answer.status() == GOOD && self.read(path, lba, blocks)? == zeros {
            return Ok(());
        }
        self.write(path, lba, &zeros)
    }

    // The administrator.

    /// Whether a check of this run filled the pool within this time.
    pub fn pool_was_full_within(&self, time: Duration) -> bool {
        self.pool_filled.is_some_and(|when| when.elapsed() < time)
    }

    /// Runs an action of the administrator's hook; returns its output.
    pub fn hook(&mut self, arguments: &[&str]) -> Result<String, NotPassed> {
        if arguments.first() == Some(&"fill-pool") {
            self.pool_filled = Some(Instant::now());
        }
        match &self.options.hook {
            Some(program) => hook::run(program, arguments),
            None => skipped(Need::Hook.missing()),
        }
    }
}
