//! The conformance kit: one small check for each behaviour of a target that VMware's hosts rely on,
//! run against any iSCSI target by address.
//!
//! [`Check`] is a row of facts and a function; each has its own file in the folder of its subject,
//! with the bytes it expects. [`Bench`] holds the resources of a check. [`fn@run`] runs checks and
//! returns a [`Report`]. Commands are built by [`crate::cdb`], independently of the array. Sessions
//! run on `iscsi::initiator`, whose PDU code the array shares; PDUs that no proper initiator sends go
//! over [`wire`], which encodes them itself.
//!
//! Numbers never change: 177 to 187 are unused, and checks from 200 on are beyond all other suites.

pub mod answer;
pub mod bench;
mod beyond;
mod boundaries;
pub mod check;
mod compare_and_write;
mod discovery;
mod extended_copy;
mod hook;
mod iscsi;
mod prelude;
mod reservations;
mod run;
mod task_management;
mod thin;
mod unmap;
pub mod wire;
mod write_same;

pub use bench::Bench;
pub use check::{Check, Need, NotPassed, Verdict};
pub use run::{Options, run};
pub use verdict::{Outcome, Report, Row};

/// All checks in the order of their numbers.
pub fn checks() -> Vec<&'static Check> {
    let groups = [
        discovery::CHECKS,
        compare_and_write::CHECKS,
        extended_copy::CHECKS,
        write_same::CHECKS,
        unmap::CHECKS,
        thin::CHECKS,
        reservations::CHECKS,
        task_management::CHECKS,
        iscsi::CHECKS,
        beyond::CHECKS,
        boundaries::CHECKS,
    ];
    let mut all: Vec<_> = groups.into_iter().flatten().copied().collect();
    all.sort_by_key(|check| check.number);
    all
}

/// Checks with this number, this name, or a name below this group; empty when there are none.
pub fn find(wanted: &str) -> Vec<&'static Check> {
    let matches = |check: &&Check| {
        check.number.to_string() == wanted || check.name == wanted || check.name.split('/').any(|part| part == wanted)
    };
    checks().into_iter().filter(matches).collect()
}

#[cfg(test)]
mod tests;
