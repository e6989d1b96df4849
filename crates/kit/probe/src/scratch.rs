//! Scratch range of the write test. It is chosen where no blocks are mapped if the unit reports
//! that, else at the end of the unit. Its content is kept, and restored.
//!
//! Other hosts cannot be kept from using the unit meanwhile. So the test records for each block
//! what it may have left there. A block with other content belongs to another host, and is not
//! overwritten.

use crate::ProbeError;
use crate::subject::{Probed, Subject};
use bytes::Bytes;
use data_mover::{Compared, Device, DeviceError, Extent};
use std::cell::RefCell;

/// Size of the range: three parts of 64 KiB.
const PART_BYTES: u64 = 64 << 10;
const PARTS: u64 = 3;
/// Alignment of the range in bytes, so that units with a coarse granularity can free it.
const ALIGNMENT_BYTES: u64 = 1 << 20;
/// Number of places, from the end of the unit, that are checked for unmapped space.
const TRIES: u64 = 64;
/// Number of bytes at the beginning of a counted block that vary: a counter that two sessions
/// increment.
const COUNT_BYTES: usize = 4;

/// Content that the test may have left in a block.
#[derive(Clone, Debug)]
enum Image {
    Data(Bytes),
    /// This content, with any number at the beginning.
    Counted(Bytes),
    /// Unmapped, on a unit that does not define what unmapped blocks read as.
    Anything,
}

impl Image {
    fn is(&self, block: &[u8]) -> bool {
        match self {
            Self::Data(data) => data == block,
            Self::Counted(data) => data.get(COUNT_BYTES..) == block.get(COUNT_BYTES..),
            Self::Anything => true,
        }
    }
}

/// Contents written to a block, in order.
#[derive(Clone, Debug, Default)]
struct History {
    images: Vec<Image>,
    /// Index of the first image that may still be there; earlier ones were seen to be overwritten.
    since: usize,
}

/// Content found in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Content from before the test.
    Kept,
    /// Content left by the test.
    Ours,
    /// Any other content.
    Foreign,
}

#[derive(Debug)]
pub(crate) struct Scratch {
    pub(crate) lba: u64,
    /// Number of blocks of a part.
    pub(crate) part: u64,
    block_bytes: usize,
    /// Content from before the test, one entry per part.
    kept: Vec<Bytes>,
    blocks: RefCell<Vec<History>>,
    /// Whether the range was unmapped.
    unmapped: bool,
    /// LBPRZ.
    reads_zeros: bool,
}

impl Scratch {
    /// Chooses a range and reads its content.
    pub(crate) async fn take<D: Probed>(subject: &Subject<D>) -> Result<Self, ProbeError> {
        let unit = &subject.unit;
        let identity = unit.identity();
        let block_bytes = u64::from(identity.block_bytes);
        if block_bytes == 0 || !PART_BYTES.is_multiple_of(block_bytes) {
            return Err(ProbeError::NoScratch(format!(
                "a write test needs blocks of at most 64 KiB; these have {block_bytes} bytes"
            )));
        }
        let part = PART_BYTES / block_bytes;
        let aligned = ALIGNMENT_BYTES / block_bytes;
        let Some(last) = (identity.blocks / aligned).checked_sub(1) else {
            let words =
                format!("the logical unit has {} bytes; a write test needs 1 MiB", identity.blocks * block_bytes);
            return Err(ProbeError::NoScratch(words));
        };
        let mut chosen = (last * aligned, false);
        for back in 0..TRIES.min(last + 1) {
            let lba = (last - back) * aligned;
            match unit.is_unmapped(Extent { lba, blocks: part * PARTS }).await? {
                Some(true) => {
                    chosen = (lba, true);
                    break;
                }
                Some(false) => {}
                // The unit does not report it.
                None => break,
            }
        }
        Ok(Self::keep(unit, chosen, unit.zeros_when_unmapped()).await?)
    }

    /// Uses the range at `lba`, and reads its content.
    pub(crate) async fn keep(
        unit: &impl Device,
        (lba, unmapped): (u64, bool),
        reads_zeros: bool,
    ) -> Result<Self, DeviceError> {
        let block_bytes = u64::from(unit.identity().block_bytes.max(1));
        let part = PART_BYTES / block_bytes;
        let mut scratch = Self {
            lba,
            part,
            block_bytes: usize::try_from(block_bytes).unwrap_or(usize::MAX),
            kept: Vec::new(),
            blocks: RefCell::new((0..part * PARTS).map(|_| History::default()).collect()),
            unmapped,
            reads_zeros,
        };
        for part in 0..PARTS {
            scratch.kept.push(unit.read(scratch.extent(part)).await?);
        }
        Ok(scratch)
    }

