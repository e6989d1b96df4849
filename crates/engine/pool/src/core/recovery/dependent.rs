//! Where recovery must not take a checkpoint: between a record that holds the whole content of a block and a patch that
//! builds on it. Replay after such a checkpoint would begin with the patch, over content that a write in
//! progress may have torn.
//!
//! No freeze was between the two, so the log has a place for a checkpoint wherever there was one. Until it comes, only
//! content is written to its place, as the pool did when it wrote the records: they are durable, so a crash in between
//! finds the content in the log again. Map pages stay in memory, no more than the pool held then.

use std::collections::VecDeque;

/// Stretches of the log without a place for a checkpoint.
#[derive(Default)]
pub(super) struct Dependent {
    /// First and last number of the record before which there is no place, in order and apart.
    stretches: VecDeque<(u64, u64)>,
}

impl Dependent {
    /// Notes that record `patch` builds on record `image`. Called in the order of the log.
    pub fn note(&mut self, image: u64, patch: u64) {
        let mut first = image.saturating_add(1);
        while let Some((before, _)) = self.stretches.back().filter(|(_, last)| *last >= first) {
            first = first.min(*before);
            self.stretches.pop_back();
        }
        if first <= patch {
            self.stretches.push_back((first, patch));
        }
    }

    /// True if there is no place for a checkpoint before record `next`. Called in the order of the log.
    pub fn excludes(&mut self, next: u64) -> bool {
        while self.stretches.front().is_some_and(|(_, last)| *last < next) {
            self.stretches.pop_front();
        }
        self.stretches.front().is_some_and(|(first, _)| *first <= next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_has_its_place_before_an_image_or_after_the_last_patch_on_it() {
        let mut dependent = Dependent::default();
        for (image, patch) in [(2, 4), (3, 6), (7, 8), (10, 12), (11, 13), (9, 14), (20, 20)] {
            dependent.note(image, patch);
        }
        let excluded: Vec<u64> = (0..25).filter(|next| dependent.excludes(*next)).collect();
        assert_eq!(excluded, [3, 4, 5, 6, 8, 10, 11, 12, 13, 14]);
    }
}
