//! Reads of data that planning found missing.

use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::io::Io;
use crate::geometry::{FANOUT, Pointer};
use crate::schedule::Key;
use media::{BlockAddress, Media};
use smallvec::SmallVec;

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
        let mut blocks: SmallVec<[(BlockAddress, Crc32c); 1]> = SmallVec::new();
        for &(address, crc) in &need.blocks {
            let key = Key::Block(address);
            if self.schedule.first_to_wait(key) {
                blocks.push((address, crc));
            }
            keys.push(key);
        }
        self.map.forget_need();
        self.read_blocks(blocks);
        keys
    }

    /// Reads content of blocks, of neighbours with one request.
    fn read_blocks(&mut self, mut blocks: SmallVec<[(BlockAddress, Crc32c); 1]>) {
        blocks.sort_unstable_by_key(|(address, _)| *address);
        let limit = self.medium.request_blocks(FANOUT);
        let mut rest = &blocks[..];
        while let Some((address, _)) = rest.first() {
            let follows = |(at, (next, _)): &(u64, &(BlockAddress, Crc32c))| *next == *address + *at;
            let count = (0..).zip(rest).take(limit).take_while(follows).count();
            let (run, others) = rest.split_at(count);
            let crcs = run.iter().map(|(_, crc)| *crc).collect();
            self.medium.read(Io::Blocks { address: *address, crcs, retried: false }, *address, count);
            rest = others;
        }
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
