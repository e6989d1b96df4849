//! The server: what is exported, and the state of clients.

use crate::handle::{HandleKey, Target};
use crate::sessions::{NoSessions, Sessions};
use crate::shares::{Share, Shares};
use std::cell::RefCell;
use std::rc::Rc;
use vfs::{FileSystem, Timestamp};

/// Settings of a server.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Key under which handles are sealed.
    pub handle_key: HandleKey,
    /// Lease of clients.
    pub lease_seconds: u32,
}

/// NFS server.
pub struct Server<F> {
    settings: Settings,
    shares: RefCell<Shares<F>>,
    sessions: Rc<dyn Sessions>,
}

/// Reason why a handle names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleError {
    /// The server has not made it.
    Bad,
    /// Its share is gone, or has new handles.
    Stale,
}

/// What a handle leads to.
pub(crate) enum Found<F> {
    /// The pseudo root.
    PseudoRoot,
    /// File of a share; it may no longer exist.
    File(Rc<Share<F>>, vfs::FileId),
}

impl<F: FileSystem> Server<F> {
    /// Creates a server without shares, and without the state of clients: NFSv4 clients get no session.
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        Self::with_sessions(settings, now, Rc::new(NoSessions))
    }

    /// Creates a server without shares, for clients whose state is kept in `sessions`.
    pub fn with_sessions(settings: Settings, now: Timestamp, sessions: Rc<dyn Sessions>) -> Self {
        Self { settings, shares: RefCell::new(Shares::new(now)), sessions }
    }

    /// The shares, for their owner.
    pub const fn shares(&self) -> &RefCell<Shares<F>> {
        &self.shares
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn sessions(&self) -> &dyn Sessions {
        &*self.sessions
    }

    /// What a handle leads to.
    pub(crate) fn resolve(&self, handle: &[u8]) -> Result<Found<F>, HandleError> {
        match self.settings.handle_key.open(handle).ok_or(HandleError::Bad)? {
            Target::PseudoRoot => Ok(Found::PseudoRoot),
            Target::File { object, epoch, file } => {
                let shares = self.shares.borrow();
                let share = shares.by_object(object).filter(|share| share.epoch == epoch);
                share.map(|share| Found::File(Rc::clone(share), file)).ok_or(HandleError::Stale)
            }
        }
    }
}
