//! An array with its real reactor that serves NFS on a port of this machine.

use control::{ArrayOptions, ExportGrant, ExportGrantee, Limits, PortalOptions, ShareCreate, Squash};
use nfs::v4::StateOwner;
use nfs::v4::locks::{LockArguments, LockType, Locker, OpenToLockOwner};
use nfs::v4::open::{OpenArguments, OpenClaim, OpenHow, share_access, share_deny};
use nfs::v4::operations::Operation;
use nfs_client::{ClientError, Compound, File, Share};
use reactor::{
    AbortOfFinishedTask, ArrayHandle, NfsConfiguration, Placement, ReactorChannels, ReactorConfiguration, ServeError,
};
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

/// Shortest lease that can be configured.
pub const LEASE: Duration = Duration::from_secs(5);

/// Thread of the reactor.
type Reactor = JoinHandle<Result<(), ServeError>>;

/// Running array. It stops when it is dropped.
pub struct Array {
    pub handle: ArrayHandle,
    /// Address of the NFS server.
    pub nfs: SocketAddr,
    stop: Option<(oneshot::Sender<()>, Reactor)>,
}

/// Runs a client, in a runtime of its own thread.
pub fn client<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// Locks a range for writing.
pub async fn lock(share: &Share, file: &File, owner: &'static [u8], offset_bytes: u64, length_bytes: u64) {
    lock_as(LockType::Write, share, file, owner, (offset_bytes, length_bytes)).await;
}

/// Locks a range.
pub async fn lock_as(
    kind: LockType,
    share: &Share,
    file: &File,
    owner: &'static [u8],
    (offset_bytes, length_bytes): (u64, u64),
) {
    let owner = StateOwner { client: 0, owner: owner.into() };
    let new = OpenToLockOwner { open_seqid: 0, open_stateid: file.stateid, lock_seqid: 0, owner };
    let lock = LockArguments { kind, reclaim: false, offset_bytes, length_bytes, locker: Locker::New(new) };
    let compound = Compound::changing([Operation::Lock(Box::new(lock))]).on(&file.handle);
    share.session().call(&compound).await.unwrap().finish().unwrap();
}

/// Opens a file for reading alone, as in a snapshot.
pub async fn open_to_read(share: &Share, name: &str) -> Result<File, ClientError> {
    let arguments = OpenArguments {
        seqid: 0,
        share_access: share_access::READ | share_access::WANT_NO_DELEGATION,
        share_deny: share_deny::NONE,
        owner: StateOwner { client: 0, owner: b"reader"[..].into() },
        how: OpenHow::NoCreate,
        claim: OpenClaim::Null(name.into()),
    };
    share.open_with(share.root(), arguments).await.map(|(file, _)| file)
}

impl Array {
    /// Starts an array on the pool in the directory, and waits until it serves.
    pub fn start(directory: &Path) -> Self {
        let (handle, requests) = ArrayHandle::channel();
        let (ready, served) = oneshot::channel();
        let (stop, shutdown) = oneshot::channel();
        let configuration = configuration(directory);
        let thread =
            std::thread::spawn(move || reactor::run(configuration, ReactorChannels { requests, ready, shutdown }));
        let Ok(served) = served.blocking_recv() else { panic!("{:?}", thread.join()) };
        Self { handle, nfs: served.nfs[0], stop: Some((stop, thread)) }
    }

    /// Creates a share that this machine may use as user 0.
    pub async fn create_share(&self, name: &str) {
        self.handle.call(ShareCreate::new(name)).await.unwrap();
        self.handle.call(self.grant_of(name)).await.unwrap();
    }

    /// Grant by which this machine may use a share as user 0.
    pub fn grant_of(&self, share: &str) -> ExportGrant {
        ExportGrant {
            share: share.to_owned(),
            grantee: ExportGrantee::Any,
            read_only: false,
            squash: Some(Squash::None),
            anonymous: None,
            privileged_port: false,
        }
    }

    /// Stops the array, in order.
    pub fn stop(mut self) {
        self.end().unwrap().unwrap().unwrap();
    }

    fn end(&mut self) -> Option<std::thread::Result<Result<(), ServeError>>> {
        let (stop, thread) = self.stop.take()?;
        // The reactor waits for the end of the management plane.
        self.handle = ArrayHandle::channel().0;
        let _stops = stop.send(());
        Some(thread.join())
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        let _ended = self.end();
    }
}

fn configuration(directory: &Path) -> ReactorConfiguration {
    let portal = SocketAddr::from(([127, 0, 0, 1], 0));
    ReactorConfiguration {
        state_dir: directory.to_owned(),
        pool_path: directory.join("p0.pool"),
        pool_backend: None,
        pool_size_bytes: 256 << 20,
        pool_size_is_given: true,
        pool_sign: None,
        new_pool: false,
        adopt_pool: false,
        pool_discard: false,
        memory_bytes: 64 << 20,
        threads: 1,
        placement: Placement::Load,
        portals: vec![portal],
        advertise: Vec::new(),
        explicit_asymmetric_access: false,
        abort_of_finished_task: AbortOfFinishedTask::default(),
        isns: Vec::new(),
        nfs: NfsConfiguration {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            lease: LEASE,
            ..NfsConfiguration::default()
        },
        array: ArrayOptions {
            pool_name: "p0".to_owned(),
            iqn_base: "iqn.2026-01.org.example".to_owned(),
            target_name: Some("test".to_owned()),
            limits: Limits::default(),
            background_share_percent: 20,
            https_fault: None,
            portals: vec![PortalOptions { listen: portal, group: None }],
        },
    }
}
