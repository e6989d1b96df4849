//! Multipathing: several sessions to one logical unit as one [`Device`].
//!
//! All paths must show the same designator (NAA, else EUI). Commands go to the paths in turn, or
//! over one path while the others are idle. A path whose session is lost logs in again in the
//! background, and its commands go over another path. The effect of such a command is unknown, so
//! it is sent again only if repeating it is harmless (`device`): reads, writes, zeros, UNMAP,
//! copies that do not overlap themselves. COMPARE AND WRITE is resolved by reading the block, and
//! reported as lost if the content does not show the result.
//!
//! Not handled on purpose: the array carries out a write of a lost session after the same write was
//! repeated over another path. The array ends the commands of a session whose connection it sees
//! closed; a network that holds bytes back for longer is as dangerous here as with the kernel's
//! multipathing.

mod device;

use crate::driver::STOPPED;
use crate::logical_unit::{LogicalUnit, ProbeError};
use crate::session::{Counters, Options, Session, SessionError};
use crate::url::Url;
use data_mover::{Device, DeviceError, Gate, Identity};
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::time::Duration;
use thiserror::Error;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// Choice of the path for the next command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// All paths in turn.
    #[default]
    RoundRobin,
    /// One path, until it is lost.
    OneActive,
}

/// Settings of all paths.
#[derive(Clone, Debug)]
pub struct MultipathOptions {
    /// Settings of each session. The ISIDs count up from its qualifier. Two devices with one
    /// initiator name must not share any ISID, since each login ends the earlier session of its
    /// ISID.
    pub session: Options,
    /// Choice of the path for the next command.
    pub policy: Policy,
    /// Pause between two tries to log in.
    pub login_pause: Duration,
    /// Time after which an idle path is checked.
    pub check_after: Duration,
    /// Time for which a command waits while all paths are down.
    pub patience: Duration,
}

impl Default for MultipathOptions {
    fn default() -> Self {
        Self {
            session: Options::default(),
            policy: Policy::default(),
            login_pause: Duration::from_millis(500),
            check_after: Duration::from_secs(5),
            patience: Duration::from_secs(60),
        }
    }
}

/// Reason why the multipath device could not be set up.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MultipathError {
    /// No URL was given.
    #[error("no path was given")]
    NoPath,
    /// No path came up; the error is that of the last one. Or a path failed in a way that a retry
    /// cannot repair.
    #[error("{url}: {error}")]
    Path {
        /// URL of the path.
        url: String,
        /// Error of the path.
        error: ProbeError,
    },
    /// A logical unit has no designator, so it cannot be compared with those of other paths.
    #[error(
        "{url} has neither an NAA nor an EUI designator: it cannot be matched with the logical unit of the other paths"
    )]
    NoDesignator {
        /// URL of the path.
        url: String,
    },
    /// Two paths lead to different logical units.
    #[error("{url} leads to {found}, but the paths before it to {expected}")]
    Different {
        /// URL of the path.
        url: String,
        /// Designator found there.
        found: String,
        /// Designator of the first path.
        expected: String,
    },
}

/// Status of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathStatus {
    /// URL without secrets.
    pub url: String,
    /// Reason why the path is down; `None` while it is up.
    pub down: Option<String>,
    /// Number of times it was lost.
    pub losses: u64,
    /// Counters over all its sessions.
    pub counters: Counters,
}

struct Path {
    url: Url,
    qualifier: u16,
    unit: RefCell<Result<Rc<LogicalUnit>, String>>,
    losses: Cell<u64>,
    /// Counters of its lost sessions.
    before: Cell<Counters>,
}

impl Path {
    fn up(&self) -> Option<Rc<LogicalUnit>> {
        self.unit.borrow().as_ref().ok().filter(|unit| unit.session().is_up()).cloned()
    }

    fn counters(&self) -> Counters {
        let now = self.unit.borrow().as_ref().map(|unit| unit.session().counters()).unwrap_or_default();
        add(self.before.get(), now)
    }
}

fn add(a: Counters, b: Counters) -> Counters {
    Counters {
        commands: a.commands + b.commands,
        sent_bytes: a.sent_bytes + b.sent_bytes,
        received_bytes: a.received_bytes + b.received_bytes,
    }
}

/// Holder of a reservation: a path, until its next loss.
#[derive(Clone, Copy)]
struct Reserved {
    index: usize,
    losses: u64,
}

struct Shared {
    options: MultipathOptions,
    identity: Identity,
    designator: String,
    paths: Vec<Path>,
    /// Index of the path used last.
    last: Cell<usize>,
    /// Path that holds a reservation: other paths would meet it as another host's.
    reserved: Cell<Option<Reserved>>,
    /// Notified when a path comes up or goes down.
    changed: Notify,
    /// Gates of all sessions, including later ones.
    gates: RefCell<Vec<Gate>>,
}

/// Multipath device. Clones are the same device; its sessions are closed with the last of them.
#[derive(Clone)]
pub struct Multipath {
    shared: Rc<Shared>,
    _keepers: Rc<Keepers>,
}