    /// First block of a part.
    pub(crate) fn at(&self, part: u64) -> u64 {
        self.lba + part * self.part
    }

    /// Extent of a part.
    pub(crate) fn extent(&self, part: u64) -> Extent {
        Extent { lba: self.at(part), blocks: self.part }
    }

    /// Applies `change` to the history of each block of `data`, which lies at `lba`.
    fn each(&self, lba: u64, data: &Bytes, mut change: impl FnMut(&mut History, Bytes)) {
        let first = usize::try_from(lba.saturating_sub(self.lba)).unwrap_or(usize::MAX);
        let mut blocks = self.blocks.borrow_mut();
        for (history, at) in blocks.iter_mut().skip(first).zip((0..data.len()).step_by(self.block_bytes)) {
            change(history, data.slice(at..data.len().min(at + self.block_bytes)));
        }
    }

    /// Records content that a command may leave from `lba` on. Call it before the command is sent.
    pub(crate) fn note(&self, lba: u64, data: &Bytes) {
        self.each(lba, data, |history, block| history.images.push(Image::Data(block)));
    }

    /// Like [`Self::note`], for commands that leave this content with any number in its first four
    /// bytes.
    pub(crate) fn note_counted(&self, lba: u64, block: &Bytes) {
        self.each(lba, block, |history, block| history.images.push(Image::Counted(block)));
    }

    /// Like [`Self::note`], for an UNMAP.
    pub(crate) fn note_unmap(&self, extent: Extent) {
        let bytes = usize::try_from(extent.blocks).unwrap_or(0).saturating_mul(self.block_bytes);
        self.each(extent.lba, &Bytes::from(vec![0; bytes]), |history, zeros| {
            history.images.push(if self.reads_zeros { Image::Data(zeros) } else { Image::Anything });
        });
    }

    /// Records that blocks were read and hold this content, as expected: earlier content is gone.
    pub(crate) fn settle(&self, lba: u64, data: &Bytes) {
        self.each(lba, data, |history, block| {
            history.since = history.images.len();
            history.images.push(Image::Data(block));
        });
    }

    /// WRITE, with [`Self::note`].
    pub(crate) async fn write(&self, unit: &impl Device, lba: u64, data: Bytes) -> Result<(), DeviceError> {
        self.note(lba, &data);
        unit.write(lba, data).await
    }

    /// Allows every content that the test ever wrote, because the session, and perhaps the array,
    /// failed.
    pub(crate) fn recall(&self) {
        for history in self.blocks.borrow_mut().iter_mut() {
            history.since = 0;
        }
    }

    /// Classifies the blocks of a part, in runs of one kind.
    fn runs(&self, part: u64, found: &[u8]) -> Vec<(Found, Extent)> {
        let kept = usize::try_from(part).ok().and_then(|part| self.kept.get(part)).cloned().unwrap_or_default();
        let mut runs: Vec<(Found, Extent)> = Vec::new();
        let blocks = found.chunks(self.block_bytes).zip(kept.chunks(self.block_bytes));
        let first = self.at(part);
        let histories = self.blocks.borrow();
        let histories = histories.iter().skip(usize::try_from(first - self.lba).unwrap_or(usize::MAX));
        for (lba, ((block, kept), history)) in (first..).zip(blocks.zip(histories)) {
            let images = history.images.get(history.since..).unwrap_or_default();
            let kind = match block == kept {
                true => Found::Kept,
                false if images.iter().any(|image| image.is(block)) => Found::Ours,
                false => Found::Foreign,
            };
            match runs.last_mut() {
                Some((last, extent)) if *last == kind => extent.blocks += 1,
                _ => runs.push((kind, Extent { lba, blocks: 1 })),
            }
        }
        runs
    }

    /// Errors: [`ProbeError::ForeignWrite`] when a block holds data that this test did not write.
    pub(crate) async fn check(&self, unit: &impl Device) -> Result<(), ProbeError> {
        for part in 0..PARTS {
            let found = unit.read(self.extent(part)).await?;
            let foreign = self.runs(part, &found).into_iter().find(|(kind, _)| *kind == Found::Foreign);
            if let Some((_, extent)) = foreign {
                return Err(ProbeError::foreign_write(extent));
            }
        }
        Ok(())
    }

