//! Clones that change too many entries of the map for one step: those of ranges that are shifted against their regions.
//!
//! A file without a name gets the source's range at the same offset, in one step: that is the instant of the
//! source. From it a second one gets the range at the destination's offset, in many steps. The last step clones
//! that into the destination, which again changes few entries. Both files are deleted then. A call that is
//! dropped leaves them without a hold, and so does a crash: [`FileSystem::drop_unheld`] deletes them.

use super::{Files, PROMISING, same};
use crate::content::{self, From, shared_at_once};
use crate::engine::{BLOCK_BYTES, Durability, Engine};
use crate::memory::{Effects, Memory};
use crate::share::Share;
use std::rc::Rc;
use vfs::{Call, Caller, Changed, FileId, FileSystem, FsError, Seek, SpaceReason, Timestamp, pause};

/// A change that the last step makes durable.
const EARLIER: (Durability, SpaceReason) = (Durability::Unstable, SpaceReason::Pool);

/// A file without a name, held as long as this exists.
struct Unnamed {
    memory: Rc<Memory>,
    file: FileId,
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        if self.memory.holds(self.file) > 0 {
            let mut effects = Effects::default();
            effects.hold(self.file, false);
            self.memory.apply(&effects);
        }
    }
}

impl<E: Engine> Files<E> {
    /// Clones a range in many steps. All checks were made.
    pub(super) async fn clone_in_steps(
        &self,
        call: Call<'_>,
        source: &From<'_>,
        file: FileId,
        offset_bytes: u64,
    ) -> Result<Changed, FsError> {
        let frozen = self.unnamed(call.now).await?;
        let cloned = async {
            let from_bytes = source.offset_bytes;
            self.clone_part(call, source, frozen.file, from_bytes).await?;
            let length = self.attributes(frozen.file).await?.size_bytes.saturating_sub(from_bytes);
            let shifted = self.unnamed(call.now).await?;
            let moved = async {
                self.shift(call.now, (frozen.file, from_bytes), (shifted.file, offset_bytes), length).await?;
                let from = self.within(shifted.file, offset_bytes, Some(length));
                let attempt = |share: &mut Share<'_>| share.clone_range(call, &from, file, offset_bytes);
                self.run(PROMISING, attempt, content::Draft::finished).await
            };
            let moved = moved.await;
            self.delete(shifted).await;
            moved
        };
        let cloned = cloned.await;
        self.delete(frozen).await;
        cloned
    }

    async fn unnamed(&self, now: Timestamp) -> Result<Unnamed, FsError> {
        let file = self.run(EARLIER, |share| share.create_unnamed(now), same).await?;
        Ok(Unnamed { memory: Rc::clone(&self.memory), file })
    }

    /// What the call has changed does not depend on it, so an error is not one of the call.
    async fn delete(&self, unnamed: Unnamed) {
        let _left_for_the_next_start = self.release(unnamed.file).await;
    }

    fn within(&self, file: FileId, offset_bytes: u64, length_bytes: Option<u64>) -> From<'_> {
        From { memory: &self.memory, file, offset_bytes, length_bytes }
    }

    /// Clones a part into a file without a name. Its content is of no use to anybody before the last step, so the
    /// caller needs no right to it.
    async fn clone_part(&self, call: Call<'_>, from: &From<'_>, file: FileId, at: u64) -> Result<Changed, FsError> {
        let attempt = |share: &mut Share<'_>| share.clone_into_unnamed(call, from, file, at);
        self.run(EARLIER, attempt, content::Draft::finished).await
    }

    /// Clones a range into a file that is empty there, a few entries a step. Holes stay holes.
    async fn shift(
        &self,
        now: Timestamp,
        (from, from_bytes): (FileId, u64),
        (to, to_bytes): (FileId, u64),
        length: u64,
    ) -> Result<(), FsError> {
        let root = Caller::root();
        let call = Call::new(&root, now).opened();
        let mut done = 0;
        while done < length {
            let data = self.seek(call, from, from_bytes + done, Seek::Data).await?;
            if data.end_of_file {
                break;
            }
            done = done.max(data.offset_bytes.saturating_sub(from_bytes) / BLOCK_BYTES * BLOCK_BYTES);
            let part = shared_at_once(from_bytes + done, to_bytes + done).min(length - done);
            let source = self.within(from, from_bytes + done, Some(part));
            self.clone_part(call, &source, to, to_bytes + done).await?;
            done += part;
            // Other calls go on between two steps.
            pause().await;
        }
        // The end may be a hole.
        let set = vfs::SetAttributes { size_bytes: Some(to_bytes + length), ..Default::default() };
        self.set_attributes(call, to, &set, None).await.map(drop)
    }
}
