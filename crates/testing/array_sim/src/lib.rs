//! The whole array under a seed: the real reactor with iSCSI, the SCSI target, NFS, `control` and the pool on a
//! simulated disk, in virtual time. Simulated hosts reach it over virtual sockets, through the `iscsi` crate's
//! initiator and through `nfs_client`, and send random commands and operations on files; connections are cut, the
//! array is killed and started again, the disk fails.
//!
//! Checked: reads return what the model allows, nothing acknowledged is lost or torn, each command and task
//! management function is answered in bounded virtual time, every nexus can log in again, each change of a name
//! happens once, and the array stops in order. The same seed gives the same run; the hash of its history shows it.
#![forbid(unsafe_code)]

mod commands;
mod environment;
mod host;
mod limits;
mod machine;
mod model;
mod nfs;
mod shared;
#[cfg(test)]
mod tests;
mod wire;
mod world;

use futures_util::stream::{FuturesUnordered, StreamExt};
use host::{Connector, Host};
use limits::Administrator;
use machine::Machine;
use media::SimDisk;
use random::Random;
use shared::Shared;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use tokio::time::{Instant, sleep};
use world::World;

pub use reactor::simulation::Mutation;
pub use shared::Report;

/// Polls of a run, at most: virtual time that stands still while tasks wake each other is a hang too.
const MOST_POLLS: u64 = 20_000_000;

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Counters, and the hash of the history.
    pub report: Report,
    /// Why it failed, if it did.
    pub failure: Option<String>,
    /// A line for each event, when asked for.
    pub story: Vec<String>,
}

/// Runs a seed; all hosts together send about this many commands.
pub fn run(seed: u64, commands: u64, story: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return Outcome { report: Report::default(), failure: Some(error.to_string()), story: Vec::new() };
        }
    };
    stop_engine(None);
    runtime.block_on(async {
        let shared = Rc::new(Shared::new(World::of(seed, commands), story));
        let failure = Run::new(shared.clone()).drive().await.err().map(|error| format!("seed {seed}: {error}"));
        let story = shared.story.as_ref().map(RefCell::take).unwrap_or_default();
        Outcome { report: shared.report.get(), failure, story }
    })
}

type Running = FuturesUnordered<Pin<Box<dyn Future<Output = Result<(), String>>>>>;

struct Run {
    shared: Rc<Shared>,
    disk: SimDisk,
    /// `None` while the array is down.
    machine: Rc<RefCell<Option<Machine>>>,
    began: Instant,
    random: Random,
    /// Sets limits, if the world has any.
    administrator: RefCell<Option<Administrator>>,
}

impl Run {
    fn new(shared: Rc<Shared>) -> Self {
        let disk = SimDisk::new(shared.world.disk());
        let random = Random::new(shared.world.seed ^ 0xd15a_57e5);
        let administrator = shared.world.limits.then(|| Administrator::new(shared.world.seed)).into();
        Self { shared, disk, machine: Rc::default(), began: Instant::now(), random, administrator }
    }

    fn connector(&self) -> Connector {
        self.connector_to(0)
    }

    /// Connections to the portal of this index.
    fn connector_to(&self, index: u8) -> Connector {
        self.connections(1, machine::portal(index), move |machine, end, peer| {
            machine.array.connect(end, peer, usize::from(index));
        })
    }

    /// Connections to the NFS server.
    fn nfs_connector(&self) -> Connector {
        self.connections(2, machine::nfs_portal(), |machine, end, peer| machine.array.connect_nfs(end, peer))
    }

    /// Connections from hosts of a network, whose far ends the array accepts.
    fn connections(
        &self,
        network: u8,
        portal: SocketAddr,
        accept: impl Fn(&Machine, wire::End, SocketAddr) + 'static,
    ) -> Connector {
        let machine = self.machine.clone();
        Rc::new(move |host, random| {
            let machine = machine.borrow();
            let machine = machine.as_ref()?;
            let host = u8::try_from(host).unwrap_or(0);
            let port = u16::try_from(random.below(50_000) + 1024).unwrap_or(1024);
            let peer = SocketAddr::from(([10, 0, network, host], port));
            let (near, far) = wire::connection(random, portal, peer);
            let _tasks = machine.tasks.enter();
            accept(machine, far, peer);
            Some(near)
        })
    }

    async fn drive(&mut self) -> Result<(), String> {
        machine::format(&self.disk, self.shared.world.seed)?;
        let machine = Machine::start(&self.shared, &self.disk, self.began).await?;
        machine.furnish(&self.shared).await?;
        self.machine.replace(Some(machine));
        let running: Running = FuturesUnordered::new();
        for index in 0..self.shared.world.hosts {
            let host = Host::new(self.shared.clone(), index, self.connector(), self.shared.world.commands);
            running.push(Box::pin(host.run()));
        }
        for index in 0..self.shared.world.nfs_hosts {
            let host = nfs::Host::new(self.shared.clone(), index, self.nfs_connector());
            running.push(Box::pin(host.run()));
        }
        self.with_disasters(running).await?;
        self.shared.log(format_args!("all commands are done"));
        if self.shared.world.faulty {
            self.kill().await?;
        }
        self.verify().await?;
        let machine = self.machine.take().ok_or("no array")?;
        machine.stop().await?;
        self.shared.log(format_args!("stopped"));
        self.machine.replace(Some(Machine::start(&self.shared, &self.disk, self.began).await?));
        self.verify().await
    }

