//! The array of a run: started on a simulated disk, killed, and started again.

use crate::environment::SimEnvironment;
use crate::shared::Shared;
use crate::world::{LEASE, VOLUME_BYTES};
use control::{
    AccessGrant, ArrayOptions, ExportGrant, ExportGrantee, Grantee, Limits, Portal, PortalOptions, ShareCreate, Squash,
    VolumeCreate,
};
use media::{FormatOptions, LocalMedia, SimDisk};
use pool::{Core, Options};
use random::Random;
use reactor::simulation::{ArraySetup, SimulatedArray};
use reactor::{AbortOfFinishedTask, NfsConfiguration};
use scsi_target::Profile;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Context;
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep};

type Store = LocalMedia<SimDisk>;

/// Time between looks at a medium that has nothing to do, in milliseconds.
const IDLE_MS: u64 = 20;

/// A machine that runs the array. Dropped, it is killed.
pub(crate) struct Machine {
    pub array: Rc<SimulatedArray<Store>>,
    /// Tasks of the engine's thread.
    pub tasks: LocalSet,
    threads: Threads,
}

/// Executors of an array, each with the tasks of its thread. The seed decides which thread runs next.
struct Threads {
    executors: Vec<LocalSet>,
    random: Random,
    /// Percent of the turns in which the engine's thread does not run, although it could.
    engine_late: u64,
    /// The same of each executor.
    executor_late: u64,
}

impl Threads {
    /// Runs some of the executors, in any order.
    fn poll(&mut self, context: &mut Context<'_>) {
        let count = self.executors.len();
        if count == 0 {
            return;
        }
        let first = usize::try_from(self.random.below(count as u64)).unwrap_or(0);
        for turn in 0..count {
            let Some(executor) = self.executors.get_mut((first + turn) % count) else { continue };
            if self.random.chance(self.executor_late) {
                // It runs later.
                context.waker().wake_by_ref();
            } else {
                let _never = Pin::new(executor).poll(context);
            }
        }
    }
}

/// Address of a portal.
pub(crate) fn portal(index: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1 + index], 3260))
}

/// Name of the share that hosts of NFS use.
pub(crate) const SHARE: &str = "files";

/// Address of the NFS server.
pub(crate) fn nfs_portal() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 2049))
}

fn setup(portals: &[SocketAddr], serves_files: bool) -> ArraySetup {
    ArraySetup {
        array: ArrayOptions {
            pool_name: "p0".to_owned(),
            iqn_base: "iqn.2026-01.org.windlass".to_owned(),
            target_name: Some("simulated".to_owned()),
            limits: Limits::default(),
            background_share_percent: 20,
            https_fault: None,
            portals: portals.iter().map(|listen| PortalOptions { listen: *listen, group: None }).collect(),
        },
        memory_bytes: 64 << 20,
        portals: portals.iter().map(|listen| Portal { listen: *listen, advertised: listen.to_string() }).collect(),
        advertise_configured: false,
        explicit_asymmetric_access: false,
        abort_of_finished_task: AbortOfFinishedTask::default(),
        profile: Profile::default(),
        nfs: NfsConfiguration {
            listen: if serves_files { vec![nfs_portal()] } else { Vec::new() },
            lease: LEASE,
            ..NfsConfiguration::default()
        },
    }
}

/// Makes a pool on the disk.
pub(crate) fn format(disk: &SimDisk, seed: u64) -> Result<(), String> {
    let mut uuid = [7; 16];
    uuid[..8].copy_from_slice(&seed.to_le_bytes());
    let root = pool::initial_root(uuid);
    let options = FormatOptions { uuid, log_bytes: 512 << 10, root, overwrite: false };
    LocalMedia::format(disk.clone(), options).map(drop).map_err(|error| format!("format: {error}"))
}

impl Machine {
    /// Starts the array on a disk.
    pub(crate) async fn start(shared: &Shared, disk: &SimDisk, began: Instant) -> Result<Self, String> {
        Self::start_with(shared, disk, began, &[portal(0)]).await
    }

