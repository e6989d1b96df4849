//! The host's side of iSCSI.
//!
//! * [`Session`]: one connection to one target for many commands at once, in one thread, on the tokio runtime that is there. Its byte and
//!   command counters are the truth about what was on the wire.
//! * [`LogicalUnit`]: what a session found at a LUN, as a [`data_mover::Device`].
//! * [`Multipath`]: several sessions of one logical unit as one device, which outlives the loss of any of them.
//! * [`cdb`], [`sense`], [`url`]: the bytes of commands and sense data, and how a logical unit is named. They are written down here once more,
//!   and not shared with the array, so that the kits do not agree with a mistake of the array's.
#![forbid(unsafe_code)]

pub mod cdb;
mod clock;
mod driver;
mod in_flight;
mod interrupts;
mod logical_unit;
mod multipath;
mod parameter_data;
pub mod sense;
mod session;
pub mod url;

pub use clock::SystemClock;
pub use interrupts::Interrupts;
pub use iscsi::names::normalize as normalize_name;
pub use logical_unit::{LogicalUnit, ProbeError};
pub use multipath::{Multipath, MultipathError, MultipathOptions, PathStatus, Policy};
pub use session::{Counters, Options, Session, SessionError};
