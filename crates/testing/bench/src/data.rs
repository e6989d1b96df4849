//! Test data: 4 KiB blocks that all differ, each beginning with its own stamp, so that every read
//! can be checked.

use crate::command;
use crate::load::{self, End};
use crate::session::Session;
use anyhow::{Result, ensure};
use bytes::Bytes;
use random::sector::{self, Stamp};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: u64 = 4096;
/// Logical blocks in a block.
pub(crate) const LOGICAL_BLOCKS: u32 = 8;

/// Content of block `number`, wherever it is written.
pub(crate) fn block(number: u64) -> Vec<u8> {
    sector::stamped(0, number * BLOCK_BYTES, BLOCK_BYTES, 0)
}

/// Checks that the data read begin with block `number`.
pub(crate) fn check(number: u64, data: &[u8]) -> Result<()> {
    let expected = Stamp { seed: 0, offset: number * BLOCK_BYTES, generation: 0 };
    ensure!(Stamp::stated(data) == Some(expected), "block {number} was read with other content");
    Ok(())
}

/// Writes the first `size_bytes` of the logical unit.
pub(crate) fn fill(session: &mut Session, server_pid: u32, size_bytes: u64) -> Result<()> {
    const STEP: u64 = 16;
    let blocks = size_bytes / BLOCK_BYTES;
    let next = |index: u64| {
        let first = index * STEP;
        (first < blocks).then(|| {
            let numbers = first..(first + STEP).min(blocks);
            let count = (numbers.end - numbers.start) as u32 * LOGICAL_BLOCKS;
            let data: Bytes = numbers.flat_map(block).collect();
            command::write(first * u64::from(LOGICAL_BLOCKS), count, data)
        })
    };
    load::run(session, server_pid, 8, End::WhenDone, next, |_, _| Ok(()))?;
    Ok(())
}

/// Writes the blocks that `block_of` names for the numbers below `places`.
pub(crate) fn fill_places(
    session: &mut Session,
    server_pid: u32,
    places: u64,
    block_of: impl Fn(u64) -> u64,
) -> Result<()> {
    let next = |index: u64| {
        (index < places).then(|| {
            let number = block_of(index);
            command::write(number * u64::from(LOGICAL_BLOCKS), LOGICAL_BLOCKS, block(number).into())
        })
    };
    load::run(session, server_pid, 32, End::WhenDone, next, |_, _| Ok(()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_differ_and_carry_their_number() {
        let data = block(7);
        assert_eq!(data.len(), 4096);
        assert!(check(7, &data).is_ok() && check(8, &data).is_err());
        assert_ne!(block(7)[24..], block(8)[24..]);
    }
}
