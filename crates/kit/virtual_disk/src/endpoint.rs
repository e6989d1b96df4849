//! Source or destination of I/O and copies: a virtual disk or a whole logical unit.

use bytes::Bytes;
use data_mover::{DataMover, Device, Extent, Moved};
use datastore::{Content, DatastoreError, Source, VirtualDisk, WholeUnit};
use std::rc::Rc;

/// Size of a logical block, and of a sector of a virtual disk, in bytes.
pub(crate) const SECTOR_BYTES: u64 = 512;
/// Largest run of bytes that one copy or zero request covers.
const STEP_BYTES: u64 = 64 << 20;

/// A virtual disk or a whole logical unit. Reads and writes may overlap in time; both are in whole
/// sectors of 512 bytes.
pub enum Endpoint<D> {
    /// A virtual disk that this host has open.
    Disk(Box<VirtualDisk<D>>),
    /// A whole logical unit with blocks of 512 bytes.
    Unit {
        /// The unit.
        unit: WholeUnit<D>,
        /// The data mover of the host.
        mover: Rc<DataMover>,
    },
}

impl<D: Device> Endpoint<D> {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.source().size()
    }

    /// This endpoint as the source of a copy.
    pub fn source(&self) -> Source<'_, D> {
        match self {
            Self::Disk(disk) => Source::Disk(disk),
            Self::Unit { unit, .. } => Source::Unit(unit),
        }
    }

    /// Alignment of copied parts, in bytes.
    pub fn grain(&self) -> u64 {
        match self {
            Self::Disk(disk) => disk.datastore().geometry().block_bytes(),
            Self::Unit { .. } => SECTOR_BYTES,
        }
    }

    /// The data mover of the host.
    pub fn mover(&self) -> &Rc<DataMover> {
        match self {
            Self::Disk(disk) => disk.datastore().mover(),
            Self::Unit { mover, .. } => mover,
        }
    }

    /// Reads whole sectors.
    pub async fn read(&self, offset: u64, bytes: u64) -> Result<Bytes, DatastoreError> {
        match self {
            Self::Disk(disk) => disk.read(offset, bytes).await,
            Self::Unit { unit, mover } => {
                self.check(offset, bytes)?;
                let _guest = mover.guest_io();
                let extent = Extent { lba: offset / SECTOR_BYTES, blocks: bytes / SECTOR_BYTES };
                Ok(unit.device().read(extent).await?)
            }
        }
    }

    /// Writes whole sectors.
    pub async fn write(&self, offset: u64, data: Bytes) -> Result<(), DatastoreError> {
        match self {
            Self::Disk(disk) => disk.write(offset, data).await,
            Self::Unit { unit, mover } => {
                self.check(offset, data.len() as u64)?;
                let _guest = mover.guest_io();
                unit.written();
                let written = unit.device().write(offset / SECTOR_BYTES, data).await;
                unit.written();
                Ok(written?)
            }
        }
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<(), DatastoreError> {
        let size = self.size();
        match offset.checked_add(bytes) {
            Some(end) if end <= size && (offset | bytes).is_multiple_of(SECTOR_BYTES) => Ok(()),
            _ => Err(DatastoreError::Range { offset, bytes, size }),
        }
    }

    /// Fills a part from the same place of `source`, by the array if it can; parts without data in
    /// the source read as zeros here. `offset` is a multiple of [`Self::grain`], `bytes` too except
    /// at the end of the source. `progress` receives bytes done.
    pub async fn copy_from(
        &self,
        source: Source<'_, D>,
        offset: u64,
        bytes: u64,
        progress: &dyn Fn(u64),
    ) -> Result<Moved, DatastoreError> {
        let (device, mover) = match self {
            Self::Disk(disk) => return disk.copy_from(source, offset, bytes, progress).await,
            Self::Unit { unit, mover } => (unit.device(), mover),
        };
        self.check(offset, bytes)?;
        let mut moved = Moved::default();
        let end = offset.saturating_add(bytes).min(source.size());
        let mut at = offset;
        // Adjacent parts of one kind are merged into a run.
        let mut run: Option<(Content, u64, u64)> = None;
        while at < end || run.is_some() {
            let next = match at < end {
                true => Some(source.locate(at, (end - at).min(STEP_BYTES)).await?),
                false => None,
            };
            if let (Some((content, start, length)), Some((found, more))) = (run, next)
                && let Some(content) = joined(content, length, found)
                && length + more <= STEP_BYTES
            {
                run = Some((content, start, length + more));
                at += more;
                continue;
            }
            if let Some((content, start, length)) = run.take() {
                let to = Extent { lba: start / SECTOR_BYTES, blocks: length / SECTOR_BYTES };
                moved.add(&match content {
                    Content::Zeros => mover.zero(device, to, true, progress).await?,
                    Content::Sectors(from) => {
                        let from = (source.device(), from.lba);
                        mover.copy(from, (device, to.lba), to.blocks, progress).await?
                    }
                });
            }
            if let Some((content, length)) = next {
                run = Some((content, at, length));
                at += length;
            }
        }
        Ok(moved)
    }
}

/// Merges two parts if the second continues the first.
fn joined(first: Content, length: u64, second: Content) -> Option<Content> {
    match (first, second) {
        (Content::Zeros, Content::Zeros) => Some(Content::Zeros),
        (Content::Sectors(one), Content::Sectors(two)) if one.lba + length / SECTOR_BYTES == two.lba => {
            Some(Content::Sectors(Extent { lba: one.lba, blocks: one.blocks + two.blocks }))
        }
        _ => None,
    }
}
