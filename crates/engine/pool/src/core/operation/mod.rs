//! Execution of operations: validate, plan, find room, and change the map in one step.

mod catalog;
mod copy;
mod provisioning;
pub(crate) mod read;
mod write;
mod zero;

use crate::catalog::object::Object;
use crate::core::Core;

use crate::interface::ObjectKind;
use crate::interface::operation::{Failure, Output};

use crate::schedule::step::Step;
use block::BlockError;
use media::{BLOCK_BYTES, Media};

/// Largest write in bytes whose data goes into the log.
const INLINE_BYTES: usize = 32 << 10;
static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

pub(crate) fn broken() -> Step {
    Step::Fail(Failure::Block(BlockError::PoolStopped { reason: "the map contradicts itself".into() }))
}

/// True when all bytes are zero.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<64>();
    words.iter().all(|w| w.iter().fold(0, |a, b| a | b) == 0) && rest.iter().all(|b| *b == 0)
}

impl<M: Media> Core<M> {
    /// The object, if the range lies inside it.
    pub(in crate::core) fn readable(&self, object: u64, offset: u64, length: u64) -> Result<&Object, Failure> {
        let Some(o) = self.map.objects().user(object) else {
            return Err(BlockError::Gone.into());
        };
        if offset.checked_add(length).is_none_or(|end| end > o.size_bytes)
            || !offset.is_multiple_of(512)
            || !length.is_multiple_of(512)
        {
            let device_blocks = o.size_bytes / 512;
            return Err(BlockError::OutOfRange { lba: offset / 512, count: length / 512, device_blocks }.into());
        }
        Ok(o)
    }

    pub(in crate::core) fn writable(&self, object: u64, offset: u64, length: u64) -> Result<(), Failure> {
        match self.readable(object, offset, length)?.kind {
            ObjectKind::Snapshot | ObjectKind::Capture => Err(BlockError::ReadOnly.into()),
            ObjectKind::Volume => Ok(()),
        }
    }

    fn acknowledged(&self, object: u64, forced: bool, output: Output) -> Step {
        match self.map.objects().get(object) {
            Some(o) if o.write_cache && !forced => Step::Done(output),
            _ => Step::Durable(output),
        }
    }

    /// True if blocks of zeros are not stored for this object.
    fn detects_zeros(&self, object: u64) -> bool {
        self.map.objects().get(object).is_none_or(|o| o.zero_detection)
    }
}
