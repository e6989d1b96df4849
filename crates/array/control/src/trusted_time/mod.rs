//! Trusted time: the clock by which locks of snapshots end. It advances by monotonic time while the array runs, never
//! beyond the time of day, and never goes back. It stands still while the array is off: locks last that much longer.
//!
//! A clock that is set forward ends no lock: trusted time starts from the time that the pool keeps. While nothing is
//! locked, it is the time of day.

pub(crate) mod hour;
pub(crate) mod part;

use crate::control::Control;
use crate::error::ControlError;
use crate::events::Severity;
use crate::events::view::AlertView;
use crate::record::Document;
use jiff::{SignedDuration, Timestamp};
use part::TimeRecord;
use pool::CatalogChange;
use std::time::Duration;

/// Time between two writes of the document.
const SAVE_INTERVAL: Duration = Duration::from_secs(300);
/// Difference from the time of day above which there is an alert.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

impl Control {
    /// Trusted time.
    pub(crate) fn trusted_now(&self) -> Timestamp {
        self.trusted_time().now(&**self.environment())
    }

    /// End of a lock of so many seconds from now on, at a full hour.
    pub(crate) fn lock_end(&self, seconds: Option<u32>) -> Option<Timestamp> {
        let length = SignedDuration::from_secs(i64::from(seconds?));
        self.trusted_now().checked_add(length).ok().map(hour::full_hour)
    }

    /// Change that stores trusted time with the first lock.
    pub(crate) fn put_time(&self) -> Result<CatalogChange, ControlError> {
        let trusted = self.trusted_now();
        self.trusted_time().is_stored.set(true);
        TimeRecord { trusted }.put()
    }

    /// True if a snapshot is locked, in the trash or not.
    fn has_locks(&self) -> bool {
        let now = self.trusted_now();
        let directory = self.directory();
        directory.snapshots().any(|snapshot| snapshot.is_locked(now))
            || directory.trash().any(|item| item.lock(now).is_some())
    }

    /// Stores trusted time now and then while there are locks; deletes the document after the last one.
    pub(crate) async fn keep_time(&self, closed: bool) {
        let time = self.trusted_time();
        let now = self.environment().monotonic();
        let is_due = time.saved_at.get().is_none_or(|saved| now.saturating_sub(saved) >= SAVE_INTERVAL);
        if !(is_due || closed) || self.live().pool_stopped().is_some() {
            return;
        }
        // The first lock stores the document, too.
        let _changes = self.lock_changes().await;
        let record = TimeRecord { trusted: self.trusted_now() };
        let change = match (self.has_locks(), time.is_stored.get()) {
            (true, _) => record.put(),
            (false, true) => Ok(record.delete()),
            (false, false) => return time.saved_at.set(Some(now)),
        };
        // The next look tries again; until then, a restart makes locks last longer.
        let Ok(change) = change else { return };
        let is_stored = matches!(change, CatalogChange::PutDocument { .. });
        if self.catalog().commit(vec![change]).await.is_ok() {
            time.saved_at.set(Some(now));
            time.is_stored.set(is_stored);
        }
    }

    /// Alert for a time of day that locks do not follow.
    pub(crate) fn time_alert(&self) -> Option<AlertView> {
        if !self.trusted_time().is_stored.get() {
            return None;
        }
        let (trusted, now) = (self.trusted_now(), self.environment().now());
        if now.duration_since(trusted) <= AHEAD {
            return None;
        }
        Some(AlertView {
            code: "clock-ahead",
            severity: Severity::Warning,
            subject: self.pool().name().to_owned(),
            since: self.started(),
            message: format!("locks of snapshots go by {trusted:.0}: the clock is ahead of the time that has passed"),
            help: "locks end later by the difference; time for which the array was off does not count",
            note: None,
        })
    }
}
