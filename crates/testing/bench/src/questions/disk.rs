//! How many durable 4 KiB writes per second does a disk achieve, through the array and through tgt
//! with synchronous writes? Random blocks of a filled logical unit, 32 outstanding, pool and tgt's
//! file on the same file system. Operations per second: higher is better. Small: 64 MiB. Large: 1
//! GiB.

use super::small_io::{Shape, Subject, measure, ratio_to_tgt};
use super::{GIB, MIB};
use crate::Options;
use crate::report::Report;
use crate::session::Session;
use crate::targets::{Tgt, Windlass};
use anyhow::Result;
use std::path::Path;

pub(super) const ASKS: &str = "durable 4 KiB writes on disk, beside tgt with synchronous writes";

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    const SHAPES: [Shape; 2] = [("disk write 4k qd1", true, 1), ("disk write 4k qd32", true, 32)];
    let size_bytes = if options.small { 64 * MIB } else { GIB };
    let array = Windlass::start(windlass, &options.disk, "4G")?;
    let volume = array.array.create_volume("bench", &size_bytes.to_string())?;
    let mut subjects =
        vec![Subject { name: "windlass", pid: array.array.pid(), session: Session::connect(volume.url())? }];
    let tgt = options.with_tgt().then(|| Tgt::start(&options.disk, size_bytes, true)).transpose()?;
    if let Some(tgt) = &tgt {
        subjects.push(Subject { name: "tgt", pid: tgt.pid(), session: Session::connect(tgt.url())? });
    }
    measure(&mut subjects, &SHAPES, size_bytes, options, report)?;
    if let Some(ratio) = ratio_to_tgt(report, "disk write 4k qd32") {
        report.at_least("durable 4 KiB writes a second on disk at depth 32", ratio, 2.0, "× tgt");
    }
    Ok(())
}
