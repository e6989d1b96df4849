//! Space of the trash for hosts: before a write is refused for lack of space, the oldest in the
//! trash is deleted for good, one after the other.
//!
//! While the trash has something, the pool lets such a write wait, and says so. Each look deletes
//! one object; the write fails when nothing is left, or when the trash cannot be emptied now.

use crate::control::Control;
use crate::environment::yield_now;
use crate::events::{Draft, Severity};
use std::time::Duration;

/// Time between two looks while the trash has something.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time between two looks while it is empty.
const EMPTY_INTERVAL: Duration = Duration::from_secs(1);
/// Number of looks after which a write fails while a request holds the lock on changes: that request
/// may itself wait for space.
const MOST_HELD: u32 = 10;

impl Control {
    /// Deletes what is in the trash when hosts need its space. Never ends.
    pub(crate) async fn yield_trash(&self) {
        let mut held = 0;
        loop {
            let is_empty = self.directory().trash().next().is_none();
            self.look_for_wanted_space(&mut held).await;
            self.environment().sleep(if is_empty { EMPTY_INTERVAL } else { INTERVAL }).await;
            yield_now().await;
        }
    }

    /// Looks once. `held`: number of looks in a row that found the lock on changes held.
    pub(crate) async fn look_for_wanted_space(&self, held: &mut u32) {
        let has_any = || self.has_free_trash();
        let is_wanted = self.catalog().take_space_wanted();
        if !is_wanted && *held == 0 {
            return self.catalog().offer_space(has_any());
        }
        let Some(changes) = self.try_lock_changes() else {
            *held = MOST_HELD.min(*held + 1);
            return self.catalog().offer_space(*held < MOST_HELD && has_any());
        };
        let has_waited = std::mem::take(held);
        if !is_wanted && has_waited == MOST_HELD {
            return self.catalog().offer_space(has_any());
        }
        let mut is_offered = false;
        if let Some(item) = self.oldest_trash(|_| true, 1).first() {
            let deleted = self.delete_for_good(item).await;
            is_offered = deleted.is_ok() && has_any();
            if let Ok(Some(name)) = deleted {
                let message =
                    format!("{} {name} deleted for good before its time: hosts need its space", item.what.noun());
                self.raise(Draft::new(Severity::Warning, "trash-emptied", name, message));
            }
        }
        drop(changes);
        self.catalog().offer_space(is_offered);
    }
}
