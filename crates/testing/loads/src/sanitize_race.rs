//! Sanitize race: does any data land after SANITIZE? Writers of every kind are in flight from
//! several initiators when one of them begins a block erase.
//!
//! The test runs in rounds. A round fills a range with contents that show their origin, creates a
//! token of a part of it for each initiator, and keeps WRITE, COMPARE AND WRITE, WRITE SAME,
//! EXTENDED COPY (of the unit itself, and sent to another unit) and WRITE USING TOKEN in flight.
//! Then one initiator sends SANITIZE, and all of them send more commands right behind it. When all
//! are answered and the operation has ended, every initiator reads the range. It must hold
//!
//! * zeros; or
//! * content that a command wrote which ended with GOOD and may have begun after the end of the
//!   operation. This excludes commands that were answered before SANITIZE was sent, commands that
//!   the same initiator sent before it, and, in every other round, commands sent before a ping that
//!   was answered before SANITIZE was sent, because the array had received them by then.
//!
//! Content that EXTENDED COPY reads from the unit itself, and content of every token of it, is from
//! before the operation and must never land after it. A refused command must end with LOGICAL UNIT
//! NOT READY, SANITIZE IN PROGRESS and a progress indication (SBC-4 §4.11.2), and must have no
//! effect; INQUIRY is always answered. Older tokens are refused afterwards.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use bytes::Bytes;
use iscsi::initiator::{Completion, TransferRequest};

use conformance::cdb::{self, Cdb, CopySegment, padded};
use conformance::commands::{BLOCK_BYTES, BUSY, CHECK_CONDITION, CommandError, GOOD, TASK_SET_FULL};
use conformance::initiator::{Session, SessionError, SessionOptions};
use conformance::race::{RaceError, VIOLATIONS_DESCRIBED};
use conformance::sense::Sense;
use conformance::token::{self, TIMEOUT_S, Token};
use conformance::url::Url;
use random::Random;
use random::sector::{number_of, numbered};

/// Number of blocks that are copied from, at the start of the range.
const SOURCE_BLOCKS: u16 = 64;
/// Number of blocks that are written to, behind them.
const TARGET_BLOCKS: u64 = 192;
/// Number of blocks of the whole range, from LBA 0.
const RANGE_BLOCKS: u32 = SOURCE_BLOCKS as u32 + TARGET_BLOCKS as u32;
/// Largest number of blocks of a command.
const MAX_BLOCKS: u64 = 8;
/// Largest number of polls before SANITIZE is sent; each replaces answered commands by new ones.
const MAX_BEATS: u64 = 24;

/// Parameters of the race.
#[derive(Clone, Debug)]
pub struct RaceOptions {
    /// URLs of the logical unit, one for each initiator, at least two; different portals give
    /// different paths. All of its content is erased.
    pub urls: Vec<Url>,
    /// Another logical unit of the same target, which receives EXTENDED COPY commands to the first;
    /// its first blocks are written to.
    pub other: Option<Url>,
    /// Whether tokens take part.
    pub tokens: bool,
    /// Number of rounds.
    pub rounds: u64,
    /// Number of commands that each initiator keeps in flight.
    pub commands_each: usize,
    /// Seed of all choices.
    pub seed: u64,
    /// Time limit of each command, and of a sanitize operation.
    pub timeout: Duration,
}

impl RaceOptions {
    /// Default parameters: twenty rounds with everything except another logical unit.
    pub fn new(urls: Vec<Url>) -> Self {
        let timeout = Duration::from_secs(30);
        Self { urls, other: None, tokens: true, rounds: 20, commands_each: 6, seed: 1, timeout }
    }
}

/// Result of the race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RaceReport {
    /// Number of rounds run.
    pub rounds: u64,
    /// Number of commands that ended with GOOD, by [`KINDS`].
    pub done: [u64; KINDS.len()],
    /// Number of these that ended after SANITIZE had been sent.
    pub done_late: u64,
    /// Number of commands refused because of the operation.
    pub refused: u64,
    /// Number of violations.
    pub violations: u64,
    /// Descriptions of the first violations.
    pub descriptions: Vec<String>,
    /// Elapsed time.
    pub elapsed: Duration,
}

