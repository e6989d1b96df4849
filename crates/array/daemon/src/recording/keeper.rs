//! The thread that owns the file.
//!
//! A file that cannot be read is moved aside, and a new one begins. redb panics on some damage. A panic on this
//! thread does not abort the process (`lifecycle::abort_on_panic`): nothing outside the store has seen its state,
//! and a damaged history must not take the hosts' storage away.

use super::Message;
use control::{ManagementCondition, ManagementReport};
use history::{Error, Observation, Store};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;

/// Name of the thread.
pub(crate) const THREAD: &str = "history";
/// Name of the file, in the state directory.
pub(crate) const FILE_NAME: &str = "history.redb";
/// Time between two writes.
const WRITE_INTERVAL: Duration = Duration::from_secs(60);
/// Time between two writes that are durable.
const SYNC_INTERVAL: Duration = Duration::from_secs(15 * 60);
/// Time for which a second damaged file in a row is left alone: it is the disk that is damaged.
const DAMAGE_INTERVAL: Duration = Duration::from_secs(3600);
/// Time for which the alert about the limit holds after the last page was removed.
const LIMIT_ALERT: Duration = Duration::from_secs(24 * 3600);

/// Owner of the file.
pub(super) struct Keeper {
    path: PathBuf,
    limit_bytes: u64,
    reports: mpsc::Sender<ManagementReport>,
    /// Open file, or the reason why there is none.
    store: Result<Store, String>,
    /// Entities of the units that exist, once they are known.
    existing: Option<BTreeSet<String>>,
    /// Last attempt to write or to open.
    written: Instant,
    synced: Instant,
    /// Last time that a file was damaged.
    damaged: Option<Instant>,
    /// Last time that pages were removed because of the limit.
    limited: Option<Instant>,
    /// True while the alert holds that the history is not written.
    is_alerted: bool,
}

fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

impl Keeper {
    pub fn new(path: PathBuf, limit_bytes: u64, reports: mpsc::Sender<ManagementReport>) -> Self {
        let now = Instant::now();
        Self {
            path,
            limit_bytes,
            reports,
            store: Err("it is being opened".to_owned()),
            existing: None,
            written: now,
            synced: now,
            damaged: None,
            limited: None,
            is_alerted: false,
        }
    }

