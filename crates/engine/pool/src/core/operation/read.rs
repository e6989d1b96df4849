//! Reads: map, blocks in memory, and runs from the medium, whose checksums are verified before data
//! is returned.

use super::ZEROS;
use crate::checksum::Crc32c;
use crate::core::B;
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;

use crate::core::Core;
use crate::core::io::Io;
use crate::core::progress::{Gathered, Progress, ReadState};
use crate::core::turn::TURN_STEPS;
use crate::geometry::{FANOUT, index_in};
use crate::interface::operation::{OperationId, Output};
use crate::medium::read_result;
use crate::schedule::step::Step;
use bytes::Bytes;
use media::{BlockAddress, Done, Media, MediaError};
use smallvec::SmallVec;

/// Address and checksum of each block of a read.
type Entries = SmallVec<[(BlockAddress, Crc32c); 4]>;

/// Largest read in blocks whose content stays in the cache.
const CACHED_BLOCKS: usize = 8;
// A turn caches at most as many blocks as its eviction considers, so the cache keeps its bound.
const _: () = assert!(TURN_STEPS * CACHED_BLOCKS <= crate::clock::STEPS);
/// Number of attempts of a read whose checksum fails: the block may have been overwritten and freed
/// during the read.
const TRIES: u8 = 4;

impl<M: Media> Core<M> {
    pub(in crate::core) fn read_step(
        &mut self,
        id: OperationId,
        object: ObjectId,
        offset: u64,
        length: usize,
        progress: &mut Progress,
    ) -> Step {
        if let Err(failure) = self.readable(object, offset, length as u64) {
            return Step::Fail(failure);
        }
        if length == 0 {
            self.took_effect(id);
            return Step::Done(Output::Data(Bytes::new()));
        }
        let first = BlockNumber::of_byte(offset);
        let count = (BlockNumber::of_byte(offset + length as u64 - 1) - first + 1) as usize;
        let mut tries = 0;
        if let Some(read) = progress.read.take() {
            if read.outstanding > 0 {
                progress.read = Some(read);
                return Step::Io;
            }
            let Some((at, address)) = read.bad else {
                let from = (offset % B) as usize;
                return Step::Done(Output::Data(read.out.into_bytes(from, length, self.medium.stock())));
            };
            if read.of_a_look {
                return Step::Done(Output::Superseded);
            }
            tries = read.tries + 1;
            if tries >= TRIES {
                return Step::Fail(self.bad_block(object, first + at as u64, address));
            }
        }
        let Some(entries) = self.entries_of(object, first, count) else { return Step::Wait };
        self.took_effect(id);
        let from = (offset % B) as usize;
        if let [(BlockAddress::NONE, _)] = entries[..] {
            return Step::Done(Output::Data(Bytes::from_static(&ZEROS).slice(from..from + length)));
        }
        let (out, outstanding) = self.gather(id, &entries, tries > 0);
        if outstanding == 0 {
            return Step::Done(Output::Data(out.into_bytes(from, length, self.medium.stock())));
        }
        progress.read = Some(ReadState { out, outstanding, bad: None, tries, of_a_look: false });
        Step::Io
    }

    /// Address and CRC of each block, address 0 for zeros; `None` if map pages have to be read
    /// first.
    #[inline]
    pub(super) fn entries_of(&mut self, object: ObjectId, first: BlockNumber, count: usize) -> Option<Entries> {
        let mut entries = Entries::with_capacity(count);
        let mut at = 0;
        while at < count {
            let block = first + at as u64;
            let index = index_in(block, 0);
            let n = (FANOUT - index).min(count - at);
            if n == 1 {
                if let Some(entry) = self.map.lookup(object, block) {
                    entries.push((entry.address(), entry.crc()));
                }
            } else {
                match self.map.pointer(object, block, 0) {
                    Some((pointer, _)) if pointer.is_empty() => {
                        entries.extend((0..n).map(|_| (BlockAddress::NONE, Crc32c::NONE)))
                    }
                    Some((pointer, _)) => {
                        if let Some(page) = self.map.page(pointer) {
                            entries.extend(page.entries[index..index + n].iter().map(|e| (e.address(), e.crc())));
                        }
                    }
                    None => {}
                }
            }
            at += n;
        }
        (entries.len() == count).then_some(entries)
    }

