//! The reactor: the one thread that owns the pool, the SCSI target, `control` and every iSCSI connection.
//!
//! A command runs to completion here: the connection's task reads the PDU, runs the device server and the pool core, and queues the response;
//! one pump after each batch of such work commits the log and completes what waited. Nothing is handed to another thread on the way.

mod control;
mod iscsi;
mod pump;
mod share;
mod store;

use crate::starter::{ReactorChannels, ReactorConfiguration, Ready};
use crate::{AbortOfFinishedTask, ServeError, SystemEnvironment};
use ::control::{Control, Portal};
use ::iscsi::connection::{MissingTaskResponse, SessionIdentity};
use anyhow::Context;
use control::live::LiveArray;
use control::unit_store::ArrayStore;
use control::{reservations, sanitize};
use iscsi::isns;
use iscsi::listener::{accept, listen};
use iscsi::memory::Budget;
use iscsi::registry::Registry;
use pool::{Pool, Volume};
use scsi_target::{Limits, ScsiTarget, TargetIdentity, TargetOptions};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use store::Store;
use tokio::sync::Notify;
use unit::UnitStore;
use uuid::Uuid;

pub(crate) type ArrayPool = Pool<Store>;
pub(crate) type ArrayTarget = ScsiTarget<Volume<Store>>;

/// Seconds that initiators are given to log out at shutdown.
const LOGOUT_SECONDS: u16 = 3;
/// Time between checkpoints of a pool that is being written.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(30);

/// Time between looks for expired copy tokens.
const TOKEN_INTERVAL: Duration = Duration::from_secs(1);

/// What the tasks of the reactor share.
pub(crate) struct Reactor {
    pub pool: ArrayPool,
    pub target: ArrayTarget,
    pub registry: Registry,
    pub portals: Vec<Portal>,
    /// The portals' advertised addresses are from the configuration.
    pub advertise_configured: bool,
    /// Memory for data on its way to initiators.
    pub data_in: Rc<Budget>,
    /// Memory for data on its way from initiators.
    pub data_out: Rc<Budget>,
    /// What `control` last published.
    pub directory: RefCell<Option<::control::Directory>>,
    /// What ABORT TASK answers for a task that is not there any more.
    pub missing_task_response: MissingTaskResponse,
}

impl Reactor {
    /// Relative target port identifier of a portal, which is its target portal group tag too. No initiator is let in before it is known.
    pub fn port_identifier(&self, portal: usize) -> u16 {
        let directory = self.directory.borrow();
        directory.as_ref().and_then(|directory| directory.port_identifiers().get(portal).copied()).unwrap_or(0)
    }

    /// The host that an initiator has logged in as, which may be nobody's; `None` when it has not proved it in the way that is asked for by now: what
    /// was asked for when its login began may be another thing.
    pub fn proven_host(&self, identity: &SessionIdentity) -> Option<Option<Uuid>> {
        let directory = self.directory.borrow();
        let nexus = directory.as_ref()?.nexus(&identity.initiator_name);
        let proven = nexus.chap.is_none_or(|chap| identity.authenticated_as.as_ref() == Some(&chap.user));
        proven.then(|| nexus.host.map(|(id, _)| id))
    }
}

fn missing_task_response(configured: AbortOfFinishedTask) -> MissingTaskResponse {
    match configured {
        AbortOfFinishedTask::ByInitiatorName => MissingTaskResponse::ByInitiatorName,
        AbortOfFinishedTask::TaskDoesNotExist => MissingTaskResponse::TaskDoesNotExist,
        AbortOfFinishedTask::FunctionComplete => MissingTaskResponse::FunctionComplete,
    }
}

/// Most data of one connection in each direction; more does not make it faster.
const MAX_CONNECTION_DATA_BYTES: usize = 64 << 20;

/// Memory for data in one direction, all connections together: at least one command of the largest size.
fn data_budget(memory_bytes: u64) -> Rc<Budget> {
    let least = ::iscsi::connection::Config::default().max_transfer_bytes as usize;
    Budget::new(usize::try_from(memory_bytes / 8).unwrap_or(usize::MAX).max(least))
}

struct SystemClock(Instant);

impl scsi_target::Clock for SystemClock {
    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
    fn unix_ms(&self) -> u64 {
        u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
    }
}

/// Runs the array's reactor on this thread; a [`ReactorStarter`](crate::ReactorStarter).
pub fn run_reactor(configuration: ReactorConfiguration, channels: ReactorChannels) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start tokio")?;
    // Wrong words are told before initiators are let in.
    logical_unit_profile()?;
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, serve(configuration, channels))
}

