//! State of the trash in memory.

use super::record::TrashRecord;
use jiff::{SignedDuration, Timestamp};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// Least time for which this run keeps what an earlier one deleted, if the trash keeps it that long at all: a clock
/// that is wrong at the start may be set by then.
const LEAST: SignedDuration = SignedDuration::from_hours(1);

/// State of the trash that a restart rebuilds.
#[derive(Default)]
pub(crate) struct TrashTimes {
    /// For each object and time of deletion, the monotonic time before which it stays, whatever the time of day is.
    stays: RefCell<BTreeMap<(Uuid, Timestamp), Duration>>,
}

impl TrashTimes {
    /// Notes the object, if it is new; `now` and `elapsed` are the present time of day and monotonic time. True if
    /// its time is over by both.
    pub(super) fn is_over(&self, item: &TrashRecord, now: Timestamp, elapsed: Duration) -> bool {
        let mut stays = self.stays.borrow_mut();
        let until = stays.entry((item.what.id(), item.deleted)).or_insert_with(|| {
            let age = item.until.duration_since(item.deleted).max(SignedDuration::ZERO);
            let left = item.until.duration_since(now).clamp(LEAST.min(age), age);
            elapsed.saturating_add(left.unsigned_abs())
        });
        item.until <= now && *until <= elapsed
    }

    /// Forgets all objects that have left the trash.
    pub(super) fn retain(&self, is_there: impl Fn(Uuid, Timestamp) -> bool) {
        self.stays.borrow_mut().retain(|(id, deleted), _| is_there(*id, *deleted));
    }
}
