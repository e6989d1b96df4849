//! Black-box kit: tests that run against any iSCSI target by address, over a blocking initiator.
//!
//! * [`initiator`]: a session on a socket; [`url`]: the URL of a logical unit; [`commands`]: SCSI
//!   commands as methods.
//! * [`cdb`] and [`sense`]: the bytes of commands and sense data. They are independent of the
//!   array's code, so that the kit does not share its mistakes.
//! * [`kit`]: `windlass conformance`, one check for each behaviour that VMware's hosts rely on.
//! * [`race`]: do COMPARE AND WRITE and other writes to one block from several initiators fit a
//!   serial order?
//!
//! Loads for tests of the array alone, malicious initiators among them, are in the crate `loads`.
#![forbid(unsafe_code)]

pub mod commands;
pub mod initiator;
pub mod kit;
pub mod persistent_reservation;
pub mod race;
pub mod token;

pub use ::initiator::{cdb, sense, url};

#[cfg(test)]
mod tests;
