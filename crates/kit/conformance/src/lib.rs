//! Black-box kit: tests that run against any iSCSI target by address, over a blocking initiator.
//!
//! * [`initiator`]: a session on a socket; [`url`]: how it is named; [`commands`]: SCSI commands as methods.
//! * [`cdb`] and [`sense`]: the bytes of commands and sense data. They are written down here once more, and not shared with the array, so
//!   that the kit does not agree with a mistake of the array's.
//! * [`kit`]: `windlass conformance`, one check for each behaviour that VMware's hosts rely on.
//! * [`race`]: do COMPARE AND WRITE and other writes to one block from several initiators fit a serial order?
//! * [`chaos`]: does an initiator that means harm harm anybody?
//! * [`disturbance`]: does a reset, an abort or a broken connection end what it should, and nothing else?
//! * [`verifying_load`]: is every acknowledged write still there after the array was killed?
#![forbid(unsafe_code)]

pub mod chaos;
pub mod commands;
pub mod disturbance;
pub mod image;
pub mod initiator;
pub mod kit;
pub mod persistent_reservation;
pub mod race;
pub mod token;
pub mod verifying_load;

pub use ::initiator::{cdb, sense, url};

#[cfg(test)]
mod tests;
