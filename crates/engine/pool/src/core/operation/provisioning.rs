//! Provisioning status: the mapped blocks of an object.

use crate::core::Core;
use crate::geometry::blocks_for;
use crate::interface::ObjectId;
use crate::interface::operation::Output;
use crate::interface::range::BlockNumber;
use crate::schedule::step::Step;
use block::BlockError;
use block::{Extent, ProvisioningExtent};
use media::Media;

/// Number of pages that one step visits.
const STEP_PAGES: usize = 1024;

impl<M: Media> Core<M> {
    pub(in crate::core) fn provisioning_step(&mut self, object: ObjectId, offset: u64, limit: usize) -> Step {
        let size = match self.readable(object, offset, 512) {
            Ok((_, size_bytes, _)) => size_bytes,
            Err(failure) => return Step::Fail(failure),
        };
        let mut runs: Vec<ProvisioningExtent> = Vec::new();
        let end = BlockNumber::new(blocks_for(size));
        let mut block = BlockNumber::of_byte(offset);
        let mut pages = 0;
        while block < end && pages < STEP_PAGES {
            let Some(root) = self.map.root_of(object) else {
                return Step::Fail(BlockError::Gone.into());
            };
            // Finds the lowest page over this block, or the empty span that contains it.
            let mut level = root.level;
            let mut found = None;
            if !root.is_empty() {
                for at in (0..=root.level).rev() {
                    match self.map.pointer(object, block, at) {
                        None => return Step::Wait,
                        Some((pointer, _)) if pointer.is_empty() => break,
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
                    ((block.get() / span + 1) * span - block.get(), false)
                }
                Some(pointer) => {
                    pages += 1;
                    let Some(page) = self.map.page(pointer) else { return Step::Wait };
                    let index = crate::geometry::index_in(block, 0);
                    let mapped = !page.entries[index].is_empty();
                    let run = page.entries[index..].iter().take_while(|e| e.is_empty() != mapped).count();
                    (run as u64, mapped)
                }
            };
            let count = count.min(end - block);
            let from = block.offset().max(offset) / 512;
            let to = (block + count).offset().min(size) / 512;
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
