//! Shares over NFS: the real reactor on a pool in a file, reached over TCP.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod administration;
mod copies;
mod files;
mod hostile;
mod kill;
mod kit;
mod quota;
mod restart;
mod shares;
mod snapshots;
