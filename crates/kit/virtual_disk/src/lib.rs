//! Virtual disks and whole logical units as a host handles them: created, copied, moved while in
//! use, zeroed, unmapped. Does the work of `vmkfstools` against any array, as a library; `windlass
//! disk` and `windlass datastore` are its command line.
//!
//! * [`Location`]: names a disk.
//! * [`Kit`]: sessions, logical units and mounted datastores of one command.
//! * [`Endpoint`]: a virtual disk or a whole logical unit, to read, write and copy.
//! * [`Mirror`]: a disk that moves while a guest uses it.
//! * [`verbs`]: one file per verb. [`Account`] reports who moved how many bytes, and why.
//! * [`files`]: disks that are files of a share of any NFS server.
//! * [`settings`]: the switches with ESXi's names, stored in a file of the user.
//! * [`storm`]: one host of a storm of dying hosts, and the verdict at the end.
#![forbid(unsafe_code)]

mod account;
mod endpoint;
mod error;
pub mod files;
mod holds_data;
mod kit;
pub mod load;
mod location;
mod mirror;
mod progress;
mod ranges;
mod runtime;
pub mod settings;
pub mod storm;
pub mod verbs;

pub use account::{Account, Spent};
pub use endpoint::Endpoint;
pub use error::DiskError;
pub use holds_data::unit_name;
pub use kit::{Kit, KitOptions, own_host_name};
pub use location::{Location, LocationError};
pub use mirror::{MigrateError, Mirror};
pub use progress::Meter;
pub use runtime::run;

pub use ::datastore::{DiskFormat, FormatOptions};
pub use initiator::url::Url;
pub use text::size::parse as parse_size;
