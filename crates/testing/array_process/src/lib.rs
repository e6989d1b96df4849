//! The array as a process, seen from outside: what the demo, the benchmark kit and the checks of `xtask` have in common.
//!
//! [`mod@array`] starts `windlass serve`, waits until it is ready, talks to it through its own command line, and stops or kills it.
//! [`program`] runs programs of others under a time limit. [`observe`] reads what the kernel knows about a process and about the
//! loopback interface. [`tally`] counts checks. [`text`] prints sizes and times for people. Nothing here knows a protocol.
#![forbid(unsafe_code)]

pub mod array;
pub mod observe;
pub mod program;
pub mod tally;
pub mod text;
