//! Pointers to the blocks of a file, in sectors: the first of them beside the file's record, the
//! rest in blocks that the file owns.

use crate::datastore::Datastore;
use crate::error::DatastoreError;
use crate::format::{Allocation, FileId, POINTERS, Pointer, Pointers};
use crate::geometry::{DIRECT_BLOCKS, Geometry};
use crate::sector::Loaded;
use data_mover::Device;
use futures_util::lock::Mutex;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use zerocopy::FromZeros;

/// Sectors of pointers read by one READ.
const READ_AHEAD: u64 = 16;

/// Location of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Sector and entry beside the record.
    Direct(u32, usize),
    /// Number of the block of pointers, and sector and entry in it.
    Below(u32, u32, usize),
}

fn place(geometry: &Geometry, index: u32) -> Place {
    const EACH: u32 = POINTERS as u32;
    match index.checked_sub(DIRECT_BLOCKS) {
        None => Place::Direct(index / EACH, (index % EACH) as usize),
        Some(rest) => {
            let within = rest % geometry.blocks_in_root();
            Place::Below(rest / geometry.blocks_in_root(), within / EACH, (within % EACH) as usize)
        }
    }
}

/// Pointer changes that are written together.
#[derive(Debug, Default)]
struct Batch {
    changes: Vec<(u32, Pointer)>,
    /// Result, once written.
    written: Option<Result<(), DatastoreError>>,
}

/// Pointers of one file, cached as they are read.
#[derive(Debug)]
pub(crate) struct BlockMap {
    pub(crate) file: FileId,
    /// Cached sectors by LBA.
    sectors: RefCell<HashMap<u64, Loaded<Pointers>>>,
    /// Batch of changes that waits while another one is written.
    collecting: RefCell<Rc<RefCell<Batch>>>,
    writing: Mutex<()>,
}

/// Guard of a sector during its update. If the result stays unknown, the sector is dropped from the
/// cache and read again.
struct SectorGuard<'a> {
    map: &'a BlockMap,
    lba: u64,
    known: Option<Loaded<Pointers>>,
}

impl Drop for SectorGuard<'_> {
    fn drop(&mut self) {
        let mut sectors = self.map.sectors.borrow_mut();
        match self.known.take() {
            Some(loaded) => sectors.insert(self.lba, loaded),
            None => sectors.remove(&self.lba),
        };
    }
}

impl BlockMap {
    pub(crate) fn new(file: FileId) -> Self {
        Self { file, sectors: RefCell::default(), collecting: RefCell::default(), writing: Mutex::new(()) }
    }

    /// Pointer to a block. The caller owns the file's lock, or the file does not change any more.
    pub(crate) async fn get<D: Device>(&self, on: &Datastore<D>, index: u32) -> Result<Pointer, DatastoreError> {
        let geometry = on.store.geometry;
        let (lba, entry, end) = match place(&geometry, index) {
            Place::Direct(sector, entry) => {
                let lba = geometry.direct(self.file.record, sector);
                (lba, entry, geometry.roots(self.file.record, 0))
            }
            Place::Below(root, sector, entry) => match self.root(on, root).await? {
                None => return Ok(Pointer::Hole),
                Some(block) => (geometry.block_lba(block) + u64::from(sector), entry, geometry.block_lba(block + 1)),
            },
        };
        self.entry(on, lba, entry, end).await
    }

    /// Block of pointers of this number, if there is one.
    pub(crate) async fn root<D: Device>(&self, on: &Datastore<D>, root: u32) -> Result<Option<u32>, DatastoreError> {
        let lba = on.store.geometry.roots(self.file.record, root / POINTERS as u32);
        Ok(self.entry(on, lba, root as usize % POINTERS, lba + 1).await?.block())
    }

