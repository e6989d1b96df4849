//! Objects of the pool in use, and the space promised to reserved ones.

use crate::checksum::Crc32c;
use crate::geometry::Pointer;
use crate::interface::operation::ADDRESS_SPACE_BYTES;
use crate::interface::{Hour, ObjectId, ObjectKind, Reservation};
use crate::mutations::{Mutation, leaves_out};
use media::BlockAddress;

/// Changes of an object that the pool refuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protection {
    #[default]
    None,
    /// A snapshot is neither deleted nor changed before it is unlocked, at this hour at the earliest.
    Locked(Hour),
    /// A volume is changed by its replication group alone.
    Replica,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub id: ObjectId,
    pub kind: ObjectKind,
    pub parent: Option<ObjectId>,
    pub size_bytes: u64,
    pub root: BlockAddress,
    pub root_crc: Crc32c,
    pub level: u8,
    pub mapped: u64,
    pub write_cache: bool,
    pub zero_detection: bool,
    pub reservation: Option<Reservation>,
    /// Limit of the space of an address space; a multiple of [`CEILING_UNIT_BYTES`].
    ///
    /// [`CEILING_UNIT_BYTES`]: crate::interface::operation::CEILING_UNIT_BYTES
    pub ceiling_bytes: Option<u64>,
    pub protection: Protection,
    /// Upper bound of the mapped blocks that other objects may use too; kept while `tracked`.
    pub shared: u64,
    /// Upper bound of the map pages to be allocated when the whole object is written; kept while
    /// `tracked`.
    pub pages_due: u64,
    /// True if the object is reserved, or counted for a future reservation.
    pub tracked: bool,
    /// Promised blocks that large writes in flight have already taken; the promise shrinks when
    /// these take effect.
    pub in_flight: u64,
    /// True while a change of the object is unreported. Not stored.
    pub unreported: bool,
    /// Generation of the last change, as [`Changes`](crate::catalog::changes::Changes) counts them. Not stored.
    pub changed: u64,
    /// Blocks that the reservation asks for and that are not promised; see [`Object::unmap`]. Not
    /// stored.
    pub deficit: u64,
}

/// Space promised to all reserved volumes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Promises {
    /// Blocks promised.
    pub promised: u64,
    /// Promised blocks that are not yet taken.
    pub owed: u64,
    /// Number of objects with a reservation.
    pub objects: u64,
}

impl Promises {
    /// Adds the promise of an object.
    pub fn add(&mut self, object: &Object) {
        let promised = object.promised();
        self.promised += promised;
        self.owed += promised.saturating_sub(object.in_flight);
        self.objects += u64::from(object.reservation.is_some());
    }

    /// Reverts [`Promises::add`] for an object in its state at that time.
    pub fn remove(&mut self, object: &Object) {
        let promised = object.promised();
        self.promised -= promised;
        self.owed -= promised.saturating_sub(object.in_flight);
        self.objects -= u64::from(object.reservation.is_some());
    }

    /// Changes an object, and updates its promise.
    pub fn change(&mut self, object: &mut Object, change: impl FnOnce(&mut Object)) {
        self.remove(object);
        change(object);
        self.add(object);
    }
}

/// Detached sub-tree whose references are not yet given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// Root page of the sub-tree.
    pub pointer: Pointer,
    /// Number of blocks mapped below it.
    pub mapped: u64,
}

impl Object {
    /// Pointer to the root page of the map; empty if nothing is mapped.
    #[inline]
    pub fn pointer(&self) -> Pointer {
        Pointer { address: self.root, level: self.level, crc: self.root_crc }
    }

    /// True if hosts may change its content: a volume that is no replica.
    #[inline]
    pub fn takes_hosts(&self) -> bool {
        self.kind == ObjectKind::Volume && (!self.is_replica() || leaves_out(Mutation::HostsOut))
    }

    /// First hour at which a locked snapshot can be unlocked.
    pub fn locked_until(&self) -> Option<Hour> {
        match self.protection {
            Protection::Locked(until) => Some(until),
            Protection::None | Protection::Replica => None,
        }
    }

    /// True for a volume that its replication group alone changes.
    #[inline]
    pub fn is_replica(&self) -> bool {
        self.protection == Protection::Replica
    }

    /// True for an address space. Its reservation says how much of its allotments a snapshot leaves promised.
    pub fn is_address_space(&self) -> bool {
        self.size_bytes == ADDRESS_SPACE_BYTES
    }

    /// Percentage of shared content in its allotments that stays promised.
    pub fn overwrite_percent(&self) -> u8 {
        self.reservation.map_or(100, |reservation| reservation.overwrite_percent)
    }

    /// Creates an empty volume.
    pub fn new(id: ObjectId, size_bytes: u64) -> Self {
        Self {
            id,
            kind: ObjectKind::Volume,
            parent: None,
            size_bytes,
            root: BlockAddress::NONE,
            root_crc: Crc32c::NONE,
            level: crate::geometry::level_for(crate::geometry::blocks_for(size_bytes)),
            mapped: 0,
            write_cache: false,
            zero_detection: true,
            reservation: None,
            ceiling_bytes: None,
            protection: Protection::None,
            shared: 0,
            pages_due: 0,
            tracked: false,
            in_flight: 0,
            unreported: false,
            changed: 0,
            deficit: 0,
        }
    }

    /// Number of map pages of the object if it is fully mapped.
    pub fn all_pages(&self) -> u64 {
        let blocks = crate::geometry::blocks_for(self.size_bytes);
        let top = self.level.max(crate::geometry::level_for(blocks));
        (0..=top).map(|level| blocks.div_ceil(crate::geometry::page_span(level))).sum()
    }

    /// Adds up to this many blocks and pages that are shared with others.
    pub fn raise_shared(&mut self, blocks: u64, pages: u64) {
        self.shared = self.shared.saturating_add(blocks).min(self.mapped);
        self.pages_due = self.pages_due.saturating_add(pages).min(self.all_pages());
    }

    /// Changes the size, and with it the bound of the pages that may be needed.
    pub fn resize(&mut self, size_bytes: u64) {
        let before = self.all_pages();
        self.size_bytes = size_bytes;
        let after = self.all_pages();
        self.pages_due = (self.pages_due + after.saturating_sub(before)).min(after);
    }

    /// Blocks that must be kept free for the reservation: one for each unmapped block, a share of
    /// the shared blocks, and the map.
    pub fn promised(&self) -> u64 {
        let Some(reservation) = self.reservation.filter(|_| !self.is_address_space()) else { return 0 };
        let blocks = crate::geometry::blocks_for(self.size_bytes);
        let shared = (self.shared * u64::from(reservation.overwrite_percent)).div_ceil(100);
        (blocks.saturating_sub(self.mapped) + shared + self.pages_due).saturating_sub(self.deficit)
    }

    /// Accounts for mapped blocks that are about to be unmapped. With an overwrite reserve below
    /// 100 %, less than a block was set aside for a shared block; unmapping it frees nothing from
    /// which the rest could be promised now.
    pub fn unmap(&mut self, blocks: u64) {
        if let Some(reservation) = self.reservation {
            let missing = 100 - u64::from(reservation.overwrite_percent.min(100));
            self.deficit += (blocks.min(self.shared) * missing).div_ceil(100);
        }
    }
}
