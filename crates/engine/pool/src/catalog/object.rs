//! Objects of the pool in memory, and what is promised to reserved ones.

use crate::interface::{ObjectKind, Reservation};

#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub id: u64,
    pub kind: ObjectKind,
    pub parent: u64,
    pub size_bytes: u64,
    pub root: u64,
    pub root_crc: u32,
    pub level: u8,
    pub mapped: u64,
    pub write_cache: bool,
    pub zero_detection: bool,
    pub reservation: Option<Reservation>,
    /// Mapped blocks that somebody else may use too, at most; kept while `tracked`.
    pub shared: u64,
    /// Map pages that may have to be allocated to write all of the object, at most; kept while `tracked`.
    pub pages_due: u64,
    /// Reserved, or counted for a reservation to come.
    pub tracked: bool,
    /// Blocks that large writes under way have taken already against the promise, which their effect will make smaller.
    pub in_flight: u64,
    /// Blocks that are not promised although the reservation asks for them; see [`Object::unmap`]. Not stored.
    pub deficit: u64,
}

/// What is promised to all reserved volumes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Promises {
    /// Blocks promised.
    pub promised: u64,
    /// Blocks among them that nobody has taken yet.
    pub owed: u64,
    /// Objects with a reservation.
    pub objects: u64,
}

impl Promises {
    /// Counts what is promised to an object.
    pub fn add(&mut self, object: &Object) {
        let promised = object.promised();
        self.promised += promised;
        self.owed += promised.saturating_sub(object.in_flight);
        self.objects += u64::from(object.reservation.is_some());
    }

    /// Takes back [`Promises::add`] for an object as it was then.
    pub fn remove(&mut self, object: &Object) {
        let promised = object.promised();
        self.promised -= promised;
        self.owed -= promised.saturating_sub(object.in_flight);
        self.objects -= u64::from(object.reservation.is_some());
    }

    /// Changes an object, and what is counted for it.
    pub fn change(&mut self, object: &mut Object, change: impl FnOnce(&mut Object)) {
        self.remove(object);
        change(object);
        self.add(object);
    }
}

/// A detached sub-tree whose references are still to be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub address: u64,
    pub level: u8,
    pub crc: u32,
    /// Blocks mapped below.
    pub mapped: u64,
}

impl Object {
    /// An empty volume.
    pub fn new(id: u64, size_bytes: u64) -> Self {
        Self {
            id,
            kind: ObjectKind::Volume,
            parent: 0,
            size_bytes,
            root: 0,
            root_crc: 0,
            level: crate::geometry::level_for(crate::geometry::blocks_for(size_bytes)),
            mapped: 0,
            write_cache: false,
            zero_detection: true,
            reservation: None,
            shared: 0,
            pages_due: 0,
            tracked: false,
            in_flight: 0,
            deficit: 0,
        }
    }

    /// Map pages of the object when all of it is mapped.
    pub fn all_pages(&self) -> u64 {
        let blocks = crate::geometry::blocks_for(self.size_bytes);
        let top = self.level.max(crate::geometry::level_for(blocks));
        (0..=top).map(|level| blocks.div_ceil(crate::geometry::page_span(level))).sum()
    }

    /// Up to so many more blocks and pages are shared with others.
    pub fn share(&mut self, blocks: u64, pages: u64) {
        self.shared = self.shared.saturating_add(blocks).min(self.mapped);
        self.pages_due = self.pages_due.saturating_add(pages).min(self.all_pages());
    }

    /// Changes the size, and with it the pages that may be needed.
    pub fn resize(&mut self, size_bytes: u64) {
        let before = self.all_pages();
        self.size_bytes = size_bytes;
        let after = self.all_pages();
        self.pages_due = (self.pages_due + after.saturating_sub(before)).min(after);
    }

    /// Blocks that must be kept free for the reservation: one for each block that is not mapped, a share of those that are shared, and the map.
    pub fn promised(&self) -> u64 {
        let Some(reservation) = self.reservation else { return 0 };
        let blocks = crate::geometry::blocks_for(self.size_bytes);
        let shared = (self.shared * u64::from(reservation.overwrite_percent)).div_ceil(100);
        (blocks.saturating_sub(self.mapped) + shared + self.pages_due).saturating_sub(self.deficit)
    }

    /// So many mapped blocks are about to be unmapped. To write a block that was shared, less than a block was set aside if the overwrite
    /// reserve is below 100 %; unmapping it frees nothing from which the rest could be promised now.
    pub fn unmap(&mut self, blocks: u64) {
        if let Some(reservation) = self.reservation {
            let missing = 100 - u64::from(reservation.overwrite_percent.min(100));
            self.deficit += (blocks.min(self.shared) * missing).div_ceil(100);
        }
    }
}
