//! Copies: the content of a disk and the disks below it, or of a whole logical unit, into a new
//! disk; by the array if it can.

use crate::datastore::Datastore;
use crate::disk::{Content, DiskOptions, VirtualDisk};
use crate::error::DatastoreError;
use crate::format::Pointer;
use crate::map::BlockMap;
use crate::records::DiskFormat;
use crate::sector::SECTOR_BYTES;
use crate::whole_unit::WholeUnit;
use data_mover::{Device, Extent, Moved, Patient};
use std::rc::Rc;

/// Blocks claimed, copied and published in one step.
const STEP_BLOCKS: u32 = 256;

/// Source of a copy.
pub enum Source<'a, D> {
    /// A virtual disk and the disks below it.
    Disk(&'a VirtualDisk<D>),
    /// A whole logical unit.
    Unit(&'a WholeUnit<D>),
}

impl<D> Clone for Source<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Source<'_, D> {}

impl<D: Device> Source<'_, D> {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Disk(disk) => disk.size(),
            Self::Unit(unit) => unit.size(),
        }
    }

    /// The logical unit that the extents of [`Self::locate`] are on.
    pub fn device(&self) -> &Patient<D> {
        match self {
            Self::Disk(disk) => &disk.on.store.device,
            Self::Unit(unit) => unit.device(),
        }
    }

    /// Checks that the source did not change, before a copy is published: see
    /// [`VirtualDisk::check_unchanged`]. Always succeeds for a logical unit, whose changes cannot
    /// be detected.
    pub async fn check_unchanged(&self) -> Result<(), DatastoreError> {
        match self {
            Self::Disk(disk) => disk.check_unchanged().await,
            Self::Unit(_) => Ok(()),
        }
    }

    /// Content at `offset`, for at most `bytes`, both in whole sectors; returned with its length in
    /// bytes.
    pub async fn locate(&self, offset: u64, bytes: u64) -> Result<(Content, u64), DatastoreError> {
        match self {
            Self::Disk(disk) => disk.locate(offset, bytes).await,
            Self::Unit(unit) => unit.locate(offset, bytes).await,
        }
    }
}

/// Content of the source for a part of a block.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Offset from the beginning of the block, in bytes.
    offset: u64,
    bytes: u64,
    content: Content,
}

impl Part {
    fn is_data(&self) -> bool {
        self.content != Content::Zeros
    }
}

/// One copy command: sectors of the source, and the LBA that they go to.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: Extent,
    to: u64,
}

/// Format with which a copy's blocks are allocated in advance. A thick disk starts as zeroed thick:
/// blocks are zeroed when first written.
fn shape(format: DiskFormat) -> Result<DiskFormat, DatastoreError> {
    match format {
        DiskFormat::Thin => Ok(DiskFormat::Thin),
        DiskFormat::ZeroedThick | DiskFormat::EagerZeroedThick => Ok(DiskFormat::ZeroedThick),
        DiskFormat::Redo => {
            Err(DatastoreError::Unsuitable("a copy is thin, zeroed thick or eager zeroed thick".into()))
        }
    }
}

