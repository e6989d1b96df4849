//! Watch task: checks the array every second and raises events.

use crate::Control;
use crate::condition::BELOW_FULL;
use crate::environment::yield_now;
use crate::events::{Draft, Severity};
use std::time::Duration;

/// Time between two checks.
const INTERVAL: Duration = Duration::from_secs(1);

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
        self.take_incidents().await;
        self.check_thresholds().await;
        if self.events().is_due(&**self.environment()) {
            self.save_events(false).await;
        }
    }

    /// Raises an event when the file system or device below the pool becomes full, and when it has
    /// space again.
    fn look_below(&self) {
        let starved = self.catalog().space().starved;
        let (severity, code, message) = match (starved, self.events().starved_since.get()) {
            (true, None) => (Severity::Critical, "below-full", BELOW_FULL),
            (false, Some(_)) => {
                (Severity::Info, "below-has-room", "the file system or device below the pool has room again")
            }
            _ => return,
        };
        self.events().starved_since.set(starved.then(|| self.environment().now()));
        self.raise(Draft::new(severity, code, self.pool().name().to_owned(), message.to_owned()));
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
            self.save_events(true).await;
        }
    }
}
