//! Virtual disks.

use crate::ahead::Ahead;
use crate::datastore::Datastore;
use crate::directory::LockedFile;
use crate::error::DatastoreError;
use crate::format::{File, Pointer};
use crate::lock::LOCK_PATIENCE;
use crate::map::BlockMap;
use crate::records::DiskFormat;
use crate::sector::{Loaded, SECTOR_BYTES};
use bytes::{Bytes, BytesMut};
use data_mover::{Device, Extent, RangeGuard, RangeLock};
use futures_util::lock::Mutex;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

/// Parameters of a new disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskOptions {
    /// Format; not [`DiskFormat::Redo`].
    pub format: DiskFormat,
    /// Size in bytes; whole sectors.
    pub size: u64,
}

/// Blocks of a thick disk claimed, and published, in one step.
const CLAIM_BLOCKS: u32 = 1024;

/// An open virtual disk. Reads and writes may overlap in time.
///
/// Call [`Self::close`]: a disk that is dropped stays locked until its host unmounts.
pub struct VirtualDisk<D> {
    pub(crate) on: Rc<Datastore<D>>,
    /// The file and its lock; `None` for a disk that is open for reading only.
    pub(crate) file: Mutex<Option<LockedFile>>,
    pub(crate) map: BlockMap,
    pub(crate) size: Cell<u64>,
    pub(crate) format: Cell<DiskFormat>,
    /// Locked block numbers: blocks that gain or lose their place, or content not yet reported to
    /// the caller.
    blocks: RangeLock,
    pub(crate) ahead: Ahead,
    /// Disks that this one is based on, the nearest first. Their own `below` is empty.
    pub(crate) below: Vec<Rc<VirtualDisk<D>>>,
    /// The record as it was at opening, for a disk that is read without its lock.
    pub(crate) as_opened: Option<Loaded<File>>,
}

/// Content of a part of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Zeros.
    Zeros,
    /// The content of these sectors of the logical unit.
    Sectors(Extent),
}

impl<D: Device> Datastore<D> {
    /// Creates a disk and closes it. `progress` receives bytes zeroed.
    pub async fn create_disk(
        self: &Rc<Self>,
        name: &str,
        options: DiskOptions,
        progress: &dyn Fn(u64),
    ) -> Result<(), DatastoreError> {
        self.create_open(name, options, progress).await?.close().await
    }

    /// Creates a disk and leaves it open. `progress` receives bytes zeroed.
    pub async fn create_open(
        self: &Rc<Self>,
        name: &str,
        options: DiskOptions,
        progress: &dyn Fn(u64),
    ) -> Result<VirtualDisk<D>, DatastoreError> {
        check_size(options.size)?;
        if options.format == DiskFormat::Redo {
            return Err(DatastoreError::Unsuitable("a redo disk is created by a snapshot or a linked clone".into()));
        }
        let mut file = self.create_record(name, options.format, options.size, None).await?;
        let map = BlockMap::new(file.id());
        let filled = match self.fill(&map, 0, options, progress).await {
            Ok(()) => self.publish(&mut file).await,
            Err(error) => Err(error),
        };
        match filled {
            Ok(()) => Ok(self.opened(Some(file), map, options.format, options.size, Vec::new())),
            Err(error) => {
                self.abandon(file).await?;
                Err(error)
            }
        }
    }

    pub(crate) fn opened(
        self: &Rc<Self>,
        file: Option<LockedFile>,
        map: BlockMap,
        format: DiskFormat,
        size: u64,
        below: Vec<Rc<VirtualDisk<D>>>,
    ) -> VirtualDisk<D> {
        VirtualDisk {
            on: self.clone(),
            file: Mutex::new(file),
            map,
            size: Cell::new(size),
            format: Cell::new(format),
            blocks: RangeLock::default(),
            ahead: Ahead::new(self.store.geometry.block_bytes()),
            below,
            as_opened: None,
        }
    }

