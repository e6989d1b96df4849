//! Clones that change too many entries of the map for one step: those of ranges that are shifted against their regions.
//!
//! A file without a name gets the source's range at the same offset, in one step: that is the instant of the
//! source. From it a second one gets the range at the destination's offset, in many steps. The last step clones
//! that into the destination, which again changes few entries. A source that cannot change needs no first file. Each of
//! the files is deleted as soon as it is no longer needed, and [`Files::delete_each_abandoned`] deletes those of calls
//! that were dropped. A crash leaves them without a hold: [`vfs::FileSystem::drop_unheld`] deletes them.

use super::{Files, Kind, PROMISING, UNSTABLE, same};
use crate::content::{self, From, shared_at_once};
use crate::engine::{BLOCK_BYTES, Durability, Engine};
use crate::halt::Step;
use crate::memory::Memory;
use crate::share::Share;
use std::rc::Rc;
use vfs::{Call, Caller, Changed, FileId, FsError, Seek, SetAttributes, SpaceReason, Timestamp, pause};

/// A change that the last step makes durable, with content that becomes shared.
const EARLIER_PROMISING: Kind = Kind::new(Durability::Unstable, SpaceReason::Promise);

/// A file without a name, of a call in progress.
struct Unnamed {
    memory: Rc<Memory>,
    file: FileId,
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        self.memory.abandon(self.file);
    }
}

impl Unnamed {
    fn range(&self, offset_bytes: u64, length_bytes: Option<u64>) -> From<'_> {
        From { memory: &self.memory, file: self.file, offset_bytes, length_bytes }
    }
}

impl<E: Engine> Files<E> {
    /// Clones a range in many steps. The caller has found that the call may do so, and that one step is not enough.
    pub(super) async fn clone_in_steps(
        &self,
        call: Call<'_>,
        source: &From<'_>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Changed, FsError> {
        let cloned = self.clone_shifted(call, source, file, offset_bytes).await;
        self.try_delete_abandoned().await;
        cloned
    }

    /// Deletes the files without a name of calls that have ended. A file that cannot be deleted goes behind the others.
    pub(super) async fn delete_each_abandoned(&self) -> Result<u64, FsError> {
        let mut deleted = 0;
        while let Some(file) = self.memory.next_abandoned() {
            match self.run(UNSTABLE, |share| share.release(file), same).await {
                Ok(()) => deleted += 1,
                Err(FsError::Stale) => {}
                Err(error) => {
                    self.memory.postpone_abandoned(file);
                    return Err(error);
                }
            }
            self.memory.forget_abandoned(file);
        }
        Ok(deleted)
    }

    /// The result of a clone does not depend on these deletions. The next call of `delete_abandoned` reports an error.
    async fn try_delete_abandoned(&self) {
        let _reported_later = self.delete_each_abandoned().await;
    }

    /// Clones a range by way of a file that has it at the offset of the destination.
    async fn clone_shifted(
        &self,
        call: Call<'_>,
        source: &From<'_>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Changed, FsError> {
        let (shifted, length) = self.shifted(call, source, offset_bytes).await?;
        // The last step needs the space of the source's copy.
        self.try_delete_abandoned().await;
        let from = shifted.range(offset_bytes, Some(length));
        let attempt = |share: &mut Share<'_>| {
            share.need_held(shifted.file)?;
            share.clone_range((call, call), &from, file, offset_bytes)
        };
        self.run(PROMISING.of(call), attempt, content::Draft::finished).await
    }

    /// New file with the content of the source as of one instant, at an offset. Returns its length, too.
    async fn shifted(&self, call: Call<'_>, source: &From<'_>, at: u64) -> Result<(Unnamed, u64), FsError> {
        if source.memory.read_only() {
            return self.shift(call.now, source, at).await;
        }
        let frozen = self.unnamed(call.now).await?;
        self.clone_part(call, source, frozen.file, source.offset_bytes).await?;
        self.shift(call.now, &frozen.range(source.offset_bytes, source.length_bytes), at).await
    }

    async fn unnamed(&self, now: Timestamp) -> Result<Unnamed, FsError> {
        let own = |_: &mut Share<'_>, file| Ok(Unnamed { memory: Rc::clone(&self.memory), file });
        self.run(UNSTABLE, |share| share.create_unnamed(now), own).await
    }

    /// Clones a part into a file without a name. The caller needs no right to that file.
    async fn clone_part(&self, call: Call<'_>, from: &From<'_>, file: FileId, at: u64) -> Result<Changed, FsError> {
        let attempt = |share: &mut Share<'_>| {
            share.need_held(file)?;
            share.clone_range((call, call.opened()), from, file, at)
        };
        self.run(EARLIER_PROMISING, attempt, content::Draft::finished).await
    }

    /// Clones a range that does not change into a new file, a few entries a step. Holes stay holes.
    async fn shift(&self, now: Timestamp, from: &From<'_>, at: u64) -> Result<(Unnamed, u64), FsError> {
        let root = Caller::root();
        let call = Call::new(&root, now).opened();
        let length = self.length_of(from).await?;
        let shifted = self.unnamed(now).await?;
        let mut done = 0;
        while let Some(data) = self.next_data(call, from, done, length).await? {
            let part = shared_at_once(from.offset_bytes + data, at + data).min(length - data);
            let source = From { offset_bytes: from.offset_bytes + data, length_bytes: Some(part), ..*from };
            self.clone_part(call, &source, shifted.file, at + data).await?;
            done = data + part;
            // Other calls go on between two steps.
            pause().await;
        }
        // The end may be a hole.
        let set = SetAttributes { size_bytes: Some(at + length), ..Default::default() };
        let attempt = |share: &mut Share<'_>| {
            share.need_held(shifted.file)?;
            share.set_attributes(call, shifted.file, &set, None)
        };
        self.run(UNSTABLE, attempt, content::Draft::finished).await?;
        Ok((shifted, length))
    }

    async fn length_of(&self, range: &From<'_>) -> Result<u64, FsError> {
        let (inode, _) = self.look(|share| unchanged(share, range)?.both(range.file)).await?;
        let behind = inode.size_bytes.saturating_sub(range.offset_bytes);
        Ok(range.length_bytes.unwrap_or(behind))
    }

    /// Distance of the next block with data from the start of a range; `None` behind the last one.
    async fn next_data(&self, call: Call<'_>, from: &From<'_>, done: u64, length: u64) -> Result<Option<u64>, FsError> {
        if done >= length {
            return Ok(None);
        }
        let start = from.offset_bytes + done;
        let found = self.look(|share| unchanged(share, from)?.seek(call, from.file, start, Seek::Data)).await?;
        let distance = found.offset_bytes.saturating_sub(from.offset_bytes) / BLOCK_BYTES * BLOCK_BYTES;
        Ok(Some(distance.max(done)).filter(|distance| !found.end_of_file && *distance < length))
    }
}

/// Share of a source that does not change: a snapshot, or a file without a name.
fn unchanged<'a>(share: &'a mut Share<'_>, from: &From<'a>) -> Step<Share<'a>> {
    if !from.memory.read_only() {
        share.need_held(from.file)?;
    }
    Ok(share.other(from.memory))
}
