//! Content of the files: blocks with their place and stamp ([`sector`]). A copy is
//! right when every block holds its last write.

use super::{Bench, NasError, doing};
use random::sector::{self, Stamp, is_zero};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub(crate) const MIB: u64 = 1 << 20;
/// Size of a block in bytes.
pub(crate) const BLOCK: u64 = 4096;
const BLOCK_LENGTH: usize = 4096;
const MIB_LENGTH: usize = 1 << 20;

/// Builds the block of this number and stamp. It has no zeros or equal blocks that a file system
/// could leave out.
pub(crate) fn block(number: u64, stamp: u64) -> Vec<u8> {
    sector::stamped(0, number * BLOCK, BLOCK, stamp)
}

/// Content of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Only zeros.
    Zeros,
    /// A block with this stamp.
    Stamp(u64),
    /// Neither: parts of two writes, or a block of another place.
    Torn,
}

fn identify(number: u64, data: &[u8]) -> Found {
    match Stamp::stated(data) {
        _ if is_zero(data) => Found::Zeros,
        Some(Stamp { generation, .. }) if block(number, generation) == data => Found::Stamp(generation),
        _ => Found::Torn,
    }
}

/// Fills part of a file with blocks of stamp 0.
pub(crate) fn fill(bench: &Bench<'_>, file: &File, path: &Path, range: std::ops::Range<u64>) -> Result<(), NasError> {
    for offset in range.clone().step_by(MIB_LENGTH) {
        bench.check_cancelled()?;
        let numbers = offset / BLOCK..MIB.min(range.end - offset).div_ceil(BLOCK) + offset / BLOCK;
        let data: Vec<u8> = numbers.flat_map(|number| block(number, 0)).collect();
        file.write_all_at(&data, offset).map_err(doing("write", path))?;
    }
    Ok(())
}

/// Creates a file of [`Bench::size`] bytes, all of it written and durable.
pub(crate) fn create(bench: &Bench<'_>, name: &str) -> Result<(File, std::path::PathBuf), NasError> {
    let path = bench.path(name);
    let file = open_new(&path)?;
    fill(bench, &file, &path, 0..bench.size())?;
    file.sync_all().map_err(doing("sync", &path))?;
    Ok((file, path))
}

/// Creates an empty file.
pub(crate) fn open_new(path: &Path) -> Result<File, NasError> {
    File::options().read(true).write(true).create_new(true).open(path).map_err(doing("make", path))
}

/// Drops the kernel's cached pages of a file, so that it is read from the storage. A file system
/// may ignore this.
pub(crate) fn forget(file: &File) {
    // Only a hint: on a file system that keeps its pages, both sides read from memory.
    let _hint = fadvise(file, 0, None, Advice::DontNeed);
}

/// Identifies every block of a file.
pub(crate) fn inspect(bench: &Bench<'_>, file: &File, path: &Path) -> Result<Vec<Found>, NasError> {
    let size = file.metadata().map_err(doing("look at", path))?.len();
    let mut found = Vec::with_capacity(usize::try_from(size / BLOCK).unwrap_or(0));
    let mut data = vec![0; MIB_LENGTH];
    for offset in (0..size).step_by(MIB_LENGTH) {
        bench.check_cancelled()?;
        let length = usize::try_from(MIB.min(size - offset)).unwrap_or(MIB_LENGTH);
        let piece = data.get_mut(..length).unwrap_or_default();
        file.read_exact_at(piece, offset).map_err(|error: io::Error| doing("read", path)(error))?;
        let first = offset / BLOCK;
        found.extend(piece.chunks(BLOCK_LENGTH).zip(first..).map(|(block, number)| identify(number, block)));
    }
    Ok(found)
}

/// Describes the first block that differs from the expected one.
pub(crate) fn difference(found: &[Found], expected: impl Fn(u64) -> Found) -> Option<String> {
    let wrong = found.iter().zip(0..).find(|(found, number)| **found != expected(*number));
    wrong.map(|(found, number)| {
        format!("block {number} (byte {}) is {found:?}, expected {:?}", number * BLOCK, expected(number))
    })
}

/// Describes a difference in a file, read from the storage if the file system allows that.
pub(crate) fn verify(
    bench: &Bench<'_>,
    file: &File,
    path: &Path,
    expected: impl Fn(u64) -> Found,
) -> Result<Option<String>, NasError> {
    forget(file);
    let found = inspect(bench, file, path)?;
    let blocks = bench.size() / BLOCK;
    if found.len() as u64 != blocks {
        return Ok(Some(format!("it has {} blocks, expected {blocks}", found.len())));
    }
    Ok(difference(&found, expected))
}
