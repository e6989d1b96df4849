//! Interface between the reactor and the life cycle of the process.

use crate::configuration::ReactorConfiguration;
use crate::error::ServeError;
use crate::handle::Requests;
use control::Portal;
use std::net::SocketAddr;
use tokio::sync::oneshot;

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