/// Names of the kinds of commands, in the order of [`RaceReport::done`].
pub const KINDS: [&str; 9] = [
    "WRITE",
    "COMPARE AND WRITE",
    "WRITE SAME",
    "UNMAP",
    "EXTENDED COPY",
    "EXTENDED COPY from another unit",
    "WRITE USING TOKEN",
    "READ",
    "INQUIRY",
];

impl RaceReport {
    /// Whether nothing landed after SANITIZE.
    pub fn passed(&self) -> bool {
        self.violations == 0
    }
}

impl fmt::Display for RaceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed() { "no write lands after SANITIZE" } else { "SANITIZE IS NOT THE END" };
        writeln!(f, "{verdict}: {} violations in {} rounds", self.violations, self.rounds)?;
        for (name, count) in KINDS.iter().zip(self.done).filter(|(_, count)| *count > 0) {
            write!(f, "{name} {count} · ")?;
        }
        let seconds = self.elapsed.as_secs_f64();
        writeln!(f, "{} of them beside SANITIZE · {} refused · {seconds:.1} s", self.done_late, self.refused)?;
        self.descriptions.iter().try_for_each(|description| writeln!(f, "{description}"))
    }
}

/// A kind of command; its discriminant is its index in [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Write,
    CompareAndWrite,
    WriteSame,
    Unmap,
    Copy,
    CopyFromOther,
    WriteUsingToken,
    Read,
    Inquiry,
}

const ALL: [Kind; 9] = [
    Kind::Write,
    Kind::CompareAndWrite,
    Kind::WriteSame,
    Kind::Unmap,
    Kind::Copy,
    Kind::CopyFromOther,
    Kind::WriteUsingToken,
    Kind::Read,
    Kind::Inquiry,
];

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CommandEnd {
    /// GOOD, with this data.
    Good(Bytes),
    /// Refused because of the operation.
    Refused,
    /// Not executed, or a miscompare: nothing was written.
    Nothing,
}

/// A command that was sent.
#[derive(Debug)]
struct InFlight {
    initiator: usize,
    tag: u32,
    kind: Kind,
    /// First block.
    lba: u64,
    /// Stamps that it writes from `lba` on, which may be there after the operation.
    stamps: Vec<u64>,
    /// Whether the array had received it before SANITIZE.
    before: bool,
    ended: Option<(Instant, CommandEnd)>,
}

/// Runs the race. The report states whether it passed; an error means that it could not be run.
pub fn run(options: &RaceOptions) -> Result<RaceReport, RaceError> {
    if options.urls.len() < 2 || options.commands_each == 0 {
        return Err(RaceError::Options("a race needs at least two initiators, and a command of each"));
    }
    let mut race = Race::new(options).map_err(|error| RaceError::Command { round: 0, error })?;
    let began = Instant::now();
    for round in 1..=options.rounds {
        race.round = round;
        race.run_round().map_err(|error| RaceError::Command { round, error })?;
        race.report.rounds = round;
    }
    race.report.elapsed = began.elapsed();
    for session in race.sessions {
        // The result stands even if the logout fails.
        let _farewell = session.logout();
    }
    Ok(race.report)
}

struct Race<'a> {
    options: &'a RaceOptions,
    sessions: Vec<Session>,
    naa: [u8; 16],
    /// LUN and NAA designator of the other unit.
    other: Option<([u8; 8], [u8; 16])>,
    other_stamps: Vec<u64>,
    /// Stamps of the target blocks as filled.
    filled: Vec<u64>,
    tokens: Vec<Token>,
    random: Random,
    next_stamp: u64,
    next_list: u32,
    round: u64,
    report: RaceReport,
}

