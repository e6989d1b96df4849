//! Array for a simulation: the real reactor without sockets, files or clocks of the operating
//! system. The caller provides the medium, the byte streams and the environment, and runs the array
//! inside its own `LocalSet`, which it drops to kill the array.

pub use super::iscsi::socket::Socket;
pub use super::mutations::{Mutation, leave_out};
pub use super::setup::ArraySetup;

use super::array::Array;
use crate::ServeError;
use control::{Control, Environment};
use media::Media;
use pool::{Core, Pool};
use std::net::SocketAddr;
use std::rc::Rc;

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
        let array = Array::open(pool.clone(), setup, environment).await?;
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

    /// Signals that the medium may have completed requests, as the descriptor of a real medium
    /// does.
    pub fn medium_progressed(&self) {
        self.array.medium_progressed();
    }

    /// Connects a byte stream to a portal, given by its index.
    pub fn connect(&self, socket: impl Socket, peer: SocketAddr, portal: usize) {
        self.array.iscsi().connected(socket, peer, portal);
    }

    /// Stops in order: hosts log out, and all changes become durable.
    pub async fn stop(self) -> Result<(), ServeError> {
        drop(self.pool);
        self.array.shut_down_frontends().await;
        self.array.close().await
    }
}
