//! Content of the files: blocks with their place and stamp ([`sector`]). A copy is
//! right when every block holds its last write.

use super::files::Files;
use super::{Bench, NasError};
use random::sector::{self, Stamp, is_zero};

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
pub(crate) fn fill(
    bench: &Bench<'_>,
    files: &dyn Files,
    name: &str,
    range: std::ops::Range<u64>,
) -> Result<(), NasError> {
    for offset in range.clone().step_by(MIB_LENGTH) {
        bench.check_cancelled()?;
        let numbers = offset / BLOCK..MIB.min(range.end - offset).div_ceil(BLOCK) + offset / BLOCK;
        let data: Vec<u8> = numbers.flat_map(|number| block(number, 0)).collect();
        files.write(name, offset, &data)?;
    }
    Ok(())
}

/// Creates a file of [`Bench::size`] bytes, all of it written and durable.
pub(crate) fn create(bench: &Bench<'_>, name: &str) -> Result<(), NasError> {
    let files = bench.files();
    files.create(name)?;
    fill(bench, files, name, 0..bench.size())?;
    files.sync(name)
}

/// Identifies every block of a file.
pub(crate) fn inspect(bench: &Bench<'_>, files: &dyn Files, name: &str) -> Result<Vec<Found>, NasError> {
    let size = files.size(name)?;
    let mut found = Vec::with_capacity(usize::try_from(size / BLOCK).unwrap_or(0));
    let mut data = vec![0; MIB_LENGTH];
    for offset in (0..size).step_by(MIB_LENGTH) {
        bench.check_cancelled()?;
        let length = usize::try_from(MIB.min(size - offset)).unwrap_or(MIB_LENGTH);
        let piece = data.get_mut(..length).unwrap_or_default();
        files.read(name, offset, piece)?;
        let first = offset / BLOCK;
        found.extend(piece.chunks(BLOCK_LENGTH).zip(first..).map(|(block, number)| identify(number, block)));
    }
    Ok(found)
}

/// Identifies one block of a file.
pub(crate) fn inspect_block(files: &dyn Files, name: &str, number: u64) -> Result<Found, NasError> {
    let mut data = vec![0; BLOCK_LENGTH];
    files.read(name, number * BLOCK, &mut data)?;
    Ok(identify(number, &data))
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
    files: &dyn Files,
    name: &str,
    expected: impl Fn(u64) -> Found,
) -> Result<Option<String>, NasError> {
    files.forget(name);
    let found = inspect(bench, files, name)?;
    let blocks = bench.size() / BLOCK;
    if found.len() as u64 != blocks {
        return Ok(Some(format!("it has {} blocks, expected {blocks}", found.len())));
    }
    Ok(difference(&found, expected))
}