impl<'a> Race<'a> {
    fn new(options: &'a RaceOptions) -> Result<Self, CommandError> {
        let mut sessions = Vec::new();
        for (qualifier, url) in (1..).zip(&options.urls) {
            let session_options = SessionOptions {
                initiator_name: format!("iqn.2026-01.org.example:sanitize{qualifier}"),
                qualifier,
                timeout: options.timeout,
                ..SessionOptions::default()
            };
            let mut session = Session::connect(url, &session_options)?;
            if let Some(other) = &options.other {
                session.select(other);
                session.clear_unit_attentions()?;
                session.select(url);
            }
            session.clear_unit_attentions()?;
            sessions.push(session);
        }
        let mut race = Self {
            naa: [0; 16],
            other: None,
            other_stamps: Vec::new(),
            filled: Vec::new(),
            tokens: Vec::new(),
            random: Random::new(options.seed),
            next_stamp: 1,
            next_list: 1,
            round: 0,
            report: RaceReport::default(),
            sessions,
            options,
        };
        race.other_stamps = race.stamps(u64::from(SOURCE_BLOCKS));
        let content = content(&race.other_stamps);
        if let (Some(session), Some(url)) = (race.sessions.first_mut(), options.urls.first()) {
            race.naa = session.naa_designator()?;
            if let Some(other) = &options.other {
                session.select(other);
                race.other = Some((other.lun_bytes(), session.naa_designator()?));
                session.write16(0, content)?;
                session.select(url);
            }
        }
        Ok(race)
    }

    fn stamps(&mut self, count: u64) -> Vec<u64> {
        let first = self.next_stamp;
        self.next_stamp += count;
        (first..self.next_stamp).collect()
    }

    fn run_round(&mut self) -> Result<(), CommandError> {
        self.fill()?;
        let mut flights = Vec::new();
        for initiator in 0..self.sessions.len() {
            for _ in 0..self.options.commands_each {
                flights.push(self.send(initiator, None)?);
            }
        }
        for _ in 0..self.random.below(MAX_BEATS) {
            for initiator in self.collect(&mut flights)? {
                flights.push(self.send(initiator, None)?);
            }
        }
        let sanitizing = self.random.index(self.sessions.len());
        let settled = self.round.is_multiple_of(2);
        if settled {
            for session in &mut self.sessions {
                session.ping(Bytes::new())?;
            }
        }
        for flight in &mut flights {
            flight.before = settled || flight.initiator == sanitizing || flight.ended.is_some();
        }
        let immediate = self.random.below(2) == 0;
        let began = Instant::now();
        let sanitize = self.sanitize(sanitizing, immediate)?;
        let late = flights.len();
        // Sent behind SANITIZE, so that the array receives these after it; those of the other
        // initiators come in any order.
        for kind in [Kind::Write, Kind::Read, Kind::CompareAndWrite, Kind::Inquiry] {
            flights.push(self.send(sanitizing, Some(kind))?);
        }
        for initiator in (0..self.sessions.len()).filter(|initiator| *initiator != sanitizing) {
            for _ in 0..2 {
                flights.push(self.send(initiator, None)?);
            }
        }
        let deadline = began + self.options.timeout;
        let mut answer = None;
        while answer.is_none() || flights.iter().any(|flight| flight.ended.is_none()) {
            self.collect_with(&mut flights, &mut |completion, initiator| {
                let ours = initiator == sanitizing && completion.initiator_task_tag == sanitize;
                if ours {
                    answer = Some(completion.clone());
                }
                ours
            })?;
            if Instant::now() > deadline {
                return Err(SessionError::Timeout(self.options.timeout).into());
            }
        }
        if let Some(answer) = answer {
            conformance::commands::check("SANITIZE", answer)?;
        }
        self.await_end(deadline)?;
        self.judge(&flights, began, late, sanitizing)?;
        self.refuse_old_tokens()
    }

    /// Fills the range, and creates the tokens.
    fn fill(&mut self) -> Result<(), CommandError> {
        let stamps = self.stamps(u64::from(RANGE_BLOCKS));
        let Some(first) = self.sessions.first_mut() else { return Ok(()) };
        first.write16(0, content(&stamps))?;
        self.filled = stamps.into_iter().skip(usize::from(SOURCE_BLOCKS)).collect();
        self.tokens.clear();
        if self.options.tokens {
            for session in &mut self.sessions {
                let sources = [(0, u32::from(SOURCE_BLOCKS))];
                self.tokens.push(session.populate_token(TIMEOUT_S, &sources)?);
            }
        }
        Ok(())
    }

    fn sanitize(&mut self, initiator: usize, immediate: bool) -> Result<u32, CommandError> {
        // BLOCK ERASE, without AUSE.
        let cdb = padded(&[0x48, if immediate { 0x82 } else { 0x02 }]);
        match self.sessions.get_mut(initiator) {
            Some(session) => Ok(session.submit(cdb, TransferRequest::None)?),
            None => Err(CommandError::Malformed { command: "SANITIZE", what: "no such initiator" }),
        }
    }