    /// Takes the blocks that are in memory and requests the rest; returns the number of requests.
    /// `alone`: requests each block by itself, to find the bad one after a failure.
    #[inline]
    pub(super) fn gather(
        &mut self,
        id: OperationId,
        entries: &[(BlockAddress, Crc32c)],
        alone: bool,
    ) -> (Gathered, u32) {
        let count = entries.len();
        let mut out = Gathered::Nothing;
        let mut outstanding = 0;
        let mut i = 0;
        let limit = if alone { 1 } else { self.medium.request_blocks(FANOUT) };
        while i < count {
            let (address, crc) = entries[i];
            if address.is_none() {
                out.parts(count, self.medium.stock())[i].0.fill(0);
                i += 1;
                continue;
            }
            if let Some(data) = self.map.content_at(address, crc) {
                self.counters.cache_hits += 1;
                match count {
                    1 => out = Gathered::Block(data),
                    _ => out.parts(count, self.medium.stock())[i].0 = *data,
                }
                i += 1;
                continue;
            }
            let mut n = 1;
            while n < limit
                && i + n < count
                && entries[i + n].0 == address + n as u64
                && !self.map.content().is_dirty(address + n as u64)
            {
                n += 1;
            }
            if n < count {
                out.parts(count, self.medium.stock());
            }
            self.counters.cache_misses += n as u64;
            let blocks = (i..i + n).map(|k| (k as u64, entries[k].1)).collect();
            self.medium.read(Io::Read { operation: id, blocks, address }, address, n);
            outstanding += 1;
            i += n;
        }
        (out, outstanding)
    }

    pub(in crate::core) fn read_arrived(
        &mut self,
        operation: OperationId,
        blocks: &[(u64, Crc32c)],
        address: BlockAddress,
        result: Result<Done, MediaError>,
    ) {
        let buffer = read_result(result).ok().filter(|buffer| buffer.blocks() == blocks.len());
        let bad = match &buffer {
            Some(buffer) => {
                buffer.as_blocks().iter().zip(blocks).position(|(data, (_, crc))| Crc32c::of(&data.0) != *crc)
            }
            None => Some(0),
        };
        let mut arrived = None;
        if bad.is_some() {
            self.counters.mismatches += 1;
        } else if let (Some(buffer), true) = (&buffer, blocks.len() <= CACHED_BLOCKS) {
            for ((i, block), (_, crc)) in buffer.as_blocks().iter().enumerate().zip(blocks) {
                arrived = self.map.content_read(address + i as u64, &block.0, *crc);
            }
        }
        let Some(pending) = self.schedule.get_mut(operation) else { return };
        let Some(read) = &mut pending.progress.read else { return };
        read.outstanding -= 1;
        let last = read.outstanding == 0;
        match (bad, buffer, &mut read.out) {
            (None, Some(buffer), Gathered::Parts(out)) => {
                for (block, (k, _)) in buffer.as_blocks().iter().zip(blocks) {
                    out.as_blocks_mut()[*k as usize].0 = block.0;
                }
                self.medium.stock().give(buffer);
            }
            (None, Some(buffer), whole) => match arrived {
                Some(data) if blocks.len() == 1 => {
                    *whole = Gathered::Block(data);
                    self.medium.stock().give(buffer);
                }
                _ => *whole = Gathered::Whole(buffer),
            },
            _ => {
                let i = bad.unwrap_or(0);
                let at = blocks.get(i).map_or(0, |(k, _)| *k as usize);
                if read.bad.is_none_or(|(first, _)| at < first) {
                    read.bad = Some((at, address + i as u64));
                }
            }
        }
        if last {
            self.schedule.make_ready(operation);
        }
    }
}
