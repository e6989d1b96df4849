//! The pool's own objects, each a stream of bytes in a tree like that of a volume: the object
//! table, the documents, the drop queue. Only a freeze changes them, so they are never logged.
//!
//! ```text
//! object table  64 bytes an object, at 64 × id: kind (1: 1 volume, 2 snapshot, 3 capture; 0 none) | level (1) |
//!               flags (1: bit 0 write cache, bit 1 no zero detection, bit 2 reserved) | overwrite percentage of the
//!               reservation (1) | flags (1: bit 0 replica, bit 1 locked) | hour at which the lock ends (3) |
//!               parent (8) | size in bytes (8) | root address (8) | root CRC (4) | ceiling of an address space in MiB,
//!               0: none (4) | mapped blocks (8) | of a reserved volume, at most: blocks that are shared (8), map pages
//!               still to be allocated (8)
//! documents     key length (4) | key | value length (4) | value, repeated
//! drop queue    address (8) | CRC (4) | level (1) | blocks mapped below, at levels 3, 4 and 5 in
//!               units of 2⁸, 2¹⁶ and 2²⁴, rounded up (3), repeated
//! ```

use crate::catalog::object::{Dropped, Object, Protection};
use crate::checksum::Crc32c;
use crate::geometry::Pointer;
use crate::interface::operation::{CEILING_UNIT_BYTES, MAX_DOCUMENT_BYTES};
use crate::interface::range::BlockNumber;
use crate::interface::{Hour, ObjectId, ObjectKind, Reservation};
use crate::log::cursor::Cursor;
use bytes::Bytes;
use media::BlockAddress;
use std::collections::BTreeMap;

/// Bytes of an object's slot.
pub(crate) const SLOT_BYTES: usize = 64;
const WRITE_CACHE: u8 = 1;
const NO_ZERO_DETECTION: u8 = 2;
const RESERVED: u8 = 4;
/// Bits of the second byte of flags.
const REPLICA: u8 = 1;
const LOCKED: u8 = 2;
/// Longest accepted length of the pool's own streams, except the object table.
pub(crate) const MAX_STREAM_BYTES: u64 = 4 << 30;
/// Longest accepted object table: the span of a map of three levels. A table longer than
/// [`MAX_STREAM_BYTES`] sets a feature bit.
pub(crate) const MAX_TABLE_BYTES: u64 = 64 << 30;
/// Upper bound of object ids: the object table ends there.
pub(crate) const MAX_OBJECT: ObjectId = ObjectId(MAX_TABLE_BYTES / SLOT_BYTES as u64);
/// Slots in a 4 KiB block.
pub(crate) const SLOTS_PER_BLOCK: u64 = (media::BLOCK_BYTES / SLOT_BYTES) as u64;

/// Block of the object table that has the slot of an object.
pub(crate) const fn table_block_of(id: ObjectId) -> BlockNumber {
    BlockNumber::new(id.0 / SLOTS_PER_BLOCK)
}

/// Ids of the objects whose slots are in a block of the object table, and those behind it.
pub(crate) fn ids_of_block(block: BlockNumber) -> impl Iterator<Item = ObjectId> {
    (block.get() * SLOTS_PER_BLOCK..).map(ObjectId)
}

