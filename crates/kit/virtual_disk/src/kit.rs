//! Open resources of one command: a session for each target, the logical units found there, the
//! datastores mounted.

use crate::endpoint::Endpoint;
use crate::error::DiskError;
use crate::location::Location;
use data_mover::{DataMover, Device, Patient, Settings};
use datastore::{Datastore, Host, LOCK_PATIENCE, WholeUnit};
use initiator::url::Url;
use initiator::{Counters, LogicalUnit, Options, Session, SystemClock};
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Time limit of a command on which a datastore's host waits. After it the host may be considered
/// dead, and no effect of the command may come later (docs/datastore-format.md).
const DATASTORE_TIMEOUT: Duration = Duration::from_secs(4);
/// Time for which a command is retried while other hosts have the logical unit reserved.
const PATIENCE: Duration = Duration::from_secs(60);

/// Identity and limits of the host.
#[derive(Clone, Debug)]
pub struct KitOptions {
    /// Switches of the host.
    pub settings: Settings,
    /// InitiatorName; a default when `None`.
    pub initiator_name: Option<String>,
    /// Name on datastores; machine name and process id when `None`.
    pub host: Option<String>,
    /// Limit for connecting, login and each command; on datastores never more than 4 s.
    pub timeout: Duration,
    /// Print no message on standard error while waiting for a lock.
    pub quiet: bool,
}

impl Default for KitOptions {
    fn default() -> Self {
        let timeout = Duration::from_secs(30);
        Self { settings: Settings::default(), initiator_name: None, host: None, timeout, quiet: false }
    }
}

/// Name of this machine and process id, which distinguishes hosts on one machine.
pub fn own_host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = if name.trim().is_empty() { "host" } else { name.trim() };
    format!("{name}:{}", std::process::id())
}

struct Found {
    url: Url,
    /// Whether COMPARE AND WRITE was tried on it.
    locks: bool,
    unit: Rc<LogicalUnit>,
}

struct Mounted {
    url: Url,
    store: Rc<Datastore<LogicalUnit>>,
    heartbeat: JoinHandle<()>,
}

/// Resources of one command. Requires a `LocalSet` or a local runtime of tokio; call
/// [`Self::close`] at the end.
pub struct Kit {
    options: Options,
    host: String,
    mover: Rc<DataMover>,
    quiet: bool,
    sessions: RefCell<Vec<(Url, Session)>>,
    units: RefCell<Vec<Found>>,
    stores: RefCell<Vec<Mounted>>,
}

impl Kit {
    /// Creates a kit with nothing open. `datastores` says whether a datastore may be mounted: time
    /// limits are then shorter.
    pub fn new(options: &KitOptions, datastores: bool) -> Self {
        let session = Options {
            initiator_name: options.initiator_name.clone().unwrap_or_else(|| Options::default().initiator_name),
            qualifier: 2,
            timeout: if datastores { options.timeout.min(DATASTORE_TIMEOUT) } else { options.timeout },
        };
        Self::with(session, options)
    }

    fn with(session: Options, options: &KitOptions) -> Self {
        Self {
            options: session,
            host: options.host.clone().unwrap_or_else(own_host_name),
            mover: Rc::new(DataMover::new(options.settings, Rc::new(SystemClock::default()))),
            quiet: options.quiet,
            sessions: RefCell::default(),
            units: RefCell::default(),
            stores: RefCell::default(),
        }
    }

    /// Data mover of this host.
    pub fn mover(&self) -> &Rc<DataMover> {
        &self.mover
    }

    /// Logical unit of a URL; logs in if needed.
    pub async fn unit(&self, url: &Url) -> Result<Rc<LogicalUnit>, DiskError> {
        self.find(url, false).await
    }

    /// Like [`Self::unit`]; `locks` requires that COMPARE AND WRITE was tried on the unit, instead
    /// of only read from its pages.
    async fn find(&self, url: &Url, locks: bool) -> Result<Rc<LogicalUnit>, DiskError> {
        let serves = |found: &&Found| found.url == *url && (found.locks || !locks);
        let known = self.units.borrow().iter().find(serves).map(|found| found.unit.clone());
        if let Some(unit) = known {
            return Ok(unit);
        }
        let known = self.sessions.borrow().iter().find(|(of, _)| of.same_session(url)).map(|(_, open)| open.clone());
        let session = match known {
            Some(session) => session,
            None => {
                let options = self.options.with_other_isid(self.sessions.borrow().len());
                let session = Session::connect(url, &options).await?;
                self.sessions.borrow_mut().push((url.clone(), session.clone()));
                session
            }
        };
        let unit = Rc::new(match locks {
            true => LogicalUnit::find_to_lock(&session, url.lun).await?,
            false => LogicalUnit::find(&session, url.lun).await?,
        });
        self.units.borrow_mut().push(Found { url: url.clone(), locks, unit: unit.clone() });
        Ok(unit)
    }

    /// Logical unit for reading and writing; it must have blocks of 512 bytes.
    pub async fn patient(&self, url: &Url) -> Result<Patient<LogicalUnit>, DiskError> {
        let unit = self.unit(url).await?;
        match unit.identity().block_bytes {
            512 => Ok(Patient::new(unit, self.mover.clone(), PATIENCE)),
            other => Err(DiskError::Usage(format!(
                "{url} has logical blocks of {other} bytes; disks are copied to and from blocks of 512"
            ))),
        }
    }

