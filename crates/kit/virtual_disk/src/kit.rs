//! What one command of a host has open: a session for each target, the logical units it found there, the datastores it has mounted.

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

/// A command that a host with a datastore waits for must end within this time, one way or the other: after it the host may be taken for dead,
/// and nothing of it may land late (docs/datastore-format.md).
const DATASTORE_TIMEOUT: Duration = Duration::from_secs(4);
/// How long a command is sent again while other hosts have the logical unit reserved.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who the host is.
#[derive(Clone, Debug)]
pub struct KitOptions {
    /// The switches.
    pub settings: Settings,
    /// InitiatorName.
    pub initiator_name: Option<String>,
    /// Name on datastores; that of the machine and the process when it is not given.
    pub host: Option<String>,
    /// Limit for connecting, login and each command; on datastores never more than 4 s.
    pub timeout: Duration,
    /// Say nothing on standard error of what is waited for.
    pub quiet: bool,
}

impl Default for KitOptions {
    fn default() -> Self {
        let timeout = Duration::from_secs(30);
        Self { settings: Settings::default(), initiator_name: None, host: None, timeout, quiet: false }
    }
}

/// The name of this machine, and the process: hosts of one machine are told apart.
pub fn own_host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = if name.trim().is_empty() { "host" } else { name.trim() };
    format!("{name}:{}", std::process::id())
}

struct Found {
    url: Url,
    /// COMPARE AND WRITE was tried.
    locks: bool,
    unit: Rc<LogicalUnit>,
}

struct Mounted {
    url: Url,
    store: Rc<Datastore<LogicalUnit>>,
    heartbeat: JoinHandle<()>,
}

/// See the module. To be used on a `LocalSet` or a local runtime of tokio, and closed.
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
    /// Nothing is open yet. `datastores` says whether one may be mounted: time limits are shorter then.
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

    /// The data mover of everything here.
    pub fn mover(&self) -> &Rc<DataMover> {
        &self.mover
    }

    /// The logical unit of a URL.
    pub async fn unit(&self, url: &Url) -> Result<Rc<LogicalUnit>, DiskError> {
        self.find(url, false).await
    }

    /// The same; with `locks` it is known whether COMPARE AND WRITE works, which is tried and not only read.
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
                let options = self.options.other_way(self.sessions.borrow().len());
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

    /// A whole logical unit to read and write, one with blocks of 512 bytes.
    pub async fn patient(&self, url: &Url) -> Result<Patient<LogicalUnit>, DiskError> {
        let unit = self.unit(url).await?;
        match unit.identity().block_bytes {
            512 => Ok(Patient::new(unit, self.mover.clone(), PATIENCE)),
            other => Err(DiskError::Usage(format!(
                "{url} has logical blocks of {other} bytes; disks are copied to and from blocks of 512"
            ))),
        }
    }

    /// The same as the end of a copy.
    pub async fn whole_unit(&self, url: &Url) -> Result<Endpoint<LogicalUnit>, DiskError> {
        Ok(Endpoint::Unit { unit: WholeUnit::new(self.patient(url).await?), mover: self.mover.clone() })
    }

    /// The datastore of a logical unit, mounted, its heartbeat renewed.
    pub async fn datastore(&self, url: &Url) -> Result<Rc<Datastore<LogicalUnit>>, DiskError> {
        let known = self.stores.borrow().iter().find(|mounted| mounted.url == *url).map(|found| found.store.clone());
        if let Some(store) = known {
            return Ok(store);
        }
        let host = Host { name: self.host.clone() };
        let mounted = Datastore::mount(self.find(url, true).await?, self.mover.clone(), host).await;
        let store = mounted.map_err(|error| DiskError::datastore(url, error))?;
        if !self.quiet {
            store.tell(Box::new(|name, host| {
                let seconds = LOCK_PATIENCE.as_secs();
                let (name, host) = (text::terminal::harmless(name), text::terminal::harmless(host));
                let _closed = writeln!(io::stderr(), "{name} is in use by {host}; waiting for it, {seconds} s at most");
            }));
        }
        let beating = store.clone();
        let heartbeat = tokio::task::spawn_local(async move {
            // Whoever uses the datastore hears of an eviction from its next write.
            beating.keep_alive().await;
        });
        self.stores.borrow_mut().push(Mounted { url: url.clone(), store: store.clone(), heartbeat });
        Ok(store)
    }

    /// The datastore of a logical unit, to look at only.
    pub async fn view(&self, url: &Url) -> Result<Rc<Datastore<LogicalUnit>>, DiskError> {
        let seen = Datastore::view(self.unit(url).await?, self.mover.clone()).await;
        seen.map_err(|error| DiskError::datastore(url, error))
    }

    /// Before a logical unit is overwritten as a whole: [`DiskError::Mounted`] when it has a datastore, and a host that is alive has it mounted.
    pub(crate) async fn check_not_mounted(&self, url: &Url) -> Result<(), DiskError> {
        let mounted = Datastore::mounted_by(self.unit(url).await?, self.mover.clone()).await;
        match mounted.map_err(|error| DiskError::device(url, error))? {
            None => Ok(()),
            Some((name, slot)) => Err(DiskError::Mounted { on: url.to_string(), name, host: slot.host }),
        }
    }

    /// Refuses to copy or move a whole logical unit to itself, to a disk on it, or from one: whatever the portal, one unit has one designator.
    pub(crate) async fn check_apart(&self, from: &Location, to: &Location) -> Result<(), DiskError> {
        if from == to {
            return Err(DiskError::Usage(format!("{from} is source and destination")));
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
            (true, None, None) => Err(DiskError::Usage(format!("{from} and {to} lead to the same logical unit"))),
            (true, None, Some(_)) => {
                Err(DiskError::Usage(format!("{to} is on the logical unit that it is to hold: {from}")))
            }
            (true, Some(_), _) => {
                Err(DiskError::Usage(format!("{from} is on the logical unit that it is to overwrite: {to}")))
            }
        }
    }

    /// The datastore and the name of a disk that has to be on one.
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

    /// What all sessions sent and received.
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

    /// Gives everything back. What fails here is of no consequence: locks and slots of a host that is gone fall by themselves.
    pub async fn close(&self) {
        let stores = self.stores.take();
        for mounted in stores {
            mounted.heartbeat.abort();
            let _ended = mounted.heartbeat.await;
            // Its last renewal may have been written without this host knowing: the slot is read again.
            let _gone = mounted.store.renew().await;
            let _gone = mounted.store.unmount().await;
        }
        self.units.take();
        for (_, session) in self.sessions.take() {
            let _gone = session.logout().await;
        }
    }
}
