//! Does the deletion of a large volume affect hosts? A volume with exclusive map pages is deleted
//! while a host reads random blocks of another one, four outstanding, pool in memory. p99 of the
//! reads until all space is freed divided by p99 when idle: lower is better. GiB of mapped address
//! space freed per second: higher is better. Small: 16 GiB. Large: 1 TiB.

use super::small_io::{Subject, random_io};
use super::{GIB, SEGMENT_BYTES, filled_volume};
use crate::Options;
use crate::command;
use crate::data::BLOCK_BYTES;
use crate::load::{self, End, Load};
use crate::report::{Report, Spread};
use crate::session::Session;
use crate::targets::{Windlass, memory_directory};
use anyhow::Result;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const ASKS: &str = "latency of a host's reads while the space of a deleted volume comes back";

/// One measurement of the reads.
const SLICE: Duration = Duration::from_millis(500);

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let copies = if options.small { 16 } else { 1024 };
    let array = Windlass::start(windlass, &memory_directory()?, "64G")?;
    let pid = array.array.pid();
    let (_, mut seed) = filled_volume(&array, "seed", GIB)?;
    let doomed = array.array.create_volume("doomed", &(copies * GIB).to_string())?;
    {
        // Offset by 4 KiB from the source's leaves, so that no leaf can be shared.
        let mut session = Session::connect(doomed.url())?;
        let designators = (seed.designator()?, session.designator()?);
        let each = GIB / SEGMENT_BYTES - 1;
        let next = |index: u64| {
            let (copy, part) = (index / each, index % each);
            let from = (part * SEGMENT_BYTES + BLOCK_BYTES) / 512;
            let to = (copy * GIB + part * SEGMENT_BYTES) / 512;
            let count = (SEGMENT_BYTES / 512) as u16;
            (copy < copies).then(|| command::extended_copy(&designators.0, &designators.1, from, to, count))
        };
        load::run(&mut seed, pid, 8, End::WhenDone, next, |_, _| Ok(()))?;
    }
    let mut subject = Subject { name: "windlass", pid, session: seed };
    let blocks = GIB / BLOCK_BYTES;
    let slice = |subject: &mut Subject, seed| random_io(subject, blocks, false, 4, End::After(SLICE), seed);
    let p99 = |loads: &[Load]| Spread::of(loads.iter().map(|load| load.latency_us(99.0)).collect());
    let mut idle = Vec::new();
    for round in 0..if options.small { 2 } else { 8 } {
        idle.push(slice(&mut subject, round)?);
    }
    array.array.command(&["access", "revoke", "doomed", "--all", "--yes"])?;
    let deleting = Instant::now();
    array.array.command(&["--yes", "volume", "delete", "doomed", "--now"])?;
    report.at_most("volume delete returns after", deleting.elapsed().as_secs_f64(), 1.0, "s");
    let started = Instant::now();
    let mut busy = Vec::new();
    loop {
        busy.push(slice(&mut subject, 100 + busy.len() as u64)?);
        if array.array.pool_number("reclaimable_bytes")? < GIB / 64 {
            break;
        }
    }
    let took = started.elapsed().as_secs_f64();
    let (idle, busy) = (p99(&idle), p99(&busy));
    report.fact(format!(
        "p99 of reads: idle {} µs, while space comes back {} µs",
        idle.median as u64, busy.median as u64
    ));
    report.at_least("mapped address space given back", copies as f64 / took, 100.0, "GiB/s");
    report.at_most("p99 of a host's reads meanwhile", busy.median / idle.median, 2.0, "× idle");
    Ok(())
}
