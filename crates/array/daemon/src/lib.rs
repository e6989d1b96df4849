//! The process of an array: configuration, logs, the management plane over HTTP, metrics, and its life cycle.
//!
//! The reactor (crate `reactor`) runs in its own thread and is passed to this crate as a
//! [`ReactorStarter`](reactor::ReactorStarter). The *management plane* runs on the main thread, and reaches the array
//! through an [`ArrayHandle`](reactor::ArrayHandle).
//!
//! [`serve`] runs an array until a signal stops it.
#![forbid(unsafe_code)]

mod audit;
mod bundle;
mod certificates;
mod config;
mod doctor;
mod http;
mod laboratory;
mod lifecycle;
mod logging;
mod management_store;
#[cfg(any(test, feature = "memory"))]
pub mod memory;
mod metrics;
mod network;
mod notices;
mod notify;
mod people;
mod recording;
mod report;
mod severity;
mod state_dir;
mod tls;

pub use config::{
    AuditFailure, Configuration, LogConfiguration, LogFormat, ManagementConfiguration, PoolConfiguration, ServeOptions,
    TlsMode, check_config,
};
pub use http::openapi_json;
pub use laboratory::lab_result;
pub use lifecycle::serve;

/// Version of the program.
pub const VERSION: &str = reactor::VERSION;
