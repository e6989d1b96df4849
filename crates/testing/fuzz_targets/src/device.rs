//! A block device in memory: only blocks with content are kept, so that operations on long ranges cost what they touch.

use block::{
    BlockDevice, BlockError, CompareOutcome, CopyStep, Durability, Extent, Lba, Limits, MappingResources,
    ProvisioningExtent, RemainingCopy, VolumeId,
};
use bytes::{Bytes, BytesMut};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

const BLOCK: usize = block::LOGICAL_BLOCK_BYTES as usize;

#[derive(Debug)]
struct Inner {
    id: u64,
    block_count: Cell<u64>,
    blocks: RefCell<BTreeMap<u64, [u8; BLOCK]>>,
    read_only: Cell<bool>,
    full: Cell<bool>,
    held: Cell<bool>,
    calls: Cell<u64>,
}

/// A handle; clones share the device.
#[derive(Clone, Debug)]
pub(crate) struct SparseDevice(Rc<Inner>);

impl SparseDevice {
    pub fn new(id: u64, block_count: u64) -> Self {
        Self(Rc::new(Inner {
            id,
            block_count: Cell::new(block_count),
            blocks: RefCell::default(),
            read_only: Cell::new(false),
            full: Cell::new(false),
            held: Cell::new(false),
            calls: Cell::new(0),
        }))
    }

    /// Calls so far that reached content, of any kind.
    pub fn calls(&self) -> u64 {
        self.0.calls.get()
    }

    /// Bit 0: read-only; bit 1: full; bit 2: mutating calls wait.
    pub fn set_condition(&self, bits: u8) {
        self.0.read_only.set(bits & 1 != 0);
        self.0.full.set(bits & 2 != 0);
        self.0.held.set(bits & 4 != 0);
    }

    pub fn resize(&self, block_count: u64) {
        self.0.block_count.set(block_count);
    }

    fn check(&self, extent: Extent) -> Result<(), BlockError> {
        self.0.calls.set(self.0.calls.get() + 1);
        let device_blocks = self.0.block_count.get();
        match extent.end() {
            Some(end) if end <= device_blocks => Ok(()),
            _ => Err(BlockError::OutOfRange { lba: extent.lba.0, count: extent.count, device_blocks }),
        }
    }

    async fn enter(&self, extent: Extent) -> Result<(), BlockError> {
        self.check(extent)?;
        if self.0.read_only.get() {
            return Err(BlockError::ReadOnly);
        }
        poll_fn(|_| if self.0.held.get() { Poll::Pending } else { Poll::Ready(()) }).await;
        Ok(())
    }

    fn content(&self, extent: Extent) -> Bytes {
        let blocks = self.0.blocks.borrow();
        let length = usize::try_from(extent.count).unwrap_or(usize::MAX).saturating_mul(BLOCK);
        let mut data = BytesMut::zeroed(length);
        for (lba, content) in blocks.range(extent.lba.0..extent.lba.0 + extent.count) {
            let at = usize::try_from(lba - extent.lba.0).unwrap_or(usize::MAX) * BLOCK;
            data[at..at + BLOCK].copy_from_slice(content);
        }
        data.freeze()
    }

    fn store(&self, extent: Extent, data: &[u8]) -> Result<(), BlockError> {
        assert_eq!(data.len() as u64, extent.count * BLOCK as u64, "data of another length than its extent");
        if self.0.full.get() {
            return Err(BlockError::PoolFull);
        }
        let mut blocks = self.0.blocks.borrow_mut();
        for (lba, block) in (extent.lba.0..).zip(data.as_chunks::<BLOCK>().0) {
            blocks.insert(lba, *block);
        }
        Ok(())
    }

    fn deallocate(&self, extent: Extent) {
        let mut blocks = self.0.blocks.borrow_mut();
        let mapped: Vec<u64> = blocks.range(extent.lba.0..extent.lba.0 + extent.count).map(|(lba, _)| *lba).collect();
        for lba in mapped {
            blocks.remove(&lba);
        }
    }
}

impl BlockDevice for SparseDevice {
    fn volume(&self) -> VolumeId {
        VolumeId(self.0.id)
    }

    fn block_count(&self) -> u64 {
        self.0.block_count.get()
    }

    fn write_cache(&self) -> bool {
        false
    }

    fn read_only(&self) -> bool {
        self.0.read_only.get()
    }

