//! Patches: records of some bytes of a block whose whole content an earlier record of the same epoch holds.
//!
//! Little-endian, behind the 16 bytes with which each record begins; sizes in bytes:
//!
//! ```text
//! 16 block (8) | 24 address (8) | 32 number of the record that holds the whole content (8)
//! | 40 CRC-32C of the content before (4) | 44 CRC-32C of the content after (4)
//! | 48 number of parts (2) | 50 reserved (6) | of each: first byte (2), bytes (2) | bytes of all parts
//! ```

use crate::checksum::Crc32c;
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use crate::log::cursor::Cursor;
use crate::log::frame::FrameBuffer;
use media::{BLOCK_BYTES, BlockAddress};
use smallvec::SmallVec;

/// Bytes of the place of a part.
const PART_BYTES: usize = 4;

/// Which block a patch changes, and from what to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patched {
    /// Object changed.
    pub object: ObjectId,
    /// Block of the object.
    pub block: BlockNumber,
    /// Address of the block.
    pub address: BlockAddress,
    /// Number of the record that holds the whole content on which this patch, and those between, build.
    pub image: u64,
    /// CRC-32C of the content before.
    pub before: Crc32c,
    /// CRC-32C of the content after.
    pub after: Crc32c,
}

/// Patch in a record. Borrows the frame.
#[derive(Clone, Debug)]
pub struct Patch<'a> {
    /// Which block it changes.
    pub patched: Patched,
    /// First byte of each part, and its bytes; all within the block.
    pub parts: SmallVec<[(usize, &'a [u8]); 4]>,
}

impl Patch<'_> {
    /// Content of the block after the patch; `None` if `content` is not the content before it, or the result not
    /// that after it.
    pub fn applied_to(&self, content: &[u8; BLOCK_BYTES]) -> Option<[u8; BLOCK_BYTES]> {
        let mut content = *content;
        if Crc32c::of(&content) != self.patched.before {
            return None;
        }
        for (first, bytes) in &self.parts {
            content.get_mut(*first..first + bytes.len())?.copy_from_slice(bytes);
        }
        (Crc32c::of(&content) == self.patched.after).then_some(content)
    }
}

/// Appends what follows the first 16 bytes of the record: `parts` are places in `content`, which is the content
/// after the patch.
pub fn encode(out: &mut FrameBuffer, patched: &Patched, parts: &[(u16, u16)], content: &[u8; BLOCK_BYTES]) {
    let Patched { block, address, image, before, after, .. } = patched;
    for number in [block.get(), address.get(), *image] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for crc in [before, after] {
        out.extend_from_slice(&crc.get().to_le_bytes());
    }
    // A number of 2 bytes, and 6 reserved ones.
    out.extend_from_slice(&(parts.len() as u64).to_le_bytes());
    for (first, bytes) in parts {
        for number in [first, bytes] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
    for &(first, bytes) in parts {
        out.extend_from_slice(&content[usize::from(first)..usize::from(first) + usize::from(bytes)]);
    }
}

/// Decodes what follows the first 16 bytes of a record; `None` if it is malformed.
pub fn decode<'a>(object: ObjectId, cursor: &mut Cursor<'a>) -> Option<Patch<'a>> {
    let patched = Patched {
        object,
        block: BlockNumber::new(cursor.u64()?),
        address: BlockAddress::new(cursor.u64()?),
        image: cursor.u64()?,
        before: Crc32c::new(cursor.u32()?),
        after: Crc32c::new(cursor.u32()?),
    };
    let count = usize::from(cursor.u16()?);
    cursor.take(6)?;
    let mut places = Cursor(cursor.take(count.checked_mul(PART_BYTES)?)?);
    let mut parts = SmallVec::new();
    for _ in 0..count {
        let (first, bytes) = (usize::from(places.u16()?), usize::from(places.u16()?));
        parts.push((first, cursor.take(bytes).filter(|_| first + bytes <= BLOCK_BYTES)?));
    }
    (cursor.0.is_empty() && !patched.address.is_none()).then_some(Patch { patched, parts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::frame::FRAME_HEADER_BYTES;

    fn content(byte: u8) -> [u8; BLOCK_BYTES] {
        [byte; BLOCK_BYTES]
    }

    fn example() -> (Patched, [u8; BLOCK_BYTES], [u8; BLOCK_BYTES]) {
        let (before, mut after) = (content(1), content(1));
        after[7..9].fill(2);
        after[4090..].fill(3);
        let patched = Patched {
            object: ObjectId(5),
            block: BlockNumber::new(6),
            address: BlockAddress::new(7),
            image: 8,
            before: Crc32c::of(&before),
            after: Crc32c::of(&after),
        };
        (patched, before, after)
    }

    #[test]
    fn a_patch_makes_the_content_after_it_from_that_before_it_and_from_no_other() {
        let (patched, before, after) = example();
        let mut frame = FrameBuffer::new(media::Buffer::default());
        encode(&mut frame, &patched, &[(7, 2), (4090, 6)], &after);
        let record = &frame[FRAME_HEADER_BYTES..];
        assert_eq!(record.len(), 40 + 2 * 4 + 8);
        let Some(patch) = decode(patched.object, &mut Cursor(record)) else { panic!("not a patch") };
        assert_eq!(patch.patched, patched);
        assert_eq!(patch.applied_to(&before), Some(after));
        assert_eq!(patch.applied_to(&after), None);
        assert_eq!(patch.applied_to(&content(0)), None);
        let incomplete = Patch { parts: patch.parts[..1].into(), ..patch };
        assert_eq!(incomplete.applied_to(&before), None);
    }

    #[test]
    fn parts_outside_of_the_block_and_cut_records_are_malformed() {
        let (patched, _, after) = example();
        let mut frame = FrameBuffer::new(media::Buffer::default());
        encode(&mut frame, &patched, &[(4090, 6)], &after);
        let record = frame[FRAME_HEADER_BYTES..].to_vec();
        let decoded = |record: &[u8]| decode(patched.object, &mut Cursor(record)).is_some();
        assert!(decoded(&record));
        let malformed = |at: usize, bytes: &[u8]| {
            let mut changed = record.clone();
            changed[at..at + bytes.len()].copy_from_slice(bytes);
            assert!(!decoded(&changed), "{bytes:?} at {at}");
        };
        malformed(40, &4091_u16.to_le_bytes());
        malformed(42, &7_u16.to_le_bytes());
        malformed(42, &5_u16.to_le_bytes());
        malformed(32, &9_u16.to_le_bytes());
        malformed(32, &u16::MAX.to_le_bytes());
        malformed(8, &0_u64.to_le_bytes());
        for cut in 0..record.len() {
            assert!(!decoded(&record[..cut]));
        }
    }
}
