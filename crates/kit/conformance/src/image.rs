//! Contents of logical blocks that show their origin.
//!
//! The image of a stamp is 512 bytes: the stamp, then bytes computed from it, so that a mixture of
//! two images is detected. Stamp 0 is a block of zeros, like a deallocated block.

use random::Random;

/// Size of a logical block in bytes.
pub const BLOCK_BYTES: usize = 512;

/// Writes the image of a stamp to a block.
pub fn fill(stamp: u64, block: &mut [u8]) {
    if stamp == 0 {
        return block.fill(0);
    }
    let random = Random::new(stamp);
    for (index, word) in block.chunks_mut(8).enumerate() {
        let value = if index == 0 { stamp } else { random.next() };
        for (to, from) in word.iter_mut().zip(value.to_be_bytes()) {
            *to = from;
        }
    }
}

/// Image of a stamp.
pub fn image(stamp: u64) -> [u8; BLOCK_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    fill(stamp, &mut block);
    block
}

/// Stamp of a block; `None` when the block is not an image.
pub fn stamp_of(block: &[u8]) -> Option<u64> {
    let stamp = u64::from_be_bytes(block.get(..8)?.try_into().ok()?);
    (block.len() == BLOCK_BYTES && image(stamp) == block).then_some(stamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_recognized_and_mixtures_are_not() {
        assert_eq!(stamp_of(&image(77)), Some(77));
        assert_eq!(stamp_of(&[0; BLOCK_BYTES]), Some(0));
        let mut mixed = image(77);
        mixed[256..].copy_from_slice(&image(78)[256..]);
        assert_eq!(stamp_of(&mixed), None);
        assert_eq!(stamp_of(&image(77)[..511]), None);
        assert_eq!(stamp_of(&[]), None);
    }
}
