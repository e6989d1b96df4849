//! The conformance kit: what VMware's hosts send to a target and expect back, as one small check for each behaviour, run against any
//! iSCSI target by address.
//!
//! [`Check`] is a row of facts and a function; each stands in a file of its own below the folder of its subject, with the bytes it
//! expects. [`Bench`] has what a check works with. [`fn@run`] runs checks and makes a [`Report`]. Nothing is shared with a target but the
//! standards: commands are built from [`crate::cdb`], and what no proper initiator sends goes over [`wire`].
//!
//! Numbers stay what they were: 177 to 187 are not in use, and checks from 200 on ask what no other suite asks.

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
pub mod report;
mod reservations;
mod run;
mod task_management;
mod thin;
mod unmap;
pub mod wire;
mod write_same;

pub use bench::Bench;
pub use check::{Check, Need, Trouble, Verdict};
pub use report::{Outcome, Report, Row};
pub use run::{Options, run};

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

/// The checks with this number, this name, or a name below this group; nothing when there is none.
pub fn find(wanted: &str) -> Vec<&'static Check> {
    let matches = |check: &&Check| {
        check.number.to_string() == wanted || check.name == wanted || check.name.split('/').any(|part| part == wanted)
    };
    checks().into_iter().filter(matches).collect()
}

#[cfg(test)]
mod tests;