pub(crate) fn encode_object(object: &Object, slot: &mut [u8]) {
    slot.fill(0);
    slot[0] = match object.kind {
        ObjectKind::Volume => 1,
        ObjectKind::Snapshot => 2,
        ObjectKind::Capture => 3,
    };
    slot[1] = object.level;
    slot[2] = u8::from(object.write_cache)
        | if object.zero_detection { 0 } else { NO_ZERO_DETECTION }
        | if object.reservation.is_some() { RESERVED } else { 0 };
    slot[3] = object.reservation.map_or(0, |reservation| reservation.overwrite_percent);
    match object.protection {
        Protection::None => {}
        Protection::Locked(until) => {
            slot[4] = LOCKED;
            slot[5..8].copy_from_slice(&until.get().to_le_bytes()[..3]);
        }
        Protection::Replica => slot[4] = REPLICA,
    }
    slot[8..16].copy_from_slice(&object.parent.unwrap_or(ObjectId::NONE).0.to_le_bytes());
    slot[16..24].copy_from_slice(&object.size_bytes.to_le_bytes());
    slot[24..32].copy_from_slice(&object.root.get().to_le_bytes());
    slot[32..36].copy_from_slice(&object.root_crc.get().to_le_bytes());
    let ceiling = object.ceiling_bytes.map_or(0, |bytes| bytes / CEILING_UNIT_BYTES);
    slot[36..40].copy_from_slice(&u32::try_from(ceiling).unwrap_or(u32::MAX).to_le_bytes());
    slot[40..48].copy_from_slice(&object.mapped.to_le_bytes());
    slot[48..56].copy_from_slice(&object.shared.to_le_bytes());
    slot[56..64].copy_from_slice(&object.pages_due.to_le_bytes());
}

/// Decodes a slot: `Ok(None)` when it is empty.
pub(crate) fn decode_object(id: ObjectId, slot: &[u8]) -> Result<Option<Object>, String> {
    let bad = || format!("object {id}: malformed entry in the object table");
    let mut c = Cursor(slot);
    let kind = match c.u8() {
        Some(0) => return Ok(None),
        Some(1) => ObjectKind::Volume,
        Some(2) => ObjectKind::Snapshot,
        Some(3) => ObjectKind::Capture,
        _ => return Err(bad()),
    };
    let mut read = || {
        let level = c.u8()?;
        let flags = c.u8()?;
        let overwrite_percent = c.u8()?;
        let [states, lock @ ..] = c.u32()?.to_le_bytes();
        let until = Hour::new(u32::from_le_bytes([lock[0], lock[1], lock[2], 0]))?;
        let protection = match states & (LOCKED | REPLICA) {
            0 => Protection::None,
            LOCKED => Protection::Locked(until),
            REPLICA => Protection::Replica,
            _ => return None,
        };
        let parent = Some(ObjectId(c.u64()?)).filter(|parent| *parent != ObjectId::NONE);
        let size_bytes = c.u64()?;
        let root = BlockAddress::new(c.u64()?);
        let root_crc = Crc32c::new(c.u32()?);
        let ceiling = u64::from(c.u32()?) * CEILING_UNIT_BYTES;
        let mapped = c.u64()?;
        let shared = c.u64()?;
        let pages_due = c.u64()?;
        let write_cache = flags & WRITE_CACHE != 0;
        let zero_detection = flags & NO_ZERO_DETECTION == 0;
        let reservation = (flags & RESERVED != 0).then_some(Reservation { overwrite_percent });
        Some(Object {
            id,
            kind,
            parent,
            size_bytes,
            root,
            root_crc,
            level,
            mapped,
            write_cache,
            zero_detection,
            reservation,
            ceiling_bytes: Some(ceiling).filter(|bytes| *bytes > 0),
            protection,
            shared,
            pages_due,
            tracked: reservation.is_some(),
            in_flight: 0,
            deficit: 0,
            changed: 0,
            unreported: false,
        })
    };
    let sane = |o: &Object| {
        use crate::interface::operation::is_size;
        let blocks = crate::geometry::blocks_for(o.size_bytes);
        let percent = o.reservation.map_or(0, |reservation| reservation.overwrite_percent);
        crate::catalog::is_user_object(id)
            && is_size(o.size_bytes)
            && o.level <= crate::geometry::MAX_LEVEL
            && o.mapped <= blocks
            && percent <= 100
            && (o.ceiling_bytes.is_none() || (o.is_address_space() && o.kind == ObjectKind::Volume))
            && (o.locked_until().is_none() || o.kind == ObjectKind::Snapshot)
            && (!o.is_replica() || o.kind == ObjectKind::Volume)
    };
    let bounded = |mut o: Object| {
        // Upper bounds: the pool never promises more than this.
        o.shared = o.shared.min(crate::geometry::blocks_for(o.size_bytes));
        o.pages_due = o.pages_due.min(o.all_pages());
        o
    };
    read().filter(sane).map(bounded).map(Some).ok_or_else(bad)
}

