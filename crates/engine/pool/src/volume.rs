//! Volume or snapshot of a pool as a block device.

use crate::geometry::FANOUT;
use crate::handle::Pool;
use crate::interface::operation::{CopyOutcome, MAX_COMPARE_BYTES, MAX_WRITE_BYTES, block_error};
use crate::interface::range::{BlockNumber, BlockRange, ByteRange};
use crate::interface::{Catalog, CatalogChange, ObjectId, ObjectInfo, ObjectKind};
use crate::request::{At, Request};
use block::{
    BlockDevice, BlockError, CompareOutcome, CopyStep, Durability, Extent, LOGICAL_BLOCK_BYTES, Lba, Limits,
    MappingResources, ProvisioningExtent, RemainingCopy, VolumeId,
};
use bytes::Bytes;
use media::{BLOCK_BYTES, Media};

const BLOCK: u64 = LOGICAL_BLOCK_BYTES as u64;

/// Units and steps of a volume: 4 KiB blocks in leaves of 1 MiB. A copy moves 1 MiB per step,
/// shares 64 MiB block by block, or 64 GiB in whole leaves.
const LIMITS: Limits = Limits {
    write_blocks: MAX_WRITE_BYTES as u64 / BLOCK,
    compare_and_write_blocks: MAX_COMPARE_BYTES as u64 / BLOCK,
    mapping_unit_blocks: BLOCK_BYTES as u64 / BLOCK,
    move_step_blocks: (1 << 20) / BLOCK,
    share_step_blocks: (64 << 20) / BLOCK,
    map_unit_blocks: (FANOUT * BLOCK_BYTES) as u64 / BLOCK,
    map_step_blocks: (64 << 30) / BLOCK,
};

impl<M: Media> Pool<M> {
    /// Returns a volume or snapshot as a block device. A replica is read-only.
    pub fn volume(&self, id: ObjectId) -> Volume<M> {
        Volume { pool: self.clone(), id, as_group: false }
    }

    /// Opens a volume as its replication group, which alone can change a replica. For replication only: what a host
    /// sends must never reach this device.
    pub fn volume_as_group(&self, id: ObjectId) -> Volume<M> {
        Volume { pool: self.clone(), id, as_group: true }
    }
}

/// Volume or snapshot of a pool.
pub struct Volume<M: Media> {
    pool: Pool<M>,
    id: ObjectId,
    /// Its replication group opened it.
    as_group: bool,
}

impl<M: Media> Clone for Volume<M> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), id: self.id, as_group: self.as_group }
    }
}

impl<M: Media> std::fmt::Debug for Volume<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Volume({})", self.id)
    }
}

impl<M: Media> Volume<M> {
    fn info(&self) -> Option<ObjectInfo> {
        self.pool.object(self.id)
    }

    fn size_bytes(&self) -> Option<u64> {
        self.pool.with_core(|core| core.settings(self.id)).map(|settings| settings.size_bytes)
    }

    /// Returns the bytes of an extent, after a bounds check.
    fn range(&self, extent: Extent) -> Result<ByteRange, BlockError> {
        let device_blocks = self.size_bytes().ok_or(BlockError::Gone)? / u64::from(LOGICAL_BLOCK_BYTES);
        match extent.end() {
            Some(end) if end <= device_blocks => Ok(ByteRange::new(extent.lba.0 * 512, extent.count * 512)),
            _ => Err(BlockError::OutOfRange { lba: extent.lba.0, count: extent.count, device_blocks }),
        }
    }

    /// Bytes with stored content in a range of blocks, in units of 4 KiB. Takes time in proportion to the
    /// depth of the map, or, for a range above 16 TiB, to the number of its parts of 16 TiB that have
    /// content. The last block of a volume may be short.
    pub async fn mapped_bytes(&self, range: BlockRange) -> Result<u64, BlockError> {
        self.run(Request::mapped(self.id, range)).await
    }

    async fn run<T>(&self, request: Request<T>) -> Result<T, BlockError> {
        let result = match self.as_group {
            false => self.pool.run(request).await,
            true => self.pool.run_as_group(request).await,
        };
        result.map_err(block_error)
    }
}

impl<M: Media> BlockDevice for Volume<M> {
    fn volume(&self) -> VolumeId {
        VolumeId(self.id.0)
    }

    fn block_count(&self) -> u64 {
        self.size_bytes().map_or(0, |bytes| bytes / u64::from(LOGICAL_BLOCK_BYTES))
    }

    fn write_cache(&self) -> bool {
        self.pool.with_core(|core| core.settings(self.id)).is_some_and(|settings| settings.write_cache)
    }

    fn read_only(&self) -> bool {
        let settings = self.pool.with_core(|core| core.settings(self.id));
        settings.is_some_and(|of| of.kind != ObjectKind::Volume || (of.is_replica && !self.as_group))
    }

