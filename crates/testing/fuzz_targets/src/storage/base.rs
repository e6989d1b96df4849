//! Valid pool as blocks, with the place of each block's checksum: the facts needed to change a
//! block so that it is still accepted.
//!
//! A checksum is found by its value: a block's CRC-32C is in the page above it, wherever that is.
//! This code therefore knows nothing of the layout of pages, tables and roots, only the bytes that
//! each checksum covers (docs/on-disk-format.md).

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, checksum};
use media::{FormatOptions, LocalMedia, SimDisk, SimOptions};
use pool::{ByteRange, CatalogChange, Core, ObjectId, ObjectKind, Operation, Options, Reservation};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

pub(super) const BLOCK: usize = media::BLOCK_BYTES;
pub(super) const UUID: [u8; 16] = [7; 16];
/// Blocks of the device: superblocks, log, and four segments.
pub(super) const DEVICE_BLOCKS: u64 = 2048 * 5;
const LOG_BYTES: u64 = 256 << 10;
/// First block of the log ring.
pub(super) const LOG_FIRST: u64 = 256;
const LOG_END: u64 = LOG_FIRST + LOG_BYTES / BLOCK as u64;
/// Bytes under the checksum of a map page.
const PAGE_BYTES: usize = 64 + 256 * 12;

pub(super) type Block = Box<[u8; BLOCK]>;

/// Blocks with content, and their checksums' places.
#[derive(Clone)]
pub(super) struct Image {
    pub blocks: BTreeMap<u64, Block>,
    /// Block and offset of every copy of a block's checksum.
    references: &'static HashMap<u64, Vec<(u64, usize)>>,
    /// First blocks of the log's frames, in order.
    frames: &'static [u64],
}

/// Options for a pool of the targets.
pub(super) fn options(incarnation: u64) -> Options {
    Options { memory_bytes: 8 << 20, incarnation, destage_batch: 64, ..Options::default() }
}

/// Blocks of the four superblock copies.
pub(super) const SUPERBLOCKS: [u64; 4] = [0, 1, LOG_END, DEVICE_BLOCKS - 1];

pub(super) fn crc64(bytes: &[u8]) -> u64 {
    checksum(CrcAlgorithm::Crc64Nvme, bytes)
}

fn crc32c(bytes: &[u8]) -> u32 {
    let [a, b, c, d, ..] = checksum(CrcAlgorithm::Crc32Iscsi, bytes).to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

fn is_page(block: &[u8; BLOCK]) -> bool {
    block.starts_with(b"WLpg")
}

/// Checksum of a block's present content, as other blocks store it.
fn sum(block: &mut [u8; BLOCK]) -> u32 {
    if !is_page(block) {
        return crc32c(block);
    }
    block[4..8].fill(0);
    let crc = crc32c(&block[..PAGE_BYTES]);
    block[4..8].copy_from_slice(&crc.to_le_bytes());
    crc
}

fn u64_at(block: &[u8; BLOCK], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&block[at..at + 8]);
    u64::from_le_bytes(bytes)
}

