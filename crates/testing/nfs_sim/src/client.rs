//! A client: its session, the calls that wait for replies, and actors that each have a directory and an open.

mod holding;
mod names;
mod recovery;

use crate::calls::{self, Answer};
use crate::ledger::{Ledger, Owner, Window};
use crate::shared::{Event, Incarnation, LEASE, Shared};
use bytes::Bytes;
use holding::{Context, Holding};
pub(crate) use holding::{Open, anonymous, units_of_bytes};
use names::Names;
use nfs::v4::operations::{Operation, Outcome};
use nfs::v4::session::{SequenceOk, sequence_status};
use nfs::v4::{Filehandle, SessionId, Status};
use recovery::Standing;
use std::time::Duration;

/// Actors of a client.
pub(crate) const ACTORS: usize = 3;
/// Slots: one for recovery, and one for each actor.
const SLOTS: usize = ACTORS + 1;
/// Status flags that say that state was lost.
const LOST: u32 = sequence_status::EXPIRED_ALL_STATE_REVOKED
    | sequence_status::EXPIRED_SOME_STATE_REVOKED
    | sequence_status::ADMIN_STATE_REVOKED;

/// A step of an actor.
#[derive(Clone, Debug)]
enum Step {
    Names(names::Step),
    Holding(holding::Step),
}

/// A call that waits for its reply.
#[derive(Clone, Debug)]
struct Pending<T> {
    xid: u32,
    record: Bytes,
    sent: Duration,
    /// When it is sent again.
    due: Duration,
    what: T,
}

/// One that changes names and has an open, one call after the other.
#[derive(Debug)]
struct Actor {
    names: Names,
    holding: Holding,
    pending: Option<Pending<Step>>,
    ready: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Session {
    id: SessionId,
    /// Run of the server that has it.
    run: u32,
    sequences: [u32; SLOTS],
}

/// Facts about the server that checks need.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Server {
    /// Number of the last run.
    pub run: u32,
    /// When it started.
    pub started: Duration,
}

impl Server {
    /// Until when its grace period lasts at most.
    fn grace_until(self) -> Duration {
        self.started + 2 * LEASE
    }
    /// Until when its grace period lasts at least, if clients have something to reclaim.
    pub fn grace_for(self) -> Duration {
        self.started + LEASE
    }
}

/// All that a step of a client needs besides the client.
pub(crate) struct World<'a> {
    pub shared: &'a mut Shared,
    pub ledger: &'a mut Ledger,
    pub files: &'a [Filehandle],
    pub server: Server,
}

/// A client.
pub(crate) struct Client {
    index: usize,
    incarnation: u32,
    standing: Standing,
    /// Client id whose state it has.
    id: Option<u64>,
    session: Option<Session>,
    control: Option<Pending<recovery::Call>>,
    actors: Vec<Actor>,
    connection: u64,
    /// Run that the connection leads to.
    connected_to: u32,
    /// It neither sends nor receives until then.
    silent_until: Duration,
    /// Until when its lease lasts at least.
    valid_until: Duration,
    budget: u64,
    leaving: bool,
}

impl Client {
    /// A client that has not begun. It makes so many calls.
    pub fn new(index: usize, directories: &[Filehandle], budget: u64) -> Self {
        let actor = |directory: &Filehandle| Actor {
            names: Names::new(directory.clone()),
            holding: Holding::default(),
            pending: None,
            ready: Duration::ZERO,
        };
        Self {
            index,
            incarnation: 1,
            standing: Standing::Identify,
            id: None,
            session: None,
            control: None,
            actors: directories.iter().map(actor).collect(),
            connection: 0,
            connected_to: 0,
            silent_until: Duration::ZERO,
            valid_until: Duration::ZERO,
            budget,
            leaving: false,
        }
    }

    pub const fn incarnation(&self) -> Incarnation {
        Incarnation { client: self.index, number: self.incarnation }
    }
    /// Client id, once it is confirmed.
    pub const fn id(&self) -> Option<u64> {
        self.id
    }
    pub fn is_gone(&self) -> bool {
        self.standing == Standing::Gone
    }
    /// Whether its calls are used up.
    pub const fn is_through(&self) -> bool {
        self.budget == 0
    }
    /// From now on it gives back what it has.
    pub const fn leave(&mut self) {
        self.leaving = true;
    }
    pub const fn silent_until(&self) -> Duration {
        self.silent_until
    }

