//! Task management and lost connections while writes run: does the target end exactly the tasks
//! that it reports as ended?
//!
//! Each check runs in rounds over blocks with known content. In a round, initiators send writes and
//! something interrupts them (a reset through another connection, ABORT TASK, a login that
//! reinstates the session, a connection that breaks during Data-Out). When the target has answered,
//! the blocks are read:
//!
//! * an acknowledged write is present;
//! * a write without an answer is present or absent, block by block, and stays so: data that
//!   appears later was written by a task that had ended;
//! * a write that was refused, or whose data never arrived in full, is absent.

mod region;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use iscsi::initiator::{Completion, TransferRequest};
use iscsi::pdu::{self, DataOut, Opcode, RESERVED_TAG, ScsiCommand, TaskManagementFunction, TaskManagementResponse};
use thiserror::Error;

use conformance::cdb;
use conformance::commands::{CommandError, check as check_status};
use conformance::initiator::{Session, SessionError, SessionOptions};
use conformance::sense::Sense;
use conformance::url::Url;
use random::Random;
use region::{Region, WriteResult};

/// Number of blocks that each initiator writes, in its own region.
const REGION_BLOCKS: u64 = 4096;
/// Number of initiators that write during a reset.
const WRITERS: u16 = 3;
/// Number of writes of each initiator in a round.
const WRITES: usize = 12;
/// Sizes of writes, in blocks: immediate data, unsolicited Data-Out, R2T.
const SIZES: [u32; 4] = [1, 8, 128, 1024];
/// Silence after which an unanswered write counts as ended, and the target is asked.
const SILENCE: Duration = Duration::from_millis(20);

/// Reason why a check failed.
#[derive(Debug, Error)]
pub enum DisturbanceError {
    /// A command that was not interrupted failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The target violated a rule.
    #[error("round {round}: {what}")]
    Violation {
        /// Number of the round, from 0.
        round: u32,
        /// Description of the violation.
        what: String,
    },
}

impl From<SessionError> for DisturbanceError {
    fn from(error: SessionError) -> Self {
        Self::Command(error.into())
    }
}

/// Parameters of a check.
#[derive(Clone, Debug)]
pub struct DisturbanceOptions {
    /// URLs of the logical unit, one for each portal. Its first 8 MiB are overwritten.
    pub urls: Vec<Url>,
    /// Number of rounds of each check.
    pub rounds: u32,
    /// Seed of all choices.
    pub seed: u64,
    /// Time limit of each command.
    pub timeout: Duration,
}

impl DisturbanceOptions {
    /// Default parameters: fifty rounds.
    pub fn new(urls: Vec<Url>) -> Self {
        Self { urls, rounds: 50, seed: 1, timeout: Duration::from_secs(30) }
    }

    fn url(&self, index: usize) -> Result<&Url, DisturbanceError> {
        let count = self.urls.len().max(1);
        self.urls.get(index % count).ok_or_else(|| violation(0, "no URL was given"))
    }

    /// Opens a session through one of the portals, and clears its unit attentions.
    fn connect(&self, portal: usize, qualifier: u16) -> Result<Session, DisturbanceError> {
        let options = SessionOptions { qualifier, timeout: self.timeout, ..SessionOptions::default() };
        let mut session = Session::connect(self.url(portal)?, &options)?;
        session.clear_unit_attentions()?;
        Ok(session)
    }
}

/// Number of writes of a check by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of rounds.
    pub rounds: u32,
    /// Number of acknowledged writes.
    pub acknowledged: u64,
    /// Number of refused writes, for example with a unit attention.
    pub refused: u64,
    /// Number of writes without an answer.
    pub unanswered: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, acknowledged, refused, unanswered } = self;
        write!(
            f,
            "{rounds} rounds; writes: {acknowledged} acknowledged, {refused} refused, {unanswered} ended without an answer"
        )
    }
}

/// A check of this module.
pub type Check = fn(&DisturbanceOptions) -> Result<Summary, DisturbanceError>;

