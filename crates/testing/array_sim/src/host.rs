//! A simulated host: logs in, sends random commands, cuts its connection, and expects an answer to everything in
//! bounded time.

use crate::commands::{self, Scene};
use crate::shared::{Issued, ResetNumber, Shared};
use crate::wire::End;
use crate::world::Kind;
use bytes::{Buf, Bytes, BytesMut};
use iscsi::initiator::{Completion, Config, Event, Initiator, Request};
use iscsi::pdu::{LoginStatus, LogoutReason, TaskAttribute, TaskManagementFunction, TaskManagementResponse};
use random::Random;
use reactor::simulation::Socket;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::io::IoSlice;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Room for one read.
const READ_BYTES: usize = 64 << 10;
/// Time in which the array has to answer anything. A disk that completes nothing for a while is slow, but not this
/// slow.
pub(crate) const BOUND: Duration = Duration::from_secs(120);

/// Time in which the array has to answer commands that limits do not delay, if the disk is quick and no command is
/// ORDERED.
const SWIFT: Duration = Duration::from_millis(300);
/// Delay of a quick disk.
const SWIFT_DELAY: u16 = 64;

/// UNIT ATTENTION, BUS DEVICE RESET FUNCTION OCCURRED.
const RESET_OCCURRED: (u8, u16) = (6, 0x2903);

/// Opens a connection; `None` while the array is down.
pub(crate) type Connector = Rc<dyn Fn(usize, &Random) -> Option<End>>;

/// A task management function without an answer.
struct Function {
    kind: Kind,
    /// Tasks that it ends.
    tasks: Vec<u32>,
    at: Instant,
    /// LOGICAL UNIT RESET: its number.
    reset: Option<ResetNumber>,
}

/// Why a session ended.
enum Ended {
    /// By the host, or the connection broke.
    Over,
    /// All commands are done.
    Finished,
}

pub(crate) struct Host {
    shared: Rc<Shared>,
    index: usize,
    random: Random,
    connect: Connector,
    left: u64,
    next_id: u64,
    /// Commands of earlier sessions that may still take effect, until the nexus has logged in again.
    loose: Vec<Issued>,
    /// Logical unit resets of earlier sessions without an answer, as long.
    loose_resets: Vec<ResetNumber>,
    /// Status with which the last login was refused.
    refused: Option<LoginStatus>,
}

/// Resets of one volume, as a session has seen them.
#[derive(Clone, Copy, Default)]
struct ResetsSeen {
    /// Time of the last unit attention for a reset.
    last: Option<Instant>,
    /// Issue time of the last command that ended without a unit attention.
    undisturbed: Option<Instant>,
}

struct Session {
    socket: End,
    machine: Initiator,
    output: VecDeque<Bytes>,
    input: BytesMut,
    outstanding: BTreeMap<u32, Issued>,
    functions: BTreeMap<u32, Function>,
    /// By volume.
    resets: Vec<ResetsSeen>,
    broken: bool,
    logging_out: bool,
}

