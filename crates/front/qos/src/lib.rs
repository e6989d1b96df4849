//! Quality of service: how much a volume or a host may do in a second, and in which order the commands
//! go on that have to wait. Pure: no clock, no timer, no command of any protocol. The caller states the
//! instant, asks for each command whether it may begin ([`Regulator::arrive`]), and calls
//! [`Regulator::release`] when [`Regulator::due`] says so.
//!
//! A *policy* has limits. It is attached to volumes and hosts, each of which has the limits for itself; or to
//! volumes that share them. Every limit that concerns a command has to let it pass.
//!
//! * Commands wait before they hold anything, and leave in the order of their host and volume.
//! * Where several wait for one limit, hosts get shares by weight, whatever their numbers of commands,
//!   volumes and sessions; the volumes of a host that waits for its own limit get shares alike.
//! * What a command has cost may be charged after its end ([`Regulator::charge`]): offloaded work costs
//!   what the array did, which is not known before.
#![forbid(unsafe_code)]

mod gate;
mod limits;
mod queue;
mod regulator;
mod statistics;

pub use limits::{
    Burst, DEFAULT_WEIGHT, Limits, LimitsError, MAX_BURST, MAX_PER_SECOND, MAX_WEIGHT, MIN_BYTES_PER_SECOND,
    MIN_OPERATIONS_PER_SECOND, MIN_WEIGHT, Rate,
};
pub use regulator::{Admission, Class, HostId, PolicyId, Regulator, Ticket, Work};
pub use statistics::{Charged, Held, Report};
