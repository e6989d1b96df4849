//! Race: do COMPARE AND WRITE, WRITE, WRITE SAME, UNMAP, EXTENDED COPY and WRITE USING TOKEN to one
//! block, sent by several initiators at once, fit a serial order?
//!
//! The test runs in rounds. In a round every initiator sends a few commands on the same block, all
//! of them before the first answer is awaited; when all are answered, one initiator reads the
//! block. The content before the round is known (the last round left it). Each writing command
//! writes a different content; only UNMAP and WRITE SAME without data write zeros. Then the check:
//! is there an order of the round's commands that
//!
//! * respects time: a command answered before another one was sent comes first;
//! * explains every answer: a COMPARE AND WRITE that succeeded finds exactly the image it compared with, one that
//!   miscompared finds another, which differs first at the offset its sense data gives, and a READ finds exactly what
//!   it returned;
//! * ends with the content that is read after the round?
//!
//! If there is none, an acknowledged update was lost (or a block was torn, or a command took effect
//! late). A plain WRITE that was acknowledged while COMPARE AND WRITE had read the block but not
//! yet written it is lost in exactly this way: the old image cannot have been there after the
//! WRITE, nor the new one before it. The check is exact: it tries all orders, which is quick for at
//! most 16 commands because many orders lead to the same state.

mod check;

use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use iscsi::initiator::{Completion, TransferRequest};
use thiserror::Error;

use crate::cdb::{self, CopySegment};
use crate::commands::{BLOCK_BYTES, BUSY, CommandError, Compared, TASK_SET_FULL, check as check_status, compared};
use crate::initiator::{Session, SessionOptions};
use crate::sense::Sense;
use crate::token::{self, TIMEOUT_S, Token};
use crate::url::Url;
use check::{Effect, Operation};
use random::Random;
use random::sector::{number_of, numbered};

/// Largest number of commands in a round.
pub const MAX_OPERATIONS: usize = 16;
/// Number of violations described in the report; further ones are only counted.
pub const VIOLATIONS_DESCRIBED: usize = 10;
/// Largest number of retries after BUSY, TASK SET FULL or a unit attention.
const MAX_RETRIES: u32 = 100;

/// Parameters of a race.
#[derive(Clone, Debug)]
pub struct RaceOptions {
    /// URLs of the logical unit, one for each initiator; different portals give different paths.
    pub urls: Vec<Url>,
    /// Number of rounds.
    pub rounds: u64,
    /// LBA of the contested block. The `source_blocks` blocks after it are written too.
    pub lba: u64,
    /// Number of blocks after the contested one that EXTENDED COPY copies from.
    pub source_blocks: u16,
    /// Largest number of commands of each initiator in a round; times the number of initiators it
    /// must not exceed [`MAX_OPERATIONS`].
    pub commands_each: usize,
    /// Commands that take part besides COMPARE AND WRITE and READ.
    pub writers: Writers,
    /// Seed of all choices.
    pub seed: u64,
    /// Time limit of each command.
    pub timeout: Duration,
}

impl RaceOptions {
    /// Default parameters: a hundred thousand rounds with all commands.
    pub fn new(urls: Vec<Url>) -> Self {
        Self {
            urls,
            rounds: 100_000,
            lba: 0,
            source_blocks: 64,
            commands_each: 2,
            writers: Writers { write: true, write_same: true, unmap: true, extended_copy: true, tokens: true },
            seed: 1,
            timeout: Duration::from_secs(30),
        }
    }
}

/// Commands that race with COMPARE AND WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writers {
    /// WRITE.
    pub write: bool,
    /// WRITE SAME, with and without data.
    pub write_same: bool,
    /// UNMAP.
    pub unmap: bool,
    /// EXTENDED COPY.
    pub extended_copy: bool,
    /// WRITE USING TOKEN; each initiator has its own token of the blocks that EXTENDED COPY copies
    /// from.
    pub tokens: bool,
}