impl Session {
    /// Moves bytes both ways. Ready when an event or the end of the connection may be there.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut progress = false;
        loop {
            self.output.extend(std::iter::from_fn(|| self.machine.poll_output()));
            let Some(front) = self.output.front_mut() else { break };
            match self.socket.poll_write(context, &[IoSlice::new(front)]) {
                Poll::Pending => break,
                Poll::Ready(Ok(written)) => {
                    front.advance(written);
                    if front.is_empty() {
                        self.output.pop_front();
                    }
                }
                Poll::Ready(Err(_broken)) => {
                    self.broken = true;
                    return Poll::Ready(());
                }
            }
        }
        loop {
            self.input.reserve(READ_BYTES);
            match self.socket.poll_read(context, &mut self.input) {
                Poll::Pending => break,
                Poll::Ready(Ok(1..)) => {
                    self.machine.handle_input(&mut self.input);
                    progress = true;
                }
                Poll::Ready(Ok(0) | Err(_)) => {
                    self.broken = true;
                    return Poll::Ready(());
                }
            }
        }
        if progress { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Records whether a response reports a reset.
    fn note_attention(&mut self, issued: &Issued, completion: &Completion) {
        let Some(seen) = self.resets.get_mut(issued.command.volume) else { return };
        if crate::shared::sense(&completion.sense) == RESET_OCCURRED {
            seen.last = Some(Instant::now());
        } else if completion.status == 0 {
            seen.undisturbed = seen.undisturbed.max(Some(issued.at));
        }
    }

    /// True when a reset ended the command, and a later command got no unit attention for it.
    /// `reset_ended`: end of that reset.
    fn missed_a_reset(&self, issued: &Issued, reset_ended: Option<Instant>) -> bool {
        let Some(seen) = self.resets.get(issued.command.volume) else { return false };
        reset_ended.is_some() && seen.undisturbed > reset_ended && seen.last < Some(issued.at)
    }

    /// Moves bytes until something has happened, or until then.
    async fn step(&mut self, until: Instant) {
        let _timeout = timeout_at(until, poll_fn(|context| self.poll(context))).await;
    }
}

impl Host {
    pub(crate) fn new(shared: Rc<Shared>, index: usize, connect: Connector, commands: u64) -> Self {
        let random = Random::new(shared.world.seed ^ ((index as u64 + 1) << 40));
        let (loose, loose_resets) = (Vec::new(), Vec::new());
        Self { shared, index, random, connect, left: commands, next_id: 1, loose, loose_resets, refused: None }
    }

    fn log(&self, line: std::fmt::Arguments<'_>) {
        self.shared.log(format_args!("host {}: {line}", self.index));
    }

    /// Runs until all its commands are done.
    pub(crate) async fn run(mut self) -> Result<(), String> {
        loop {
            let mut session = self.login().await?;
            match self.serve(&mut session).await.map_err(|error| format!("host {}: {error}", self.index))? {
                Ended::Finished => return Ok(()),
                Ended::Over => {
                    self.loose.extend(std::mem::take(&mut session.outstanding).into_values());
                    self.loose_resets.extend(session.functions.values().filter_map(|function| function.reset));
                    drop(session);
                    let pause = self.random.below(30);
                    sleep(Duration::from_millis(pause)).await;
                }
            }
        }
    }

    async fn login(&mut self) -> Result<Session, String> {
        let mut begun = Instant::now();
        loop {
            // Recovery is no hang.
            begun = begun.max(self.shared.up_since.get());
            if begun.elapsed() > BOUND {
                let answer = self.refused.map(|status| format!("; the last answer was {status:?}")).unwrap_or_default();
                return Err(format!("host {}: cannot log in for {} s{answer}", self.index, BOUND.as_secs()));
            }
            let Some(socket) = (self.connect)(self.index, &self.random) else {
                sleep(Duration::from_millis(5)).await;
                continue;
            };
            if let Some(session) = self.try_login(socket, begun).await? {
                return Ok(session);
            }
            sleep(Duration::from_millis(self.random.below(20) + 1)).await;
        }
    }

