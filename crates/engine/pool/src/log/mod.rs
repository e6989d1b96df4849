//! State of the log in memory: records gather in a pending frame; frames are closed and written,
//! and become durable in order.
//!
//! A record is durable when its frame and all frames before are, and when the content that it and
//! every record before it name is at its place: the record of a large write may be written while its
//! content is. So nothing is acknowledged, destaged or left behind by a checkpoint that relies on a
//! record which replay may find without its content.

pub(crate) mod cursor;
pub(crate) mod frame;
pub(crate) mod patch;
pub(crate) mod record;

use crate::checksum::Crc64;
use crate::log::frame::{FRAME_HEADER_BYTES, FrameBuffer, FrameInfo, seal};
use media::{BLOCK_BYTES, Buffer};
use std::collections::{BTreeMap, VecDeque};

/// Size of the largest frame, unless one operation needs more.
const FRAME_BYTES: usize = 1 << 20;
/// Largest number of concurrent frame writes.
const IN_FLIGHT: usize = 4;
/// Frames in flight from which on records gather for the next frame. With two, the medium can begin the
/// second as soon as it has completed the first.
const GATHER: usize = 2;

/// Largest part of the log behind a record whose content is being written.
const AWAITED_BYTES: u64 = 16 << 20;

/// Point between two frames of the log.
#[derive(Clone, Copy, Debug)]
pub struct ReplayPoint {
    /// Position of the next frame.
    pub position: u64,
    /// Sequence number of its first record.
    pub sequence: u64,
    /// CRC of the previous frame.
    pub previous_crc: Crc64,
}

struct Frame {
    position: u64,
    end_sequence: u64,
    durable: bool,
}

/// State of the log.
pub struct Log {
    capacity: u64,
    /// Position of the next frame.
    head: u64,
    /// Position from which the last checkpoint replays.
    tail: u64,
    next_sequence: u64,
    durable_sequence: u64,
    /// Every record below this number is in a durable frame.
    written_sequence: u64,
    /// Records whose content is being written, each with the position of the log when it was
    /// appended.
    awaited: BTreeMap<u64, u64>,
    previous_crc: Crc64,
    pending: FrameBuffer,
    pending_records: u32,
    closed: VecDeque<(u64, FrameBuffer, u32, u64)>,
    in_flight: VecDeque<Frame>,
    spare: Vec<Buffer>,
}

