//! Space of disks: what they use, and operations that free or fill it: punching zeros, discarding
//! ranges, zeroing and inflating disks.

use crate::datastore::Datastore;
use crate::disk::VirtualDisk;
use crate::error::DatastoreError;
use crate::format::{Allocation, FileId, Pointer};
use crate::records::{DiskFormat, FileInfo};
use crate::sector::SECTOR_BYTES;
use bytes::Bytes;
use data_mover::{Device, Moved, Reason};
use std::collections::BTreeSet;

/// Space that a disk uses, as VMware's extended statistics count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskSpace {
    /// Size that the guest sees, in bytes.
    pub capacity_bytes: u64,
    /// Blocks with content that the guest sees, of this disk and of the disks below it, in bytes.
    pub used_bytes: u64,
    /// Blocks that would be free without this disk, in bytes; 0 while other disks are based on it.
    pub unshared_bytes: u64,
}

/// Blocks handled in one step.
const STEP_BLOCKS: u32 = 256;
/// Bytes of zeros per write to a redo disk.
const ZEROS_BYTES: u64 = 1 << 20;

impl<D: Device> Datastore<D> {
    /// A file and the space that it uses. Takes no lock: the numbers of a disk in use may be
    /// slightly old.
    pub async fn stat(&self, name: &str) -> Result<(FileInfo, DiskSpace), DatastoreError> {
        let records = self.readable_records().await?;
        let record = records.live(name)?;
        let file = records.files().into_iter().find(|file| file.name == name);
        let file = file.ok_or_else(|| DatastoreError::NoSuchFile(name.into()))?;
        let own = FileId { record: record.number, generation: record.value.generation.get() };
        let mut chain = vec![own];
        let mut parent = record.value.parent();
        while let Some(id) = parent.filter(|id| !chain.contains(id)) {
            chain.push(id);
            parent = match (records.get(id.record), &records.damaged) {
                (Some(below), _) => below.value.parent(),
                (None, Some(damaged)) => return Err(damaged.clone()),
                (None, None) => None,
            };
        }
        let blocks = self.blocks_for(file.size);
        let (mut seen, mut unshared) = (BTreeSet::new(), 0_u64);
        for (_, allocation) in self.allocations().await? {
            let Some(owner) = chain.iter().find(|id| allocation.is_of(**id)) else { continue };
            if allocation.index < Allocation::POINTER_BLOCK && allocation.index < blocks {
                seen.insert(allocation.index);
                unshared += u64::from(*owner == own);
            }
        }
        if !records.children(own).is_empty() {
            unshared = 0;
        }
        let block_bytes = self.store.geometry.block_bytes();
        let space = DiskSpace {
            capacity_bytes: file.size,
            used_bytes: seen.len() as u64 * block_bytes,
            unshared_bytes: unshared * block_bytes,
        };
        Ok((file, space))
    }
}

impl<D: Device> VirtualDisk<D> {
    /// Frees the blocks of a thin disk that hold only zeros; the host reads all blocks to find
    /// them. No task may write meanwhile. `progress` receives bytes read. Returns the bytes freed.
    ///
    /// Errors: [`DatastoreError::Unsuitable`] for other formats, which keep their blocks.
    pub async fn punch_zeros(&self, progress: &dyn Fn(u64)) -> Result<u64, DatastoreError> {
        if self.format() != DiskFormat::Thin {
            return Err(DatastoreError::Unsuitable("only a thin disk can free blocks of zeros".into()));
        }
        let _all = self.lock_all_blocks().await;
        if self.file.lock().await.is_none() {
            return Err(Self::read_only_error());
        }
        let (on, store) = (&self.on, &self.on.store);
        let block_bytes = store.geometry.block_bytes();
        let mut freed = 0;
        let end = on.blocks_for(self.size());
        for first in (0..end).step_by(STEP_BLOCKS as usize) {
            let mut empty = Vec::new();
            for index in first..end.min(first + STEP_BLOCKS) {
                if store.mover.is_interrupted() {
                    return Err(data_mover::DeviceError::Interrupted.into());
                }
                if let Pointer::Data(block) = self.map.get(on, index).await? {
                    let whole = store.extent(block, 0, store.geometry.block_sectors.into());
                    if store.read(whole).await?.iter().all(|byte| *byte == 0) {
                        empty.push((index, block));
                    }
                }
                progress(block_bytes);
            }
            freed += self.free_blocks_of(&empty, Pointer::Hole).await?;
        }
        Ok(freed)
    }