    async fn entry<D: Device>(
        &self,
        on: &Datastore<D>,
        lba: u64,
        entry: usize,
        end: u64,
    ) -> Result<Pointer, DatastoreError> {
        let known = |map: &HashMap<u64, Loaded<Pointers>>| {
            map.get(&lba).and_then(|loaded| loaded.value.entries.get(entry)).map(|value| value.get())
        };
        let value = known(&self.sectors.borrow());
        let value = match value {
            Some(value) => value,
            None => {
                let run = on.store.load_run::<Pointers>(lba, READ_AHEAD.min(end - lba)).await?;
                let mut sectors = self.sectors.borrow_mut();
                for loaded in run {
                    sectors.entry(loaded.lba).or_insert(loaded);
                }
                known(&sectors).unwrap_or_default()
            }
        };
        let pointer = Pointer::unpack(value);
        match pointer.block() {
            Some(block) if block >= on.store.geometry.blocks => {
                Err(DatastoreError::Damaged { lba, what: "a pointer leads out of the datastore" })
            }
            _ => Ok(pointer),
        }
    }

    /// Block at a number as the allocation table counts it: a data block or a block of pointers.
    pub(crate) async fn pointed<D: Device>(
        &self,
        on: &Datastore<D>,
        index: u32,
    ) -> Result<Option<u32>, DatastoreError> {
        match index.checked_sub(Allocation::POINTER_BLOCK) {
            Some(root) => self.root(on, root).await,
            None => Ok(self.get(on, index).await?.block()),
        }
    }

    /// Removes the pointers to these blocks where they exist. Those to blocks of pointers go first,
    /// and the pointers in such a block go with it.
    pub(crate) async fn remove_pointers<D: Device>(
        &self,
        on: &Datastore<D>,
        blocks: &[(u32, u32)],
    ) -> Result<(), DatastoreError> {
        let geometry = on.store.geometry;
        for (index, block) in blocks {
            if let Some(root) = index.checked_sub(Allocation::POINTER_BLOCK)
                && self.root(on, root).await? == Some(*block)
            {
                let _one = self.writing.lock().await;
                let lba = geometry.roots(self.file.record, root / POINTERS as u32);
                self.change(on, lba, &[(root as usize % POINTERS, Pointer::Hole)]).await?;
                let gone = geometry.block_lba(*block)..geometry.block_lba(block + 1);
                self.sectors.borrow_mut().retain(|lba, _| !gone.contains(lba));
            }
        }
        let mut holes = Vec::new();
        for (index, block) in blocks.iter().filter(|(index, _)| *index < Allocation::POINTER_BLOCK) {
            if self.get(on, *index).await?.block() == Some(*block) {
                holes.push((*index, Pointer::Hole));
            }
        }
        self.set(on, &holes).await
    }

