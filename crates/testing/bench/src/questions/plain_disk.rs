//! How much of a disk reaches the hosts? Reads and durable writes of several sizes, beside the
//! same disk without any array (fio, `O_DIRECT` and `O_DSYNC`), and tgt with `--bsoflags sync`. The
//! pool is on the disk, and all of the span has been written twice before, so no row allocates a
//! block of the file. Operations a second beside the raw disk: higher is better; p99.9 beside it:
//! lower is better. Small: 64 MiB. Large: 4 GiB.

use super::{GIB, MIB};
use crate::Options;
use crate::data;
use crate::light::{self, Shape};
use crate::load::Load;
use crate::raw::RawDisk;
use crate::report::Report;
use crate::session::Session;
use crate::targets::{Tgt, Windlass};
use anyhow::Result;
use std::path::Path;

pub(super) const ASKS: &str = "plain reads and durable writes on a disk, beside the raw disk and tgt";

const KIB: u32 = 1 << 10;

/// Row: its name, the load, and the least part of the raw disk's operations a second.
struct Row {
    name: &'static str,
    writes: bool,
    length_bytes: u32,
    depth: usize,
    sequential: bool,
    wanted: f64,
}

const ROWS: [Row; 5] = [
    Row { name: "disk write 4k qd1", writes: true, length_bytes: 4 * KIB, depth: 1, sequential: false, wanted: 0.8 },
    Row { name: "disk write 4k qd32", writes: true, length_bytes: 4 * KIB, depth: 32, sequential: false, wanted: 0.75 },
    Row { name: "disk read 4k qd32", writes: false, length_bytes: 4 * KIB, depth: 32, sequential: false, wanted: 0.8 },
    Row {
        name: "disk write 128k in order qd8",
        writes: true,
        length_bytes: 128 * KIB,
        depth: 8,
        sequential: true,
        wanted: 0.85,
    },
    Row {
        name: "disk read 128k in order qd8",
        writes: false,
        length_bytes: 128 * KIB,
        depth: 8,
        sequential: true,
        wanted: 0.9,
    },
];

/// Row whose p99.9 is compared with the raw disk's, and the most that it may be, as a multiple.
const SCATTERED: (&str, f64) = ("disk write 4k qd32", 2.0);

impl Row {
    fn shape(&self, span_bytes: u64) -> Shape {
        Shape {
            writes_percent: if self.writes { 100 } else { 0 },
            length_bytes: self.length_bytes,
            depth: self.depth,
            sequential: self.sequential,
            span: 0..span_bytes,
            places: None,
            holes: false,
        }
    }
}

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let span = if options.small { 64 * MIB } else { 4 * GIB };
    let array = Windlass::start(windlass, &options.disk, "24G")?;
    let volume = array.array.create_volume("bench", &span.to_string())?;
    let mut servers = vec![("windlass", array.array.pid(), volume.url().to_owned())];
    let tgt = options.with_tgt().then(|| Tgt::start(&options.disk, span, true)).transpose()?;
    servers.extend(tgt.iter().map(|tgt| ("tgt", tgt.pid(), tgt.url().to_owned())));
    for (_, pid, url) in &servers {
        let mut session = Session::connect(url)?;
        data::fill(&mut session, *pid, span)?;
        data::fill(&mut session, *pid, span)?;
    }
    let raw = RawDisk::installed().then(|| RawDisk::create(&options.disk, span)).transpose()?;
    if raw.is_none() {
        report.fact("the raw disk was not measured: fio is not installed".into());
    }
    for repetition in 0..options.repetitions() {
        for row in &ROWS {
            for (name, pid, url) in &servers {
                let session = Session::connect(url)?.into_full_feature()?;
                let load = light::run(vec![session], *pid, &row.shape(span), options.time(), repetition as u64 + 1)?;
                report.load(row.name, name, load);
            }
            if let Some(raw) = &raw {
                report.load(row.name, "raw disk", raw.run(&row.shape(span), options.time())?);
            }
        }
    }
    judge(report);
    Ok(())
}

fn judge(report: &mut Report) {
    let beside_raw = |report: &Report, name: &str, number: fn(&Load) -> f64| {
        let of = |server| report.row(name, server).map(|row| row.median(number).median);
        Some(of("windlass")? / of("raw disk")?.max(1e-9))
    };
    for row in &ROWS {
        if let Some(ratio) = beside_raw(report, row.name, Load::rate) {
            report.at_least(&format!("{}, operations a second", row.name), ratio, row.wanted, "× the raw disk");
        }
    }
    let (name, most) = SCATTERED;
    if let Some(ratio) = beside_raw(report, name, |load| load.latency_us(99.9)) {
        report.at_most(&format!("{name}, p99.9"), ratio, most, "× the raw disk");
    }
}
