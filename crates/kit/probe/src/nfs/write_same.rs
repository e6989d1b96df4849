//! WRITE_SAME, RFC 7862 §15.12: blocks with a pattern and a number.

use super::fault::{Fault, wrong};
use super::primitive::Proof;
use super::scratch::{KIB, Scratch, data, replace};
use crate::verdict::timed;
use nfs::v4::offload::DataBlocks;
use nfs_client::File;

const BLOCK: u64 = 4 * KIB;
const BLOCKS: u64 = 64;
/// Place of the pattern in a block.
const PATTERN_AT: u64 = 16;
/// `adb_reln_blocknum`: blocks without a number.
const NO_NUMBER: u64 = u64::MAX;

pub(super) async fn prove(scratch: &Scratch) -> Result<Proof, Fault> {
    let (file, before) = scratch.filled("write-same", 11, (BLOCKS + 2) * BLOCK).await?;
    let pattern = data(12, 512);
    let blocks = DataBlocks {
        offset_bytes: BLOCK,
        block_bytes: BLOCK,
        block_count: BLOCKS,
        number_offset_bytes: NO_NUMBER,
        first_number: 0,
        pattern_offset_bytes: PATTERN_AT,
        pattern: pattern.clone().into(),
    };
    write(scratch, &file, &blocks).await?;
    let mut expected = before.to_vec();
    for block in 1..=BLOCKS {
        let mut content = vec![0; usize::try_from(BLOCK).unwrap_or(0)];
        replace(&mut content, PATTERN_AT, &pattern);
        replace(&mut expected, block * BLOCK, &content);
    }
    scratch.check(&file, &expected, "a file after WRITE_SAME").await?;
    let numbered = DataBlocks { number_offset_bytes: 0, first_number: 7, ..blocks.clone() };
    write(scratch, &file, &numbered).await?;
    for (block, number) in (1..=BLOCKS).zip(7_u32..) {
        replace(&mut expected, block * BLOCK, &number.to_be_bytes());
    }
    scratch.check(&file, &expected, "a file after WRITE_SAME with block numbers").await?;
    let cost = timed(|| scratch.wire_bytes(), async |_| write(scratch, &file, &blocks).await).await?;
    if cost.1 >= BLOCKS * BLOCK {
        return wrong(format!("{} bytes on the wire for WRITE_SAME of {}", cost.1, BLOCKS * BLOCK));
    }
    let reason = format!("WRITE_SAME of {}, with and without block numbers", text::size::format(BLOCKS * BLOCK));
    Ok(Proof { reason, cost: Some(cost) })
}

/// Writes all blocks, over as many calls as the server needs.
async fn write(scratch: &Scratch, file: &File, blocks: &DataBlocks) -> Result<(), Fault> {
    let mut done = 0;
    while done < blocks.block_count {
        let left = DataBlocks {
            offset_bytes: blocks.offset_bytes + done * blocks.block_bytes,
            block_count: blocks.block_count - done,
            first_number: blocks.first_number + u32::try_from(done).unwrap_or(0),
            ..blocks.clone()
        };
        let written = scratch.share.write_same(file, left.clone()).await?;
        if written.callback.is_some() {
            return wrong("WRITE_SAME in the background, which was not asked for");
        }
        let count = written.count_bytes / blocks.block_bytes;
        if count == 0 || count > left.block_count || written.count_bytes % blocks.block_bytes != 0 {
            return wrong(format!("WRITE_SAME says that it wrote {} bytes", written.count_bytes));
        }
        done += count;
    }
    Ok(())
}
