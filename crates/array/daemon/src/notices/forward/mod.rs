//! Forwards the audit to syslog channels that want it. What each receiver has got is kept in a file, so that no line is
//! lost while a receiver or the array is away: the files of the audit are the queue. Lines that were removed from them
//! before they could be sent are counted in a message of their own.
//!
//! A channel that is deleted, disabled or sent elsewhere still delivers to its old receiver what was written up to
//! then, the record of that change among it. A channel that is enabled again continues where it stopped.

mod receiver;
mod state;

use super::desk::{Desk, sender};
use crate::audit::{Audit, Place};
use crate::report::report;
use api::{ChannelSettings, SyslogSettings};
use control::ManagementCondition;
use reactor::ArrayHandle;
use reactor::state_files::write_private;
use receiver::Delivery;
use state::State;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// Name of the file of the state, in the state directory.
const FILE_NAME: &str = "audit-forwarded.json";
/// Time between two looks for new lines.
const INTERVAL: Duration = Duration::from_secs(1);

/// What forwarding knows.
pub(crate) struct Forward {
    desk: Arc<Desk>,
    audit: Audit,
    array: ArrayHandle,
    path: PathBuf,
    state: State,
    /// Number of lines that had been written when all receivers had all.
    done: Option<u64>,
    /// Text of the present alert.
    alert: Option<String>,
}

/// Channels as forwarding sees them.
struct Channels {
    /// All that exist.
    all: BTreeSet<Uuid>,
    /// Those that want the audit.
    wanting: BTreeMap<Uuid, SyslogSettings>,
}

impl Forward {
    pub(crate) fn new(desk: Arc<Desk>, audit: Audit, array: ArrayHandle, state_dir: &Path) -> Self {
        let path = state_dir.join(FILE_NAME);
        Self { desk, audit, array, path, state: State::default(), done: None, alert: None }
    }

    /// Forwards until it is aborted.
    pub(crate) async fn run(mut self) {
        match state::read(&self.path) {
            Ok(state) => self.state = state,
            Err(error) => {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "what was forwarded of the audit is not known: it begins anew"
                );
            }
        }
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.turn().await;
            self.report(Instant::now()).await;
        }
    }

    /// Reports receivers that have failed for long, and that none does any more.
    async fn report(&mut self, now: Instant) {
        let failures = self.state.receivers.iter().filter_map(|receiver| receiver.failure(now));
        let failures: Vec<&str> = failures.collect();
        let alert = (!failures.is_empty()).then(|| format!("the audit is not forwarded: {}", failures.join("; ")));
        if alert != self.alert {
            let event = alert.clone().filter(|_| self.alert.is_none());
            report(&self.array, ManagementCondition::AuditNotForwarded, event, alert.clone()).await;
            self.alert = alert;
        }
    }

    fn channels(&self) -> Channels {
        self.desk.see(|notices| {
            let channels = notices.channels();
            let wanting = channels.iter().filter_map(|channel| match &channel.settings {
                ChannelSettings::Syslog(settings) if settings.audit && channel.enabled => {
                    Some((channel.id, settings.clone()))
                }
                _ => None,
            });
            Channels { wanting: wanting.collect(), all: channels.iter().map(|channel| channel.id).collect() }
        })
    }

    /// Sends to each receiver what it lacks, a batch at a time.
    pub(super) async fn turn(&mut self) {
        // Channels that could not be read are not channels that were deleted.
        if self.desk.trouble().await.is_some() {
            return;
        }
        let channels = self.channels();
        let mut is_changed = false;
        if !self.state.agrees(&channels) {
            match self.audit.last().await {
                Ok(last) => self.state.follow(channels, last),
                Err(error) => {
                    let error = format!("{error:#}");
                    tracing::warn!(error, "the audit cannot be read, and is not forwarded");
                    return;
                }
            }
            is_changed = true;
        }
        let written = self.audit.written();
        if !is_changed && (self.state.receivers.is_empty() || self.done == Some(written)) {
            return;
        }
        let sender = sender(&self.array).await;
        let deliveries = self.state.receivers.iter_mut().map(|receiver| receiver.send(&self.audit, &sender));
        let deliveries = futures_util::future::join_all(deliveries).await;
        is_changed |= deliveries.contains(&Delivery::Sent);
        is_changed |= self.state.take_leave();
        if is_changed && let Err(error) = self.store().await {
            tracing::warn!(error = format!("{error:#}"), "what was forwarded of the audit could not be stored");
        }
        self.done = deliveries.iter().all(|delivery| *delivery == Delivery::Complete).then_some(written);
    }

    async fn store(&self) -> anyhow::Result<()> {
        let (path, text) = (self.path.clone(), self.state.text()?);
        tokio::task::spawn_blocking(move || write_private(&path, &text)).await?
    }
}

#[cfg(test)]
mod tests;