/// Tasks that keep the paths; aborted when dropped.
struct Keepers(Vec<JoinHandle<()>>);

impl Drop for Keepers {
    fn drop(&mut self) {
        for keeper in &self.0 {
            keeper.abort();
        }
    }
}

async fn open(url: &Url, qualifier: u16, options: &Options) -> Result<LogicalUnit, ProbeError> {
    let options = Options { qualifier, ..options.clone() };
    let session = Session::connect(url, &options).await?;
    LogicalUnit::find(&session, url.lun).await
}

/// Whether a retry may succeed: there was no answer, or answers stopped.
fn may_pass(error: &ProbeError) -> bool {
    match error {
        ProbeError::Session(SessionError::Login { .. }) => false,
        ProbeError::Session(_) | ProbeError::Command { .. } => true,
        ProbeError::NoDisk { .. }
        | ProbeError::BlockLength { .. }
        | ProbeError::Capacity { .. }
        | ProbeError::Malformed { .. } => false,
    }
}

impl Multipath {
    /// Logs in over all paths. A path without an answer is tried again in the background; at least
    /// one has to come up.
    ///
    /// Requires a `LocalSet` or a local runtime of tokio. Errors: a path is refused or leads to
    /// another logical unit.
    pub async fn connect(urls: &[Url], options: &MultipathOptions) -> Result<Self, MultipathError> {
        let mut found: Option<(Identity, String)> = None;
        let mut paths = Vec::with_capacity(urls.len());
        let mut last_error = MultipathError::NoPath;
        for (url, index) in urls.iter().zip(0..) {
            let qualifier = options.session.qualifier.wrapping_add(index);
            let unit = match open(url, qualifier, &options.session).await {
                Ok(unit) => {
                    let designator = unit.designator().map(str::to_owned);
                    let designator = match designator {
                        Some(designator) => designator,
                        None if urls.len() == 1 => String::new(),
                        None => return Err(MultipathError::NoDesignator { url: url.to_string() }),
                    };
                    let (_, expected) = found.get_or_insert_with(|| (unit.identity().clone(), designator.clone()));
                    if *expected != designator {
                        let (url, expected) = (url.to_string(), expected.clone());
                        return Err(MultipathError::Different { url, found: designator, expected });
                    }
                    Ok(Rc::new(unit))
                }
                Err(error) if may_pass(&error) => {
                    let reason = error.to_string();
                    last_error = MultipathError::Path { url: url.to_string(), error };
                    Err(reason)
                }
                Err(error) => return Err(MultipathError::Path { url: url.to_string(), error }),
            };
            paths.push(Path {
                url: url.clone(),
                qualifier,
                unit: RefCell::new(unit),
                losses: Cell::default(),
                before: Cell::default(),
            });
        }
        let Some((identity, designator)) = found else { return Err(last_error) };
        let count = paths.len();
        let shared = Rc::new(Shared {
            options: options.clone(),
            identity,
            designator,
            paths,
            last: Cell::new(count.saturating_sub(1)),
            reserved: Cell::default(),
            changed: Notify::new(),
            gates: RefCell::default(),
        });
        let keeper = |index| tokio::task::spawn_local(keep(Rc::downgrade(&shared), index));
        let keepers = Keepers((0..count).map(keeper).collect());
        Ok(Self { shared, _keepers: Rc::new(keepers) })
    }

    /// Status of the paths, in the order of their URLs.
    pub fn paths(&self) -> Vec<PathStatus> {
        let status = |path: &Path| PathStatus {
            url: path.url.to_string(),
            down: match (&*path.unit.borrow(), path.up()) {
                (_, Some(_)) => None,
                (Err(reason), None) => Some(reason.clone()),
                (Ok(_), None) => Some("the session was lost".into()),
            },
            losses: path.losses.get(),
            counters: path.counters(),
        };
        self.shared.paths.iter().map(status).collect()
    }

    /// Sum of the counters of all paths.
    pub fn counters(&self) -> Counters {
        self.shared.paths.iter().map(Path::counters).fold(Counters::default(), add)
    }

    /// Designator, `naa.6001…` or `eui.…`; empty for a single path to a unit that reports none.
    pub fn designator(&self) -> &str {
        &self.shared.designator
    }

    /// Cuts the session of a path, as a pulled cable does. False when there is no such path, or it
    /// is down.
    pub fn cut(&self, index: usize) -> bool {
        let unit = self.shared.paths.get(index).and_then(Path::up);
        unit.map(|unit| unit.session().cut()).is_some()
    }
}

