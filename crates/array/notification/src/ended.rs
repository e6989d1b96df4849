//! Alerts that have ended: kept for 30 days, and at most 1000 of them.

use crate::condition::{Acknowledged, Condition};
use api::{NoticeState, Severity};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Time for which they are kept.
const KEPT: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Largest number of them.
const MOST: usize = 1000;

/// What a channel had been told when an alert ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldBefore {
    /// Name of the channel then.
    pub channel: String,
    /// Time of the state.
    pub time: Timestamp,
    /// State of the last message.
    pub outcome: NoticeState,
    /// The peer's own words, or what prevented the message.
    pub detail: String,
}

/// Alert that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedAlert {
    /// Identity of condition and subject: one that returned has several ends.
    pub alert: Uuid,
    /// Stable name.
    pub code: String,
    /// Name of the object concerned.
    pub subject: String,
    /// Last severity.
    pub severity: Severity,
    /// Start.
    pub since: Timestamp,
    /// End.
    pub ended: Timestamp,
    /// Text at the start, or at the last change of the severity.
    pub message: String,
    /// Advice.
    pub help: String,
    /// Acknowledgement at the end.
    pub acknowledged: Option<Acknowledged>,
    /// Channels that had been told of it.
    pub told: Vec<ToldBefore>,
}

/// Order of ends: the earliest first.
pub type EndedKey = (Timestamp, Uuid);

impl EndedAlert {
    /// A condition that ends now. `name_of`: names of channels that exist.
    pub(crate) fn of(condition: &Condition, now: Timestamp, name_of: impl Fn(Uuid) -> Option<String>) -> Self {
        let told = condition.told.iter().filter_map(|(channel, telling)| {
            let (time, outcome, detail) = (telling.time, telling.outcome, telling.detail.clone());
            Some(ToldBefore { channel: name_of(*channel)?, time, outcome, detail })
        });
        let mut told: Vec<ToldBefore> = told.collect();
        told.sort_by(|one, other| one.channel.cmp(&other.channel));
        Self {
            alert: condition.id,
            code: condition.code.clone(),
            subject: condition.subject.clone(),
            severity: condition.severity,
            since: condition.since,
            ended: now,
            message: condition.message.clone(),
            help: condition.help.clone(),
            acknowledged: condition.acknowledged.clone(),
            told,
        }
    }

    /// Place in the order of ends.
    pub fn key(&self) -> EndedKey {
        (self.ended, self.alert)
    }
}

/// Ends that are kept no longer: those that are too old, and the oldest of those that are too many with `more`
/// further ones.
pub(crate) fn outlived(
    ended: &BTreeMap<EndedKey, EndedAlert>,
    more: usize,
    now: Timestamp,
) -> impl Iterator<Item = EndedKey> {
    let surplus = (ended.len() + more).saturating_sub(MOST);
    let is_old = move |(time, _): &EndedKey| now.duration_since(*time) > KEPT;
    ended.keys().copied().enumerate().take_while(move |(at, key)| *at < surplus || is_old(key)).map(|(_, key)| key)
}
