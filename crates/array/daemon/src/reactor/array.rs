//! The array without its sockets: the pool, the units, `control` and the frontends, and their tasks.

use super::clock::UnitClock;
use super::control::live::LiveArray;
use super::control::unit_store::ArrayStore;
use super::control::{reservations, sanitize};
use super::frontend::Frontend;
use super::iscsi::Iscsi;
use super::{ArrayPool, ArrayTarget, ArrayUnits, pump};
use crate::{AbortOfFinishedTask, ServeError};
use ::control::{ArrayOptions, Control, Environment, Portal};
use media::Media;
use scsi_target::{Limits, Profile, ScsiTarget, TargetIdentity, TargetOptions};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use unit::{Adapter, Units, UnitsOptions};

/// Time between looks for expired copy tokens.
const TOKEN_INTERVAL: Duration = Duration::from_secs(1);

/// Entries that the log of refusals keeps.
const REFUSAL_LOG_ENTRIES: usize = 1024;

/// What the frontends and the adapters of `control` share.
pub(crate) struct Reactor<M: Media + 'static> {
    pub pool: ArrayPool<M>,
    /// Units of all volumes, whatever protocols serve them.
    pub units: Rc<ArrayUnits<M>>,
    pub target: ArrayTarget<M>,
    /// The state that `control` published last.
    pub directory: RefCell<Option<::control::Directory>>,
    pub environment: Rc<dyn Environment>,
}

impl<M: Media + 'static> Reactor<M> {
    /// Relative target port identifier of a portal, which is its target portal group tag too. No initiator is let in before it is known.
    pub fn port_identifier(&self, portal: usize) -> u16 {
        let directory = self.directory.borrow();
        directory.as_ref().and_then(|directory| directory.port_identifiers().get(portal).copied()).unwrap_or(0)
    }
}

/// Decisions of the configuration that the array follows.
#[derive(Clone, Debug)]
pub struct ArraySetup {
    /// For [`Control::open`].
    pub array: ArrayOptions,
    /// Bound of resident memory, in bytes.
    pub memory_bytes: u64,
    /// Portals that accept connections, in the order of the configuration.
    pub portals: Vec<Portal>,
    /// The portals' advertised addresses are from the configuration.
    pub advertise_configured: bool,
    /// Hosts may change the states of target port groups.
    pub explicit_asymmetric_access: bool,
    /// Answer of ABORT TASK for a task that does not exist.
    pub abort_of_finished_task: AbortOfFinishedTask,
    /// How every logical unit presents itself.
    pub profile: Profile,
}

/// A running array on this thread. Its tasks belong to the `LocalSet` that it was opened in.
pub(crate) struct Array<M: Media + 'static> {
    pub control: Rc<Control>,
    pub iscsi: Rc<Iscsi<M>>,
    frontends: Vec<Rc<dyn Frontend>>,
    pool: ArrayPool<M>,
    pumping: JoinHandle<()>,
    background: JoinHandle<()>,
    copying: JoinHandle<()>,
    #[cfg(feature = "simulation")]
    work: Rc<Notify>,
}

impl<M: Media + 'static> Array<M> {
    /// Starts an array on an opened pool. Connections may be accepted afterwards.
    pub async fn open(
        pool: ArrayPool<M>,
        setup: ArraySetup,
        environment: Rc<dyn Environment>,
    ) -> Result<Self, ServeError> {
        let failed = |error| ServeError::Failed(anyhow::Error::new(error));
        let work = Rc::new(Notify::new());
        pool.on_work({
            let work = work.clone();
            move || work.notify_one()
        });
        let share = u32::from(setup.array.background_share_percent);
        let pumping = tokio::task::spawn_local(pump::run(pool.clone(), work.clone(), share));
        let store = Rc::new(ArrayStore::new());
        let units = Rc::new(Units::new(UnitsOptions {
            store: store.clone(),
            clock: Rc::new(UnitClock(environment.clone())),
            working_bytes: setup.memory_bytes / 16,
            refusal_log_entries: REFUSAL_LOG_ENTRIES,
        }));
        let reactor = Rc::new(Reactor {
            target: ScsiTarget::new(units.clone(), target_options(&setup, &*environment)),
            units: units.clone(),
            pool: pool.clone(),
            directory: RefCell::new(None),
            environment: environment.clone(),
        });
        let iscsi = Rc::new(Iscsi::new(reactor.clone(), &setup));
        let adapter: Weak<dyn Adapter> = Rc::downgrade(&(iscsi.clone() as Rc<dyn Adapter>));
        units.serve_by(adapter);
        let frontends: Vec<Rc<dyn Frontend>> = vec![iscsi.clone()];
        let live = Rc::new(LiveArray::new(reactor.clone(), frontends.clone(), setup.portals, setup.profile));
        let catalog = Rc::new(pool.clone());
        let control = Control::open(catalog, live.clone(), environment, setup.array).await.map_err(failed)?;
        reactor.target.set_name(control.directory().target());
        live.load(&control.directory());
        let control = Rc::new(control);
        store.connect(&reactor, &control);
        reservations::load(&reactor, &control).map_err(failed)?;
        sanitize::load(&reactor, &control).map_err(failed)?;
        let background = tokio::task::spawn_local({
            let control = control.clone();
            async move { control.background().await }
        });
        let copying = tokio::task::spawn_local(async move {
            tokio::join!(reactor.target.run_background(), expire_tokens(&reactor));
        });
        Ok(Self {
            control,
            iscsi,
            frontends,
            pool,
            pumping,
            background,
            copying,
            #[cfg(feature = "simulation")]
            work,
        })
    }

    /// Says that the medium may have completed something.
    #[cfg(feature = "simulation")]
    pub fn medium_progressed(&self) {
        self.work.notify_one();
    }

    /// Lets hosts log out of every frontend.
    pub async fn shut_down_frontends(&self) {
        for frontend in &self.frontends {
            frontend.shut_down().await;
        }
    }

    /// Ends the tasks and makes everything durable. Frontends must be shut down before.
    pub async fn close(self) -> Result<(), ServeError> {
        self.copying.abort();
        let _ended = self.copying.await;
        self.background.abort();
        let _ended = self.background.await;
        // Its writes are not worth a long wait: a medium that does not answer must not delay the
        // stop.
        let _closed = tokio::time::timeout(Duration::from_secs(5), self.control.close()).await;
        self.pumping.abort();
        let _ended = self.pumping.await;
        match self.pool.with_core(|core| (core.checkpoint(), core.starved())) {
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

/// Ends copy tokens when their time has come.
async fn expire_tokens<M: Media + 'static>(reactor: &Reactor<M>) {
    loop {
        tokio::time::sleep(TOKEN_INTERVAL).await;
        reactor.target.expire_tokens();
    }
}

/// Options of the SCSI target. Name, ports and their groups follow when `control` is open.
fn target_options(setup: &ArraySetup, environment: &dyn Environment) -> TargetOptions {
    let mut token_key = [0; 32];
    environment.fill_random(&mut token_key);
    TargetOptions {
        identity: TargetIdentity { name: String::new(), groups: Vec::new(), ports: Vec::new() },
        limits: Limits::default(),
        explicit_access: setup.explicit_asymmetric_access,
        token_key,
    }
}
