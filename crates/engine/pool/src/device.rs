//! The pool as the rest of the array sees it: a handle that volumes and the catalog share, and futures over the core's operations.
//!
//! Everything here lives on one thread. Whoever owns the thread calls [`Pool::pump`] after each batch of work and when the medium's wake
//! descriptor becomes readable; [`Pool::on_work`] is called when an operation was submitted that needs a pump to finish.

use crate::core::{Core, Counters};
use crate::interface::operation::{Failure, Operation, OperationId, Output};
use crate::interface::{
    BlockId, Catalog, CatalogChange, CheckStep, Growth, Incident, ObjectId, ObjectInfo, ObjectKind, Place, PoolError,
    PoolSpace, ScanStep,
};
use block::{
    BlockDevice, BlockError, CompareOutcome, CopyOutcome, Durability, Extent, LOGICAL_BLOCK_BYTES, Lba,
    MappingResources, ProvisioningExtent, VolumeId,
};
use bytes::Bytes;
use media::Media;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Bytes that a copy which cannot share blocks moves at once.
const COPY_BYTES: u64 = 1 << 20;
/// Bytes that one clone operation covers at most.
const CLONE_BYTES: u64 = 64 << 20;
/// The same, where source and destination agree modulo a leaf (1 MiB), so that whole sub-trees are shared.
const ALIGNED_CLONE_BYTES: u64 = 64 << 30;
const LEAF_BYTES: u64 = 1 << 20;

type OpResult = Result<Output, Failure>;

enum Slot {
    Waiting(Option<Waker>),
    Finished(OpResult),
    Abandoned,
}

struct Inner<M: Media> {
    core: RefCell<Core<M>>,
    slots: RefCell<FxHashMap<OperationId, Slot>>,
    on_work: RefCell<Option<Box<dyn Fn()>>>,
    needs_pump: Cell<bool>,
}

/// A shared handle to a pool.
pub struct Pool<M: Media>(Rc<Inner<M>>);

impl<M: Media> Clone for Pool<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Media> std::fmt::Debug for Pool<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl<M: Media> Pool<M> {
    /// A handle to an opened core.
    pub fn new(core: Core<M>) -> Self {
        Self(Rc::new(Inner {
            core: RefCell::new(core),
            slots: RefCell::default(),
            on_work: RefCell::default(),
            needs_pump: Cell::new(false),
        }))
    }

    /// Sets what is called when the pool needs a pump, at most once between pumps.
    pub fn on_work(&self, notify: impl Fn() + 'static) {
        *self.0.on_work.borrow_mut() = Some(Box::new(notify));
    }

    /// Moves the core forward and wakes the futures whose operations finished. `background` as in [`Core::pump`]. Returns true when
    /// there is background work left that another pump would do.
    pub fn pump(&self, background: usize) -> bool {
        self.0.needs_pump.set(false);
        let mut core = self.0.core.borrow_mut();
        core.pump(background);
        self.collect(&mut core);
        core.wants_turn()
    }

    /// Does background work, as [`Core::background`] says; a pump has to follow.
    pub fn background(&self, pages: usize) {
        let mut core = self.0.core.borrow_mut();
        core.background(pages);
        self.collect(&mut core);
    }

    /// A volume or snapshot as a block device.
    pub fn volume(&self, id: ObjectId) -> Volume<M> {
        Volume { pool: self.clone(), id: id.0 }
    }

    /// Calls `f` with the core: for tools and statistics.
    pub fn with_core<T>(&self, f: impl FnOnce(&mut Core<M>) -> T) -> T {
        f(&mut self.0.core.borrow_mut())
    }

    /// Counters since the pool was opened.
    pub fn counters(&self) -> Counters {
        self.0.core.borrow().counters()
    }

    fn collect(&self, core: &mut Core<M>) {
        let mut slots = self.0.slots.borrow_mut();
        while let Some((id, result)) = core.poll_finished() {
            match slots.remove(&id) {
                Some(Slot::Waiting(waker)) => {
                    slots.insert(id, Slot::Finished(result));
                    if let Some(waker) = waker {
                        waker.wake();
                    }
                }
                Some(Slot::Abandoned) => {}
                Some(Slot::Finished(_)) | None => {
                    slots.insert(id, Slot::Finished(result));
                }
            }
        }
    }

    async fn run(&self, operation: Operation) -> OpResult {
        let id = {
            let mut core = self.0.core.borrow_mut();
            let id = core.submit(operation);
            // A result that is already there costs no slot.
            if let Some((found, result)) = core.poll_finished() {
                if found == id {
                    return result;
                }
                self.0.slots.borrow_mut().insert(found, Slot::Finished(result));
                self.collect(&mut core);
            }
            id
        };
        if !self.0.needs_pump.replace(true)
            && let Some(notify) = &*self.0.on_work.borrow()
        {
            notify();
        }
        self.0.slots.borrow_mut().entry(id).or_insert(Slot::Waiting(None));
        OperationFuture { pool: self, id, done: false }.await
    }
}