/// Result of a race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaceReport {
    /// Number of rounds run.
    pub rounds: u64,
    /// Number of COMPARE AND WRITE that wrote.
    pub compare_and_write_written: u64,
    /// Number of COMPARE AND WRITE that miscompared.
    pub compare_and_write_miscompared: u64,
    /// Number of WRITE.
    pub writes: u64,
    /// Number of WRITE SAME.
    pub write_sames: u64,
    /// Number of UNMAP.
    pub unmaps: u64,
    /// Number of EXTENDED COPY.
    pub extended_copies: u64,
    /// Number of WRITE USING TOKEN.
    pub token_writes: u64,
    /// Number of READ within rounds.
    pub reads: u64,
    /// Number of retries after BUSY, TASK SET FULL or a unit attention.
    pub retries: u64,
    /// Number of rounds that fit no serial order: lost updates.
    pub violations: u64,
    /// Descriptions of the first violations.
    pub descriptions: Vec<String>,
    /// Elapsed time.
    pub elapsed: Duration,
}

impl RaceReport {
    /// Whether every round fits a serial order.
    pub fn passed(&self) -> bool {
        self.violations == 0
    }
}

impl fmt::Display for RaceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed() { "no lost update" } else { "UPDATES LOST" };
        writeln!(f, "{verdict}: {} of {} rounds fit no serial order", self.violations, self.rounds)?;
        writeln!(
            f,
            "COMPARE AND WRITE {} written, {} miscompared · WRITE {} · WRITE SAME {} · UNMAP {} · EXTENDED COPY {} · \
             WRITE USING TOKEN {} · READ {} · {} sent again · {:.1} s",
            self.compare_and_write_written,
            self.compare_and_write_miscompared,
            self.writes,
            self.write_sames,
            self.unmaps,
            self.extended_copies,
            self.token_writes,
            self.reads,
            self.retries,
            self.elapsed.as_secs_f64()
        )?;
        self.descriptions.iter().try_for_each(|description| writeln!(f, "{description}"))
    }
}

/// Reason why the race could not be completed.
#[derive(Debug, Error)]
pub enum RaceError {
    /// The options make no sense.
    #[error("{0}")]
    Options(&'static str),
    /// A command failed.
    #[error("round {round}: {error}")]
    Command {
        /// Number of the round.
        round: u64,
        /// Error of the command.
        error: CommandError,
    },
    /// A block holds content that the race did not write.
    #[error("round {round}: block {lba} holds neither zeros nor written data: torn or foreign data")]
    Torn {
        /// Number of the round.
        round: u64,
        /// LBA of the block.
        lba: u64,
    },
}

/// A command before it is sent.
#[derive(Clone, Copy, Debug)]
enum Choice {
    CompareAndWrite { compare: u64, write: u64 },
    Write { stamp: u64 },
    WriteSame { stamp: u64 },
    WriteSameZeros,
    Unmap,
    ExtendedCopy { index: u16, stamp: u64 },
    WriteUsingToken { index: u16, stamp: u64 },
    Read,
}

struct SentCommand {
    initiator: usize,
    tag: u32,
    choice: Choice,
    retries: u32,
    start: Instant,
    end: Option<Instant>,
    effect: Option<Effect>,
}

/// Runs the race. The report states whether it passed; an error means that it could not be run.
pub fn run(options: &RaceOptions) -> Result<RaceReport, RaceError> {
    if options.urls.len() < 2 {
        return Err(RaceError::Options("a race needs at least two initiators"));
    }
    if options.commands_each == 0 || options.urls.len() * options.commands_each > MAX_OPERATIONS {
        return Err(RaceError::Options("at least one command for each initiator, and at most 16 in a round"));
    }
    if options.source_blocks == 0 {
        return Err(RaceError::Options("EXTENDED COPY needs a block to copy from"));
    }
    Race::new(options).map_err(|error| RaceError::Command { round: 0, error })?.run()
}

struct Race<'a> {
    options: &'a RaceOptions,
    sessions: Vec<Session>,
    naa: [u8; 16],
    /// Tokens of the sources, one for each initiator.
    tokens: Vec<Token>,
    next_list: u32,
    random: Random,
    next_stamp: u64,
    sources: Vec<u64>,
    report: RaceReport,
}

