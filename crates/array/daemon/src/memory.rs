//! Reactor over an array in memory, for tests: everything above the reactor is real. Never part of
//! the shipped binary.

use anyhow::Context;
use control::memory::MemoryCatalog;
use control::memory::live::MemoryLive;
use control::{Control, Portal};
use reactor::{
    AbortOfFinishedTask, ReactorChannels, ReactorConfiguration, Ready, ServeError, SystemEnvironment, answer,
};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a reactor starter over memory; `prepare` gets the array before it serves.
pub fn starter(
    prepare: impl FnOnce(&Control, &MemoryLive, &MemoryCatalog) + Send + 'static,
) -> impl FnOnce(ReactorConfiguration, ReactorChannels) -> Result<(), ServeError> + Send + 'static {
    move |configuration, channels| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("runtime")?;
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async move {
            let catalog = Rc::new(MemoryCatalog::default());
            let live = Rc::new(MemoryLive::default());
            let portals: Vec<Portal> = configuration
                .portals
                .iter()
                .map(|listen| Portal { listen: *listen, advertised: reactor::advertised(*listen) })
                .collect();
            live.portals.replace(portals.clone());
            let opened =
                Control::open(catalog.clone(), live.clone(), Rc::new(SystemEnvironment), configuration.array).await;
            let control = Rc::new(opened.context("state")?);
            prepare(&control, &live, &catalog);
            let background = Rc::clone(&control);
            let _until_the_end = tokio::task::spawn_local(async move { background.background().await });
            let target = control.directory().target().to_owned();
            let _gone = channels.ready.send(Ready { portals, nfs: Vec::new(), target });
            tokio::select! {
                () = answer(control, channels.requests) => {}
                _ = channels.shutdown => {}
            }
            Ok(())
        })
    }
}

/// Directory that is removed with its last clone.
#[derive(Clone, Debug)]
pub struct TemporaryDirectory {
    path: PathBuf,
    _owner: Arc<Removal>,
}

#[derive(Debug)]
struct Removal(PathBuf);

impl Drop for Removal {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}

impl TemporaryDirectory {
    /// Creates a directory under the system's temporary directory.
    #[expect(clippy::new_without_default, reason = "it is not a plain value")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("windlass-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        if let Err(error) = std::fs::create_dir_all(&path) {
            panic!("{}: {error}", path.display());
        }
        Self { path: path.clone(), _owner: Arc::new(Removal(path)) }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Starts an array in memory on its own thread, without sockets; it ends when the handle is
/// dropped.
pub fn spawn(prepare: impl FnOnce(&Control, &MemoryLive, &MemoryCatalog) + Send + 'static) -> reactor::ArrayHandle {
    let (array, requests) = reactor::ArrayHandle::channel();
    let (ready, _) = tokio::sync::oneshot::channel();
    let (keep, shutdown) = tokio::sync::oneshot::channel();
    let configuration = ReactorConfiguration {
        state_dir: PathBuf::new(),
        pool_path: PathBuf::new(),
        pool_backend: None,
        pool_size_bytes: 64 << 30,
        pool_size_is_given: false,
        pool_sign: None,
        new_pool: false,
        adopt_pool: false,
        pool_discard: false,
        memory_bytes: 512 << 20,
        threads: 1,
        placement: reactor::Placement::Load,
        portals: vec![std::net::SocketAddr::from(([127, 0, 0, 1], 3260))],
        advertise: Vec::new(),
        explicit_asymmetric_access: false,
        abort_of_finished_task: AbortOfFinishedTask::default(),
        isns: Vec::new(),
        nfs: reactor::NfsConfiguration::default(),
        array: control::ArrayOptions {
            pool_name: "p0".to_owned(),
            iqn_base: "iqn.2026-01.org.example".to_owned(),
            target_name: Some("test".to_owned()),
            limits: control::Limits::default(),
            background_share_percent: 20,
            https_fault: None,
            portals: vec![control::PortalOptions { listen: ([127, 0, 0, 1], 3260).into(), group: None }],
        },
    };
    let starter = starter(prepare);
    std::thread::spawn(move || {
        let result = starter(configuration, ReactorChannels { requests, ready, shutdown });
        drop(keep);
        result
    });
    array
}
