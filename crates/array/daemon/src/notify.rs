//! Notifications to systemd (sd_notify(3)); without systemd they have no effect.

use reactor::ArrayHandle;
use sd_notify::NotifyState;
use std::time::Duration;

/// Notifies that the array serves.
pub(crate) fn ready(status: &str) {
    send(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Notifies that the array is stopping.
pub(crate) fn stopping() {
    send(&[NotifyState::Stopping]);
}

/// Feeds the watchdog as long as the reactor answers. Returns at once without a watchdog.
pub(crate) async fn feed_watchdog(array: ArrayHandle) {
    let Some(deadline) = sd_notify::watchdog_enabled() else { return };
    let mut ticks = tokio::time::interval((deadline / 3).max(Duration::from_millis(100)));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match array.ping().await {
            Ok(()) => send(&[NotifyState::Watchdog]),
            Err(error) => tracing::warn!(%error, "the reactor did not answer the watchdog"),
        }
    }
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "systemd could not be notified");
    }
}