impl Log {
    /// Creates a log that continues at `head` with `next_sequence`, after a frame with CRC
    /// `previous_crc`.
    pub fn new(capacity: u64, tail: u64, head: u64, next_sequence: u64, previous_crc: Crc64) -> Self {
        Self {
            capacity,
            head,
            tail,
            next_sequence,
            durable_sequence: next_sequence,
            written_sequence: next_sequence,
            awaited: BTreeMap::new(),
            previous_crc,
            pending: FrameBuffer::new(Buffer::default()),
            pending_records: 0,
            closed: VecDeque::new(),
            in_flight: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Continues the log at the end of replay.
    pub fn resume(&mut self, head: u64, next_sequence: u64, previous_crc: Crc64) {
        self.head = head;
        self.next_sequence = next_sequence;
        self.durable_sequence = next_sequence;
        self.written_sequence = next_sequence;
        self.previous_crc = previous_crc;
    }

    /// After [`Self::resume`]: notes a replayed frame whose write is repeated. Until
    /// [`Self::frame_durable`], neither its records nor later ones are durable. Called in the order of
    /// the log. False if a checkpoint has made the frame dispensable.
    pub fn expect(&mut self, position: u64, first_sequence: u64, end_sequence: u64) -> bool {
        if position < self.tail {
            return false;
        }
        self.written_sequence = self.written_sequence.min(first_sequence);
        self.durable_sequence = self.durable_sequence.min(first_sequence);
        self.in_flight.push_back(Frame { position, end_sequence, durable: false });
        true
    }

    /// Sequence number of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Every record below this number is durable.
    pub fn durable_sequence(&self) -> u64 {
        self.durable_sequence
    }

    /// Replay point of a checkpoint taken now. The pending frame must be closed.
    pub fn replay_point(&self) -> ReplayPoint {
        ReplayPoint { position: self.head, sequence: self.next_sequence, previous_crc: self.previous_crc }
    }

    /// Number of bytes between tail and head, unwritten frames included.
    pub fn used(&self) -> u64 {
        self.head - self.tail + self.pending.len().next_multiple_of(BLOCK_BYTES) as u64
    }

    /// True if so much of the ring is in use that a checkpoint is due: five eighths. The more
    /// records one checkpoint covers, the fewer map pages are written per record; hosts use the
    /// rest of the ring meanwhile.
    pub fn calls_for_checkpoint(&self) -> bool {
        self.used() > self.capacity / 8 * 5
    }

    /// True if an operation with records of `bytes` bytes fits. Part of the ring is always kept
    /// back for the end of the lap.
    #[inline]
    pub fn fits(&self, bytes: usize) -> bool {
        let frame = (bytes + self.pending.len() + FRAME_HEADER_BYTES).next_multiple_of(BLOCK_BYTES) as u64;
        let skip = frame.max(self.frame_limit() as u64 + BLOCK_BYTES as u64);
        self.head - self.tail + frame + skip + 2 * BLOCK_BYTES as u64 <= self.capacity
    }

    /// True if an operation with records of `bytes` bytes can ever fit.
    pub fn could_fit(&self, bytes: usize) -> bool {
        let frame = (bytes + 2 * FRAME_HEADER_BYTES).next_multiple_of(BLOCK_BYTES) as u64;
        frame * 2 + self.frame_limit() as u64 + 4 * BLOCK_BYTES as u64 <= self.capacity
    }

    #[inline]
    fn frame_limit(&self) -> usize {
        FRAME_BYTES.min((self.capacity / 16) as usize)
    }

    /// Appends a record, which `encode` writes. Returns its sequence number.
    pub fn append(&mut self, encode: impl FnOnce(&mut FrameBuffer)) -> u64 {
        encode(&mut self.pending);
        self.pending_records += 1;
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    /// True if a frame could be written now.
    pub fn has_work(&self) -> bool {
        (!self.closed.is_empty() || self.pending_records > 0) && self.in_flight.len() < IN_FLIGHT
    }

    /// Closes the pending frame, if it has records: it gets its position.
    pub fn close(&mut self) {
        if self.pending_records == 0 {
            return;
        }
        let next = FrameBuffer::new(self.spare.pop().unwrap_or_default());
        let bytes = std::mem::replace(&mut self.pending, next);
        let records = std::mem::take(&mut self.pending_records);
        let size = bytes.len().next_multiple_of(BLOCK_BYTES) as u64;
        if self.head % self.capacity + size > self.capacity {
            self.head = self.head.next_multiple_of(self.capacity);
        }
        self.closed.push_back((self.head, bytes, records, self.next_sequence));
        self.head += size;
        // The next frame needs the CRC of this one, so frames are sealed when they are written, in
        // order.
    }

    /// Closes and seals the next frame to write, if the limit of concurrent writes allows. Returns
    /// its position, offset in the ring and content.
    pub fn next_frame(&mut self, uuid: &[u8; 16], incarnation: u64, epoch: u64) -> Option<(u64, u64, Buffer)> {
        if self.in_flight.len() >= IN_FLIGHT {
            return None;
        }
        if self.closed.is_empty() {
            // Group commit: while enough frames are in flight, records gather until one of them is
            // durable or the next frame is full.
            let full = self.pending.len() >= self.frame_limit();
            if self.pending_records == 0 || (self.in_flight.len() >= GATHER && !full) {
                return None;
            }
            self.close();
        }
        let (position, mut bytes, records, end_sequence) = self.closed.pop_front()?;
        let info = FrameInfo {
            incarnation,
            position,
            first_sequence: end_sequence - u64::from(records),
            durable_sequence: self.durable_sequence,
            previous_crc: self.previous_crc,
            bytes: bytes.len() as u32,
            records,
            epoch,
        };
        self.previous_crc = seal(&mut bytes, uuid, &info);
        self.in_flight.push_back(Frame { position, end_sequence, durable: false });
        Some((position, position % self.capacity, bytes.into_buffer()))
    }

    /// Closes the pending frame and seals all closed ones, so that the replay point is exact.
    /// Returns the frames to write.
    pub fn seal_all(&mut self, uuid: &[u8; 16], incarnation: u64, epoch: u64) -> Vec<(u64, u64, Buffer)> {
        self.close();
        let mut frames = Vec::new();
        while !self.closed.is_empty() {
            let room = self.in_flight.len();
            // A checkpoint may exceed the limit of concurrent writes by the frames it closes.
            match self.seal_next(uuid, incarnation, epoch) {
                Some(frame) => frames.push(frame),
                None => break,
            }
            debug_assert!(self.in_flight.len() > room);
        }
        frames
    }

    fn seal_next(&mut self, uuid: &[u8; 16], incarnation: u64, epoch: u64) -> Option<(u64, u64, Buffer)> {
        let hidden = std::mem::take(&mut self.in_flight);
        let frame = self.next_frame(uuid, incarnation, epoch);
        let new = std::mem::replace(&mut self.in_flight, hidden);
        self.in_flight.extend(new);
        frame
    }

    /// Notes that the frame at `position` is durable.
    pub fn frame_durable(&mut self, position: u64) {
        if let Some(frame) = self.in_flight.iter_mut().find(|f| f.position == position) {
            frame.durable = true;
        }
        while let Some(frame) = self.in_flight.front().filter(|f| f.durable) {
            self.written_sequence = frame.end_sequence;
            self.in_flight.pop_front();
        }
        self.settle();
    }

    /// Notes that the content of record `sequence`, which is appended next, is being written.
    pub fn await_content(&mut self, sequence: u64) {
        self.awaited.insert(sequence, self.head);
    }

    /// Notes that the content of a record is durable at its place.
    pub fn content_durable(&mut self, sequence: u64) {
        self.awaited.remove(&sequence);
        self.settle();
    }

    fn settle(&mut self) {
        let awaited = self.awaited.first_key_value().map_or(u64::MAX, |(sequence, _)| *sequence);
        self.durable_sequence = self.written_sequence.min(awaited);
    }

    /// True if so much of the log waits for content that no record may be added: recovery reads all
    /// of that into memory.
    #[inline]
    pub fn awaits_much(&self) -> bool {
        !self.awaited.is_empty()
            && self.awaited.values().next().is_some_and(|position| self.head - position > AWAITED_BYTES)
    }

    /// Takes the buffer of a written frame back for reuse.
    pub fn recycle(&mut self, buffer: Buffer) {
        if self.spare.len() < IN_FLIGHT && buffer.len() <= FRAME_BYTES + 2 * BLOCK_BYTES {
            self.spare.push(buffer);
        }
    }

    /// Notes that a checkpoint no longer needs the log before `position`.
    pub fn truncate(&mut self, position: u64) {
        self.tail = position;
        // During replay the head is the start of replay; `resume` moves it to the end of the log.
        self.head = self.head.max(position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only one frame was in flight unless the next was full: hosts waited for the end of one frame and for
    /// the whole of the next.
    #[test]
    fn a_second_frame_is_written_beside_the_first_and_records_gather_for_the_third() {
        let mut log = Log::new(16 << 20, 0, 0, 1, Crc64::default());
        let write = |log: &mut Log| {
            log.append(|frame| frame.extend_from_slice(&[7; 100]));
            log.next_frame(&[1; 16], 1, 1).map(|(position, ..)| position)
        };
        let first = write(&mut log);
        let second = write(&mut log);
        assert!(first.is_some() && second > first);
        assert_eq!(write(&mut log), None);
        assert_eq!(write(&mut log), None);
        log.frame_durable(first.unwrap_or_default());
        assert_eq!(log.durable_sequence(), 2);
        let (_, _, frame) = log.next_frame(&[1; 16], 1, 1).unwrap_or_default();
        assert!(frame.len() >= 200, "both records are in it");
    }
}
