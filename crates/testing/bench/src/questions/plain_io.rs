//! What does plain I/O cost, and how evenly is it served? Reads and writes of several sizes by a
//! client of a microsecond a command, pool in memory; beside it tgt with its file in memory, a
//! server that was started by someone else (`--peer`), and the floor: the least that any server
//! with one thread pays. The span is 64 times the array's data cache, and the scattered rows use
//! 50 GiB. µs of server processor time per command: lower is better; p99.9: lower is better. Small:
//! 64 MiB.

use super::{GIB, MIB};
use crate::Options;
use crate::data::{self, BLOCK_BYTES};
use crate::floor::{FLOOR_BYTES, Floor};
use crate::light::{self, Shape};
use crate::load::Load;
use crate::report::Report;
use crate::session::{FullFeature, Session};
use crate::targets::{Peer, Tgt, Windlass, memory_directory};
use anyhow::Result;
use std::path::Path;

pub(super) const ASKS: &str =
    "plain reads and writes with a light client, p99.9, scattered, many sessions, beside tgt and the floor";

/// Bytes of the filled logical unit of every server.
const SPAN_BYTES: u64 = GIB;
/// Bytes that the scattered rows use.
const SCATTERED_BYTES: u64 = 50 * GIB;

/// Row: its name and its load.
struct Row {
    name: &'static str,
    writes_percent: u32,
    length_bytes: u32,
    depth: usize,
    sessions: usize,
    sequential: bool,
    /// Whether it uses the large, mostly unwritten logical unit, which the array alone has.
    scattered: bool,
}

const KIB: u32 = 1 << 10;

const ROWS: [Row; 13] = [
    Row::random("plain read 4k qd32", 0, 4 * KIB, 32, 1),
    Row::random("plain write 4k qd32", 100, 4 * KIB, 32, 1),
    Row::random("plain read 4k qd1", 0, 4 * KIB, 1, 1),
    Row::random("plain write 4k qd1", 100, 4 * KIB, 1, 1),
    Row::random("plain read 4k qd64", 0, 4 * KIB, 64, 1),
    Row::random("plain read 4k 64 sessions qd1", 0, 4 * KIB, 1, 64),
    Row::random("plain read 4k 4 sessions qd32", 0, 4 * KIB, 32, 4),
    Row::random("plain write 4k 4 sessions qd32", 100, 4 * KIB, 32, 4),
    Row::random("plain read 1M qd4", 0, 1024 * KIB, 4, 1),
    Row::random("plain write 1M qd4", 100, 1024 * KIB, 4, 1),
    Row { sequential: true, ..Row::random("plain read 128k in order qd8", 0, 128 * KIB, 8, 1) },
    Row { sequential: true, ..Row::random("plain write 128k in order qd8", 100, 128 * KIB, 8, 1) },
    Row { scattered: true, ..Row::random("scattered write 4k qd32", 100, 4 * KIB, 32, 1) },
];

impl Row {
    const fn random(name: &'static str, writes_percent: u32, length_bytes: u32, depth: usize, sessions: usize) -> Self {
        Self { name, writes_percent, length_bytes, depth, sessions, sequential: false, scattered: false }
    }

    fn shape(&self, span_bytes: u64) -> Shape {
        Shape {
            writes_percent: self.writes_percent,
            length_bytes: self.length_bytes,
            depth: self.depth,
            sequential: self.sequential,
            span: 0..span_bytes,
            places: None,
            holes: self.scattered,
        }
    }
}

/// Server with a filled logical unit.
struct Server {
    name: &'static str,
    pid: u32,
    url: String,
    /// The large logical unit.
    scattered: Option<String>,
}

impl Server {
    fn sessions(&self, row: &Row) -> Result<Option<Vec<FullFeature>>> {
        let url = if row.scattered { self.scattered.as_ref() } else { Some(&self.url) };
        let Some(url) = url else { return Ok(None) };
        let sessions = (0..row.sessions).map(|_| Session::connect(url)?.into_full_feature());
        sessions.collect::<Result<_>>().map(Some)
    }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let (span, scattered) = if options.small { (64 * MIB, GIB) } else { (SPAN_BYTES, SCATTERED_BYTES) };
    let memory = memory_directory()?;
    let array = Windlass::start(windlass, &memory, "64G")?;
    let volume = array.array.create_volume("bench", &span.to_string())?;
    let large = array.array.create_volume("scattered", &scattered.to_string())?;
    let mut servers = vec![Server {
        name: "windlass",
        pid: array.array.pid(),
        url: volume.url().into(),
        scattered: Some(large.url().into()),
    }];
    let tgt = options.with_tgt().then(|| Tgt::start(&memory, span, false)).transpose()?;
    if let Some(tgt) = &tgt {
        servers.push(Server { name: "tgt", pid: tgt.pid(), url: tgt.url().into(), scattered: None });
    }
    if let Some(Peer::Running(peer)) = &options.peer {
        servers.push(Server { name: peer.name, pid: peer.pid, url: peer.url.clone(), scattered: None });
    }
    for server in &servers {
        data::fill(&mut Session::connect(&server.url)?, server.pid, span)?;
    }
    let floor = Floor::start()?;
    for repetition in 0..options.repetitions() {
        let seed = repetition as u64 + 1;
        for row in &ROWS {
            for server in &servers {
                let span = if row.scattered { scattered } else { span };
                if let Some(sessions) = server.sessions(row)? {
                    let load = light::run(sessions, server.pid, &row.shape(span), options.time(), seed)?;
                    report.load(row.name, server.name, load);
                }
            }
            if u64::from(row.length_bytes) == BLOCK_BYTES && row.sessions == 1 && !row.scattered {
                let shape = row.shape(span.min(FLOOR_BYTES));
                let load = light::run(vec![floor.session()?], floor.pid(), &shape, options.time(), seed)?;
                report.load(row.name, "floor", load);
            }
        }
    }
    judge(report);
    Ok(())
}

fn judge(report: &mut Report) {
    let median =
        |name: &str, server: &str, of: fn(&Load) -> f64| report.row(name, server).map(|row| row.median(of).median);
    let ours = |name: &str, of: fn(&Load) -> f64| median(name, "windlass", of).unwrap_or(f64::NAN);
    let cost = [
        ("plain read 4k qd32", 4.0),
        ("plain write 4k qd32", 5.0),
        ("plain read 1M qd4", 400.0),
        ("plain write 1M qd4", 480.0),
    ];
    let cost = cost.map(|(name, limit)| (name, ours(name, Load::server_us), limit));
    let many = ours("plain read 4k 64 sessions qd1", Load::server_us);
    let one = ours("plain read 4k qd64", Load::server_us);
    let scattered = ours("scattered write 4k qd32", |load| load.latency_us(99.9));
    let sequential = ["plain read 128k in order qd8", "plain write 128k in order qd8"].map(|name| {
        let rate = |server| median(name, server, Load::rate);
        (name, rate("windlass").zip(rate("tgt")).map(|(ours, theirs)| ours / theirs.max(1e-9)))
    });
    for (name, is, limit) in cost {
        report.at_most(&format!("server CPU of {name}"), is, limit, "µs");
    }
    report.at_most("64 sessions with one outstanding against one with 64, server CPU", many / one.max(1e-9), 1.4, "×");
    report.at_most("p99.9 of scattered writes", scattered / 1e3, 3.0, "ms");
    for (name, ratio) in sequential {
        if let Some(ratio) = ratio {
            report.at_least(name, ratio, 1.3, "× tgt");
        }
    }
}