    fn choose(&mut self) -> Kind {
        loop {
            let kind = ALL.get(self.random.index(ALL.len())).copied().unwrap_or(Kind::Write);
            let possible = match kind {
                Kind::CopyFromOther => self.other.is_some(),
                Kind::WriteUsingToken => self.options.tokens,
                // INQUIRY proves nothing before SANITIZE.
                Kind::Inquiry => false,
                _ => true,
            };
            if possible {
                return kind;
            }
        }
    }

    /// Sends a command of this kind, or of a random one.
    fn send(&mut self, initiator: usize, kind: Option<Kind>) -> Result<InFlight, CommandError> {
        let kind = match kind {
            Some(kind) => kind,
            None => self.choose(),
        };
        let at = self.random.below(TARGET_BLOCKS);
        let lba = u64::from(SOURCE_BLOCKS) + at;
        let count = (1 + self.random.below(MAX_BLOCKS)).min(TARGET_BLOCKS - at);
        let blocks = u32::try_from(count).unwrap_or(1);
        let segment_blocks = u16::try_from(count).unwrap_or(1);
        let from = self.random.below(u64::from(SOURCE_BLOCKS) - count + 1);
        let out = |cdb: Cdb, list: Vec<u8>| (cdb, TransferRequest::Out(Bytes::from(list)));
        let length = |list: &Vec<u8>| u32::try_from(list.len()).unwrap_or(u32::MAX);
        let mut lun = None;
        let (stamps, (cdb, transfer)) = match kind {
            Kind::Write => {
                let stamps = self.stamps(count);
                let data = content(&stamps);
                (stamps, (cdb::write16(lba, blocks, false), TransferRequest::Out(data)))
            }
            Kind::CompareAndWrite => {
                let stamps = self.stamps(1);
                let index = usize::try_from(at).unwrap_or(0);
                let expected = self.filled.get(index).copied().unwrap_or(0);
                // Either the original content, or that after the operation.
                let compare = if self.random.below(2) == 0 { expected } else { 0 };
                let data = [numbered(compare).to_vec(), content(&stamps).to_vec()].concat();
                (stamps, out(cdb::compare_and_write(lba, 1), data))
            }
            Kind::WriteSame => {
                let stamps = self.stamps(1);
                let data = content(&stamps).to_vec();
                (
                    vec![stamps.first().copied().unwrap_or(0); count as usize],
                    out(cdb::write_same16(lba, blocks, false, false), data),
                )
            }
            Kind::Unmap => {
                let list = cdb::unmap_list(&[(lba, blocks)]);
                (Vec::new(), out(cdb::unmap(u16::try_from(list.len()).unwrap_or(u16::MAX)), list))
            }
            Kind::Copy => {
                let segment = CopySegment {
                    source: 0,
                    destination: 0,
                    source_lba: from,
                    destination_lba: lba,
                    blocks: segment_blocks,
                };
                let list = cdb::extended_copy_list(&[self.naa], &[segment]);
                (Vec::new(), out(cdb::extended_copy(length(&list)), list))
            }
            Kind::CopyFromOther => {
                let (other_lun, other_naa) = self.other.unwrap_or_default();
                lun = Some(other_lun);
                let segment = CopySegment {
                    source: 0,
                    destination: 1,
                    source_lba: from,
                    destination_lba: lba,
                    blocks: segment_blocks,
                };
                let list = cdb::extended_copy_list(&[other_naa, self.naa], &[segment]);
                let first = usize::try_from(from).unwrap_or(0);
                let stamps = self.other_stamps.iter().skip(first).take(count as usize).copied().collect();
                (stamps, out(cdb::extended_copy(length(&list)), list))
            }
            Kind::WriteUsingToken => {
                self.next_list = self.next_list.wrapping_add(1);
                let token = self.tokens.get(initiator).copied().unwrap_or_else(token::zero_token);
                let list = token::write_list(&token, from, false, &[(lba, blocks)]);
                (Vec::new(), out(token::write_using_token(self.next_list, length(&list)), list))
            }
            Kind::Read => {
                let bytes = blocks.saturating_mul(BLOCK_BYTES as u32);
                (Vec::new(), (cdb::read16(lba, blocks), TransferRequest::In(bytes)))
            }
            Kind::Inquiry => (Vec::new(), (cdb::inquiry(None, 96), TransferRequest::In(96))),
        };
        let Some(session) = self.sessions.get_mut(initiator) else {
            return Err(CommandError::Malformed { command: "race", what: "no such initiator" });
        };
        let tag = session.submit_to(lun.unwrap_or(session.lun()), cdb, transfer)?;
        Ok(InFlight { initiator, tag, kind, lba, stamps, before: false, ended: None })
    }