    /// One login. `None` when the array has no time for it, or when the connection broke, as it does when the array is
    /// killed.
    async fn try_login(&mut self, socket: End, begun: Instant) -> Result<Option<Session>, String> {
        let name = format!("iqn.2026-01.org.example:host-{}", self.index);
        let mut config = Config::new(name, self.shared.target.borrow().as_str());
        if self.shared.world.digests {
            config.header_digest = "CRC32C".into();
            config.data_digest = "CRC32C".into();
        }
        config.initial_r2t = self.random.chance(30);
        config.immediate_data = self.random.chance(70);
        config.max_recv_data_segment_length = [4096, 65_536, 262_144][self.random.below(3) as usize];
        let machine = Initiator::new(config, [self.index as u8; 32]);
        let mut session = Session {
            socket,
            machine,
            output: VecDeque::new(),
            input: BytesMut::new(),
            outstanding: BTreeMap::new(),
            functions: BTreeMap::new(),
            resets: vec![ResetsSeen::default(); self.shared.world.volumes],
            broken: false,
            logging_out: false,
        };
        let until = begun + BOUND + Duration::from_secs(1);
        loop {
            session.step(until).await;
            match session.machine.poll_event() {
                Some(Event::LoggedIn { .. }) => break,
                // Commands of the session before it wait for a slow disk: the host tries again, within its bound.
                Some(Event::LoginFailed { status: status @ LoginStatus::SERVICE_UNAVAILABLE, .. }) => {
                    self.refused = Some(status);
                    return Ok(None);
                }
                Some(Event::LoginFailed { status, .. }) => {
                    return Err(format!("host {}: login refused: {status:?}", self.index));
                }
                Some(Event::ProtocolError(what)) => return Err(format!("host {}: {what} at login", self.index)),
                Some(_) | None if session.broken => return Ok(None),
                Some(_) => {}
                None if Instant::now() >= until => {
                    return Err(format!("host {}: a login hangs for {} s", self.index, BOUND.as_secs()));
                }
                None => {}
            }
        }
        self.shared.count(|report| report.logins += 1);
        self.log(format_args!("logged in"));
        // The old session of the nexus is over: none of its commands and functions may take effect any more.
        for issued in std::mem::take(&mut self.loose) {
            self.shared.bury(&issued);
        }
        for reset in std::mem::take(&mut self.loose_resets) {
            self.shared.end_reset(reset);
        }
        Ok(Some(session))
    }

    async fn serve(&mut self, session: &mut Session) -> Result<Ended, String> {
        let mut next = Instant::now();
        loop {
            self.take_events(session)?;
            if session.broken {
                self.log(format_args!("connection ended"));
                return Ok(Ended::Over);
            }
            self.check_bounds(session)?;
            if self.left == 0 && session.outstanding.is_empty() && session.functions.is_empty() {
                self.logout(session).await?;
                return Ok(Ended::Finished);
            }
            while self.left > 0 && session.outstanding.len() < self.shared.world.depth && Instant::now() >= next {
                self.left -= 1;
                match self.shared.world.draw(&self.random) {
                    Kind::Cut => {
                        self.log(format_args!("cuts its connection"));
                        return Ok(Ended::Over);
                    }
                    Kind::Logout => {
                        self.logout(session).await?;
                        return Ok(Ended::Over);
                    }
                    Kind::AbortTask => self.abort_task(session),
                    Kind::LogicalUnitReset => self.reset(session),
                    kind => self.command(session, kind),
                }
                let pause = self.random.below(self.shared.world.pause_ms + 1);
                next = Instant::now() + Duration::from_millis(pause);
            }
            let wait = if self.left > 0 && session.outstanding.len() < self.shared.world.depth { next } else { far() };
            session.step(wait.min(Instant::now() + Duration::from_secs(10))).await;
        }
    }

    fn command(&mut self, session: &mut Session, kind: Kind) {
        let volume = self.random.below(self.shared.world.volumes as u64) as usize;
        let id = ((self.index as u64 + 1) << 32) + self.next_id;
        self.next_id += 1;
        let designator = self.shared.designators.borrow().get(volume).copied().unwrap_or_default();
        let chosen = self.random.next();
        let shared = self.shared.clone();
        let lock = move |block: usize| shared.lock(volume, block, &Random::new(chosen));
        let key = self.index as u64 + 1;
        let scene = Scene { volume, stamp: id, lock: &lock, designator, key };
        let command = commands::draw(kind, &self.random, &scene);
        let attribute = if self.shared.world.ordered { self.attribute() } else { TaskAttribute::SIMPLE };
        let request = Request {
            lun: lun(volume),
            cdb: command.cdb,
            attribute,
            immediate: false,
            transfer: command.transfer.clone(),
        };
        let tag = session.machine.command(request);
        self.log(format_args!("{tag:x} {command}"));
        let issued = self.shared.issue(command, id);
        session.outstanding.insert(tag, issued);
    }

    fn attribute(&self) -> TaskAttribute {
        match self.random.below(10) {
            0 => TaskAttribute::ORDERED,
            1 => TaskAttribute::HEAD_OF_QUEUE,
            _ => TaskAttribute::SIMPLE,
        }
    }

