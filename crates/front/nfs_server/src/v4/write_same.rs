//! WRITE_SAME, RFC 7862 §15.12: blocks with a pattern and a number. Always synchronous, because an
//! asynchronous answer would have to name the copy with the stateid of the request (§15.12.3.1).

use super::commit::verifier;
use super::context::Context;
use super::row::{CHANGE, GROWTH, HANDLE, Row, STATEID};
use super::stateids::{Use, state_check};
use crate::failure::Failure;
use bytes::{Bytes, BytesMut};
use nfs::v4::offload::{DataBlocks, WriteResponse, WriteSameArguments};
use nfs::v4::{Stable, Status};
use unit::OffloadWork;
use vfs::{Call, FileSystem, Limits, Payload, Stability};

pub(super) const ROW: Row = Row {
    code: 70,
    statuses: &[HANDLE, STATEID, CHANGE, GROWTH, &[Status::FBIG, Status::ISDIR, Status::SYMLINK]],
    reply_bytes: 32,
};

/// Position of the block number that stands for none.
const NO_NUMBER: u64 = u64::MAX;
/// Length of a block number.
const NUMBER_BYTES: u64 = 4;

/// Writes the blocks, durably. Zeros are one step whatever their length; of other blocks as many as one
/// call may move, after which the count is short and ends with a block.
///
/// * `INVAL`: blocks without length, a pattern or number that does not fit into a block, or blocks
///   longer than one call may move.
pub(super) async fn execute<F: FileSystem>(
    context: &Context<'_, F>,
    arguments: &WriteSameArguments,
) -> Result<WriteResponse, Failure> {
    let file = context.file()?;
    let right = state_check(context, &arguments.stateid, Use::Write)?;
    let files = file.export.files();
    let blocks = &arguments.blocks;
    let total_bytes = check(blocks, &files.limits())?;
    let call = Call { right, ..context.call(&file) };
    let mut done_bytes = 0;
    if total_bytes == 0 {
        // Nothing is written, but to a regular file only.
        vfs::FsError::need_file(files.attributes(file.id).await?.kind)?;
    } else if is_zero(blocks) {
        files.zero(call, file.id, blocks.offset_bytes, total_bytes).await?;
        done_bytes = total_bytes;
    } else {
        let limits = files.limits();
        let most = limits.move_bytes / blocks.block_bytes * blocks.block_bytes;
        let wanted_bytes = total_bytes.min(most);
        while done_bytes < wanted_bytes {
            let length = (wanted_bytes - done_bytes).min(limits.io_bytes.into());
            let data = Payload::from(content(blocks, done_bytes, length));
            let at = blocks.offset_bytes.saturating_add(done_bytes);
            match files.write(call, file.id, at, data, Stability::Durable).await {
                Ok(_) => done_bytes += length,
                // A prefix that ends with a block is there.
                Err(_) if done_bytes >= blocks.block_bytes => {
                    done_bytes = done_bytes / blocks.block_bytes * blocks.block_bytes;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
            if done_bytes < wanted_bytes {
                vfs::pause().await;
            }
        }
    }
    context.worked(OffloadWork {
        bytes: done_bytes,
        host_bytes_avoided: done_bytes.saturating_sub(blocks.pattern.len() as u64),
        ..OffloadWork::default()
    });
    Ok(WriteResponse {
        callback: None,
        count_bytes: done_bytes,
        committed: Stable::FileSync,
        verifier: verifier(files),
    })
}

/// Checks the blocks, and returns the length of all.
fn check(blocks: &DataBlocks, limits: &Limits) -> Result<u64, Failure> {
    let within = |offset: u64, length: u64| offset.checked_add(length).is_some_and(|end| end <= blocks.block_bytes);
    let numbered = blocks.number_offset_bytes != NO_NUMBER;
    let fits = within(blocks.pattern_offset_bytes, blocks.pattern.len() as u64)
        && (!numbered || within(blocks.number_offset_bytes, NUMBER_BYTES));
    if blocks.block_bytes == 0 || !fits || (!is_zero(blocks) && blocks.block_bytes > limits.move_bytes) {
        return Err(Status::INVAL.into());
    }
    let total_bytes = blocks.block_bytes.checked_mul(blocks.block_count).ok_or(Status::FBIG)?;
    limits.end(blocks.offset_bytes, total_bytes)?;
    Ok(total_bytes)
}

/// Whether the blocks consist of zeros.
fn is_zero(blocks: &DataBlocks) -> bool {
    let numbered = blocks.number_offset_bytes != NO_NUMBER;
    let no_number = !numbered || (blocks.block_count <= 1 && blocks.first_number == 0);
    no_number && blocks.pattern.iter().all(|byte| *byte == 0)
}

/// Part of the content of all blocks.
fn content(blocks: &DataBlocks, from: u64, length: u64) -> Bytes {
    let mut data = BytesMut::zeroed(usize::try_from(length).unwrap_or(0));
    let first = from / blocks.block_bytes;
    let last = from.saturating_add(length).div_ceil(blocks.block_bytes);
    for block in first..last {
        let start = block.saturating_mul(blocks.block_bytes);
        place(&mut data, from, start.saturating_add(blocks.pattern_offset_bytes), &blocks.pattern);
        if blocks.number_offset_bytes != NO_NUMBER {
            // Numbers have 32 bits and wrap.
            let number = u64::from(blocks.first_number).wrapping_add(block) & u64::from(u32::MAX);
            let number = u32::try_from(number).unwrap_or(0).to_be_bytes();
            place(&mut data, from, start.saturating_add(blocks.number_offset_bytes), &number);
        }
    }
    data.freeze()
}

/// Copies what belongs at `at` into the data that begins at `from`, as far as it reaches into it.
fn place(data: &mut [u8], from: u64, at: u64, source: &[u8]) {
    let skipped = usize::try_from(from.saturating_sub(at)).unwrap_or(usize::MAX);
    let start = usize::try_from(at.saturating_sub(from)).unwrap_or(usize::MAX);
    let source = source.get(skipped..).unwrap_or(&[]);
    let target = data.get_mut(start..).unwrap_or(&mut []);
    target.iter_mut().zip(source).for_each(|(to, byte)| *to = *byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_part_of_the_content_is_that_part_of_all_of_it() {
        let blocks = DataBlocks {
            offset_bytes: 0,
            block_bytes: 10,
            block_count: 5,
            number_offset_bytes: 6,
            first_number: 0xffff_fffe,
            pattern_offset_bytes: 1,
            pattern: b"abc".as_slice().into(),
        };
        let all = content(&blocks, 0, 50);
        assert_eq!(all[..10], *b"\0abc\0\0\xff\xff\xff\xfe");
        assert_eq!(all[20..30], *b"\0abc\0\0\0\0\0\0");
        for from in 0..50 {
            for to in from..50 {
                assert_eq!(content(&blocks, from, to - from), all[from as usize..to as usize], "{from}..{to}");
            }
        }
    }
}