    fn collect(&mut self, flights: &mut [InFlight]) -> Result<Vec<usize>, CommandError> {
        self.collect_with(flights, &mut |_, _| false)
    }

    /// Collects answers, except those that `other` takes. Returns the initiators of the commands
    /// that ended.
    fn collect_with(
        &mut self,
        flights: &mut [InFlight],
        other: &mut dyn FnMut(&Completion, usize) -> bool,
    ) -> Result<Vec<usize>, CommandError> {
        let mut ended = Vec::new();
        for initiator in 0..self.sessions.len() {
            while let Some(session) = self.sessions.get_mut(initiator)
                && let Some(completion) = session.poll(Duration::from_micros(100))?
            {
                if other(&completion, initiator) {
                    continue;
                }
                let tag = completion.initiator_task_tag;
                let ours = |flight: &&mut InFlight| {
                    flight.initiator == initiator && flight.tag == tag && flight.ended.is_none()
                };
                let Some(flight) = flights.iter_mut().find(ours) else { continue };
                match outcome(flight.kind, completion) {
                    Ok(outcome) => flight.ended = Some((Instant::now(), outcome)),
                    Err(wrong) => {
                        flight.ended = Some((Instant::now(), CommandEnd::Nothing));
                        let description = format!("{:?} from initiator {initiator}: {wrong}", flight.kind);
                        self.violation(description);
                    }
                }
                ended.push(initiator);
            }
        }
        Ok(ended)
    }