    fn mapping_resources(&self) -> MappingResources {
        let Some(info) = self.info() else { return MappingResources::default() };
        let available_bytes = self.pool.space().available_bytes(info.promised_bytes);
        MappingResources { available_bytes, used_bytes: info.mapped_bytes }
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, BlockError> {
        let ByteRange { offset, length } = self.range(extent)?;
        self.run(Request::read(self.id, offset, length as usize)).await
    }

    async fn write(&self, extent: Extent, data: Bytes, durability: Durability) -> Result<(), BlockError> {
        let ByteRange { offset, .. } = self.range(extent)?;
        BlockError::check_length(extent, LIMITS.write_blocks)?;
        BlockError::check_data(extent, &data)?;
        let forced = durability == Durability::Forced;
        self.run(Request::write(self.id, offset, data, forced)).await
    }

    async fn compare_and_write(
        &self,
        extent: Extent,
        compare: Bytes,
        data: Bytes,
        durability: Durability,
    ) -> Result<CompareOutcome, BlockError> {
        let ByteRange { offset, .. } = self.range(extent)?;
        BlockError::check_length(extent, LIMITS.compare_and_write_blocks)?;
        BlockError::check_data(extent, &compare)?;
        BlockError::check_data(extent, &data)?;
        let forced = durability == Durability::Forced;
        self.run(Request::compare_and_write(self.id, offset, compare, data, forced)).await
    }

    async fn zero(&self, extent: Extent, durability: Durability) -> Result<(), BlockError> {
        let range = self.range(extent)?;
        let forced = durability == Durability::Forced;
        self.run(Request::zero(self.id, vec![range], forced)).await
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), BlockError> {
        let ranges = extents.iter().map(|e| self.range(*e)).collect::<Result<Vec<_>, _>>()?;
        self.run(Request::zero(self.id, ranges, false)).await
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    async fn copy_from(&self, source: &Self, extent: Extent, destination: Lba) -> Result<CopyStep, BlockError> {
        if !self.pool.is(&source.pool) {
            return Err(BlockError::ForeignSource);
        }
        source.range(extent)?;
        self.range(Extent { lba: destination, count: extent.count })?;
        if self.read_only() {
            return Err(BlockError::ReadOnly);
        }
        if extent.count == 0 {
            return Ok(CopyStep::default());
        }
        let backwards = RemainingCopy::goes_backwards(source.volume(), extent.lba, self.volume(), destination);
        let from = LIMITS.step(extent, destination, backwards);
        let to = Extent::new(destination.0 + (from.lba.0 - extent.lba.0), from.count);
        let length = from.count * BLOCK;
        if !LIMITS.shares(extent.lba, destination) {
            let data = source.read(from).await.map_err(BlockError::at_source)?;
            self.write(to, data, Durability::AsConfigured).await?;
            return Ok(CopyStep { done_blocks: from.count, cloned_bytes: 0, copied_bytes: length });
        }
        let source = At { object: source.id, offset: from.lba.0 * BLOCK };
        let outcome =
            self.run(Request::clone_range(source, At { object: self.id, offset: to.lba.0 * BLOCK }, length)).await?;
        let CopyOutcome { cloned_bytes, copied_bytes } = outcome;
        Ok(CopyStep { done_blocks: from.count, cloned_bytes, copied_bytes })
    }

    async fn capture(&self, extents: &[Extent]) -> Result<Self, BlockError> {
        let ranges = extents.iter().map(|extent| {
            let ByteRange { offset, length } = self.range(*extent)?;
            let first = BlockNumber::of_byte(offset);
            Ok(BlockRange::new(first, BlockNumber::of_byte((offset + length).next_multiple_of(4096)) - first))
        });
        let ranges: Vec<BlockRange> = ranges.collect::<Result<_, BlockError>>()?;
        let size_bytes = self.info().ok_or(BlockError::Gone)?.size_bytes;
        let capture = self.pool.create_capture(size_bytes).await.map_err(block_error)?;
        self.run(Request::capture(self.id, capture.id(), ranges)).await?;
        Ok(Self { pool: self.pool.clone(), id: capture.keep(), as_group: false })
    }

    fn discard(&self) {
        if self.info().is_none_or(|info| info.kind != ObjectKind::Capture) {
            return;
        }
        // The deletion is not awaited. A stopped pool keeps the object until it is opened again.
        self.pool.run_detached(Request::catalog(vec![CatalogChange::DeleteObject { id: self.id }]));
    }

    async fn flush(&self) -> Result<(), BlockError> {
        self.run(Request::flush()).await
    }

    async fn provisioning(&self, lba: Lba, limit: usize) -> Result<Vec<ProvisioningExtent>, BlockError> {
        let ByteRange { offset, .. } = self.range(Extent { lba, count: 1 })?;
        self.run(Request::provisioning(self.id, offset, limit)).await
    }
}
