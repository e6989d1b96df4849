//! `cargo xtask fsx`: random operations on one file, compared with a model in memory, in the manner
//! of the file system exerciser from Apple and SGI. This is a new implementation: reads, writes,
//! truncations, holes, zeroed and collapsed ranges, reopening, and eviction of pages from the cache
//! so that reads come from the disk. It maps no memory. A seed replays exactly.

use crate::tally::Tally;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use random::Random;
use rustix::fs::{Advice, FallocateFlags, fadvise, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// File and amount of operations.
#[derive(Args)]
pub struct Options {
    /// File, which is created, or truncated first.
    file: PathBuf,
    /// Number of operations.
    #[arg(long, default_value_t = 20_000)]
    operations: u64,
    /// Largest size of the file in bytes.
    #[arg(long, default_value_t = 1 << 20)]
    size: u64,
    /// Seed of all random decisions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Most bytes of one operation.
const MOST_BYTES: u64 = 32 << 10;
/// Alignment of collapsed ranges: the block size of the file systems.
const BLOCK_BYTES: u64 = 4096;

/// Operation; the table below gives its frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
    Truncate,
    PunchHole,
    ZeroRange,
    Collapse,
    Allocate,
    Reopen,
    DropPages,
}

const OPERATIONS: &[(Operation, u64)] = &[
    (Operation::Read, 38),
    (Operation::Write, 36),
    (Operation::Truncate, 6),
    (Operation::PunchHole, 6),
    (Operation::ZeroRange, 5),
    (Operation::Collapse, 2),
    (Operation::Allocate, 4),
    (Operation::Reopen, 2),
    (Operation::DropPages, 1),
];

/// File with its expected content.
struct Exerciser<'a> {
    path: &'a Path,
    file: File,
    model: Vec<u8>,
    random: Random,
    most_bytes: u64,
    /// Operations that the file system does not support.
    unsupported: Vec<Operation>,
    counts: [u64; OPERATIONS.len()],
}

/// Runs the operations; one check.
pub fn run(options: &Options) -> Result<Tally> {
    let mut exerciser = Exerciser {
        path: &options.file,
        file: open(&options.file, true)?,
        model: Vec::new(),
        random: Random::new(options.seed),
        most_bytes: options.size.max(BLOCK_BYTES),
        unsupported: Vec::new(),
        counts: [0; OPERATIONS.len()],
    };
    for number in 1..=options.operations {
        let operation = exerciser.choose();
        exerciser
            .carry_out(operation)
            .with_context(|| format!("operation {number}, {operation:?}, seed {}", options.seed))?;
    }
    exerciser.carry_out(Operation::DropPages)?;
    exerciser.compare(0, exerciser.model.len() as u64).context("at the end")?;
    let counts: Vec<_> = OPERATIONS
        .iter()
        .zip(exerciser.counts)
        .map(|((operation, _), count)| format!("{operation:?} {count}"))
        .collect();
    println!("{} operations: {}", options.operations, counts.join(", "));
    for operation in &exerciser.unsupported {
        println!("{operation:?} is not there");
    }
    Ok(Tally::one(true))
}

fn open(path: &Path, truncate: bool) -> Result<File> {
    let file = File::options().read(true).write(true).create(true).truncate(truncate).open(path);
    file.with_context(|| format!("cannot open {}", path.display()))
}