    /// Allocates the blocks of a thick disk from number `first` on.
    pub(crate) async fn fill(
        &self,
        map: &BlockMap,
        first: u32,
        options: DiskOptions,
        progress: &dyn Fn(u64),
    ) -> Result<(), DatastoreError> {
        let of: fn(u32) -> Pointer = match options.format {
            DiskFormat::Thin | DiskFormat::Redo => return Ok(()),
            DiskFormat::ZeroedThick => Pointer::ToBeZeroed,
            DiskFormat::EagerZeroedThick => Pointer::Data,
        };
        let end = self.blocks_for(options.size);
        let sectors = u64::from(self.store.geometry.block_sectors);
        let mut index = first;
        while index < end {
            let indexes: Vec<u32> = (index..end.min(index.saturating_add(CLAIM_BLOCKS))).collect();
            let blocks = self.allocate(map.file, &indexes).await?;
            if options.format == DiskFormat::EagerZeroedThick {
                for (block, count) in crate::allocation::runs(blocks.iter().copied()) {
                    // Without UNMAP: the space must stay allocated.
                    self.store.zero(self.store.extent(block, 0, u64::from(count) * sectors), false, progress).await?;
                }
            }
            map.set(self, &Self::pointers(index, &blocks, of)).await?;
            index += indexes.len() as u32;
        }
        Ok(())
    }

    pub(crate) fn blocks_for(&self, size: u64) -> u32 {
        u32::try_from(size.div_ceil(self.store.geometry.block_bytes())).unwrap_or(u32::MAX)
    }

    /// Opens a disk for reading and writing, and takes its lock.
    ///
    /// Errors: [`DatastoreError::HasChildren`] when other disks are based on it; [`DatastoreError::Locked`].
    pub async fn open(self: &Rc<Self>, name: &str) -> Result<VirtualDisk<D>, DatastoreError> {
        let file = self.lock_file(name, LOCK_PATIENCE).await?;
        self.open_locked(file).await
    }

    async fn open_locked(self: &Rc<Self>, mut file: LockedFile) -> Result<VirtualDisk<D>, DatastoreError> {
        match self.prepare_open(&mut file).await {
            Ok((format, below)) => {
                let (map, size) = (BlockMap::new(file.id()), file.record.value.size.get());
                Ok(self.opened(Some(file), map, format, size, below))
            }
            Err(error) => {
                self.unlock(file).await?;
                Err(error)
            }
        }
    }

    async fn prepare_open(
        self: &Rc<Self>,
        file: &mut LockedFile,
    ) -> Result<(DiskFormat, Vec<Rc<VirtualDisk<D>>>), DatastoreError> {
        let format = Self::format_of(&file.record)?;
        if file.record.value.frozen != 0 {
            if !self.settled_children(file.id()).await?.is_empty() {
                return Err(DatastoreError::HasChildren(file.record.value.name()));
            }
            self.change(file, |file| file.frozen = 0).await?;
        }
        let below = self.open_below(file.record.value.parent()).await?;
        Ok((format, below))
    }

    /// Error for a disk with an unfinished commit, whose content mixes old and new data.
    pub(crate) fn half_committed(name: &str) -> DatastoreError {
        DatastoreError::Unsuitable(format!("the commit of a disk into {name} was interrupted; commit it again first"))
    }

    /// Creates a redo disk over a base, which is frozen from then on.
    ///
    /// Errors: [`DatastoreError::Locked`] when the base is open. The holder of an open disk uses
    /// [`VirtualDisk::snapshot`] instead.
    pub async fn create_linked_clone(self: &Rc<Self>, base: &str, name: &str) -> Result<(), DatastoreError> {
        let mut file = self.lock_file(base, LOCK_PATIENCE).await?;
        let created = self.create_child(&mut file, name).await;
        self.unlock(file).await?;
        self.unlock(created?).await
    }