    /// Restores the content, except where another host has written since.
    pub(crate) async fn restore(&self, unit: &impl Device) -> Result<(), ProbeError> {
        if self.blocks.borrow().iter().all(|history| history.images.is_empty()) {
            return Ok(());
        }
        let failed = |reason| ProbeError::NotRestored { lba: self.lba, blocks: self.part * PARTS, reason };
        match self.restore_content(unit).await.map_err(failed)? {
            None => Ok(()),
            Some(extent) => Err(ProbeError::foreign_write(extent)),
        }
    }

    /// Returns an extent that another host has written, if any.
    async fn restore_content(&self, unit: &impl Device) -> Result<Option<Extent>, DeviceError> {
        // UNMAP comes first because it needs no space: in a full pool even a WRITE that changes
        // nothing would fail.
        if self.unmapped {
            self.unmap(unit).await?;
        }
        let (mut foreign, mut full, mut wrote) = (None, None, false);
        for (part, kept) in (0..PARTS).zip(&self.kept) {
            let found = unit.read(self.extent(part)).await?;
            for (kind, extent) in self.runs(part, &found) {
                match kind {
                    Found::Kept => {}
                    Found::Foreign => foreign = foreign.or(Some(extent)),
                    Found::Ours => {
                        wrote = true;
                        let bytes = |blocks: u64| usize::try_from(blocks).unwrap_or(0).saturating_mul(self.block_bytes);
                        let from = bytes(extent.lba - self.at(part));
                        let to = from.saturating_add(bytes(extent.blocks)).min(kept.len()).min(found.len());
                        let from = from.min(to);
                        match self.restore_run(unit, extent, &found.slice(from..to), kept.slice(from..to)).await {
                            // Blocks that still have space are restored all the same.
                            Err(DeviceError::Full) => full = Some(DeviceError::Full),
                            put => foreign = foreign.or(put?),
                        }
                    }
                }
            }
        }
        if wrote && self.unmapped {
            self.unmap(unit).await?;
        }
        full.map_or(Ok(foreign), Err)
    }

    /// Writes `kept` over `found`, which was just read. Uses COMPARE AND WRITE block by block if
    /// the unit has it, so that a concurrent write of another host stays; returns the extent of
    /// such a write.
    async fn restore_run(
        &self,
        unit: &impl Device,
        extent: Extent,
        found: &Bytes,
        kept: Bytes,
    ) -> Result<Option<Extent>, DeviceError> {
        if unit.identity().limits.compare_and_write == 0 {
            return self.write(unit, extent.lba, kept).await.map(|()| None);
        }
        self.note(extent.lba, &kept);
        let mut foreign = None;
        for (lba, at) in (extent.lba..).zip((0..kept.len()).step_by(self.block_bytes)) {
            let block = |data: &Bytes| data.slice(at..data.len().min(at + self.block_bytes));
            match unit.compare_and_write(lba, block(found), block(&kept)).await {
                Ok(Compared::Written) => {}
                // No host has written: the command does not compare correctly.
                Ok(Compared::Miscompare) if unit.read(Extent { lba, blocks: 1 }).await? == block(found) => {
                    unit.write(lba, block(&kept)).await?;
                }
                Ok(Compared::Miscompare) => foreign = foreign.or(Some(Extent { lba, blocks: 1 })),
                // The command is announced but not supported.
                Err(DeviceError::NotSupported(_) | DeviceError::Refused { .. }) => {
                    unit.write(lba, block(&kept)).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(foreign)
    }

    /// Unmaps all blocks that do not hold another host's data.
    async fn unmap(&self, unit: &impl Device) -> Result<(), DeviceError> {
        // As few extents as possible: a unit may free only whole multiples of its granularity.
        let mut extents: Vec<Extent> = Vec::new();
        for part in 0..PARTS {
            let found = unit.read(self.extent(part)).await?;
            for (_, extent) in self.runs(part, &found).into_iter().filter(|(kind, _)| *kind != Found::Foreign) {
                match extents.last_mut() {
                    Some(last) if last.lba + last.blocks == extent.lba => last.blocks += extent.blocks,
                    _ => extents.push(extent),
                }
            }
        }
        for extent in extents {
            self.note_unmap(extent);
            unit.unmap(&[extent]).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
