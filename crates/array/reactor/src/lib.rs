//! Reactor: the one thread that owns the pool, the units, `control` and every connection, and the access of other
//! threads to it.
//!
//! A command runs to completion on it: the connection's task reads the PDU, runs the device server
//! and the pool core, and queues the response; one pump after each batch of such work commits the
//! log and completes waiting requests. No step is handed to another thread.
//!
//! This crate hosts the engine. Each protocol has its own folder and implements `frontend::Frontend`. The
//! management plane, on another thread, has an [`ArrayHandle`]: changes reach the reactor through a bounded queue of
//! [`Requests`]; reads are answered from a mirror, so that no number of clients can delay a host's I/O.
#![forbid(unsafe_code)]
#![cfg_attr(test, expect(dead_code, unused_imports, reason = "what only a served array uses is not compiled"))]

mod admission;
mod array;
mod clock;
pub mod configuration;
mod control;
mod environment;
mod error;
mod frontend;
mod frontends;
mod handle;
mod iscsi;
mod listener;
pub mod measurements;
mod memory;
#[cfg(feature = "simulation")]
mod mutations;
mod nfs;
mod notice;
pub mod pool_record;
mod portal;
mod pump;
mod quantum;
mod run;
mod setup;
mod share;
mod shared_memory;
#[cfg(feature = "simulation")]
pub mod simulation;
mod socket;
mod starter;
mod state;
pub mod state_files;
mod store;
mod threads;
mod timer;
mod wire;

pub use configuration::{
    AbortOfFinishedTask, NfsConfiguration, NfsVersions, Placement, PoolBackend, ReactorConfiguration,
};
pub use environment::SystemEnvironment;
pub use error::ServeError;
pub use handle::{ArrayHandle, Requests, answer};
pub use notice::Notice;
pub use portal::advertised;
#[cfg(not(test))]
pub use run::run;
pub use starter::{ReactorChannels, ReactorStarter, Ready};

use pool::{Pool, Volume};
use unit::Units;

/// Version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) type ArrayPool<M> = Pool<M>;
pub(crate) type ArrayUnits<M> = Units<Volume<M>>;
