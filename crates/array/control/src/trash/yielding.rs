//! Space for hosts: before a write is refused for lack of space, the oldest in the trash is deleted for good, one after
//! the other, and then the oldest snapshots of schedules that are neither pinned nor locked.
//!
//! While there is something of these, the pool lets such a write wait, and says so. Each look deletes one object of the
//! trash, or a few snapshots; the write fails when nothing is left, or when nothing can be deleted now.

use crate::control::Control;
use crate::environment::yield_now;
use crate::events::{Draft, Severity};
use std::time::Duration;

/// Time between two looks while there is something to delete.
const INTERVAL: Duration = Duration::from_millis(100);
/// Time between two looks while there is nothing.
const EMPTY_INTERVAL: Duration = Duration::from_secs(1);
/// Number of looks after which a write fails while a request holds the lock on changes: that request
/// may itself wait for space.
const MOST_HELD: u32 = 10;

impl Control {
    /// Deletes what is in the trash, and snapshots of schedules, when hosts need the space. Never ends.
    pub(crate) async fn yield_trash(&self) {
        let mut held = 0;
        loop {
            self.look_for_wanted_space(&mut held).await;
            self.environment().sleep(if self.has_space_for_hosts() { INTERVAL } else { EMPTY_INTERVAL }).await;
            yield_now().await;
        }
    }

    /// True if there may be something to delete for hosts. Whether snapshots of schedules are pinned or locked shows
    /// only when their space is wanted: there may be many.
    pub(super) fn has_space_for_hosts(&self) -> bool {
        self.has_free_trash() || self.directory().scheduled_snapshots().next().is_some()
    }

    /// Looks once. `held`: number of looks in a row that found the lock on changes held.
    pub(crate) async fn look_for_wanted_space(&self, held: &mut u32) {
        let has_any = || self.has_space_for_hosts();
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
        let is_offered = match self.oldest_trash(|_| true, 1).first() {
            Some(item) => {
                let deleted = self.delete_for_good(item).await;
                if let Ok(Some(name)) = &deleted {
                    let message =
                        format!("{} {name} deleted for good before its time: hosts need its space", item.what.noun());
                    self.raise(Draft::new(Severity::Warning, "trash-emptied", name.clone(), message));
                }
                deleted.is_ok() && has_any()
            }
            None => self.give_up_snapshots().await.unwrap_or(false) && has_any(),
        };
        drop(changes);
        self.catalog().offer_space(is_offered);
    }
}
