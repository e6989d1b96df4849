//! Block device in memory for tests, with a gate that holds calls back, a full pool and a failing
//! block. Only mapped blocks are stored, and an operation on a long range costs only the mapped
//! blocks in it.
#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(missing_docs, reason = "a fixture: the names say it")]

use crate::{
    BlockDevice, BlockError, CompareOutcome, CopyStep, Durability, Extent, Lba, Limits, MappingResources,
    ProvisioningExtent, RemainingCopy, VolumeId,
};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::ops::Range;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Limits of the pool: units of 4 KiB and 1 MiB; steps of 1 MiB, 64 MiB and 64 GiB.
const LIMITS: Limits = Limits {
    write_blocks: 1 << 17,
    compare_and_write_blocks: 1 << 9,
    mapping_unit_blocks: 8,
    move_step_blocks: 1 << 11,
    share_step_blocks: 1 << 17,
    map_unit_blocks: 1 << 11,
    map_step_blocks: 1 << 27,
};

/// Mapped blocks.
type Blocks = BTreeMap<u64, [u8; 512]>;

#[derive(Debug)]
struct Inner {
    id: VolumeId,
    block_count: Cell<u64>,
    blocks: RefCell<Blocks>,
    write_cache: Cell<bool>,
    read_only: Cell<bool>,
    full: Cell<bool>,
    bad_block: Cell<Option<u64>>,
    held: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
    /// Device of which this is a capture.
    captures: RefCell<Option<Rc<Inner>>>,
    /// Number of captures that this device ever made.
    captures_made: Cell<u64>,
    /// Number of captures of this device that were not discarded.
    captured: Cell<u64>,
    captures_full: Cell<bool>,
    discarded: Cell<bool>,
    stutters: Cell<bool>,
    flushes: Cell<u64>,
    forced: Cell<u64>,
    calls: Cell<u64>,
    accesses: Cell<u64>,
}

/// Handle; clones share the device.
#[derive(Clone, Debug)]
pub struct MemoryDevice(Rc<Inner>);

impl MemoryDevice {
    pub fn new(id: u64, block_count: u64) -> Self {
        Self(Rc::new(Inner {
            id: VolumeId(id),
            block_count: Cell::new(block_count),
            blocks: RefCell::default(),
            write_cache: Cell::new(false),
            read_only: Cell::new(false),
            full: Cell::new(false),
            bad_block: Cell::new(None),
            held: Cell::new(false),
            waiting: RefCell::default(),
            captures: RefCell::default(),
            captures_made: Cell::new(0),
            captured: Cell::new(0),
            captures_full: Cell::new(false),
            discarded: Cell::new(false),
            stutters: Cell::new(false),
            flushes: Cell::new(0),
            forced: Cell::new(0),
            calls: Cell::new(0),
            accesses: Cell::new(0),
        }))
    }

    pub fn id(&self) -> VolumeId {
        self.0.id
    }

    pub fn resize(&self, block_count: u64) {
        self.0.block_count.set(block_count);
    }

    pub fn set_write_cache(&self, enabled: bool) {
        self.0.write_cache.set(enabled);
    }

    pub fn set_read_only(&self, read_only: bool) {
        self.0.read_only.set(read_only);
    }

    /// While set, no new block can be mapped.
    pub fn set_full(&self, full: bool) {
        self.0.full.set(full);
    }

    pub fn set_bad_block(&self, lba: Option<u64>) {
        self.0.bad_block.set(lba);
    }

    /// Holds mutating calls back until the gate opens again.
    pub fn hold(&self, held: bool) {
        self.0.held.set(held);
        for waker in self.0.waiting.take() {
            waker.wake();
        }
    }

    /// While set, no space is left for the content of captures.
    pub fn set_captures_full(&self, full: bool) {
        self.0.captures_full.set(full);
    }

    /// Number of captures of this device that exist.
    pub fn captures(&self) -> u64 {
        self.0.captured.get()
    }

    /// Makes each read, write and copy yield once.
    pub fn stutter(&self) {
        self.0.stutters.set(true);
    }

