//! Lies of a logical unit in memory, to show that a check notices them: the unit answers GOOD, but
//! does something else.

use super::{BLOCK_BYTES, MemoryDevice, MemoryUnit};
use crate::device::{CopyDescriptor, Extent, LbaStatus};
use bytes::Bytes;
use std::rc::Rc;

/// One lie of a [`MemoryDevice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// READ returns a wrong byte in its last block.
    ReadWrong,
    /// WRITE of more than one block stores the first half.
    WriteHalf,
    /// COMPARE AND WRITE of an equal block stores nothing.
    CompareNothing,
    /// COMPARE AND WRITE stores without a comparison.
    CompareBlind,
    /// COMPARE AND WRITE miscompares, whatever the block holds.
    CompareNever,
    /// COMPARE AND WRITE of an equal block takes effect some commands later.
    CompareLate,
    /// WRITE SAME stores nothing.
    ZeroNothing,
    /// WRITE SAME stores zeros in the first half.
    ZeroHalf,
    /// WRITE SAME stores something else than zeros.
    ZeroWrong,
    /// WRITE SAME takes effect some commands later.
    ZeroLate,
    /// EXTENDED COPY copies nothing.
    CopyNothing,
    /// EXTENDED COPY copies the first half of each segment.
    CopyHalf,
    /// EXTENDED COPY copies from the block behind.
    CopyWrong,
    /// EXTENDED COPY takes effect some commands later.
    CopyLate,
    /// UNMAP frees nothing.
    UnmapNothing,
    /// UNMAP frees the first half of each extent.
    UnmapHalf,
    /// UNMAP writes zeros, and frees nothing.
    UnmapZeros,
    /// UNMAP takes effect some commands later.
    UnmapLate,
    /// GET LBA STATUS says that nothing is mapped.
    StatusNothing,
    /// GET LBA STATUS says that everything is mapped.
    StatusAll,
    /// RESERVE reserves nothing.
    ReserveNothing,
    /// COMPARE AND WRITE is announced and refused.
    CompareRefused,
    /// WRITE SAME is announced and refused.
    ZeroRefused,
    /// EXTENDED COPY is announced and refused.
    CopyRefused,
    /// UNMAP is announced and refused.
    UnmapRefused,
}

impl Lie {
    pub(super) fn refuses(self, command: &str) -> bool {
        match self {
            Self::CompareRefused => command == "COMPARE AND WRITE",
            Self::ZeroRefused => command == "WRITE SAME",
            Self::CopyRefused => command == "EXTENDED COPY",
            Self::UnmapRefused => command == "UNMAP",
            _ => false,
        }
    }
}

fn first_half(extent: Extent) -> Extent {
    Extent { blocks: extent.blocks / 2, ..extent }
}

impl MemoryDevice {
    pub(super) fn as_read(&self, data: Bytes) -> Bytes {
        if !self.lies(Lie::ReadWrong) {
            return data;
        }
        let mut data = data.to_vec();
        if let Some(last) = data.last_mut() {
            *last ^= 0x40;
        }
        data.into()
    }

    pub(super) fn take(&self, lba: u64, data: &[u8]) {
        let blocks = data.len() / BLOCK_BYTES as usize;
        let stored = if self.lies(Lie::WriteHalf) && blocks > 1 { blocks / 2 } else { blocks };
        self.unit.poke(lba, data.get(..stored * BLOCK_BYTES as usize).unwrap_or(data));
    }

    /// Returns true when the answer says that the block was written.
    pub(super) fn compare(&self, extent: Extent, expected: &Bytes, new: Bytes) -> bool {
        let equal = self.unit.get(extent) == *expected;
        match self.lie.get() {
            Some(Lie::CompareNever) => return false,
            Some(Lie::CompareNothing) => return equal,
            Some(Lie::CompareLate) if equal => self.unit.later(Box::new(move |unit| unit.poke(extent.lba, &new))),
            Some(Lie::CompareBlind) => {
                self.unit.poke(extent.lba, &new);
                return true;
            }
            _ if equal => self.unit.poke(extent.lba, &new),
            _ => {}
        }
        equal
    }

    pub(super) fn zero(&self, extent: Extent) {
        match self.lie.get() {
            Some(Lie::ZeroNothing) => {}
            Some(Lie::ZeroHalf) => self.unit.free(first_half(extent)),
            Some(Lie::ZeroWrong) => {
                let bytes = extent.blocks * u64::from(BLOCK_BYTES);
                self.unit.poke(extent.lba, &vec![0xff; usize::try_from(bytes).unwrap_or(0)]);
            }
            Some(Lie::ZeroLate) => self.unit.later(Box::new(move |unit| unit.free(extent))),
            _ => self.unit.free(extent),
        }
    }

    pub(super) fn discard(&self, extent: Extent) {
        match self.lie.get() {
            Some(Lie::UnmapNothing) => {}
            Some(Lie::UnmapHalf) => self.unit.free(first_half(extent)),
            Some(Lie::UnmapZeros) => self.unit.keep_zeros(extent),
            Some(Lie::UnmapLate) => self.unit.later(Box::new(move |unit| unit.free(extent))),
            _ => self.unit.free(extent),
        }
    }

    pub(super) fn copy(&self, from: &Rc<MemoryUnit>, segment: &CopyDescriptor) {
        let source = Extent { lba: segment.source_lba, blocks: segment.blocks.into() };
        let to = segment.destination_lba;
        match self.lie.get() {
            Some(Lie::CopyNothing) => {}
            Some(Lie::CopyHalf) => self.unit.poke(to, &from.get(first_half(source))),
            Some(Lie::CopyWrong) => self.unit.poke(to, &from.get(Extent { lba: source.lba + 1, ..source })),
            Some(Lie::CopyLate) => {
                let data = from.get(source);
                self.unit.later(Box::new(move |unit| unit.poke(to, &data)));
            }
            _ => self.unit.poke(to, &from.get(source)),
        }
    }

    pub(super) fn status(&self, lba: u64) -> Vec<LbaStatus> {
        let rest = Extent { lba, blocks: self.identity.blocks.saturating_sub(lba) };
        match self.lie.get() {
            Some(Lie::StatusNothing) => vec![LbaStatus { extent: rest, mapped: false }],
            Some(Lie::StatusAll) => vec![LbaStatus { extent: rest, mapped: true }],
            _ => self.unit.runs(lba, self.identity.blocks),
        }
    }
}

impl MemoryUnit {
    /// Zeroes allocated blocks, which stay allocated.
    fn keep_zeros(&self, extent: Extent) {
        for block in self.blocks.borrow_mut().range_mut(extent.lba..extent.lba + extent.blocks) {
            *block.1 = Bytes::from_static(&[0; BLOCK_BYTES as usize]);
        }
    }
}