    fn abort_task(&mut self, session: &mut Session) {
        let at = self.random.below(session.outstanding.len() as u64) as usize;
        let Some((tag, issued)) = session.outstanding.iter().nth(at) else { return };
        let (tag, volume) = (*tag, issued.command.volume);
        if session.functions.values().any(|function| function.tasks.contains(&tag)) {
            return;
        }
        let function = TaskManagementFunction::ABORT_TASK;
        let own = session.machine.task_management(function, lun(volume), Some(tag));
        self.log(format_args!("{own:x} ABORT TASK {tag:x}"));
        let tasks = vec![tag];
        let at = Instant::now();
        session.functions.insert(own, Function { kind: Kind::AbortTask, tasks, at, reset: None });
    }

    fn reset(&mut self, session: &mut Session) {
        let volume = self.random.below(self.shared.world.volumes as u64) as usize;
        let function = TaskManagementFunction::LOGICAL_UNIT_RESET;
        let own = session.machine.task_management(function, lun(volume), None);
        self.log(format_args!("{own:x} LOGICAL UNIT RESET of volume {volume}"));
        let reset = Some(self.shared.begin_reset(volume));
        let on = session.outstanding.iter().filter(|(_, issued)| issued.command.volume == volume);
        let tasks = on.map(|(tag, _)| *tag).collect();
        let at = Instant::now();
        session.functions.insert(own, Function { kind: Kind::LogicalUnitReset, tasks, at, reset });
    }

    fn take_events(&self, session: &mut Session) -> Result<(), String> {
        while let Some(event) = session.machine.poll_event() {
            match event {
                Event::Completed(completion) => {
                    let tag = completion.initiator_task_tag;
                    self.log(format_args!(
                        "{tag:x} status {:x} {:?}",
                        completion.status,
                        crate::shared::sense(&completion.sense)
                    ));
                    let Some(issued) = session.outstanding.remove(&tag) else {
                        return Err(format!("a second response for task {tag:x}"));
                    };
                    session.note_attention(&issued, &completion);
                    self.check_swift(&issued)?;
                    let by_function = session.functions.values().any(|function| function.tasks.contains(&tag));
                    self.shared.complete(&issued, &completion, by_function || session.logging_out)?;
                }
                Event::TaskManagement { initiator_task_tag, response } => {
                    self.log(format_args!("{initiator_task_tag:x} {response:?}"));
                    let Some(function) = session.functions.remove(&initiator_task_tag) else {
                        return Err(format!("a second response for function {initiator_task_tag:x}"));
                    };
                    self.function_done(session, &function, response)?;
                }
                Event::ProtocolError(what) => return Err(format!("the array broke the protocol: {what}")),
                Event::Rejected { reason, .. } => return Err(format!("the array rejected a PDU: {reason:?}")),
                Event::LoggedOut(_) => session.broken = true,
                _ => {}
            }
        }
        Ok(())
    }

    fn function_done(
        &self,
        session: &mut Session,
        function: &Function,
        response: TaskManagementResponse,
    ) -> Result<(), String> {
        if let Some(reset) = function.reset {
            self.shared.end_reset(reset);
        }
        if self.is_late(function.at) {
            return Err(format!("{:?} took {:?}, as if it waited for limits", function.kind, function.at.elapsed()));
        }
        let done = response == TaskManagementResponse::COMPLETE;
        if !done && function.kind == Kind::LogicalUnitReset {
            return Err(format!("LOGICAL UNIT RESET: {response:?}"));
        }
        for tag in &function.tasks {
            let Some(issued) = session.outstanding.remove(tag) else { continue };
            if !done && !self.shared.was_reset(&issued) {
                return Err(format!("ABORT TASK of {}: {response:?}, but it was not answered", issued.command));
            }
            session.machine.forget(*tag);
            self.shared.bury(&issued);
        }
        Ok(())
    }

    /// Reservations are never delayed by limits, unless they are ORDERED or behind what is.
    fn check_swift(&self, issued: &Issued) -> Result<(), String> {
        let is_reservation = matches!(issued.command.kind, Kind::Register | Kind::Reserve | Kind::Release);
        if is_reservation && !self.shared.world.ordered && self.is_late(issued.at) {
            return Err(format!("{} took {:?}, as if limits applied to it", issued.command, issued.at.elapsed()));
        }
        Ok(())
    }