/// Longest key of a document in bytes.
const MAX_KEY_BYTES: usize = 255;

/// True if a document may have a key and a value of these lengths.
pub(crate) fn is_document(key_bytes: usize, value_bytes: usize) -> bool {
    key_bytes <= MAX_KEY_BYTES && value_bytes <= MAX_DOCUMENT_BYTES
}

/// Bytes of a document in its stored form.
pub(crate) fn document_bytes(key_bytes: usize, value_bytes: usize) -> u64 {
    8 + key_bytes as u64 + value_bytes as u64
}

pub(crate) fn encode_documents(documents: &BTreeMap<String, Bytes>) -> Vec<u8> {
    let mut out = Vec::new();
    for (key, value) in documents {
        out.extend_from_slice(&(key.len() as u32).to_le_bytes());
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        out.extend_from_slice(value);
    }
    out
}

pub(crate) fn decode_documents(bytes: &[u8]) -> Result<BTreeMap<String, Bytes>, String> {
    let mut documents = BTreeMap::new();
    let mut c = Cursor(bytes);
    while !c.0.is_empty() {
        let entry = (|| {
            let key = String::from_utf8(c.bytes()?.to_vec()).ok()?;
            Some((key, Bytes::copy_from_slice(c.bytes()?)))
        })();
        let (key, value) = entry.ok_or("malformed document store")?;
        if !is_document(key.len(), value.len()) {
            let (key, value) = (key.len(), value.len());
            return Err(format!("a document has a key of {key} bytes and a value of {value} bytes"));
        }
        documents.insert(key, value);
    }
    Ok(documents)
}

/// Blocks per unit of a mapped count in the drop queue; the count has at most 2²⁴ − 1 units. A full
/// page at level 2 counts one block too few.
const fn dropped_unit(level: u8) -> u64 {
    match level {
        0..=2 => 1,
        3 => 1 << 8,
        4 => 1 << 16,
        _ => 1 << 24,
    }
}

/// Entries of the drop queue in a 4 KiB block.
pub(crate) const DROPS_PER_BLOCK: usize = media::BLOCK_BYTES / DROP_BYTES;
/// Bytes of an entry of the drop queue.
pub(crate) const DROP_BYTES: usize = 16;

pub(crate) fn encode_drop(drop: &Dropped, entry: &mut [u8; DROP_BYTES]) {
    let Pointer { address, level, crc } = drop.pointer;
    let mapped = drop.mapped.div_ceil(dropped_unit(level)).min(0xff_ffff).to_le_bytes();
    entry[..8].copy_from_slice(&address.get().to_le_bytes());
    entry[8..12].copy_from_slice(&crc.get().to_le_bytes());
    entry[12..].copy_from_slice(&[level, mapped[0], mapped[1], mapped[2]]);
}

pub(crate) fn decode_drops(bytes: &[u8]) -> Result<Vec<Dropped>, String> {
    let mut drops = Vec::new();
    for raw in bytes.as_chunks::<DROP_BYTES>().0 {
        let mut c = Cursor(raw);
        let drop = (|| {
            let (address, crc, level) = (
                BlockAddress::new(c.u64()?),
                Crc32c::new(c.u32()?),
                c.u8().filter(|level| *level <= crate::geometry::MAX_LEVEL)?,
            );
            let mapped = u64::from(u32::from_le_bytes([c.u8()?, c.u8()?, c.u8()?, 0])) * dropped_unit(level);
            Some(Dropped { pointer: Pointer { address, level, crc }, mapped })
        })();
        drops.push(drop.ok_or("malformed drop queue")?);
    }
    Ok(drops)
}