    /// Frees blocks of the disk, also on the array, and sets their pointers to `pointer`. Returns
    /// the bytes freed.
    pub(crate) async fn free_blocks_of(&self, blocks: &[(u32, u32)], pointer: Pointer) -> Result<u64, DatastoreError> {
        if blocks.is_empty() {
            return Ok(0);
        }
        let changes: Vec<_> = blocks.iter().map(|(index, _)| (*index, pointer)).collect();
        self.map.set(&self.on, &changes).await?;
        self.on.free(self.map.file, blocks).await?;
        Ok(blocks.len() as u64 * self.on.store.geometry.block_bytes())
    }

    /// Makes a range whose data may be lost read as zeros, and unmaps it on the array. A thin disk
    /// frees its blocks; a thick one keeps them, to be zeroed before the next write. Parts of
    /// blocks are zeroed. No task may write to the range meanwhile. Returns the bytes freed in the
    /// datastore or, for a thick disk, on the array.
    pub async fn discard(&self, offset: u64, bytes: u64, progress: &dyn Fn(u64)) -> Result<u64, DatastoreError> {
        self.check_range(offset, bytes)?;
        if self.format() == DiskFormat::Redo {
            self.write_zeros(offset, bytes, progress).await?;
            return Ok(0);
        }
        let (on, store) = (&self.on, &self.on.store);
        let block_bytes = store.geometry.block_bytes();
        let touched = on.blocks_for(offset - offset % block_bytes)..on.blocks_for(offset + bytes);
        let _mine = self.lock_blocks(touched).await;
        if self.file.lock().await.is_none() {
            return Err(Self::read_only_error());
        }
        let mut freed = 0;
        let (mut whole, mut at) = (Vec::new(), offset);
        let end = offset + bytes;
        while at < end {
            let (index, within) = ((at / block_bytes) as u32, at % block_bytes);
            let length = (block_bytes - within).min(end - at);
            let pointer = self.map.get(on, index).await?;
            // The last block may reach beyond the end of the disk.
            let all = within == 0 && (length == block_bytes || at + length == self.size());
            match pointer {
                Pointer::Data(block) if all => whole.push((index, block)),
                Pointer::Data(block) => {
                    let part = store.extent(block, within / SECTOR_BYTES as u64, length / SECTOR_BYTES as u64);
                    store.zero(part, true, &|_| ()).await?;
                }
                Pointer::Hole | Pointer::ToBeZeroed(_) => {}
            }
            at += length;
            progress(length);
            if whole.len() >= STEP_BLOCKS as usize || at >= end {
                freed += self.discard_blocks(&std::mem::take(&mut whole)).await?;
            }
        }
        Ok(freed)
    }

    async fn discard_blocks(&self, blocks: &[(u32, u32)]) -> Result<u64, DatastoreError> {
        if self.format() == DiskFormat::Thin {
            return self.free_blocks_of(blocks, Pointer::Hole).await;
        }
        let store = &self.on.store;
        let changes: Vec<_> = blocks.iter().map(|(index, block)| (*index, Pointer::ToBeZeroed(*block))).collect();
        self.map.set(&self.on, &changes).await?;
        Ok(store.mover.unmap(&store.device, &self.extents(blocks)).await?)
    }

