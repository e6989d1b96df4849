//! Parameter data of a logical unit: capacity, VPD pages and GET LBA STATUS from the wire, used as
//! far as they are plausible.

use data_mover::Extent;
use std::ops::RangeInclusive;

/// Smallest and largest block length in bytes.
const BLOCK_BYTES: RangeInclusive<u32> = 512..=64 << 10;

/// Data of READ CAPACITY (16) (SBC-3 §5.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// LBA of the last block.
    pub(crate) last: u64,
    /// Block length in bytes.
    pub(crate) block_bytes: u32,
    /// LBPME.
    pub(crate) thin: bool,
    /// LBPRZ.
    pub(crate) reads_zeros: bool,
}

impl Capacity {
    /// Parses the answer; `None` when it is too short.
    pub(crate) fn parse(answer: &[u8]) -> Option<Self> {
        let (last, length, flags) = (long(answer, 0)?, word(answer, 8)?, *answer.get(14)?);
        Some(Self { last, block_bytes: narrow(length), thin: flags & 0x80 != 0, reads_zeros: flags & 0x40 != 0 })
    }

    /// Whether the block length is one that disks have.
    pub(crate) fn has_usable_blocks(self) -> bool {
        BLOCK_BYTES.contains(&self.block_bytes) && self.block_bytes.is_power_of_two()
    }

    /// Number of blocks; `None` when the capacity in bytes exceeds a file offset.
    pub(crate) fn blocks(self) -> Option<u64> {
        let blocks = self.last.checked_add(1)?;
        let bytes = blocks.checked_mul(self.block_bytes.into())?;
        i64::try_from(bytes).is_ok().then_some(blocks)
    }
}

/// Runs of an answer to GET LBA STATUS (SBC-3 §5.5), from `lba` on as long as they are adjacent;
/// the last one ends with the unit.
pub(crate) fn provisioning(answer: &[u8], lba: u64, end: u64) -> Vec<(Extent, u8)> {
    let length = word(answer, 0).and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    let available = answer.len().min(length.saturating_add(4));
    let mut runs: Vec<(Extent, u8)> = Vec::new();
    let mut at = lba;
    for descriptor in answer.get(8..available).unwrap_or_default().chunks_exact(16) {
        let (Some(first), Some(blocks), Some(status)) = (long(descriptor, 0), word(descriptor, 8), descriptor.get(12))
        else {
            break;
        };
        // The first run may begin before the requested block.
        let next = first.saturating_add(blocks).min(end);
        if next <= at || first > at || (first < at && !runs.is_empty()) {
            break;
        }
        runs.push((Extent { lba: at, blocks: next - at }, status & 0x0f));
        at = next;
    }
    runs
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(|bytes| u64::from(u32::from_be_bytes(bytes)))
}

pub(crate) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_be_bytes)
}

/// Saturates: some limits of 32 bits are announced in 64.
pub(crate) fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Binary designators of the logical unit itself: type and bytes, from VPD page 83h.
fn designators(page: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = page.get(4..).unwrap_or_default();
    std::iter::from_fn(move || {
        let [code_set, kind, _, length, tail @ ..] = rest else { return None };
        let (designator, next) = tail.split_at_checked(usize::from(*length))?;
        rest = next;
        Some((code_set & 0x0f, kind & 0x3f, designator))
    })
    // Association 0 is the logical unit, code set 1 binary.
    .filter(|(code_set, kind, _)| *code_set == 1 && *kind <= 0x0f)
    .map(|(_, kind, designator)| (kind, designator))
}

/// First NAA designator of the logical unit in VPD page 83h, padded with zeros.
pub fn naa(page: &[u8]) -> Option<[u8; 16]> {
    let (_, found) = designators(page).find(|(kind, bytes)| *kind == 3 && matches!(bytes.len(), 8 | 16))?;
    let mut naa = [0; 16];
    for (to, from) in naa.iter_mut().zip(found) {
        *to = *from;
    }
    Some(naa)
}

/// Designator that identifies the logical unit: `naa.6001…`, or `eui.…` if it has no NAA.
pub(crate) fn designator(page: &[u8]) -> Option<String> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let of = |wanted, name: &str| {
        let found = designators(page).find(|(kind, bytes)| *kind == wanted && matches!(bytes.len(), 8 | 12 | 16));
        found.map(|(_, bytes)| format!("{name}.{}", hex(bytes)))
    };
    of(3, "naa").or_else(|| of(2, "eui"))
}

