//! Configuration of the reactor.

use control::ArrayOptions;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Smallest size of a new pool: below this, log and metadata leave no usable space.
pub const MIN_POOL_BYTES: u64 = 64 << 20;
/// Largest pool: 256 entries of the space index in the root, 2 TiB each.
pub const MAX_POOL_BYTES: u64 = 512 << 40;
/// Smallest memory setting.
pub const MIN_MEMORY_BYTES: u64 = 64 << 20;

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

/// When connections move to further threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Placement {
    /// While the first thread is busy.
    #[default]
    Load,
    /// After their login, to all threads in turn: tests reach every thread without load.
    Spread,
}

/// Answer of ABORT TASK for a task that no longer exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AbortOfFinishedTask {
    /// "Function complete" for VMware's initiators, which require it; "task does not exist" for all
    /// others.
    #[default]
    ByInitiatorName,
    /// "Task does not exist", RFC 7143 §11.6.1.
    TaskDoesNotExist,
    /// "Function complete".
    FunctionComplete,
}

/// Kind of storage below a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PoolBackend {
    /// File, created if it does not exist.
    File,
    /// Block device. It must exist; no file is created in its place.
    Disk,
}

/// Configuration of the NFS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsConfiguration {
    /// Addresses to listen on; without one, NFS is not served.
    pub listen: Vec<SocketAddr>,
    /// Versions of the protocol.
    pub versions: NfsVersions,
    /// True if portmap and rpcbind are served, on the same addresses.
    pub portmap: bool,
    /// Lease of clients of NFSv4.
    pub lease: Duration,
    /// Most clients of NFSv4.
    pub max_clients: u32,
    /// Memory of the replies that sessions of NFSv4 keep.
    pub replay_memory_bytes: u64,
}

/// Versions of NFS that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NfsVersions {
    /// NFSv3 with MOUNT.
    pub v3: bool,
    /// NFSv4.1 and 4.2.
    pub v4: bool,
}

impl Default for NfsConfiguration {
    /// Built-in values: NFS is not served.
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            versions: NfsVersions { v3: true, v4: true },
            portmap: false,
            lease: Duration::from_secs(30),
            max_clients: 4096,
            replay_memory_bytes: 32 << 20,
        }
    }
}
