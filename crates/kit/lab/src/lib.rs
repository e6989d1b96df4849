//! The white papers' laboratory: every test that array vendors published as a case that runs against any array, with the primitive off (the host
//! does the work itself) and on, in turns, and that checks what came of it byte for byte.
//!
//! * [`cases`]: the tests, one a file, with what the paper found.
//! * [`run`]: connects, refuses a logical unit with data, runs cases for some rounds, keeps what was found after each, and wipes its scratch.
//! * [`results`]: what a run found; [`table`] and [`compare`] print it.
//!
//! Below the cases lies a bench: hosts with an initiator name, a session and counters of their own ([`host`](self)), datastores on slices of a
//! logical unit, guests whose every sector says what it is and which therefore check every read, meters, histograms, and the
//! space that the array says it gave. Cases know no protocol: their tests run in memory, in virtual time.
#![forbid(unsafe_code)]

mod bench;
mod case;
pub mod cases;
pub mod compare;
mod content;
mod device;
mod error;
mod guest;
mod host;
mod latency;
mod machine;
mod meter;
mod migration;
pub mod nas;
mod outcome;
mod paper;
mod proof;
mod random;
pub mod results;
mod runner;
mod scale;
mod space;
mod subject;
pub mod table;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;

pub use case::{Case, Primitive};
pub use error::LabError;
pub use runner::{Ended, Options, Watch, run};
pub use scale::Size;