/// All checks with their names.
pub const CHECKS: [(&str, Check); 4] = [
    ("resets while other connections write", reset_under_load),
    ("ABORT TASK of running writes", abort_task),
    ("session reinstatement with writes in flight", reinstatement),
    ("a connection cut in the middle of Data-Out", cut_data_out),
];

fn violation(round: u32, what: impl Into<String>) -> DisturbanceError {
    DisturbanceError::Violation { round, what: what.into() }
}

/// An initiator with its own blocks and its unanswered writes.
struct Writer {
    session: Session,
    region: Region,
    /// Blocks of each write by tag: (first, count).
    pending: HashMap<u32, (u64, u32)>,
    random: Random,
}

impl Writer {
    fn new(mut session: Session, index: u16, seed: u64) -> Result<Self, DisturbanceError> {
        let mut region = Region::new(u64::from(index) * REGION_BLOCKS, REGION_BLOCKS, u64::from(index) << 48);
        session.unmap(&[(region.start(), u32::try_from(REGION_BLOCKS).unwrap_or(u32::MAX))])?;
        region.read_back(&mut session)?;
        let random = Random::new(seed ^ u64::from(index).wrapping_mul(0x9E37_79B9));
        Ok(Self { session, region, pending: HashMap::new(), random })
    }

    /// Sends writes that do not overlap. A connection that breaks meanwhile shows when answers are
    /// awaited.
    fn send(&mut self) {
        let mut lba = self.region.start();
        for _ in 0..WRITES {
            let blocks = SIZES.get(self.random.index(SIZES.len())).copied().unwrap_or(1);
            if lba + u64::from(blocks) > self.region.end() {
                break;
            }
            let data = self.region.new_content(lba, blocks);
            let lun = self.session.lun();
            let transfer = TransferRequest::Out(data);
            let (tag, _sent) = self.session.enqueue(lun, cdb::write16(lba, blocks, false), transfer);
            self.pending.insert(tag, (lba, blocks));
            lba += u64::from(blocks);
        }
    }

    /// Collects answers until all have come except those of `ended`, the connection ends, or
    /// nothing comes for `patience`.
    fn collect(
        &mut self,
        round: u32,
        ended: &HashSet<u32>,
        patience: Duration,
        summary: &mut Summary,
    ) -> Result<(), DisturbanceError> {
        let mut silent_since = Instant::now();
        while self.pending.keys().any(|tag| !ended.contains(tag)) && silent_since.elapsed() < patience {
            match self.session.poll(patience) {
                Ok(Some(completion)) if ended.contains(&completion.initiator_task_tag) => {
                    return Err(violation(round, "an answer to a command that was aborted"));
                }
                Ok(Some(completion)) => self.count(round, completion, summary)?,
                Ok(None) => continue,
                Err(SessionError::Lost(_)) => break,
                Err(error) => return Err(error.into()),
            }
            silent_since = Instant::now();
        }
        Ok(())
    }

    /// Collects the answers that have already arrived.
    fn collect_arrived(&mut self, round: u32, summary: &mut Summary) -> Result<(), DisturbanceError> {
        while let Some(completion) = self.session.poll(Duration::ZERO)? {
            self.count(round, completion, summary)?;
        }
        Ok(())
    }

    fn count(&mut self, round: u32, completion: Completion, summary: &mut Summary) -> Result<(), DisturbanceError> {
        let Some((lba, blocks)) = self.pending.remove(&completion.initiator_task_tag) else {
            return Err(violation(round, "an answer to a command that had ended"));
        };
        let result = match check_status("WRITE (16)", completion) {
            Ok(_) => WriteResult::Written,
            Err(CommandError::Status { sense: Some(Sense { key: Sense::UNIT_ATTENTION, .. }), .. }) => {
                WriteResult::Refused
            }
            Err(error) => return Err(error.into()),
        };
        match result {
            WriteResult::Written => summary.acknowledged += 1,
            _ => summary.refused += 1,
        }
        self.region.decide(lba, blocks, result);
        Ok(())
    }