impl Shared {
    /// Picks the path for the next command, among those that are up and not in `avoid`.
    fn pick(&self, avoid: &[usize]) -> Option<(usize, Rc<LogicalUnit>)> {
        let usable = |index: usize| Some((index, self.paths.get(index).filter(|_| !avoid.contains(&index))?.up()?));
        if let Some(Reserved { index, losses }) = self.reserved.get() {
            return usable(index).filter(|_| self.paths.get(index).is_some_and(|path| path.losses.get() == losses));
        }
        let count = self.paths.len();
        let last = self.last.get();
        let first = match self.options.policy {
            Policy::RoundRobin => last + 1,
            Policy::OneActive => last,
        };
        let found = (first..first + count).find_map(|index| usable(index % count));
        if let Some((index, _)) = &found {
            self.last.set(*index);
        }
        found
    }

    /// Like [`Self::pick`], but waits for a path to come up.
    async fn path(&self, avoid: &mut Vec<usize>, deadline: Instant) -> Result<(usize, Rc<LogicalUnit>), DeviceError> {
        loop {
            let changed = self.changed.notified();
            if let Some(found) = self.pick(avoid) {
                return Ok(found);
            }
            if self.reserved.take().is_some() {
                let reason = "the path that held the reservation is lost, and the reservation with it";
                return Err(DeviceError::Lost(reason.into()));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(DeviceError::Lost(self.all_down()));
            }
            // Paths to avoid get another chance after a pause, if no path comes up before.
            let pause = if avoid.is_empty() { left } else { left.min(self.options.login_pause) };
            let _timeout = timeout(pause, changed).await;
            avoid.clear();
        }
    }

    /// Binds all later commands to this path.
    fn hold_reservation(&self, index: usize) {
        let losses = self.paths.get(index).map_or(0, |path| path.losses.get());
        self.reserved.set(Some(Reserved { index, losses }));
    }

    fn all_down(&self) -> String {
        let reasons = self.paths.iter().map(|path| {
            let reason = path.unit.borrow().as_ref().err().cloned();
            format!("{}: {}", path.url, reason.unwrap_or_else(|| "not usable".into()))
        });
        let reasons = reasons.collect::<Vec<_>>().join("; ");
        format!("no path for {} s: {reasons}", self.options.patience.as_secs_f64())
    }
}

/// Keeps a path: notices the loss of its session, and logs in again.
async fn keep(shared: Weak<Shared>, index: usize) {
    loop {
        let Some((unit, check_after)) = shared.upgrade().and_then(|shared| {
            let unit = shared.paths.get(index)?.unit.borrow().as_ref().ok().cloned();
            Some((unit, shared.options.check_after))
        }) else {
            return;
        };
        match unit {
            Some(unit) => {
                let reason = watch(&unit, check_after).await;
                drop(unit);
                let Some(shared) = shared.upgrade() else { return };
                let Some(path) = shared.paths.get(index) else { return };
                path.before.set(path.counters());
                path.losses.set(path.losses.get() + 1);
                *path.unit.borrow_mut() = Err(reason.to_string());
                shared.changed.notify_waiters();
            }
            None => {
                let Some((url, qualifier, options)) = shared.upgrade().and_then(|shared| {
                    let path = shared.paths.get(index)?;
                    Some((path.url.clone(), path.qualifier, shared.options.clone()))
                }) else {
                    return;
                };
                // The same ISID: the array ends the remains of the earlier session (RFC 7143
                // §6.3.5).
                let opened = open(&url, qualifier, &options.session).await;
                let Some(shared) = shared.upgrade() else { return };
                let Some(path) = shared.paths.get(index) else { return };
                let unit = opened.map_err(|error| error.to_string()).and_then(|unit| shared.same(unit));
                let unit = unit.and_then(|unit| shared.gated(unit));
                let failed = unit.is_err();
                *path.unit.borrow_mut() = unit;
                shared.changed.notify_waiters();
                drop(shared);
                if failed {
                    sleep(options.login_pause).await;
                }
            }
        }
    }
}

impl Shared {
    /// Applies the gates of the device to a new session; errors if one is closed.
    fn gated(&self, unit: Rc<LogicalUnit>) -> Result<Rc<LogicalUnit>, String> {
        let gates = self.gates.borrow();
        if !gates.iter().all(|gate| gate()) {
            return Err(STOPPED.into());
        }
        for gate in gates.iter() {
            unit.only_while(gate.clone());
        }
        Ok(unit)
    }

    /// Checks that the unit is that of the other paths.
    fn same(&self, unit: LogicalUnit) -> Result<Rc<LogicalUnit>, String> {
        match unit.designator().unwrap_or_default() {
            found if found == self.designator => Ok(Rc::new(unit)),
            found => Err(format!("it is now another logical unit: {found}, expected {}", self.designator)),
        }
    }
}

/// Waits for the end of a session. Sends a command after idle periods, so that a silent path does
/// not count as up.
async fn watch(unit: &LogicalUnit, check_after: Duration) -> SessionError {
    loop {
        let before = unit.session().counters().commands;
        if let Ok(ended) = timeout(check_after, unit.session().ended()).await {
            return ended;
        }
        if unit.session().counters().commands == before {
            // Any answer will do. Without one the session ends, which the next iteration notices.
            let _answered = unit.is_ready().await;
        }
    }
}
