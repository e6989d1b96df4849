//! Interface between this crate's life cycle and the reactor.

use crate::config::{NfsConfiguration, PoolBackend};
use crate::{AbortOfFinishedTask, Placement, Requests, ServeError};
use control::{ArrayOptions, Portal};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::sync::oneshot;

/// Configuration of the reactor.
#[derive(Clone, Debug)]
pub struct ReactorConfiguration {
    /// State directory. It exists, is locked by this process, and belongs to its user alone.
    pub state_dir: PathBuf,
    /// File or block device of the pool; created as a sparse file if it does not exist.
    pub pool_path: PathBuf,
    /// Required type of the path, if configured.
    pub pool_backend: Option<PoolBackend>,
    /// Size of a new pool. An existing one keeps its size.
    pub pool_size_bytes: u64,
    /// True if the size was configured; false if it is the built-in one.
    pub pool_size_is_given: bool,
    /// Sign that the state directory has served a pool, in words: a missing or empty one is an error.
    pub pool_sign: Option<String>,
    /// True if a new pool is requested in spite of such a sign, and only a new one.
    pub new_pool: bool,
    /// True if a pool other than the recorded one is accepted.
    pub adopt_pool: bool,
    /// True if freed space is returned to the storage below the pool.
    pub pool_discard: bool,
    /// Bytes for caches and data in flight; each connection adds up to 512 KiB.
    pub memory_bytes: u64,
    /// Threads that serve connections, at least 1: the reactor's own.
    pub threads: usize,
    /// When connections move to the others.
    pub placement: Placement,
    /// Addresses of the iSCSI portals.
    pub portals: Vec<SocketAddr>,
    /// `ADDRESS:PORT` that hosts get instead of the portals' own addresses; empty, or one for each
    /// portal.
    pub advertise: Vec<String>,
    /// True if hosts may change the states of target port groups.
    pub explicit_asymmetric_access: bool,
    /// Response of ABORT TASK for a task that no longer exists.
    pub abort_of_finished_task: AbortOfFinishedTask,
    /// iSNS servers to register with.
    pub isns: Vec<SocketAddr>,
    /// The NFS server.
    pub nfs: NfsConfiguration,
    /// Options for [`control::Control::open`].
    pub array: ArrayOptions,
}

/// Channels between the reactor and the management plane.
#[derive(Debug)]
pub struct ReactorChannels {
    /// Requests to the array; see [`answer`](crate::answer). Closed only after the shutdown signal.
    pub requests: Requests,
    /// Sent once every portal accepts connections.
    pub ready: oneshot::Sender<Ready>,
    /// Completes when the array is to stop: log initiators out, make all changes durable, return.
    pub shutdown: oneshot::Receiver<()>,
}

/// Report of a reactor that has started to serve.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Portals with their actual ports.
    pub portals: Vec<Portal>,
    /// Addresses of the NFS server with their actual ports; empty if NFS is not served.
    pub nfs: Vec<SocketAddr>,
    /// Name of the iSCSI target.
    pub target: String,
}

/// Runs a reactor on the calling thread and returns when it has stopped.
///
/// An error before `ready` is sent is the reason why the array does not start. [`ServeError::bind`]
/// builds errors of listening sockets.
pub trait ReactorStarter: Send + 'static {
    /// Runs until `channels.shutdown` completes or an error occurs.
    fn run(self, configuration: ReactorConfiguration, channels: ReactorChannels) -> Result<(), ServeError>;
}

impl<F> ReactorStarter for F
where
    F: FnOnce(ReactorConfiguration, ReactorChannels) -> Result<(), ServeError> + Send + 'static,
{
    fn run(self, configuration: ReactorConfiguration, channels: ReactorChannels) -> Result<(), ServeError> {
        self(configuration, channels)
    }
}
