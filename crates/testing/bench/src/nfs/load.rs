//! Closed loop over one or more sessions: a fixed number of outstanding operations, each replaced
//! when it completes; every latency is recorded. An operation is one call after another.

use super::session::Session;
use crate::latencies::Latencies;
use crate::load::{End, Load};
use anyhow::{Context, Result, ensure};
use array_process::observe;
use nfs_client::{Compound, Outcomes};
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Events taken from the kernel at once.
const EVENTS: usize = 64;
/// Time after the end of a load in which its last operations have to complete.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a load does.
pub(crate) trait Work {
    /// First call of operation `number`, counted from 0; `None` if there are no more operations.
    fn first(&mut self, number: u64) -> Option<Compound>;

    /// Takes the results of a call of operation `number`; returns its next call, if it has one.
    fn then(&mut self, number: u64, outcomes: Outcomes) -> Result<Option<Compound>>;

    /// Call after the last operation. It is no operation, but what it costs belongs to the load.
    fn last(&self) -> Option<Compound> {
        None
    }
}

/// Work from two closures.
pub(crate) struct Calls<First, Then> {
    /// [`Work::first`].
    pub(crate) first: First,
    /// [`Work::then`].
    pub(crate) then: Then,
    /// [`Work::last`].
    pub(crate) last: Option<Compound>,
}

impl<First, Then> Work for Calls<First, Then>
where
    First: FnMut(u64) -> Option<Compound>,
    Then: FnMut(u64, Outcomes) -> Result<Option<Compound>>,
{
    fn first(&mut self, number: u64) -> Option<Compound> {
        (self.first)(number)
    }

    fn then(&mut self, number: u64, outcomes: Outcomes) -> Result<Option<Compound>> {
        (self.then)(number, outcomes)
    }

    fn last(&self) -> Option<Compound> {
        self.last.clone()
    }
}

/// Takes results of which nothing is needed, and ends the operation.
pub(crate) fn done(_number: u64, outcomes: Outcomes) -> Result<Option<Compound>> {
    outcomes.finish()?;
    Ok(None)
}

/// Operation in flight.
#[derive(Clone, Copy)]
struct InFlight {
    number: u64,
    started: Instant,
}

/// A session with the operations in its slots.
struct Lane<'a> {
    session: &'a mut Session,
    in_flight: Vec<Option<InFlight>>,
    operations: usize,
    awaits_room: bool,
}

/// Progress over all sessions.
struct Run<'a> {
    work: &'a mut dyn Work,
    depth: usize,
    limit: Option<Instant>,
    /// Number of the next operation.
    next: u64,
    more: bool,
    latencies: Latencies,
}

/// Runs operations with `depth` outstanding in each session, or as many as it has slots.
pub(crate) fn run(
    sessions: &mut [Session],
    server_pid: u32,
    depth: usize,
    end: End,
    work: &mut dyn Work,
) -> Result<Load> {
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    let before = wire_bytes(sessions);
    let mut lanes = Vec::new();
    for (number, session) in (0..).zip(sessions.iter_mut()) {
        ensure!(session.outstanding() == 0, "other calls are in flight");
        epoll::add(&poll, session.stream(), EventData::new_u64(number), EventFlags::IN)?;
        lanes.push(Lane { session, in_flight: Vec::new(), operations: 0, awaits_room: false });
    }
    let cpu_before = observe::processor_time(server_pid)?.total();
    let started = Instant::now();
    let limit = match end {
        End::After(time) => Some(started + time),
        End::WhenDone => None,
    };
    let mut run = Run { work, depth, limit, next: 0, more: true, latencies: Latencies::default() };
    for lane in &mut lanes {
        run.issue(lane)?;
        lane.awaits_room = lane.session.flush()?;
    }
    run.serve(&poll, &mut lanes)?;
    if let (Some(last), Some(lane)) = (run.work.last(), lanes.first_mut()) {
        lane.session.call(&last)?.finish()?;
    }
    let elapsed = started.elapsed();
    let server_cpu = observe::processor_time(server_pid)?.total().saturating_sub(cpu_before);
    let latencies = run.latencies;
    let (sent, received) = wire_bytes(sessions);
    Ok(Load {
        operations: latencies.count(),
        elapsed,
        latencies,
        server_cpu,
        sent_bytes: sent - before.0,
        received_bytes: received - before.1,
    })
}

fn wire_bytes(sessions: &[Session]) -> (u64, u64) {
    let bytes = sessions.iter().map(Session::wire_bytes);
    bytes.fold((0, 0), |(sent, received), (more_sent, more_received)| (sent + more_sent, received + more_received))
}

impl Run<'_> {
    /// Serves all sessions until their last operations have completed.
    fn serve(&mut self, poll: &OwnedFd, lanes: &mut [Lane<'_>]) -> Result<()> {
        let mut events = [const { Event { flags: EventFlags::empty(), data: EventData::new_u64(0) } }; EVENTS];
        let mut progress = Instant::now();
        while lanes.iter().any(|lane| lane.operations > 0) {
            let wait = Timespec { tv_sec: 1, tv_nsec: 0 };
            let count = epoll::wait(poll, &mut events, Some(&wait))?;
            if count > 0 {
                progress = Instant::now();
            }
            ensure!(progress.elapsed() < PATIENCE, "operations do not complete");
            for event in events.iter().take(count) {
                let number = event.data.u64();
                let lane = lanes.get_mut(usize::try_from(number)?).context("an event of no session")?;
                self.tend(lane)?;
                let flags = event.flags;
                if lane.awaits_room || flags.contains(EventFlags::OUT) {
                    let room = if lane.awaits_room { EventFlags::OUT } else { EventFlags::empty() };
                    let interest = EventFlags::IN | room;
                    epoll::modify(poll, lane.session.stream(), EventData::new_u64(number), interest)?;
                }
            }
        }
        Ok(())
    }

    /// Takes what has arrived for a session, and sends what follows from it.
    fn tend(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        lane.session.receive()?;
        while let Some((slot, outcomes)) = lane.session.next_answer()? {
            let place = lane.in_flight.get_mut(slot as usize).and_then(Option::take);
            let operation = place.context("a reply to no operation")?;
            let next = self.work.then(operation.number, outcomes);
            match next.with_context(|| format!("operation {}", operation.number))? {
                Some(compound) => lane.submit(compound, operation)?,
                None => {
                    self.latencies.record(operation.started.elapsed());
                    lane.operations -= 1;
                }
            }
        }
        self.issue(lane)?;
        lane.awaits_room = lane.session.flush()?;
        Ok(())
    }

    /// Begins operations until the session has its depth.
    fn issue(&mut self, lane: &mut Lane<'_>) -> Result<()> {
        while self.more && lane.operations < self.depth && lane.session.has_slot() {
            let started = Instant::now();
            self.more = self.limit.is_none_or(|limit| started < limit);
            let first = if self.more { self.work.first(self.next) } else { None };
            let Some(compound) = first else {
                self.more = false;
                break;
            };
            lane.submit(compound, InFlight { number: self.next, started })?;
            lane.operations += 1;
            self.next += 1;
        }
        Ok(())
    }
}

impl Lane<'_> {
    fn submit(&mut self, compound: Compound, operation: InFlight) -> Result<()> {
        let slot = self.session.submit(compound)? as usize;
        if self.in_flight.len() <= slot {
            self.in_flight.resize(slot + 1, None);
        }
        let place = self.in_flight.get_mut(slot).context("no such slot")?;
        *place = Some(operation);
        Ok(())
    }
}
