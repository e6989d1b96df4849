//! Execution of operations: validate, plan, find room, and change the map in one step.

mod catalog;
mod copy;
mod edges;
pub(in crate::core) mod look_and_read;
mod mapped;
mod placed;
mod provisioning;
pub(crate) mod read;
pub(in crate::core) mod transaction;
mod write;
mod zero;

use crate::catalog::is_user_object;
use crate::catalog::object::Object;
use crate::core::{B, Core};
use crate::geometry::blocks_for;

use crate::core::progress::Origin;
use crate::interface::operation::{Failure, Output};
use crate::interface::range::BlockRange;
use crate::interface::{ObjectId, ObjectKind};

use crate::schedule::step::Step;
use block::BlockError;
use media::{BLOCK_BYTES, Media};

/// Largest write in bytes whose data goes into the log.
const INLINE_BYTES: usize = 32 << 10;
static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

pub(crate) fn broken() -> Step {
    Step::Fail(Failure::Block(BlockError::PoolStopped { reason: "the map contradicts itself".into() }))
}

/// Failure of a request for a range outside of an object of this size; `None`: the object does not
/// exist.
#[cold]
#[inline(never)]
fn outside(size_bytes: Option<u64>, offset: u64, length: u64) -> Failure {
    match size_bytes {
        None => BlockError::Gone.into(),
        Some(size_bytes) => {
            BlockError::OutOfRange { lba: offset / 512, count: length / 512, device_blocks: size_bytes / 512 }.into()
        }
    }
}

/// True if all bytes are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<64>();
    words.iter().all(|w| w.iter().fold(0, |a, b| a | b) == 0) && rest.iter().all(|b| *b == 0)
}

impl<M: Media> Core<M> {
    /// Returns kind, size in bytes and write cache of the object if the range is inside of it.
    #[inline]
    pub(in crate::core) fn readable(
        &self,
        object: ObjectId,
        offset: u64,
        length: u64,
    ) -> Result<(ObjectKind, u64, bool), Failure> {
        self.within(object, offset, length, |object| (object.kind, object.size_bytes, object.write_cache))
    }

    /// Returns whether the object's write cache is on, if it is a volume that `by` may change, and the range is inside
    /// of it.
    #[inline]
    pub(in crate::core) fn writable(
        &self,
        object: ObjectId,
        offset: u64,
        length: u64,
        by: Origin,
    ) -> Result<bool, Failure> {
        let takes =
            |object: &Object| object.takes_hosts() || (object.kind == ObjectKind::Volume && by == Origin::Group);
        match self.within(object, offset, length, |object| (takes(object), object.write_cache))? {
            (true, write_cache) => Ok(write_cache),
            (false, _) => Err(BlockError::ReadOnly.into()),
        }
    }

    /// Returns what `read` takes from the object if the range is inside of it.
    #[inline]
    fn within<T>(
        &self,
        object: ObjectId,
        offset: u64,
        length: u64,
        read: impl FnOnce(&Object) -> T,
    ) -> Result<T, Failure> {
        let found = self.map.objects().read(object, |object| (object.size_bytes, read(object)));
        match found.filter(|_| is_user_object(object)) {
            Some((size_bytes, found))
                if offset.checked_add(length).is_some_and(|end| end <= size_bytes)
                    && (offset | length).is_multiple_of(512) =>
            {
                Ok(found)
            }
            found => Err(outside(found.map(|(size_bytes, _)| size_bytes), offset, length)),
        }
    }

    /// Fails if the object does not exist, or ends before the end of the range.
    pub(in crate::core) fn has_blocks(
        &self,
        object: ObjectId,
        BlockRange { first, count }: BlockRange,
    ) -> Result<(), Failure> {
        let Some(object) = self.map.objects().user(object) else { return Err(BlockError::Gone.into()) };
        if first.checked_add(count).is_none_or(|end| end.get() > blocks_for(object.size_bytes)) {
            let (lba, count) = (first.get().saturating_mul(B / 512), count.saturating_mul(B / 512));
            return Err(BlockError::OutOfRange { lba, count, device_blocks: object.size_bytes / 512 }.into());
        }
        Ok(())
    }

    /// True if blocks of zeros are not stored for this object.
    fn detects_zeros(&self, object: ObjectId) -> bool {
        self.map.objects().read(object, |object| object.zero_detection).unwrap_or(true)
    }
}

/// Ends a change that took effect. `durable`: its reply waits until it is durable.
fn acknowledged(durable: bool, output: Output) -> Step {
    if durable { Step::Durable(output) } else { Step::Done(output) }
}
