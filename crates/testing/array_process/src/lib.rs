//! The array as an external process: code that the demo, the benchmark kit and the checks of
//! `xtask` share.
//!
//! [`mod@array`] starts `windlass serve`, waits until it is ready, administers it through its own
//! command line, and stops or kills it; [`administration`] asks it without a process for each
//! request. [`program`] runs third-party programs with a time limit. [`observe`] reads the kernel's
//! counters of a process and of the loopback interface. [`tally`] counts checks. [`workspace`] has
//! the folders of the workspace. The crate knows no protocol.
#![forbid(unsafe_code)]

pub mod administration;
pub mod array;
pub mod observe;
pub mod program;
pub mod tally;
pub mod workspace;
