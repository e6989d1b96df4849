//! Records at the end of the log whose content may not have reached its place.
//!
//! The record of a large write may be written while its content is. Nothing from such a record on is
//! acknowledged before the content is durable, and the frames written after that declare it durable. So
//! the blocks of every *unconfirmed* record that no frame declares durable are read, and the log ends
//! before the first one whose blocks do not have its content: it has not happened, and neither has
//! anything after it.
//!
//! One thing besides a crash changes such a block: a later write overwrites it through the log, and
//! destaging writes it. That happens only once that later record is durable. So a block without its
//! content counts as good if a later record that is taken holds content for it. The log then ends at
//! the last place at which every record before has its content, or is followed by such a record.
//! The end of the durable records is such a place, therefore nothing that was acknowledged is given up.
//!
//! What is given up is removed from the log before anything relies on its end: the blocks are free
//! again, and might later have the content by chance. A frame that holds earlier records keeps
//! them: only its header changes, which lies in one sector. The content that is kept is written
//! again, like the frames (`confirm.rs`): it may have been read from a cache that lost it in a failed
//! flush.

use crate::checksum::Crc32c;
use crate::core::Core;
use crate::core::recovery::confirm::Doubtful;
use crate::core::recovery::{FENCE, damaged};
use crate::interface::PoolError;
use crate::log::frame::FRAME_HEADER_BYTES;
use crate::log::record::{self, Record};
use crate::log::{ReplayPoint, frame};
use crate::medium::blocking;
use crate::mutations::{Mutation, leaves_out};
use media::{BLOCK_BYTES, BlockAddress, Buffer, Media, MediaError};
use std::collections::{HashMap, VecDeque};

/// Largest number of blocks read or written at once.
const RUN_BLOCKS: usize = 256;

/// Block of an unconfirmed record.
struct Named {
    sequence: u64,
    address: BlockAddress,
    crc: Crc32c,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has the content of its record.
    Good,
    /// It has other content.
    Other,
    /// It cannot be read. Nothing tells whether its record was acknowledged.
    Unreadable,
}

/// What the frames in doubt say.
#[derive(Default)]
struct Doubts {
    /// Blocks of unconfirmed records, in the order of the log.
    named: Vec<Named>,
    /// Records that hold content for a block.
    held: HashMap<BlockAddress, Vec<u64>>,
}

impl Doubts {
    fn of(frames: &VecDeque<Doubtful>) -> Result<Self, PoolError> {
        let mut doubts = Self::default();
        let declared = frames.back().map_or(0, |frame| frame.info.durable_sequence);
        for Doubtful { info, content } in frames {
            let mut rest = content.get(FRAME_HEADER_BYTES..info.bytes as usize).unwrap_or(&[]);
            for sequence in info.first_sequence.. {
                if rest.is_empty() {
                    break;
                }
                let unconfirmed = record::is_unconfirmed(rest) && sequence >= declared;
                let (record, after) = record::decode(rest).ok_or_else(|| damaged("a log record is malformed"))?;
                rest = after;
                let Record::Write { blocks, data, .. } = record else { continue };
                for block in blocks.iter().filter(|block| !block.address.is_none()) {
                    let (address, crc) = (block.address, block.crc);
                    if unconfirmed {
                        doubts.named.push(Named { sequence, address, crc, state: State::Good });
                    } else if data.is_some() {
                        doubts.held.entry(address).or_default().push(sequence);
                    }
                }
            }
        }
        Ok(doubts)
    }

    /// Number of the first record that is given up; `end`: none is.
    fn cut(&self, end: u64) -> u64 {
        // Each block with other content excludes the ends between its record and the next one that
        // holds content for it.
        let excluded: Vec<(u64, u64)> = (self.named.iter().filter(|named| named.state == State::Other))
            .map(|named| {
                let held = self.held.get(&named.address).into_iter().flatten();
                let next = held.copied().find(|held| *held > named.sequence);
                let next = next.filter(|_| !leaves_out(Mutation::ContentOverwritten));
                (named.sequence, next.unwrap_or(u64::MAX))
            })
            .collect();
        let mut cut = end;
        // Ends become earlier only, so the last excluded one decides in each pass.
        while let Some((from, _)) = excluded.iter().rev().find(|(from, to)| (*from + 1..=*to).contains(&cut)) {
            cut = *from;
        }
        cut
    }
}

/// Runs of neighbouring blocks: the index of the first, and the number.
fn runs(named: &[Named], state: Option<State>) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, block) in named.iter().enumerate() {
        if state.is_some_and(|state| block.state != state) {
            continue;
        }
        match runs.last_mut() {
            Some((first, count))
                if *first + *count == at
                    && *count < RUN_BLOCKS
                    && named[*first].address + *count as u64 == block.address =>
            {
                *count += 1;
            }
            _ => runs.push((at, 1)),
        }
    }
    runs
}

impl<M: Media> Core<M> {
    /// Verifies the content of unconfirmed records, blocking, and writes it again. Returns the end of
    /// the log, from `end` on backwards. Frames from there on are removed from `frames`; one that holds
    /// records on both sides is shortened, and has to be written again before anything else.
    pub(super) fn settle_contents(
        &mut self,
        frames: &mut VecDeque<Doubtful>,
        end: ReplayPoint,
    ) -> Result<ReplayPoint, PoolError> {
        let mut doubts = Doubts::of(frames)?;
        if doubts.named.is_empty() || leaves_out(Mutation::ContentVerified) {
            return Ok(end);
        }
        self.verify_contents(&mut doubts.named);
        let cut = doubts.cut(end.sequence);
        doubts.named.retain(|named| named.sequence < cut);
        if let Some(Named { address, .. }) = doubts.named.iter().find(|named| named.state == State::Unreadable) {
            // The medium may only be absent.
            return Err(damaged(format!(
                "block {address} cannot be read, and a record at the end of the log names it"
            )));
        }
        self.confirm_contents(&doubts.named)?;
        if cut == end.sequence {
            return Ok(end);
        }
        shorten(frames, cut, &self.uuid).ok_or_else(|| damaged("the end of the log contradicts itself"))
    }