    /// Starts the array with these portals.
    pub(crate) async fn start_with(
        shared: &Shared,
        disk: &SimDisk,
        began: Instant,
        portals: &[SocketAddr],
    ) -> Result<Self, String> {
        let incarnation = shared.incarnation.get() + 1;
        shared.incarnation.set(incarnation);
        shared.troubled.set(false);
        let random = Random::new(shared.world.seed ^ incarnation << 50);
        let memory_bytes = [256 << 10, 1 << 20, 8 << 20][random.below(3) as usize];
        let options = Options {
            memory_bytes,
            incarnation,
            destage_batch: 16,
            discard: shared.world.seed.is_multiple_of(2),
            ..Options::default()
        };
        let media = LocalMedia::open(disk.clone()).map_err(|error| format!("the pool is refused: {error}"))?;
        let (core, _) =
            Core::open(media, options, &mut |_| {}).map_err(|error| format!("the pool is refused: {error}"))?;
        let environment = Rc::new(SimEnvironment::new(random.next(), began));
        let tasks = LocalSet::new();
        let array =
            tasks.run_until(SimulatedArray::open(core, setup(portals, shared.world.nfs_hosts > 0), environment)).await;
        shared.up_since.set(Instant::now());
        let array = Rc::new(array.map_err(|error| format!("the array does not start: {error}"))?);
        let pool = array.pool().clone();
        let medium = Rc::downgrade(&array);
        // Stands for the descriptor of a real medium.
        tasks.spawn_local(async move {
            loop {
                let idle = pool.with_core(|core| core.idle());
                sleep(Duration::from_millis(if idle { IDLE_MS } else { 1 })).await;
                if let Some(array) = medium.upgrade().filter(|_| !idle) {
                    array.medium_progressed();
                }
            }
        });
        let engine = &tasks;
        let executors = (0..shared.world.executors).map(|_| {
            let tasks = LocalSet::new();
            let entered = engine.enter();
            let thread = array.add_executor();
            drop(entered);
            tasks.spawn_local(thread);
            tasks
        });
        let executors = executors.collect();
        let random = Random::new(random.next());
        let late = || [5, 30, 60][random.below(3) as usize];
        let (engine_late, executor_late) = (late(), late());
        let threads = Threads { executors, random, engine_late, executor_late };
        Ok(Self { array, tasks, threads })
    }

    /// Runs the threads of the array: each as far as it comes, some not at all.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) {
        if !self.threads.executors.is_empty() && self.threads.random.chance(3) {
            let _tasks = self.tasks.enter();
            let random = &self.threads.random;
            self.array.move_connection(|below| usize::try_from(random.below(below as u64)).unwrap_or(0));
        }
        self.threads.poll(context);
        if !self.threads.executors.is_empty() && self.threads.random.chance(self.threads.engine_late) {
            context.waker().wake_by_ref();
            return;
        }
        let _never = Pin::new(&mut self.tasks).poll(context);
    }

    /// Creates the volumes that every host sees, and the share of the hosts of NFS.
    pub(crate) async fn furnish(&self, shared: &Shared) -> Result<(), String> {
        let control = self.array.control().clone();
        let volumes = shared.world.volumes;
        let seed = shared.world.seed;
        let serves_files = shared.world.nfs_hosts > 0;
        let made = self.tasks.run_until(async move {
            for index in 0..volumes {
                let name = format!("v{index}");
                let create = VolumeCreate {
                    name: name.clone(),
                    size_bytes: Some(VOLUME_BYTES),
                    write_cache: false,
                    zero_detection: Some(seed.is_multiple_of(3)),
                    ..VolumeCreate::default()
                };
                control.execute(create).await?;
                let lun = u16::try_from(index).ok();
                control.execute(AccessGrant { volume: name, grantee: Grantee::Any, lun }).await?;
            }
            if serves_files {
                control.execute(ShareCreate::new(SHARE)).await?;
                let grant = ExportGrant {
                    share: SHARE.to_owned(),
                    grantee: ExportGrantee::Any,
                    read_only: false,
                    squash: Some(Squash::None),
                    anonymous: None,
                    privileged_port: false,
                };
                control.execute(grant).await?;
            }
            let directory = control.directory();
            let mut designators: Vec<_> =
                directory.volumes().map(|volume| (volume.name.clone(), *volume.naa.as_bytes())).collect();
            designators.sort();
            let designators = designators.into_iter().map(|(_, naa)| naa).collect();
            Ok::<(Vec<[u8; 16]>, String), control::ControlError>((designators, directory.target().to_owned()))
        });
        let (designators, target) = made.await.map_err(|error| format!("volumes: {error}"))?;
        shared.designators.replace(designators);
        shared.target.replace(target);
        Ok(())
    }

    /// Stops the array in order.
    pub(crate) async fn stop(self) -> Result<(), String> {
        let Self { array, tasks, mut threads } = self;
        let stopping = tasks.run_until(async move {
            let array = Rc::try_unwrap(array).map_err(|_| "the array is still used".to_owned())?;
            array.stop().await.map_err(|error| format!("the array does not stop cleanly: {error}"))
        });
        let mut stopping = pin!(stopping);
        let stopped = poll_fn(|context| {
            threads.poll(context);
            stopping.as_mut().poll(context)
        });
        tokio::time::timeout(crate::host::BOUND, stopped).await.map_err(|_| "the array does not stop".to_owned())?
    }
}
