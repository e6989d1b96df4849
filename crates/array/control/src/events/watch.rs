//! Watch task: checks the array every second and raises events.

use crate::condition::BELOW_FULL;
use crate::control::Control;
use crate::environment::yield_now;
use crate::events::{Draft, Severity};
use std::time::Duration;

/// Time between two checks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Shortest time between two events about refused logins: a host that tries again and again must
/// not push other events out.
pub(super) const REFUSALS_INTERVAL: Duration = Duration::from_secs(600);

impl Control {
    /// Checks thresholds, incidents and the pool every second.
    pub(crate) async fn watch(&self) {
        loop {
            self.look().await;
            self.environment().sleep(INTERVAL).await;
            yield_now().await;
        }
    }

    /// Performs one check.
    pub(crate) async fn look(&self) {
        if let Some(reason) = self.live().pool_stopped()
            && !self.events().stop_reported.replace(true)
        {
            let message = format!("the pool stopped after a media error: {reason}");
            self.raise(Draft::new(Severity::Critical, "pool-stopped", self.pool().name().to_owned(), message));
        }
        self.look_below();
        self.record_portals().await;
        self.report_refused_logins();
        self.watch_paths();
        self.watch_limits();
        self.take_incidents().await;
        self.run_schedules().await;
        self.retire_snapshots().await;
        self.empty_expired_trash().await;
        self.keep_time(false).await;
        self.check_thresholds().await;
        if self.events().is_due(&**self.environment()) {
            self.save_events(false).await;
        }
    }

    /// Raises an event when the file system or device below the pool becomes full, and when it has
    /// space again.
    fn look_below(&self) {
        let full_below = self.catalog().space().full_below;
        let (severity, code, message) = match (full_below, self.events().full_below_since.get()) {
            (true, None) => (Severity::Critical, "below-full", BELOW_FULL),
            (false, Some(_)) => {
                (Severity::Info, "below-has-room", "the file system or device below the pool has room again")
            }
            _ => return,
        };
        self.events().full_below_since.set(full_below.then(|| self.environment().now()));
        self.raise(Draft::new(severity, code, self.pool().name().to_owned(), message.to_owned()));
    }

    /// Raises an event for the logins that were refused since the last one, once in a while.
    pub(crate) fn report_refused_logins(&self) {
        let now = self.environment().monotonic();
        let last = self.events().refusals_reported.get();
        if last.is_some_and(|last| now.saturating_sub(last) < REFUSALS_INTERVAL) {
            return;
        }
        let Some(refused) = self.live().take_refused_logins() else {
            self.events().refused_often.borrow_mut().report(0, "", self.environment().now());
            return;
        };
        self.events().refusals_reported.set(Some(now));
        let example = format!("{} from {}: {}", refused.initiator, refused.peer.ip(), refused.reason);
        self.events().refused_often.borrow_mut().report(refused.count, &example, self.environment().now());
        let mut message =
            format!("login of {} from {} refused: {}", refused.initiator, refused.peer.ip(), refused.reason);
        if refused.count > 1 {
            message += &format!("; {} logins were refused since the last such event", refused.count);
        }
        self.raise(Draft::new(Severity::Warning, "login-refused", refused.initiator, message));
    }

    /// Adds an event.
    pub(crate) fn raise(&self, draft: Draft) {
        self.events().add(&**self.environment(), draft);
    }

    /// Writes the document of events. On failure the events stay in memory, and the next check
    /// retries.
    pub(crate) async fn save_events(&self, closed: bool) {
        let next = self.events().next();
        let mut changes = vec![self.events().put(closed)];
        if closed {
            changes.extend(self.jobs_to_keep());
        }
        if self.catalog().commit(changes).await.is_ok() {
            self.events().saved(&**self.environment(), next);
        }
    }

    /// Stores the state of jobs and the events before the array stops. No request may follow.
    pub async fn close(&self) {
        if self.live().pool_stopped().is_none() {
            self.raise(Draft::new(Severity::Info, "array-stopped", "array", "the array stopped"));
            self.keep_time(true).await;
            self.save_events(true).await;
        }
    }
}
