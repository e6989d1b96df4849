//! Reads of data that planning found missing.

use crate::core::Core;
use crate::core::io::Io;
use crate::geometry::Pointer;
use crate::schedule::Key;
use media::Media;

/// Number of waits after which an operation probably needs more data at once than memory holds.
pub(super) const MANY_WAITS: u16 = 32;

impl<M: Media> Core<M> {
    /// Requests everything in the map's need that is not yet in flight; returns the keys to wait
    /// for.
    pub(super) fn issue_need(&mut self) -> Vec<Key> {
        let mut keys = Vec::new();
        let need = self.map.need();
        for &Pointer { address, level, crc } in &need.pages {
            let key = Key::Page(address);
            if self.schedule.first_to_wait(key) {
                self.medium.read(Io::Page { address, level, crc, retried: false }, address, 1);
            }
            keys.push(key);
        }
        for &segment in &need.segments {
            let key = Key::Segment(segment);
            let Some((address, _)) = self.map.space().source(segment) else { continue };
            if self.schedule.first_to_wait(key) {
                self.medium.read(Io::Segment { segment, retried: false }, address, 1);
            }
            keys.push(key);
        }
        for &(address, crc) in &need.blocks {
            let key = Key::Block(address);
            if self.schedule.first_to_wait(key) {
                self.medium.read(Io::Block { address, crc, retried: false }, address, 1);
            }
            keys.push(key);
        }
        self.map.forget_need();
        keys
    }

    /// Requests data that the pool itself needs. Stops the pool if that data is unreadable, since
    /// it cannot continue without it.
    pub(super) fn issue_need_or_stop(&mut self) {
        match self.schedule.why_unreadable(self.map.need()).cloned() {
            Some(reason) => self.stop(reason),
            None => {
                self.issue_need();
            }
        }
    }
}
