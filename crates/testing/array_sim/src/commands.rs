//! SCSI commands of a simulated host: drawn from the seed, with what they mean for the model.

use crate::model::Value;
use crate::world::{COPIES, Kind, LOCKS, WINDOW};
use bytes::Bytes;
use initiator::cdb;
use iscsi::initiator::TransferRequest;
use random::Random;
use random::sector::numbered;
use std::ops::Range;

/// Bytes of a logical block.
pub(crate) const BLOCK_BYTES: usize = 512;

/// A command and its meaning.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub kind: Kind,
    pub volume: usize,
    pub blocks: Range<usize>,
    pub cdb: [u8; 16],
    pub transfer: TransferRequest,
    pub meaning: Meaning,
}

#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// Its Data-In is the blocks.
    Reads,
    /// It writes the blocks; `certain` as in the model.
    Writes { value: Values, certain: bool },
    /// It compares its one block with a stamp and writes another.
    Swaps { expected: u64, stamp: u64 },
    /// It concerns no content.
    Other,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    Stamp(u64),
    /// The first of the blocks that are copied.
    CopyFrom(usize),
}

impl Values {
    /// The value of the block at this offset of the command.
    pub(crate) fn at(self, offset: usize) -> Value {
        match self {
            Self::Stamp(stamp) => Value::Stamp(stamp),
            Self::CopyFrom(first) => Value::CopyOf(first + offset),
        }
    }
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} of volume {} blocks {}..{}", self.kind, self.volume, self.blocks.start, self.blocks.end)
    }
}

/// Content of blocks with a stamp.
pub(crate) fn content(stamp: u64, blocks: usize) -> Vec<u8> {
    numbered(stamp).repeat(blocks)
}

fn extent(random: &Random, within: Range<u64>) -> Range<usize> {
    let longest = [1, 8, 8, 32, 64][random.below(5) as usize].min(within.end - within.start);
    let length = random.below(longest) + 1;
    let start = within.start + random.below(within.end - within.start - length + 1);
    // Half of them as hosts align them.
    let start = if random.chance(50) && start / 8 * 8 >= within.start { start / 8 * 8 } else { start };
    start as usize..(start + length) as usize
}

fn short(blocks: &Range<usize>) -> u32 {
    u32::try_from(blocks.len()).unwrap_or(0)
}

/// What a command needs to know of the world.
pub(crate) struct Scene<'a> {
    pub volume: usize,
    /// Unused by any other command.
    pub stamp: u64,
    /// A stamp that a lock block may have.
    pub lock: &'a dyn Fn(usize) -> u64,
    /// Designator of the volume, for EXTENDED COPY.
    pub designator: [u8; 16],
    pub key: u64,
}

/// A command of a kind.
pub(crate) fn draw(kind: Kind, random: &Random, scene: &Scene<'_>) -> Command {
    let none = (TransferRequest::None, Meaning::Other);
    let stamp = scene.stamp;
    let blocks = match kind {
        Kind::CompareAndWrite => extent(random, 0..LOCKS).start,
        _ => 0,
    };
    let mut blocks = match kind {
        Kind::CompareAndWrite => blocks..blocks + 1,
        Kind::Read => extent(random, 0..WINDOW),
        Kind::Write | Kind::WriteSame | Kind::Zero | Kind::Unmap => extent(random, LOCKS..WINDOW),
        Kind::Copy => extent(random, COPIES..WINDOW),
        _ => 0..0,
    };
    let lba = blocks.start as u64;
    let writes = |value, certain| Meaning::Writes { value, certain };
    let (cdb, (transfer, meaning)) = match kind {
        Kind::Read => {
            let bytes = u32::try_from(blocks.len() * BLOCK_BYTES).unwrap_or(0);
            (cdb::read16(lba, short(&blocks)), (TransferRequest::In(bytes), Meaning::Reads))
        }
        Kind::Write => {
            let data = Bytes::from(content(stamp, blocks.len()));
            let cdb = cdb::write16(lba, short(&blocks), random.chance(10));
            (cdb, (TransferRequest::Out(data), writes(Values::Stamp(stamp), true)))
        }
        Kind::CompareAndWrite => {
            let expected = (scene.lock)(blocks.start);
            let mut data = content(expected, 1);
            data.extend(content(stamp, 1));
            let transfer = TransferRequest::Out(data.into());
            (cdb::compare_and_write(lba, 1), (transfer, Meaning::Swaps { expected, stamp }))
        }
        Kind::WriteSame => {
            let data = Bytes::from(content(stamp, 1));
            let cdb = cdb::write_same16(lba, short(&blocks), false, false);
            (cdb, (TransferRequest::Out(data), writes(Values::Stamp(stamp), true)))
        }
        Kind::Zero => {
            let cdb = cdb::write_same16(lba, short(&blocks), random.chance(50), true);
            (cdb, (TransferRequest::None, writes(Values::Stamp(0), true)))
        }
        Kind::Unmap => {
            let list = cdb::unmap_list(&[(lba, short(&blocks))]);
            let cdb = cdb::unmap(u16::try_from(list.len()).unwrap_or(0));
            (cdb, (TransferRequest::Out(list.into()), writes(Values::Stamp(0), false)))
        }
        Kind::Copy => {
            let room = COPIES - LOCKS;
            let length = (blocks.len() as u64).min(room);
            blocks.end = blocks.start + length as usize;
            let source = LOCKS + random.below(room - length + 1);
            let segment = cdb::CopySegment {
                source: 0,
                destination: 0,
                source_lba: source,
                destination_lba: lba,
                blocks: u16::try_from(length).unwrap_or(0),
            };
            let list = cdb::extended_copy_list(&[scene.designator], &[segment]);
            let cdb = cdb::extended_copy(u32::try_from(list.len()).unwrap_or(0));
            let value = Values::CopyFrom(usize::try_from(source).unwrap_or(0));
            (cdb, (TransferRequest::Out(list.into()), writes(value, true)))
        }
        Kind::Flush => (cdb::synchronize_cache16(0, 0), none),
        Kind::Register => reserve_out(0x06, 0, 0, scene.key),
        Kind::Reserve => reserve_out(0x01, 0x05, scene.key, 0),
        Kind::Release => reserve_out(0x03, 0, scene.key, 0),
        _ => (cdb::test_unit_ready(), none),
    };
    Command { kind, volume: scene.volume, blocks, cdb, transfer, meaning }
}

/// PERSISTENT RESERVE OUT, SPC-4 §6.16.
fn reserve_out(action: u8, kind: u8, key: u64, new_key: u64) -> ([u8; 16], (TransferRequest, Meaning)) {
    let mut list = Vec::with_capacity(24);
    list.extend(key.to_be_bytes());
    list.extend(new_key.to_be_bytes());
    list.extend([0; 8]);
    (cdb::padded(&[0x5F, action, kind, 0, 0, 0, 0, 0, 24]), (TransferRequest::Out(list.into()), Meaning::Other))
}
