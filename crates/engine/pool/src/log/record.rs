//! Records of the log: one change of the map or the catalog each. Several records of one operation always share a
//! frame, which makes the operation atomic. Little-endian; sizes in bytes:
//!
//! ```text
//! 0 kind (1) | 1 flags (1) | 2 zero (2) | 4 length of the record (4) | 8 object (8) | by kind:
//! write    16 first block (8) | 24 count (4) | 28 zero (4) | count × {address:40, zero:23, new:1 | crc:32}
//!          | data of mapped blocks if flags bit 0
//! zero     16 first block (8) | 24 count (8)
//! clone    16 first block of the source (8) | 24 destination object (8) | 32 its first block (8) | 40 count (8)
//! catalog  16 number of changes (4), all of allotments or none | changes | number of objects (4)
//!          | of each: object (8) | blocks it shares (8) | pages it may need (8)
//! patch    as `patch` says
//! ```

use crate::checksum::Crc32c;
use crate::interface::allotment::AllotmentChange;
use crate::interface::range::{BlockNumber, BlockRange};
use crate::interface::{CatalogChange, Hour, ObjectId, ObjectKind, Reservation};
use crate::log::cursor::Cursor;
use crate::log::frame::FrameBuffer;
use crate::log::patch::{self, Patch, Patched};
use bytes::Bytes;
use media::{BLOCK_BYTES, BlockAddress};

const WRITE: u8 = 1;
const ZERO: u8 = 2;
const CLONE: u8 = 3;
const CATALOG: u8 = 4;
const PATCH: u8 = 7;
const INLINE: u8 = 1;
/// The content at its place was not known to be durable when the record was written.
const UNCONFIRMED: u8 = 2;
const NEW: u64 = 1 << 63;
/// Marks "no reservation" in the place of a percentage.
const NO_RESERVATION: u8 = 0xff;

/// Tags of changes in a catalog record.
mod tag {
    pub const CREATE_VOLUME: u8 = 1;
    pub const CLONE_OBJECT: u8 = 2;
    pub const DELETE_OBJECT: u8 = 3;
    pub const RESIZE: u8 = 4;
    pub const SET_WRITE_CACHE: u8 = 5;
    pub const PUT_DOCUMENT: u8 = 6;
    pub const DELETE_DOCUMENT: u8 = 7;
    pub const SET_RESERVATION: u8 = 8;
    pub const SET_ZERO_DETECTION: u8 = 9;
    pub const ROLL_BACK: u8 = 10;
    pub const CREATE_CAPTURE: u8 = 11;
    pub const ALLOT: u8 = 16;
    pub const RELEASE: u8 = 17;
    pub const COUNT_ALLOTMENT: u8 = 18;
    pub const SET_CEILING: u8 = 19;
    pub const LOCK: u8 = 32;
    pub const UNLOCK: u8 = 33;
    pub const SET_REPLICA: u8 = 34;
}

/// One block of a write record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWrite {
    /// Address of the block; 0 if the content is all zeros and the mapping is removed.
    pub address: BlockAddress,
    /// CRC-32C of the content.
    pub crc: Crc32c,
    /// True if this write allocated the block.
    pub new: bool,
}

/// Upper bounds of the blocks that an object shares and of the map pages that it still has to
/// allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared {
    /// Object with a reservation.
    pub object: ObjectId,
    /// Number of blocks.
    pub blocks: u64,
    /// Number of pages.
    pub pages: u64,
}

/// Decoded record. Borrows the frame.
#[derive(Debug)]
pub enum Record<'a> {
    /// Write of blocks.
    Write {
        /// Object written.
        object: ObjectId,
        /// First 4 KiB block of the object.
        first: BlockNumber,
        /// Written blocks, in order.
        blocks: Vec<BlockWrite>,
        /// Content of the blocks with an address, in order, if the record carries its data.
        data: Option<&'a [u8]>,
    },
    /// Deallocation of blocks.
    Zero {
        /// Object changed.
        object: ObjectId,
        /// First block.
        first: BlockNumber,
        /// Number of blocks.
        count: u64,
    },
    /// Sharing of blocks.
    Clone {
        /// Source object.
        source: ObjectId,
        /// First block of the source.
        source_first: BlockNumber,
        /// Destination object.
        destination: ObjectId,
        /// First block of the destination.
        destination_first: BlockNumber,
        /// Number of blocks.
        count: u64,
    },
    /// Catalog changes, and what objects share and need afterwards.
    Catalog(Vec<CatalogChange>, Vec<Shared>),
    /// Changes of allotments.
    Allotments(Vec<AllotmentChange>),
    /// Change of some bytes of a block.
    Patch(Patch<'a>),
}

