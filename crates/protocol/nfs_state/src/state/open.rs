//! OPEN, OPEN_DOWNGRADE and CLOSE (RFC 8881 §18.16, §18.18, §18.2).

use std::time::Duration;

use bytes::Bytes;
use nfs::v4::open::{
    CloseArguments, Delegation, DowngradeArguments, OpenArguments, OpenClaim, WhyNoDelegation, share_access, share_deny,
};
use nfs::v4::{Stateid, Status};

use super::{ClientRef, State};
use crate::files::{FileKey, Obstacles, OpenUndo, Reservation, Share};

/// An OPEN whose arguments and time are right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    owner: Bytes,
    share: Share,
    reclaim: bool,
}

impl OpenRequest {
    /// Bits of `share_access`, without the wishes for a delegation.
    pub const fn access(&self) -> u32 {
        self.share.access
    }
    /// Whether the open is from before a restart of the server.
    pub const fn is_reclaim(&self) -> bool {
        self.reclaim
    }
}

/// Room for an open, until [`State::end_reservation`].
#[derive(Debug)]
#[must_use = "the room is taken until the reservation is ended"]
pub struct OpenReservation(Reservation);

/// A granted OPEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Stateid of the open.
    pub stateid: Stateid,
    /// Whether the file had no open: it needs a hold.
    pub first: bool,
    undo: OpenUndo,
}

/// Answer to the wish for a delegation: there are none.
pub fn delegation(access: u32) -> Delegation {
    match access & share_access::WANT_MASK {
        0 => Delegation::None,
        share_access::WANT_NO_DELEGATION | share_access::WANT_CANCEL => {
            Delegation::NoneExtended(WhyNoDelegation::NOT_WANTED)
        }
        _ => Delegation::NoneExtended(WhyNoDelegation::NOT_SUPPORTED_FILE_TYPE),
    }
}

/// Share of a request; `INVAL` for bits without meaning, or no access.
fn share(access: u32, deny: u32) -> Result<Share, Status> {
    let valid = (share_access::READ..=share_access::BOTH).contains(&access) && deny <= share_deny::BOTH;
    if valid { Ok(Share { access, deny }) } else { Err(Status::INVAL) }
}

/// Access of an OPEN without the wishes for a delegation; `INVAL` for a wish without meaning.
fn access_without_wish(access: u32) -> Result<u32, Status> {
    const SIGNALS: u32 = share_access::WANT_SIGNAL_WHEN_AVAILABLE | share_access::WANT_PUSH_WHEN_UNCONTENDED;
    if access & share_access::WANT_MASK > share_access::WANT_CANCEL {
        return Err(Status::INVAL);
    }
    Ok(access & !(share_access::WANT_MASK | SIGNALS))
}

impl State {
    /// Checks an OPEN before its file is known. Errors: `INVAL`; `GRACE`: during the grace period, and before the
    /// client's RECLAIM_COMPLETE; `NO_GRACE`, `RECLAIM_BAD`: no right to reclaim; `BAD_STATEID`, `NOTSUPP`: claims of
    /// delegations.
    pub fn prepare_open(
        &mut self,
        client: ClientRef,
        arguments: &OpenArguments,
        now: Duration,
    ) -> Result<OpenRequest, Status> {
        let share = share(access_without_wish(arguments.share_access)?, arguments.share_deny)?;
        let reclaim = match &arguments.claim {
            OpenClaim::Null(_) | OpenClaim::Filehandle => false,
            OpenClaim::Previous(_) => true,
            OpenClaim::DelegateCurrent(_) | OpenClaim::DelegateCurrentFilehandle(_) => return Err(Status::BAD_STATEID),
            OpenClaim::DelegatePrevious(_) | OpenClaim::DelegatePreviousFilehandle => return Err(Status::NOTSUPP),
        };
        self.check_grace(client, reclaim, now)?;
        Ok(OpenRequest { owner: arguments.owner.owner.as_bytes().clone(), share, reclaim })
    }

    /// Reserves room for an OPEN that is about to create its file: a file must not be created and its open refused for
    /// lack of room, as a repetition would find it. The reservation has to be ended, before [`State::open`] in the same
    /// step. `DELAY`: no room, though silent clients gave way.
    pub fn reserve_open(
        &mut self,
        client: ClientRef,
        request: &OpenRequest,
        now: Duration,
    ) -> Result<OpenReservation, Status> {
        self.client(client)?;
        self.make_room(client.0, |files| files.room_for_open(client.0, &request.owner), now)?;
        self.files.reserve_open(client.0, &request.owner).map(OpenReservation)
    }

    /// Ends a reservation: its room is free.
    pub fn end_reservation(&mut self, reservation: OpenReservation) {
        self.files.end_reservation(&reservation.0);
    }

    /// Opens a file, or adds to what the owner has of it. `user` is the one whose permission was checked: I/O of others
    /// with the open's stateid is [`Io::OpenOfOther`](super::Io::OpenOfOther). The grant is made: a truncation that
    /// fails afterwards needs [`State::undo_open`]. Errors: `SHARE_DENIED`, or `RECLAIM_CONFLICT` of a reclaim;
    /// `GRACE`, `NO_GRACE`, `RECLAIM_BAD`; `DELAY`: no room, though silent clients gave way.
    pub fn open(
        &mut self,
        client: ClientRef,
        user: u32,
        request: &OpenRequest,
        file: &FileKey,
        now: Duration,
    ) -> Result<Opened, Status> {
        self.check_grace(client, request.reclaim, now)?;
        let denied = if request.reclaim { Status::RECLAIM_CONFLICT } else { Status::SHARE_DENIED };
        let (own, added) = self.files.added_share(client.0, file, &request.owner, request.share)?;
        if own.is_none() {
            let is_courteous = |client| self.is_courteous(client, now);
            if self.files.share_obstacles(file, own, added, is_courteous) == Obstacles::Held {
                return Err(denied);
            }
            self.make_room(client.0, |files| files.room_for_open(client.0, &request.owner), now)?;
        }
        self.make_way(file, own, added, denied, now)?;
        let (stateid, first, undo) = self.files.add_open(client.0, file, &request.owner, user, request.share)?;
        self.granted(client, request.reclaim, request.share.deny != 0, now);
        Ok(Opened { stateid, first, undo })
    }

    /// Takes back an open that was granted last, or what was added to it.
    pub fn undo_open(&mut self, opened: &Opened) {
        self.files.undo_open(&opened.undo);
    }

    /// CLOSE, which frees the locks too. Returns the invalid stateid. Errors: those of stateids.
    pub fn close(&mut self, client: ClientRef, file: &FileKey, arguments: &CloseArguments) -> Result<Stateid, Status> {
        self.client(client)?;
        let key = self.files.find_open(client.0, file, &arguments.stateid)?;
        self.files.close(key);
        Ok(Stateid::INVALID)
    }

    /// OPEN_DOWNGRADE. Errors: those of stateids; `INVAL`: not a part of what was opened.
    pub fn open_downgrade(
        &mut self,
        client: ClientRef,
        file: &FileKey,
        arguments: &DowngradeArguments,
    ) -> Result<Stateid, Status> {
        self.client(client)?;
        let left = share(access_without_wish(arguments.share_access)?, arguments.share_deny)?;
        let key = self.files.find_open(client.0, file, &arguments.stateid)?;
        self.files.downgrade(key, left)
    }
}
