//! What does EXTENDED COPY cost when no data is moved? A mapped source (a filled seed copied
//! repeatedly) is copied to an empty volume in segments of 4 MiB, one and eight outstanding, pool
//! on disk. µs per command compared with a durable 4 KiB write of the same disk, total seconds,
//! bytes on the wire, growth of the pool: lower is better. Small: 1 GiB from 64 MiB. Large: 100 GiB
//! from 1 GiB.

use super::small_io::{Subject, random_io};
use super::{GIB, MIB, SEGMENT_BYTES, check_copies, copy_range, filled_volume, mapped_volume};
use crate::Options;
use crate::data::BLOCK_BYTES;
use crate::load::{self, End};
use crate::report::{Report, Spread};
use crate::session::Session;
use crate::targets::Windlass;
use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags};
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const ASKS: &str = "EXTENDED COPY of mapped data in 4 MiB segments, pool on disk";

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let (seed_bytes, copies) = if options.small { (64 * MIB, 16) } else { (GIB, 100) };
    let total_bytes = seed_bytes * copies;
    let array = Windlass::start(windlass, &options.disk, "16G")?;
    let (_, mut seed) = filled_volume(&array, "seed", seed_bytes)?;
    let source = mapped_volume(&array, "source", &mut seed, seed_bytes, copies)?;
    let mut session = Session::connect(source.url())?;
    let log_write = durable_write_us(&options.disk, if options.small { 50 } else { 2000 })?;
    report.fact(format!(
        "durable 4 KiB write of the same disk, one outstanding: p50 {:.0} µs ({:.0}–{:.0})",
        log_write.median, log_write.least, log_write.greatest
    ));

    let next = |number| (number < if options.small { 200 } else { 5000 }).then(crate::command::test_unit_ready);
    let round_trip =
        load::run(&mut session, array.array.pid(), 1, End::WhenDone, next, |_, _| Ok(()))?.latency_us(50.0);
    report.fact(format!("a command that does nothing, one outstanding: p50 {round_trip:.0} µs"));

    let (volume, write_session) = filled_volume(&array, "beside", 64 * MIB)?;
    let mut subject = Subject { name: "windlass", pid: array.array.pid(), session: write_session };
    let time = Duration::from_secs(if options.small { 1 } else { 3 });
    let write = random_io(&mut subject, 64 * MIB / BLOCK_BYTES, true, 1, End::After(time), 1)?;
    let write_us = write.latency_us(50.0);
    report.fact(format!("a durable 4 KiB write to {}, one outstanding: p50 {write_us:.0} µs", volume.name));

    for (name, depth) in [("xcopy 4 MiB qd1", 1), ("xcopy 4 MiB qd8", 8)] {
        let target = array.array.create_volume(&format!("copy-{depth}"), &total_bytes.to_string())?;
        let mut destination = Session::connect(target.url())?;
        let designators = (session.designator()?, destination.designator()?);
        let used_before = array.array.pool_number("used_bytes")?;
        let load = copy_range(&mut session, array.array.pid(), depth, designators, (0, 0), total_bytes)?;
        let used_after = array.array.pool_number("used_bytes")?;
        check_copies(&mut destination, seed_bytes, copies)?;
        report.fact(format!(
            "{name}: {} in {} commands took {}; {} on the wire; pool {}",
            text::size::format(total_bytes),
            load.operations,
            text::duration::measured(load.elapsed),
            text::size::format(load.sent_bytes + load.received_bytes),
            text::size::change(used_before, used_after)
        ));
        let growth = used_after.saturating_sub(used_before) as f64 * 100.0 / total_bytes as f64;
        report.at_most(&format!("{name}, growth of the pool"), growth, 0.5, "% of the data");
        let moved = load.wire_bytes_each() * 100.0 / SEGMENT_BYTES as f64;
        report.at_most(&format!("{name}, bytes on the wire"), moved, 0.01, "% of the data");
        if depth == 1 {
            let own = (load.latency_us(50.0) - round_trip).max(0.0) / log_write.median.max(1e-9);
            report.fact(format!("{name}, p50 of a command beyond one that does nothing: {own:.2} × that write"));
            let beside = load.latency_us(50.0) / write_us.max(1e-9);
            report.at_most(&format!("{name}, p50 of a command"), beside, 1.5, "× the array's durable 4 KiB write");
            let ratio = load.latency_us(50.0) / log_write.median.max(1e-9);
            report.at_most(&format!("{name}, p50 of a command"), ratio, 1.5, "× the disk's durable 4 KiB write");
        } else {
            report.at_most(&format!("{name}, all of it"), load.elapsed.as_secs_f64(), 3.0, "s");
        }
        report.load(name, "windlass", load);
    }
    Ok(())
}

/// Latency in µs of a durable 4 KiB overwrite in a file that is allocated and written, bypassing
/// the page cache where the file system permits it: the minimum cost of a log write.
fn durable_write_us(directory: &Path, count: usize) -> Result<Spread> {
    const FILE_BYTES: u64 = 4 * MIB;
    const BLOCK: usize = 4096;
    let file = tempfile::NamedTempFile::new_in(directory)?;
    std::fs::write(file.path(), vec![0xa5; FILE_BYTES as usize])?;
    std::fs::File::open(file.path())?.sync_all()?;
    let flags = OFlags::WRONLY | OFlags::DSYNC;
    let open = |flags| rustix::fs::open(file.path(), flags, Mode::empty());
    let descriptor = open(flags | OFlags::DIRECT).or_else(|_| open(flags)).context("cannot open for durable writes")?;
    // Direct I/O needs an aligned buffer, which is cut out of a longer one.
    let room = vec![0x5a_u8; 2 * BLOCK];
    let aligned = room.as_ptr().align_offset(BLOCK);
    let block = room.get(aligned..aligned + BLOCK).context("no aligned block")?;
    let mut latencies = Vec::with_capacity(count);
    for index in 0..count as u64 {
        let started = Instant::now();
        let written = rustix::io::pwrite(&descriptor, block, index * BLOCK as u64 % FILE_BYTES)?;
        anyhow::ensure!(written == BLOCK, "a short write");
        latencies.push(started.elapsed().as_secs_f64() * 1e6);
    }
    Ok(Spread::of(latencies))
}
