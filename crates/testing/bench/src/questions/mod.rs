//! Questions, one file each.

mod ats;
mod ats_touch;
mod catalog;
mod clone;
mod consoles;
mod disk;
mod engine;
mod fairness;
mod initiator;
mod instructions;
mod memory;
mod nfs;
mod nfs_million;
mod nfs_storm;
mod noisy;
mod old_volume;
mod paced_offload;
mod plain_disk;
mod plain_io;
mod reclaim;
mod restart;
mod small_io;
mod xcopy;
mod zero;

use crate::Options;
use crate::command;
use crate::data;
use crate::load::{self, End, Load};
use crate::report::Report;
use crate::session::Session;
use crate::targets::Windlass;
use anyhow::{Context, Result};
use array_process::array::Volume;
use array_process::{program, workspace};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Benchmark.
pub(crate) struct Question {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Question that it answers.
    pub(crate) asks: &'static str,
    /// Measures and adds to the report.
    pub(crate) answer: fn(&Path, &Options, &mut Report) -> Result<()>,
}

/// All questions, in execution order.
pub(crate) const ALL: &[Question] = &[
    Question { name: "instructions", asks: instructions::ASKS, answer: instructions::answer },
    Question { name: "share-instructions", asks: instructions::ASKS_OF_SHARES, answer: instructions::answer_of_shares },
    Question { name: "engine", asks: engine::ASKS, answer: engine::answer },
    Question { name: "catalog", asks: catalog::ASKS, answer: catalog::answer },
    Question { name: "small-io", asks: small_io::ASKS, answer: small_io::answer },
    Question { name: "plain-io", asks: plain_io::ASKS, answer: plain_io::answer },
    Question { name: "plain-disk", asks: plain_disk::ASKS, answer: plain_disk::answer },
    Question { name: "old-volume", asks: old_volume::ASKS, answer: old_volume::answer },
    Question { name: "initiator", asks: initiator::ASKS, answer: initiator::answer },
    Question { name: "disk", asks: disk::ASKS, answer: disk::answer },
    Question { name: "ats", asks: ats::ASKS, answer: ats::answer },
    Question { name: "ats-touch", asks: ats_touch::ASKS, answer: ats_touch::answer },
    Question { name: "xcopy", asks: xcopy::ASKS, answer: xcopy::answer },
    Question { name: "zero", asks: zero::ASKS, answer: zero::answer },
    Question { name: "clone", asks: clone::ASKS, answer: clone::answer },
    Question { name: "reclaim", asks: reclaim::ASKS, answer: reclaim::answer },
    Question { name: "fairness", asks: fairness::ASKS, answer: fairness::answer },
    Question { name: "paced-offload", asks: paced_offload::ASKS, answer: paced_offload::answer },
    Question { name: "noisy", asks: noisy::ASKS, answer: noisy::answer },
    Question { name: "consoles", asks: consoles::ASKS, answer: consoles::answer },
    Question { name: "nfs", asks: nfs::ASKS, answer: nfs::answer },
    Question { name: "nfs-storm", asks: nfs_storm::ASKS, answer: nfs_storm::answer },
    Question { name: "nfs-million", asks: nfs_million::ASKS, answer: nfs_million::answer },
    Question { name: "restart", asks: restart::ASKS, answer: restart::answer },
    Question { name: "memory", asks: memory::ASKS, answer: memory::answer },
];

/// A gibibyte.
const GIB: u64 = 1 << 30;
/// A mebibyte.
const MIB: u64 = 1 << 20;

/// Bytes of one EXTENDED COPY, as VMware's data mover requests them.
const SEGMENT_BYTES: u64 = 4 * MIB;

/// Builds an example of the pool; returns the path of its program.
fn pool_example(name: &str, options: &Options, limit: Duration) -> Result<PathBuf> {
    example_of("pool", name, options, limit)
}

/// Builds an example of a crate; returns the path of its program. At the small size, which measures
/// nothing, it is built as `cargo test` builds it: in seconds instead of minutes.
fn example_of(of: &str, name: &str, options: &Options, limit: Duration) -> Result<PathBuf> {
    let cargo = program::find("cargo").context("cargo is not there to build the example")?;
    let manifest = workspace::root().join("Cargo.toml");
    let manifest = manifest.to_str().context("the path of the workspace is not UTF-8")?;
    let (profile, folder) = if options.small { ("dev", "debug") } else { ("release", "release") };
    let package = ["--package", of, "--example", name, "--manifest-path", manifest];
    program::require(&cargo, &[&["build", "--quiet", "--profile", profile], &package[..]].concat(), limit)?;
    Ok(workspace::target().join(folder).join("examples").join(name))
}

/// Creates a volume of `size_bytes` and fills it.
fn filled_volume(windlass: &Windlass, name: &str, size_bytes: u64) -> Result<(Volume, Session)> {
    let volume = windlass.array.create_volume(name, &size_bytes.to_string())?;
    let mut session = Session::connect(volume.url())?;
    data::fill(&mut session, windlass.array.pid(), size_bytes)?;
    Ok((volume, session))
}

/// Creates a volume in which every byte is mapped, by copying a filled `seed` (of `seed_bytes`)
/// into it repeatedly inside the array.
fn mapped_volume(windlass: &Windlass, name: &str, seed: &mut Session, seed_bytes: u64, copies: u64) -> Result<Volume> {
    let volume = windlass.array.create_volume(name, &(seed_bytes * copies).to_string())?;
    let mut destination = Session::connect(volume.url())?;
    let designators = (seed.designator()?, destination.designator()?);
    let pid = windlass.array.pid();
    for copy in 0..copies {
        copy_range(seed, pid, 8, designators, (0, copy * seed_bytes), seed_bytes)?;
    }
    Ok(volume)
}

/// Copies `bytes` between two logical units from and to these byte offsets, one segment per
/// command.
fn copy_range(
    session: &mut Session,
    server_pid: u32,
    depth: usize,
    (source, destination): ([u8; 16], [u8; 16]),
    (from, to): (u64, u64),
    bytes: u64,
) -> Result<Load> {
    let commands = bytes / SEGMENT_BYTES;
    let next = |index: u64| {
        let offset = index * SEGMENT_BYTES;
        let (from, to) = ((from + offset) / 512, (to + offset) / 512);
        (index < commands)
            .then(|| command::extended_copy(&source, &destination, from, to, (SEGMENT_BYTES / 512) as u16))
    };
    load::run(session, server_pid, depth, End::WhenDone, next, |_, _| Ok(()))
}

/// Reads single blocks spread over a volume from [`mapped_volume`], and checks them.
fn check_copies(session: &mut Session, seed_bytes: u64, copies: u64) -> Result<()> {
    let blocks = seed_bytes / data::BLOCK_BYTES;
    for copy in 0..copies {
        for block in [0, blocks / 3, blocks - 1] {
            let lba = (copy * blocks + block) * u64::from(data::LOGICAL_BLOCKS);
            let completion = session.execute(&command::read(lba, data::LOGICAL_BLOCKS))?;
            completion.good()?;
            data::check(block, &completion.data)?;
        }
    }
    Ok(())
}
