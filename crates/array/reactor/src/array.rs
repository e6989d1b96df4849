//! The array without its sockets: the pool, the units, `control` and the frontends, and their tasks.

use super::clock::UnitClock;
use super::control::live::LiveArray;
use super::control::unit_store::ArrayStore;
use super::control::{reservations, sanitize};
use super::frontend::Frontend;
use super::frontends::Frontends;
use super::iscsi::Iscsi;
use super::memory::parts;
use super::nfs::{self, Nfs};
use super::setup::ArraySetup;
use super::share::HostCalls;
use super::state::Reactor;
use super::{ArrayPool, pump};
use crate::ServeError;
use crate::measurements::Measurements;
use ::control::{Control, Environment};
use futures_util::future::join_all;
use media::Media;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use unit::{Units, UnitsOptions};

/// Entries that the log of refusals keeps.
const REFUSAL_LOG_ENTRIES: usize = 10_000;

/// Longest wait for the last checkpoint. Without it the next start replays the log: no acknowledged change is lost.
const CHECKPOINT: Duration = Duration::from_secs(30);
/// Interval at which the end of the last checkpoint is looked for.
const TICK: Duration = Duration::from_millis(2);

/// Ready when the requested checkpoint is complete, or cannot be: the pool has stopped, or the file system below is
/// full.
async fn last_checkpoint<M: Media>(pool: &ArrayPool<M>, work: &Notify) {
    let waits =
        |core: &mut pool::Core<M>| core.checkpoint_is_due() && core.stopped().is_none() && !core.has_parked_writes();
    while pool.with_core(waits) {
        // A simulated medium has nothing that wakes the pump.
        work.notify_one();
        tokio::time::sleep(TICK).await;
    }
}

/// Running array on this thread. Its tasks belong to the `LocalSet` that it was opened in.
pub(crate) struct Array<M: Media + 'static> {
    pub control: Rc<Control>,
    live: Rc<LiveArray<M>>,
    pool: ArrayPool<M>,
    pumping: JoinHandle<()>,
    background: JoinHandle<()>,
    /// Lets commands begin that have waited for their limits.
    admitting: JoinHandle<()>,
    /// Background work of the frontends.
    frontend_work: Vec<JoinHandle<()>>,
    /// Wakes the pump.
    work: Rc<Notify>,
}

