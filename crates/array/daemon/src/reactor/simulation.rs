//! Array for a simulation: the real reactor without sockets, files or clocks of the operating
//! system. The caller provides the medium, the byte streams and the environment, and runs the array
//! inside its own `LocalSet`, which it drops to kill the array.

pub use super::array::ArraySetup;
pub use super::iscsi::socket::Socket;

use super::array::Array;
use crate::ServeError;
use control::{Control, Environment};
use media::Media;
use pool::{Core, Pool};
use std::cell::Cell;
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
        self.array.iscsi.connected(socket, peer, portal);
    }

    /// Stops in order: hosts log out, and all changes become durable.
    pub async fn stop(self) -> Result<(), ServeError> {
        drop(self.pool);
        self.array.shut_down_frontends().await;
        self.array.close().await
    }
}

/// A rule of the glue that is left out. One thread, one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// An order to a connection does not wake it.
    OrderWithoutWake,
    /// A finished command does not release those that wait for its end.
    WaiterForgotten,
    /// The nexus of a connection goes before its last command is done.
    NexusBeforeDrain,
    /// A response is lost when others are queued before it.
    ReplyLost,
}

impl Mutation {
    /// Every rule.
    pub const ALL: [Self; 4] = [Self::OrderWithoutWake, Self::WaiterForgotten, Self::NexusBeforeDrain, Self::ReplyLost];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OrderWithoutWake => "order-without-wake",
            Self::WaiterForgotten => "waiter-forgotten",
            Self::NexusBeforeDrain => "nexus-before-drain",
            Self::ReplyLost => "reply-lost",
        }
    }

    /// What is left out, in a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Self::OrderWithoutWake => "an order to a connection does not wake it",
            Self::WaiterForgotten => "a finished command does not release the functions that wait for its end",
            Self::NexusBeforeDrain => "a nexus may log in again before the last command of its old session is done",
            Self::ReplyLost => "the response of a command is lost when another is queued before it",
        }
    }
}

thread_local! {
    static MUTATION: Cell<Option<Mutation>> = const { Cell::new(None) };
}

/// Leaves a rule out in the arrays of this thread.
pub fn leave_out(mutation: Option<Mutation>) {
    MUTATION.set(mutation);
}

/// True when the rule is left out.
pub(super) fn without(mutation: Mutation) -> bool {
    MUTATION.get() == Some(mutation)
}