    /// Opens of the actors: the actor, whether it is certain, and whether a call about it is in progress.
    pub fn opens(&self, now: Duration) -> impl Iterator<Item = (usize, &Open, bool, bool)> {
        self.actors.iter().enumerate().filter_map(move |(number, actor)| {
            let open = actor.holding.open.as_ref().filter(|open| !open.closing)?;
            let busy = actor.pending.is_some() || self.standing != Standing::Running;
            Some((number, open, actor.holding.is_valid(now), busy))
        })
    }

    /// Notes that another client got what conflicts with the open of an actor.
    pub fn overtake(&mut self, actor: usize) {
        if let Some(open) = self.actors.get_mut(actor).and_then(|actor| actor.holding.open.as_mut()) {
            open.overtaken = true;
        }
    }

    /// Actors that got something with the last reply.
    pub fn take_granted(&mut self) -> Vec<usize> {
        let granted = |(number, actor): (usize, &mut Actor)| actor.holding.take_granted().then_some(number);
        self.actors.iter_mut().enumerate().filter_map(granted).collect()
    }

    /// I/O without an open that was done with the last reply: the file, whether it was a write, and when.
    pub fn take_read_past(&mut self) -> Option<(usize, bool, Window)> {
        self.actors.iter_mut().find_map(|actor| actor.holding.take_read_past())
    }

    /// It neither sends nor receives for a time.
    pub fn fall_silent(&mut self, shared: &mut Shared, time: Duration) {
        shared.tell(format_args!("client {} is silent for {:.1} s", self.index, time.as_secs_f64()));
        self.silent_until = shared.now() + time;
    }

    /// It restarts, with nothing of what it had, after a time.
    pub fn reboot(&mut self, shared: &mut Shared, time: Duration) {
        shared.report.reboots += 1;
        shared.tell(format_args!("client {} restarts, after {:.1} s", self.index, time.as_secs_f64()));
        self.silent_until = shared.now() + time;
        self.give_up();
        self.incarnation += 1;
        self.id = None;
        // What it had, the server may still have.
        self.actors.iter_mut().for_each(|actor| actor.holding = Holding::default());
    }

    /// Its connection breaks.
    pub fn disconnect(&mut self) {
        self.connected_to = 0;
    }

    /// The server crashes. `run`: as it was.
    pub fn crashed(&mut self, now: Duration, server: Server) {
        // Reclaims that are not complete when the grace period ends leave no record.
        let unfinished = !matches!(self.standing, Standing::Running) && now > server.grace_for();
        let lost = unfinished || self.actors.iter().any(|actor| actor.holding.needs_test());
        let times = (now, server.grace_for());
        self.actors.iter_mut().for_each(|actor| actor.holding.crashed(server.run, times, lost));
    }

    /// Its session is gone: outcomes of its calls are not known, and it begins anew.
    fn give_up(&mut self) {
        for actor in &mut self.actors {
            match actor.pending.take().map(|pending| pending.what) {
                Some(Step::Names(step)) => actor.names.lost(step),
                Some(Step::Holding(step)) => actor.holding.gave_up(&step),
                None => {}
            }
        }
        self.session = None;
        self.control = None;
        self.standing = Standing::Identify;
    }

    /// Does what is due: sends again what was not answered, and begins new calls.
    pub fn wake(&mut self, world: &mut World<'_>) {
        let now = world.shared.now();
        if self.is_gone() {
            return;
        }
        if self.silent_until > now {
            return world.shared.after(self.silent_until - now, Event::Wake { client: self.index });
        }
        self.repeat(world);
        if self.control.is_none() {
            self.recover(world);
        }
        if self.standing == Standing::Running {
            self.act(world);
        }
        let next = world.shared.within(Duration::from_millis(60));
        world.shared.after(next, Event::Wake { client: self.index });
    }

    /// Sends again what was not answered in time.
    fn repeat(&mut self, world: &mut World<'_>) {
        let now = world.shared.now();
        let timeout = Duration::from_millis(300) + world.shared.within(Duration::from_secs(1));
        let mut records = Vec::new();
        if let Some(pending) = self.control.as_mut().filter(|pending| pending.due <= now) {
            pending.due = now + timeout;
            records.push(pending.record.clone());
        }
        for pending in self.actors.iter_mut().filter_map(|actor| actor.pending.as_mut()) {
            if pending.due <= now {
                pending.due = now + timeout;
                records.push(pending.record.clone());
            }
        }
        for record in records {
            if world.shared.random.chance(40) {
                self.disconnect();
            }
            self.transmit(world, record);
        }
    }

