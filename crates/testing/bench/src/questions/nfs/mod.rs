//! What does a call of a share cost, and how evenly is it served? NFSv4.2 over one connection with 32
//! operations outstanding (8 for 128 KiB), by a light client; pool in memory. Beside it NFS-Ganesha
//! with its files in memory (VFS on tmpfs), in turns. Names are looked up among 100 000 in one
//! directory, and plain content lies anywhere in 1 GiB. An OPEN that creates, with its CLOSE, is one
//! operation. UNSTABLE writes end with a COMMIT, whose cost is theirs. µs of server processor time
//! per operation: lower is better; p99.9: lower is better. Small: 1 000 files and 16 MiB.

mod rows;
#[cfg(test)]
mod tests;

use super::MIB;
use crate::Options;
use crate::ganesha::{self, Ganesha};
use crate::load::Load;
use crate::nfs::operations;
use crate::nfs::session::Session;
use crate::nfs::tree::{self, Server, Sizes, Tree};
use crate::report::Report;
use crate::targets::{Windlass, memory_directory};
use anyhow::{Context, Result};
use nfs::v4::Status;
use rows::ROWS;
use std::path::Path;
use std::time::Duration;

pub(super) use rows::Row;

pub(super) const ASKS: &str = "calls of a share, NFSv4.2 by a light client, pool in memory, beside NFS-Ganesha";

/// Share of the array.
const SHARE: &str = "bench";
/// Part of NFS-Ganesha's processor time that a call of ours may take.
const PART: f64 = 1.0 / 3.0;

const FULL: Sizes = Sizes { files: 100_000, large_bytes: 1024 * MIB, cached_bytes: 16 * MIB, source_bytes: 64 * MIB };
const SMALL: Sizes = Sizes { files: 1000, large_bytes: 16 * MIB, cached_bytes: 4 * MIB, source_bytes: MIB };

/// Server with its tree.
struct Subject {
    server: Server,
    tree: Tree,
    /// Whether it executes CLONE.
    clones: bool,
}

impl Subject {
    fn new(server: Server, sizes: Sizes) -> Result<Self> {
        let tree = Tree::build(&server, sizes).with_context(|| format!("files of {}", server.name))?;
        let clones = clones(&server, &tree)?;
        Ok(Self { server, tree, clones })
    }
}

/// Whether a server executes CLONE.
fn clones(server: &Server, tree: &Tree) -> Result<bool> {
    let mut session = Session::connect(server.address, 1)?;
    let source = tree::open(&mut session, &tree.root, &tree::source_name(0), false)?;
    let destination = tree::open(&mut session, &tree.root, &tree::destination_name(0), false)?;
    let status = session.call(&operations::clone(&source, &destination))?.status();
    tree::close(&mut session, &[source, destination])?;
    session.end()?;
    match status {
        Ok(()) => Ok(true),
        Err(Status::NOTSUPP | Status::XDEV | Status::OP_ILLEGAL) => Ok(false),
        Err(status) => anyhow::bail!("CLONE: {status}"),
    }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let sizes = if options.small { SMALL } else { FULL };
    let memory = memory_directory()?;
    let (array, address) = Windlass::start_with_share(windlass, &memory, "64G", SHARE)?;
    let ours = Server { name: "windlass", pid: array.array.pid(), address, share: SHARE };
    let mut subjects = vec![Subject::new(ours, sizes)?];
    let peer = options.with_ganesha()?.then(|| Ganesha::start(&memory)).transpose()?;
    if let Some(peer) = &peer {
        let server = Server { name: "ganesha", pid: peer.pid(), address: peer.address(), share: ganesha::EXPORT };
        subjects.push(Subject::new(server, sizes)?);
    }
    for subject in &subjects {
        if !subject.clones {
            report.fact(format!("{} does not execute CLONE here", subject.server.name));
        }
    }
    for repetition in 0..options.repetitions() {
        // Every other turn begins with the other server.
        if repetition > 0 {
            subjects.reverse();
        }
        let mut created = vec![0; subjects.len()];
        for row in &ROWS {
            for (subject, created) in subjects.iter().zip(&mut created) {
                if row.clones() && !subject.clones {
                    continue;
                }
                let seed = repetition as u64 + 1;
                let load = turn(&subject.server, &subject.tree, row, options.time(), seed, created);
                let load = load.with_context(|| format!("{} on {}", row.name, subject.server.name))?;
                report.load(row.name, subject.server.name, load);
            }
        }
    }
    judge(report);
    Ok(())
}

/// Runs a row once, in a session of its own.
pub(super) fn turn(
    server: &Server,
    tree: &Tree,
    row: &Row,
    time: Duration,
    seed: u64,
    created: &mut u64,
) -> Result<Load> {
    let session = Session::connect(server.address, row.depth as u32)?;
    let mut sessions = [session];
    let load = row.run(&mut sessions, server.pid, tree, time, seed, created)?;
    let [session] = sessions;
    session.end()?;
    Ok(load)
}

fn judge(report: &mut Report) {
    for row in &ROWS {
        let median = |server| report.row(row.name, server).map(|row| row.median(Load::server_us).median);
        let (Some(ours), theirs) = (median("windlass"), median("ganesha")) else { continue };
        report.at_most(&format!("server CPU of {}", row.name), ours, row.limit_us, "µs");
        if let Some(theirs) = theirs {
            report.at_most(&format!("server CPU of {}", row.name), ours / theirs.max(1e-9), PART, "× NFS-Ganesha");
        }
    }
}
