//! Stock of request buffers for reuse. A new buffer would have to be cleared, and often mapped by
//! the kernel first, which takes longer than copying its content.

use crate::content::blocks::Data;
use media::{BLOCK_BYTES, Buffer};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Largest number of blocks kept. When it is exceeded, hosts have changed to other sizes, and the
/// stock is emptied.
const MOST_BLOCKS: usize = (8 << 20) / BLOCK_BYTES;

#[derive(Debug, Default)]
struct Kept {
    by_blocks: HashMap<usize, Vec<Buffer>>,
    blocks: usize,
}

/// Stock of buffers. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stock(Arc<Mutex<Kept>>);

impl Stock {
    /// Returns a buffer of this many blocks with arbitrary content: the caller must overwrite all
    /// of it.
    pub fn take(&self, blocks: usize) -> Buffer {
        let mut kept = self.kept();
        match kept.by_blocks.get_mut(&blocks).and_then(Vec::pop) {
            Some(buffer) => {
                kept.blocks -= blocks;
                buffer
            }
            None => Buffer::zeroed(blocks),
        }
    }

    /// Returns a buffer with copies of these blocks in order.
    pub fn copy_of<'a>(&self, blocks: impl ExactSizeIterator<Item = &'a Data>) -> Buffer {
        let mut buffer = self.take(blocks.len());
        for (place, block) in buffer.as_blocks_mut().iter_mut().zip(blocks) {
            place.0.copy_from_slice(&block[..]);
        }
        buffer
    }

    /// Returns a buffer with a copy of whole blocks of content.
    pub fn copy_of_bytes(&self, content: &[u8]) -> Buffer {
        let mut buffer = self.take(content.len() / BLOCK_BYTES);
        buffer.copy_from_slice(content);
        buffer
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a buffer to the stock.
    pub fn give(&self, buffer: Buffer) {
        let blocks = buffer.blocks();
        if blocks == 0 || blocks > MOST_BLOCKS / 8 {
            return;
        }
        let mut kept = self.kept();
        if kept.blocks + blocks > MOST_BLOCKS {
            *kept = Kept::default();
        }
        kept.blocks += blocks;
        kept.by_blocks.entry(blocks).or_default().push(buffer);
    }

    /// Wraps the buffer as bytes; it returns to the stock with the last reference.
    pub fn lend(&self, buffer: Buffer) -> bytes::Bytes {
        bytes::Bytes::from_owner(Lent { buffer, stock: self.clone() })
    }
}

struct Lent {
    buffer: Buffer,
    stock: Stock,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.stock.give(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_after_its_last_reader() {
        let stock = Stock::default();
        let mut buffer = stock.take(2);
        buffer.fill(7);
        let address = buffer.as_ptr();
        let content = stock.lend(buffer);
        let part = content.slice(4096..);
        drop(content);
        assert_ne!(stock.take(2).as_ptr(), address);
        assert!(part.iter().all(|byte| *byte == 7));
        drop(part);
        assert_eq!(stock.take(2).as_ptr(), address);
    }

    #[test]
    fn a_stock_is_bounded() {
        let stock = Stock::default();
        for _ in 0..3 {
            let taken: Vec<_> = (0..MOST_BLOCKS).map(|_| stock.take(1)).collect();
            taken.into_iter().for_each(|buffer| stock.give(buffer));
            (1..=MOST_BLOCKS).for_each(|blocks| stock.give(Buffer::zeroed(blocks)));
            assert!(stock.kept().blocks <= MOST_BLOCKS);
        }
    }
}
