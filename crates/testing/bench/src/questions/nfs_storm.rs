//! Do clients of a share affect a host of a volume of the same array, and the reverse? A host reads or
//! writes random 4 KiB blocks, one or eight outstanding, alone and beside two clients that create,
//! clone, look up and remove files as fast as the array executes them, 16 outstanding each. Then a
//! client gets attributes, reads and writes 4 KiB, alone and beside a host with 32 commands
//! outstanding, half of them writes. Pool in memory. p99 beside the others, divided by p99 alone:
//! lower is better. Alone and together in turn. The others run only while the processors have nothing
//! else to do (SCHED_IDLE), as if they were other machines; their rows tell how much they
//! did. Server CPU in rows beside others includes theirs. Small: 64 MiB, 0.3 s. Large: 1 GiB, as requested.

use super::nfs::{self, Row};
use super::small_io::{Subject, random_io};
use super::{GIB, MIB, filled_volume};
use crate::Options;
use crate::data::BLOCK_BYTES;
use crate::light::{self, Shape};
use crate::load::{End, Load};
use crate::nfs::load::{self, Work};
use crate::nfs::operations::{self, Opened, taken_handle, taken_open};
use crate::nfs::session::Session;
use crate::nfs::tree::{self, Server, Sizes, Tree};
use crate::report::{Report, Spread};
use crate::session;
use crate::targets::{Windlass, memory_directory};
use ::nfs::v4::{Filehandle, Stateid};
use anyhow::{Context, Result, anyhow, ensure};
use nfs_client::{Compound, Outcomes};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

pub(super) const ASKS: &str = "latency of a host's 4 KiB commands beside NFS metadata calls, and the reverse";

/// Share of the array.
const SHARE: &str = "bench";
/// Clients of the metadata calls, and operations that each has outstanding.
const CLIENTS: usize = 2;
const CLIENT_DEPTH: usize = 16;
/// Commands that the host has outstanding beside a client.
const HOST_DEPTH: usize = 32;
/// Most that a p99 may grow.
const LIMIT: f64 = 2.0;

/// Call of an operation of the storm that was sent last, but for OPEN.
enum Stage {
    /// Into this file.
    Clone(Opened),
    Close,
    Lookup,
    Remove,
}

/// Files that come and go: OPEN (create), CLONE into it, CLOSE, LOOKUP, REMOVE.
struct Storm<'a> {
    directory: &'a Filehandle,
    /// Source of CLONE, which needs no open.
    source: Opened,
    stages: HashMap<u64, Stage>,
}

impl Work for Storm<'_> {
    fn first(&mut self, number: u64) -> Option<Compound> {
        Some(operations::open(self.directory, &tree::name(number), true))
    }

    fn then(&mut self, number: u64, mut outcomes: Outcomes) -> Result<Option<Compound>> {
        let name = tree::name(number);
        let (stage, call) = match self.stages.remove(&number) {
            None => {
                let file = taken_open(&mut outcomes)?;
                let call = operations::clone(&self.source, &file);
                (Stage::Clone(file), call)
            }
            Some(Stage::Clone(file)) => {
                let call = operations::close(&file);
                (Stage::Close, call)
            }
            Some(Stage::Close) => (Stage::Lookup, operations::lookup(self.directory, &name)),
            Some(Stage::Lookup) => {
                taken_handle(&mut outcomes, 2)?;
                (Stage::Remove, operations::remove(self.directory, &name))
            }
            Some(Stage::Remove) => {
                outcomes.finish()?;
                return Ok(None);
            }
        };
        outcomes.finish()?;
        self.stages.insert(number, stage);
        Ok(Some(call))
    }
}

/// The array with a volume and a share in use.
struct Both {
    server: Server,
    tree: Tree,
    volume: String,
    size_bytes: u64,
    time: Duration,
}

impl Both {
    /// Clients of the share, for the time of a load.
    fn storm(&self) -> Result<Load> {
        let sessions = (0..CLIENTS).map(|_| Session::connect(self.server.address, CLIENT_DEPTH as u32));
        let mut sessions = sessions.collect::<Result<Vec<_>>>()?;
        let first = sessions.first_mut().context("no client")?;
        let source = tree::open(first, &self.tree.root, &tree::source_name(0), false)?;
        tree::close(first, std::slice::from_ref(&source))?;
        let source = Opened { stateid: Stateid::ANONYMOUS, ..source };
        let mut work = Storm { directory: &self.tree.scratch, source, stages: HashMap::new() };
        let load = load::run(&mut sessions, self.server.pid, CLIENT_DEPTH, End::After(self.time), &mut work)?;
        sessions.into_iter().try_for_each(Session::end)?;
        Ok(load)
    }

    /// A host of the volume with many commands outstanding, for the time of a load.
    fn host(&self, seed: u64) -> Result<Load> {
        let session = session::Session::connect(&self.volume)?.into_full_feature()?;
        let shape = Shape {
            writes_percent: 50,
            length_bytes: BLOCK_BYTES as u32,
            depth: HOST_DEPTH,
            sequential: false,
            span: 0..self.size_bytes,
            places: None,
            holes: false,
        };
        light::run(vec![session], self.server.pid, &shape, self.time, seed)
    }
}

