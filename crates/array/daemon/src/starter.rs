//! The seam between this crate's life cycle and the reactor.

use crate::{AbortOfFinishedTask, ServeError, Work};
use control::{ArrayOptions, Portal};
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::sync::{mpsc, oneshot};

/// What the reactor needs to know.
#[derive(Clone, Debug)]
pub struct ReactorConfiguration {
    /// The state directory; exists, is locked by this process, and belongs to its user alone.
    pub state_dir: PathBuf,
    /// File or block device of the pool; made as a sparse file when it does not exist.
    pub pool_path: PathBuf,
    /// Size of a new pool. An existing one keeps its size.
    pub pool_size_bytes: u64,
    /// That size was asked for; otherwise it is the built-in one.
    pub pool_size_is_given: bool,
    /// Give freed space back to what is below the pool.
    pub pool_discard: bool,
    /// Bytes for caches and data in flight; each connection adds up to 2 MiB.
    pub memory_bytes: u64,
    /// Where to accept iSCSI connections.
    pub portals: Vec<SocketAddr>,
    /// `ADDRESS:PORT` that hosts are told instead of the portals' own addresses; empty, or as many as there are portals.
    pub advertise: Vec<String>,
    /// Hosts may change the states of target port groups.
    pub explicit_asymmetric_access: bool,
    /// What ABORT TASK answers for a task that is not there any more.
    pub abort_of_finished_task: AbortOfFinishedTask,
    /// iSNS servers to register with.
    pub isns: Vec<SocketAddr>,
    /// For [`control::Control::open`].
    pub array: ArrayOptions,
}

/// How the reactor and the management plane talk.
#[derive(Debug)]
pub struct ReactorChannels {
    /// Work for the array; see [`answer`](crate::answer). Closed only after the shutdown signal.
    pub requests: mpsc::Receiver<Work>,
    /// To be sent once every portal accepts connections.
    pub ready: oneshot::Sender<Ready>,
    /// Completes when the array shall stop: say goodbye to initiators, make everything durable, return.
    pub shutdown: oneshot::Receiver<()>,
}

/// What the reactor tells when it serves.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Portals with their real ports.
    pub portals: Vec<Portal>,
    /// Name of the iSCSI target.
    pub target: String,
}

/// Runs a reactor on the thread it is called on, and returns when it has stopped.
///
/// An error before `ready` was sent is why the array does not start. Bind errors are best made with [`ServeError::bind`].
pub trait ReactorStarter: Send + 'static {
    /// Runs until `channels.shutdown` completes or something fails.
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
