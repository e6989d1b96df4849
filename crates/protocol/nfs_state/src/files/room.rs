//! Room for opens, locks and names of owners: limits of all clients together, and the share of one.

use bytes::Bytes;
use nfs::v4::Status;

use super::owners::Owns;
use super::{Files, Holdings, LockRequest};
use crate::table::Key;

/// Whether something finds room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// It does.
    Enough,
    /// The client has its share, or the file all that a file may have.
    ShareUsed,
    /// All clients together have too much.
    Full,
}

/// Room that is reserved for an open, with the name of its owner.
#[derive(Debug)]
pub(crate) struct Reservation {
    client: Key,
    owner: Key,
}

impl Room {
    /// `DELAY` unless there is enough.
    pub(super) fn check(self) -> Result<(), Status> {
        if self == Self::Enough { Ok(()) } else { Err(Status::DELAY) }
    }

    /// Room for one more thing beside this one.
    const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::ShareUsed, _) | (_, Self::ShareUsed) => Self::ShareUsed,
            (Self::Full, _) | (_, Self::Full) => Self::Full,
            _ => Self::Enough,
        }
    }
}

/// Room for `added` beside what one client has and what all have.
fn room(own: u64, all: u64, added: u64, limit: u64, share: u32) -> Room {
    if own + added > limit / u64::from(share.max(1)) {
        Room::ShareUsed
    } else if all + added > limit {
        Room::Full
    } else {
        Room::Enough
    }
}

/// A count with revoked stateids that were not freed.
const fn with_revoked(count: u32, held: Holdings) -> u64 {
    count as u64 + held.expired as u64 + held.revoked as u64
}

impl Files {
    /// Room for an open of an owner.
    pub(crate) fn room_for_open(&self, client: Key, owner: &Bytes) -> Room {
        let limits = &self.limits;
        if self.released.len() >= limits.opens as usize {
            return Room::ShareUsed;
        }
        let (own, all) = (self.held(client), self.total);
        let (own, all) = (with_revoked(own.opens, own), with_revoked(all.opens, all));
        let reserved = self.reserved_for.get(&client).copied().unwrap_or(0);
        let (own, all) = (own + u64::from(reserved), all + u64::from(self.reserved));
        let opens = room(own, all, 1, limits.opens.into(), limits.client_share);
        opens.and(self.room_for_owner(client, Owns::Opens, owner))
    }

    /// Reserves room for an open of an owner. `DELAY`: there is none.
    pub(crate) fn reserve_open(&mut self, client: Key, owner: &Bytes) -> Result<Reservation, Status> {
        self.room_for_open(client, owner).check()?;
        *self.reserved_for.entry(client).or_default() += 1;
        self.reserved += 1;
        Ok(Reservation { client, owner: self.owners.refer(client, Owns::Opens, owner) })
    }

    /// Ends a reservation.
    pub(crate) fn end_reservation(&mut self, reservation: &Reservation) {
        self.owners.release(reservation.owner);
        self.reserved -= 1;
        if let Some(reserved) = self.reserved_for.get_mut(&reservation.client) {
            *reserved -= 1;
            if *reserved == 0 {
                self.reserved_for.remove(&reservation.client);
            }
        }
    }

    /// Room for a lock through an open.
    pub(crate) fn room_for_lock(&self, open: Key, wanted: LockRequest) -> Room {
        let Some(file) = self.open(open).map(|open| open.file) else { return Room::Enough };
        // A lock in the middle of another one adds two ranges.
        let ranges = self.room_for_ranges(wanted.client, file, 2);
        if self.known_lock(open, wanted).is_some() {
            return ranges;
        }
        let limits = &self.limits;
        let (own, all) = (self.held(wanted.client), self.total);
        let (own, all) = (with_revoked(own.lock_stateids, own), with_revoked(all.lock_stateids, all));
        let stateids = room(own, all, 1, limits.lock_stateids.into(), limits.client_share);
        ranges.and(stateids).and(self.room_for_owner(wanted.client, Owns::Locks, wanted.owner))
    }

    /// Room for ranges of a client in a file.
    pub(super) fn room_for_ranges(&self, client: Key, file: Key, added: u32) -> Room {
        let limits = &self.limits;
        let in_file = self.files.get(file).map_or(0, |file| file.ranges.len());
        if in_file + added > limits.ranges_per_file {
            return Room::ShareUsed;
        }
        let own = self.ranges_of.get(&client).copied().unwrap_or(0);
        room(own.into(), self.ranges.into(), added.into(), limits.ranges.into(), limits.client_share)
    }

    fn room_for_owner(&self, client: Key, owns: Owns, name: &Bytes) -> Room {
        let owners = &self.owners;
        if owners.find(client, owns, name).is_some() {
            return Room::Enough;
        }
        let (own, all) = (owners.bytes_of(client), owners.bytes());
        room(own, all, name.len() as u64, self.limits.owner_bytes, self.limits.client_share)
    }

    /// Whether a client has anything that takes room.
    pub(crate) fn takes_room(&self, client: Key) -> bool {
        self.held(client) != Holdings::default()
    }
}
