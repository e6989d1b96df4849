//! Channels, conditions and messages of an array.
//!
//! For each channel and condition, a [`Telling`] has the severity that the peer knows and the one that it was given
//! last. A message is planned when that is not the present one. Alerts that return within a few seconds have not
//! ended.

mod acknowledge;
mod channels;
mod deliver;
mod observe;
mod plan;
#[cfg(test)]
mod tests;

pub use deliver::Dispatch;

use crate::channel::ChannelRecord;
use crate::condition::{Condition, Telling};
use crate::ended::{EndedAlert, EndedKey};
use crate::notice::Delivery;
use api::NoticeState;
use jiff::{SignedDuration, Timestamp};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use uuid::Uuid;

/// Code of the alert that a channel does not work.
pub const NOTIFICATION_FAILING: &str = "notification-failing";
/// Time over which messages of a channel are counted.
const WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// A step of a change: one record as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Stores a channel.
    PutChannel(Box<ChannelRecord>),
    /// Removes a channel.
    RemoveChannel(Uuid),
    /// Stores a condition.
    PutCondition(Box<Condition>),
    /// Removes a condition.
    RemoveCondition(Uuid),
    /// Stores a message that waits.
    PutDelivery(Box<Delivery>),
    /// Stores an alert that has ended.
    PutEnded(Box<EndedAlert>),
    /// Removes an alert that has ended.
    RemoveEnded(EndedKey),
    /// Removes a message: it was sent, given up or replaced.
    RemoveDelivery(Uuid),
}

/// Message of a channel, by the time at which it was planned.
#[derive(Clone, Copy, Debug)]
struct Planned {
    at: Timestamp,
    is_digest: bool,
}

/// Everything that is known of notification.
#[derive(Debug, Default)]
pub struct Notices {
    channels: BTreeMap<Uuid, ChannelRecord>,
    conditions: BTreeMap<Uuid, Condition>,
    deliveries: BTreeMap<Uuid, Delivery>,
    /// Alerts that have ended.
    ended: BTreeMap<EndedKey, EndedAlert>,
    /// Messages that are being sent.
    in_flight: BTreeSet<Uuid>,
    /// Conditions that are absent from the list of alerts, each with the time since which it is.
    absent: BTreeMap<Uuid, Timestamp>,
    /// Tries of channels that failed since the start.
    failures: BTreeMap<Uuid, u64>,
    /// Messages of the last minute, by channel.
    recent: BTreeMap<Uuid, VecDeque<Planned>>,
}

impl Notices {
    /// Carries out a change, or one step of loading.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::PutChannel(channel) => {
                self.count_failure(&channel);
                self.channels.insert(channel.id, *channel);
            }
            Change::RemoveChannel(id) => {
                self.channels.remove(&id);
                self.recent.remove(&id);
                self.failures.remove(&id);
            }
            Change::PutCondition(condition) => drop(self.conditions.insert(condition.id, *condition)),
            Change::RemoveCondition(id) => {
                self.conditions.remove(&id);
                self.absent.remove(&id);
            }
            Change::PutEnded(ended) => drop(self.ended.insert(ended.key(), *ended)),
            Change::RemoveEnded(key) => drop(self.ended.remove(&key)),
            Change::PutDelivery(delivery) => self.put(*delivery),
            Change::RemoveDelivery(id) => {
                self.deliveries.remove(&id);
                self.in_flight.remove(&id);
            }
        }
    }

    /// Counts the result of a try, which the record of a channel has, if it is new and a failure.
    fn count_failure(&mut self, channel: &ChannelRecord) {
        let Some(before) = self.channels.get(&channel.id) else { return };
        let is_failure = channel.last.as_ref().is_some_and(|last| last.outcome == NoticeState::Failed);
        if is_failure && before.last != channel.last {
            let count = self.failures.entry(channel.id).or_default();
            *count = count.saturating_add(1);
        }
    }

    /// Tries of each channel that failed since the start, by name: messages and tests.
    pub fn failures(&self) -> Vec<(String, u64)> {
        let count = |of: &ChannelRecord| (of.name.clone(), self.failures.get(&of.id).copied().unwrap_or(0));
        self.channels.values().map(count).collect()
    }

    fn put(&mut self, delivery: Delivery) {
        let id = delivery.message.id;
        self.in_flight.remove(&id);
        let planned = Planned { at: delivery.message.time, is_digest: delivery.is_digest };
        let channel = delivery.channel;
        if self.deliveries.insert(id, delivery).is_none() {
            let recent = self.recent.entry(channel).or_default();
            recent.push_back(planned);
            let now = planned.at;
            recent.retain(|of| now.duration_since(of.at) < WINDOW);
        }
    }

    /// All records, for a store that has lost some.
    pub fn records(&self) -> Vec<Change> {
        let channels = self.channels.values().cloned().map(|of| Change::PutChannel(Box::new(of)));
        let conditions = self.conditions.values().cloned().map(|of| Change::PutCondition(Box::new(of)));
        let deliveries = self.deliveries.values().cloned().map(|of| Change::PutDelivery(Box::new(of)));
        let ended = self.ended.values().cloned().map(|of| Change::PutEnded(Box::new(of)));
        channels.chain(conditions).chain(deliveries).chain(ended).collect()
    }

    /// Alerts that have ended, the first end first.
    pub fn ended_alerts(&self) -> impl Iterator<Item = &EndedAlert> {
        self.ended.values()
    }

    /// What a channel knows of a condition.
    fn telling(condition: &Condition, channel: Uuid, now: Timestamp) -> Telling {
        condition.told.get(&channel).cloned().unwrap_or_else(|| Telling::nothing(now))
    }
}

/// Changed records of a step that concerns the same one several times.
#[derive(Default)]
struct Drafts {
    conditions: BTreeMap<Uuid, Condition>,
    deliveries: BTreeMap<Uuid, Option<Delivery>>,
}

impl Drafts {
    /// The condition as the step has left it.
    fn condition<'a>(&'a mut self, notices: &Notices, id: Uuid) -> Option<&'a mut Condition> {
        match self.conditions.entry(id) {
            Entry::Occupied(present) => Some(present.into_mut()),
            Entry::Vacant(place) => Some(place.insert(notices.conditions.get(&id)?.clone())),
        }
    }

    /// Changes of the step: only records that are different.
    fn changes(self, notices: &Notices) -> Vec<Change> {
        let is_new = |condition: &Condition| notices.conditions.get(&condition.id) != Some(condition);
        let conditions = self.conditions.into_values().filter(is_new);
        let mut changes: Vec<Change> = conditions.map(|of| Change::PutCondition(Box::new(of))).collect();
        changes.extend(self.deliveries.into_iter().map(|(id, delivery)| match delivery {
            Some(delivery) => Change::PutDelivery(Box::new(delivery)),
            None => Change::RemoveDelivery(id),
        }));
        changes
    }
}
