//! Data that must be in memory before a change can be executed, and the blocks that the change
//! allocates.

use crate::checksum::Crc32c;
use crate::geometry::{PATH_PAGES, Pointer};
use crate::interface::ObjectId;
use crate::interface::range::BlockNumber;
use media::BlockAddress;

/// Data that planning found missing.
#[derive(Default)]
pub(crate) struct Need {
    pub pages: Vec<Pointer>,
    pub segments: Vec<u32>,
    pub blocks: Vec<(BlockAddress, Crc32c)>,
    /// Number of pages to be allocated.
    pub allocations: u64,
    /// Number of these pages that replace a page which becomes free at the next checkpoint.
    pub passing: u64,
    /// Number of entries to be written that map no block yet.
    pub fresh: u64,
    /// Counts a page once although several pieces need it. Only for changes that never allocate
    /// blocks they have freed.
    pub once: bool,
    /// Object and number of the last counted page at each level, for `once`.
    counted: [Option<(ObjectId, u64)>; PATH_PAGES],
    /// True if a page has been counted, or an allotment is touched. Most plans do neither.
    any_counted: bool,
    /// Allotments that the plan touches.
    touched: Vec<Touched>,
    /// True for blocks of which the plan allocates none inside of allotments: zeros, or placed ones.
    pub stores_nothing: bool,
    /// Contradiction in the stored map.
    pub damaged: Option<String>,
    /// A contradiction in the index of the documents.
    pub damaged_index: Option<String>,
}

/// Blocks that a plan allocates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// As in [`Need`].
    pub allocations: u64,
    /// As in [`Need`].
    pub passing: u64,
    /// As in [`Need`].
    pub fresh: u64,
}

/// What a plan allocates for an allotment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    /// Its object.
    pub object: ObjectId,
    /// Its first block.
    pub first: BlockNumber,
    /// New blocks in it.
    pub blocks: u64,
    /// Pages above its blocks that do not replace others.
    pub pages: u64,
    /// True if the plan writes content into it.
    pub is_written: bool,
}

/// Blocks that a plan has counted, and the pages among them that it does not count again.
pub(crate) struct Counted {
    counts: Counts,
    pages: [Option<(ObjectId, u64)>; PATH_PAGES],
}

impl Counts {
    pub fn add(&mut self, other: Self) {
        self.allocations += other.allocations;
        self.passing += other.passing;
        self.fresh += other.fresh;
    }
}

impl Need {
    /// Takes the counts of the plan so far; those of another change begin. Missing data stays noted.
    pub fn take_counts(&mut self) -> Counts {
        let counts = self.counts();
        self.set_counts(Counts::default());
        self.counted = Default::default();
        counts
    }

    pub fn counts(&self) -> Counts {
        Counts { allocations: self.allocations, passing: self.passing, fresh: self.fresh }
    }

    /// Number of pages to be allocated that do not replace others.
    pub fn lasting_pages(&self) -> u64 {
        self.allocations - self.passing
    }

    pub fn set_counts(&mut self, counts: Counts) {
        (self.allocations, self.passing, self.fresh) = (counts.allocations, counts.passing, counts.fresh);
    }

    /// What the plan has counted so far.
    pub fn counted(&self) -> Counted {
        Counted { counts: self.counts(), pages: self.counted }
    }

    /// Goes back to what the plan had counted. Missing data stays noted.
    pub fn set_counted(&mut self, counted: Counted) {
        self.set_counts(counted.counts);
        self.counted = counted.pages;
    }

    pub fn clear(&mut self) {
        self.pages.clear();
        self.segments.clear();
        self.blocks.clear();
        self.allocations = 0;
        self.passing = 0;
        self.fresh = 0;
        if std::mem::take(&mut self.any_counted) {
            self.counted = Default::default();
            self.touched.clear();
        }
        self.damaged = None;
        self.damaged_index = None;
    }

    /// Notes what the plan allocates for the allotment of an object with this first block.
    pub fn touch(&mut self, object: ObjectId, first: BlockNumber, blocks: u64, pages: u64) {
        let is_written = !self.stores_nothing;
        let blocks = if is_written { blocks } else { 0 };
        self.any_counted = true;
        match self.touched.iter_mut().find(|touched| (touched.object, touched.first) == (object, first)) {
            Some(touched) => {
                touched.blocks += blocks;
                touched.pages += pages;
                touched.is_written |= is_written;
            }
            None => self.touched.push(Touched { object, first, blocks, pages, is_written }),
        }
    }

    /// What the plan allocates for the allotments of an object.
    pub fn touched(&self, object: ObjectId) -> impl Iterator<Item = &Touched> {
        self.touched.iter().filter(move |touched| touched.object == object)
    }

    /// Notes that the page of an object at `level` with this number is counted; true if it was not the last
    /// one at its level.
    pub fn count(&mut self, object: ObjectId, level: u8, number: u64) -> bool {
        let this = Some((object, number));
        self.any_counted = true;
        std::mem::replace(&mut self.counted[usize::from(level)], this) != this
    }

    pub fn is_empty(&self) -> bool {
        let complete = self.pages.is_empty() && self.segments.is_empty() && self.blocks.is_empty();
        complete && self.damaged.is_none() && self.damaged_index.is_none()
    }
}