    /// Sends a record, over a new connection if there is none.
    fn transmit(&mut self, world: &mut World<'_>, record: Bytes) {
        if self.connected_to != world.server.run {
            let old = std::mem::replace(&mut self.connection, world.shared.number());
            self.connected_to = world.server.run;
            let delay = world.shared.within(Duration::from_secs(1));
            world.shared.after(delay, Event::Closed { connection: old });
        }
        world.shared.send(Event::ToServer { from: self.incarnation(), connection: self.connection, record });
    }

    /// A call that is sent for the first time.
    fn call<T>(&mut self, world: &mut World<'_>, operations: &[Operation], what: T) -> Pending<T> {
        world.shared.report.calls += 1;
        let xid = u32::try_from(world.shared.number() & 0xffff_ffff).unwrap_or(0);
        let record = calls::compound(xid, operations);
        self.transmit(world, record.clone());
        let now = world.shared.now();
        Pending { xid, record, sent: now, due: now + Duration::from_millis(500), what }
    }

    /// SEQUENCE of the next call on a slot.
    fn sequence(&mut self, slot: usize) -> Option<Operation> {
        let session = self.session.as_mut()?;
        let sequence = session.sequences.get_mut(slot)?;
        *sequence += 1;
        let highest = SLOTS as u32 - 1;
        Some(calls::sequence(session.id, slot as u32, *sequence, highest))
    }

    /// Begins steps of idle actors.
    fn act(&mut self, world: &mut World<'_>) {
        let now = world.shared.now();
        for number in 0..self.actors.len() {
            let name = format!("owner-{number}");
            let Some(actor) = self.actors.get_mut(number) else { return };
            if actor.pending.is_some() || actor.ready > now {
                continue;
            }
            let Some((step, operations)) = actor.choose(world, &name, self.leaving) else { continue };
            self.budget = self.budget.saturating_sub(1);
            if let Step::Holding(step) = &step {
                let owner =
                    Owner { incarnation: Incarnation { client: self.index, number: self.incarnation }, actor: number };
                actor.holding.sent(step, owner, world.ledger, now);
            }
            let Some(sequence) = self.sequence(number + 1) else { return };
            let operations: Vec<Operation> = [sequence].into_iter().chain(operations).collect();
            let pending = self.call(world, &operations, step);
            world.shared.tell(format_args!("client {} actor {number}: {:?}", self.index, pending.what));
            if let Some(actor) = self.actors.get_mut(number) {
                actor.pending = Some(pending);
            }
        }
    }

    /// Takes a record from a run of the server.
    pub fn receive(&mut self, world: &mut World<'_>, run: u32, record: Bytes) {
        let answer = match calls::answer(record) {
            Ok(answer) => answer,
            Err(why) => return world.shared.fail(format_args!("client {}: {why}", self.index)),
        };
        if self.control.as_ref().is_some_and(|pending| pending.xid == answer.xid) {
            return self.control_answered(world, run, &answer);
        }
        let is_it = |actor: &Actor| actor.pending.as_ref().is_some_and(|pending| pending.xid == answer.xid);
        if let Some(number) = self.actors.iter().position(is_it) {
            self.actor_answered(world, run, number, &answer);
        }
    }

    /// Takes the result of SEQUENCE; `None` if that is all.
    fn sequenced(&mut self, world: &mut World<'_>, run: u32, sent: Duration, answer: &Answer) -> Option<SequenceOk> {
        match answer.outcomes.first() {
            Some(Outcome::Sequence(Ok(ok))) => {
                self.renewed(world, run, sent, ok);
                Some(ok.clone())
            }
            Some(Outcome::Sequence(Err(Status::DELAY))) => None,
            Some(Outcome::Sequence(Err(Status::BADSESSION | Status::DEADSESSION))) => {
                let same_run = self.session.is_some_and(|session| session.run == world.server.run);
                if same_run && self.valid_until >= world.shared.now() {
                    world.shared.fail(format_args!("client {} has lost its session, and has a lease", self.index));
                }
                world.shared.tell(format_args!("client {} has lost its session", self.index));
                self.give_up();
                None
            }
            _ => {
                world.shared.fail(format_args!("client {}: SEQUENCE has {:?}", self.index, answer.outcomes.first()));
                None
            }
        }
    }

