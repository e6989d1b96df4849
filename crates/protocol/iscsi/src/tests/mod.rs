//! Tests with both ends in memory under a virtual clock.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod authentication;
mod data;
mod discovery;
mod garbage;
mod login;
mod lying_target;
mod memory;
mod numbering;
mod pair;
mod session;
mod task_management;
