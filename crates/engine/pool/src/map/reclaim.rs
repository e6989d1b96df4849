//! Gives back the references of a detached sub-tree, one page at a time.

use crate::map::Map;
use crate::map::page::Entry;
use crate::map::page::Page;
use crate::mutations::{Mutation, leaves_out};
use media::BlockAddress;
use std::rc::Rc;

/// Result of an attempt to give back one page.
pub(crate) enum Reclaimed {
    /// The page was given back.
    Done,
    /// The need lists the data to read first.
    Wait,
    /// The sub-tree cannot be walked, and is parked; with the reason.
    Damaged(String),
    /// The map contradicts itself; the pool must stop.
    Broken,
}

impl Map {
    /// True if detached sub-trees still share pages and blocks with objects.
    pub(crate) fn has_detached(&self) -> bool {
        self.drops.all().next().is_some()
    }

    /// Gives back the reference to the root of the sub-tree at index `at` of the queue. Its
    /// children join the queue.
    pub fn reclaim(&mut self, at: usize) -> Reclaimed {
        let dropped = self.drops.queue()[at];
        self.need.clear();
        self.need_counts(dropped.pointer.address);
        let mut page = None;
        if self.need.is_empty() && self.space.count(dropped.pointer.address) == Some(1) {
            page = self.page(dropped.pointer);
            if let (Some(page), 0) = (&page, dropped.pointer.level) {
                self.need_counts_of(&page.entries);
            }
        }
        if !self.need.is_empty() {
            return match self.need.damaged.take() {
                Some(reason) => {
                    self.drops.park(|other| other == &dropped);
                    Reclaimed::Damaged(reason)
                }
                None => Reclaimed::Wait,
            };
        }
        self.drops.take(at);
        if self.reclaim_page(dropped.pointer.address, dropped.pointer.level, page).is_none() {
            return Reclaimed::Broken;
        }
        if self.reclaims_again && !self.content.is_replaying() && self.drops.queue().is_empty() {
            self.end_second_reclaim();
        }
        Reclaimed::Done
    }

    /// Lets bounds of shared blocks follow the map again, and counts what was not taken off meanwhile.
    fn end_second_reclaim(&mut self) {
        self.reclaims_again = false;
        self.objects.request_recount();
    }

    /// How much bounds of shared blocks and pages fall when this much is no longer shared. After a crash it may have
    /// been shared with detached sub-trees alone, which the bounds leave out: then nothing.
    #[inline]
    pub(super) fn off_bounds(&self, parted: u64) -> u64 {
        let hides = self.reclaims_again && !self.drops.queue().is_empty() && !leaves_out(Mutation::ReclaimAgain);
        if hides { 0 } else { parted }
    }

    fn reclaim_page(&mut self, address: BlockAddress, level: u8, page: Option<Rc<Page>>) -> Option<()> {
        let Some(page) = page else {
            self.space.decrement(address)?;
            return Some(());
        };
        if level == 0 {
            let addresses = page.entries.iter().map(Entry::address);
            if self.content.dirty() == 0 {
                self.space.decrement_all(addresses, |_| {})?;
            } else {
                let content = &mut self.content;
                self.space.decrement_all(addresses, |address| content.free(address))?;
            }
        } else {
            for entry in page.entries.iter().filter(|e| !e.is_empty()) {
                self.drop_tree(entry.child_pointer(level), entry.mapped(level));
            }
        }
        self.space.decrement(address)?;
        self.count_metadata(0, 1);
        self.pages.remove(address);
        Some(())
    }
}