    /// The lease is renewed.
    fn renewed(&mut self, world: &mut World<'_>, run: u32, sent: Duration, ok: &SequenceOk) {
        self.valid_until = self.valid_until.max(sent + LEASE);
        let lost = ok.status_flags & LOST != 0;
        for actor in &mut self.actors {
            let renewed = actor.holding.renewed(run, lost, sent + LEASE, world.shared.now());
            if let Err(why) = renewed {
                world.shared.fail(format_args!("client {}: {why}", self.index));
            }
        }
    }

    fn actor_answered(&mut self, world: &mut World<'_>, run: u32, number: usize, answer: &Answer) {
        let now = world.shared.now();
        let Some(sent) = self.actors.get(number).and_then(|actor| Some(actor.pending.as_ref()?.sent)) else { return };
        if self.sequenced(world, run, sent, answer).is_none() {
            let pause = world.shared.within(Duration::from_millis(200));
            if let Some(pending) = self.actors.get_mut(number).and_then(|actor| actor.pending.as_mut()) {
                pending.due = now + pause;
            }
            return;
        }
        world.shared.report.replies += 1;
        let owner = Owner { incarnation: self.incarnation(), actor: number };
        let grace_until = world.server.grace_until();
        let context = Context {
            window: Window { sent, answered: now },
            run,
            grace_until,
            valid_until: sent + LEASE,
            grace_for: world.server.grace_for(),
        };
        let Some(actor) = self.actors.get_mut(number) else { return };
        let Some(pending) = actor.pending.take() else { return };
        let status = answer.status;
        world.shared.tell(format_args!("client {} actor {number}: {:?} has {status:?}", self.index, pending.what));
        count(world.shared, &pending.what, status);
        let had = actor.holding.open.is_some();
        let outcomes = answer.outcomes.get(1..).unwrap_or_default();
        let result = match &pending.what {
            Step::Names(step) => actor.names.answered(step, outcomes, (sent, grace_until)),
            Step::Holding(step) => actor.holding.answered(step, outcomes, owner, world.ledger, context),
        };
        if had && actor.holding.open.is_none() && !matches!(pending.what, Step::Holding(holding::Step::Close)) {
            world.shared.report.revoked += 1;
        }
        actor.ready = now + world.shared.within(Duration::from_millis(if status.is_ok() { 150 } else { 400 }));
        if let Err(why) = result {
            world.shared.fail(format_args!("client {} actor {number}: {why}", self.index));
        }
    }
}

impl Actor {
    /// The next step with its operations; `None` for a pause.
    fn choose(&mut self, world: &mut World<'_>, name: &str, leaving: bool) -> Option<(Step, Vec<Operation>)> {
        if !leaving && world.shared.random.chance(45) {
            let (step, operations) = self.names.choose(&world.shared.random, &format!("{name}-names"));
            return Some((Step::Names(step), operations));
        }
        let step = match self.holding.repair() {
            Some(step) => Some(step),
            None if leaving => self.holding.open.as_ref().map(|_| holding::Step::Close),
            None => self.holding.choose(&world.shared.random, world.files.len()),
        };
        if let Some(step) = step {
            let operations = self.holding.operations(&step, world.files, name);
            return Some((Step::Holding(step), operations));
        }
        if leaving && !self.names.is_settled() {
            let (step, operations) = self.names.look();
            return Some((Step::Names(step), operations));
        }
        None
    }

    /// Whether it has given back all, and has compared all.
    fn is_through(&self) -> bool {
        self.pending.is_none() && self.holding.open.is_none() && !self.holding.needs_test() && self.names.is_settled()
    }
}

fn count(shared: &mut Shared, step: &Step, status: Result<(), Status>) {
    let grants = matches!(step, Step::Holding(holding::Step::Open { .. } | holding::Step::Lock { .. }));
    match status {
        Ok(()) if grants => shared.report.grants += 1,
        Err(Status::SHARE_DENIED | Status::DENIED) if grants => shared.report.denials += 1,
        _ => {}
    }
}
