//! A host: its own initiator name and sessions, a data mover with its switches, and the datastores
//! it has mounted.

use crate::device::{Place, Slice, Unit};
use crate::error::LabError;
use data_mover::{DataMover, Extent, Tally};
use datastore::{Datastore, DatastoreError, FormatOptions, VirtualDisk};
use futures_util::future::{self, Either};
use initiator::{Counters, Session};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

/// A datastore as mounted by one host.
pub(crate) type Store = Datastore<Slice>;
/// A virtual disk that a host has open.
pub(crate) type Disk = VirtualDisk<Slice>;

/// Sessions of a host, one to each target of the run. They last for the whole run, unless they are
/// lost.
pub(crate) struct Connection {
    pub(crate) units: Vec<Unit>,
    pub(crate) sessions: Vec<Session>,
}

impl Connection {
    /// Whether all sessions are up.
    pub(crate) fn is_up(&self) -> bool {
        self.sessions.iter().all(Session::is_up)
    }

    /// Whether every unit still answers. A session may be lost without its host having noticed.
    pub(crate) async fn answers(&self) -> bool {
        for unit in &self.units {
            if let Err(error) = unit.read(Extent { lba: 0, blocks: 1 }).await
                && LabError::from(error).is_gone()
            {
                return false;
            }
        }
        true
    }

    /// Traffic so far, each session once: several units of one target share a session.
    pub(crate) fn counters(&self) -> Counters {
        let sessions: Vec<Counters> = match self.sessions.is_empty() {
            // Units in memory have a counter each.
            true => self.units.iter().map(Unit::counters).collect(),
            false => self.sessions.iter().map(Session::counters).collect(),
        };
        sessions.into_iter().fold(Counters::default(), |sum, next| Counters {
            commands: sum.commands + next.commands,
            sent_bytes: sum.sent_bytes + next.sent_bytes,
            received_bytes: sum.received_bytes + next.received_bytes,
        })
    }
}

/// A host. Created for each side of each round, over sessions that stay.
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) mover: Rc<DataMover>,
    pub(crate) connection: Rc<Connection>,
    pub(crate) designators: Rc<Vec<Option<[u8; 16]>>>,
    /// Whether this host uses UNMAP.
    pub(crate) unmap: bool,
}

impl Host {
    /// Opens a part of a logical unit.
    pub(crate) fn slice(&self, place: Place) -> Result<Rc<Slice>, LabError> {
        let unit = self.connection.units.get(place.unit);
        let unit = unit.ok_or_else(|| LabError::Unsuitable("there is no such logical unit".into()))?;
        let slice = Slice::new(unit, place, &self.designators, |identity| {
            if !self.unmap {
                identity.limits.unmap = 0;
            }
        });
        Ok(Rc::new(slice))
    }

    /// Creates a datastore.
    pub(crate) async fn format(&self, place: Place, options: &FormatOptions) -> Result<(), LabError> {
        Ok(Datastore::format(&self.slice(place)?, &self.mover, &FormatOptions { force: true, ..options.clone() })
            .await?)
    }

    /// Mounts a datastore. Work on it must run inside [`alive`].
    pub(crate) async fn mount(&self, place: Place) -> Result<Rc<Store>, LabError> {
        let host = datastore::Host { name: self.name.clone() };
        Ok(Datastore::mount(self.slice(place)?, self.mover.clone(), host).await?)
    }

    pub(crate) fn counters(&self) -> Counters {
        self.connection.counters()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.mover.tally()
    }
}

/// Runs `work` while the heartbeats of the datastores are renewed; otherwise other hosts would take
/// their slots.
pub(crate) async fn alive<T>(
    stores: &[Rc<Store>],
    work: impl Future<Output = Result<T, LabError>>,
) -> Result<T, LabError> {
    let beats = stores.iter().map(|store| Box::pin(store.keep_alive()));
    let beats = pin!(future::select_all(beats));
    match future::select(pin!(work), beats).await {
        Either::Left((result, _)) => result,
        Either::Right(((error, _, _), _)) => Err(error.into()),
    }
}

/// Like [`alive`], and unmounts the datastores after success.
pub(crate) async fn mounted<T>(
    stores: &[Rc<Store>],
    work: impl Future<Output = Result<T, LabError>>,
) -> Result<T, LabError> {
    let value = alive(stores, work).await?;
    for store in stores {
        store.unmount().await?;
    }
    Ok(value)
}

/// Takes a disk out of its last reference.
pub(crate) fn sole(disk: Rc<Disk>) -> Result<Disk, LabError> {
    Rc::try_unwrap(disk).map_err(|_| DatastoreError::Unsuitable("the disk is in use".into()).into())
}
