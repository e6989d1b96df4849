//! Execution of operations: validate, plan, find room, and change the map in one step.

mod copy;
pub(crate) mod read;
mod write;
mod zero;

use crate::catalog::object::Object;
use crate::core::{Core, INLINE_BYTES};
use crate::geometry::blocks_for;
use crate::interface::ObjectKind;
use crate::interface::operation::{Failure, Operation, OperationId, Output};
use crate::schedule::step::{Progress, Step};
use block::{BlockError, Extent, ProvisioningExtent};
use media::{BLOCK_BYTES, Media};
use write::Inline;

const B: u64 = BLOCK_BYTES as u64;
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
    pub(crate) fn execute(&mut self, id: OperationId, operation: &Operation, progress: &mut Progress) -> Step {
        match operation {
            Operation::Read { object, offset, length } => self.read_step(id, *object, *offset, *length, progress),
            Operation::Write { object, offset, data, forced } => {
                if let Err(failure) = self.writable(*object, *offset, data.len() as u64) {
                    return Step::Fail(failure);
                }
                if data.is_empty() {
                    return Step::Done(Output::Done);
                }
                if data.len() <= INLINE_BYTES {
                    self.write_inline(*object, *offset, data, *forced, Inline::Write, progress)
                } else {
                    self.write_placed(id, *object, *offset, data, *forced, progress)
                }
            }
            Operation::Zero { object, ranges, forced } => self.zero_step(*object, ranges, *forced, progress),
            Operation::Clone { source, source_offset, destination, destination_offset, length } => {
                self.clone_step(*source, *source_offset, *destination, *destination_offset, *length, progress)
            }
            Operation::Capture { source, capture, ranges } => self.capture_step(*source, *capture, ranges, progress),
            Operation::CompareAndWrite { object, offset, compare, data, forced } => {
                self.compare_step(*object, *offset, compare, data, *forced, progress)
            }
            Operation::Flush => {
                progress.flush_sequence = Some(self.log.next_sequence());
                Step::Durable(Output::Done)
            }
            Operation::Provisioning { object, offset, limit } => self.provisioning_step(*object, *offset, *limit),
            Operation::Catalog(changes) => self.catalog_step(changes, progress),
            Operation::Unique { objects } => self.unique_step(objects, progress),
            Operation::ReclaimZeros { object, offset } => self.zeros_step(*object, *offset, progress),
            Operation::Verify { object, offset, anew } => self.verify_step(id, *object, *offset, *anew, progress),
            Operation::PlacesOf(blocks) => self.places_step(blocks, progress),
            Operation::CheckStep => self.check_step(id),
            Operation::Recount { object } => self.recount_step(*object, progress),
            Operation::Grow(growth) => self.grow_step(id, growth),
        }
    }

    /// The object, if the range lies inside it.
    pub(crate) fn readable(&self, object: u64, offset: u64, length: u64) -> Result<&Object, Failure> {
        let Some(o) = self.objects.user(object) else {
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

    pub(crate) fn writable(&self, object: u64, offset: u64, length: u64) -> Result<(), Failure> {
        match self.readable(object, offset, length)?.kind {
            ObjectKind::Snapshot | ObjectKind::Capture => Err(BlockError::ReadOnly.into()),
            ObjectKind::Volume => Ok(()),
        }
    }

    fn acknowledged(&self, object: u64, forced: bool, output: Output) -> Step {
        match self.objects.get(object) {
            Some(o) if o.write_cache && !forced => Step::Done(output),
            _ => Step::Durable(output),
        }
    }

    /// True when blocks of zeros are not stored for this object.
    fn detects_zeros(&self, object: u64) -> bool {
        self.objects.get(object).is_none_or(|o| o.zero_detection)
    }

    fn provisioning_step(&mut self, object: u64, offset: u64, limit: usize) -> Step {
        let size = match self.readable(object, offset, 512) {
            Ok(object) => object.size_bytes,
            Err(failure) => return Step::Fail(failure),
        };
        let mut runs: Vec<ProvisioningExtent> = Vec::new();
        let end = blocks_for(size);
        let mut block = offset / B;
        let mut pages = 0;
        while block < end && pages < 1024 {
            let Some((root, root_level, _)) = self.root_of(object) else { return Step::Fail(BlockError::Gone.into()) };
            // The lowest page over this block, or the empty span in which it lies.
            let mut level = root_level;
            let mut found = None;
            if root != 0 {
                for at in (0..=root_level).rev() {
                    match self.pointer(object, block, at) {
                        None => return Step::Wait,
                        Some(((0, _, _), _)) => break,
                        Some((pointer, _)) => {
                            level = at;
                            found = Some(pointer);
                        }
                    }
                }
            }
            let (count, mapped) = match found {
                None => (end - block, false),
                Some(_) if level > 0 => {
                    let span = crate::geometry::entry_span(level);
                    ((block / span + 1) * span - block, false)
                }
                Some(pointer) => {
                    pages += 1;
                    let Some(page) = self.page(pointer) else { return Step::Wait };
                    let index = crate::geometry::index_in(block, 0);
                    let mapped = !page.entries[index].is_empty();
                    let run = page.entries[index..].iter().take_while(|e| e.is_empty() != mapped).count();
                    (run as u64, mapped)
                }
            };
            let count = count.min(end - block);
            let from = (block * B).max(offset) / 512;
            let to = ((block + count) * B).min(size) / 512;
            let full = runs.len() == limit.max(1);
            match runs.last_mut() {
                Some(last) if last.mapped == mapped => last.extent.count += to - from,
                _ if full => break,
                _ => runs.push(ProvisioningExtent { extent: Extent::new(from, to - from), mapped }),
            }
            block += count;
        }
        Step::Done(Output::Provisioning(runs))
    }
}
