//! Stock of request buffers for reuse. A new buffer would have to be cleared, and often mapped by
//! the kernel first, which takes longer than copying its content.

use crate::content::data::Data;
use media::{BLOCK_BYTES, Buffer};
use std::cell::RefCell;
use std::sync::{Arc, Mutex, PoisonError};

/// Largest number of blocks kept. When it is exceeded, hosts have changed to other sizes, and the
/// stock is emptied.
const MOST_BLOCKS: usize = (8 << 20) / BLOCK_BYTES;
/// Largest buffer that is kept, in blocks.
const LARGEST: usize = MOST_BLOCKS / 8;

#[derive(Debug)]
struct Kept {
    /// Buffers by their number of blocks.
    by_blocks: Vec<Vec<Buffer>>,
    blocks: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { by_blocks: vec![Vec::new(); LARGEST + 1], blocks: 0 }
    }
}

impl Kept {
    fn give(&mut self, buffer: Buffer) {
        let blocks = buffer.blocks();
        if blocks == 0 || blocks > LARGEST {
            return;
        }
        if self.blocks + blocks > MOST_BLOCKS {
            *self = Self::default();
        }
        self.blocks += blocks;
        self.by_blocks[blocks].push(buffer);
    }
}

/// Buffers that readers have released, perhaps on other threads.
#[derive(Debug, Default)]
struct Returned(Mutex<Vec<Buffer>>);

impl Returned {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Buffer>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Stock of buffers. Only buffers that were lent pass a lock on their way back.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    kept: RefCell<Kept>,
    returned: Arc<Returned>,
}

impl Stock {
    /// Returns a buffer of this many blocks with arbitrary content: the caller must overwrite all
    /// of it.
    pub fn take(&self, blocks: usize) -> Buffer {
        if blocks > LARGEST {
            return Buffer::zeroed(blocks);
        }
        let mut kept = self.kept.borrow_mut();
        if kept.by_blocks[blocks].is_empty() {
            self.returned.change(|returned| returned.drain(..).for_each(|buffer| kept.give(buffer)));
        }
        match kept.by_blocks[blocks].pop() {
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

    /// Returns a buffer to the stock.
    pub fn give(&self, buffer: Buffer) {
        self.kept.borrow_mut().give(buffer);
    }

    /// Wraps the buffer as bytes; it returns to the stock with the last reference.
    pub fn lend(&self, buffer: Buffer) -> bytes::Bytes {
        if buffer.blocks() > LARGEST {
            return bytes::Bytes::from_owner(buffer);
        }
        bytes::Bytes::from_owner(Lent { buffer, returned: self.returned.clone() })
    }
}

struct Lent {
    buffer: Buffer,
    returned: Arc<Returned>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.returned.change(|returned| {
            // More than the stock keeps is only there while it takes none of this size.
            let blocks: usize = returned.iter().map(Buffer::blocks).sum();
            if returned.len() < MOST_RETURNED && blocks + buffer.blocks() <= MOST_BLOCKS {
                returned.push(buffer);
            }
        });
    }
}

/// Largest number of released buffers that wait for the stock.
const MOST_RETURNED: usize = 64;

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
            assert!(stock.kept.borrow().blocks <= MOST_BLOCKS);
            (1..=MOST_BLOCKS).for_each(|blocks| drop(stock.lend(Buffer::zeroed(blocks))));
            assert!(
                stock.returned.change(|returned| returned.iter().map(Buffer::blocks).sum::<usize>()) <= MOST_BLOCKS
            );
        }
    }
}