    /// Logical unit as the source or destination of a copy; it must have blocks of 512 bytes.
    pub async fn whole_unit(&self, url: &Url) -> Result<Endpoint<LogicalUnit>, DiskError> {
        Ok(Endpoint::Unit { unit: WholeUnit::new(self.patient(url).await?), mover: self.mover.clone() })
    }

    /// Datastore of a logical unit, mounted, with its heartbeat renewed in the background.
    pub async fn datastore(&self, url: &Url) -> Result<Rc<Datastore<LogicalUnit>>, DiskError> {
        let known = self.stores.borrow().iter().find(|mounted| mounted.url == *url).map(|found| found.store.clone());
        if let Some(store) = known {
            return Ok(store);
        }
        let host = Host { name: self.host.clone() };
        let mounted = Datastore::mount(self.find(url, true).await?, self.mover.clone(), host).await;
        let store = mounted.map_err(|error| DiskError::datastore(url, error))?;
        if !self.quiet {
            store.on_contended_lock(Box::new(|name, host| {
                let seconds = LOCK_PATIENCE.as_secs();
                let (name, host) = (text::terminal::harmless(name), text::terminal::harmless(host));
                let _closed = writeln!(io::stderr(), "{name} is in use by {host}; waiting up to {seconds} s");
            }));
        }
        let beating = store.clone();
        let heartbeat = tokio::task::spawn_local(async move {
            // Users of the datastore learn of an eviction from their next write.
            beating.keep_alive().await;
        });
        self.stores.borrow_mut().push(Mounted { url: url.clone(), store: store.clone(), heartbeat });
        Ok(store)
    }

    /// Datastore of a logical unit, for viewing only.
    pub async fn view(&self, url: &Url) -> Result<Rc<Datastore<LogicalUnit>>, DiskError> {
        let seen = Datastore::view(self.unit(url).await?, self.mover.clone()).await;
        seen.map_err(|error| DiskError::datastore(url, error))
    }

    /// Checks that no living host has a datastore mounted on a unit that will be overwritten.
    /// Errors: [`DiskError::Mounted`].
    pub(crate) async fn check_not_mounted(&self, url: &Url) -> Result<(), DiskError> {
        let mounted = Datastore::mounted_by(self.unit(url).await?, self.mover.clone()).await;
        match mounted.map_err(|error| DiskError::device(url, error))? {
            None => Ok(()),
            Some((name, slot)) => Err(DiskError::Mounted { on: url.to_string(), name, host: slot.host }),
        }
    }

    /// Refuses to copy or move a whole logical unit to itself, to a disk on it, or from one. Units
    /// are compared by designator, so that different portals do not matter.
    pub(crate) async fn check_apart(&self, from: &Location, to: &Location) -> Result<(), DiskError> {
        if from == to {
            return Err(DiskError::Usage(format!("{from} is both source and destination")));
        }
        if from.disk.is_some() && to.disk.is_some() {
            return Ok(());
        }
        let (one, other) = (self.unit(&from.url).await?, self.unit(&to.url).await?);
        let same = match (one.designator(), other.designator()) {
            (Some(one), Some(other)) => one == other,
            _ => (&from.url.target, from.url.lun) == (&to.url.target, to.url.lun),
        };
        match (same, &from.disk, &to.disk) {
            (false, ..) => Ok(()),
            (true, None, None) => Err(DiskError::Usage(format!("{from} and {to} are the same logical unit"))),
            (true, None, Some(_)) => {
                Err(DiskError::Usage(format!("{to} cannot hold the logical unit that it is on: {from}")))
            }
            (true, Some(_), _) => {
                Err(DiskError::Usage(format!("{from} cannot overwrite the logical unit that it is on: {to}")))
            }
        }
    }

    /// Datastore and name of a disk; errors if the location is a whole logical unit.
    pub async fn on_datastore<'a>(
        &self,
        location: &'a Location,
    ) -> Result<(Rc<Datastore<LogicalUnit>>, &'a str), DiskError> {
        match &location.disk {
            Some(name) => Ok((self.datastore(&location.url).await?, name)),
            None => Err(DiskError::Usage(format!(
                "{location} is a whole logical unit; a disk on its datastore is {location}#NAME"
            ))),
        }
    }

    /// Sum of the counters of all sessions.
    pub fn counters(&self) -> Counters {
        self.sessions.borrow().iter().fold(Counters::default(), |sum, (_, session)| {
            let one = session.counters();
            Counters {
                commands: sum.commands + one.commands,
                sent_bytes: sum.sent_bytes + one.sent_bytes,
                received_bytes: sum.received_bytes + one.received_bytes,
            }
        })
    }

    /// Unmounts and logs out. Errors are ignored: locks and slots of a host that is gone become
    /// void anyway.
    pub async fn close(&self) {
        let stores = self.stores.take();
        for mounted in stores {
            mounted.heartbeat.abort();
            let _ended = mounted.heartbeat.await;
            // The last renewal may have been written without a response: renewing reads the slot
            // again.
            let _gone = mounted.store.renew().await;
            let _gone = mounted.store.unmount().await;
        }
        self.units.take();
        for (_, session) in self.sessions.take() {
            let _gone = session.logout().await;
        }
    }
}