    /// Waits until every initiator finds the unit ready.
    fn await_end(&mut self, deadline: Instant) -> Result<(), CommandError> {
        for session in &mut self.sessions {
            loop {
                match session.test_unit_ready() {
                    Ok(()) => break,
                    Err(CommandError::Status { sense: Some(Sense { key: 2 | 6, .. }), .. })
                        if Instant::now() < deadline =>
                    {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Compares the content read with the allowed content.
    fn judge(
        &mut self,
        flights: &[InFlight],
        began: Instant,
        late: usize,
        sanitizing: usize,
    ) -> Result<(), CommandError> {
        let mut allowed: BTreeSet<(u64, u64)> = BTreeSet::new();
        for flight in flights {
            let Some((when, ended)) = &flight.ended else { continue };
            match ended {
                CommandEnd::Good(_) => {
                    if let Some(count) = self.report.done.get_mut(flight.kind as usize) {
                        *count += 1;
                    }
                    if *when > began {
                        self.report.done_late += 1;
                        if !flight.before {
                            allowed.extend((flight.lba..).zip(flight.stamps.iter().copied()));
                        }
                    }
                }
                CommandEnd::Refused => self.report.refused += 1,
                CommandEnd::Nothing => {}
            }
        }
        for (index, flight) in flights.iter().enumerate() {
            let after = index >= late && flight.initiator == sanitizing;
            if flight.kind == Kind::Read
                && let Some((_, CommandEnd::Good(data))) = &flight.ended
            {
                self.check_content(flight.lba, data, after.then_some(&allowed), "a READ");
            }
        }
        let mut first = None;
        for initiator in 0..self.sessions.len() {
            let Some(session) = self.sessions.get_mut(initiator) else { continue };
            let data = session.read16(0, RANGE_BLOCKS)?;
            self.check_content(0, &data, Some(&allowed), "afterwards");
            if first.get_or_insert_with(|| data.clone()) != &data {
                self.violation(format!("initiator {initiator} reads other data than the one before"));
            }
        }
        Ok(())
    }

    /// Checks that every block is an image; with `allowed`, that it is zeros or one of those.
    fn check_content(&mut self, lba: u64, data: &[u8], allowed: Option<&BTreeSet<(u64, u64)>>, what: &str) {
        for (lba, block) in (lba..).zip(data.chunks(BLOCK_BYTES)) {
            match (number_of(block), allowed) {
                (None, _) => self.violation(format!("{what}: block {lba} is torn or foreign")),
                (Some(0), _) | (Some(_), None) => {}
                (Some(stamp), Some(allowed)) if allowed.contains(&(lba, stamp)) => {}
                (Some(stamp), Some(_)) => {
                    self.violation(format!("{what}: block {lba} holds {stamp}, which is from before SANITIZE"));
                }
            }
        }
    }

    /// Checks that tokens from before the operation are refused.
    fn refuse_old_tokens(&mut self) -> Result<(), CommandError> {
        for (initiator, token) in self.tokens.clone().iter().enumerate() {
            self.next_list = self.next_list.wrapping_add(1);
            let list = token::write_list(token, 0, false, &[(u64::from(SOURCE_BLOCKS), 1)]);
            let cdb = token::write_using_token(self.next_list, u32::try_from(list.len()).unwrap_or(u32::MAX));
            let Some(session) = self.sessions.get_mut(initiator) else { continue };
            let completion = session.execute(cdb, TransferRequest::Out(list.into()))?;
            let sense = Sense::parse(&completion.sense).filter(|_| completion.status == CHECK_CONDITION);
            if !matches!(sense, Some(Sense { key: 5, code: 0x23, .. })) {
                self.violation(format!("a token from before SANITIZE: status {:02x}h {sense:?}", completion.status));
            }
        }
        Ok(())
    }

    fn violation(&mut self, description: String) {
        self.report.violations += 1;
        if self.report.descriptions.len() < VIOLATIONS_DESCRIBED {
            self.report.descriptions.push(format!("round {}: {description}", self.round));
        }
    }
}

fn content(stamps: &[u64]) -> Bytes {
    stamps.iter().flat_map(|stamp| numbered(*stamp)).collect::<Vec<u8>>().into()
}

/// Result of a command, or a description of a wrong answer.
fn outcome(kind: Kind, completion: Completion) -> Result<CommandEnd, String> {
    let sense = Sense::parse(&completion.sense);
    let other = || Err(format!("status {:02x}h, sense {sense:?}", completion.status));
    match (completion.status, sense.map(|sense| (sense.key, sense.code, sense.qualifier))) {
        (GOOD, _) => Ok(CommandEnd::Good(completion.data_in)),
        (BUSY | TASK_SET_FULL, _) => Ok(CommandEnd::Nothing),
        (CHECK_CONDITION, Some((Sense::UNIT_ATTENTION, ..))) => Ok(CommandEnd::Nothing),
        (CHECK_CONDITION, Some((Sense::MISCOMPARE, 0x1D, 0))) if kind == Kind::CompareAndWrite => {
            Ok(CommandEnd::Nothing)
        }
        (CHECK_CONDITION, Some((2, 0x04, 0x1B))) if kind != Kind::Inquiry => {
            if has_progress(&completion.sense) {
                Ok(CommandEnd::Refused)
            } else {
                Err("SANITIZE IN PROGRESS without a progress indication".into())
            }
        }
        // The token ended with the content.
        (CHECK_CONDITION, Some((5, 0x23, _))) if kind == Kind::WriteUsingToken => Ok(CommandEnd::Nothing),
        // COPY ABORTED: the unit it was sent to is not the sanitized one.
        (CHECK_CONDITION, Some((0x0A, ..))) if matches!(kind, Kind::Copy | Kind::CopyFromOther) => {
            Ok(CommandEnd::Nothing)
        }
        _ => other(),
    }
}

/// Whether sense data has a progress indication: in the sense-key specific bytes of fixed format,
/// or in the sense-key specific descriptor (SPC-4 §4.5.2.4.4).
fn has_progress(sense: &[u8]) -> bool {
    const SKSV: u8 = 0x80;
    let flags = match sense.first().map(|code| code & 0x7F) {
        Some(0x70) => sense.get(15),
        Some(0x72) => sense.get(8..16).filter(|descriptor| descriptor.starts_with(&[2, 6])).and_then(|d| d.get(4)),
        _ => None,
    };
    flags.is_some_and(|flags| flags & SKSV != 0)
}