    /// Changes pointers. Concurrent changes of several tasks are written together: those in one
    /// sector by one update, sectors in ascending order. Two tasks must not change the same
    /// pointer.
    pub(crate) async fn set<D: Device>(
        &self,
        on: &Datastore<D>,
        changes: &[(u32, Pointer)],
    ) -> Result<(), DatastoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.create_roots(on, changes).await?;
        let batch = self.collecting.borrow().clone();
        batch.borrow_mut().changes.extend_from_slice(changes);
        let _one = self.writing.lock().await;
        if let Some(written) = &batch.borrow().written {
            return written.clone();
        }
        // Later changes collect in a new batch. If this task is dropped, the next task of the batch
        // writes it.
        if Rc::ptr_eq(&batch, &self.collecting.borrow()) {
            self.collecting.replace(Rc::default());
        }
        let changes = batch.borrow().changes.clone();
        let written = self.write(on, &changes).await;
        if written.is_err() {
            on.mark_untidy(self.file);
        }
        batch.borrow_mut().written = Some(written.clone());
        written
    }

    async fn write<D: Device>(&self, on: &Datastore<D>, changes: &[(u32, Pointer)]) -> Result<(), DatastoreError> {
        let geometry = on.store.geometry;
        let mut by_sector: BTreeMap<(bool, u32, u32), Vec<(usize, Pointer)>> = BTreeMap::new();
        for (index, pointer) in changes {
            let (key, entry) = match place(&geometry, *index) {
                Place::Direct(sector, entry) => ((false, 0, sector), entry),
                Place::Below(root, sector, entry) => ((true, root, sector), entry),
            };
            by_sector.entry(key).or_default().push((entry, *pointer));
        }
        for ((below, root, sector), entries) in by_sector {
            let lba = match below {
                false => geometry.direct(self.file.record, sector),
                true => {
                    let missing = DatastoreError::Damaged {
                        lba: geometry.roots(self.file.record, 0),
                        what: "a block of pointers is missing",
                    };
                    geometry.block_lba(self.root(on, root).await?.ok_or(missing)?) + u64::from(sector)
                }
            };
            self.change(on, lba, &entries).await?;
        }
        Ok(())
    }

    /// Creates the blocks of pointers that changes need. When there is no space for one, only the
    /// tasks that need it get the error.
    async fn create_roots<D: Device>(
        &self,
        on: &Datastore<D>,
        changes: &[(u32, Pointer)],
    ) -> Result<(), DatastoreError> {
        let below = |(index, _): &(u32, Pointer)| match place(&on.store.geometry, *index) {
            Place::Direct(..) => None,
            Place::Below(root, ..) => Some(root),
        };
        for root in changes.iter().filter_map(below).collect::<BTreeSet<u32>>() {
            if self.root(on, root).await?.is_none() {
                let _one = self.writing.lock().await;
                self.create_root(on, root).await?;
            }
        }
        Ok(())
    }

    async fn create_root<D: Device>(&self, on: &Datastore<D>, root: u32) -> Result<u32, DatastoreError> {
        if let Some(block) = self.root(on, root).await? {
            return Ok(block);
        }
        let blocks = on.allocate(self.file, &[Allocation::POINTER_BLOCK + root]).await?;
        let block = *blocks.first().ok_or(DatastoreError::Full)?;
        let whole = on.store.extent(block, 0, on.store.geometry.block_sectors.into());
        let lba = on.store.geometry.roots(self.file.record, root / POINTERS as u32);
        let created = match on.store.zero(whole, true, &|_| ()).await {
            Ok(()) => self.change(on, lba, &[(root as usize % POINTERS, Pointer::Data(block))]).await,
            Err(error) => Err(error),
        };
        if created.is_err() {
            on.mark_untidy(self.file);
        }
        created.map(|()| block)
    }

    /// Clears all pointers: first those to blocks of pointers, so that the pointers in them are no
    /// longer reachable.
    pub(crate) async fn clear<D: Device>(&self, on: &Datastore<D>) -> Result<(), DatastoreError> {
        let geometry = on.store.geometry;
        let first = geometry.direct(self.file.record, 0);
        let count = geometry.direct(self.file.record + 1, 0) - first;
        let run = on.store.load_run::<Pointers>(first, count).await?;
        for mut loaded in run.into_iter().rev() {
            let empty = loaded.value.entries.iter().all(|entry| entry.get() == 0);
            if !empty && !on.store.swap(&mut loaded, Pointers::new_zeroed()).await? {
                on.store.lease.evicted.set(true);
                return Err(DatastoreError::Evicted);
            }
        }
        self.sectors.borrow_mut().clear();
        Ok(())
    }

    async fn change<D: Device>(
        &self,
        on: &Datastore<D>,
        lba: u64,
        entries: &[(usize, Pointer)],
    ) -> Result<(), DatastoreError> {
        let known = self.sectors.borrow().get(&lba).cloned();
        let mut loaded = match known {
            Some(loaded) => loaded,
            None => on.store.load::<Pointers>(lba).await?,
        };
        let mut value = loaded.value;
        for (entry, pointer) in entries {
            if let Some(slot) = value.entries.get_mut(*entry) {
                *slot = pointer.pack().into();
            }
        }
        let mut guard = SectorGuard { map: self, lba, known: None };
        if !on.store.swap(&mut loaded, value).await? {
            // No other host changes the pointers of a file while this host has its lock.
            on.store.lease.evicted.set(true);
            return Err(DatastoreError::Evicted);
        }
        guard.known = Some(loaded);
        Ok(())
    }
}