    async fn yield_once(&self) {
        let mut first = self.0.stutters.get();
        poll_fn(|_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    pub fn mapped_blocks(&self) -> usize {
        self.0.blocks.borrow().len()
    }

    pub fn flushes(&self) -> u64 {
        self.0.flushes.get()
    }

    pub fn forced_writes(&self) -> u64 {
        self.0.forced.get()
    }

    /// Number of mutating calls that were admitted.
    pub fn calls(&self) -> u64 {
        self.0.calls.get()
    }

    /// Number of calls of any kind that named an extent, refused ones too.
    pub fn accesses(&self) -> u64 {
        self.0.accesses.get()
    }

    fn check(&self, extent: Extent) -> Result<(), BlockError> {
        self.0.accesses.set(self.0.accesses.get() + 1);
        if self.0.discarded.get() {
            return Err(BlockError::Gone);
        }
        let device_blocks = self.0.block_count.get();
        match extent.end() {
            Some(end) if end <= device_blocks => Ok(()),
            _ => Err(BlockError::OutOfRange { lba: extent.lba.0, count: extent.count, device_blocks }),
        }
    }

    /// Waits until the gate is open.
    async fn gate(&self) {
        poll_fn(|context| {
            if !self.0.held.get() {
                return Poll::Ready(());
            }
            self.0.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    async fn enter(&self, extent: Extent, durability: Durability) -> Result<(), BlockError> {
        self.check(extent)?;
        if self.0.read_only.get() {
            return Err(BlockError::ReadOnly);
        }
        self.yield_once().await;
        self.gate().await;
        if durability == Durability::Forced {
            self.0.forced.set(self.0.forced.get() + 1);
        }
        self.0.calls.set(self.0.calls.get() + 1);
        Ok(())
    }

    fn content(&self, extent: Extent) -> Result<Vec<u8>, BlockError> {
        self.check_readable(extent)?;
        let mut data = vec![0; usize::try_from(extent.count).unwrap() * 512];
        for (lba, block) in self.0.blocks.borrow().range(range(extent)) {
            let at = usize::try_from(lba - extent.lba.0).unwrap() * 512;
            data[at..at + 512].copy_from_slice(block);
        }
        Ok(data)
    }

    fn check_readable(&self, extent: Extent) -> Result<(), BlockError> {
        match self.0.bad_block.get() {
            Some(lba) if range(extent).contains(&lba) => Err(BlockError::ReadFailed { lba }),
            _ => Ok(()),
        }
    }

    fn store(&self, extent: Extent, data: &[u8]) -> Result<(), BlockError> {
        assert_eq!(data.len() as u64, extent.count * 512);
        let mut blocks = self.0.blocks.borrow_mut();
        if self.0.full.get() && (0..extent.count).any(|index| !blocks.contains_key(&(extent.lba.0 + index))) {
            return Err(BlockError::PoolFull);
        }
        for (index, block) in (0u64..).zip(data.chunks_exact(512)) {
            blocks.insert(extent.lba.0 + index, block.try_into().unwrap());
        }
        Ok(())
    }

    fn deallocate(&self, extent: Extent) {
        let mut blocks = self.0.blocks.borrow_mut();
        let mut rest = blocks.split_off(&extent.lba.0);
        blocks.append(&mut rest.split_off(&(extent.lba.0 + extent.count)));
    }
}

/// Addresses of the blocks of `extent`, which a device has checked.
fn range(extent: Extent) -> Range<u64> {
    extent.lba.0..extent.lba.0 + extent.count
}

impl BlockDevice for MemoryDevice {
    fn volume(&self) -> VolumeId {
        self.0.id
    }

    fn block_count(&self) -> u64 {
        self.0.block_count.get()
    }

    fn write_cache(&self) -> bool {
        self.0.write_cache.get()
    }

    fn read_only(&self) -> bool {
        self.0.read_only.get()
    }

    fn mapping_resources(&self) -> MappingResources {
        let source_full = self.0.captures.borrow().as_ref().is_some_and(|source| source.captures_full.get());
        let available_bytes = if self.0.full.get() || source_full { 0 } else { 5 << 30 };
        MappingResources { available_bytes, used_bytes: self.mapped_blocks() as u64 * 512 }
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, BlockError> {
        self.yield_once().await;
        self.check(extent)?;
        Ok(Bytes::from(self.content(extent)?))
    }

    async fn write(&self, extent: Extent, data: Bytes, durability: Durability) -> Result<(), BlockError> {
        self.enter(extent, durability).await?;
        BlockError::check_length(extent, LIMITS.write_blocks)?;
        BlockError::check_data(extent, &data)?;
        self.store(extent, &data)
    }

    async fn compare_and_write(
        &self,
        extent: Extent,
        compare: Bytes,
        data: Bytes,
        durability: Durability,
    ) -> Result<CompareOutcome, BlockError> {
        self.enter(extent, durability).await?;
        BlockError::check_length(extent, LIMITS.compare_and_write_blocks)?;
        BlockError::check_data(extent, &compare)?;
        BlockError::check_data(extent, &data)?;
        let medium = self.content(extent)?;
        match medium.iter().zip(&compare).position(|(found, wanted)| found != wanted) {
            Some(at) => Ok(CompareOutcome::Miscompare { offset_bytes: u32::try_from(at).unwrap() }),
            None => self.store(extent, &data).map(|()| CompareOutcome::Written),
        }
    }

    async fn zero(&self, extent: Extent, durability: Durability) -> Result<(), BlockError> {
        self.enter(extent, durability).await?;
        self.deallocate(extent);
        Ok(())
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), BlockError> {
        for extent in extents {
            self.enter(*extent, Durability::AsConfigured).await?;
        }
        for extent in extents {
            self.deallocate(*extent);
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        LIMITS
    }

    async fn copy_from(&self, source: &Self, extent: Extent, destination: Lba) -> Result<CopyStep, BlockError> {
        source.check(extent)?;
        self.check(Extent { lba: destination, count: extent.count })?;
        let backwards = RemainingCopy::goes_backwards(source.volume(), extent.lba, self.volume(), destination);
        let step = LIMITS.step(extent, destination, backwards);
        let destination = Lba(destination.0 + (step.lba.0 - extent.lba.0));
        let extent = step;
        let target = Extent { lba: destination, count: extent.count };
        self.enter(target, Durability::AsConfigured).await?;
        source.check_readable(extent).map_err(BlockError::at_source)?;
        self.check_readable(target)?;
        let content: Blocks = {
            let blocks = source.0.blocks.borrow();
            blocks.range(range(extent)).map(|(lba, block)| (destination.0 + (lba - extent.lba.0), *block)).collect()
        };
        if self.0.full.get() && content.keys().any(|lba| !self.0.blocks.borrow().contains_key(lba)) {
            return Err(BlockError::PoolFull);
        }
        self.deallocate(target);
        self.0.blocks.borrow_mut().extend(content);
        let bytes = extent.count * 512;
        let (cloned_bytes, copied_bytes) = if LIMITS.shares(extent.lba, destination) { (bytes, 0) } else { (0, bytes) };
        Ok(CopyStep { done_blocks: extent.count, cloned_bytes, copied_bytes })
    }

    async fn capture(&self, extents: &[Extent]) -> Result<Self, BlockError> {
        let number = self.0.captures_made.replace(self.0.captures_made.get() + 1);
        let held = Self::new(self.0.id.0 + 1000 * (number + 1), self.0.block_count.get());
        self.gate().await;
        for extent in extents {
            self.check(*extent)?;
            let blocks = self.0.blocks.borrow();
            let mapped = blocks.range(range(*extent));
            held.0.blocks.borrow_mut().extend(mapped.map(|(lba, block)| (*lba, *block)));
        }
        if self.0.full.get() {
            return Err(BlockError::PoolFull);
        }
        held.0.read_only.set(true);
        held.0.captures.replace(Some(Rc::clone(&self.0)));
        self.0.captured.set(self.0.captured.get() + 1);
        Ok(held)
    }

    fn discard(&self) {
        if let Some(source) = self.0.captures.take() {
            source.captured.set(source.captured.get() - 1);
            self.0.discarded.set(true);
        }
    }

    async fn flush(&self) -> Result<(), BlockError> {
        self.0.flushes.set(self.0.flushes.get() + 1);
        Ok(())
    }

    async fn provisioning(&self, lba: Lba, limit: usize) -> Result<Vec<ProvisioningExtent>, BlockError> {
        self.check(Extent::new(lba.0, 1))?;
        let blocks = self.0.blocks.borrow();
        let end = self.0.block_count.get();
        let mut runs: Vec<ProvisioningExtent> = Vec::new();
        let mut at = lba.0;
        while at < end && runs.len() < limit.max(1) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_ranges_keep_the_blocks_beside_them() {
        let device = MemoryDevice::new(1, 1 << 40);
        device.store(Extent::new(0, 4), &[7; 4 * 512]).unwrap();
        device.store(Extent::new((1 << 40) - 1, 1), &[8; 512]).unwrap();
        device.deallocate(Extent::new(1, (1 << 40) - 2));
        assert_eq!(device.mapped_blocks(), 2);
        let expected = [[7; 512], [0; 512], [0; 512], [0; 512]].concat();
        assert_eq!(device.content(Extent::new(0, 4)).unwrap(), expected);
        device.set_bad_block(Some(2));
        assert_eq!(device.content(Extent::new(2, 2)), Err(BlockError::ReadFailed { lba: 2 }));
        assert!(device.content(Extent::new(0, 2)).is_ok() && device.content(Extent::new(3, 1)).is_ok());
    }

    struct Memory(u64);

    impl crate::contract::Fixture for Memory {
        type Device = MemoryDevice;

        fn device(&mut self, block_count: u64) -> MemoryDevice {
            self.0 += 1;
            MemoryDevice::new(self.0, block_count)
        }

        fn foreign(&mut self, _: u64) -> Option<MemoryDevice> {
            None // all of memory is one engine
        }

        fn turn(&mut self) {}
    }

    #[test]
    fn the_device_in_memory_keeps_the_contract() {
        crate::contract::holds(Memory(0));
    }
}
