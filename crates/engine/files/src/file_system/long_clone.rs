//! Clones that change too many entries of the map for one step: those of ranges that are shifted against their regions.
//!
//! A file without a name gets the source's range at the same offset, in one step: that is the instant of the
//! source. From it a second one gets the range at the destination's offset, in many steps. The last step clones
//! that into the destination, which again changes few entries. A source that cannot change needs no first file. Each of
//! the files is deleted as soon as it is no longer needed, and [`Files::delete_each_abandoned`] deletes those of calls
//! that were dropped. A crash leaves them without a hold: [`vfs::FileSystem::drop_unheld`] deletes them.

use super::{Files, Kind, PROMISING, UNSTABLE, same};
use crate::content::{self, From, shared_at_once};
use crate::engine::{BLOCK_BYTES, Engine};
use crate::halt::Step;
use crate::memory::Memory;
use crate::share::Share;
use std::rc::Rc;
use vfs::{Call, Caller, ChangeValue, Changed, FileId, FsError, Seek, SetAttributes, SpaceReason, Timestamp, pause};

/// A change that the last step makes durable, or a look. Nothing returns the bytes in use.
const EARLIER: Kind = Kind { counts_used: false, ..UNSTABLE };
/// [`EARLIER`], with content that becomes shared.
const EARLIER_PROMISING: Kind = Kind { reason: SpaceReason::Promise, ..EARLIER };

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

/// A source that must not change while it is cloned.
struct Fixed<'a> {
    range: From<'a>,
    /// Its change value; `None` for a snapshot, which cannot change.
    change: Option<ChangeValue>,
}

impl Fixed<'_> {
    /// Share of the source. [`FsError::Replaced`]: the source has changed.
    fn check<'a>(&'a self, share: &'a mut Share<'_>) -> Step<Share<'a>> {
        if let Some(change) = self.change {
            share.need_held(self.range.file)?;
            let (_, attributes) = share.other(self.range.memory).both(self.range.file)?;
            if attributes.change != change {
                return Err(FsError::Replaced.into());
            }
        }
        Ok(share.other(self.range.memory))
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
            return self.shift(call.now, &Fixed { range: *source, change: None }, at).await;
        }
        let frozen = self.unnamed(call.now).await?;
        let attempt = |share: &mut Share<'_>| {
            share.need_held(frozen.file)?;
            share.clone_range((call, call.opened()), source, frozen.file, source.offset_bytes)
        };
        let taken = self.run(EARLIER_PROMISING, attempt, content::Draft::finished).await?;
        let range = frozen.range(source.offset_bytes, source.length_bytes);
        self.shift(call.now, &Fixed { range, change: Some(taken.after.change) }, at).await
    }

    async fn unnamed(&self, now: Timestamp) -> Result<Unnamed, FsError> {
        let own = |_: &mut Share<'_>, file| Ok(Unnamed { memory: Rc::clone(&self.memory), file });
        self.run(UNSTABLE, |share| share.create_unnamed(now), own).await
    }

    /// Clones a range that does not change into a new file, a few entries a step. Holes stay holes.
    async fn shift(&self, now: Timestamp, from: &Fixed<'_>, at: u64) -> Result<(Unnamed, u64), FsError> {
        let root = Caller::root();
        let call = Call::new(&root, now).opened();
        let length = self.length_of(from).await?;
        let shifted = self.unnamed(now).await?;
        let mut done = 0;
        while let Some(data) = self.next_data(call, from, done, length).await? {
            let start = from.range.offset_bytes + data;
            let part = shared_at_once(start, at + data).min(length - data);
            let source = From { offset_bytes: start, length_bytes: Some(part), ..from.range };
            let attempt = |share: &mut Share<'_>| {
                share.need_held(shifted.file)?;
                from.check(share)?;
                share.clone_range((call, call), &source, shifted.file, at + data)
            };
            self.run(EARLIER_PROMISING, attempt, content::Draft::finished).await?;
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
        self.run(EARLIER, attempt, content::Draft::finished).await?;
        Ok((shifted, length))
    }

    async fn length_of(&self, from: &Fixed<'_>) -> Result<u64, FsError> {
        let range = &from.range;
        let (inode, _) = self.look_as(EARLIER, |share| from.check(share)?.both(range.file)).await?;
        let behind = inode.size_bytes.saturating_sub(range.offset_bytes);
        Ok(range.length_bytes.unwrap_or(behind))
    }

    /// Distance of the next block with data from the start of a range; `None` behind the last one.
    async fn next_data(
        &self,
        call: Call<'_>,
        from: &Fixed<'_>,
        done: u64,
        length: u64,
    ) -> Result<Option<u64>, FsError> {
        if done >= length {
            return Ok(None);
        }
        let From { file, offset_bytes, .. } = from.range;
        let look = |share: &mut Share<'_>| from.check(share)?.seek(call, file, offset_bytes + done, Seek::Data);
        let found = self.look_as(EARLIER, look).await?;
        let distance = found.offset_bytes.saturating_sub(offset_bytes) / BLOCK_BYTES * BLOCK_BYTES;
        Ok(Some(distance.max(done)).filter(|distance| !found.end_of_file && *distance < length))
    }
}