impl<M: Media> Pool<M> {
    /// Submits an operation whose result is of no interest.
    fn submit_only(&self, operation: Operation) {
        let mut core = self.0.core.borrow_mut();
        let id = core.submit(operation);
        self.0.slots.borrow_mut().insert(id, Slot::Abandoned);
        self.collect(&mut core);
        drop(core);
        if !self.0.needs_pump.replace(true)
            && let Some(notify) = &*self.0.on_work.borrow()
        {
            notify();
        }
    }

    async fn scan(&self, operation: Operation) -> Result<ScanStep, PoolError> {
        match self.run(operation).await.map_err(pool_error)? {
            Output::Scanned(step) => Ok(*step),
            _ => Ok(ScanStep::default()),
        }
    }
}

struct OperationFuture<'a, M: Media> {
    pool: &'a Pool<M>,
    id: OperationId,
    done: bool,
}

impl<M: Media> Future for OperationFuture<'_, M> {
    type Output = OpResult;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<OpResult> {
        let mut slots = self.pool.0.slots.borrow_mut();
        match slots.remove(&self.id) {
            Some(Slot::Finished(result)) => {
                drop(slots);
                self.done = true;
                Poll::Ready(result)
            }
            _ => {
                slots.insert(self.id, Slot::Waiting(Some(context.waker().clone())));
                Poll::Pending
            }
        }
    }
}

impl<M: Media> Drop for OperationFuture<'_, M> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // The operation goes on; only its result is of no interest any more.
        let mut slots = self.pool.0.slots.borrow_mut();
        match slots.remove(&self.id) {
            Some(Slot::Waiting(_)) => {
                slots.insert(self.id, Slot::Abandoned);
            }
            Some(Slot::Finished(_) | Slot::Abandoned) | None => {}
        }
    }
}

fn block_error(failure: Failure) -> BlockError {
    match failure {
        Failure::Block(error) => error,
        Failure::Pool(PoolError::PoolFull) => BlockError::PoolFull,
        Failure::Pool(PoolError::Damaged(_)) => BlockError::ReadFailed { lba: 0 },
        Failure::Pool(PoolError::NoSuchObject(_)) => BlockError::Gone,
        Failure::Pool(PoolError::Stopped(reason)) => BlockError::PoolStopped { reason },
        Failure::Pool(error) => BlockError::PoolStopped { reason: error.to_string() },
    }
}

pub(crate) fn pool_error(failure: Failure) -> PoolError {
    match failure {
        Failure::Pool(error) => error,
        Failure::Block(BlockError::PoolFull) => PoolError::PoolFull,
        Failure::Block(BlockError::PoolStopped { reason }) => PoolError::Stopped(reason),
        Failure::Block(error) => PoolError::Stopped(error.to_string()),
    }
}

/// A volume or snapshot of a pool.
pub struct Volume<M: Media> {
    pool: Pool<M>,
    id: u64,
}

impl<M: Media> Clone for Volume<M> {
    fn clone(&self) -> Self {
        Self { pool: self.pool.clone(), id: self.id }
    }
}

impl<M: Media> std::fmt::Debug for Volume<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Volume({})", self.id)
    }
}

impl<M: Media> Volume<M> {
    fn info(&self) -> Option<ObjectInfo> {
        self.pool.0.core.borrow().object(self.id)
    }

    /// Bounds-checked start and length in bytes.
    fn range(&self, extent: Extent) -> Result<(u64, u64), BlockError> {
        let device_blocks = self.info().ok_or(BlockError::Gone)?.size_bytes / u64::from(LOGICAL_BLOCK_BYTES);
        match extent.end() {
            Some(end) if end <= device_blocks => Ok((extent.lba.0 * 512, extent.count * 512)),
            _ => Err(BlockError::OutOfRange { lba: extent.lba.0, count: extent.count, device_blocks }),
        }
    }

    async fn run(&self, operation: Operation) -> Result<Output, BlockError> {
        self.pool.run(operation).await.map_err(block_error)
    }
}

/// A capture that is not complete; dropped, it goes away.
struct BegunCapture<M: Media>(Option<Volume<M>>);

impl<M: Media> Drop for BegunCapture<M> {
    fn drop(&mut self) {
        if let Some(volume) = &self.0 {
            volume.discard();
        }
    }
}

impl<M: Media> BlockDevice for Volume<M> {
    fn volume(&self) -> VolumeId {
        VolumeId(self.id)
    }