impl<'a> Race<'a> {
    fn new(options: &'a RaceOptions) -> Result<Self, CommandError> {
        let mut sessions = Vec::new();
        for (qualifier, url) in (1..).zip(&options.urls) {
            let initiator_name = format!("iqn.2026-01.org.example:race{qualifier}");
            let options =
                SessionOptions { initiator_name, qualifier, timeout: options.timeout, ..SessionOptions::default() };
            let mut session = Session::connect(url, &options)?;
            session.clear_unit_attentions()?;
            sessions.push(session);
        }
        let mut race = Self {
            naa: [0; 16],
            tokens: Vec::new(),
            next_list: 1,
            random: Random::new(options.seed),
            next_stamp: 1,
            sources: Vec::new(),
            report: RaceReport::default(),
            sessions,
            options,
        };
        race.prepare()?;
        Ok(race)
    }

    fn stamp(&mut self) -> u64 {
        let stamp = self.next_stamp;
        self.next_stamp += 1;
        stamp
    }

    fn prepare(&mut self) -> Result<(), CommandError> {
        let mut data = Vec::new();
        for _ in 0..=self.options.source_blocks {
            let stamp = self.stamp();
            data.extend_from_slice(&numbered(stamp));
            self.sources.push(stamp);
        }
        self.sources.remove(0); // the contested block's
        let Some(first) = self.sessions.first_mut() else {
            return Ok(());
        };
        first.write16(self.options.lba, data.into())?;
        if self.options.writers.extended_copy {
            self.naa = first.naa_designator()?;
        }
        if self.options.writers.tokens {
            let sources = [(self.options.lba + 1, u32::from(self.options.source_blocks))];
            for session in &mut self.sessions {
                self.tokens.push(session.populate_token(TIMEOUT_S, &sources)?);
            }
        }
        Ok(())
    }

    fn run(mut self) -> Result<RaceReport, RaceError> {
        let begin = Instant::now();
        let mut content = self.read_block(0, 0)?;
        for round in 1..=self.options.rounds {
            let fail = |error| RaceError::Command { round, error };
            let mut sent = self.send_round(content).map_err(fail)?;
            self.collect(round, &mut sent)?;
            let reader = usize::try_from(round).unwrap_or(0) % self.sessions.len();
            let after = self.read_block(round, reader)?;
            let operations: Vec<Operation> = sent
                .iter()
                .filter_map(|sent| Some(Operation { start: sent.start, end: sent.end?, effect: sent.effect? }))
                .collect();
            if !check::fits_a_serial_order(content, &operations, after) {
                self.describe(round, content, &sent, after);
            }
            content = after;
            self.report.rounds = round;
        }
        self.report.elapsed = begin.elapsed();
        for session in self.sessions {
            // The result stands even if the logout fails.
            let _farewell = session.logout();
        }
        Ok(self.report)
    }

    fn read_block(&mut self, round: u64, reader: usize) -> Result<u64, RaceError> {
        let lba = self.options.lba;
        let Some(session) = self.sessions.get_mut(reader) else {
            return Err(RaceError::Options("no initiator"));
        };
        let data = session.read16(lba, 1).map_err(|error| RaceError::Command { round, error })?;
        number_of(&data).ok_or(RaceError::Torn { round, lba })
    }

    /// Picks one of the blocks that are copied from; returns its index and its content.
    fn source(&mut self) -> (u16, u64) {
        let index = self.random.index(self.sources.len());
        (u16::try_from(index).unwrap_or(0), self.sources.get(index).copied().unwrap_or(0))
    }

    fn choose(&mut self, content: u64, brought: &[u64]) -> Choice {
        let writers = self.options.writers;
        loop {
            return match self.random.below(16) {
                0..6 => {
                    let compare = match self.random.below(8) {
                        0..5 => content,
                        5..7 if !brought.is_empty() => brought[self.random.index(brought.len())],
                        _ => 0,
                    };
                    Choice::CompareAndWrite { compare, write: self.stamp() }
                }
                6..9 if writers.write => Choice::Write { stamp: self.stamp() },
                9..11 if writers.write_same => Choice::WriteSame { stamp: self.stamp() },
                11 if writers.write_same => Choice::WriteSameZeros,
                12 if writers.unmap => Choice::Unmap,
                13 if writers.extended_copy => {
                    let (index, stamp) = self.source();
                    Choice::ExtendedCopy { index, stamp }
                }
                14 if writers.tokens => {
                    let (index, stamp) = self.source();
                    Choice::WriteUsingToken { index, stamp }
                }
                15 => Choice::Read,
                _ => continue,
            };
        }
    }

