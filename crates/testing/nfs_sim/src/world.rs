//! A run: events in the order of virtual time, faults, and what holds between the clients.

use crate::client::{ACTORS, Client, Open, Server, World, anonymous, units_of_bytes};
use crate::disk::Disk;
use crate::ledger::{Ledger, Lock, Locks, Window};
use crate::machine::{COURTESY, FILE, Machine};
use crate::shared::{Event, LEASE, Report, Shared};
use nfs::v4::Filehandle;
use std::time::Duration;
use vfs::NewKind;

/// Files that all clients open.
const FILES: usize = 3;
/// Within this time after the last fault all clients have given back what they had.
const SETTLE: Duration = Duration::from_secs(120);
/// Most events of a run: time that stands still is a hang too.
const MOST_EVENTS: u64 = 3_000_000;
/// Most calls in progress: each client has one for each slot, and what is left of earlier sessions and repetitions.
const MOST_TASKS: usize = 200;

/// A run of the simulation.
struct Simulation<D: Disk> {
    shared: Shared,
    machine: Machine<D>,
    server: Server,
    clients: Vec<Client>,
    files: Vec<Filehandle>,
    ledger: Ledger,
    /// When the run has to be over, once nothing fails any more.
    deadline: Option<Duration>,
}

/// Result of a run.
pub(crate) type End = (Report, Option<String>, Vec<String>);

/// Runs a seed over one kind of file system.
pub(crate) fn run<D: Disk>(seed: u64, calls: u64, story: bool) -> End {
    let shared = Shared::new(seed, story);
    let count = 2 + shared.random.index(3);
    let files = (0..FILES).map(|file| (format!("file-{file}"), FILE));
    let directories = (0..count * ACTORS).map(|number| (format!("directory-{number}"), NewKind::Directory));
    let names: Vec<(String, NewKind)> = files.chain(directories).collect();
    let (machine, handles) = match Machine::new(seed, &names) {
        Ok(made) => made,
        Err(error) => return (Report::default(), Some(error.to_string()), Vec::new()),
    };
    let (files, directories) = handles.split_at(FILES);
    let budget = calls / count as u64 + 1;
    let clients = directories.chunks(ACTORS).enumerate().map(|(index, own)| Client::new(index, own, budget)).collect();
    let (server, ledger) = (Server::default(), Ledger::default());
    let simulation =
        Simulation::<D> { shared, machine, server, clients, files: files.to_vec(), ledger, deadline: None };
    simulation.run()
}

impl<D: Disk> Simulation<D> {
    fn run(mut self) -> End {
        self.shared.after(Duration::ZERO, Event::Start);
        for client in 0..self.clients.len() {
            self.shared.after(Duration::from_millis(10), Event::Wake { client });
        }
        self.plan_fault();
        for _ in 0..MOST_EVENTS {
            let Some(event) = self.shared.next() else { break };
            self.happen(event);
            if self.shared.has_failed() || self.is_over() {
                break;
            }
        }
        if !self.shared.has_failed() && !self.is_over() {
            self.shared.fail(format_args!("the run does not end"));
        }
        self.shared.end()
    }

    /// Whether all is done, and the server has forgotten all clients. Checks it once.
    fn is_over(&mut self) -> bool {
        let now = self.shared.now();
        if self.deadline.is_none() && self.clients.iter().all(Client::is_through) {
            self.shared.calm_down();
            self.shared.tell(format_args!("all is calm"));
            self.clients.iter_mut().for_each(Client::leave);
            self.deadline = Some(now + SETTLE);
        }
        let Some(deadline) = self.deadline.filter(|deadline| *deadline < now) else { return false };
        if let Some(client) = self.clients.iter().position(|client| !client.is_gone()) {
            self.shared.fail(format_args!("client {client} has not ended by {deadline:?}"));
            return true;
        }
        if deadline + COURTESY + LEASE + LEASE > now {
            return false;
        }
        self.check_end();
        true
    }

