//! Copies: everything that a disk and those below it hold, or a whole logical unit, into a disk of its own; by the array if it can.

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

/// Blocks handled at once: claimed, copied and published.
const STEP_BLOCKS: u32 = 256;

/// Where a copy comes from.
pub enum Source<'a, D> {
    /// A virtual disk, with those below it.
    Disk(&'a VirtualDisk<D>),
    /// All of a logical unit.
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

    /// To be asked before a copy counts: see [`VirtualDisk::still_as_opened`]. Of a logical unit nobody can tell.
    pub async fn still_as_opened(&self) -> Result<(), DatastoreError> {
        match self {
            Self::Disk(disk) => disk.still_as_opened().await,
            Self::Unit(_) => Ok(()),
        }
    }

    /// What is at `offset`, for at most `bytes`, both in whole sectors, and its length in bytes.
    pub async fn locate(&self, offset: u64, bytes: u64) -> Result<(Content, u64), DatastoreError> {
        match self {
            Self::Disk(disk) => disk.locate(offset, bytes).await,
            Self::Unit(unit) => unit.locate(offset, bytes).await,
        }
    }
}

/// What the source has for a part of a block.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Where it begins, in bytes from the beginning of the block.
    offset: u64,
    bytes: u64,
    content: Content,
}

impl Part {
    fn is_data(&self) -> bool {
        self.content != Content::Zeros
    }
}

/// A piece of the work: sectors of the source, and where they go.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: Extent,
    to: u64,
}

/// Blocks that a thick disk has before anything is copied are zeroed when they are first written.
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
    /// Copies a disk, on this datastore or another one, into a new disk here. Returns who moved how much; `progress` hears of bytes that are
    /// done, holes too. The new disk is there when all of it is; when the copy fails, what was made is removed, and when it is cancelled (dropped),
    /// it is removed by whoever needs the record next.
    pub async fn clone_disk(
        self: &Rc<Self>,
        source: &VirtualDisk<D>,
        name: &str,
        format: DiskFormat,
        progress: &dyn Fn(u64),
    ) -> Result<Moved, DatastoreError> {
        let disk = self.begin_disk(name, DiskOptions { format, size: source.size() }).await?;
        let copied = match disk.copy_from(Source::Disk(source), 0, source.size(), progress).await {
            Ok(moved) => match source.still_as_opened().await {
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

    /// Makes a disk to be filled with [`VirtualDisk::copy_from`]: nobody sees it before [`VirtualDisk::publish`], and it is gone when this host
    /// dies before. A thick one has its blocks.
    pub async fn begin_disk(
        self: &Rc<Self>,
        name: &str,
        options: DiskOptions,
    ) -> Result<VirtualDisk<D>, DatastoreError> {
        crate::disk::check_size(options.size)?;
        let shape = shape(options.format)?;
        let file = self.make(name, options.format, options.size, None).await?;
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
    /// Fills a part of this disk from the same place of the source: data is copied, by the array if it can, and where the source has none a thin
    /// disk gets no blocks. `offset` is a multiple of the block size; `bytes` too, except at the end. Other parts may be written meanwhile, of
    /// the source too; this part of either must not. `progress` hears of bytes that are done, holes too.
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

    /// Copies some blocks.
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
        // Until they are published: nobody zeroes them ahead of writes to the blocks before.
        let _mine = self.lock_blocks(first..first + count).await;
        let places = self.places(&blocks).await?;
        let mut copies: Vec<Piece> = Vec::new();
        // Blocks without data, and those with some: their progress is that of the data.
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

    /// The blocks of this disk for some of its numbers; those that get data and have none are claimed. What is claimed and not used in the end,
    /// because the copy fails, goes with the disk.
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

    /// A disk that was begun is there from now on.
    pub async fn publish(&self) -> Result<(), DatastoreError> {
        let mut file = self.file.lock().await;
        let file = file.as_mut().ok_or_else(VirtualDisk::<D>::only_read)?;
        self.on.publish(file).await
    }

    /// Gives up a disk that was begun: everything that it has comes back.
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