async fn serve(configuration: ReactorConfiguration, channels: ReactorChannels) -> Result<(), ServeError> {
    let ReactorChannels { requests, ready, mut shutdown } = channels;
    // Before the pool is made or its log replayed: a port in use is told at once, and initiators wait instead of being refused.
    let (listeners, portals) = listen(&configuration)?;
    let pool = store::open(&configuration)?;
    let work = Rc::new(Notify::new());
    pool.on_work({
        let work = work.clone();
        move || work.notify_one()
    });
    let share = u32::from(configuration.array.background_share_percent);
    let pumping = tokio::task::spawn_local(pump::run(pool.clone(), work, share));

    let units = Rc::new(ArrayStore::default());
    let reactor = Rc::new(Reactor {
        target: ScsiTarget::new(target_options(&configuration, units.clone())?),
        pool: pool.clone(),
        registry: Registry::default(),
        portals: portals.clone(),
        advertise_configured: !configuration.advertise.is_empty(),
        data_in: data_budget(configuration.memory_bytes),
        data_out: data_budget(configuration.memory_bytes),
        directory: RefCell::new(None),
        missing_task_response: missing_task_response(configuration.abort_of_finished_task),
    });
    let live = Rc::new(LiveArray::new(reactor.clone(), logical_unit_profile()?));
    let catalog = Rc::new(pool.clone());
    let control = Control::open(catalog, live.clone(), Rc::new(SystemEnvironment), configuration.array.clone())
        .await
        .map_err(|e| ServeError::Failed(anyhow::Error::new(e)))?;
    let target_name = control.directory().target().to_owned();
    reactor.target.set_name(&target_name);
    live.load(&control.directory());
    let control = Rc::new(control);
    units.connect(&reactor, &control);
    reservations::load(&reactor, &control).map_err(|e| ServeError::Failed(anyhow::Error::new(e)))?;
    sanitize::load(&reactor, &control).map_err(|e| ServeError::Failed(anyhow::Error::new(e)))?;

    let background = tokio::task::spawn_local({
        let control = control.clone();
        async move { control.background().await }
    });
    let copying = tokio::task::spawn_local({
        let reactor = reactor.clone();
        async move {
            tokio::join!(reactor.target.run_background(), expire_tokens(&reactor), return_memory(&reactor));
        }
    });
    let answering = tokio::task::spawn_local(crate::answer(control.clone(), requests));
    let accepting: Vec<_> = listeners
        .into_iter()
        .enumerate()
        .map(|(index, listener)| tokio::task::spawn_local(accept(reactor.clone(), listener, index)))
        .collect();
    let identifiers = control.directory().port_identifiers().to_vec();
    let registration = isns::registration(&target_name, &portals, &identifiers);
    let registrar = isns::Registrar::start(&configuration.isns, &registration);
    let _manager_gone = ready.send(Ready { portals, target: target_name });

    // Told to stop, or the manager is gone: both mean stop.
    let _told = (&mut shutdown).await;
    for task in &accepting {
        task.abort();
    }
    tokio::join!(registrar.stop(), reactor.registry.shut_down(LOGOUT_SECONDS));
    let _finished = tokio::time::timeout(Duration::from_secs(10), answering).await;
    copying.abort();
    let _ended = copying.await;
    background.abort();
    let _ended = background.await;
    // What it writes is not worth waiting long for: a stop is not held up by a medium that does not answer.
    let _closed = tokio::time::timeout(Duration::from_secs(5), control.close()).await;
    pumping.abort();
    let _ended = pumping.await;
    let stopped = pool.with_core(|core| core.checkpoint());
    stopped.map_err(|e| ServeError::Failed(anyhow::Error::new(e).context("the pool could not be closed cleanly")))
}

/// Time between two looks at how many connections have ended.
const MEMORY_INTERVAL: Duration = Duration::from_secs(5);
/// Ended connections after which free memory is returned to the system.
const ENDED_CONNECTIONS: u64 = 32;

/// Returns the memory of connections that have ended to the system, which the allocator keeps by itself.
async fn return_memory(reactor: &Reactor) {
    let mut ended = 0;
    loop {
        tokio::time::sleep(MEMORY_INTERVAL).await;
        ended += reactor.registry.take_ended();
        if ended >= ENDED_CONNECTIONS {
            ended = 0;
            let _panicked = tokio::task::spawn_blocking(media::return_free_memory).await;
        }
    }
}

/// Ends copy tokens when their time has come.
async fn expire_tokens(reactor: &Reactor) {
    loop {
        tokio::time::sleep(TOKEN_INTERVAL).await;
        reactor.target.expire_tokens();
    }
}

/// Name, ports and their groups follow when `control` has told them.
fn target_options(configuration: &ReactorConfiguration, store: Rc<dyn UnitStore>) -> Result<TargetOptions, ServeError> {
    let mut token_key = [0; 32];
    getrandom::fill(&mut token_key).context("no random numbers from the operating system")?;
    Ok(TargetOptions {
        identity: TargetIdentity { name: String::new(), groups: Vec::new(), ports: Vec::new() },
        limits: Limits { working_bytes: configuration.memory_bytes / 16, ..Limits::default() },
        clock: Rc::new(SystemClock(Instant::now())),
        refusal_log_entries: 1024,
        store,
        explicit_access: configuration.explicit_asymmetric_access,
        token_key,
    })
}

/// How logical units present themselves, from the variable `WINDLASS_SCSI_PROFILE`: words such as `removable` and `512e`, see
/// [`scsi_target::Profile`]. The default is right for hosts; what is not the default, conformance suites want to see too.
fn logical_unit_profile() -> Result<scsi_target::Profile, ServeError> {
    const VARIABLE: &str = "WINDLASS_SCSI_PROFILE";
    let words = std::env::var_os(VARIABLE).unwrap_or_default();
    let wrong = |reason: String| ServeError::Configuration(format!("{VARIABLE}: {reason}"));
    let words = words.to_str().ok_or_else(|| wrong("not UTF-8".into()))?;
    words.parse().map_err(|error: scsi_target::UnknownWord| wrong(error.to_string()))
}