impl Exerciser<'_> {
    fn choose(&mut self) -> Operation {
        let total = OPERATIONS.iter().map(|(_, weight)| weight).sum();
        let mut left = self.random.below(total);
        for (operation, weight) in OPERATIONS {
            if left < *weight {
                return *operation;
            }
            left -= weight;
        }
        Operation::Read
    }

    fn length(&self) -> u64 {
        self.model.len() as u64
    }

    /// Random range that begins below `limit`, with a length of at least 1.
    fn range(&mut self, limit: u64) -> (u64, u64) {
        let at = self.random.below(limit.max(1));
        let length = 1 + self.random.below(MOST_BYTES.min(self.most_bytes - at).max(1));
        (at, length)
    }

    fn carry_out(&mut self, operation: Operation) -> Result<()> {
        if let Some(count) = OPERATIONS.iter().position(|(known, _)| *known == operation) {
            self.counts[count] += 1;
        }
        let end = self.most_bytes;
        match operation {
            Operation::Read => {
                let (at, length) = self.range(self.length());
                self.compare(at, length)
            }
            Operation::Write => {
                let (at, length) = self.range(end);
                let mut data = vec![0; usize::try_from(length)?];
                let stamp = self.random.below(u64::MAX);
                // Never zeros, so that a hole is not mistaken for data; and no eight bytes repeat.
                for (bytes, index) in data.chunks_mut(8).zip(0_u64..) {
                    let word = (stamp.wrapping_add(index) | 0x0101_0101_0101_0101).to_le_bytes();
                    bytes.copy_from_slice(word.get(..bytes.len()).unwrap_or_default());
                }
                self.file.write_all_at(&data, at).context("cannot write")?;
                self.grow(at + length)?;
                self.part(at, length)?.copy_from_slice(&data);
                Ok(())
            }
            Operation::Truncate => {
                let length = self.random.below(end);
                self.file.set_len(length).context("cannot truncate")?;
                self.model.resize(usize::try_from(length)?, 0);
                Ok(())
            }
            Operation::PunchHole => {
                let (at, length) = self.range(self.length());
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                if self.allocate(operation, flags, at, length)? {
                    let length = length.min(self.length().saturating_sub(at));
                    self.part(at, length)?.fill(0);
                }
                Ok(())
            }
            Operation::ZeroRange => {
                let (at, length) = self.range(end);
                if self.allocate(operation, FallocateFlags::ZERO_RANGE, at, length)? {
                    self.grow(at + length)?;
                    self.part(at, length)?.fill(0);
                }
                Ok(())
            }
            Operation::Collapse => {
                let blocks = self.length() / BLOCK_BYTES;
                if blocks < 2 {
                    return Ok(());
                }
                let at = self.random.below(blocks - 1);
                let length = 1 + self.random.below((blocks - 1 - at).min(4));
                let (at, length) = (at * BLOCK_BYTES, length * BLOCK_BYTES);
                // A range that reaches the end of the file is refused.
                if at + length < self.length()
                    && self.allocate(operation, FallocateFlags::COLLAPSE_RANGE, at, length)?
                {
                    let (from, to) = (usize::try_from(at)?, usize::try_from(at + length)?);
                    self.model.drain(from..to);
                }
                Ok(())
            }
            Operation::Allocate => {
                let (at, length) = self.range(end);
                if self.allocate(operation, FallocateFlags::empty(), at, length)? {
                    self.grow(at + length)?;
                }
                Ok(())
            }
            Operation::Reopen => {
                self.file = open(self.path, false)?;
                let found = self.file.metadata()?.len();
                ensure!(found == self.length(), "the file has {found} bytes, and should have {}", self.length());
                Ok(())
            }
            Operation::DropPages => {
                self.file.sync_all().context("cannot synchronize")?;
                fadvise(&self.file, 0, None, Advice::DontNeed)?;
                Ok(())
            }
        }
    }

    /// Calls `fallocate`; false when the file system does not support the operation.
    fn allocate(&mut self, operation: Operation, flags: FallocateFlags, at: u64, length: u64) -> Result<bool> {
        if self.unsupported.contains(&operation) {
            return Ok(false);
        }
        match fallocate(&self.file, flags, at, length) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP) => {
                self.unsupported.push(operation);
                Ok(false)
            }
            Err(error) => Err(error).with_context(|| format!("{flags:?} of {length} bytes at {at}")),
        }
    }

    fn grow(&mut self, length: u64) -> Result<()> {
        if length > self.length() {
            self.model.resize(usize::try_from(length)?, 0);
        }
        Ok(())
    }

    fn part(&mut self, at: u64, length: u64) -> Result<&mut [u8]> {
        let (from, to) = (usize::try_from(at)?, usize::try_from(at + length)?);
        self.model.get_mut(from..to).context("a range outside of the model")
    }

    /// Reads a range, which may extend beyond the end, and compares it.
    fn compare(&mut self, at: u64, length: u64) -> Result<()> {
        let expected = length.min(self.length().saturating_sub(at));
        let mut data = vec![0; usize::try_from(length)?];
        let mut filled = 0;
        while filled < data.len() {
            let into = data.get_mut(filled..).unwrap_or_default();
            match self.file.read_at(into, at + filled as u64).context("cannot read")? {
                0 => break,
                count => filled += count,
            }
        }
        ensure!(filled as u64 == expected, "read {filled} bytes at {at}, and not {expected}");
        data.truncate(filled);
        let model = self.part(at, expected)?;
        if model == data.as_slice() {
            return Ok(());
        }
        if let Some(offset) = model.iter().zip(&data).position(|(expected, found)| expected != found) {
            bail!(
                "at byte {} the file has {:02x}h, and should have {:02x}h",
                at + offset as u64,
                data.get(offset).copied().unwrap_or_default(),
                model.get(offset).copied().unwrap_or_default()
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_good_file_passes() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { file: directory.path().join("file"), operations: 500, size: 1 << 18, seed: 3 };
        assert_eq!(run(&options).unwrap(), Tally::one(true));
    }

    #[test]
    fn a_changed_byte_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let mut exerciser = Exerciser {
            path: &path,
            file: open(&path, true).unwrap(),
            model: vec![7; 100],
            random: Random::new(1),
            most_bytes: 4096,
            unsupported: Vec::new(),
            counts: [0; OPERATIONS.len()],
        };
        exerciser.file.write_all_at(&[7; 100], 0).unwrap();
        exerciser.compare(0, 200).unwrap();
        exerciser.file.write_all_at(&[8], 50).unwrap();
        let error = exerciser.compare(0, 100).unwrap_err();
        assert_eq!(error.to_string(), "at byte 50 the file has 08h, and should have 07h");
    }
}