    fn block_count(&self) -> u64 {
        self.info().map_or(0, |i| i.size_bytes / u64::from(LOGICAL_BLOCK_BYTES))
    }

    fn write_cache(&self) -> bool {
        self.info().is_some_and(|i| i.write_cache)
    }

    fn read_only(&self) -> bool {
        self.info().is_some_and(|i| i.kind != ObjectKind::Volume)
    }

    fn mapping_resources(&self) -> MappingResources {
        let core = self.pool.0.core.borrow();
        let Some(info) = core.object(self.id) else { return MappingResources::default() };
        let space = core.space();
        // What is promised to others is not for this volume; what is promised to it is.
        let free = if space.starved { 0 } else { space.free_bytes };
        let available_bytes = free.saturating_sub(space.promised_bytes.saturating_sub(info.promised_bytes));
        MappingResources { available_bytes, used_bytes: info.mapped_bytes }
    }

    async fn read(&self, extent: Extent) -> Result<Bytes, BlockError> {
        let (offset, length) = self.range(extent)?;
        let operation = Operation::Read { object: self.id, offset, length: length as usize };
        match self.run(operation).await? {
            Output::Data(data) => Ok(data),
            _ => Ok(Bytes::new()),
        }
    }

    async fn write(&self, extent: Extent, data: Bytes, durability: Durability) -> Result<(), BlockError> {
        let (offset, length) = self.range(extent)?;
        debug_assert_eq!(length, data.len() as u64);
        let forced = durability == Durability::Forced;
        self.run(Operation::Write { object: self.id, offset, data, forced }).await.map(|_| ())
    }

    async fn compare_and_write(
        &self,
        extent: Extent,
        compare: Bytes,
        data: Bytes,
        durability: Durability,
    ) -> Result<CompareOutcome, BlockError> {
        let (offset, _) = self.range(extent)?;
        let forced = durability == Durability::Forced;
        let operation = Operation::CompareAndWrite { object: self.id, offset, compare, data, forced };
        match self.run(operation).await? {
            Output::Compared(outcome) => Ok(outcome),
            _ => Ok(CompareOutcome::Written),
        }
    }

    async fn zero(&self, extent: Extent, durability: Durability) -> Result<(), BlockError> {
        let range = self.range(extent)?;
        let forced = durability == Durability::Forced;
        self.run(Operation::Zero { object: self.id, ranges: vec![range], forced }).await.map(|_| ())
    }

    async fn unmap(&self, extents: &[Extent]) -> Result<(), BlockError> {
        let ranges = extents.iter().map(|e| self.range(*e)).collect::<Result<Vec<_>, _>>()?;
        self.run(Operation::Zero { object: self.id, ranges, forced: false }).await.map(|_| ())
    }

    async fn copy_from(&self, source: &Self, extent: Extent, destination: Lba) -> Result<CopyOutcome, BlockError> {
        let (source_offset, length) = source.range(extent)?;
        let (destination_offset, _) = self.range(Extent { lba: destination, count: extent.count })?;
        let mut total = CopyOutcome::default();
        let difference = source_offset.wrapping_sub(destination_offset);
        if !difference.is_multiple_of(4096) {
            // Blocks cannot be shared; the data moves, backwards when the ranges overlap that way.
            let backwards = source.id == self.id && destination_offset > source_offset;
            let pieces = length.div_ceil(COPY_BYTES);
            for i in 0..pieces {
                let i = if backwards { pieces - 1 - i } else { i };
                let at = i * COPY_BYTES;
                let n = COPY_BYTES.min(length - at);
                let data = source.read(Extent::new((source_offset + at) / 512, n / 512)).await?;
                self.write(Extent::new((destination_offset + at) / 512, n / 512), data, Durability::AsConfigured)
                    .await?;
                total.copied_bytes += n;
            }
            return Ok(total);
        }
        let limit = if difference.is_multiple_of(LEAF_BYTES) { ALIGNED_CLONE_BYTES } else { CLONE_BYTES };
        let backwards = source.id == self.id && destination_offset > source_offset;
        let pieces = length.div_ceil(limit).max(1);
        for i in 0..pieces {
            let i = if backwards { pieces - 1 - i } else { i };
            let at = i * limit;
            let operation = Operation::Clone {
                source: source.id,
                source_offset: source_offset + at,
                destination: self.id,
                destination_offset: destination_offset + at,
                length: limit.min(length - at),
            };
            if let Output::Copied(outcome) = self.run(operation).await? {
                total.cloned_bytes += outcome.cloned_bytes;
                total.copied_bytes += outcome.copied_bytes;
            }
        }
        Ok(total)
    }

