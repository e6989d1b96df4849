//! The task that follows the alerts and sends messages.

use super::desk::{Desk, sender};
use super::shown::alerts;
use control::AlertList;
use jiff::Timestamp;
use notification::Dispatch;
use reactor::ArrayHandle;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use uuid::Uuid;

/// Time between two looks at the alerts.
const INTERVAL: Duration = Duration::from_secs(1);

/// Time that messages in flight have when the array stops. One that needs longer is sent again after the next start,
/// with the same identity.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Follows the alerts and sends messages, until `stopped` completes and the messages in flight have ended.
pub(crate) async fn run(desk: Arc<Desk>, array: ArrayHandle, stopped: impl Future<Output = ()>) {
    let mut stopped = std::pin::pin!(stopped);
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut sending = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut stopped => break,
            _ = ticks.tick() => {}
            () = desk.woken() => {}
            // One that has ended may let another one of its channel begin.
            Some(_) = sending.join_next() => {}
        }
        // Without the array there is nothing to tell of.
        let Ok(views) = array.read(AlertList).await else { continue };
        let alerts = alerts(views);
        desk.note(|notices| notices.observe(&alerts, Timestamp::now())).await;
        desk.note(|notices| notices.plan(Timestamp::now(), &mut Uuid::new_v4)).await;
        for dispatch in desk.take_due(Timestamp::now()) {
            sending.spawn(deliver(Arc::clone(&desk), array.clone(), dispatch));
        }
        desk.show(&array).await;
    }
    let rest = async { while sending.join_next().await.is_some() {} };
    let _cut_off = tokio::time::timeout(LAST_WAIT, rest).await;
}

/// Sends one message, and notes its result.
async fn deliver(desk: Arc<Desk>, array: ArrayHandle, dispatch: Dispatch) {
    let Dispatch { channel, message } = dispatch;
    let result = notification::send(&channel, &message, &sender(&array).await).await;
    if let Err(reason) = &result {
        tracing::warn!(channel = channel.name, reason, "a channel could not be told of an alert");
    }
    desk.note(|notices| notices.ended(message.id, &result, Timestamp::now())).await;
}
