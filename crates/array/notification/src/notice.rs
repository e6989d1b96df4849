//! Messages to channels.

use api::Severity;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What a notice tells of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It holds.
    Raised,
    /// Its severity is another.
    Changed,
    /// It has ended.
    Cleared,
}

impl Kind {
    /// Word of the kind.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raised => "raised",
            Self::Changed => "changed",
            Self::Cleared => "cleared",
        }
    }
}

/// News of one alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What it tells.
    pub kind: Kind,
    /// Identity of the alert.
    pub alert: Uuid,
    /// Stable name of the condition.
    pub code: String,
    /// Name of the object concerned.
    pub subject: String,
    /// Severity; of an alert that has ended, the last one.
    pub severity: Severity,
    /// Start of the condition.
    pub since: Timestamp,
    /// End of the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    /// Text.
    pub message: String,
    /// Advice.
    pub help: String,
}

/// Message as a channel sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Identity, the same at each try: a receiver can recognise a repetition after a crash.
    pub id: Uuid,
    /// Time at which it was written.
    pub time: Timestamp,
    /// True: a test of the channel, without notices.
    #[serde(default)]
    pub is_test: bool,
    /// Its notices: one, or those of a digest.
    pub notices: Vec<Notice>,
    /// Number of further notices for which a digest has no room.
    pub left_out: usize,
}

/// Alert of which a message tells, and the severity that the peer knows after it; absent: it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// Id of the alert.
    pub alert: Uuid,
    /// Severity that the peer knows then.
    pub severity: Option<Severity>,
}

/// Message that waits for its next try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Channel.
    pub channel: Uuid,
    /// The message.
    pub message: Message,
    /// All alerts of which it tells, also those left out.
    pub covered: Vec<Covered>,
    /// True: it stands for several messages.
    pub is_digest: bool,
    /// Number of tries that failed.
    pub tries: u8,
    /// Time of the next try.
    pub next: Timestamp,
}

impl Delivery {
    /// Identity: that of its message.
    pub const fn id(&self) -> Uuid {
        self.message.id
    }
}

/// A line of the audit, or a note about lines that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// Time of the line.
    pub time: Timestamp,
    /// Text, without a line break.
    pub text: String,
}