    /// Freezes a disk whose lock this host has, and creates a redo disk over it.
    pub(crate) async fn create_child(&self, base: &mut LockedFile, name: &str) -> Result<LockedFile, DatastoreError> {
        if base.record.value.frozen == COMMITTING && !self.settled_children(base.id()).await?.is_empty() {
            return Err(Self::half_committed(&base.record.value.name()));
        }
        if base.record.value.frozen != 1 {
            self.change(base, |file| file.frozen = 1).await?;
        }
        let size = base.record.value.size.get();
        let mut child = self.create_record(name, DiskFormat::Redo, size, Some(base.id())).await?;
        match self.publish(&mut child).await {
            Ok(()) => Ok(child),
            Err(error) => {
                self.abandon(child).await?;
                Err(error)
            }
        }
    }
}

/// Value of [`crate::format::File::frozen`] while a child is committed into this disk.
pub(crate) const COMMITTING: u8 = 2;

pub(crate) fn check_size(size: u64) -> Result<(), DatastoreError> {
    match size.is_multiple_of(SECTOR_BYTES as u64) && size > 0 {
        true => Ok(()),
        false => Err(DatastoreError::Unsuitable(format!(
            "{size} bytes: the size of a disk is a multiple of 512, at least 512"
        ))),
    }
}