    /// Makes the whole disk read as zeros: a thin one loses its blocks, a thick one is zeroed, by
    /// the array if it can. No task may write meanwhile. `progress` receives bytes done.
    pub async fn zero(&self, progress: &dyn Fn(u64)) -> Result<(), DatastoreError> {
        match self.format() {
            DiskFormat::Thin => self.discard(0, self.size(), progress).await.map(drop),
            DiskFormat::Redo => self.write_zeros(0, self.size(), progress).await,
            DiskFormat::ZeroedThick | DiskFormat::EagerZeroedThick => {
                let _all = self.lock_all_blocks().await;
                self.zero_blocks(|_| true, progress).await.map(drop)
            }
        }
    }

    async fn write_zeros(&self, offset: u64, bytes: u64, progress: &dyn Fn(u64)) -> Result<(), DatastoreError> {
        let zeros = Bytes::from(vec![0; usize::try_from(ZEROS_BYTES).unwrap_or(0)]);
        let mut at = offset;
        while at < offset + bytes {
            if self.on.store.mover.is_interrupted() {
                return Err(data_mover::DeviceError::Interrupted.into());
            }
            let length = ZEROS_BYTES.min(offset + bytes - at);
            self.write(at, zeros.slice(..usize::try_from(length).unwrap_or(0))).await?;
            self.on.store.mover.zeroed_by_host(Reason::BasedOnAnother, length);
            at += length;
            progress(length);
        }
        Ok(())
    }

    /// Inflates the disk: allocates and zeroes every missing block, so that it is eager zeroed
    /// thick from then on. Its content stays. No task may write meanwhile. `progress` receives
    /// bytes done.
    ///
    /// Errors: [`DatastoreError::Full`]; blocks allocated until then stay.
    pub async fn inflate(&self, progress: &dyn Fn(u64)) -> Result<(), DatastoreError> {
        if self.format() == DiskFormat::Redo {
            return Err(DatastoreError::Unsuitable(
                "the format of a disk based on another one cannot change; clone it".into(),
            ));
        }
        let _all = self.lock_all_blocks().await;
        self.zero_blocks(|pointer| !matches!(pointer, Pointer::Data(_)), progress).await?;
        let mut file = self.file.lock().await;
        let file = file.as_mut().ok_or_else(Self::read_only_error)?;
        self.on.change(file, |file| file.format = DiskFormat::EagerZeroedThick.pack()).await?;
        self.format.set(DiskFormat::EagerZeroedThick);
        Ok(())
    }

    /// Zeroes the blocks whose pointers `wanted` selects; allocates those that are holes.
    async fn zero_blocks(
        &self,
        wanted: impl Fn(Pointer) -> bool,
        progress: &dyn Fn(u64),
    ) -> Result<Moved, DatastoreError> {
        if self.file.lock().await.is_none() {
            return Err(Self::read_only_error());
        }
        let (on, store) = (&self.on, &self.on.store);
        let block_bytes = store.geometry.block_bytes();
        let end = on.blocks_for(self.size());
        let mut moved = Moved::default();
        for first in (0..end).step_by(STEP_BLOCKS as usize) {
            let (mut holes, mut blocks) = (Vec::new(), Vec::new());
            for index in first..end.min(first + STEP_BLOCKS) {
                let pointer = self.map.get(on, index).await?;
                match pointer.block() {
                    _ if !wanted(pointer) => progress(block_bytes),
                    Some(block) => blocks.push((index, block)),
                    None => holes.push(index),
                }
            }
            let claimed = on.allocate(self.map.file, &holes).await?;
            let claimed: Vec<_> = holes.iter().copied().zip(claimed).collect();
            blocks.extend(&claimed);
            let zeroed = async {
                for extent in self.extents(&blocks) {
                    // Without UNMAP: the space must stay allocated.
                    moved.add(&store.mover.zero(&store.device, extent, false, progress).await?);
                }
                Ok::<_, DatastoreError>(())
            };
            if let Err(error) = zeroed.await {
                on.free(self.map.file, &claimed).await?;
                return Err(error);
            }
            let changes: Vec<_> = blocks.iter().map(|(index, block)| (*index, Pointer::Data(*block))).collect();
            self.map.set(on, &changes).await?;
        }
        Ok(moved)
    }
}
