//! Zero detection: zeros of a disk are unmapped on the array, as `vmkfstools -K` does with whole
//! blocks; here in pieces as small as the array takes.

use crate::disk::VirtualDisk;
use crate::error::DatastoreError;
use crate::format::Pointer;
use crate::sector::SECTOR_BYTES;
use data_mover::{Device, Extent};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use std::cell::Cell;

/// Smallest piece, in sectors: 4 KiB.
const GRAIN: u64 = 8;
/// Bytes per READ, and number of READs in flight.
const STEP_BYTES: u64 = 512 << 10;
const DEPTH: usize = 8;

static ZEROS: [u8; SECTOR_BYTES] = [0; SECTOR_BYTES];

impl<D: Device> VirtualDisk<D> {
    /// Reads all blocks that the disk itself owns, and unmaps zeros in pieces of 4 KiB or the
    /// unit's granularity, whichever is larger. Returns the bytes unmapped; `progress` receives
    /// bytes read.
    ///
    /// Requires a logical unit on which unmapped blocks read as zeros (LBPRZ), and no writes to the
    /// disk meanwhile: a write between the READ and the UNMAP would be lost.
    pub async fn unmap_zeros(&self, progress: &dyn Fn(u64)) -> Result<u64, DatastoreError> {
        let unmapped = Cell::new(0);
        let sectors = u64::from(self.on.store.geometry.block_sectors);
        let step = (STEP_BYTES / SECTOR_BYTES as u64).min(sectors);
        let pieces = (0..self.on.blocks_for(self.size()))
            .flat_map(|index| (0..sectors / step).map(move |piece| (index, piece * step)));
        let work = stream::iter(pieces).map(Ok::<_, DatastoreError>);
        work.try_for_each_concurrent(DEPTH, |(index, from)| {
            let unmapped = &unmapped;
            async move {
                if let Pointer::Data(block) = self.map.get(&self.on, index).await? {
                    let zeros = self.unmap_zeros_of(self.on.store.extent(block, from, step)).await?;
                    unmapped.set(unmapped.get() + zeros);
                }
                progress(step * SECTOR_BYTES as u64);
                Ok(())
            }
        })
        .await?;
        Ok(unmapped.get())
    }

    async fn unmap_zeros_of(&self, extent: Extent) -> Result<u64, DatastoreError> {
        let store = &self.on.store;
        let data = store.read(extent).await?;
        let grain = GRAIN.max(store.device.identity().limits.unmap_granularity.into());
        let mut zeros: Vec<Extent> = Vec::new();
        // Pieces are aligned to the unit's granularity.
        let mut lba = extent.lba.next_multiple_of(grain);
        while lba + grain <= extent.lba + extent.blocks {
            let from = usize::try_from(lba - extent.lba).unwrap_or(usize::MAX).saturating_mul(SECTOR_BYTES);
            let length = usize::try_from(grain).unwrap_or(usize::MAX).saturating_mul(SECTOR_BYTES);
            let piece = data.get(from..from.saturating_add(length)).unwrap_or_default();
            if !piece.is_empty() && piece.chunks(SECTOR_BYTES).all(|sector| sector == ZEROS) {
                match zeros.last_mut() {
                    Some(last) if last.lba + last.blocks == lba => last.blocks += grain,
                    _ => zeros.push(Extent { lba, blocks: grain }),
                }
            }
            lba += grain;
        }
        Ok(store.mover.unmap(&store.device, &zeros).await?)
    }
}