fn begin(out: &mut FrameBuffer, kind: u8, flags: u8, object: ObjectId) -> usize {
    let at = out.len();
    out.extend_from_slice(&[kind, flags, 0, 0, 0, 0, 0, 0]);
    out.extend_from_slice(&object.0.to_le_bytes());
    at
}

fn end(out: &mut [u8], at: usize) {
    let length = (out.len() - at) as u32;
    out[at + 4..at + 8].copy_from_slice(&length.to_le_bytes());
}

/// Appends a write record that carries the content of its blocks: `data` yields it for each block
/// with an address.
pub fn encode_write<'a>(
    out: &mut FrameBuffer,
    object: ObjectId,
    first: BlockNumber,
    blocks: &[BlockWrite],
    data: impl Iterator<Item = &'a [u8; BLOCK_BYTES]>,
) {
    let at = begin_write(out, INLINE, object, first, blocks);
    for block in data {
        out.extend_from_slice(block);
    }
    end(out, at);
}

/// Appends a write record for content that is at its place, or, if `unconfirmed`, on its way there.
pub fn encode_placed(
    out: &mut FrameBuffer,
    object: ObjectId,
    first: BlockNumber,
    blocks: &[BlockWrite],
    unconfirmed: bool,
) {
    let at = begin_write(out, if unconfirmed { UNCONFIRMED } else { 0 }, object, first, blocks);
    end(out, at);
}

fn begin_write(out: &mut FrameBuffer, flags: u8, object: ObjectId, first: BlockNumber, blocks: &[BlockWrite]) -> usize {
    // Written in one piece, because every small write uses this record.
    let at = out.len();
    let mut header = [0; 32];
    header[..2].copy_from_slice(&[WRITE, flags]);
    header[8..16].copy_from_slice(&object.0.to_le_bytes());
    header[16..24].copy_from_slice(&first.get().to_le_bytes());
    header[24..28].copy_from_slice(&(blocks.len() as u32).to_le_bytes());
    out.extend_from_slice(&header);
    for block in blocks {
        let mut entry = [0; 12];
        entry[..8].copy_from_slice(&(block.address.get() | if block.new { NEW } else { 0 }).to_le_bytes());
        entry[8..].copy_from_slice(&block.crc.get().to_le_bytes());
        out.extend_from_slice(&entry);
    }
    at
}