    /// Makes sure that unanswered writes have ended: ABORT TASK finds no task, or ends it.
    fn end_pending(&mut self, round: u32, summary: &mut Summary) -> Result<(), DisturbanceError> {
        let tags: Vec<u32> = self.pending.keys().copied().collect();
        for tag in tags {
            self.abort(round, tag)?;
        }
        self.collect_arrived(round, summary)?;
        self.give_up_pending(summary);
        Ok(())
    }

    /// Sends ABORT TASK. True when the target reports that it ended the task, false when it knows
    /// none.
    fn abort(&mut self, round: u32, tag: u32) -> Result<bool, DisturbanceError> {
        match self.session.task_management(TaskManagementFunction::ABORT_TASK, Some(tag))? {
            TaskManagementResponse::COMPLETE => Ok(true),
            TaskManagementResponse::TASK_DOES_NOT_EXIST => Ok(false),
            other => Err(violation(round, format!("ABORT TASK was answered with {other:?}"))),
        }
    }

    /// Gives up the pending writes: they have ended, and must not be answered any more.
    fn give_up_pending(&mut self, summary: &mut Summary) {
        summary.unanswered += self.pending.len() as u64;
        self.pending.clear();
    }

    /// Reads the region and compares it with its possible contents.
    fn verify(&mut self, round: u32) -> Result<(), DisturbanceError> {
        self.session.clear_unit_attentions()?;
        self.region.verify(&mut self.session).map_err(|error| error.in_round(round))
    }
}

/// Sends LOGICAL UNIT RESET and TARGET WARM RESET from one initiator while all write through all
/// portals. The initiator that resets has writes in flight too: each is either acknowledged or
/// never answered (the intent of libiscsi's LUNResetSimpleAsync).
pub fn reset_under_load(options: &DisturbanceOptions) -> Result<Summary, DisturbanceError> {
    let mut summary = Summary { rounds: options.rounds, ..Summary::default() };
    let mut writers = Vec::new();
    for index in 0..=WRITERS {
        let session = options.connect(usize::from(index), index + 1)?;
        writers.push(Writer::new(session, index, options.seed)?);
    }
    for round in 0..options.rounds {
        for writer in &mut writers {
            writer.send();
        }
        let function = match round % 4 {
            3 => TaskManagementFunction::TARGET_WARM_RESET,
            _ => TaskManagementFunction::LOGICAL_UNIT_RESET,
        };
        if let Some(resetter) = writers.first_mut() {
            let response = resetter.session.task_management(function, None)?;
            if response != TaskManagementResponse::COMPLETE {
                return Err(violation(round, format!("the reset was answered with {response:?}")));
            }
        }
        for writer in &mut writers {
            writer.collect(round, &HashSet::new(), SILENCE, &mut summary)?;
            writer.end_pending(round, &mut summary)?;
        }
        for writer in &mut writers {
            writer.verify(round)?;
        }
    }
    Ok(summary)
}

/// Sends ABORT TASK for every second write in flight. After "function complete" the write is never
/// answered; the remaining writes succeed.
pub fn abort_task(options: &DisturbanceOptions) -> Result<Summary, DisturbanceError> {
    let mut summary = Summary { rounds: options.rounds, ..Summary::default() };
    let mut writer = Writer::new(options.connect(0, 1)?, 0, options.seed)?;
    for round in 0..options.rounds {
        writer.send();
        let mut tags: Vec<u32> = writer.pending.keys().copied().collect();
        tags.sort_unstable();
        let mut aborted = HashSet::new();
        for tag in tags.into_iter().skip(usize::from(round % 2 == 1)).step_by(2) {
            let complete = writer.abort(round, tag)?;
            // An answer may have come before that of the function.
            writer.collect_arrived(round, &mut summary)?;
            if complete && writer.pending.contains_key(&tag) {
                aborted.insert(tag);
            }
        }
        writer.collect(round, &aborted, options.timeout, &mut summary)?;
        if let Some(tag) = writer.pending.keys().find(|tag| !aborted.contains(tag)) {
            return Err(violation(round, format!("the write with tag {tag:#x} was neither aborted nor answered")));
        }
        writer.give_up_pending(&mut summary);
        writer.verify(round)?;
    }
    Ok(summary)
}