    /// Lets hosts run while the array is killed, and the disk fails, as often as the world says.
    async fn with_disasters(&mut self, mut running: Running) -> Result<(), String> {
        for _ in 0..self.shared.world.kills {
            let mut before_kill = self.shared.world.peace(&self.random);
            let fault_after = self.shared.world.peace(&self.random) / 3;
            let mut trouble = pin!(sleep(fault_after));
            let fault = self.shared.world.faulty.then(|| self.shared.world.fault(&self.random));
            let mut fault = fault;
            let stops = STOPS && self.random.chance(40);
            // A kill would hide a command that hangs because of the fault.
            if fault.is_some() && (stops || self.random.chance(30)) {
                before_kill += host::BOUND * 2;
            }
            let mut peace = pin!(sleep(before_kill));
            let (disk, shared) = (self.disk.clone(), self.shared.clone());
            let ended = self.poll_with(poll_fn(|context| {
                if fault.is_some()
                    && trouble.as_mut().poll(context).is_ready()
                    && let Some(fault) = fault.take()
                {
                    shared.troubled.set(true);
                    if stops {
                        shared.log(format_args!("the engine stops soon"));
                        stop_engine(Some(fault.skip));
                    } else {
                        shared.log(format_args!("fault: {fault:?}"));
                        disk.plant(fault);
                    }
                }
                if let Poll::Ready(ended) = poll_hosts(&mut running, context) {
                    return Poll::Ready(Some(ended));
                }
                peace.as_mut().poll(context).map(|()| None)
            }));
            match ended.await? {
                Some(ended) => return ended,
                None => self.kill().await?,
            }
        }
        self.poll_with(poll_fn(|context| poll_hosts(&mut running, context))).await?
    }

    /// Runs a future beside the tasks of the array.
    async fn poll_with<T>(&self, future: impl Future<Output = T>) -> Result<T, String> {
        let mut future = pin!(future);
        let mut polls = 0;
        poll_fn(|context| {
            polls += 1;
            if polls > MOST_POLLS {
                return Poll::Ready(Err("time stands still".to_owned()));
            }
            if let Some(machine) = &mut *self.machine.borrow_mut() {
                machine.poll(context);
                if let Some(administrator) = &mut *self.administrator.borrow_mut()
                    && let Err(error) = administrator.poll(context, machine, &self.shared)
                {
                    return Poll::Ready(Err(error));
                }
            }
            future.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// Kills the array, cuts the power of its disk, and starts it again.
    async fn kill(&mut self) -> Result<(), String> {
        self.shared.log(format_args!("the array is killed"));
        self.shared.count(|report| report.kills += 1);
        self.machine.take();
        self.disk = self.disk.crash();
        self.disk.clear_faults();
        stop_engine(None);
        self.shared.end_resets();
        let now = self.shared.tick();
        for volume in self.shared.volumes.borrow_mut().iter_mut() {
            volume.crash(now);
        }
        self.shared.files.borrow_mut().crash(now);
        let machine = Machine::start(&self.shared, &self.disk, self.began).await?;
        self.machine.replace(Some(machine));
        Ok(())
    }

    /// Every nexus logs in again and reads everything, and so does every host of NFS.
    async fn verify(&self) -> Result<(), String> {
        for index in 0..self.shared.world.hosts {
            let host = Host::new(self.shared.clone(), index, self.connector(), 0);
            self.poll_with(host.verify()).await??;
        }
        for index in 0..self.shared.world.nfs_hosts {
            let host = nfs::Host::new(self.shared.clone(), index, self.nfs_connector());
            self.poll_with(host.verify()).await??;
        }
        Ok(())
    }
}

/// Ready when all hosts are done, or one has failed.
fn poll_hosts(running: &mut Running, context: &mut std::task::Context<'_>) -> Poll<Result<(), String>> {
    loop {
        match running.poll_next_unpin(context) {
            Poll::Ready(Some(Ok(()))) => {}
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(None) => return Poll::Ready(Ok(())),
            Poll::Pending => return Poll::Pending,
        }
    }
}

/// Whether this build can make the engine stop.
const STOPS: bool = cfg!(feature = "mutations");

/// Makes the engine stop in the submit after so many.
#[cfg(feature = "mutations")]
fn stop_engine(after: Option<u64>) {
    pool::stop_in_submit(after);
}

#[cfg(not(feature = "mutations"))]
fn stop_engine(_: Option<u64>) {}

/// Leaves a rule out in the arrays of this thread.
pub fn leave_out(mutation: Option<Mutation>) {
    reactor::simulation::leave_out(mutation);
}