    /// True if limits can be the only reason for an answer that came so late.
    fn is_late(&self, since: Instant) -> bool {
        let world = &self.shared.world;
        world.limits && !world.faulty && world.delay <= SWIFT_DELAY && since.elapsed() > SWIFT
    }

    fn check_bounds(&self, session: &mut Session) -> Result<(), String> {
        let late = |at: Instant| at.elapsed() >= BOUND;
        if let Some((tag, function)) = session.functions.iter().find(|(_, function)| late(function.at)) {
            return Err(format!("{:?} {tag:x} is not answered within {} s", function.kind, BOUND.as_secs()));
        }
        let lost: Vec<u32> = session.outstanding.iter().filter(|(_, i)| late(i.at)).map(|(tag, _)| *tag).collect();
        for tag in lost {
            let Some(issued) = session.outstanding.remove(&tag) else { continue };
            // Tasks of other nexuses have no response after a reset (SAM-5, TAS = 0).
            if !self.shared.was_reset(&issued) {
                return Err(format!("{tag:x} {} is not answered within {} s", issued.command, BOUND.as_secs()));
            }
            if session.missed_a_reset(&issued, self.shared.reset_ended(&issued)) {
                return Err(format!("{tag:x} {} was ended by a reset, and no unit attention says so", issued.command));
            }
            session.machine.forget(tag);
            self.shared.bury(&issued);
        }
        Ok(())
    }

    async fn logout(&mut self, session: &mut Session) -> Result<(), String> {
        self.log(format_args!("logs out"));
        session.logging_out = true;
        session.machine.logout(LogoutReason::CLOSE_SESSION);
        let until = Instant::now() + BOUND;
        while !session.broken {
            session.step(until).await;
            self.take_events(session)?;
            if !session.broken && Instant::now() >= until {
                return Err(format!("a logout is not answered within {} s", BOUND.as_secs()));
            }
        }
        Ok(())
    }

    /// Waits until every command is answered.
    async fn answered(&self, session: &mut Session) -> Result<(), String> {
        while !session.outstanding.is_empty() {
            session.step(Instant::now() + Duration::from_secs(10)).await;
            self.take_events(session)?;
            self.check_bounds(session)?;
            if session.broken {
                return Err("the connection ended before all was answered".to_owned());
            }
        }
        Ok(())
    }

    /// Sends commands of one kind in one session, one after the other, and one more before them that meets the unit
    /// attention of a new session.
    #[cfg(test)]
    pub(crate) async fn send(&mut self, kind: Kind, count: u64) -> Result<(), String> {
        let mut session = self.login().await?;
        for _ in 0..=count {
            self.command(&mut session, kind);
            self.answered(&mut session).await?;
        }
        self.logout(&mut session).await
    }

    /// Reads all blocks of all volumes in one session.
    pub(crate) async fn verify(mut self) -> Result<(), String> {
        let mut session = self.login().await?;
        for volume in 0..self.shared.world.volumes {
            // The first commands of a session report unit attentions.
            for _ in 0..4 {
                let cdb = initiator::cdb::read16(0, crate::world::WINDOW as u32);
                let bytes = crate::world::WINDOW as u32 * commands::BLOCK_BYTES as u32;
                let command = commands::Command {
                    kind: Kind::Read,
                    volume,
                    blocks: 0..crate::world::WINDOW as usize,
                    cdb,
                    transfer: iscsi::initiator::TransferRequest::In(bytes),
                    meaning: commands::Meaning::Reads,
                };
                let tag = session.machine.command(Request {
                    lun: lun(volume),
                    cdb,
                    attribute: TaskAttribute::SIMPLE,
                    immediate: false,
                    transfer: command.transfer.clone(),
                });
                let issued = self.shared.issue(command, u64::MAX);
                session.outstanding.insert(tag, issued);
                self.answered(&mut session).await?;
            }
        }
        self.logout(&mut session).await
    }
}

fn far() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

fn lun(volume: usize) -> [u8; 8] {
    [0, u8::try_from(volume).unwrap_or(0), 0, 0, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests;
