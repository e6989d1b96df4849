//! The running array around its reactor: configuration, logs, the management plane over HTTP,
//! metrics, and the life cycle of the process.
//!
//! Two threads do the work. The *reactor* owns the pool, the targets and `control`; it runs in its
//! own thread and is passed to this crate as a [`ReactorStarter`]. The *management plane* runs on
//! the main thread. Changes reach the reactor through a bounded queue of [`Requests`]; reads are
//! answered from a mirror, so that no number of HTTP clients can delay a host's I/O.
//!
//! [`serve`] runs an array until a signal stops it.
#![forbid(unsafe_code)]
#![cfg_attr(
    any(test, feature = "mutations"),
    expect(dead_code, unused_imports, reason = "what only a served array uses is not compiled")
)]

mod array;
mod config;
mod data_cache;
mod environment;
mod error;
mod http;
mod lifecycle;
mod load;
mod logging;
mod measurements;
#[cfg(any(test, feature = "memory"))]
pub mod memory;
mod metrics;
mod network;
mod nfs_use;
mod notice;
mod notify;
mod paths;
mod pool_record;
mod portal;
mod reactor;
mod starter;
mod state_dir;
mod tls;
mod token;
mod turns;

pub use array::{ArrayHandle, Requests, answer};
pub use config::{
    AbortOfFinishedTask, Configuration, LogConfiguration, LogFormat, NfsConfiguration, NfsVersions, Placement,
    PoolBackend, PoolConfiguration, ServeOptions, TlsMode, check_config,
};
pub use environment::SystemEnvironment;
pub use error::ServeError;
pub use portal::advertised;
#[cfg(not(any(test, feature = "mutations")))]
pub use reactor::run_reactor;
#[cfg(feature = "simulation")]
pub use reactor::simulation;
pub use starter::{ReactorChannels, ReactorConfiguration, ReactorStarter, Ready};
#[cfg(not(feature = "mutations"))]
pub use {http::openapi_json, lifecycle::serve};

/// Version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
