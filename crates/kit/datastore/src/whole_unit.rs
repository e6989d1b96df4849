//! A whole logical unit as the source of a copy. If the unit reports its mapped blocks (GET LBA
//! STATUS) and the rest reads as zeros, only mapped blocks are data; else all blocks are.

use crate::disk::Content;
use crate::error::DatastoreError;
use crate::sector::SECTOR_BYTES;
use data_mover::{Device, DeviceError, Extent, LbaStatus, Patient};
use std::cell::{Cell, RefCell};

/// Shortest unmapped run that is left out, in blocks: 256 KiB. Shorter ones are copied with the
/// data around them.
const GAP: u64 = 512;
/// Blocks that one GET LBA STATUS should cover at least: 1 MiB. If an answer covers fewer, this
/// many blocks are copied before the next request.
const QUERY_BLOCKS: u64 = 2048;

/// A logical unit as the source of a copy; blocks of 512 bytes.
#[derive(Debug)]
pub struct WholeUnit<D> {
    device: Patient<D>,
    /// Runs of the last answer, in ascending order without gaps.
    known: RefCell<Vec<LbaStatus>>,
    /// Counter of writes that may have changed the runs.
    changes: Cell<u64>,
    /// The unit does not report its mapped blocks.
    silent: Cell<bool>,
}

impl<D: Device> WholeUnit<D> {
    /// Sends no command; the first request is sent by the first look-up.
    pub fn new(device: Patient<D>) -> Self {
        Self { device, known: RefCell::default(), changes: Cell::default(), silent: Cell::new(false) }
    }

    /// The logical unit.
    pub fn device(&self) -> &Patient<D> {
        &self.device
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.device.identity().blocks.saturating_mul(self.device.identity().block_bytes.into())
    }

    /// Call before and after each write: earlier answers may no longer be true.
    pub fn written(&self) {
        self.changes.set(self.changes.get() + 1);
        self.known.borrow_mut().clear();
    }

    /// Content at `offset`, for at most `bytes`, both in whole sectors; returned with its length in
    /// bytes. The range must not be written before the result has been used.
    pub(crate) async fn locate(&self, offset: u64, bytes: u64) -> Result<(Content, u64), DatastoreError> {
        let end = self.size().min(offset.saturating_add(bytes)) / SECTOR_BYTES as u64;
        let lba = offset / SECTOR_BYTES as u64;
        let run = self.run(lba).await?;
        let blocks = (run.extent.lba + run.extent.blocks).min(end).saturating_sub(lba);
        let content = if run.mapped { Content::Sectors(Extent { lba, blocks }) } else { Content::Zeros };
        Ok((content, blocks * SECTOR_BYTES as u64))
    }

    /// Run that a block is in.
    async fn run(&self, lba: u64) -> Result<LbaStatus, DatastoreError> {
        let blocks = self.device.identity().blocks;
        let all = LbaStatus { extent: Extent { lba: 0, blocks }, mapped: true };
        let holds = |run: &&LbaStatus| run.extent.lba <= lba && lba < run.extent.lba + run.extent.blocks;
        if self.silent.get() || lba >= blocks {
            return Ok(all);
        }
        let known = self.known.borrow().iter().find(holds).copied();
        if let Some(run) = known {
            return Ok(run);
        }
        let before = self.changes.get();
        let runs = match self.device.lba_status(lba).await {
            Ok(runs) => worthwhile(&runs, lba, blocks),
            Err(
                error @ (DeviceError::Lost(_)
                | DeviceError::TimedOut(_)
                | DeviceError::ReservationConflict
                | DeviceError::Interrupted
                | DeviceError::Withdrawn(_)),
            ) => return Err(error.into()),
            Err(
                DeviceError::NotSupported(_)
                | DeviceError::Full
                | DeviceError::Refused { .. }
                | DeviceError::Status { .. },
            ) => {
                self.silent.set(true);
                return Ok(all);
            }
        };
        let run = runs.iter().find(holds).copied().unwrap_or(all);
        // The answer may miss writes that ran meanwhile; it is used for this range, which the
        // caller keeps from being written, but not kept.
        if self.changes.get() == before {
            self.known.replace(runs);
        }
        Ok(run)
    }
}

/// Merges the runs of an answer so that short unmapped ones count as data.
fn worthwhile(runs: &[LbaStatus], lba: u64, end: u64) -> Vec<LbaStatus> {
    let reported_end = runs.last().map_or(lba, |last| last.extent.lba + last.extent.blocks);
    if reported_end < end && reported_end.saturating_sub(lba) < QUERY_BLOCKS {
        return vec![LbaStatus { extent: Extent { lba, blocks: QUERY_BLOCKS.min(end - lba) }, mapped: true }];
    }
    let mut found: Vec<LbaStatus> = Vec::new();
    for run in runs {
        let mapped = run.mapped || run.extent.blocks < GAP;
        match found.last_mut() {
            Some(last) if last.mapped == mapped => last.extent.blocks += run.extent.blocks,
            _ => found.push(LbaStatus { mapped, ..*run }),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_gaps_are_copied_and_short_answers_bound_the_queries() {
        let run = |lba, blocks, mapped| LbaStatus { extent: Extent { lba, blocks }, mapped };
        let answer = [run(0, 8, true), run(8, 8, false), run(16, 8, true), run(24, 4000, false), run(4024, 8, true)];
        assert_eq!(worthwhile(&answer, 0, 100_000), [run(0, 24, true), run(24, 4000, false), run(4024, 8, true)]);
        assert_eq!(worthwhile(&answer[..2], 0, 100_000), [run(0, 2048, true)]);
        assert_eq!(worthwhile(&answer[..2], 0, 16), [run(0, 16, true)]);
        assert_eq!(worthwhile(&[], 7, 100), [run(7, 93, true)]);
    }
}
