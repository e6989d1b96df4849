//! Makes the end of the log durable before anything relies on it.
//!
//! A frame whose write failed in its flush is not acknowledged, but the disk may return it until its
//! power fails. Replay takes it, and frames that are acknowledged later continue behind it: a power
//! failure would lose them with it. So every frame in doubt is written again, the same bytes at the
//! same place, before replay. A frame is in doubt if no later frame declares it durable; those are
//! the frames that were in flight with the last one, at most some MiB, and none after an orderly
//! stop. The oldest comes first, each durable before the next.
//!
//! A power failure in between loses nothing that was acknowledged: sectors of 512 bytes hold the old
//! bytes or the new ones, so a durable frame does not change, and behind one that is not durable
//! nothing was acknowledged.

use crate::core::Core;
use crate::core::io::Io;
use crate::core::recovery::{FENCE, damaged};
use crate::interface::PoolError;
use crate::log::frame::FrameInfo;
use crate::medium::blocking;
use media::{BLOCK_BYTES, Buffer, Media, MediaError};
use std::collections::VecDeque;

/// Frame that no later one declares durable.
pub(super) struct Doubtful {
    pub info: FrameInfo,
    /// Bytes in use, header included; behind them bytes of records that were given up, if any.
    pub content: Vec<u8>,
}

impl Doubtful {
    /// Number of the record after its last one.
    pub fn end_sequence(&self) -> u64 {
        self.info.first_sequence + u64::from(self.info.records)
    }

    fn buffer(&self) -> Buffer {
        let mut frame = Buffer::zeroed(self.content.len().div_ceil(BLOCK_BYTES));
        frame.iter_mut().zip(&self.content).for_each(|(to, from)| *to = *from);
        frame
    }
}

impl<M: Media> Core<M> {
    /// Writes the frames again, blocking. Returns those for which the file system below has no
    /// room: the blocks of the log are allocated, but not every file system writes in place.
    pub(super) fn confirm(&mut self, mut frames: VecDeque<Doubtful>) -> Result<VecDeque<Doubtful>, PoolError> {
        let media = self.medium.media_mut();
        let capacity = media.log_bytes();
        while let Some(frame) = frames.front() {
            media.append(&FENCE, 0, frame.info.position % capacity, frame.buffer());
            match blocking::await_ticket(media, 0) {
                Ok(_) => frames.pop_front(),
                Err(MediaError::NoSpace { .. }) => break,
                Err(error) => return Err(damaged(format!("the end of the log could not be written again: {error}"))),
            };
        }
        Ok(frames)
    }

    /// After replay: frames without room below wait as other writes do. Until they are durable no
    /// later record is, so nothing is acknowledged that a power failure would lose; reads are
    /// served.
    pub(super) fn confirm_later(&mut self, frames: VecDeque<Doubtful>) {
        for frame in frames {
            let position = frame.info.position;
            if self.log.expect(position, frame.info.first_sequence, frame.end_sequence()) {
                self.park(Io::Confirm { position, frame: frame.buffer() });
            }
        }
    }
}
