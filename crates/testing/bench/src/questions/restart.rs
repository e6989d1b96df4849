//! How long do hosts lose their disks after the array's process was killed with a full log? Random
//! 4 KiB writes until more than the log's size is written, then SIGKILL under load, start, log in,
//! read. Seconds from the start of the process to the first block read: lower is better. Small: 16
//! MiB written. Large: three times 1 GiB written.

use super::small_io::{Subject, random_io};
use super::{GIB, MIB};
use crate::Options;
use crate::command;
use crate::data::{self, BLOCK_BYTES, LOGICAL_BLOCKS};
use crate::load::End;
use crate::report::{Report, Spread, short};
use crate::session::Session;
use crate::targets::Windlass;
use anyhow::Result;
use std::path::Path;
use std::time::{Duration, Instant};

pub(super) const ASKS: &str = "from kill -9 under load to the first block read, log full, pool on disk";

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let (size_bytes, written_bytes, times) = if options.small { (64 * MIB, 16 * MIB, 1) } else { (GIB, GIB, 3) };
    let mut array = Windlass::start(windlass, &options.disk, "64G")?;
    let volume = array.array.create_volume("bench", &size_bytes.to_string())?;
    let mut session = Session::connect(volume.url())?;
    data::fill(&mut session, array.array.pid(), size_bytes)?;
    let mut ready = Vec::new();
    let mut served = Vec::new();
    for time in 0..times {
        let mut subject = Subject { name: "windlass", pid: array.array.pid(), session };
        let blocks = size_bytes / BLOCK_BYTES;
        let mut written = 0;
        while written < written_bytes {
            let load = random_io(&mut subject, blocks, true, 32, End::After(Duration::from_millis(500)), time + 1)?;
            written += load.operations * BLOCK_BYTES;
        }
        // Commands in flight when the process dies.
        for number in 0..16 {
            let command =
                command::write(number * u64::from(LOGICAL_BLOCKS), LOGICAL_BLOCKS, data::block(number).into());
            subject.session.submit(&command)?;
        }
        subject.session.flush()?;
        array.array.kill()?;
        let started = Instant::now();
        array.array.restart()?;
        session = Session::connect(volume.url())?;
        let read = session.execute(&command::read(u64::from(LOGICAL_BLOCKS) * 7, LOGICAL_BLOCKS))?;
        served.push(started.elapsed().as_secs_f64());
        ready.push(array.array.started_in().as_secs_f64());
        read.good()?;
        data::check(7, &read.data)?;
    }
    let (ready, served) = (Spread::of(ready), Spread::of(served));
    report.fact(format!("ready after {} s ({}–{})", short(ready.median), short(ready.least), short(ready.greatest)));
    report.at_most("from the start of the process to the first block read, worst case", served.greatest, 3.0, "s");
    Ok(())
}
