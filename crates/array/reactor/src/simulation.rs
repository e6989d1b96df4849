//! Array for a simulation: the real reactor without sockets, files or clocks of the operating
//! system. The caller provides the medium, the byte streams and the environment, and runs the array
//! inside its own `LocalSet`, which it drops to kill the array.

pub use super::mutations::{Mutation, leave_out};
pub use super::setup::ArraySetup;
pub use super::socket::Socket;

use super::array::Array;
use super::iscsi::executor;
use crate::ServeError;
use control::{Control, Environment, Live};
use futures_util::future::LocalBoxFuture;
use media::Media;
use pool::{Core, Pool};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

/// Running array.
pub struct SimulatedArray<M: Media + 'static> {
    array: Array<M>,
    pool: Pool<M>,
}

impl<M: Media + 'static> std::fmt::Debug for SimulatedArray<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SimulatedArray")
    }
}

impl<M: Media + 'static> SimulatedArray<M> {
    /// Starts an array on an opened engine.
    pub async fn open(core: Core<M>, setup: ArraySetup, environment: Rc<dyn Environment>) -> Result<Self, ServeError> {
        let pool = Pool::new(core);
        let array = Array::open(pool.clone(), setup, environment, &Arc::default()).await?;
        Ok(Self { array, pool })
    }

    /// Administration of the array.
    pub fn control(&self) -> &Rc<Control> {
        &self.array.control
    }

    /// Handle to the engine. It outlives a kill, so that a caller can inspect the cause of a hung
    /// command.
    pub fn pool(&self) -> &Pool<M> {
        &self.pool
    }

    /// The array as its administration sees it.
    pub fn live(&self) -> Rc<dyn Live> {
        self.array.live()
    }

    /// Checks that exactly the commands wait for limits that know of it, and that those of a nexus began in their
    /// order.
    pub fn check_limits(&self) -> Result<(), String> {
        self.array.check_limits()
    }

    /// Number of commands that wait for limits.
    pub fn waiting_for_limits(&self) -> usize {
        self.array.waiting_for_limits()
    }

    /// Signals that the medium may have completed requests, as the descriptor of a real medium
    /// does.
    pub fn medium_progressed(&self) {
        self.array.medium_progressed();
    }

    /// Connects a byte stream to a portal, given by its index.
    pub fn connect(&self, socket: impl Socket, peer: SocketAddr, portal: usize) {
        self.array.iscsi().connected(socket, peer, portal);
    }

    /// Connects a byte stream to the NFS server. It is closed if NFS is not served.
    pub fn connect_nfs(&self, socket: impl Socket, peer: SocketAddr) {
        if let Some(nfs) = self.array.nfs() {
            nfs.connected(socket, peer);
        }
    }

    /// Adds an executor. The future is its thread; the caller polls it in a `LocalSet` of its own.
    pub fn add_executor(&self) -> LocalBoxFuture<'static, ()> {
        Box::pin(executor::run(self.array.iscsi().add_executor()))
    }

    /// Orders a connection to move from the reactor's thread to an executor. `choose`: a number below
    /// its argument.
    pub fn move_connection(&self, choose: impl Fn(usize) -> usize) {
        let movable = self.array.iscsi().movable();
        let executors = self.array.iscsi().executors();
        if executors > 0
            && !movable.is_empty()
            && let Some(connection) = movable.get(choose(movable.len()))
        {
            connection.move_to(1 + choose(executors));
        }
    }

    /// Stops in order: hosts log out, and all changes become durable.
    pub async fn stop(self) -> Result<(), ServeError> {
        drop(self.pool);
        self.array.shut_down_frontends().await;
        self.array.close().await
    }
}