pub(crate) fn text(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;
    use hex_literal::hex;

    #[test]
    fn runs_of_blocks_are_returned_as_far_as_they_are_in_order() {
        let descriptor = |lba: u64, blocks: u32, status: u8| {
            [&lba.to_be_bytes()[..], &blocks.to_be_bytes(), &[status, 0, 0, 0]].concat()
        };
        let answer = |descriptors: &[Vec<u8>]| {
            let length = 4 + 16 * descriptors.len() as u32;
            [&length.to_be_bytes()[..], &[0; 4], &descriptors.concat()].concat()
        };
        let run = |lba, blocks, status| (Extent { lba, blocks }, status);
        let good = answer(&[descriptor(90, 20, 0x10), descriptor(110, 5, 1), descriptor(115, u32::MAX, 2)]);
        assert_eq!(provisioning(&good, 100, 1000), [run(100, 10, 0), run(110, 5, 1), run(115, 885, 2)]);
        // Cut off; with a hole; backwards; empty; behind the requested block.
        assert_eq!(provisioning(&good[..30], 100, 1000), [run(100, 10, 0)]);
        assert_eq!(provisioning(&answer(&[descriptor(0, 5, 1), descriptor(6, 5, 1)]), 0, 1000), [run(0, 5, 1)]);
        assert_eq!(provisioning(&answer(&[descriptor(0, 5, 1), descriptor(4, 5, 1)]), 0, 1000), [run(0, 5, 1)]);
        assert_eq!(provisioning(&answer(&[descriptor(7, 5, 1)]), 0, 1000), []);
        assert_eq!(provisioning(&answer(&[descriptor(0, 0, 1)]), 0, 1000), []);
        assert_eq!(provisioning(&[0, 0, 0, 0xff, 0, 0, 0], 0, 1000), []);
    }

    #[test]
    fn a_unit_is_identified_by_its_naa_or_its_eui() {
        // A T10 vendor designator, the target port's, an EUI-64 and an NAA.
        let page = hex!(
            "00 83 0034  02 01 00 04 41424344  01 13 00 08 3000000000000001  01 02 00 08 0011223344556677  01 03 00 10 6001405a1b2c3d4e5f60718293a4b5c6"
        );
        assert_eq!(designator(&page).as_deref(), Some("naa.6001405a1b2c3d4e5f60718293a4b5c6"));
        assert_eq!(naa(&page).map(|naa| naa[..2].to_vec()), Some(vec![0x60, 0x01]));
        assert_eq!(designator(&page[..36]).as_deref(), Some("eui.0011223344556677"));
        assert_eq!((designator(&page[..24]), naa(&[]), designator(&[0; 6])), (None, None, None));
    }

    #[test]
    fn a_capacity_is_one_that_a_disk_can_have() {
        let answer =
            |last: u64, length: u32| [&last.to_be_bytes()[..], &length.to_be_bytes(), &[0, 0, 0xc0, 0]].concat();
        let capacity = |last, length| Capacity::parse(&answer(last, length)).unwrap();
        assert_eq!(capacity(7, 512), Capacity { last: 7, block_bytes: 512, thin: true, reads_zeros: true });
        assert_eq!(Capacity::parse(&answer(7, 512)[..14]), None);
        for usable in [512, 4096, 65_536] {
            assert!(capacity(7, usable).has_usable_blocks(), "{usable}");
        }
        for absurd in [0, 1, 256, 520, 4104, 131_072, 1 << 31, u32::MAX] {
            assert!(!capacity(7, absurd).has_usable_blocks(), "{absurd}");
        }
        // The largest capacity is one whose bytes an offset can address.
        assert_eq!(capacity(0, 4096).blocks(), Some(1));
        assert_eq!(capacity((1 << 54) - 2, 512).blocks(), Some((1 << 54) - 1));
        for last in [(1 << 54) - 1, 1 << 54, (1 << 55) - 1, u64::MAX - 1, u64::MAX] {
            assert_eq!(capacity(last, 512).blocks(), None, "{last}");
        }
    }
}
