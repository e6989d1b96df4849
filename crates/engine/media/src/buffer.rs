//! Page-aligned memory for direct I/O, without unsafe code: a vector of blocks whose type carries the alignment.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes in one block of the pool: the mapping unit and the unit of all media I/O.
pub const BLOCK_BYTES: usize = 4096;

/// 4 KiB block, aligned to 4 KiB as O_DIRECT requires.
#[derive(Clone, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(4096))]
pub struct Block(pub [u8; BLOCK_BYTES]);

const _: () = assert!(size_of::<Block>() == BLOCK_BYTES && align_of::<Block>() == BLOCK_BYTES);

impl Default for Block {
    fn default() -> Self {
        Self([0; BLOCK_BYTES])
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({:02x?}…)", &self.0[..8])
    }
}

/// Buffer of a whole number of aligned blocks.
#[derive(Clone, Default)]
pub struct Buffer(Vec<Block>);

impl Buffer {
    /// Creates a buffer of `blocks` zeroed blocks.
    pub fn zeroed(blocks: usize) -> Self {
        // `FromZeros` takes zeroed memory from the allocator instead of filling it block by block.
        match <Block as zerocopy::FromZeros>::new_vec_zeroed(blocks) {
            Ok(blocks) => Self(blocks),
            Err(_) => Self(vec![Block::default(); blocks]),
        }
    }

    /// Creates a buffer of the given blocks.
    pub fn from_blocks(blocks: Vec<Block>) -> Self {
        Self(blocks)
    }

    /// Resizes the buffer to `blocks` blocks; new blocks are zeroed.
    pub fn resize(&mut self, blocks: usize) {
        self.0.resize(blocks, Block::default());
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.0.len()
    }

    /// The blocks.
    pub fn as_blocks(&self) -> &[Block] {
        &self.0
    }

    /// The blocks, mutable.
    pub fn as_blocks_mut(&mut self) -> &mut [Block] {
        &mut self.0
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::ops::Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::ops::DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.0.as_mut_bytes()
    }
}

impl std::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Buffer({} blocks)", self.0.len())
    }
}
