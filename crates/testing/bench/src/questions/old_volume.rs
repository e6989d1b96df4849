//! Does a volume get slower with age? Reads and writes of 4 KiB on a volume whose mapped blocks lie
//! scattered over a large span, which has had snapshots between its writes and has clones; beside
//! it a fresh, filled volume of the same pool, in the same turns. Every command goes to a block that
//! is mapped: holes cost nothing. And the first writes to many clones, of which each copies its path
//! of the map. µs of server processor time per command and p99.9: lower is better. Small: 8 192
//! blocks over 1 GiB, 4 snapshots, 8 clones. Large: 400 000 blocks over 200 GiB, 20 snapshots, 100
//! clones, first writes to 1 000 clones.

use super::{GIB, MIB};
use crate::Options;
use crate::data;
use crate::light::{self, Shape};
use crate::load::Load;
use crate::report::Report;
use crate::session::Session;
use crate::targets::{Windlass, memory_directory};
use anyhow::Result;
use std::path::Path;
use std::time::Duration;

pub(super) const ASKS: &str =
    "an old, scattered volume with snapshots and clones beside a fresh one; first writes to clones";

/// Sizes of one run.
struct Sizes {
    /// Bytes over which the old volume's blocks are scattered.
    span_bytes: u64,
    /// Number of its blocks that are mapped.
    places: u64,
    /// Bytes of the fresh volume, all written.
    fresh_bytes: u64,
    /// Time of writes after each snapshot.
    ageing: Duration,
    snapshots: usize,
    clones: usize,
    /// Clones that receive first writes.
    many: usize,
    /// Logical units that one session of that load uses.
    units: usize,
}

impl Sizes {
    fn of(options: &Options) -> Self {
        match options.small {
            true => Self {
                span_bytes: GIB,
                places: 8192,
                fresh_bytes: 64 * MIB,
                ageing: Duration::from_millis(50),
                snapshots: 4,
                clones: 8,
                many: 16,
                units: 4,
            },
            false => Self {
                span_bytes: 200 * GIB,
                places: 400_000,
                fresh_bytes: GIB,
                ageing: Duration::from_millis(500),
                snapshots: 20,
                clones: 100,
                many: 1000,
                units: 50,
            },
        }
    }
}

const READ: &str = "read 4k qd32";
const WRITE: &str = "write 4k qd32";
const FIRST_WRITES: &str = "first writes to clones 4k";

fn shape(writes_percent: u32, (span_bytes, places): (u64, Option<u64>)) -> Shape {
    let span = 0..span_bytes;
    Shape { writes_percent, length_bytes: 4096, depth: 32, sequential: false, span, places, holes: false }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let sizes = Sizes::of(options);
    let array = Windlass::start(windlass, &memory_directory()?, "64G")?;
    let old = array.array.create_volume("old", &sizes.span_bytes.to_string())?;
    age(&array, old.url(), &sizes)?;
    let fresh = array.array.create_volume("fresh", &sizes.fresh_bytes.to_string())?;
    data::fill(&mut Session::connect(fresh.url())?, array.array.pid(), sizes.fresh_bytes)?;
    let pid = array.array.pid();
    let (old_span, fresh_span) = ((sizes.span_bytes, Some(sizes.places)), (sizes.fresh_bytes, None));
    for repetition in 0..options.repetitions() as u64 {
        for (name, writes) in [(READ, 0), (WRITE, 100)] {
            for (which, url, span) in [("fresh", fresh.url(), fresh_span), ("old", old.url(), old_span)] {
                let session = Session::connect(url)?.into_full_feature()?;
                let load = light::run(vec![session], pid, &shape(writes, span), options.time(), repetition + 1)?;
                report.load(&format!("{which} {name}"), "windlass", load);
            }
        }
    }
    first_writes(&array, &sizes, options, report)?;
    judge(report);
    Ok(())
}

/// Writes every place of the volume, takes snapshots between further writes, and clones it.
fn age(array: &Windlass, url: &str, sizes: &Sizes) -> Result<()> {
    let pid = array.array.pid();
    let mut session = Session::connect(url)?;
    data::fill_places(&mut session, pid, sizes.places, |place| light::place(sizes.span_bytes, place))?;
    for number in 0..sizes.snapshots {
        array.array.command(&["snapshot", "create", "old", &format!("age-{number}")])?;
        let session = Session::connect(url)?.into_full_feature()?;
        let shape = shape(100, (sizes.span_bytes, Some(sizes.places)));
        light::run(vec![session], pid, &shape, sizes.ageing, 1001 + number as u64)?;
    }
    for number in 0..sizes.clones {
        array.array.command(&["volume", "clone", "old", &format!("copy-{number}")])?;
    }
    Ok(())
}

/// Writes at random to clones of the fresh volume that have no writes yet.
fn first_writes(array: &Windlass, sizes: &Sizes, options: &Options, report: &mut Report) -> Result<()> {
    let mut urls = Vec::new();
    for number in 0..sizes.many {
        let name = format!("many-{number}");
        array.array.command(&["volume", "clone", "fresh", &name])?;
        urls.push(array.array.publish_volume(&name)?.url().to_owned());
    }
    let mut sessions = Vec::new();
    // All clones are there: nothing raises further unit attentions.
    for group in urls.chunks(sizes.units) {
        let Some((first, others)) = group.split_first() else { continue };
        let mut session = Session::connect(first)?;
        let mut units = vec![session.lun()];
        for url in others {
            session.turn_to(url)?;
            units.push(session.lun());
        }
        sessions.push((session.into_full_feature()?, units));
    }
    let depth = 32_usize.div_ceil(sessions.len()).max(1);
    let shape = Shape { depth, ..shape(100, (sizes.fresh_bytes, None)) };
    let load = light::run_on_units(sessions, array.array.pid(), &shape, options.time(), 7)?;
    report.load(FIRST_WRITES, "windlass", load);
    Ok(())
}

fn judge(report: &mut Report) {
    let median =
        |name: &str, of: fn(&Load) -> f64| report.row(name, "windlass").map_or(f64::NAN, |row| row.median(of).median);
    let p999: fn(&Load) -> f64 = |load| load.latency_us(99.9);
    let mut goals = Vec::new();
    for name in [READ, WRITE] {
        let ratio = |of| median(&format!("old {name}"), of) / median(&format!("fresh {name}"), of);
        goals.push((format!("{name} of an old volume, server CPU"), ratio(Load::server_us), 1.15, "× a fresh one's"));
        goals.push((format!("{name} of an old volume, p99.9"), ratio(p999), 2.0, "× a fresh one's"));
    }
    goals.push(("p99.9 of first writes to clones".into(), median(FIRST_WRITES, p999) / 1e3, 5.0, "ms"));
    for (what, is, most, unit) in goals {
        report.at_most(&what, is, most, unit);
    }
}
