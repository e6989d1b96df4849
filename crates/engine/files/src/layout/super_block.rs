//! Super block: what belongs to the share as a whole. All zeros: the share has never been changed.

use crate::engine::Block;
use crate::layout::address::FIRST_FILE;
use vfs::Timestamp;
use zerocopy::little_endian::{I64, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: [u8; 8] = *b"WINDLFS1";

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct Raw {
    magic: [u8; 8],
    version: U32,
    flags: U32,
    hash_key: [u8; 16],
    file_high: U64,
    change_high: U64,
    change_base: U64,
    floor_seconds: I64,
    floor_nanoseconds: U32,
    crc: U32,
}

const BYTES: usize = size_of::<Raw>();
const _: () = assert!(BYTES == 72);
const VERSION: u32 = 1;

/// Super block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuperBlock {
    /// Key of the hash of names.
    pub hash_key: [u8; 16],
    /// Numbers of files below this may have been used.
    pub file_high: u64,
    /// Values of the change counter below this may have been used.
    pub change_high: u64,
    /// Base that is added to the change counter. Each roll-back raises it.
    pub change_base: u64,
    /// No file was changed before; it grows with each roll-back.
    pub changed_floor: Timestamp,
}

impl Default for SuperBlock {
    /// Super block of a share that was never changed.
    fn default() -> Self {
        Self {
            hash_key: [0; 16],
            file_high: FIRST_FILE,
            change_high: 1,
            change_base: 0,
            changed_floor: Timestamp::default(),
        }
    }
}

static ZEROS: Block = [0; crate::engine::BLOCK_BYTES as usize];

impl SuperBlock {
    /// `Ok(None)`: absent. `Err`: damaged, or of a later version.
    pub(crate) fn decode(block: &Block) -> Result<Option<Self>, ()> {
        if *block == ZEROS {
            return Ok(None);
        }
        let (raw, rest) = Raw::read_from_prefix(block).map_err(|_| ())?;
        let fine = raw.magic == MAGIC
            && raw.version.get() == VERSION
            && raw.flags.get() == 0
            && raw.crc.get() == crc(&raw)
            && ZEROS.ends_with(rest);
        if !fine {
            return Err(());
        }
        let changed_floor = Timestamp::new(raw.floor_seconds.get(), raw.floor_nanoseconds.get()).ok_or(())?;
        Ok(Some(Self {
            hash_key: raw.hash_key,
            file_high: raw.file_high.get(),
            change_high: raw.change_high.get(),
            change_base: raw.change_base.get(),
            changed_floor,
        }))
    }

    pub(crate) fn encode(&self) -> Block {
        let mut raw = Raw {
            magic: MAGIC,
            version: VERSION.into(),
            flags: 0.into(),
            hash_key: self.hash_key,
            file_high: self.file_high.into(),
            change_high: self.change_high.into(),
            change_base: self.change_base.into(),
            floor_seconds: self.changed_floor.seconds().into(),
            floor_nanoseconds: self.changed_floor.nanoseconds().into(),
            crc: 0.into(),
        };
        raw.crc = crc(&raw).into();
        let mut block = [0; size_of::<Block>()];
        block[..BYTES].copy_from_slice(raw.as_bytes());
        block
    }
}

fn crc(raw: &Raw) -> u32 {
    super::inode::crc32c(&Raw { crc: 0.into(), ..*raw }.as_bytes()[..BYTES - 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_super_block_is_what_was_stored() {
        let one = SuperBlock {
            hash_key: *b"0123456789abcdef",
            file_high: 1040,
            change_high: 1 << 20,
            change_base: 7,
            changed_floor: Timestamp::new(-5, 999_999_999).unwrap_or_default(),
        };
        let block = one.encode();
        assert_eq!(SuperBlock::decode(&block), Ok(Some(one)));
        assert_eq!(block[..12], *b"WINDLFS1\x01\0\0\0");
        assert_eq!(SuperBlock::decode(&[0; 4096]), Ok(None));
        for at in 0..100 {
            let mut bad = block;
            bad[at] ^= 0x40;
            assert_eq!(SuperBlock::decode(&bad), Err(()), "byte {at}");
        }
    }
}