/// Appends a zero record.
pub fn encode_zero(out: &mut FrameBuffer, object: ObjectId, first: BlockNumber, count: u64) {
    let at = begin(out, ZERO, 0, object);
    out.extend_from_slice(&first.get().to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    end(out, at);
}

/// Appends a clone record.
pub fn encode_clone(
    out: &mut FrameBuffer,
    source: ObjectId,
    source_first: BlockNumber,
    destination: ObjectId,
    destination_first: BlockNumber,
    count: u64,
) {
    let at = begin(out, CLONE, 0, source);
    for value in [source_first.get(), destination.0, destination_first.get(), count] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    end(out, at);
}

/// Appends a patch: `parts` are first bytes and lengths of the parts of `content`, the content after it.
pub fn encode_patch(out: &mut FrameBuffer, patched: &Patched, parts: &[(u16, u16)], content: &[u8; BLOCK_BYTES]) {
    let at = begin(out, PATCH, 0, patched.object);
    patch::encode(out, patched, parts, content);
    end(out, at);
}

/// Largest number of bytes that `encode_catalog` needs.
pub fn catalog_bytes(changes: &[CatalogChange]) -> usize {
    24 + changes
        .iter()
        .map(|c| match c {
            CatalogChange::PutDocument { key, value } => 9 + key.len() + value.len(),
            CatalogChange::DeleteDocument { key } => 9 + key.len(),
            // Includes the count of shared blocks that accompanies a reservation.
            _ => 40,
        })
        .sum::<usize>()
}

/// Bytes of a catalog record without changes for `objects` counts of shared blocks.
pub fn shared_bytes(objects: usize) -> usize {
    24 + objects * 24
}

/// Appends a catalog record.
pub fn encode_catalog(out: &mut FrameBuffer, changes: &[CatalogChange], shared: &[Shared]) {
    let at = begin(out, CATALOG, 0, ObjectId::NONE);
    out.extend_from_slice(&(changes.len() as u32).to_le_bytes());
    for change in changes {
        encode_change(out, change);
    }
    out.extend_from_slice(&(shared.len() as u32).to_le_bytes());
    for Shared { object, blocks, pages } in shared {
        for value in [object.0, *blocks, *pages] {
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
    end(out, at);
}

/// Bytes of a catalog record with this many changes of allotments; none for no change.
pub fn allotment_bytes(changes: usize) -> usize {
    if changes == 0 { 0 } else { 24 + changes * 41 }
}

/// Appends a catalog record of changes of allotments.
pub fn encode_allotments(out: &mut FrameBuffer, changes: &[AllotmentChange]) {
    let at = begin(out, CATALOG, 0, ObjectId::NONE);
    out.extend_from_slice(&(changes.len() as u32).to_le_bytes());
    for change in changes {
        let (object, range) = change.place();
        let place = [object.0, range.first.get(), range.count];
        match change {
            AllotmentChange::Allot { .. } => numbers(out, tag::ALLOT, &place),
            AllotmentChange::Release { .. } => numbers(out, tag::RELEASE, &place),
            AllotmentChange::Count { shared, pages_due, .. } => {
                numbers(out, tag::COUNT_ALLOTMENT, &place);
                for number in [shared, pages_due] {
                    out.extend_from_slice(&number.to_le_bytes());
                }
            }
        }
    }
    out.extend_from_slice(&0_u32.to_le_bytes());
    end(out, at);
}

/// Decodes the changes of a catalog record if they are changes of allotments; the outer `None`: they are not.
fn decode_allotments(cursor: &mut Cursor<'_>, count: u32) -> Option<Option<Vec<AllotmentChange>>> {
    cursor.0.first().filter(|tag| (tag::ALLOT..=tag::COUNT_ALLOTMENT).contains(tag))?;
    let mut decode_one = || {
        let tag = cursor.u8()?;
        let object = ObjectId(cursor.u64()?);
        let range = BlockRange::new(BlockNumber::new(cursor.u64()?), cursor.u64()?);
        match tag {
            tag::ALLOT => Some(AllotmentChange::Allot { object, range }),
            tag::RELEASE => Some(AllotmentChange::Release { object, range }),
            tag::COUNT_ALLOTMENT => {
                Some(AllotmentChange::Count { object, range, shared: cursor.u64()?, pages_due: cursor.u64()? })
            }
            _ => None,
        }
    };
    let mut changes = Vec::new();
    for _ in 0..count {
        match decode_one() {
            Some(change) => changes.push(change),
            None => return Some(None),
        }
    }
    Some(cursor.u32().filter(|objects| *objects == 0 && cursor.0.is_empty()).map(|_| changes))
}

fn encode_change(out: &mut FrameBuffer, change: &CatalogChange) {
    match change {
        CatalogChange::CreateVolume { id, size_bytes } => numbers(out, tag::CREATE_VOLUME, &[id.0, *size_bytes]),
        CatalogChange::CreateCapture { id, size_bytes } => numbers(out, tag::CREATE_CAPTURE, &[id.0, *size_bytes]),
        CatalogChange::CloneObject { source, id, kind } => {
            numbers(out, tag::CLONE_OBJECT, &[source.0, id.0]);
            out.push(kind_code(*kind));
        }
        CatalogChange::DeleteObject { id } => numbers(out, tag::DELETE_OBJECT, &[id.0]),
        CatalogChange::Resize { id, size_bytes } => numbers(out, tag::RESIZE, &[id.0, *size_bytes]),
        CatalogChange::SetWriteCache { id, enabled } => {
            numbers(out, tag::SET_WRITE_CACHE, &[id.0]);
            out.push((*enabled).into());
        }
        CatalogChange::PutDocument { key, value } => {
            out.push(tag::PUT_DOCUMENT);
            text(out, key.as_bytes());
            text(out, value);
        }
        CatalogChange::DeleteDocument { key } => {
            out.push(tag::DELETE_DOCUMENT);
            text(out, key.as_bytes());
        }
        CatalogChange::SetReservation { id, reservation } => {
            numbers(out, tag::SET_RESERVATION, &[id.0]);
            out.push(reservation.map_or(NO_RESERVATION, |reservation| reservation.overwrite_percent));
        }
        CatalogChange::SetZeroDetection { id, enabled } => {
            numbers(out, tag::SET_ZERO_DETECTION, &[id.0]);
            out.push((*enabled).into());
        }
        CatalogChange::SetCeiling { id, ceiling_bytes } => {
            numbers(out, tag::SET_CEILING, &[id.0, ceiling_bytes.unwrap_or(0)]);
        }
        CatalogChange::Lock { id, until } => numbers(out, tag::LOCK, &[id.0, until.get().into()]),
        CatalogChange::Unlock { id, now } => numbers(out, tag::UNLOCK, &[id.0, now.get().into()]),
        CatalogChange::SetReplica { id, enabled } => {
            numbers(out, tag::SET_REPLICA, &[id.0]);
            out.push((*enabled).into());
        }
        CatalogChange::Rollback { id, source } => numbers(out, tag::ROLL_BACK, &[id.0, source.0]),
    }
}

/// Appends the tag of a change and its numbers.
fn numbers(out: &mut FrameBuffer, tag: u8, numbers: &[u64]) {
    out.push(tag);
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// Appends bytes after their length.
fn text(out: &mut FrameBuffer, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// True if the content of the record at the start of `bytes` has to be verified.
pub fn is_unconfirmed(bytes: &[u8]) -> bool {
    matches!(bytes, [WRITE, flags, ..] if flags & (INLINE | UNCONFIRMED) == UNCONFIRMED)
}

/// Decodes the record at the start of `bytes`; returns it and the bytes after it. `None` if it is
/// malformed.
pub fn decode(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let length = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
    let (record, rest) = bytes.split_at_checked(length)?;
    let mut cursor = Cursor(record);
    let kind = cursor.u8()?;
    let flags = cursor.u8()?;
    cursor.take(6)?;
    let object = ObjectId(cursor.u64()?);
    let record = match kind {
        WRITE => {
            let first = BlockNumber::new(cursor.u64()?);
            let count = cursor.u32()? as usize;
            cursor.take(4)?;
            if count > cursor.0.len() / 12 {
                return None;
            }
            let mut blocks = Vec::with_capacity(count);
            for _ in 0..count {
                let word = cursor.u64()?;
                blocks.push(BlockWrite {
                    address: BlockAddress::new(word & !NEW),
                    crc: Crc32c::new(cursor.u32()?),
                    new: word & NEW != 0,
                });
            }
            let mapped = blocks.iter().filter(|b| !b.address.is_none()).count();
            let data = if flags & INLINE != 0 { Some(cursor.take(mapped * BLOCK_BYTES)?) } else { None };
            Record::Write { object, first, blocks, data }
        }
        ZERO => Record::Zero { object, first: BlockNumber::new(cursor.u64()?), count: cursor.u64()? },
        CLONE => Record::Clone {
            source: object,
            source_first: BlockNumber::new(cursor.u64()?),
            destination: ObjectId(cursor.u64()?),
            destination_first: BlockNumber::new(cursor.u64()?),
            count: cursor.u64()?,
        },
        CATALOG => {
            let count = cursor.u32()?;
            if let Some(changes) = decode_allotments(&mut cursor, count) {
                return Some((Record::Allotments(changes?), rest));
            }
            let mut changes = Vec::new();
            for _ in 0..count {
                changes.push(decode_change(&mut cursor)?);
            }
            // Format version 1 ends here.
            let mut shared = Vec::new();
            for _ in 0..if cursor.0.is_empty() { 0 } else { cursor.u32()? } {
                let object = ObjectId(cursor.u64()?);
                shared.push(Shared { object, blocks: cursor.u64()?, pages: cursor.u64()? });
            }
            Record::Catalog(changes, shared)
        }
        PATCH => Record::Patch(patch::decode(object, &mut cursor)?),
        _ => return None,
    };
    Some((record, rest))
}

/// Code of an object kind in a record.
const fn kind_code(kind: ObjectKind) -> u8 {
    match kind {
        ObjectKind::Volume => 0,
        ObjectKind::Snapshot => 1,
        ObjectKind::Capture => 2,
    }
}

const fn kind_of(code: u8) -> Option<ObjectKind> {
    match code {
        0 => Some(ObjectKind::Volume),
        1 => Some(ObjectKind::Snapshot),
        2 => Some(ObjectKind::Capture),
        _ => None,
    }
}

fn hour(cursor: &mut Cursor<'_>) -> Option<Hour> {
    Hour::new(u32::try_from(cursor.u64()?).ok()?)
}

fn decode_change(cursor: &mut Cursor<'_>) -> Option<CatalogChange> {
    let text = |b: &[u8]| String::from_utf8(b.to_vec()).ok();
    Some(match cursor.u8()? {
        tag::CREATE_VOLUME => CatalogChange::CreateVolume { id: ObjectId(cursor.u64()?), size_bytes: cursor.u64()? },
        tag::CLONE_OBJECT => CatalogChange::CloneObject {
            source: ObjectId(cursor.u64()?),
            id: ObjectId(cursor.u64()?),
            kind: kind_of(cursor.u8()?)?,
        },
        tag::DELETE_OBJECT => CatalogChange::DeleteObject { id: ObjectId(cursor.u64()?) },
        tag::RESIZE => CatalogChange::Resize { id: ObjectId(cursor.u64()?), size_bytes: cursor.u64()? },
        tag::SET_WRITE_CACHE => {
            CatalogChange::SetWriteCache { id: ObjectId(cursor.u64()?), enabled: cursor.u8()? == 1 }
        }
        tag::PUT_DOCUMENT => {
            CatalogChange::PutDocument { key: text(cursor.bytes()?)?, value: Bytes::copy_from_slice(cursor.bytes()?) }
        }
        tag::DELETE_DOCUMENT => CatalogChange::DeleteDocument { key: text(cursor.bytes()?)? },
        tag::SET_RESERVATION => CatalogChange::SetReservation {
            id: ObjectId(cursor.u64()?),
            reservation: match cursor.u8()? {
                overwrite_percent @ 0..=100 => Some(Reservation { overwrite_percent }),
                NO_RESERVATION => None,
                _ => return None,
            },
        },
        tag::SET_ZERO_DETECTION => {
            CatalogChange::SetZeroDetection { id: ObjectId(cursor.u64()?), enabled: cursor.u8()? == 1 }
        }
        tag::SET_CEILING => CatalogChange::SetCeiling {
            id: ObjectId(cursor.u64()?),
            ceiling_bytes: Some(cursor.u64()?).filter(|bytes| *bytes > 0),
        },
        tag::LOCK => CatalogChange::Lock { id: ObjectId(cursor.u64()?), until: hour(cursor)? },
        tag::UNLOCK => CatalogChange::Unlock { id: ObjectId(cursor.u64()?), now: hour(cursor)? },
        tag::SET_REPLICA => CatalogChange::SetReplica { id: ObjectId(cursor.u64()?), enabled: cursor.u8()? == 1 },
        tag::ROLL_BACK => CatalogChange::Rollback { id: ObjectId(cursor.u64()?), source: ObjectId(cursor.u64()?) },
        tag::CREATE_CAPTURE => CatalogChange::CreateCapture { id: ObjectId(cursor.u64()?), size_bytes: cursor.u64()? },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::frame::FRAME_HEADER_BYTES;

    /// Regression: a clone of kind capture was logged as a volume, and any byte but 1 was read as a
    /// volume: after a crash the object would have been writable.
    #[test]
    fn every_kind_of_clone_survives_the_round_trip_and_an_unknown_kind_is_refused() {
        for kind in [ObjectKind::Volume, ObjectKind::Snapshot, ObjectKind::Capture] {
            let change = CatalogChange::CloneObject { source: ObjectId(1), id: ObjectId(2), kind };
            let mut frame = FrameBuffer::new(media::Buffer::default());
            encode_catalog(&mut frame, std::slice::from_ref(&change), &[]);
            let Some((Record::Catalog(changes, _), _)) = decode(&frame[FRAME_HEADER_BYTES..]) else { panic!() };
            assert_eq!(changes, [change]);
        }
        let mut unknown = vec![2];
        unknown.extend([0; 16]);
        unknown.push(3);
        assert_eq!(decode_change(&mut Cursor(&unknown)), None);
    }

    /// Its tag is above those of changes of allotments, which have lists of their own.
    #[test]
    fn a_list_may_begin_with_a_ceiling() {
        let changes = [
            CatalogChange::SetCeiling { id: ObjectId(4), ceiling_bytes: Some(1 << 20) },
            CatalogChange::DeleteDocument { key: "k".into() },
        ];
        let mut frame = FrameBuffer::new(media::Buffer::default());
        encode_catalog(&mut frame, &changes, &[]);
        let Some((Record::Catalog(found, _), _)) = decode(&frame[FRAME_HEADER_BYTES..]) else { panic!() };
        assert_eq!(found, changes);
    }

    #[test]
    fn records_survive_the_round_trip() {
        const ONE: BlockNumber = BlockNumber::new(1);
        const TWO: BlockNumber = BlockNumber::new(2);
        const FOUR: BlockNumber = BlockNumber::new(4);
        let block = [5u8; BLOCK_BYTES];
        let mut frame = FrameBuffer::new(media::Buffer::default());
        let out = &mut frame;
        let blocks = [
            BlockWrite { address: BlockAddress::new(9), crc: Crc32c::new(1), new: true },
            BlockWrite { address: BlockAddress::NONE, crc: Crc32c::NONE, new: false },
        ];
        encode_write(out, ObjectId(3), FOUR, &blocks, [&block].into_iter());
        encode_zero(out, ObjectId(3), ONE, 2);
        encode_clone(out, ObjectId(1), TWO, ObjectId(3), FOUR, 5);
        let changes = vec![
            CatalogChange::CreateVolume { id: ObjectId(1), size_bytes: 512 },
            CatalogChange::CloneObject { source: ObjectId(1), id: ObjectId(2), kind: ObjectKind::Snapshot },
            CatalogChange::PutDocument { key: "k".into(), value: Bytes::from_static(b"v") },
            CatalogChange::DeleteDocument { key: "k".into() },
            CatalogChange::SetReservation {
                id: ObjectId(1),
                reservation: Some(Reservation { overwrite_percent: 100 }),
            },
            CatalogChange::SetReservation { id: ObjectId(1), reservation: None },
            CatalogChange::SetZeroDetection { id: ObjectId(1), enabled: false },
            CatalogChange::Rollback { id: ObjectId(1), source: ObjectId(2) },
            CatalogChange::CreateCapture { id: ObjectId(3), size_bytes: 1024 },
            CatalogChange::SetCeiling { id: ObjectId(4), ceiling_bytes: Some(1 << 40) },
            CatalogChange::SetCeiling { id: ObjectId(4), ceiling_bytes: None },
            CatalogChange::Lock { id: ObjectId(2), until: Hour::MAX },
            CatalogChange::Unlock { id: ObjectId(2), now: Hour::MAX },
            CatalogChange::SetReplica { id: ObjectId(1), enabled: true },
            CatalogChange::SetReplica { id: ObjectId(1), enabled: false },
        ];
        let before = out.len();
        encode_catalog(out, &changes, &[Shared { object: ObjectId(1), blocks: 7, pages: 8 }]);
        assert!(out.len() - before <= catalog_bytes(&changes));
        let records = &out[FRAME_HEADER_BYTES..];
        let mut rest = records;
        let mut seen = 0;
        while !rest.is_empty() {
            let Some((record, after)) = decode(rest) else { panic!("record {seen}") };
            match (seen, record) {
                (0, Record::Write { object: ObjectId(3), first: FOUR, blocks: b, data: Some(d) }) => {
                    assert_eq!(b, blocks);
                    assert_eq!(d, block);
                }
                (1, Record::Zero { object: ObjectId(3), first: ONE, count: 2 }) => {}
                (
                    2,
                    Record::Clone {
                        source: ObjectId(1),
                        source_first: TWO,
                        destination: ObjectId(3),
                        destination_first: FOUR,
                        count: 5,
                    },
                ) => {}
                (3, Record::Catalog(c, shared)) => assert_eq!(
                    (c, shared),
                    (changes.clone(), vec![Shared { object: ObjectId(1), blocks: 7, pages: 8 }])
                ),
                (_, other) => panic!("{other:?}"),
            }
            rest = after;
            seen += 1;
        }
        assert_eq!(seen, 4);
        for cut in 0..records.len() {
            let _ = decode(&records[..cut]);
        }
    }
}
