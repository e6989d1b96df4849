//! Document and state of trusted time.

use crate::catalog::DynCatalog;
use crate::environment::Environment;
use crate::error::ControlError;
use crate::record::{Document, load};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::time::Duration;

/// Part of the elapsed time that is added, since the clock that measures it may be slow.
const SLOW: u32 = 100;

/// Kept trusted time. The pool has the document while it has a locked snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TimeRecord {
    /// Trusted time at the last write.
    pub(super) trusted: Timestamp,
}

impl Document for TimeRecord {
    const PREFIX: &'static str = "time";
    fn key(&self) -> String {
        Self::PREFIX.to_owned()
    }
}

/// Trusted time of this run.
pub(crate) struct TrustedTime {
    /// Trusted time at the start, or when the first lock began.
    kept: Cell<Timestamp>,
    /// Monotonic time then.
    since: Cell<Duration>,
    /// Last value, which no later one precedes.
    last: Cell<Timestamp>,
    pub(super) saved_at: Cell<Option<Duration>>,
    /// True while the pool has the document, and a snapshot may be locked.
    pub(super) is_stored: Cell<bool>,
}

impl TrustedTime {
    /// Reads the document; without one, the time of day is trusted until there is a lock.
    pub fn load(catalog: &dyn DynCatalog, environment: &dyn Environment) -> Result<Self, ControlError> {
        let record = load::<TimeRecord>(catalog)?.pop();
        let is_stored = Cell::new(record.is_some());
        let kept = record.map_or_else(|| environment.now(), |record| record.trusted);
        let (last, saved_at, since) = (Cell::new(kept), Cell::new(None), Cell::new(environment.monotonic()));
        Ok(Self { kept: Cell::new(kept), since, last, saved_at, is_stored })
    }

    /// Present trusted time: the time of day while there is no lock.
    pub fn now(&self, environment: &dyn Environment) -> Timestamp {
        if !self.is_stored.get() {
            let now = environment.now();
            self.kept.set(now);
            self.since.set(environment.monotonic());
            self.last.set(now);
            return now;
        }
        let elapsed = environment.monotonic().saturating_sub(self.since.get());
        let elapsed = SignedDuration::try_from(elapsed + elapsed / SLOW).unwrap_or(SignedDuration::MAX);
        let passed = self.kept.get().saturating_add(elapsed).unwrap_or(Timestamp::MAX);
        let now = passed.min(environment.now()).max(self.last.get());
        self.last.set(now);
        now
    }
}
