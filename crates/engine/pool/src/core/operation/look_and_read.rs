//! A look, and a large read of what it names, in one step: the content comes straight from the medium into one buffer,
//! and not through the cache. What it returns is what the map named at the instant of the look.

use crate::core::progress::{Progress, ReadState};
use crate::core::{B, Core};
use crate::interface::ObjectId;
use crate::interface::operation::{Operation, OperationId};
use crate::interface::range::{BlockNumber, ByteRange};
use crate::transaction::view::ranges::MOST_READ_BYTES;
use crate::transaction::{Missing, View};
use block::BlockError;
use bytes::Bytes;
use media::Media;

/// Read of what a look has named.
pub(crate) enum Reading {
    /// The look has named nothing.
    Nothing,
    /// All of it was in memory.
    Done(Bytes),
    /// The read is an operation. [`Core::poll_finished`] returns its result: the content of the whole blocks, or
    /// [`crate::Output::Superseded`].
    InProgress(OperationId),
}

impl<M: Media> Core<M> {
    /// Calls `look` as [`Self::try_view`] does, and begins to read the range of an object that it names. `None` also if
    /// a part of the range is not mapped, its map is not in memory, or it is longer than a transaction may read.
    pub(crate) fn look_and_read<T>(
        &mut self,
        look: impl FnOnce(&mut View<'_>) -> Result<(T, Option<(ObjectId, ByteRange)>), Missing>,
    ) -> Option<Result<(T, Reading), BlockError>> {
        let (found, named) = match self.try_view(look)? {
            Ok(found) => found,
            Err(error) => return Some(Err(error)),
        };
        let Some((object, range)) = named.filter(|(_, range)| range.length > 0) else {
            return Some(Ok((found, Reading::Nothing)));
        };
        self.begin_read(object, range).map(|reading| Ok((found, reading)))
    }

    /// Begins to read the blocks of a range as they are now.
    fn begin_read(&mut self, object: ObjectId, ByteRange { offset, length }: ByteRange) -> Option<Reading> {
        let end = offset.checked_add(length).filter(|_| length <= MOST_READ_BYTES)?;
        let first = BlockNumber::of_byte(offset);
        let count = usize::try_from(end.div_ceil(B) - first.get()).ok()?;
        let (offset, length) = (first.offset(), count * B as usize);
        self.readable(object, offset, length as u64).ok()?;
        let entries = self.entries_of(object, first, count);
        self.map.forget_need();
        let entries = entries.filter(|entries| entries.iter().all(|(address, _)| !address.is_none()))?;
        let (id, mut pending) = self.schedule.admit(Operation::Read { object, offset, length }, Progress::default());
        let (out, outstanding) = self.gather(id, &entries, false);
        if outstanding == 0 {
            return Some(Reading::Done(out.into_bytes(0, length, self.medium.stock())));
        }
        pending.progress.read = Some(ReadState { out, outstanding, bad: None, tries: 0, of_a_look: true });
        self.schedule.keep(id, pending);
        self.read_at_once();
        Some(Reading::InProgress(id))
    }
}
