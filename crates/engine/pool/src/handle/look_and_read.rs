//! Looks that name content, and the content.

use super::Pool;
use crate::core::Reading;
use crate::interface::ObjectId;
use crate::interface::operation::{Output, block_error};
use crate::interface::range::ByteRange;
use crate::transaction::{Missing, View};
use block::BlockError;
use bytes::Bytes;
use media::{BLOCK_BYTES, Media};

impl<M: Media> Pool<M> {
    /// Calls `look` as [`Self::try_view`] does, and reads the range of bytes that it names, as it is at the look: into
    /// one buffer, without the cache. The look must not call the pool.
    ///
    /// `None` if that is not possible: something that the look needs or a page of the map over the range is not in
    /// memory, a part of the range is not mapped, the range is longer than 1 MiB, or a block was replaced or cannot
    /// be read. A transaction with the same look, which reads the range through its view, finds out.
    pub async fn look_and_read<T>(
        &self,
        look: impl FnOnce(&mut View<'_>) -> Result<(T, Option<(ObjectId, ByteRange)>), Missing>,
    ) -> Option<Result<(T, Option<Bytes>), BlockError>> {
        let mut wanted = ByteRange::new(0, 0);
        let noting = |view: &mut View<'_>| {
            let (found, named) = look(view)?;
            wanted = named.map_or(wanted, |(_, range)| range);
            Ok((found, named))
        };
        let begun = self.0.core.borrow_mut().look_and_read(noting)?;
        let (found, reading) = match begun {
            Ok(begun) => begun,
            Err(error) => return Some(Err(error)),
        };
        let blocks = match reading {
            Reading::Nothing => return Some(Ok((found, None))),
            Reading::Done(blocks) => blocks,
            Reading::InProgress(id) => match self.submitted(id).outcome().await {
                Ok(Output::Data(blocks)) => blocks,
                Ok(_superseded) => return None,
                Err(failure) => return Some(Err(block_error(failure))),
            },
        };
        let from = (wanted.offset % BLOCK_BYTES as u64) as usize;
        Some(Ok((found, Some(blocks.slice(from..from + wanted.length as usize)))))
    }
}
