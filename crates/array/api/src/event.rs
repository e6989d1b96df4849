//! Events: past changes. Alerts: conditions that need attention now.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// An event. The array keeps the newest ten thousand; the newest two hundred survive a restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Number of the event; later events have larger numbers, with gaps.
    pub id: u64,
    /// Time of the event.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// Severity of the event.
    pub severity: Severity,
    /// Stable name of the kind of event, such as `volume-created`.
    pub code: String,
    /// Name of the affected object.
    pub subject: String,
    /// Text for people.
    pub message: String,
}

/// Severity of an event or alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// For information.
    Info,
    /// Needs attention soon.
    Warning,
    /// Needs attention now.
    Critical,
}

/// A condition that needs attention, or has needed it: an alert has ended when the condition has not held for 15
/// seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    /// Identity: of the condition and its subject, always the same for both.
    pub id: Uuid,
    /// Stable name of the condition, such as `pool-threshold`.
    pub code: String,
    /// Severity of the condition.
    pub severity: Severity,
    /// Name of the affected pool or volume.
    pub subject: String,
    /// Start of the condition.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// Text for people.
    pub message: String,
    /// Recommended action in terms of the resources.
    pub help: String,
    /// Acknowledgement; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acknowledged: Option<Acknowledgement>,
    /// Channels that were told of it, or are to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<Told>,
    /// End of the condition; absent: it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended: Option<Timestamp>,
}

/// State of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlertState {
    /// It holds, and nobody has acknowledged it.
    Active,
    /// It holds, and somebody has acknowledged it.
    Acknowledged,
    /// It has ended. The array keeps the last 1 000 of 30 days.
    Ended,
}

/// Filter of the list of alerts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AlertFilter {
    /// Only alerts in this state; absent: those that hold, acknowledged or not.
    #[param(inline)]
    pub state: Option<AlertState>,
}

/// Acknowledgement of an alert: somebody knows of it, and it is not sent again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Acknowledgement {
    /// Name of the user, token or process.
    pub by: String,
    /// Time of the acknowledgement.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// Note for others; may be empty.
    pub note: String,
    /// Time at which it ends; absent: with the alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// Request to acknowledge an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AlertAcknowledge {
    /// Note for others, at most 500 characters.
    #[serde(default)]
    pub note: String,
    /// Time at which the acknowledgement ends, if the alert has not ended before; absent: with the alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}

/// State of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeState {
    /// To be sent, or tried again.
    Queued,
    /// The peer has accepted it.
    Sent,
    /// It could not be sent in three tries.
    Failed,
    /// It waits for the end of quiet hours.
    Quiet,
}

/// Whether a channel was told of an alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Told {
    /// Name of the channel.
    pub channel: String,
    /// Time of the state.
    #[schema(value_type = String, format = DateTime)]
    pub time: Timestamp,
    /// State of the message.
    pub outcome: NoticeState,
    /// The peer's own words, or what prevented the message.
    pub detail: String,
}

/// Filter of the list of events: those that match every parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventFilter {
    /// Number of an event: the list then has the oldest events after it. Without it, the list has
    /// the newest events.
    pub since: Option<u64>,
    /// Only events of this severity or a worse one.
    #[param(inline)]
    pub severity: Option<Severity>,
    /// Only events of this kind, such as `pool-full`.
    pub code: Option<String>,
    /// Only events about the object with this name; the events of a volume include those of its
    /// snapshots.
    pub subject: Option<String>,
    /// Only events at this time or later.
    #[param(value_type = Option<String>, format = DateTime)]
    pub from: Option<Timestamp>,
    /// Only events before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
}
