//! The NFS server under a seed: the real `nfs_server` with `nfs_state`, over the file system in memory or over
//! `files` with its engine in memory, and several clients, all in virtual time.
//!
//! The network loses, duplicates, delays and reorders calls and replies. Clients reconnect, restart, fall silent for
//! longer than their lease, and come back. The server crashes and starts again with the records that are durable: a
//! reply leaves only when the records before it are.
//!
//! Checked:
//! * each change of a directory happens once, and tells the truth about the directory's change attribute;
//! * a listing in parts names each file once, whatever changes meanwhile;
//! * no two clients have opens or locks for certain that conflict; a client has for certain what it was granted, from
//!   the reply until a lease after the last call that renewed it was sent;
//! * the server has what clients have for certain, and nothing else;
//! * what is refused has something in the way: another client that keeps its lease, or the grace period;
//! * what a client had for certain when the server crashed it can reclaim, and nobody gets it before;
//! * nothing is left in the server of clients that are gone.
//!
//! Then asynchronous copies, with a server of their own (`copies.rs`): their status is true, a cancel is final, their
//! clients are called back in the end, and clients learn nothing of copies of others.
//!
//! The same seed gives the same run; the hash of its history shows it.
#![forbid(unsafe_code)]

mod calls;
mod client;
mod copies;
mod disk;
mod ledger;
mod machine;
mod rules;
mod shared;
#[cfg(test)]
mod tests;
mod world;

pub use rules::{Rule, leave_out};
pub use shared::Report;

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Counters, and the hash of the history.
    pub report: Report,
    /// The first violation of a property, if there was one.
    pub failure: Option<String>,
    /// A line for each event, when asked for.
    pub story: Vec<String>,
}

/// Runs a seed; all clients together make about this many calls. Even seeds run over the file system in memory, odd
/// ones over `files`.
pub fn run(seed: u64, calls: u64, story: bool) -> Outcome {
    let in_memory = seed.is_multiple_of(2) || rules::left_out().is_some_and(Rule::needs_memory);
    let (report, failure, story) = match in_memory {
        true => world::run::<disk::MemoryDisk>(seed, calls, story),
        false => world::run::<disk::TreeDisk>(seed, calls, story),
    };
    let copied = || match in_memory {
        true => copies::run::<disk::MemoryDisk>(seed),
        false => copies::run::<disk::TreeDisk>(seed),
    };
    let failure = failure.or_else(|| copied().err().map(|why| format!("copies: {why}")));
    let failure = failure.map(|failure| format!("seed {seed}: {failure}"));
    Outcome { report, failure, story }
}
