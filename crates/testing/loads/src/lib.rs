//! Loads that show whether a target keeps its promises under stress. They run over the blocking
//! initiator of `conformance`, and are no part of the shipped program.
//!
//! * [`verifying_load`]: is every acknowledged write still present after the array was killed?
//! * [`sanitize_race`]: does any write land after SANITIZE?
//! * [`disturbance`]: does a reset, an abort or a broken connection end exactly the tasks it
//!   should?
//! * [`chaos`]: can a malicious initiator harm other users of the target?
//! * [`faulty_target`]: a target with selectable faults, to show that loads and checks notice them.
#![forbid(unsafe_code)]

pub mod chaos;
pub mod disturbance;
pub mod faulty_target;
pub mod sanitize_race;
pub mod verifying_load;

#[cfg(test)]
mod tests;
