//! Writes to a virtual disk. Most go straight to their block. The first write to a block allocates
//! it, and fills the rest of the block: with zeros, or with the content of the disk below. No
//! pointer leads to the block before that is on the logical unit, so a crash shows nothing that was
//! not written. One task at a time does this for a block, so that no acknowledged data is zeroed.
//!
//! A block that is written whole needs no filling. [`crate::ahead`] chooses blocks to zero before
//! they are written.

use crate::allocation::runs;
use crate::disk::{Content, VirtualDisk};
use crate::error::DatastoreError;
use crate::format::Pointer;
use crate::sector::SECTOR_BYTES;
use bytes::Bytes;
use data_mover::{Device, Extent, Moved};
use futures_util::future;
use std::ops::Range;

impl<D: Device> VirtualDisk<D> {
    /// Writes whole sectors. Await it to the end: commands in flight of a dropped write may land
    /// after later writes.
    ///
    /// Errors: [`DatastoreError::Full`] and [`data_mover::DeviceError::Full`] leave each block
    /// either written or as it was.
    pub async fn write(&self, offset: u64, data: Bytes) -> Result<(), DatastoreError> {
        self.check_range(offset, data.len() as u64)?;
        let _guest = self.on.store.mover.guest_io();
        let block_bytes = self.on.store.geometry.block_bytes();
        let mut rest = data;
        let mut at = offset;
        while !rest.is_empty() {
            let room = usize::try_from(block_bytes - at % block_bytes).unwrap_or(usize::MAX);
            let piece = rest.split_to(room.min(rest.len()));
            let length = piece.len() as u64;
            self.write_in_block(at, piece).await?;
            at += length;
        }
        Ok(())
    }

    async fn write_in_block(&self, offset: u64, piece: Bytes) -> Result<(), DatastoreError> {
        let store = &self.on.store;
        let block_bytes = store.geometry.block_bytes();
        let index = u32::try_from(offset / block_bytes).unwrap_or(u32::MAX);
        let sector = offset % block_bytes / SECTOR_BYTES as u64;
        let pointer = self.map.get(&self.on, index).await?;
        let to_be_zeroed = matches!(pointer, Pointer::ToBeZeroed(_)) && (piece.len() as u64) < block_bytes;
        let ahead = match self.zeroes_by_array() {
            true => self.ahead.reached(index, to_be_zeroed, self.on.blocks_for(self.size())),
            false => None,
        };
        let written = async {
            match pointer {
                Pointer::Data(block) => store.write(store.extent(block, sector, 0).lba, piece).await,
                Pointer::ToBeZeroed(_) | Pointer::Hole => self.first_write(index, sector, piece).await,
            }
        };
        match ahead {
            None => written.await,
            Some(range) => future::join(written, self.zero_ahead(range)).await.0,
        }
    }

    /// Writes to a block that had no content of its own when the write began.
    async fn first_write(&self, index: u32, sector: u64, piece: Bytes) -> Result<(), DatastoreError> {
        let store = &self.on.store;
        let whole = piece.len() as u64 == store.geometry.block_bytes();
        let _mine = self.lock_blocks(index..index.saturating_add(1)).await;
        if self.file.lock().await.is_none() {
            return Err(Self::read_only_error());
        }
        match self.map.get(&self.on, index).await? {
            // Another task was first.
            Pointer::Data(block) => store.write(store.extent(block, sector, 0).lba, piece).await,
            Pointer::ToBeZeroed(block) if whole => {
                store.write(store.extent(block, 0, 0).lba, piece).await?;
                self.map.set(&self.on, &[(index, Pointer::Data(block))]).await
            }
            Pointer::ToBeZeroed(block) => {
                self.zero_new(&[(index, block)]).await?;
                // The zeros are there: if a crash loses one of these two, the block still shows no
                // old data.
                let marked = [(index, Pointer::Data(block))];
                let (written, marked) = future::join(
                    store.write(store.extent(block, sector, 0).lba, piece),
                    self.map.set(&self.on, &marked),
                )
                .await;
                written.and(marked)
            }
            Pointer::Hole => {
                let blocks = self.on.allocate(self.map.file, &[index]).await?;
                let block = *blocks.first().ok_or(DatastoreError::Full)?;
                if let Err(error) = self.fill_hole(index, block, sector, piece).await {
                    self.on.free(self.map.file, &[(index, block)]).await?;
                    return Err(error);
                }
                self.map.set(&self.on, &[(index, Pointer::Data(block))]).await
            }
        }
    }

    /// Fills a block that is not pointed to yet: content of the disk below, or zeros, and then the
    /// piece.
    async fn fill_hole(&self, index: u32, block: u32, sector: u64, piece: Bytes) -> Result<(), DatastoreError> {
        let store = &self.on.store;
        let block_bytes = store.geometry.block_bytes();
        if (piece.len() as u64) < block_bytes {
            match self.locate_below(u64::from(index) * block_bytes, block_bytes).await?.0 {
                Content::Zeros => drop(self.zero_new(&[(index, block)]).await?),
                Content::Sectors(from) => {
                    let whole = store.extent(block, 0, store.geometry.block_sectors.into());
                    let (from, to) = ((&store.device, from.lba), (&store.device, whole.lba));
                    store.mover.copy(from, to, whole.blocks, &|_| ()).await?;
                }
            }
        }
        store.write(store.extent(block, sector, 0).lba, piece).await
    }

    /// Whether zeroing needs neither the host nor the wire.
    fn zeroes_by_array(&self) -> bool {
        let store = &self.on.store;
        store.mover.settings().hardware_accelerated_init && store.device.identity().limits.write_same > 0
    }

    /// Zeroes those blocks of the range that are still to be zeroed. If that fails, or the host has
    /// to write the zeros, they are left for their first write, which then gets any error.
    async fn zero_ahead(&self, range: Range<u32>) {
        let store = &self.on.store;
        let begun = store.now();
        let blocks = range.end - range.start;
        match self.zero_range(range).await {
            Ok(moved) if moved.host_bytes() == 0 => self.ahead.took(blocks, store.now().saturating_sub(begun)),
            Ok(_) | Err(_) => self.ahead.stop(),
        }
    }

    async fn zero_range(&self, range: Range<u32>) -> Result<Moved, DatastoreError> {
        let _mine = self.lock_blocks(range.clone()).await;
        let mut blocks = Vec::new();
        for index in range {
            if let Pointer::ToBeZeroed(block) = self.map.get(&self.on, index).await? {
                blocks.push((index, block));
            }
        }
        let moved = self.zero_new(&blocks).await?;
        let marked: Vec<_> = blocks.into_iter().map(|(index, block)| (index, Pointer::Data(block))).collect();
        self.map.set(&self.on, &marked).await?;
        Ok(moved)
    }

    /// Zeroes blocks whose data may be lost. The caller has them locked.
    async fn zero_new(&self, blocks: &[(u32, u32)]) -> Result<Moved, DatastoreError> {
        let store = &self.on.store;
        let mut moved = Moved::default();
        for extent in self.extents(blocks) {
            moved.add(&store.mover.zero(&store.device, extent, true, &|_| ()).await?);
        }
        Ok(moved)
    }

    /// Runs of these blocks on the logical unit; `blocks` has (number in the file, block).
    pub(crate) fn extents(&self, blocks: &[(u32, u32)]) -> Vec<Extent> {
        let store = &self.on.store;
        let each = u64::from(store.geometry.block_sectors);
        runs(blocks.iter().map(|(_, block)| *block))
            .map(|(first, count)| store.extent(first, 0, u64::from(count) * each))
            .collect()
    }
}
