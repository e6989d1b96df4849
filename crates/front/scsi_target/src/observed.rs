//! What a host has looked at and used in its session, so that an administrator who connects it sees how far it is.
//!
//! A path keeps bits, the nexus keeps times; both have a fixed size. A READ or WRITE costs one comparison.

use block::VolumeId;
use std::cell::{Cell, RefCell};
use std::ops::BitOr;
use std::sync::Arc;
use unit::{Io, Primitive, Reason};

/// Primitives of SCSI, in the order of every table.
pub const SCSI_PRIMITIVES: [Primitive; 4] = [Primitive::Ats, Primitive::Xcopy, Primitive::Zero, Primitive::Unmap];

/// Set of observations about one logical unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen(u16);

impl Seen {
    /// READ CAPACITY succeeded.
    pub const CAPACITY: Self = Self(1);
    /// VPD page B0h (block limits) was read.
    pub const BLOCK_LIMITS: Self = Self(1 << 1);
    /// VPD page B2h (logical block provisioning) was read.
    pub const PROVISIONING: Self = Self(1 << 2);
    /// VPD page 8Fh (third-party copy) was read.
    pub const THIRD_PARTY_COPY: Self = Self(1 << 3);
    /// A read succeeded.
    pub const READ: Self = Self(1 << 4);
    /// A write succeeded.
    pub const WRITE: Self = Self(1 << 5);

    /// The last command of a primitive succeeded.
    pub fn succeeded(primitive: Primitive) -> Self {
        Self::of(primitive, 6)
    }

    /// The last command of a primitive was refused.
    pub fn refused(primitive: Primitive) -> Self {
        Self::of(primitive, 10)
    }

    /// Empty for a primitive that is not of SCSI.
    fn of(primitive: Primitive, shift: usize) -> Self {
        let place = SCSI_PRIMITIVES.iter().position(|other| *other == primitive);
        Self(place.map_or(0, |place| 1 << (shift + place)))
    }

    const fn io(io: Io) -> Self {
        match io {
            Io::Read => Self::READ,
            Io::Write => Self::WRITE,
        }
    }

    /// True if all of `other` are in the set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Seen {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Observations about one logical unit in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitSeen {
    /// Volume of the logical unit.
    pub volume: VolumeId,
    /// Its number.
    pub lun: u16,
    /// Observations.
    pub seen: Seen,
}

/// Use of one primitive in a session. Times are nanoseconds of the target's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrimitiveUse {
    /// Last command that succeeded.
    pub succeeded_ns: Option<u64>,
    /// Last command that was refused, and why.
    pub refused: Option<(u64, Reason)>,
}

/// Observations about a session, over all its logical units. Times are nanoseconds of the target's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Number of observations; a change means that something else is different.
    pub changes: u64,
    /// Last READ CAPACITY.
    pub capacity_ns: Option<u64>,
    /// Last INQUIRY for VPD page B0h.
    pub block_limits_ns: Option<u64>,
    /// Last INQUIRY for VPD page B2h.
    pub provisioning_ns: Option<u64>,
    /// Last INQUIRY for VPD page 8Fh.
    pub third_party_copy_ns: Option<u64>,
    /// First read or write of any of the logical units.
    pub first_io_ns: Option<u64>,
    /// Primitives, in the order of [`SCSI_PRIMITIVES`].
    pub primitives: [PrimitiveUse; SCSI_PRIMITIVES.len()],
    /// Logical units about which there is an observation, ascending by LUN.
    pub units: Arc<[UnitSeen]>,
}

/// Observations about one logical unit, as they grow.
#[derive(Debug, Default)]
pub(crate) struct SeenHere(Cell<Seen>);

impl SeenHere {
    /// Adds observations. True if one of them is new.
    fn note(&self, seen: Seen) -> bool {
        let before = self.0.replace(self.0.get() | seen);
        !before.has(seen)
    }

    /// Notes how a command of a primitive ended. True if the one before ended otherwise.
    fn note_use(&self, ended: Seen, other: Seen) -> bool {
        let before = self.0.get();
        self.0.set(before.without(other) | ended);
        self.0.get() != before
    }

    /// All of them.
    pub fn all(&self) -> Seen {
        self.0.get()
    }
}

/// Observations of a nexus, as they grow.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    of: RefCell<Observed>,
    /// True if [`Observed::units`] is older than what was seen of the logical units.
    units_changed: Cell<bool>,
}

impl Observations {
    fn observe(&self, is_new: bool, change: impl FnOnce(&mut Observed)) {
        self.units_changed.set(self.units_changed.get() || is_new);
        let mut of = self.of.borrow_mut();
        of.changes = of.changes.wrapping_add(1);
        change(&mut of);
    }

    /// Notes a look at a logical unit: READ CAPACITY, or an INQUIRY for a VPD page.
    pub fn looked(&self, here: &SeenHere, seen: Seen, now_ns: u64) {
        self.observe(here.note(seen), |of| {
            let time = match seen {
                Seen::CAPACITY => &mut of.capacity_ns,
                Seen::BLOCK_LIMITS => &mut of.block_limits_ns,
                Seen::PROVISIONING => &mut of.provisioning_ns,
                Seen::THIRD_PARTY_COPY => &mut of.third_party_copy_ns,
                _ => return,
            };
            *time = Some(now_ns);
        });
    }

    /// Notes a read or write that succeeded: the first of each kind for each logical unit.
    pub fn transferred(&self, here: &SeenHere, io: Io, now_ns: u64) {
        if !here.all().has(Seen::io(io)) {
            here.note(Seen::io(io));
            self.observe(true, |of| of.first_io_ns = of.first_io_ns.or(Some(now_ns)));
        }
    }

    /// Notes a command of a primitive that succeeded, or was refused for a reason.
    pub fn used(&self, here: &SeenHere, primitive: Primitive, refused: Option<Reason>, now_ns: u64) {
        let Some(place) = SCSI_PRIMITIVES.iter().position(|other| *other == primitive) else { return };
        let (good, bad) = (Seen::succeeded(primitive), Seen::refused(primitive));
        let is_new = if refused.is_some() { here.note_use(bad, good) } else { here.note_use(good, bad) };
        self.observe(is_new, |of| {
            let Some(of) = of.primitives.get_mut(place) else { return };
            match refused {
                Some(reason) => of.refused = Some((now_ns, reason)),
                None => of.succeeded_ns = Some(now_ns),
            }
        });
    }

    /// Number of observations so far.
    pub fn made(&self) -> u64 {
        self.of.borrow().changes
    }

    /// Observations so far. `units`: all logical units that the nexus sees.
    pub fn all(&self, units: impl FnOnce() -> Vec<UnitSeen>) -> Observed {
        if self.units_changed.take() {
            let units = units().into_iter().filter(|unit| unit.seen != Seen::default());
            self.of.borrow_mut().units = units.collect();
        }
        self.of.borrow().clone()
    }
}