    /// Nothing is left of clients that have ended.
    fn check_end(&mut self) {
        let Some(totals) = self.machine.state(&self.shared, |state, now| state.totals(now)) else {
            return self.shared.fail(format_args!("the server has not started again"));
        };
        let counts = [totals.clients, totals.sessions, totals.slots, totals.ranges, totals.holdings.opens];
        let bytes = totals.replies_bytes + totals.owner_bytes;
        if counts != [0; 5] || bytes != 0 || totals.callbacks != 0 {
            self.shared.fail(format_args!("clients are gone, and their state is not: {totals:?}"));
        }
        if self.machine.records() != 0 {
            let records = self.machine.records();
            self.shared.fail(format_args!("{records} records are left of clients that are gone"));
        }
        match self.machine.drop_unheld() {
            Ok(0) => {}
            Ok(files) => self.shared.fail(format_args!("{files} files without a name were not released")),
            Err(error) => self.shared.fail(format_args!("{error}")),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::ToServer { from, connection, record } => {
                if self.machine.take(&mut self.shared, from.client, connection, record) {
                    self.ledger.heard(from, self.shared.now());
                }
                let tasks = self.machine.tasks();
                if tasks > MOST_TASKS {
                    self.shared.fail(format_args!("{tasks} calls are in progress"));
                }
            }
            Event::ToClient { client, run, record } => self.receive(client, run, record),
            Event::Closed { connection } => self.machine.close(&self.shared, connection),
            Event::Poll { run, task } if self.machine.run() == Some(run) => self.machine.poll(&mut self.shared, task),
            Event::Durable { run, change } if self.machine.run() == Some(run) => {
                self.machine.durable(&mut self.shared, change);
            }
            Event::Tick { run } if self.machine.run() == Some(run) => {
                self.machine.tick(&mut self.shared);
                self.ledger.forget(self.shared.now());
                self.check_state();
            }
            Event::Crash { run } if self.machine.run() == Some(run) && !self.shared.is_calm() => {
                let pause = self.shared.within(LEASE);
                self.crash(pause);
            }
            // Of a run that has ended.
            Event::Crash { .. } | Event::Poll { .. } | Event::Durable { .. } | Event::Tick { .. } => {}
            Event::Wake { client } => self.with(client, |client, world| client.wake(world)),
            Event::Fault => self.fault(),
            Event::Start => {
                self.machine.start(&mut self.shared);
                let (run, started) = self.machine.boot();
                self.server = Server { run, started: started.unwrap_or_default() };
            }
        }
    }