fn u32_at(block: &[u8; BLOCK], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

/// Corrects the checksum of a superblock copy.
pub(super) fn seal_superblock(block: &mut [u8; BLOCK]) {
    let crc = crc64(&block[..BLOCK - 8]);
    block[BLOCK - 8..].copy_from_slice(&crc.to_le_bytes());
}

impl Image {
    /// Returns the block; a missing one is created with zeros.
    pub fn block(&mut self, number: u64) -> &mut [u8; BLOCK] {
        self.blocks.entry(number).or_insert_with(|| Box::new([0; BLOCK]))
    }

    /// Corrects every checksum that covers a changed block: its own, its parent's copy, and so on
    /// up to the superblock.
    pub fn seal(&mut self, changed: BTreeSet<u64>) {
        let mut pending = changed;
        for _ in 0..5000 {
            let Some(number) = pending.pop_first() else { break };
            if SUPERBLOCKS.contains(&number) || (LOG_FIRST..LOG_END).contains(&number) {
                continue;
            }
            let crc = sum(self.block(number));
            for &(holder, at) in self.references.get(&number).into_iter().flatten() {
                self.block(holder)[at..at + 4].copy_from_slice(&crc.to_le_bytes());
                pending.insert(holder);
            }
        }
        self.seal_log();
        for number in SUPERBLOCKS {
            seal_superblock(self.block(number));
        }
    }

    /// Corrects the frames of the log, each with the checksum of the one before it.
    fn seal_log(&mut self) {
        let mut previous: Option<u64> = None;
        for &first in self.frames {
            if let Some(previous) = previous {
                self.block(first)[64..72].copy_from_slice(&previous.to_le_bytes());
            }
            self.block(first)[8..16].fill(0);
            let bytes = u32_at(self.block(first), 72) as usize;
            let mut content = Vec::new();
            let mut number = first;
            while content.len() < bytes.min(1 << 20) && number < LOG_END {
                content.extend_from_slice(self.block(number));
                number += 1;
            }
            content.truncate(bytes);
            let crc = crc64(&content);
            self.block(first)[8..16].copy_from_slice(&crc.to_le_bytes());
            previous = Some(crc);
        }
    }

    /// Creates a disk with these blocks.
    pub fn disk(&self) -> SimDisk {
        let disk = SimDisk::new(SimOptions::immediate(7, DEVICE_BLOCKS));
        for (number, content) in &self.blocks {
            disk.damage(*number, |block| block.copy_from_slice(&content[..]));
        }
        disk
    }
}

/// Pool with volumes, a clone, a snapshot, a reservation, documents and a drop queue, and a log to
/// replay.
pub(super) fn dirty() -> Image {
    static IMAGE: OnceLock<BTreeMap<u64, Block>> = OnceLock::new();
    static REFERENCES: OnceLock<HashMap<u64, Vec<(u64, usize)>>> = OnceLock::new();
    static FRAMES: OnceLock<Vec<u64>> = OnceLock::new();
    let blocks = IMAGE.get_or_init(|| make(true));
    Image {
        blocks: blocks.clone(),
        references: REFERENCES.get_or_init(|| references(blocks)),
        frames: FRAMES.get_or_init(|| frames(blocks)),
    }
}

/// Pool like [`dirty`] after a checkpoint: nothing to replay.
pub(super) fn clean() -> Image {
    static IMAGE: OnceLock<BTreeMap<u64, Block>> = OnceLock::new();
    static REFERENCES: OnceLock<HashMap<u64, Vec<(u64, usize)>>> = OnceLock::new();
    let blocks = IMAGE.get_or_init(|| make(false));
    Image { blocks: blocks.clone(), references: REFERENCES.get_or_init(|| references(blocks)), frames: &[] }
}

fn references(blocks: &BTreeMap<u64, Block>) -> HashMap<u64, Vec<(u64, usize)>> {
    let mut owners: HashMap<u32, u64> = HashMap::new();
    for (number, block) in blocks {
        if SUPERBLOCKS.contains(number) || (LOG_FIRST..LOG_END).contains(number) {
            continue;
        }
        owners.insert(sum(&mut block.clone()), *number);
    }
    let mut found: HashMap<u64, Vec<(u64, usize)>> = HashMap::new();
    for (holder, block) in blocks {
        for at in 0..BLOCK - 3 {
            let Some(&number) = owners.get(&u32_at(block, at)) else { continue };
            // A page's own checksum is corrected together with the page.
            if number != *holder {
                found.entry(number).or_default().push((*holder, at));
            }
        }
    }
    found
}

fn frames(blocks: &BTreeMap<u64, Block>) -> Vec<u64> {
    let mut frames: Vec<(u64, u64)> = Vec::new();
    for (number, block) in blocks.range(LOG_FIRST..LOG_END) {
        if block.starts_with(b"WLframe1") {
            frames.push((u64_at(block, 40), *number));
        }
    }
    frames.sort_unstable();
    frames.into_iter().map(|(_, number)| number).collect()
}

struct Maker {
    core: Core<LocalMedia<SimDisk>>,
    stamp: u64,
}

impl Maker {
    fn run(&mut self, operation: Operation) {
        let id = self.core.submit(operation);
        for _ in 0..100_000 {
            while let Some((found, result)) = self.core.poll_finished() {
                if found == id {
                    assert!(result.is_ok(), "the pool to begin with cannot be made: {result:?}");
                    return;
                }
            }
            self.core.pump(1);
        }
        panic!("an operation never finishes");
    }

    fn change(&mut self, change: CatalogChange) {
        self.run(Operation::Catalog(vec![change]));
    }

    /// No two blocks are equal, so that a checksum identifies one block.
    fn write(&mut self, object: ObjectId, block: u64, count: u64) {
        let mut data = Vec::new();
        for _ in 0..count {
            self.stamp = self.stamp.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            data.extend(self.stamp.to_le_bytes().into_iter().cycle().take(BLOCK));
        }
        let offset = block * BLOCK as u64;
        self.run(Operation::Write { object, offset, data: Bytes::from(data), forced: false });
    }

    fn create(&mut self, blocks: u64) -> ObjectId {
        let id = self.core.new_object_id();
        self.change(CatalogChange::CreateVolume { id, size_bytes: blocks * BLOCK as u64 });
        id
    }

    fn clone_of(&mut self, source: ObjectId, kind: ObjectKind) -> ObjectId {
        let id = self.core.new_object_id();
        self.change(CatalogChange::CloneObject { source, id, kind });
        id
    }

    fn document(&mut self, key: &str, value: &[u8]) {
        self.change(CatalogChange::PutDocument { key: key.into(), value: Bytes::copy_from_slice(value) });
    }
}

fn make(with_log: bool) -> BTreeMap<u64, Block> {
    let disk = SimDisk::new(SimOptions::immediate(7, DEVICE_BLOCKS));
    let format = FormatOptions { uuid: UUID, log_bytes: LOG_BYTES, root: pool::initial_root(UUID), overwrite: false };
    let media = match LocalMedia::format(disk.clone(), format) {
        Ok(media) => media,
        Err(error) => panic!("{error}"),
    };
    let core = match Core::open(media, options(1), &mut |_| {}) {
        Ok((core, _)) => core,
        Err(error) => panic!("{error}"),
    };
    let mut maker = Maker { core, stamp: 1 };
    let volume = maker.create(70_000);
    let reserved = maker.create(600);
    let reservation = Some(Reservation { overwrite_percent: 50 });
    maker.change(CatalogChange::SetReservation { id: reserved, reservation });
    for (block, count) in [(0, 9), (255, 2), (300, 1), (65_535, 3)] {
        maker.write(volume, block, count);
    }
    maker.write(reserved, 3, 4);
    let snapshot = maker.clone_of(volume, ObjectKind::Snapshot);
    let clone = maker.clone_of(snapshot, ObjectKind::Volume);
    maker.write(clone, 1, 2);
    let dropped = maker.clone_of(clone, ObjectKind::Volume);
    maker.write(dropped, 400, 3);
    maker.document("array", br#"{"id":"00000000-0000-4000-8000-000000000001"}"#);
    maker.document("volume/1", &[b'v'; 300]);
    maker.change(CatalogChange::DeleteObject { id: dropped });
    if let Err(error) = maker.core.checkpoint() {
        panic!("{error}");
    }
    if with_log {
        maker.write(volume, 40, 1);
        maker.write(volume, 256, 2);
        maker.write(clone, 65_000, 1);
        let source_offset = 255 * BLOCK as u64;
        let length = 2 * BLOCK as u64;
        maker.run(Operation::Clone {
            source: volume,
            source_offset,
            destination: clone,
            destination_offset: source_offset,
            length,
        });
        maker.run(Operation::Zero { object: volume, ranges: vec![ByteRange::new(0, 3 * BLOCK as u64)], forced: false });
        let second = maker.clone_of(volume, ObjectKind::Snapshot);
        maker.document("volume/2", &[b'w'; 30]);
        maker.change(CatalogChange::Resize { id: clone, size_bytes: 1 << 28 });
        maker.change(CatalogChange::DeleteObject { id: second });
        maker.change(CatalogChange::DeleteDocument { key: "volume/1".into() });
    }
    disk.stored().into_iter().map(|number| (number, Box::new(disk.peek(number).0))).collect()
}
