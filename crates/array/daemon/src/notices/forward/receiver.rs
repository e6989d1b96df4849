//! A receiver of the audit, and what it has got.

use super::Place;
use crate::audit::Audit;
use api::SyslogSettings;
use jiff::Timestamp;
use notification::{AuditLine, Sender};
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// Lines that are sent together.
const BATCH: usize = 256;
/// Wait after a failure; it doubles up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest wait after failures.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Time without success after which a receiver that has failed is an alert.
pub(super) const ALERT_AFTER: Duration = Duration::from_secs(60);
/// Time for which the last lines are offered to a receiver that its channel has left.
const FAREWELL: Duration = Duration::from_secs(3600);

/// A receiver.
pub(super) struct Receiver {
    /// Its channel.
    pub channel: Uuid,
    pub settings: SyslogSettings,
    /// Behind the last line that was sent.
    pub place: Place,
    /// Number of the last line that it gets, if its channel has left it.
    until: Option<u64>,
    /// Time at which its channel left it, or at which this array started afterwards.
    left: Option<Instant>,
    failing: Option<Failing>,
}

/// Failures of a receiver.
struct Failing {
    since: Instant,
    wait: Duration,
    until: Instant,
    /// Why the last try failed.
    reason: String,
}

/// Result of a look for lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Lines were sent; there may be more.
    Sent,
    /// It has all lines.
    Complete,
    /// Lines wait.
    Failed,
}

impl Receiver {
    pub(super) fn new(channel: Uuid, settings: SyslogSettings, place: Place, until: Option<u64>) -> Self {
        let left = until.map(|_| Instant::now());
        Self { channel, settings, place, until, left, failing: None }
    }

    /// Number of the last line that it gets; absent if its channel has not left it.
    pub(super) fn until(&self) -> Option<u64> {
        self.until
    }

    /// Its channel leaves it after a line.
    pub(super) fn leave(&mut self, last: u64) {
        (self.until, self.left) = (Some(last), Some(Instant::now()));
    }

    /// Its channel is back.
    pub(super) fn keep(&mut self) {
        (self.until, self.left) = (None, None);
    }

    /// Whether nothing more is sent to it.
    pub(super) fn is_over(&self) -> bool {
        let Some(until) = self.until else { return false };
        let is_lost = self.failing.is_some() && self.left.is_some_and(|left| left.elapsed() > FAREWELL);
        if is_lost && self.place.seq < until {
            tracing::warn!(
                server = self.settings.server,
                lines = until - self.place.seq,
                "a receiver that its channel has left did not get the last lines of the audit"
            );
        }
        is_lost || self.place.seq >= until
    }

    /// Why its lines have not been sent for long. A receiver that its channel has left is no concern.
    pub(super) fn failure(&self, now: Instant) -> Option<&str> {
        let failing = self.failing.as_ref().filter(|_| self.until.is_none())?;
        (now.saturating_duration_since(failing.since) >= ALERT_AFTER).then_some(&failing.reason)
    }

    /// Sends a batch of what it lacks.
    pub(super) async fn send(&mut self, audit: &Audit, sender: &Sender) -> Delivery {
        if self.failing.as_ref().is_some_and(|failing| Instant::now() < failing.until) {
            return Delivery::Failed;
        }
        let (mut lines, place) = match audit.after(self.place.clone(), BATCH).await {
            Ok(found) => found,
            Err(error) => return self.failed(format!("the audit cannot be read: {error:#}")),
        };
        lines.retain(|line| self.until.is_none_or(|until| line.seq <= until));
        // A channel that is enabled again continues behind its last line, not behind what was read.
        let place = match self.until {
            Some(until) if until < place.seq => Place::behind(until),
            _ => place,
        };
        let Some(first) = lines.first() else {
            self.place = place;
            return Delivery::Complete;
        };
        let gap = first.seq.saturating_sub(self.place.seq).saturating_sub(1);
        let note = (gap > 0).then(|| AuditLine {
            time: Timestamp::now(),
            text: format!("{gap} lines of the audit were removed before they could be forwarded"),
        });
        let lines = lines.into_iter().map(|line| AuditLine { time: line.time, text: line.text });
        let batch: Vec<AuditLine> = note.into_iter().chain(lines).collect();
        match notification::send_audit(&self.settings, &batch, sender).await {
            Ok(_) => {
                if self.failing.take().is_some() {
                    tracing::info!(server = self.settings.server, "the audit is forwarded again");
                }
                self.place = place;
                Delivery::Sent
            }
            Err(reason) => self.failed(reason),
        }
    }

    fn failed(&mut self, reason: String) -> Delivery {
        let now = Instant::now();
        let (since, wait) = match &self.failing {
            Some(failing) => (failing.since, (failing.wait * 2).min(LONGEST_WAIT)),
            None => {
                let server = &self.settings.server;
                tracing::warn!(server, reason, "the audit cannot be forwarded; it is tried again");
                (now, FIRST_WAIT)
            }
        };
        self.failing = Some(Failing { since, wait, until: now + wait, reason });
        Delivery::Failed
    }
}