/// Logs in with the initiator port of a session whose writes are in flight. The login reinstates
/// the session: the old connection is closed, and after the login nothing of the old session is
/// written (RFC 7143 §6.3.5).
pub fn reinstatement(options: &DisturbanceOptions) -> Result<Summary, DisturbanceError> {
    let mut summary = Summary { rounds: options.rounds, ..Summary::default() };
    let mut writer = Writer::new(options.connect(0, 1)?, 0, options.seed)?;
    for round in 0..options.rounds {
        writer.send();
        let new = options.connect(0, 1)?;
        writer.collect(round, &HashSet::new(), SILENCE, &mut summary)?;
        let mut old = std::mem::replace(&mut writer.session, new);
        let deadline = Instant::now() + options.timeout;
        loop {
            match old.poll(SILENCE) {
                Err(SessionError::Lost(_)) => break,
                Err(error) => return Err(error.into()),
                Ok(_) if Instant::now() > deadline => {
                    return Err(violation(round, "the session that was taken over still has its connection"));
                }
                Ok(_) => {}
            }
        }
        writer.give_up_pending(&mut summary);
        writer.verify(round)?;
    }
    Ok(summary)
}

/// Breaks a connection within the header or the data of a Data-Out PDU. The incomplete write
/// changes nothing; complete writes are present or absent.
pub fn cut_data_out(options: &DisturbanceOptions) -> Result<Summary, DisturbanceError> {
    const BLOCKS: u32 = 128;
    const FIRST_BYTES: usize = 8192;
    let mut summary = Summary { rounds: options.rounds, ..Summary::default() };
    let mut writer = Writer::new(options.connect(0, 1)?, 0, options.seed)?;
    let random = Random::new(options.seed);
    for round in 0..options.rounds {
        writer.send();
        writer.collect(round, &HashSet::new(), options.timeout, &mut summary)?;
        writer.give_up_pending(&mut summary);

        let lba = writer.region.start() + random.below(REGION_BLOCKS - u64::from(BLOCKS));
        let data = random::sector::numbered(u64::MAX - u64::from(round)).repeat(BLOCKS as usize);
        let tag = 0x7000_0000 + round;
        let lun = writer.session.lun();
        let machine = writer.session.machine();
        let mut command = ScsiCommand::from_wire(&pdu::blank(Opcode::SCSI_COMMAND.0, pdu::WRITE, tag));
        command.lun = lun;
        command.cmd_sn = machine.take_cmd_sn().into();
        command.exp_stat_sn = machine.exp_stat_sn().into();
        command.expected_data_transfer_length = u32::try_from(data.len()).unwrap_or(u32::MAX).into();
        command.cdb = cdb::write16(lba, BLOCKS, false);
        machine.send_pdu(command.to_wire(), Bytes::new());
        let mut header = DataOut::from_wire(&pdu::blank(Opcode::DATA_OUT.0, 0, tag));
        header.lun = lun;
        header.target_transfer_tag = RESERVED_TAG.into();
        let (first, rest) = data.split_at(FIRST_BYTES);
        machine.send_pdu(header.to_wire(), Bytes::copy_from_slice(first));
        header.flags = pdu::FINAL;
        header.data_sn = 1.into();
        header.buffer_offset = 8192.into();
        let mut last = header.to_wire().to_vec();
        // DataSegmentLength, which `send_pdu` would set.
        if let (Some(place), [_, length @ ..]) = (last.get_mut(5..8), (rest.len() as u32).to_be_bytes()) {
            place.copy_from_slice(&length);
        }
        last.extend_from_slice(rest);
        last.truncate(random.index(last.len()));
        machine.send_raw(last.into());
        // Writes what the socket takes, which is all of it.
        writer.session.poll(Duration::ZERO)?;
        // Another initiator port each time: the target has to notice the end by itself.
        let qualifier = u16::try_from(round % 1000).unwrap_or(0) + 2;
        writer.session = options.connect(0, qualifier)?;
        writer.verify(round)?;
        summary.unanswered += 1;
    }
    Ok(summary)
}