    /// Records until it is told to stop, or until its owner has gone.
    pub fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        self.open();
        while let Some(message) = queue.blocking_recv() {
            match message {
                Message::Observe(observation, increments) => self.observe(&observation, &increments),
                Message::Exist(existing) => self.existing = Some(existing),
                Message::Look(look) => match &self.store {
                    Ok(store) => {
                        let seen = catch_unwind(AssertUnwindSafe(|| look(Ok(store))));
                        self.check(seen);
                    }
                    Err(reason) => drop(look(Err(reason))),
                },
                Message::Stop(stopped) => {
                    self.write(true);
                    drop(self.close(String::new()));
                    let _owner_gone = stopped.send(());
                    return;
                }
            }
        }
        self.write(true);
    }

    fn observe(&mut self, observation: &Observation, increments: &[(String, u64)]) {
        if let Ok(store) = &mut self.store {
            store.observe(observation);
            store.count(observation.unix_seconds, increments);
        }
        if self.written.elapsed() >= WRITE_INTERVAL {
            let is_open = self.store.is_ok();
            if is_open { self.write(self.synced.elapsed() >= SYNC_INTERVAL) } else { self.open() }
        }
    }

    /// Opens the file, or a new one if it cannot be read.
    fn open(&mut self) {
        for _ in 0..2 {
            self.written = Instant::now();
            let open = || Store::open(&self.path, self.limit_bytes, unix_seconds());
            match catch_unwind(AssertUnwindSafe(open)) {
                Ok(Ok(store)) => {
                    self.store = Ok(store);
                    self.synced = Instant::now();
                    return;
                }
                Ok(Err(error)) => self.check::<()>(Ok(Err(error))),
                Err(panic) => self.check::<()>(Err(panic)),
            }
            // Unless it was moved aside, another attempt fails as this one did.
            if self.path.exists() {
                return;
            }
        }
    }

    fn write(&mut self, synced: bool) {
        let Ok(store) = &mut self.store else { return };
        self.written = Instant::now();
        let existing = &self.existing;
        let exists = |entity: &str| existing.as_ref().is_none_or(|existing| existing.contains(entity));
        let written = catch_unwind(AssertUnwindSafe(|| store.flush(synced, exists)));
        let removed = match &written {
            Ok(Ok(flushed)) => Some(flushed.removed_by_limit),
            _ => None,
        };
        self.check(written);
        let Some(removed) = removed else { return };
        if synced {
            self.synced = Instant::now();
            self.note_limit(removed);
        }
        if std::mem::take(&mut self.is_alerted) {
            self.report(ManagementCondition::HistoryNotWritten, None, None);
        }
    }

    /// Deals with the failure of a step, if it is one.
    fn check<T>(&mut self, result: std::thread::Result<Result<T, Error>>) {
        let damage = match result {
            Ok(Ok(_)) => return,
            Ok(Err(Error::Unusable(reason))) => {
                self.alert(&reason);
                drop(self.close(reason));
                return;
            }
            Ok(Err(Error::Unreadable(reason))) => reason,
            Err(_panic) => "the file is damaged".to_owned(),
        };
        drop(self.close(damage.clone()));
        if self.damaged.is_some_and(|damaged| damaged.elapsed() < DAMAGE_INTERVAL) {
            self.alert(&format!("a new file was damaged within an hour, too: {damage}"));
            return;
        }
        self.damaged = Some(Instant::now());
        let aside = self.path.with_extension("redb.unreadable");
        let moved = std::fs::rename(&self.path, &aside);
        let (from, to) = (self.path.display(), aside.display());
        let message = match moved {
            Ok(()) => format!("{from} was not readable ({damage}) and is {to} now; a new history begins"),
            Err(error) => format!("{from} is not readable ({damage}), and cannot be moved to {to}: {error}"),
        };
        tracing::error!("{message}");
        self.report(ManagementCondition::HistoryUnreadable, Some(message), None);
    }

    /// Reports that the history is not written, until it is.
    fn alert(&mut self, reason: &str) {
        tracing::error!(path = %self.path.display(), reason, "the history cannot be written");
        let message = format!("the history cannot be written: {reason}");
        let event = (!self.is_alerted).then(|| message.clone());
        self.is_alerted = true;
        self.report(ManagementCondition::HistoryNotWritten, event, Some(message));
    }

    /// Closes the file. A panic at it is one more damage.
    fn close(&mut self, reason: String) -> std::thread::Result<()> {
        let store = std::mem::replace(&mut self.store, Err(reason));
        catch_unwind(AssertUnwindSafe(|| drop(store)))
    }

    /// Reports that values were removed because of the limit, and a day later that none are any more.
    fn note_limit(&mut self, removed: usize) {
        let condition = ManagementCondition::HistoryLimited;
        if removed > 0 {
            let message = format!(
                "the history has reached its limit of {} MiB: the oldest values of the volumes used least recently were \
                 removed",
                self.limit_bytes >> 20
            );
            let event = self.limited.is_none().then(|| message.clone());
            self.limited = Some(Instant::now());
            self.report(condition, event, Some(message));
        } else if self.limited.is_some_and(|limited| limited.elapsed() >= LIMIT_ALERT) {
            self.limited = None;
            self.report(condition, None, None);
        }
    }

    fn report(&self, condition: ManagementCondition, event: Option<String>, alert: Option<String>) {
        // Reports wait only while the array does not respond; it says so by itself.
        let _full = self.reports.try_send(ManagementReport { condition, event, alert });
    }
}
