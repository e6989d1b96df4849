//! The white papers' laboratory: every test that array vendors published, as a case that runs
//! against any array, with the primitive off (the host does the work itself) and on, in turns. Each
//! case verifies its data byte for byte.
//!
//! * [`cases`]: the tests, one per file, with the paper's result.
//! * [`run`]: connects, refuses a logical unit with data, runs cases for several rounds, saves the
//!   results after each, and wipes its scratch.
//! * [`results`]: the results of a run; [`table`] and [`compare`] print them.
//!
//! The cases use a bench: hosts with their own initiator name, session and counters
//! ([`host`](self)), datastores on slices of a logical unit, guests that verify every read by the
//! content of the sectors, meters, histograms, and the space that the array reports. Cases know no
//! protocol: their tests run in memory, in virtual time.
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
pub use outcome::Side;
pub use runner::{Ended, Options, Watch, run};
pub use scale::Size;
