//! A condition: an alert from its beginning to its end, with what each channel was told of it.

use api::{NoticeState, Severity};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use uuid::{Builder, Uuid};

/// Active alert, as the array shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// Stable name of the condition.
    pub code: String,
    /// Name of the object concerned.
    pub subject: String,
    /// Severity.
    pub severity: Severity,
    /// Start of the condition.
    pub since: Timestamp,
    /// Text.
    pub message: String,
    /// Advice.
    pub help: String,
}

/// Identity of an alert: the same for each alert of this code and subject, on any array.
pub fn alert_id(code: &str, subject: &str) -> Uuid {
    let mut digest = Sha256::new();
    // A code has no NUL, so two pairs have different texts.
    for part in [code.as_bytes(), &[0], subject.as_bytes()] {
        digest.update(part);
    }
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(digest.finalize()).for_each(|(byte, of)| *byte = of);
    Builder::from_custom_bytes(bytes).into_uuid()
}

/// Acknowledgement: somebody knows of the alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acknowledged {
    /// Name of the user, token or process.
    pub by: String,
    /// Time of it.
    pub time: Timestamp,
    /// Note for others.
    pub note: String,
    /// Its end; absent: that of the alert.
    pub until: Option<Timestamp>,
}

/// What one channel knows of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Telling {
    /// Severity that the peer has accepted; absent: it does not know of the condition.
    pub known: Option<Severity>,
    /// Severity of the last message, whether it is accepted, waiting or failed; absent: there is none.
    pub given: Option<Severity>,
    /// True: the peer is told again, because an acknowledgement has ended in time.
    #[serde(default)]
    pub again: bool,
    /// Time of the state.
    pub time: Timestamp,
    /// State of the last message.
    pub outcome: NoticeState,
    /// The peer's own words, or what prevented the message.
    pub detail: String,
}

impl Telling {
    /// Nothing was told.
    pub(crate) fn nothing(now: Timestamp) -> Self {
        let (outcome, detail) = (NoticeState::Queued, String::new());
        Self { known: None, given: None, again: false, time: now, outcome, detail }
    }
}

/// Alert from its beginning until every channel knows of its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Identity.
    pub id: Uuid,
    /// Stable name.
    pub code: String,
    /// Name of the object concerned.
    pub subject: String,
    /// Severity.
    pub severity: Severity,
    /// Start.
    pub since: Timestamp,
    /// Text at the start, or at the last change of the severity.
    pub message: String,
    /// Advice.
    pub help: String,
    /// End; absent: it holds.
    pub ended: Option<Timestamp>,
    /// Acknowledgement.
    pub acknowledged: Option<Acknowledged>,
    /// What channels know of it.
    pub told: BTreeMap<Uuid, Telling>,
}

impl Condition {
    /// Condition of an alert that no channel knows.
    pub(crate) fn new(alert: &Alert) -> Self {
        Self {
            id: alert_id(&alert.code, &alert.subject),
            code: alert.code.clone(),
            subject: alert.subject.clone(),
            severity: alert.severity,
            since: alert.since,
            message: alert.message.clone(),
            help: alert.help.clone(),
            ended: None,
            acknowledged: None,
            told: BTreeMap::new(),
        }
    }

    /// Takes over what an alert says now.
    pub(crate) fn renew(&mut self, alert: &Alert) {
        self.severity = alert.severity;
        self.message.clone_from(&alert.message);
        self.help.clone_from(&alert.help);
        self.ended = None;
    }
}
