//! Reading of the log: frames of its chain, their records, and the proof of its end.

use crate::checksum::Crc64;
use crate::core::recovery::{await_ticket, damaged};
use crate::interface::PoolError;
use crate::log::frame::FrameInfo;
use crate::log::record::Record;
use crate::log::{ReplayPoint, frame, record};
use media::{BLOCK_BYTES, Buffer, Done, Media};

/// Number of bytes read at once while the log is scanned.
const CHUNK_BYTES: usize = 4 << 20;
/// Distance on both sides of the end of the log in which a frame is searched that would prove the
/// end wrong.
const PROOF_BYTES: u64 = 4 << 20;

/// Reader of the frames of the log, in order.
pub(crate) struct Scanner {
    capacity: u64,
    uuid: [u8; 16],
    point: ReplayPoint,
    chunk: Buffer,
    chunk_start: u64,
    chunk_end: u64,
}

impl Scanner {
    pub(crate) fn new(capacity: u64, uuid: [u8; 16], point: ReplayPoint) -> Self {
        Self { capacity, uuid, point, chunk: Buffer::default(), chunk_start: 0, chunk_end: 0 }
    }

    /// Point behind the last frame returned.
    pub(super) fn point(&self) -> ReplayPoint {
        self.point
    }

    /// Goes to an earlier end of the log.
    pub(super) fn end_at(&mut self, end: ReplayPoint) {
        self.point = end;
    }

    /// Makes `bytes` bytes at `position` available; they must not wrap.
    fn window<M: Media>(&mut self, media: &mut M, position: u64, bytes: usize) -> Result<Option<&[u8]>, PoolError> {
        let offset = position % self.capacity;
        if offset + bytes as u64 > self.capacity {
            return Ok(None);
        }
        if position < self.chunk_start || position + bytes as u64 > self.chunk_end {
            let length =
                (CHUNK_BYTES.max(bytes) as u64).min(self.capacity - offset).next_multiple_of(BLOCK_BYTES as u64);
            media.read_log(0, offset, Buffer::zeroed((length / BLOCK_BYTES as u64) as usize));
            match await_ticket(media, 0)? {
                Done::Read(buffer) => self.chunk = buffer,
                _ => return Err(damaged("the medium answered a read with something else")),
            }
            self.chunk_start = position;
            self.chunk_end = position + length;
        }
        let from = (position - self.chunk_start) as usize;
        Ok(self.chunk.get(from..from + bytes))
    }

    fn frame_at<M: Media>(&mut self, media: &mut M, position: u64) -> Result<Option<(FrameInfo, Crc64)>, PoolError> {
        let uuid = self.uuid;
        let capacity = self.capacity;
        let Some(head) = self.window(media, position, BLOCK_BYTES)? else { return Ok(None) };
        let Some(info) = frame::peek(head, &uuid) else { return Ok(None) };
        if info.position != position || u64::from(info.bytes) > capacity {
            return Ok(None);
        }
        let bytes = (info.bytes as usize).next_multiple_of(BLOCK_BYTES);
        let Some(whole) = self.window(media, position, bytes)? else { return Ok(None) };
        Ok(frame::open(whole, &uuid))
    }

    /// Returns the next frame of the chain: its fields and content.
    pub(crate) fn next<M: Media>(&mut self, media: &mut M) -> Result<Option<(FrameInfo, Vec<u8>)>, PoolError> {
        let lap = self.point.position.next_multiple_of(self.capacity);
        for position in [self.point.position, lap] {
            let Some((info, crc)) = self.frame_at(media, position)? else { continue };
            if info.first_sequence != self.point.sequence || info.previous_crc != self.point.previous_crc {
                continue;
            }
            let bytes = info.bytes as usize;
            let content =
                self.window(media, position, bytes.next_multiple_of(BLOCK_BYTES))?.map(|w| w[..bytes].to_vec());
            let Some(content) = content else { continue };
            self.point = ReplayPoint {
                position: position + bytes.next_multiple_of(BLOCK_BYTES) as u64,
                sequence: info.first_sequence + u64::from(info.records),
                previous_crc: crc,
            };
            return Ok(Some((info, content)));
        }
        Ok(None)
    }

    /// True if an intact frame, of this lap or a later one, starts here that was written when
    /// record `sequence` was durable. A later lap means that the root is older than the log's
    /// truncation: the disk dropped writes that a flush had covered.
    fn was_durable<M: Media>(&mut self, media: &mut M, position: u64, sequence: u64) -> Result<bool, PoolError> {
        let (uuid, capacity) = (self.uuid, self.capacity);
        let Some(head) = self.window(media, position, BLOCK_BYTES)? else { return Ok(false) };
        let Some(info) = frame::peek(head, &uuid) else { return Ok(false) };
        if info.durable_sequence <= sequence
            || info.position < position
            || info.position % capacity != position % capacity
            || u64::from(info.bytes) > capacity
        {
            return Ok(false);
        }
        let bytes = (info.bytes as usize).next_multiple_of(BLOCK_BYTES);
        Ok(self.window(media, position, bytes)?.is_some_and(|whole| frame::open(whole, &uuid).is_some()))
    }

    /// Verifies the end of the chain. A later frame that declares the next record durable proves
    /// that the log is damaged there.
    ///
    /// Such a frame is behind the end, or before it if frames of a later lap were written over the
    /// end: the frame that overwrote it may be the last one.
    pub(super) fn prove_end<M: Media>(&mut self, media: &mut M) -> Result<(), PoolError> {
        let end = self.point;
        let lap = end.position + self.capacity;
        let behind = end.position..end.position + PROOF_BYTES.min(self.capacity);
        let before = lap - PROOF_BYTES.min(self.capacity)..lap;
        for positions in [behind, before] {
            for position in positions.step_by(BLOCK_BYTES) {
                if self.was_durable(media, position, end.sequence)? {
                    return Err(damaged(format!(
                        "the log is damaged at position {}: record {} was durable, but its frame cannot be read",
                        end.position, end.sequence
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Records of a frame, in order.
pub(super) fn records_of(content: &[u8]) -> Records<'_> {
    Records(content.get(frame::FRAME_HEADER_BYTES..).unwrap_or(&[]))
}

pub(super) struct Records<'a>(&'a [u8]);

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, PoolError>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        match record::decode(self.0) {
            Some((record, rest)) => {
                self.0 = rest;
                Some(Ok(record))
            }
            None => {
                self.0 = &[];
                Some(Err(damaged("a log record with a good checksum is malformed")))
            }
        }
    }
}
