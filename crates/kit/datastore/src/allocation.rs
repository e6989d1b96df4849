//! The allocation table: for each block, the file that owns it and its place in that file. A claim
//! is an atomic update of one sector, so hosts need no lock to allocate. Each host begins its
//! search elsewhere.

use crate::datastore::Datastore;
use crate::error::DatastoreError;
use crate::format::{ALLOCATIONS, Allocation, Allocations, FileId};
use crate::sector::Loaded;
use data_mover::Device;
use futures_util::future;
use std::collections::BTreeMap;

/// Sectors of the table read at once.
const STEP: u32 = 32;

impl<D: Device> Datastore<D> {
    /// Claims a block for each of these numbers in the file; the claimed blocks ascend from where
    /// the search begins. A claimed block without a pointer is found again when the lock of the
    /// file is released or taken over.
    pub(crate) async fn allocate(&self, file: FileId, indexes: &[u32]) -> Result<Vec<u32>, DatastoreError> {
        let store = &self.store;
        // Without this lock, tasks of one host would only collide in the same sectors.
        let _one = self.allocating.lock().await;
        let sectors = store.geometry.allocation_sectors();
        let mut found = vec![None; indexes.len()];
        // Indexes into `indexes` that have no block yet.
        let mut wanted: Vec<usize> = (0..indexes.len()).collect();
        let start = self.allocate_at.get().min(sectors - 1);
        let mut seen = 0;
        while !wanted.is_empty() {
            if seen >= sectors {
                let taken = indexes.iter().zip(&found).filter_map(|(index, block)| Some((*index, (*block)?)));
                self.free(file, &taken.collect::<Vec<_>>()).await?;
                return Err(DatastoreError::Full);
            }
            let at = (start + seen) % sectors;
            let count = STEP.min(sectors - at).min(sectors - seen);
            let run = store.load_run::<Allocations>(store.geometry.allocation(at), count.into()).await?;
            // Claims are computed for the sectors in order, then all sectors are swapped
            // concurrently, each by its own atomic update.
            let mut claims = Vec::new();
            let mut left = &wanted[..];
            for (sector, loaded) in (at..).zip(run) {
                let numbers: Vec<u32> = left.iter().filter_map(|place| indexes.get(*place)).copied().collect();
                let Some((value, blocks)) = claim(&loaded, sector, store.geometry.blocks, file, &numbers) else {
                    continue;
                };
                let (places, rest) = left.split_at(blocks.len().min(left.len()));
                left = rest;
                claims.push((sector, loaded, value, places.iter().copied().zip(blocks).collect::<Vec<_>>()));
            }
            let swaps = claims.iter_mut().map(|(_, loaded, value, _)| store.swap(loaded, *value));
            let swapped = future::join_all(swaps).await;
            let mut missed = false;
            let mut failed = None;
            for ((sector, .., blocks), swapped) in claims.iter().zip(swapped) {
                match swapped {
                    Ok(true) => {
                        for (place, block) in blocks {
                            if let Some(slot) = found.get_mut(*place) {
                                *slot = Some(*block);
                            }
                        }
                        self.allocate_at.set(*sector);
                    }
                    // Another host changed the sector meanwhile.
                    Ok(false) => missed = true,
                    Err(error) => failed = Some(error),
                }
            }
            if let Some(error) = failed {
                self.mark_untidy(file);
                return Err(error);
            }
            wanted.retain(|place| found.get(*place).is_some_and(Option::is_none));
            if !missed {
                seen += count;
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Frees blocks, given as (number in the file, block). No pointer may lead to them any more.
    pub(crate) async fn free(&self, file: FileId, blocks: &[(u32, u32)]) -> Result<(), DatastoreError> {
        let store = &self.store;
        let extents: Vec<_> = runs(blocks.iter().map(|(_, block)| *block))
            .map(|(first, count)| store.extent(first, 0, u64::from(count) * u64::from(store.geometry.block_sectors)))
            .collect();
        // The blocks are freed here even if the array refuses the UNMAP.
        store.mover.unmap_as_hint(&store.device, &extents).await?;
        let mut by_sector: BTreeMap<u32, Vec<(usize, u32)>> = BTreeMap::new();
        for (index, block) in blocks {
            let entry = *block as usize % ALLOCATIONS;
            by_sector.entry(block / ALLOCATIONS as u32).or_default().push((entry, *index));
        }
        for (sector, entries) in by_sector {
            let lba = store.geometry.allocation(sector);
            loop {
                let mut loaded = store.load::<Allocations>(lba).await?;
                let mut value = loaded.value;
                for (entry, index) in &entries {
                    let Some(slot) = value.entries.get_mut(*entry) else { continue };
                    if slot.get() != Allocation::of(file, *index).pack() {
                        return Err(DatastoreError::Damaged {
                            lba,
                            what: "the block to be freed belongs to another file",
                        });
                    }
                    *slot = 0.into();
                }
                if store.swap(&mut loaded, value).await? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Blocks of a file as (number in the file, block), in ascending order of blocks.
    pub(crate) async fn blocks_of(&self, file: FileId) -> Result<Vec<(u32, u32)>, DatastoreError> {
        let all = self.allocations().await?;
        let mine = all.into_iter().filter(|(_, allocation)| allocation.is_of(file));
        Ok(mine.map(|(block, allocation)| (allocation.index, block)).collect())
    }

    /// All allocated blocks with their allocations.
    pub(crate) async fn allocations(&self) -> Result<Vec<(u32, Allocation)>, DatastoreError> {
        let geometry = self.store.geometry;
        let run =
            self.store.load_run::<Allocations>(geometry.allocation(0), geometry.allocation_sectors().into()).await?;
        let entries = run.iter().flat_map(|loaded| loaded.value.entries.iter());
        Ok((0..geometry.blocks)
            .zip(entries)
            .filter_map(|(block, entry)| Some((block, Allocation::unpack(entry.get())?)))
            .collect())
    }

    /// Number of blocks that no file owns.
    pub async fn free_blocks(&self) -> Result<u64, DatastoreError> {
        Ok(u64::from(self.store.geometry.blocks) - self.allocations().await?.len() as u64)
    }

    /// Claims every free block of a sector of the table as blocks 0, 1, 2, … of a file. Returns
    /// (number in the file, block).
    pub(crate) async fn claim_free(&self, file: FileId, sector: u32) -> Result<Vec<(u32, u32)>, DatastoreError> {
        let store = &self.store;
        let indexes: Vec<u32> = (0..ALLOCATIONS as u32).collect();
        loop {
            let mut loaded = store.load::<Allocations>(store.geometry.allocation(sector)).await?;
            let Some((value, blocks)) = claim(&loaded, sector, store.geometry.blocks, file, &indexes) else {
                return Ok(Vec::new());
            };
            if store.swap(&mut loaded, value).await? {
                return Ok(pair(&indexes, &blocks));
            }
        }
    }
}

/// Claims free blocks of a sector, at most one for each wanted number. `None` when none is free.
fn claim(
    loaded: &Loaded<Allocations>,
    sector: u32,
    blocks: u32,
    file: FileId,
    wanted: &[u32],
) -> Option<(Allocations, Vec<u32>)> {
    let mut value = loaded.value;
    let first = sector * ALLOCATIONS as u32;
    let free = (first..blocks).zip(value.entries.iter_mut()).filter(|(_, entry)| entry.get() == 0);
    let claimed: Vec<u32> = free
        .zip(wanted)
        .map(|((block, entry), index)| {
            *entry = Allocation::of(file, *index).pack().into();
            block
        })
        .collect();
    (!claimed.is_empty()).then_some((value, claimed))
}

fn pair(indexes: &[u32], blocks: &[u32]) -> Vec<(u32, u32)> {
    indexes.iter().copied().zip(blocks.iter().copied()).collect()
}

/// Splits numbers into runs of consecutive ones: (first, length).
pub(crate) fn runs(numbers: impl Iterator<Item = u32>) -> impl Iterator<Item = (u32, u32)> {
    let mut numbers = numbers.peekable();
    std::iter::from_fn(move || {
        let first = numbers.next()?;
        let mut count = 1;
        while numbers.next_if_eq(&(first + count)).is_some() {
            count += 1;
        }
        Some((first, count))
    })
}
