//! Conformance kit for NFSv4.1 and NFSv4.2: one small check for each fact about ONC RPC and NFS that
//! clients rely on, run against any server by URL.
//!
//! [`Check`] is a row of facts and a function; each has its own file in the folder of its subject.
//! [`Bench`] holds the resources of a check: fresh clients, an empty directory, content. [`fn@run`]
//! runs checks and returns a [`Report`].
//!
//! Calls go over [`nfs_client::Connection`], whose codec the array shares. Messages that no proper
//! client sends are written here word by word ([`wire`], [`operations::raw`]).
//!
//! A run creates one directory in the share, works in it and removes it at the end. The server must
//! not squash uid 0 and must accept AUTH_SYS from any port.
//!
//! Checks of restarts need a [`Harness`] around the server; over a plain URL they are skipped.
//!
//! Numbers never change. Left out on purpose: checks that need a second address, the portmapper, NFSv3 or a full pool.
#![forbid(unsafe_code)]

pub mod bench;
pub mod check;
pub mod client;
mod client_id;
mod compound;
pub mod credential;
mod directory;
pub mod executor;
mod file;
mod habits;
mod harness;
mod io;
mod lease;
mod lock;
mod namespace;
mod need;
mod offload;
mod open;
pub mod operations;
mod options;
mod prelude;
pub mod reply;
mod restart;
mod rpc;
mod run;
mod session;
pub mod wire;
mod xattr;

pub use bench::Bench;
pub use check::Check;
pub use harness::{Harness, Remembered};
pub use need::Need;
pub use nfs_client::url::Url;
pub use options::Options;
pub use run::run;
pub use verdict::{Outcome, Report, Row};

/// All checks in the order of their numbers.
pub fn checks() -> Vec<&'static Check> {
    let groups = [
        rpc::CHECKS,
        compound::CHECKS,
        client_id::CHECKS,
        session::CHECKS,
        namespace::CHECKS,
        open::CHECKS,
        io::CHECKS,
        directory::CHECKS,
        offload::CHECKS,
        xattr::CHECKS,
        lock::CHECKS,
        lease::CHECKS,
        restart::CHECKS,
        habits::CHECKS,
    ];
    let mut all: Vec<_> = groups.into_iter().flatten().copied().collect();
    all.sort_by_key(|check| check.number);
    all
}

/// Checks with this number, this name, or a name in this group; empty when there are none.
pub fn find(wanted: &str) -> Vec<&'static Check> {
    let wanted = wanted.replace('-', "_");
    let matches = |check: &&Check| {
        check.number.to_string() == wanted || check.name == wanted || check.name.split('/').any(|part| part == wanted)
    };
    checks().into_iter().filter(matches).collect()
}

#[cfg(test)]
mod tests;
