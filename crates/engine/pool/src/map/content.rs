//! Content of blocks in memory, and the blocks of large writes, whose content goes straight to its
//! place.

use crate::checksum::Crc32c;
use crate::content::data::Data;
use crate::map::Map;
use crate::map::page::Entry;
use crate::space::{FreeRun, Stream};
use media::{BLOCK_BYTES, BlockAddress};

impl Map {
    /// Prepares the cache for this number of clean blocks, and for the kind of medium below it.
    pub fn prepare_content(&mut self, blocks: usize, medium_is_memory: bool) {
        self.content.prepare(blocks, medium_is_memory);
    }

    /// Returns the content of a mapped block if it is in memory; otherwise notes it in `need`.
    pub fn content_of(&mut self, entry: &Entry) -> Option<Data> {
        let content = self.content.get(entry.address(), entry.crc());
        if content.is_none() {
            self.need.blocks.push((entry.address(), entry.crc()));
        }
        content
    }

    /// Returns the content of a block if it is in memory.
    #[inline]
    pub fn content_at(&mut self, address: BlockAddress, crc: Crc32c) -> Option<Data> {
        self.content.get(address, crc)
    }

    /// Copies the content of one block, for a write.
    pub fn copy_of(&mut self, content: &[u8; BLOCK_BYTES]) -> Data {
        self.content.copy_of(content)
    }

    /// Caches content that operations wait for, which was read from its place.
    pub fn content_arrived(&mut self, address: BlockAddress, content: &[u8; BLOCK_BYTES], crc: Crc32c) {
        self.content.cache(address, content, crc);
    }

    /// Caches a block that a host has read. Returns the cached copy, or `None` if the block was not cached.
    pub fn content_read(&mut self, address: BlockAddress, content: &[u8; BLOCK_BYTES], crc: Crc32c) -> Option<Data> {
        self.content.cache_read(address, content, crc)
    }

    /// Takes up to `most` consecutive free blocks for a large write. They are kept for it until
    /// `assign_write` maps them or [`Self::give_back`] frees them.
    pub fn take_run(&mut self, most: u64) -> Option<FreeRun> {
        let run = self.space.allocate_run(Stream::Large, most)?;
        self.content.place(run.address, run.blocks);
        for offset in 0..run.blocks {
            self.space.reserve(run.address + offset);
        }
        Some(run)
    }

    /// Takes a free block for one of the pool's own streams, and keeps it as [`Self::take_run`]
    /// does.
    pub fn take_block(&mut self) -> Option<BlockAddress> {
        let address = self.space.allocate(Stream::Metadata)?;
        self.space.reserve(address);
        Some(address)
    }

    /// Gives back a block of a large write that has no effect.
    pub fn give_back(&mut self, address: BlockAddress) {
        self.space.unreserve(address, true);
    }

    /// Begins to destage up to `limit` blocks whose records below `durable` are durable. The flag is true
    /// if none was found yet.
    pub fn begin_destage(&mut self, durable: u64, limit: usize) -> (Vec<(BlockAddress, Data)>, bool) {
        self.content.begin_destage(durable, limit)
    }

    /// Takes up to `limit` blocks that the checkpoint in flight names and that are not yet at their
    /// places, each with the record of its content, for [`Self::begin_destage_of`]. The flag is true if
    /// there may be more.
    pub fn take_named(&mut self, limit: usize) -> (Vec<(BlockAddress, Data, u64)>, bool) {
        self.content.take_named(limit)
    }

    /// Begins to destage content captured earlier from record `sequence`; false if that is not
    /// needed or not possible now.
    pub fn begin_destage_of(&mut self, address: BlockAddress, sequence: u64) -> bool {
        self.content.begin_destage_of(address, sequence)
    }

    /// Begins or ends a replay.
    pub fn set_replaying(&mut self, replaying: bool) {
        self.content.set_replaying(replaying);
        self.reclaims_again = replaying || !self.drops.queue().is_empty();
    }

    /// Ends a destage: the content in flight is at its place.
    pub fn end_destage(&mut self, address: BlockAddress) {
        self.content.end_destage(address);
    }
}