    /// Lets a client do something.
    fn with(&mut self, client: usize, act: impl FnOnce(&mut Client, &mut World<'_>)) {
        let Some(client) = self.clients.get_mut(client) else { return };
        let (shared, ledger, files) = (&mut self.shared, &mut self.ledger, &self.files[..]);
        act(client, &mut World { shared, ledger, files, server: self.server });
    }

    fn receive(&mut self, client: usize, run: u32, record: bytes::Bytes) {
        let now = self.shared.now();
        let silent = self.clients.get(client).map(Client::silent_until).filter(|until| *until > now);
        if let Some(until) = silent {
            return self.shared.after(until - now, Event::ToClient { client, run, record });
        }
        self.with(client, |client, world| client.receive(world, run, record));
        let granted = self.clients.get_mut(client).map(Client::take_granted).unwrap_or_default();
        for actor in granted {
            self.check_grant(client, actor);
        }
        if let Some((file, writes, window)) = self.clients.get_mut(client).and_then(Client::take_read_past) {
            self.check_anonymous(client, file, writes, window);
        }
    }

    /// Whether I/O without an open was against an open that denied it all the time.
    fn check_anonymous(&mut self, client: usize, file: usize, writes: bool, window: Window) {
        let now = self.shared.now();
        let denies = |open: &Open| open.file == file && open.share.conflicts_with(anonymous(writes));
        for (other, owner) in self.clients.iter().enumerate() {
            for (actor, open, certain, _) in owner.opens(now) {
                if certain && open.since <= window.sent && denies(open) {
                    self.shared.fail(format_args!(
                        "client {client} has done I/O (write: {writes}) that client {other} actor {actor} denies: {open:?}"
                    ));
                }
            }
        }
    }

    /// Whether what an actor got conflicts with what others have. What others had before they fell silent is lost
    /// with it.
    fn check_grant(&mut self, client: usize, actor: usize) {
        let now = self.shared.now();
        let Some(own) = self.clients.get(client) else { return };
        let Some(new) = own.opens(now).find(|(number, _, certain, _)| *number == actor && *certain) else { return };
        let new: Open = new.1.clone();
        let mut overtaken = Vec::new();
        for (other, owner) in self.clients.iter().enumerate() {
            for (number, open, certain, _) in owner.opens(now) {
                if (other, number) == (client, actor) || !open.conflicts_with(&new) {
                    continue;
                }
                if certain {
                    self.shared.fail(format_args!(
                        "client {client} actor {actor} has {new:?}, and client {other} actor {number} has {open:?}"
                    ));
                }
                overtaken.push((other, number));
            }
        }
        for (other, number) in overtaken {
            if let Some(owner) = self.clients.get_mut(other) {
                owner.overtake(number);
            }
        }
    }

    /// What clients have for certain, the server has, and nothing else.
    fn check_state(&mut self) {
        let now = self.shared.now();
        let Some(lists) = self.machine.state(&self.shared, |state, _| {
            (state.list_opens(0, usize::MAX).elements, state.list_locks(None, 0, usize::MAX).elements)
        }) else {
            return;
        };
        let (opens, locks) = lists;
        for (index, client) in self.clients.iter().enumerate() {
            for (actor, open, certain, busy) in client.opens(now) {
                if !certain || busy || open.run != self.server.run {
                    continue;
                }
                let Some(found) = opens.iter().find(|found| found.stateid.other == open.other()) else {
                    self.shared.fail(format_args!("client {index} actor {actor} has {open:?}, the server has not"));
                    return;
                };
                let mut own = Locks::default();
                let of_it = |lock: &&nfs_state::LockView| {
                    Some(lock.client) == client.id() && lock.file == found.file && lock.owner == found.owner
                };
                for lock in locks.iter().filter(of_it) {
                    let kind = if lock.exclusive { Lock::Write } else { Lock::Read };
                    units_of_bytes(lock.offset_bytes, lock.length_bytes).for_each(|unit| own[unit] = kind);
                }
                let same = (found.access, found.deny) == (open.share.access, open.share.deny);
                if !same || own != open.certain_locks() {
                    self.shared.fail(format_args!(
                        "client {index} actor {actor} has {open:?}, the server {found:?} and {own:?}"
                    ));
                    return;
                }
            }
        }
    }

    fn plan_fault(&mut self) {
        let pause = Duration::from_secs(1) + self.shared.within(Duration::from_secs(10));
        self.shared.after(pause, Event::Fault);
    }

    /// Something fails.
    fn fault(&mut self) {
        if self.shared.is_calm() {
            return;
        }
        self.plan_fault();
        let index = self.shared.random.index(self.clients.len());
        let short = self.shared.within(LEASE);
        let long = self.shared.within(LEASE * 4);
        match self.shared.random.below(10) {
            0..=2 if self.machine.run().is_some() => self.crash(short),
            3 if self.machine.run().is_some() => self.crash(long),
            4 | 5 => self.each(index, |client, shared| client.reboot(shared, short)),
            6 | 7 => self.each(index, |client, shared| client.fall_silent(shared, long)),
            8 => self.each(index, |client, shared| client.fall_silent(shared, long * 2)),
            _ => self.each(index, |client, _| client.disconnect()),
        }
    }

    fn each(&mut self, client: usize, act: impl FnOnce(&mut Client, &mut Shared)) {
        if let Some(client) = self.clients.get_mut(client) {
            act(client, &mut self.shared);
        }
    }

    /// The server crashes, and starts again after a time.
    fn crash(&mut self, pause: Duration) {
        self.machine.crash(&mut self.shared);
        let now = self.shared.now();
        self.ledger.crashed(now);
        for client in &mut self.clients {
            client.crashed(now, self.server);
            client.disconnect();
        }
        self.shared.after(pause, Event::Start);
    }
}