impl<M: Media + 'static> Array<M> {
    /// Starts an array on an opened pool. Connections may be accepted afterwards.
    pub async fn open(
        pool: ArrayPool<M>,
        setup: ArraySetup,
        environment: Rc<dyn Environment>,
        measurements: &Arc<Measurements>,
    ) -> Result<Self, ServeError> {
        let failed = |error| ServeError::Failed(anyhow::Error::new(error));
        let work = Rc::new(Notify::new());
        pool.on_work({
            let work = work.clone();
            move || work.notify_one()
        });
        let share = u32::from(setup.array.background_share_percent);
        let calls = HostCalls::default();
        let pump = pump::run(pool.clone(), work.clone(), share, calls.clone(), Arc::clone(measurements));
        let pumping = tokio::task::spawn_local(pump);
        let loaded = Control::load(Rc::new(pool.clone()), Rc::clone(&environment), setup.array.clone());
        let loaded = loaded.await.map_err(failed)?;
        let directory = loaded.shared_directory();
        let nfs = nfs::start::begin(&loaded, &setup.nfs).await?;
        let connect = |control: &std::rc::Weak<Control>| {
            let units = Rc::new_cyclic(|units| {
                Units::new(UnitsOptions {
                    store: Rc::new(ArrayStore::<M>::new(control.clone(), units.clone())),
                    clock: Rc::new(UnitClock(Rc::clone(&environment))),
                    working_bytes: parts::WORKING.bytes(setup.memory_bytes),
                    refusal_log_entries: REFUSAL_LOG_ENTRIES,
                })
            });
            let reactor =
                Rc::new(Reactor::new(pool.clone(), units, directory, environment, calls, Arc::clone(measurements)));
            let frontends = Frontends::new(&reactor, &setup, nfs, control);
            Rc::new(LiveArray::new(reactor, frontends, setup.portals))
        };
        let (control, live) = loaded.start(connect).await;
        live.load(&control.directory());
        // Destages replayed writes, and finds out whether the file system below has space for them.
        pool.with_core(|core| core.request_checkpoint());
        work.notify_one();
        reservations::load(live.units(), &control).map_err(failed)?;
        sanitize::load(live.units(), &control).map_err(failed)?;
        let background = tokio::task::spawn_local({
            let control = control.clone();
            async move { control.background().await }
        });
        let admitting = tokio::task::spawn_local(Rc::clone(live.admissions()).run());
        let work_of = |frontend: &Rc<dyn Frontend>| tokio::task::spawn_local(frontend.background());
        let frontend_work = live.frontends.iter().map(work_of).collect();
        Ok(Self { control, live, pool, pumping, background, admitting, frontend_work, work })
    }

    /// The iSCSI frontend.
    pub fn iscsi(&self) -> &Rc<Iscsi<M>> {
        &self.live.frontends.iscsi
    }

    /// The NFS frontend; absent if NFS is not served.
    pub fn nfs(&self) -> Option<&Rc<Nfs<M>>> {
        self.live.frontends.nfs.as_ref()
    }

    /// The array as its administration sees it.
    #[cfg(feature = "simulation")]
    pub fn live(&self) -> Rc<dyn ::control::Live> {
        Rc::<LiveArray<M>>::clone(&self.live)
    }

    /// Checks the commands that wait for limits.
    #[cfg(feature = "simulation")]
    pub fn check_limits(&self) -> Result<(), String> {
        self.live.admissions().check()
    }

    /// Number of commands that wait for limits.
    #[cfg(feature = "simulation")]
    pub fn waiting_for_limits(&self) -> usize {
        self.live.admissions().waiting()
    }

    /// Notes that the medium may have completed a request.
    #[cfg(feature = "simulation")]
    pub fn medium_progressed(&self) {
        self.work.notify_one();
    }

    /// Lets hosts log out of every frontend. Ready after a bounded time.
    pub async fn shut_down_frontends(&self) {
        join_all(self.live.frontends.iter().map(|frontend| frontend.shut_down())).await;
    }

    /// Ends the tasks and makes everything durable. Frontends must be shut down before.
    pub async fn close(self) -> Result<(), ServeError> {
        self.iscsi().remove_executors();
        for work in self.frontend_work {
            work.abort();
            let _ended = work.await;
        }
        self.admitting.abort();
        let _ended = self.admitting.await;
        self.background.abort();
        let _ended = self.background.await;
        // Its writes are not worth a long wait: a medium that does not answer must not delay the
        // stop.
        let _closed = tokio::time::timeout(Duration::from_secs(5), self.control.close()).await;
        self.pool.with_core(|core| core.request_checkpoint());
        let checkpointed = tokio::time::timeout(CHECKPOINT, last_checkpoint(&self.pool, &self.work)).await;
        self.pumping.abort();
        let _ended = self.pumping.await;
        if checkpointed.is_err() {
            let seconds = CHECKPOINT.as_secs();
            tracing::warn!(seconds, "the last checkpoint takes too long: the next start replays the log");
            return Ok(());
        }
        // Another one, which has little to write, after the last request of the pump.
        match self.pool.with_core(|core| (core.checkpoint(), core.has_parked_writes())) {
            (Err(pool::PoolError::PoolFull), true) => {
                tracing::warn!(
                    "the file system below the pool is full: acknowledged writes stay in the log until there is room"
                );
                Ok(())
            }
            (stopped, _) => stopped
                .map_err(|e| ServeError::Failed(anyhow::Error::new(e).context("the pool could not be closed cleanly"))),
        }
    }
}