    fn send_round(&mut self, content: u64) -> Result<Vec<SentCommand>, CommandError> {
        let mut initiators: Vec<usize> = (0..self.sessions.len()).collect();
        self.random.shuffle(&mut initiators);
        let mut brought = Vec::new();
        let mut plan = Vec::new();
        for initiator in initiators {
            for _ in 0..1 + self.random.index(self.options.commands_each) {
                let choice = self.choose(content, &brought);
                if let Choice::CompareAndWrite { write: stamp, .. }
                | Choice::Write { stamp }
                | Choice::WriteSame { stamp }
                | Choice::ExtendedCopy { stamp, .. }
                | Choice::WriteUsingToken { stamp, .. } = choice
                {
                    brought.push(stamp);
                }
                plan.push((initiator, choice));
            }
        }
        let mut all = Vec::new();
        for (initiator, choice) in plan {
            let start = Instant::now();
            let tag = self.submit(initiator, choice)?;
            all.push(SentCommand { initiator, tag, choice, retries: 0, start, end: None, effect: None });
        }
        Ok(all)
    }

    fn submit(&mut self, initiator: usize, choice: Choice) -> Result<u32, CommandError> {
        let lba = self.options.lba;
        let naa = self.naa;
        let out = |data: Vec<u8>| TransferRequest::Out(Bytes::from(data));
        let (cdb, transfer) = match choice {
            Choice::CompareAndWrite { compare, write } => {
                let data = [numbered(compare), numbered(write)].concat();
                (cdb::compare_and_write(lba, 1), out(data))
            }
            Choice::Write { stamp } => (cdb::write16(lba, 1, false), out(numbered(stamp).to_vec())),
            Choice::WriteSame { stamp } => (cdb::write_same16(lba, 1, false, false), out(numbered(stamp).to_vec())),
            Choice::WriteSameZeros => (cdb::write_same16(lba, 1, true, false), out(vec![0; BLOCK_BYTES])),
            Choice::Unmap => {
                let list = cdb::unmap_list(&[(lba, 1)]);
                (cdb::unmap(u16::try_from(list.len()).unwrap_or(u16::MAX)), out(list))
            }
            Choice::ExtendedCopy { index, .. } => {
                let source_lba = lba + 1 + u64::from(index);
                let segment = CopySegment { source: 0, destination: 0, source_lba, destination_lba: lba, blocks: 1 };
                let list = cdb::extended_copy_list(&[naa], &[segment]);
                (cdb::extended_copy(u32::try_from(list.len()).unwrap_or(u32::MAX)), out(list))
            }
            Choice::WriteUsingToken { index, .. } => {
                // List identifiers of one initiator are never equal, so that several commands can
                // be in flight.
                self.next_list = self.next_list.wrapping_add(1);
                let Some(token) = self.tokens.get(initiator) else {
                    return Err(CommandError::Malformed { command: "race", what: "no token" });
                };
                let list = token::write_list(token, u64::from(index), false, &[(lba, 1)]);
                let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
                (token::write_using_token(self.next_list, length), out(list))
            }
            Choice::Read => (cdb::read16(lba, 1), TransferRequest::In(BLOCK_BYTES as u32)),
        };
        match self.sessions.get_mut(initiator) {
            Some(session) => Ok(session.submit(cdb, transfer)?),
            None => Err(CommandError::Malformed { command: "race", what: "no such initiator" }),
        }
    }

