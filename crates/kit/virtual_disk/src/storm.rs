//! A storm: several host processes on one datastore take locks, create, grow, write, delete, rename
//! and commit disks, and are killed at random. Each host writes every operation and its result to a
//! journal, and syncs it, before it continues. So the state after any death can be checked:
//! acknowledged operations are present, and each operation in flight is done or undone, nothing in
//! between.
//!
//! `cargo xtask storm` starts the hosts, kills them, and runs the verdict.

mod host;
mod journal;
mod model;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;
mod verify;

pub use host::{EVICTED, host};
pub use verify::verify;

/// Files that every host touches.
pub const COUNTERS: [&str; 3] = ["counter-0", "counter-1", "counter-2"];
/// Disks that every host opens to increment a number in them.
pub const SHARED: [&str; 2] = ["shared-0", "shared-1"];
/// Names between which one file is renamed.
pub const MOVING: [&str; 2] = ["moving-a", "moving-b"];
/// Base of linked clones of all hosts.
pub const TEMPLATE: &str = "template";
