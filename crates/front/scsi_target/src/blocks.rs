//! Logical blocks as CDBs and data count them.

use block::LOGICAL_BLOCK_BYTES;
use bytes::Bytes;
use scsi::Cdb;

/// Bytes in a logical block, as `u64`.
pub(crate) const BLOCK: u64 = LOGICAL_BLOCK_BYTES as u64;

/// Blocks that a CDB names, and the position of their count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRange {
    pub lba: u64,
    pub count: u64,
    /// Byte of the CDB where NUMBER OF LOGICAL BLOCKS (TRANSFER LENGTH) begins.
    pub count_at: u16,
}

impl BlockRange {
    /// Decodes LBA and count for a CDB of this length, at the positions of READ and WRITE. In
    /// 6-byte CDBs a count of 0 means 256.
    pub fn decode(cdb: &Cdb, cdb_length: usize) -> Self {
        match cdb_length {
            6 => {
                let lba = cdb.be32::<0>() & 0x1f_ffff;
                let count = cdb.byte::<4>();
                Self { lba: u64::from(lba), count: if count == 0 { 256 } else { u64::from(count) }, count_at: 4 }
            }
            10 => Self { lba: u64::from(cdb.be32::<2>()), count: u64::from(cdb.be16::<7>()), count_at: 7 },
            12 => Self { lba: u64::from(cdb.be32::<2>()), count: u64::from(cdb.be32::<6>()), count_at: 6 },
            _ => Self { lba: cdb.be64::<2>(), count: u64::from(cdb.be32::<10>()), count_at: 10 },
        }
    }
}

/// Blocks in `bytes`, a multiple of the block length.
pub(crate) fn blocks_in(data: &Bytes) -> u64 {
    data.len() as u64 / BLOCK
}
