//! COMPARE AND WRITE of images, and its two valid results.

use super::super::prelude::*;

/// Sends the command and waits.
pub fn caw(bench: &mut Bench<'_>, path: Path, lba: u64, compare: &[u8], write: &[u8]) -> Result<Answer, Trouble> {
    let task = submit(bench, path, lba, compare, write)?;
    bench.wait(task)
}

/// Sends the command.
pub fn submit(bench: &mut Bench<'_>, path: Path, lba: u64, compare: &[u8], write: &[u8]) -> Result<Task, Trouble> {
    let blocks = u8::try_from(compare.len() / BLOCK).unwrap_or(u8::MAX);
    let data = [compare, write].concat();
    bench.submit(path, cdb::compare_and_write(lba, blocks), TransferRequest::Out(data.into()))
}

/// True for GOOD, false for a miscompare; all else fails.
pub fn won(answer: Answer) -> Result<bool, Trouble> {
    if answer.status() == GOOD { Ok(true) } else { answer.check_condition(0x0E, 0x1D, 0x00).map(|_| false) }
}