impl<D: Device> VirtualDisk<D> {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size.get()
    }

    /// Format of the disk.
    pub fn format(&self) -> DiskFormat {
        self.format.get()
    }

    /// Datastore that the disk is on.
    pub fn datastore(&self) -> &Rc<Datastore<D>> {
        &self.on
    }

    /// Locks these blocks; waits for other holders. A task that holds a lock must not request
    /// another one.
    pub(crate) async fn lock_blocks(&self, indexes: Range<u32>) -> RangeGuard<'_> {
        self.blocks.lock(u64::from(indexes.start)..u64::from(indexes.end)).await
    }

    /// Locks all blocks of the disk.
    pub(crate) async fn lock_all_blocks(&self) -> RangeGuard<'_> {
        self.lock_blocks(0..u32::MAX).await
    }

    pub(crate) fn read_only_error() -> DatastoreError {
        DatastoreError::Unsuitable("the disk is open for reading".into())
    }

    pub(crate) fn check_range(&self, offset: u64, bytes: u64) -> Result<(), DatastoreError> {
        let size = self.size.get();
        let whole = (offset | bytes).is_multiple_of(SECTOR_BYTES as u64);
        match offset.checked_add(bytes) {
            Some(end) if whole && end <= size => Ok(()),
            _ => Err(DatastoreError::Range { offset, bytes, size }),
        }
    }

    /// Reads whole sectors.
    pub async fn read(&self, offset: u64, bytes: u64) -> Result<Bytes, DatastoreError> {
        self.check_range(offset, bytes)?;
        let _guest = self.on.store.mover.guest_io();
        let mut data = BytesMut::new();
        let mut at = offset;
        while at < offset + bytes {
            let (content, length) = self.locate(at, offset + bytes - at).await?;
            match content {
                Content::Zeros => data.resize(data.len() + usize::try_from(length).unwrap_or(0), 0),
                Content::Sectors(extent) => {
                    let read = self.on.store.read(extent).await?;
                    if length == bytes {
                        return Ok(read);
                    }
                    data.extend_from_slice(&read);
                }
            }
            at += length;
        }
        Ok(data.freeze())
    }

    /// Grows the disk; a thick one gets its new blocks at once. After an error the disk has its old
    /// size.
    pub async fn grow(&self, size: u64, progress: &dyn Fn(u64)) -> Result<(), DatastoreError> {
        check_size(size)?;
        self.on.check_room(size)?;
        let _new = self.lock_blocks(self.on.blocks_for(self.size())..u32::MAX).await;
        if self.file.lock().await.is_none() {
            return Err(Self::read_only_error());
        }
        let old = self.size();
        if size < old {
            return Err(DatastoreError::Unsuitable(format!("{size} bytes are less than the {old} of the disk")));
        }
        let options = DiskOptions { format: self.format(), size };
        let filled = self.on.fill(&self.map, self.on.blocks_for(old), options, progress).await;
        let mut file = self.file.lock().await;
        let file = file.as_mut().ok_or_else(Self::read_only_error)?;
        let grown = match filled {
            Ok(()) => self.on.change(file, |file| file.size = size.into()).await,
            Err(error) => Err(error),
        };
        match grown {
            Ok(()) => {
                self.size.set(size);
                Ok(())
            }
            Err(error) => {
                self.shrink(file).await;
                Err(error)
            }
        }
    }

    /// Removes blocks behind the end of the disk after a failed [`Self::grow`].
    async fn shrink(&self, file: &LockedFile) {
        let old = self.on.blocks_for(self.size());
        let undone = match self.on.record(file.id().record).await {
            // The disk may have grown although the answer was lost.
            Ok(record) if record.value.size.get() == self.size() => self.on.free_behind(&self.map, old).await,
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        if undone.is_err() {
            self.on.mark_untidy(self.map.file);
        }
    }

    /// Bytes of the blocks that this disk itself owns, including blocks of pointers.
    pub async fn allocated_bytes(&self) -> Result<u64, DatastoreError> {
        let blocks = self.on.blocks_of(self.map.file).await?;
        Ok(blocks.len() as u64 * self.on.store.geometry.block_bytes())
    }

    /// Closes the disk, and releases the lock.
    pub async fn close(self) -> Result<(), DatastoreError> {
        match self.file.into_inner() {
            Some(file) => self.on.unlock(file).await,
            None => Ok(()),
        }
    }

    /// Takes a snapshot: this disk is frozen, and later writes go to a new redo disk over it, which
    /// is returned.
    pub async fn snapshot(mut self, name: &str) -> Result<Self, (Self, DatastoreError)> {
        let mut file = self.file.lock().await;
        let Some(base) = file.as_mut() else {
            drop(file);
            return Err((self, Self::read_only_error()));
        };
        match self.on.create_child(base, name).await {
            Ok(child) => {
                let base = file.take();
                drop(file);
                let on = self.on.clone();
                let (map, size) = (BlockMap::new(child.id()), self.size.get());
                let mut below = std::mem::take(&mut self.below);
                below.insert(0, Rc::new(Self { file: Mutex::new(None), ..self }));
                let top = on.opened(Some(child), map, DiskFormat::Redo, size, below);
                if let Some(base) = base
                    && let Err(error) = on.unlock(base).await
                {
                    return Err((top, error));
                }
                Ok(top)
            }
            Err(error) => {
                drop(file);
                Err((self, error))
            }
        }
    }

    /// Commits a snapshot: copies the content of this disk into the one below, deletes this disk,
    /// and returns the one below, open.
    ///
    /// Errors: [`DatastoreError::HasChildren`] when another disk is based on the one below, or on
    /// this one. After an error the disk's users see the same content as before.
    pub async fn commit(self, progress: &dyn Fn(u64)) -> Result<Self, (Self, DatastoreError)> {
        match self.commit_into_base(progress).await {
            Ok(base) => {
                let top = self.file.into_inner();
                let on = self.on;
                if let Some(mut top) = top {
                    // The base has all content. It stays frozen until this disk is deleted, so that
                    // no disk is ever based on one that changes.
                    let removed = on.remove(&mut top).await;
                    let unlocked = on.unlock(top).await;
                    if let Err(error) = removed.and(unlocked) {
                        return Err((base, error));
                    }
                }
                match base.thaw().await {
                    Ok(()) => Ok(base),
                    Err(error) => Err((base, error)),
                }
            }
            Err(error) => Err((self, error)),
        }
    }

    /// Unfreezes the disk, which has no children any more.
    async fn thaw(&self) -> Result<(), DatastoreError> {
        match self.file.lock().await.as_mut() {
            Some(file) => self.on.change(file, |file| file.frozen = 0).await,
            None => Ok(()),
        }
    }

    async fn commit_into_base(&self, progress: &dyn Fn(u64)) -> Result<Self, DatastoreError> {
        let on = &self.on;
        let Some((parent, below)) = self.below.split_first() else {
            return Err(DatastoreError::Unsuitable("the disk has no base".into()));
        };
        let name = on.record(parent.map.file.record).await?.value.name();
        if !on.settled_children(self.map.file).await?.is_empty() {
            return Err(DatastoreError::HasChildren("the snapshot".into()));
        }
        // Found by record: it may have been renamed, and another file may have its name.
        let file = on.lock_record(parent.map.file.record, &name, LOCK_PATIENCE).await?;
        let file = file.ok_or_else(|| DatastoreError::NoSuchFile(name.clone()))?;
        if file.id() != parent.map.file {
            on.unlock(file).await?;
            return Err(DatastoreError::NoSuchFile(name));
        }
        match on.settled_children(parent.map.file).await {
            Ok(children) if children == [self.map.file] => {}
            found => {
                on.unlock(file).await?;
                return Err(found.err().unwrap_or(DatastoreError::HasChildren(name)));
            }
        }
        // The base stays frozen until the copy is complete and this disk is deleted; until then
        // this disk holds the valid content.
        let base =
            on.opened(Some(file), BlockMap::new(parent.map.file), parent.format(), parent.size.get(), below.to_vec());
        // Set if an earlier commit was interrupted.
        let mut begun = false;
        let marked = match base.file.lock().await.as_mut() {
            Some(file) => {
                begun = file.record.value.frozen == COMMITTING;
                on.change(file, |file| file.frozen = COMMITTING).await
            }
            None => Err(Self::read_only_error()),
        };
        let committed = match marked {
            Ok(()) => self.commit_blocks(&base, &mut begun, progress).await,
            Err(error) => Err(error),
        };
        match committed {
            Ok(()) => Ok(base),
            Err(error) => {
                on.mark_untidy(base.map.file);
                if !begun && let Some(file) = base.file.lock().await.as_mut() {
                    // The base is unchanged, so the commit need not be repeated. If this update
                    // fails, it must be.
                    let _unmarked = on.change(file, |file| file.frozen = 1).await;
                }
                base.close().await?;
                Err(error)
            }
        }
    }

    /// Copies the content of this disk: first into blocks that the base has, then into newly
    /// claimed blocks. When no block is free, this disk frees blocks already copied; the base shows
    /// through there. Sets `begun` before the content of the base first changes.
    async fn commit_blocks(&self, base: &Self, begun: &mut bool, progress: &dyn Fn(u64)) -> Result<(), DatastoreError> {
        let on = &self.on;
        let (mine, theirs) = (self.size.get(), base.size.get());
        if mine > theirs {
            base.grow(mine, &|_| ()).await?;
        }
        let sectors = u64::from(on.store.geometry.block_sectors);
        let mut over = Vec::new();
        for holes in [false, true] {
            for index in 0..on.blocks_for(mine) {
                let Pointer::Data(from) = self.map.get(on, index).await? else { continue };
                let to = match base.map.get(on, index).await?.block() {
                    // Copied in the first pass.
                    Some(_) if holes => continue,
                    Some(block) => block,
                    None if !holes => continue,
                    None => self.block_for(base, index, &mut over).await?,
                };
                *begun = true;
                let (from_lba, to_lba) = (on.store.extent(from, 0, 0).lba, on.store.extent(to, 0, 0).lba);
                let device = &on.store.device;
                on.store.mover.copy((device, from_lba), (device, to_lba), sectors, progress).await?;
                base.map.set(on, &[(index, Pointer::Data(to))]).await?;
                over.push((index, from));
            }
        }
        Ok(())
    }

    /// Claims a block for a hole of the base.
    async fn block_for(&self, base: &Self, index: u32, over: &mut Vec<(u32, u32)>) -> Result<u32, DatastoreError> {
        let claimed = match self.on.allocate(base.map.file, &[index]).await {
            Err(DatastoreError::Full) if !over.is_empty() => {
                self.free_blocks_of(&std::mem::take(over), Pointer::Hole).await?;
                self.on.allocate(base.map.file, &[index]).await
            }
            claimed => claimed,
        };
        claimed?.first().copied().ok_or(DatastoreError::Full)
    }
}
