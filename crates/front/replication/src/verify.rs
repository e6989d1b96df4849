//! Comparison of a common point at both ends, by a hash for each leaf of the maps: no data is read or sent.

use crate::checksum::Crc32c;
use crate::refusal::{Code, Refusal};
use crate::wire::{LEAF_BLOCKS, LeafHash, Leaves};
use sha2::{Digest, Sha256};

/// Hash of a leaf: SHA-256 of five bytes for each of its [`LEAF_BLOCKS`] blocks. A block with content has 1 and its
/// CRC-32C, little-endian; one without has zeros, and so have those behind the end of the volume. A block that was
/// lost has 2 and zeros, so that it differs from what the other end has.
pub fn leaf_hash(blocks: &[LeafBlock]) -> LeafHash {
    let mut hash = Sha256::new();
    let blocks = blocks.iter().copied().chain(std::iter::repeat(LeafBlock::Empty));
    for block in blocks.take(usize::try_from(LEAF_BLOCKS).unwrap_or(usize::MAX)) {
        let (kind, crc) = match block {
            LeafBlock::Empty => (0, 0),
            LeafBlock::Content(Crc32c(crc)) => (1, crc),
            LeafBlock::Lost => (2, 0),
        };
        hash.update([kind]);
        hash.update(u32::to_le_bytes(crc));
    }
    hash.finalize().into()
}

/// Block of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeafBlock {
    /// It has no content, and reads as zeros.
    Empty,
    /// It has content of this checksum.
    Content(Crc32c),
    /// It cannot be read, and never could be at this end.
    Lost,
}

/// Leaves that differ, ascending: those of both lists whose hashes are not equal, and those that only one has.
///
/// [`Code::Unexpected`] if the lists are of other places.
pub fn differences(own: &Leaves, peer: &Leaves) -> Result<Vec<u64>, Refusal> {
    if (own.member, own.first_leaf) != (peer.member, peer.first_leaf) {
        return Err(Refusal::new(Code::Unexpected, "the hashes are of leaves that were not asked for"));
    }
    let count = own.hashes.len().max(peer.hashes.len());
    let differs = |index: &usize| own.hashes.get(*index) != peer.hashes.get(*index);
    Ok((0..count).filter(differs).map(|index| own.first_leaf.saturating_add(index as u64)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(crc: u32) -> LeafBlock {
        LeafBlock::Content(Crc32c(crc))
    }

    #[test]
    fn a_hash_depends_on_each_block_and_its_place() {
        let hash = |blocks: &[LeafBlock]| leaf_hash(blocks);
        let leaf = [content(1), LeafBlock::Empty, content(2)];
        assert_ne!(hash(&leaf), hash(&[content(1), content(2)]));
        assert_ne!(hash(&leaf), hash(&[content(1), content(0), content(2)]), "content of zeros is no empty block");
        assert_ne!(hash(&[LeafBlock::Lost]), hash(&[content(0)]));
        assert_eq!(hash(&[content(1)]), hash(&[content(1), LeafBlock::Empty]), "the end of a volume");
        // SHA-256 of 1 280 zeros: the definition never changes.
        let zeros: LeafHash = Sha256::digest([0; 1280]).into();
        assert_eq!(hash(&[]), zeros);
    }

    #[test]
    fn leaves_that_differ_or_are_missing_are_named() {
        let leaves = |hashes: &[u8]| {
            let hashes = hashes.iter().map(|byte| [*byte; 32]).collect();
            Leaves { member: 1, first_leaf: 100, hashes }
        };
        assert_eq!(differences(&leaves(&[1, 2, 3]), &leaves(&[1, 2, 3])), Ok(vec![]));
        assert_eq!(differences(&leaves(&[1, 2, 3, 4]), &leaves(&[1, 9, 3])), Ok(vec![101, 103]));
        assert_eq!(differences(&leaves(&[]), &leaves(&[7])), Ok(vec![100]));
        let other = Leaves { first_leaf: 99, ..leaves(&[1]) };
        assert_eq!(differences(&leaves(&[1]), &other).map_err(|refusal| refusal.code), Err(Code::Unexpected));
    }
}
