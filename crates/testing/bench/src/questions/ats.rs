//! What does a VMFS lock, COMPARE AND WRITE of one block, cost compared with a 4 KiB write? One
//! outstanding, pool in memory, both in turn. p50 and p99 of COMPARE AND WRITE divided by those of
//! the write: lower is better. Small: 0.3 s each. Large: as requested.

use super::MIB;
use super::small_io::{Subject, random_io};
use crate::Options;
use crate::command;
use crate::data;
use crate::load::{self, End, Load};
use crate::report::Report;
use crate::session::Session;
use crate::targets::{Windlass, memory_directory};
use anyhow::{Result, ensure};
use std::path::Path;

pub(super) const ASKS: &str = "COMPARE AND WRITE of one block beside a 4 KiB write";

const ATS: &str = "memory ats 512 B qd1";
const WRITE: &str = "memory write 4k beside ats";

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    let size_bytes = 64 * MIB;
    let array = Windlass::start(windlass, &memory_directory()?, "2G")?;
    let volume = array.array.create_volume("bench", &size_bytes.to_string())?;
    let mut subject = Subject { name: "windlass", pid: array.array.pid(), session: Session::connect(volume.url())? };
    data::fill(&mut subject.session, subject.pid, size_bytes)?;
    let mut counter = 0;
    subject.session.execute(&command::write_same(0, 1, lock(counter).into()))?.good()?;
    for repetition in 0..options.repetitions() {
        let seed = repetition as u64 + 1;
        let end = End::After(options.time());
        let blocks = size_bytes / data::BLOCK_BYTES;
        let write = random_io(&mut subject, blocks, true, 1, end, seed)?;
        report.load(WRITE, subject.name, write);
        // A write before may have chosen block 0, so the counter is written again.
        subject.session.execute(&command::write(0, 1, lock(counter).into()))?.good()?;
        let first = counter;
        let next = |index: u64| {
            let value = first + index;
            Some(command::compare_and_write(0, [lock(value), lock(value + 1)].concat().into()))
        };
        let load = load::run(&mut subject.session, subject.pid, 1, end, next, |_, _| Ok(()))?;
        counter += load.operations;
        report.load(ATS, subject.name, load);
        let read = subject.session.execute(&command::read(0, 1))?;
        read.good()?;
        ensure!(read.data == lock(counter), "the counter under COMPARE AND WRITE is not at {counter}");
    }
    for (percent, limit) in [(50.0, 1.3), (99.0, 2.0)] {
        let latency = |name: &str| {
            report.row(name, "windlass").map(|row| row.median(|load: &Load| load.latency_us(percent)).median)
        };
        if let (Some(ats), Some(write)) = (latency(ATS), latency(WRITE)) {
            let what = format!("p{percent} of COMPARE AND WRITE at depth 1");
            report.at_most(&what, ats / write.max(1e-9), limit, "× that of a 4 KiB write");
        }
    }
    Ok(())
}

/// Block of a lock that was taken `counter` times. Never all zeros, so that the array stores it.
fn lock(counter: u64) -> Vec<u8> {
    let mut block = vec![0xa5; 512];
    for (to, from) in block.iter_mut().zip(counter.to_be_bytes()) {
        *to = from;
    }
    block
}