impl<D: Device> Datastore<D> {
    /// Copies a disk, on this datastore or another one, into a new disk here. Returns who moved how
    /// many bytes; `progress` receives bytes done, holes included. The new disk appears when the
    /// copy is complete. When the copy fails, the new disk is removed. When the future is dropped,
    /// a host that next needs the record removes it.
    pub async fn clone_disk(
        self: &Rc<Self>,
        source: &VirtualDisk<D>,
        name: &str,
        format: DiskFormat,
        progress: &dyn Fn(u64),
    ) -> Result<Moved, DatastoreError> {
        let disk = self.begin_disk(name, DiskOptions { format, size: source.size() }).await?;
        let copied = match disk.copy_from(Source::Disk(source), 0, source.size(), progress).await {
            Ok(moved) => match source.check_unchanged().await {
                Ok(()) => disk.publish().await.map(|()| moved),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        match copied {
            Ok(moved) => {
                disk.close().await?;
                Ok(moved)
            }
            Err(error) => {
                disk.abandon().await?;
                Err(error)
            }
        }
    }

    /// Creates a disk to be filled with [`VirtualDisk::copy_from`]. It is invisible before
    /// [`VirtualDisk::publish`], and is removed if this host dies earlier. A thick disk gets its
    /// blocks at once.
    pub async fn begin_disk(
        self: &Rc<Self>,
        name: &str,
        options: DiskOptions,
    ) -> Result<VirtualDisk<D>, DatastoreError> {
        crate::disk::check_size(options.size)?;
        let shape = shape(options.format)?;
        let file = self.create_record(name, options.format, options.size, None).await?;
        let map = BlockMap::new(file.id());
        let disk = self.opened(Some(file), map, options.format, options.size, Vec::new());
        let shaped = DiskOptions { format: shape, ..options };
        match self.fill(&disk.map, 0, shaped, &|_| ()).await {
            Ok(()) => Ok(disk),
            Err(error) => {
                disk.abandon().await?;
                Err(error)
            }
        }
    }
}

impl<D: Device> VirtualDisk<D> {
    /// Fills a part of this disk from the same place of the source. Data is copied, by the array if
    /// it can; a thin disk gets no blocks where the source has no data. `offset` is a multiple of
    /// the block size; `bytes` too, except at the end. Other parts of both disks may be written
    /// meanwhile; this part of either must not. `progress` receives bytes done, holes included.
    pub async fn copy_from(
        &self,
        source: Source<'_, D>,
        offset: u64,
        bytes: u64,
        progress: &dyn Fn(u64),
    ) -> Result<Moved, DatastoreError> {
        let block_bytes = self.on.store.geometry.block_bytes();
        let end = offset.saturating_add(bytes).min(source.size());
        if !offset.is_multiple_of(block_bytes) || end > self.size() {
            return Err(DatastoreError::Range { offset, bytes, size: self.size() });
        }
        let mut moved = Moved::default();
        let last = self.on.blocks_for(end);
        let mut index = self.on.blocks_for(offset);
        while index < last {
            let count = STEP_BLOCKS.min(last - index);
            moved.add(&self.copy_blocks(source, (index, count), end, progress).await?);
            index += count;
        }
        Ok(moved)
    }

    /// Copies the blocks `first..first + count`, up to byte `end`.
    async fn copy_blocks(
        &self,
        source: Source<'_, D>,
        (first, count): (u32, u32),
        end: u64,
        progress: &dyn Fn(u64),
    ) -> Result<Moved, DatastoreError> {
        let (on, store) = (&self.on, &self.on.store);
        let block_bytes = store.geometry.block_bytes();
        let mut blocks: Vec<(u32, Vec<Part>)> = Vec::new();
        for index in first..first + count {
            let start = u64::from(index) * block_bytes;
            let end = (start + block_bytes).min(end);
            let mut parts = Vec::new();
            let mut at = start;
            while at < end {
                let (content, bytes) = source.locate(at, end - at).await?;
                parts.push(Part { offset: at - start, bytes, content });
                at += bytes;
            }
            blocks.push((index, parts));
        }
        // Held until the blocks are published, so that writes to earlier blocks do not zero these
        // ahead.
        let _mine = self.lock_blocks(first..first + count).await;
        let places = self.places(&blocks).await?;
        let mut copies: Vec<Piece> = Vec::new();
        // Blocks without data, and blocks with some: the progress of the latter is that of their
        // data.
        let (mut zeros, mut below) = (Vec::new(), Vec::new());
        let mut published = Vec::new();
        let mut places = places.into_iter().peekable();
        for (index, parts) in &blocks {
            let place = places.next_if(|place| place.0 == *index);
            let data = parts.iter().any(Part::is_data);
            let without: u64 = parts.iter().filter(|part| !part.is_data()).map(|part| part.bytes).sum();
            let Some((_, block)) = place.filter(|_| data || self.format() == DiskFormat::EagerZeroedThick) else {
                progress(without);
                continue;
            };
            published.push((*index, Pointer::Data(block)));
            let whole = store.extent(block, 0, store.geometry.block_sectors.into());
            let covered: u64 = parts.iter().filter(|part| part.is_data()).map(|part| part.bytes).sum();
            if !data {
                push_extent(&mut zeros, whole);
            } else if covered < block_bytes {
                push_extent(&mut below, whole);
                progress(without);
            }
            for part in parts {
                if let Content::Sectors(from) = part.content {
                    push_piece(&mut copies, Piece { from, to: whole.lba + part.offset / SECTOR_BYTES as u64 });
                }
            }
        }
        let mut moved = Moved::default();
        let unmap = self.format() == DiskFormat::Thin;
        for extent in below {
            moved.add(&store.mover.zero(&store.device, extent, unmap, &|_| ()).await?);
        }
        for extent in zeros {
            moved.add(&store.mover.zero(&store.device, extent, unmap, progress).await?);
        }
        for piece in copies {
            let from = (source.device(), piece.from.lba);
            moved.add(&store.mover.copy(from, (&store.device, piece.to), piece.from.blocks, progress).await?);
        }
        self.map.set(on, &published).await?;
        Ok(moved)
    }

    /// Returns (number in the file, block) for these numbers. Blocks that get data and do not exist
    /// are claimed. Claimed blocks that stay unused because the copy fails are freed with the disk.
    async fn places(&self, blocks: &[(u32, Vec<Part>)]) -> Result<Vec<(u32, u32)>, DatastoreError> {
        let (mut wanted, mut places) = (Vec::new(), Vec::new());
        for (index, parts) in blocks {
            match self.map.get(&self.on, *index).await?.block() {
                Some(block) => places.push((*index, block)),
                None if parts.iter().any(Part::is_data) => wanted.push(*index),
                None => {}
            }
        }
        if !wanted.is_empty() {
            places.extend(wanted.iter().copied().zip(self.on.allocate(self.map.file, &wanted).await?));
        }
        places.sort_unstable();
        Ok(places)
    }

    /// Publishes a disk that was begun: it is visible from now on.
    pub async fn publish(&self) -> Result<(), DatastoreError> {
        let mut file = self.file.lock().await;
        let file = file.as_mut().ok_or_else(VirtualDisk::<D>::read_only_error)?;
        self.on.publish(file).await
    }

    /// Abandons a disk that was begun, and frees its blocks and its record.
    pub async fn abandon(self) -> Result<(), DatastoreError> {
        match self.file.into_inner() {
            Some(file) => self.on.abandon(file).await,
            None => Ok(()),
        }
    }
}

fn push_extent(extents: &mut Vec<Extent>, next: Extent) {
    match extents.last_mut() {
        Some(last) if last.lba + last.blocks == next.lba => last.blocks += next.blocks,
        _ => extents.push(next),
    }
}

fn push_piece(pieces: &mut Vec<Piece>, next: Piece) {
    match pieces.last_mut() {
        Some(last) if last.from.lba + last.from.blocks == next.from.lba && last.to + last.from.blocks == next.to => {
            last.from.blocks += next.from.blocks;
        }
        _ => pieces.push(next),
    }
}
