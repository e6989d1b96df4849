//! How much processor time does the array use for a 4 KiB read and for a durable 4 KiB write, and
//! how many can it execute per second? Random blocks of a filled logical unit, one and 32
//! outstanding, the pool in memory; for comparison tgt with its file in memory. µs of server
//! processor time per operation: lower is better; operations per second: higher is better. Small:
//! 64 MiB. Large: 1 GiB.

use super::{GIB, MIB};
use crate::Options;
use crate::command::{self, Command};
use crate::data::{self, BLOCK_BYTES, LOGICAL_BLOCKS};
use crate::load::{self, End, Load};
use crate::report::Report;
use crate::session::{Completion, Session};
use crate::targets::{Tgt, Windlass, memory_directory};
use anyhow::Result;
use bytes::Bytes;
use random::Random;
use std::path::Path;

pub(super) const ASKS: &str = "4 KiB reads and writes, pool in memory, beside tgt";

/// Server with a filled logical unit.
pub(super) struct Subject {
    pub(super) name: &'static str,
    pub(super) pid: u32,
    pub(super) session: Session,
}

/// Load: its name, whether it writes, and the number of outstanding commands.
pub(super) type Shape = (&'static str, bool, usize);

pub(super) fn answer(windlass: &Path, options: &Options, report: &mut Report) -> Result<()> {
    const SHAPES: [Shape; 4] = [
        ("memory read 4k qd1", false, 1),
        ("memory write 4k qd1", true, 1),
        ("memory read 4k qd32", false, 32),
        ("memory write 4k qd32", true, 32),
    ];
    let size_bytes = if options.small { 64 * MIB } else { GIB };
    let memory = memory_directory()?;
    let array = Windlass::start(windlass, &memory, "4G")?;
    let volume = array.array.create_volume("bench", &size_bytes.to_string())?;
    let mut subjects =
        vec![Subject { name: "windlass", pid: array.array.pid(), session: Session::connect(volume.url())? }];
    let tgt = options.with_tgt().then(|| Tgt::start(&memory, size_bytes, false)).transpose()?;
    if let Some(tgt) = &tgt {
        subjects.push(Subject { name: "tgt", pid: tgt.pid(), session: Session::connect(tgt.url())? });
    }
    measure(&mut subjects, &SHAPES, size_bytes, options, report)?;

    let ours =
        |name: &str| report.row(name, "windlass").map(|row| row.median(Load::server_us).median).unwrap_or(f64::NAN);
    let (read, write) = (ours("memory read 4k qd32"), ours("memory write 4k qd32"));
    report.at_most("server CPU of a 4 KiB read at depth 32", read, 10.0, "µs");
    report.at_most("server CPU of a durable 4 KiB write at depth 32", write, 16.0, "µs");
    for name in ["memory read 4k qd32", "memory write 4k qd32"] {
        if let Some(ratio) = ratio_to_tgt(report, name) {
            report.at_least(&format!("{name}, operations a second"), ratio, 1.5, "× tgt");
        }
    }
    Ok(())
}

/// Fills every subject, then runs the shapes on the subjects in turn.
pub(super) fn measure(
    subjects: &mut [Subject],
    shapes: &[Shape],
    size_bytes: u64,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    for subject in subjects.iter_mut() {
        data::fill(&mut subject.session, subject.pid, size_bytes)?;
    }
    let blocks = size_bytes / BLOCK_BYTES;
    for repetition in 0..options.repetitions() {
        for (name, writes, depth) in shapes {
            for subject in subjects.iter_mut() {
                let seed = repetition as u64 + 1;
                let load = random_io(subject, blocks, *writes, *depth, End::After(options.time()), seed)?;
                report.load(name, subject.name, load);
            }
        }
    }
    Ok(())
}

/// Random single blocks; each is a function of `seed` and the command's number, so that a
/// completion can be checked without a list. A write stores the content that the block had before,
/// so every later read can be checked too.
pub(super) fn random_io(
    subject: &mut Subject,
    blocks: u64,
    writes: bool,
    depth: usize,
    end: End,
    seed: u64,
) -> Result<Load> {
    random_io_beside(subject, blocks, writes, depth, end, seed, || Ok(()))
}

/// Like [`random_io`]; `beside` is called before each command, and ends the load when it fails.
pub(super) fn random_io_beside(
    subject: &mut Subject,
    blocks: u64,
    writes: bool,
    depth: usize,
    end: End,
    seed: u64,
    mut beside: impl FnMut() -> Result<()>,
) -> Result<Load> {
    let mut failed = None;
    let chosen = |index: u64| Random::new(seed << 40 ^ index).next() % blocks;
    // Generating a block costs client time, which must not be measured: writes choose among
    // prepared blocks.
    let count = if writes { 1024.min(blocks) } else { 0 };
    let prepared: Vec<(u64, Bytes)> =
        (0..count).map(chosen).map(|number| (number, data::block(number).into())).collect();
    let next = |index: u64| -> Option<Command> {
        if let Err(error) = beside() {
            failed = Some(error);
            return None;
        }
        if writes {
            let (number, data) = prepared.get((Random::new(index).next() % count) as usize)?;
            return Some(command::write(number * u64::from(LOGICAL_BLOCKS), LOGICAL_BLOCKS, data.clone()));
        }
        Some(command::read(chosen(index) * u64::from(LOGICAL_BLOCKS), LOGICAL_BLOCKS))
    };
    let check = |index: u64, completion: &Completion| match writes {
        true => Ok(()),
        false => data::check(chosen(index), &completion.data),
    };
    let load = load::run(&mut subject.session, subject.pid, depth, end, next, check)?;
    failed.map_or(Ok(load), Err)
}

/// Operations per second of the array divided by those of tgt; `None` without tgt.
pub(super) fn ratio_to_tgt(report: &Report, name: &str) -> Option<f64> {
    let rate = |server| report.row(name, server).map(|row| row.median(Load::rate).median);
    Some(rate("windlass")? / rate("tgt")?.max(1e-9))
}