    async fn capture(&self, extents: &[Extent]) -> Result<Self, BlockError> {
        let block = |bytes: u64| bytes / 4096;
        let ranges = extents.iter().map(|extent| {
            let (offset, length) = self.range(*extent)?;
            let first = block(offset);
            Ok((first, block((offset + length).next_multiple_of(4096)) - first))
        });
        let ranges: Vec<(u64, u64)> = ranges.collect::<Result<_, BlockError>>()?;
        let size_bytes = self.info().ok_or(BlockError::Gone)?.size_bytes;
        let id = self.pool.new_object_id();
        let mut begun = BegunCapture(Some(Self { pool: self.pool.clone(), id: id.0 }));
        self.run(Operation::Catalog(vec![CatalogChange::CreateCapture { id, size_bytes }])).await?;
        self.run(Operation::Capture { source: self.id, capture: id.0, ranges }).await?;
        begun.0.take().ok_or(BlockError::Gone)
    }

    fn discard(&self) {
        // Nobody waits for it. A pool that has stopped keeps the object until it is opened again.
        self.pool.submit_only(Operation::Catalog(vec![CatalogChange::DeleteObject { id: ObjectId(self.id) }]));
    }

    async fn flush(&self) -> Result<(), BlockError> {
        self.run(Operation::Flush).await.map(|_| ())
    }

    async fn provisioning(&self, lba: Lba, limit: usize) -> Result<Vec<ProvisioningExtent>, BlockError> {
        let (offset, _) = self.range(Extent { lba, count: 1 })?;
        match self.run(Operation::Provisioning { object: self.id, offset, limit }).await? {
            Output::Provisioning(runs) => Ok(runs),
            _ => Ok(Vec::new()),
        }
    }
}

impl<M: Media> Catalog for Pool<M> {
    fn new_object_id(&self) -> ObjectId {
        ObjectId(self.0.core.borrow_mut().new_object_id())
    }

    async fn commit(&self, changes: Vec<CatalogChange>) -> Result<(), PoolError> {
        self.run(Operation::Catalog(changes)).await.map(|_| ()).map_err(pool_error)
    }

    fn object(&self, id: ObjectId) -> Option<ObjectInfo> {
        self.0.core.borrow().object(id.0)
    }

    fn objects(&self) -> Vec<ObjectInfo> {
        let core = self.0.core.borrow();
        core.object_ids().into_iter().filter_map(|id| core.object(id)).collect()
    }

    fn document(&self, key: &str) -> Option<Bytes> {
        self.0.core.borrow().documents().get(key).cloned()
    }

    fn documents(&self, prefix: &str) -> Vec<(String, Bytes)> {
        let core = self.0.core.borrow();
        core.documents()
            .range(prefix.to_string()..)
            .take_while(|(k, _)| k.starts_with(prefix))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }

    async fn unique_bytes(&self, ids: &[ObjectId]) -> Result<u64, PoolError> {
        let objects = ids.iter().map(|id| id.0).collect();
        match self.run(Operation::Unique { objects }).await.map_err(pool_error)? {
            Output::Bytes(bytes) => Ok(bytes),
            _ => Ok(0),
        }
    }

    async fn reclaim_zeros(&self, id: ObjectId, offset_bytes: u64) -> Result<ScanStep, PoolError> {
        self.scan(Operation::ReclaimZeros { object: id.0, offset: offset_bytes }).await
    }

    async fn verify(&self, id: ObjectId, offset_bytes: u64, anew: bool) -> Result<ScanStep, PoolError> {
        self.scan(Operation::Verify { object: id.0, offset: offset_bytes, anew }).await
    }

    async fn places_of(&self, blocks: Vec<BlockId>) -> Result<Vec<Place>, PoolError> {
        match self.run(Operation::PlacesOf(blocks.into_iter().map(|block| block.0).collect())).await {
            Ok(Output::Places(places)) => Ok(places),
            Ok(_) => Ok(Vec::new()),
            Err(failure) => Err(pool_error(failure)),
        }
    }

    async fn check_step(&self) -> Result<CheckStep, PoolError> {
        match self.run(Operation::CheckStep).await.map_err(pool_error)? {
            Output::Check(step) => Ok(*step),
            _ => Ok(CheckStep { done: 0, total: 0, report: None }),
        }
    }

    fn abandon_check(&self) {
        self.0.core.borrow_mut().abandon_check();
    }

    async fn recount(&self, id: ObjectId) -> Result<(), PoolError> {
        self.run(Operation::Recount { object: id.0 }).await.map(|_| ()).map_err(pool_error)
    }

    async fn grow(&self, growth: Growth) -> Result<(), PoolError> {
        self.run(Operation::Grow(growth)).await.map(|_| ()).map_err(pool_error)
    }

    fn take_incidents(&self) -> Vec<Incident> {
        self.0.core.borrow_mut().take_incidents()
    }

    fn space(&self) -> PoolSpace {
        self.0.core.borrow().space()
    }
}
