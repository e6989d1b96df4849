//! COMPARE AND WRITE of images, and its two valid results.

use super::super::prelude::*;

/// Sends the command and waits for the answer.
pub fn caw(bench: &mut Bench<'_>, path: Path, lba: u64, compare: &[u8], write: &[u8]) -> Result<Answer, NotPassed> {
    let task = submit(bench, path, lba, compare, write)?;
    bench.wait(task)
}

/// Sends the command without waiting.
pub fn submit(bench: &mut Bench<'_>, path: Path, lba: u64, compare: &[u8], write: &[u8]) -> Result<Task, NotPassed> {
    let blocks = u8::try_from(compare.len() / BLOCK).unwrap_or(u8::MAX);
    let data = [compare, write].concat();
    bench.submit(path, cdb::compare_and_write(lba, blocks), TransferRequest::Out(data.into()))
}

/// True for GOOD, false for a miscompare; any other answer fails.
pub fn won(answer: Answer) -> Result<bool, NotPassed> {
    if answer.status() == GOOD { Ok(true) } else { answer.check_condition(0x0E, 0x1D, 0x00).map(|_| false) }
}