    /// Collects all answers of a round, polling the sessions in turn so that each time is close to
    /// the arrival.
    fn collect(&mut self, round: u64, sent: &mut [SentCommand]) -> Result<(), RaceError> {
        let fail = |error| RaceError::Command { round, error };
        let deadline = Instant::now() + self.options.timeout;
        while sent.iter().any(|sent| sent.effect.is_none()) {
            for initiator in 0..self.sessions.len() {
                if !sent.iter().any(|sent| sent.initiator == initiator && sent.effect.is_none()) {
                    continue;
                }
                let Some(session) = self.sessions.get_mut(initiator) else {
                    continue;
                };
                let answer = session.poll(Duration::from_micros(200)).map_err(|error| fail(error.into()))?;
                let end = Instant::now();
                let Some(completion) = answer else {
                    if end > deadline {
                        let timeout = crate::initiator::SessionError::Timeout(self.options.timeout);
                        return Err(fail(timeout.into()));
                    }
                    continue;
                };
                let ours =
                    |sent: &&mut SentCommand| sent.initiator == initiator && sent.tag == completion.initiator_task_tag;
                let Some(entry) = sent.iter_mut().find(ours) else {
                    continue;
                };
                if needs_retry(&completion) && entry.retries < MAX_RETRIES {
                    // Nothing was done; the start of the first attempt still bounds the command.
                    entry.retries += 1;
                    self.report.retries += 1;
                    entry.tag = self.submit(initiator, entry.choice).map_err(fail)?;
                    continue;
                }
                let effect = self.effect(round, entry.choice, completion)?;
                entry.effect = Some(effect);
                entry.end = Some(end);
            }
        }
        Ok(())
    }

    fn effect(&mut self, round: u64, choice: Choice, completion: Completion) -> Result<Effect, RaceError> {
        let fail = |error| RaceError::Command { round, error };
        let report = &mut self.report;
        let (name, count, effect) = match choice {
            Choice::CompareAndWrite { compare, write } => {
                return match compared(completion).map_err(fail)? {
                    Compared::Written => {
                        report.compare_and_write_written += 1;
                        Ok(Effect::Replaced { compare, write })
                    }
                    Compared::Miscompare(offset) => {
                        report.compare_and_write_miscompared += 1;
                        Ok(Effect::Differed { compare, offset })
                    }
                };
            }
            Choice::Read => {
                let data = check_status("READ", completion).map_err(fail)?;
                report.reads += 1;
                let lba = self.options.lba;
                let stamp = number_of(&data).ok_or(RaceError::Torn { round, lba })?;
                return Ok(Effect::Read { stamp });
            }
            Choice::Write { stamp } => ("WRITE", &mut report.writes, Effect::Wrote { stamp }),
            Choice::WriteSame { stamp } => ("WRITE SAME", &mut report.write_sames, Effect::Wrote { stamp }),
            Choice::WriteSameZeros => ("WRITE SAME", &mut report.write_sames, Effect::Wrote { stamp: 0 }),
            Choice::Unmap => ("UNMAP", &mut report.unmaps, Effect::Wrote { stamp: 0 }),
            Choice::ExtendedCopy { stamp, .. } => {
                ("EXTENDED COPY", &mut report.extended_copies, Effect::Wrote { stamp })
            }
            Choice::WriteUsingToken { stamp, .. } => {
                ("WRITE USING TOKEN", &mut report.token_writes, Effect::Wrote { stamp })
            }
        };
        check_status(name, completion).map_err(fail)?;
        *count += 1;
        Ok(effect)
    }

    fn describe(&mut self, round: u64, before: u64, sent: &[SentCommand], after: u64) {
        use fmt::Write;
        self.report.violations += 1;
        if self.report.descriptions.len() >= VIOLATIONS_DESCRIBED {
            return;
        }
        let mut text = format!("round {round}: content {before}, then at once");
        let first = sent.iter().map(|sent| sent.start).min();
        for sent in sent {
            let since = |at: Instant| first.map_or(0, |first| (at - first).as_micros());
            let _infallible = write!(
                text,
                " | initiator {} {:?} => {:?} [{}–{} µs]",
                sent.initiator,
                sent.choice,
                sent.effect,
                since(sent.start),
                sent.end.map_or(0, since)
            );
        }
        let _infallible = write!(text, " | afterwards {after}");
        self.report.descriptions.push(text);
    }
}

fn needs_retry(completion: &Completion) -> bool {
    matches!(completion.status, BUSY | TASK_SET_FULL)
        || matches!(Sense::parse(&completion.sense), Some(Sense { key: Sense::UNIT_ATTENTION, .. }))
}
