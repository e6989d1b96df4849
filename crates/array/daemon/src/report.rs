//! Conditions of the management plane, which the array shows as events and alerts.

use control::{ManagementCondition, ManagementReport};
use reactor::ArrayHandle;

/// Tells the array of a condition. `event`: what happened; absent: nothing new. `alert`: what holds; absent: the
/// alert ends.
pub(crate) async fn report(
    array: &ArrayHandle,
    condition: ManagementCondition,
    event: Option<String>,
    alert: Option<String>,
) {
    let what = match condition {
        ManagementCondition::SignInFailed => "a refused sign-in",
        ManagementCondition::AuditNotWritten => "the state of the audit",
        ManagementCondition::HistoryLimited
        | ManagementCondition::HistoryNotWritten
        | ManagementCondition::HistoryUnreadable => "the state of the history",
        ManagementCondition::PoolFullSoon => "the forecast of a pool",
        ManagementCondition::NotificationFailing => "the state of notification",
        ManagementCondition::CommandsSlow => "that commands are slow",
        ManagementCondition::AuditNotForwarded => "that the audit is not forwarded",
    };
    if let Err(error) = array.call(ManagementReport { condition, event, alert }).await {
        tracing::warn!(%error, "{what} could not be reported");
    }
}
