//! What does zeroing cost when it only deallocates? WRITE SAME (16) of zeros over a volume in which
//! every byte is mapped, 1 MiB per command, eight outstanding, pool on disk. Total seconds: lower
//! is better. Small: 1 GiB from 64 MiB. Large: 200 GiB from 1 GiB.

use super::{GIB, MIB, filled_volume, mapped_volume};
use crate::Options;
use crate::command;
use crate::load::{self, End};
use crate::report::Report;
use crate::session::Session;
use crate::targets::Windlass;
use anyhow::{Result, ensure};
use bytes::Bytes;
use std::path::Path;

pub(super) const ASKS: &str = "WRITE SAME of zeros over mapped data in 1 MiB commands, pool on disk";

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let (seed_bytes, copies) = if options.small { (64 * MIB, 16) } else { (GIB, 200) };
    let total_bytes = seed_bytes * copies;
    let array = Windlass::start(windlass, &options.disk, "16G")?;
    let (_, mut seed) = filled_volume(&array, "seed", seed_bytes)?;
    let volume = mapped_volume(&array, "zeroed", &mut seed, seed_bytes, copies)?;
    let mut session = Session::connect(volume.url())?;
    let zeros: Bytes = vec![0; 512].into();
    let commands = total_bytes / MIB;
    let blocks = (MIB / 512) as u32;
    let next =
        |index: u64| (index < commands).then(|| command::write_same(index * u64::from(blocks), blocks, zeros.clone()));
    let load = load::run(&mut session, array.array.pid(), 8, End::WhenDone, next, |_, _| Ok(()))?;
    for index in 0..64 {
        let read = session.execute(&command::read(index * (total_bytes / 512 / 64), 8))?;
        read.good()?;
        ensure!(read.data.iter().all(|byte| *byte == 0), "a zeroed block holds data");
    }
    report.fact(format!(
        "write same 1 MiB qd8: {} in {} commands took {}; {} on the wire",
        text::size::format(total_bytes),
        load.operations,
        text::duration::measured(load.elapsed),
        text::size::format(load.sent_bytes + load.received_bytes)
    ));
    report.at_most("zeroing all of it", load.elapsed.as_secs_f64(), 20.0, "s");
    report.load("write same 1 MiB qd8", "windlass", load);
    Ok(())
}