    /// Reads the blocks, and notes their states.
    fn verify_contents(&mut self, named: &mut [Named]) {
        let mut spare = Vec::new();
        // A second attempt: the defect may have been in the transfer.
        for again in [None, Some(State::Other), Some(State::Unreadable)] {
            let runs = runs(named, again);
            let requests: Vec<_> = runs.iter().map(|(first, count)| (named[*first].address, *count)).collect();
            blocking::read_each(self.medium.media_mut(), &requests, &mut spare, |index, read| {
                let (first, count) = runs[index];
                for (at, block) in named[first..first + count].iter_mut().enumerate() {
                    let content = read.as_ref().ok().and_then(|buffer| buffer.as_blocks().get(at));
                    block.state = match content {
                        None => State::Unreadable,
                        Some(content) if Crc32c::of(&content.0) == block.crc => State::Good,
                        Some(_) => State::Other,
                    };
                }
            });
        }
    }

    /// Writes good content again, the same bytes at the same place, durably.
    fn confirm_contents(&mut self, named: &[Named]) -> Result<(), PoolError> {
        for (first, count) in runs(named, Some(State::Good)) {
            let address = named[first].address;
            let content = super::read_blocks(self.medium.media_mut(), address, count)?;
            let blocks = content.as_blocks().iter().zip(&named[first..first + count]);
            if !blocks.into_iter().all(|(content, named)| Crc32c::of(&content.0) == named.crc) {
                return Err(damaged(format!(
                    "block {address} or one of the {count} after it changes while it is read"
                )));
            }
            let media = self.medium.media_mut();
            media.write_durable(&FENCE, 0, address, content);
            confirmed(blocking::await_ticket(media, 0).map(|_| ()))?;
        }
        Ok(())
    }

    /// Removes the first frame that was given up from the log, if the log ends between two frames.
    /// Durable when it returns.
    pub(super) fn end_log(&mut self, end: ReplayPoint) -> Result<(), PoolError> {
        if leaves_out(Mutation::LogCut) {
            return Ok(());
        }
        let media = self.medium.media_mut();
        let capacity = media.log_bytes();
        media.append(&FENCE, 0, end.position % capacity, Buffer::zeroed(1));
        confirmed(blocking::await_ticket(media, 0).map(|_| ()))
    }
}

fn confirmed(result: Result<(), MediaError>) -> Result<(), PoolError> {
    match result {
        Ok(()) => Ok(()),
        Err(MediaError::NoSpace { .. }) => Err(PoolError::PoolFull),
        Err(error) => Err(damaged(format!("the end of the log could not be written again: {error}"))),
    }
}

/// Removes the records from number `cut` on; returns the new end of the log.
fn shorten(frames: &mut VecDeque<Doubtful>, cut: u64, uuid: &[u8; 16]) -> Option<ReplayPoint> {
    frames.truncate(frames.partition_point(|frame| frame.info.first_sequence <= cut));
    let Doubtful { info, content } = frames.back_mut()?;
    let (position, previous_crc) = (info.position, info.previous_crc);
    let mut rest = content.get(FRAME_HEADER_BYTES..info.bytes as usize)?;
    for _ in info.first_sequence..cut {
        (_, rest) = record::decode(rest)?;
    }
    let given_up = rest.len();
    if info.first_sequence == cut {
        frames.pop_back();
        return Some(ReplayPoint { position, sequence: cut, previous_crc });
    }
    // The bytes behind the new end stay: a header that is not written leaves the old frame intact.
    info.bytes -= given_up as u32;
    info.records = (cut - info.first_sequence) as u32;
    let previous_crc = frame::seal(content, uuid, info);
    let position = position + (info.bytes as usize).next_multiple_of(BLOCK_BYTES) as u64;
    Some(ReplayPoint { position, sequence: cut, previous_crc })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of the log that the states of blocks permit, by hand.
    #[test]
    fn the_log_ends_before_content_that_is_missing_unless_a_later_record_holds_it() {
        let named = |sequence, address, state| Named {
            sequence,
            address: BlockAddress::new(address),
            crc: Crc32c::NONE,
            state,
        };
        let cut = |named: Vec<Named>, held: &[(u64, &[u64])]| {
            let held = held.iter().map(|(address, by)| (BlockAddress::new(*address), by.to_vec())).collect();
            Doubts { named, held }.cut(20)
        };
        use State::{Good, Other, Unreadable};
        assert_eq!(cut(vec![], &[]), 20);
        assert_eq!(cut(vec![named(3, 100, Good), named(5, 200, Unreadable)], &[]), 20);
        assert_eq!(cut(vec![named(3, 100, Good), named(5, 200, Other)], &[]), 5);
        // Overwritten through the log by record 9.
        assert_eq!(cut(vec![named(5, 200, Other)], &[(200, &[4, 9, 11])]), 20);
        // Only before its own record.
        assert_eq!(cut(vec![named(5, 200, Other)], &[(200, &[4])]), 5);
        // The record that holds the content of the first is given up with the second.
        assert_eq!(cut(vec![named(5, 200, Other), named(8, 300, Other)], &[(200, &[9])]), 5);
        assert_eq!(cut(vec![named(5, 200, Other), named(8, 300, Other)], &[(200, &[7])]), 8);
        assert_eq!(cut(vec![named(5, 200, Other), named(8, 300, Other)], &[(200, &[9]), (300, &[10])]), 20);
    }
}
