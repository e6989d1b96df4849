//! A storm: several host processes on one datastore take locks, make, grow, write, delete, rename and commit disks, and are killed at random. What
//! each host is about to do, and what came of it, goes to its journal and to the disk before it goes on; so after any death the end can be compared:
//! what was acknowledged is there, and what was under way is as before or done, nothing between.
//!
//! `cargo xtask storm` starts the hosts, kills them, and asks for the verdict.

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
/// Disks that every host opens to add one to a number in them.
pub const SHARED: [&str; 2] = ["shared-0", "shared-1"];
/// A file that goes from one of the names to the other.
pub const MOVING: [&str; 2] = ["moving-a", "moving-b"];
/// The base of linked clones of all hosts.
pub const TEMPLATE: &str = "template";
