//! Entry of the space index: the slot with the current version of a page that has two fixed slots.

use crate::checksum::Crc32c;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Slot (of two fixed ones) with the current version of an index or count page, and its CRC-32C. 8
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SlotEntry {
    crc: U32,
    free: U16,
    /// 0: never written, all counts are zero. 1: slot A. 2: slot B.
    slot: u8,
    reserved: u8,
}

const _: () = assert!(size_of::<SlotEntry>() == 8);

impl SlotEntry {
    /// Creates an entry for a page written to `slot` (0 or 1).
    pub fn new(slot: u8, crc: Crc32c, free: u16) -> Self {
        Self { crc: U32::new(crc.get()), free: U16::new(free), slot: slot + 1, reserved: 0 }
    }

    /// Slot that holds the page, or `None` if it was never written.
    pub fn slot(&self) -> Option<u8> {
        match self.slot {
            1 => Some(0),
            2 => Some(1),
            _ => None,
        }
    }

    /// Slot to write next.
    pub fn next_slot(&self) -> u8 {
        match self.slot {
            1 => 1,
            _ => 0,
        }
    }

    /// CRC-32C of the page.
    pub fn crc(&self) -> Crc32c {
        Crc32c::new(self.crc.get())
    }

    /// Number of blocks of a segment whose count is zero.
    pub fn free(&self) -> u16 {
        self.free.get()
    }
}