    fn mapping_resources(&self) -> MappingResources {
        let available_bytes = if self.0.full.get() { 0 } else { 5 << 30 };
        MappingResources { available_bytes, used_bytes: (self.0.blocks.borrow().len() * BLOCK) as u64 }
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, BlockError> {
        self.check(extent)?;
        Ok(self.content(extent))
    }

    async fn write(&self, extent: Extent, data: Bytes, _: Durability) -> Result<(), BlockError> {
        self.enter(extent).await?;
        self.store(extent, &data)
    }

    async fn compare_and_write(
        &self,
        extent: Extent,
        compare: Bytes,
        data: Bytes,
        _: Durability,
    ) -> Result<CompareOutcome, BlockError> {
        self.enter(extent).await?;
        match self.content(extent).iter().zip(&compare).position(|(found, wanted)| found != wanted) {
            Some(at) => Ok(CompareOutcome::Miscompare { offset_bytes: u32::try_from(at).unwrap_or(u32::MAX) }),
            None => self.store(extent, &data).map(|()| CompareOutcome::Written),
        }
    }

    async fn zero(&self, extent: Extent, _: Durability) -> Result<(), BlockError> {
        self.enter(extent).await?;
        self.deallocate(extent);
        Ok(())
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), BlockError> {
        for extent in extents {
            self.enter(*extent).await?;
        }
        for extent in extents {
            self.deallocate(*extent);
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits {
            write_blocks: 1 << 17,
            compare_and_write_blocks: 1 << 9,
            mapping_unit_blocks: 8,
            move_step_blocks: 1 << 11,
            share_step_blocks: 1 << 17,
            map_unit_blocks: 1 << 11,
            map_step_blocks: 1 << 27,
        }
    }

    async fn copy_from(&self, source: &Self, extent: Extent, destination: Lba) -> Result<CopyStep, BlockError> {
        source.check(extent)?;
        self.check(Extent { lba: destination, count: extent.count })?;
        let backwards = RemainingCopy::goes_backwards(source.volume(), extent.lba, self.volume(), destination);
        let step = self.limits().step(extent, destination, backwards);
        let destination = Lba(destination.0 + (step.lba.0 - extent.lba.0));
        let extent = step;
        let target = Extent { lba: destination, count: extent.count };
        self.enter(target).await?;
        if self.0.full.get() {
            return Err(BlockError::PoolFull);
        }
        let range = extent.lba.0..extent.lba.0 + extent.count;
        let content: Vec<(u64, [u8; BLOCK])> =
            source.0.blocks.borrow().range(range).map(|(lba, block)| (lba - extent.lba.0, *block)).collect();
        self.deallocate(target);
        let mut blocks = self.0.blocks.borrow_mut();
        for (offset, block) in content {
            blocks.insert(destination.0 + offset, block);
        }
        Ok(CopyStep { done_blocks: extent.count, cloned_bytes: extent.count * BLOCK as u64, copied_bytes: 0 })
    }

    async fn capture(&self, extents: &[Extent]) -> Result<Self, BlockError> {
        let captured = Self::new(self.0.id + 1000, self.0.block_count.get());
        poll_fn(|_| if self.0.held.get() { Poll::Pending } else { Poll::Ready(()) }).await;
        for extent in extents {
            self.check(*extent)?;
            let blocks = self.0.blocks.borrow();
            let range = blocks.range(extent.lba.0..extent.lba.0 + extent.count);
            captured.0.blocks.borrow_mut().extend(range.map(|(lba, block)| (*lba, *block)));
        }
        if self.0.full.get() {
            return Err(BlockError::PoolFull);
        }
        captured.0.read_only.set(true);
        Ok(captured)
    }

    fn discard(&self) {
        assert!(self.0.id >= 1000 && self.0.block_count.replace(0) > 0, "only captures are discarded, once");
    }

    async fn flush(&self) -> Result<(), BlockError> {
        Ok(())
    }

    async fn provisioning(&self, lba: Lba, limit: usize) -> Result<Vec<ProvisioningExtent>, BlockError> {
        self.check(Extent::new(lba.0, 1))?;
        let blocks = self.0.blocks.borrow();
        let end = self.0.block_count.get();
        let mut runs = Vec::new();
        let mut at = lba.0;
        while at < end && runs.len() < limit {
            let mapped = blocks.contains_key(&at);
            let next = if mapped {
                (at..end).find(|lba| !blocks.contains_key(lba)).unwrap_or(end)
            } else {
                blocks.range(at..).next().map_or(end, |(lba, _)| *lba).min(end)
            };
            runs.push(ProvisioningExtent { extent: Extent::new(at, next - at), mapped });
            at = next;
        }
        Ok(runs)
    }
}