/// Lets this thread run only while a processor has nothing else to do.
fn run_when_idle() -> Result<()> {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let status = Command::new("chrt").args(["--idle", "--pid", "0", &thread]).status().context("chrt (util-linux)")?;
    ensure!(status.success(), "chrt cannot give a thread the policy SCHED_IDLE: {status}");
    Ok(())
}

/// Loads of one row, alone and beside others.
#[derive(Default)]
struct Pair {
    alone: Vec<Load>,
    beside: Vec<Load>,
}

impl Pair {
    /// Adds the round of a load, alone and beside `other`. Both are reported.
    fn round(
        &mut self,
        report: &mut Report,
        (name, other_name): (&str, &str),
        mut own: impl FnMut() -> Result<Load>,
        other: impl Fn() -> Result<Load> + Sync,
    ) -> Result<()> {
        let alone = own()?;
        report.load(&format!("{name}, alone"), "windlass", alone.clone());
        self.alone.push(alone);
        let (beside, others) = thread::scope(|scope| -> Result<_> {
            let others = scope.spawn(|| {
                run_when_idle()?;
                other()
            });
            let beside = own();
            let others = others.join().map_err(|_| anyhow!("the thread of the others panicked"))?;
            Ok((beside?, others?))
        })?;
        report.load(&format!("{name}, beside {other_name}"), "windlass", beside.clone());
        report.load(&format!("{other_name} beside {name}"), "windlass", others);
        self.beside.push(beside);
        Ok(())
    }

    /// Reports the ratios, and whether that of p99 is within the limit.
    fn judge(&self, report: &mut Report, name: &str, other_name: &str) {
        let median = |loads: &[Load], of: &dyn Fn(&Load) -> f64| Spread::of(loads.iter().map(of).collect());
        let ratio =
            |of: &dyn Fn(&Load) -> f64| median(&self.beside, of).median / median(&self.alone, of).median.max(1e-9);
        let [p50, p99, p999] = [50.0, 99.0, 99.9].map(|percent| ratio(&|load: &Load| load.latency_us(percent)));
        let longest = ratio(&|load: &Load| load.latencies.longest_us());
        let rate = ratio(&Load::rate);
        report.fact(format!(
            "{name} beside {other_name}, of alone: p50 {p50:.2} ×, p99 {p99:.2} ×, p99.9 {p999:.2} ×, longest {longest:.2} ×, operations a second {rate:.2} ×"
        ));
        report.at_most(&format!("p99 of {name} beside {other_name}"), p99, LIMIT, "× alone");
    }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let (size_bytes, files) = if options.small { (64 * MIB, 1000) } else { (GIB, 10_000) };
    let sizes = Sizes { files, large_bytes: size_bytes / 4, cached_bytes: 4 * MIB, source_bytes: 4 * MIB };
    let (array, address) = Windlass::start_with_share(windlass, &memory_directory()?, "16G", SHARE)?;
    let pid = array.array.pid();
    let (volume, session) = filled_volume(&array, "host", size_bytes)?;
    let server = Server { name: "windlass", pid, address, share: SHARE };
    let tree = Tree::build(&server, sizes)?;
    let both = Both { server, tree, volume: volume.url().to_owned(), size_bytes, time: options.time() };
    let rounds = options.repetitions() as u64;
    hosts_beside_clients(&both, Subject { name: "windlass", pid, session }, rounds, report)?;
    clients_beside_a_host(&both, rounds, report)
}

fn hosts_beside_clients(both: &Both, mut subject: Subject, rounds: u64, report: &mut Report) -> Result<()> {
    let other = "NFS metadata";
    for _ in 0..rounds {
        report.load("NFS metadata, alone", "windlass", both.storm()?);
    }
    for (name, writes, depth) in [
        ("iSCSI read 4k qd1", false, 1),
        ("iSCSI write 4k qd1", true, 1),
        ("iSCSI read 4k qd8", false, 8),
        ("iSCSI write 4k qd8", true, 8),
    ] {
        let mut pair = Pair::default();
        for round in 0..rounds {
            let blocks = both.size_bytes / BLOCK_BYTES;
            let own = || random_io(&mut subject, blocks, writes, depth, End::After(both.time), round);
            pair.round(report, (name, other), own, || both.storm())?;
        }
        pair.judge(report, name, other);
    }
    Ok(())
}

fn clients_beside_a_host(both: &Both, rounds: u64, report: &mut Report) -> Result<()> {
    let other = "iSCSI 4k qd32";
    for call in ["GETATTR", "READ 4k cached", "WRITE 4k FILE_SYNC"] {
        for depth in [1, 8] {
            let row = Row::named(call, depth)?;
            let name = format!("NFS {call} qd{depth}");
            let mut pair = Pair::default();
            for round in 0..rounds {
                let own = || nfs::turn(&both.server, &both.tree, &row, both.time, round + 1, &mut 0);
                pair.round(report, (&name, other), own, || both.host(round))?;
            }
            pair.judge(report, &name, other);
        }
    }
    Ok(())
}
