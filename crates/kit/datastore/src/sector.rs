//! Format of every metadata sector.
//!
//! ```text
//! 0   magic "WLDS"      4 bytes
//! 4   kind              1
//! 5   zero              3
//! 8   version           8    counts the updates
//! 16  payload           492
//! 508 checksum          4    CRC-32C of bytes 0 to 507
//! ```
//!
//! Numbers are little-endian. A sector of zeros is a payload of zeros that was never written, version 0.

use crate::error::DatastoreError;
use bytes::Bytes;
use crc_fast::{CrcAlgorithm, checksum};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Size of a sector in bytes.
pub(crate) const SECTOR_BYTES: usize = 512;
/// Size of its payload in bytes.
pub(crate) const PAYLOAD_BYTES: usize = 492;
const MAGIC: [u8; 4] = *b"WLDS";

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Frame {
    magic: [u8; 4],
    kind: u8,
    zero: [u8; 3],
    version: U64,
    payload: [u8; PAYLOAD_BYTES],
    checksum: U32,
}
const _: () = assert!(size_of::<Frame>() == SECTOR_BYTES);

/// Content of a sector of one kind.
pub(crate) trait Payload: FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned + Copy {
    /// Kind of the sector; never 0.
    const KIND: u8;
}

/// A sector as read: the base that an update compares with.
#[derive(Clone, Debug)]
pub(crate) struct Loaded<T> {
    pub(crate) lba: u64,
    /// Index in its table; 0 if the sector was not read as part of one.
    pub(crate) number: u32,
    pub(crate) image: Bytes,
    pub(crate) version: u64,
    pub(crate) value: T,
}

impl<T> Loaded<T> {
    /// Takes over the new content if the update was written.
    pub(crate) fn changed(&mut self, written: bool, image: Bytes, value: T) {
        if written {
            self.version += 1;
            (self.image, self.value) = (image, value);
        }
    }
}

fn crc(bytes: &[u8]) -> u32 {
    // A 32-bit CRC fits.
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// Whether a sector begins with the magic of a metadata sector.
pub(crate) fn is_metadata(image: &[u8]) -> bool {
    image.starts_with(&MAGIC)
}

/// Decodes a sector.
pub(crate) fn decode<T: Payload>(lba: u64, image: Bytes) -> Result<Loaded<T>, DatastoreError> {
    let damaged = |what| DatastoreError::Damaged { lba, what };
    if image.len() != SECTOR_BYTES {
        return Err(damaged("it is truncated"));
    }
    if image.iter().all(|byte| *byte == 0) {
        return Ok(Loaded { lba, number: 0, image, version: 0, value: T::new_zeroed() });
    }
    let frame = Frame::ref_from_bytes(&image).map_err(|_| damaged("it is truncated"))?;
    if !is_metadata(&image) {
        return Err(damaged("it is not a metadata sector"));
    }
    if frame.checksum.get() != crc(image.get(..SECTOR_BYTES - 4).unwrap_or_default()) {
        return Err(damaged("the checksum is wrong"));
    }
    if frame.kind != T::KIND {
        return Err(damaged("it holds metadata of another kind"));
    }
    let value = T::read_from_bytes(&frame.payload).map_err(|_| damaged("it is truncated"))?;
    Ok(Loaded { lba, number: 0, version: frame.version.get(), value, image: image.clone() })
}

/// Encodes a sector.
pub(crate) fn encode<T: Payload>(version: u64, value: &T) -> Bytes {
    const { assert!(size_of::<T>() == PAYLOAD_BYTES) };
    let mut frame = Frame::new_zeroed();
    frame.magic = MAGIC;
    frame.kind = T::KIND;
    frame.version = version.into();
    for (to, from) in frame.payload.iter_mut().zip(value.as_bytes()) {
        *to = *from;
    }
    frame.checksum = crc(frame.as_bytes().get(..SECTOR_BYTES - 4).unwrap_or_default()).into();
    Bytes::copy_from_slice(frame.as_bytes())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;
    use crate::format::{Heartbeat, Pointers};

    #[test]
    fn damaged_sectors_are_refused() {
        let mut value = Pointers::new_zeroed();
        value.entries[7] = 9.into();
        let image = encode(3, &value);
        let loaded = decode::<Pointers>(5, image.clone()).unwrap();
        assert_eq!((loaded.version, loaded.value.entries[7].get()), (3, 9));
        assert_eq!(decode::<Pointers>(5, vec![0; 512].into()).unwrap().version, 0);
        for at in 0..SECTOR_BYTES {
            let mut bad = image.to_vec();
            bad[at] ^= 0x10;
            assert!(matches!(decode::<Pointers>(5, bad.into()), Err(DatastoreError::Damaged { lba: 5, .. })), "{at}");
        }
        assert!(decode::<Heartbeat>(5, image).is_err());
        assert!(decode::<Pointers>(5, vec![0; 511].into()).is_err());
    }
}
