//! iSCSI initiator.
//!
//! * [`Session`]: one connection to one target for many concurrent commands, in one thread, on the
//!   current tokio runtime. Its counters show the exact bytes and commands on the wire.
//! * [`LogicalUnit`]: a logical unit found at a LUN, as a [`data_mover::Device`].
//! * [`Multipath`]: several sessions to one logical unit as one device, which survives the loss of
//!   any of them.
//! * [`cdb`], [`sense`], [`url`]: the bytes of commands and sense data, and the URLs of logical
//!   units. These are independent of the array's code, so that the kits do not share its mistakes.
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
pub use parameter_data::naa as naa_designator;
pub use session::{Counters, Options, Session, SessionError};
