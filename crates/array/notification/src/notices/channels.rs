//! Channels: create, change, delete, find.

use super::{Change, Drafts, Notices};
use crate::channel::{ChannelRecord, NewChannel};
use crate::error::ChannelError;
use api::{ChannelSet, NoticeState};
use identity::same_name;
use jiff::Timestamp;
use uuid::Uuid;

/// Largest number of channels.
const MAX_CHANNELS: usize = 16;

impl Notices {
    /// Channels, by name.
    pub fn channels(&self) -> Vec<&ChannelRecord> {
        let mut channels: Vec<&ChannelRecord> = self.channels.values().collect();
        channels.sort_by(|one, other| one.name.cmp(&other.name));
        channels
    }

    /// Channel by name or id.
    pub fn channel(&self, name_or_id: &str) -> Result<&ChannelRecord, ChannelError> {
        let by_name = self.channels.values().find(|channel| same_name(&channel.name, name_or_id));
        by_name
            .or_else(|| self.channels.get(&name_or_id.parse().ok()?))
            .ok_or_else(|| ChannelError::NoChannel { name: name_or_id.to_owned() })
    }

    /// Channel by id.
    pub fn channel_of(&self, id: Uuid) -> Option<&ChannelRecord> {
        self.channels.get(&id)
    }

    /// Number of messages of a channel that wait for a try.
    pub fn waiting(&self, channel: Uuid) -> usize {
        self.deliveries.values().filter(|delivery| delivery.channel == channel).count()
    }

    /// Channels whose last message could not be sent, by name.
    pub fn failing(&self) -> Vec<&ChannelRecord> {
        self.channels().into_iter().filter(|channel| channel.failing && channel.enabled).collect()
    }

    /// Plans a new channel.
    pub fn create_channel(&self, new: NewChannel, now: Timestamp) -> Result<Vec<Change>, ChannelError> {
        let channel = ChannelRecord::new(new, now)?;
        self.check_name(&channel)?;
        if self.channels.len() >= MAX_CHANNELS {
            return Err(ChannelError::TooMany { most: MAX_CHANNELS });
        }
        Ok(vec![Change::PutChannel(Box::new(channel))])
    }

    /// Plans a change of a channel. New settings deserve new tries: what failed or waits is tried with them.
    pub fn set_channel(&self, name_or_id: &str, set: ChannelSet, now: Timestamp) -> Result<Vec<Change>, ChannelError> {
        let present = self.channel(name_or_id)?;
        let mut channel = present.with(set)?;
        self.check_name(&channel)?;
        let mut drafts = Drafts::default();
        if !channel.enabled {
            self.withdraw(channel.id, &mut drafts, now);
        } else if channel.settings != present.settings {
            channel.failing = false;
            self.retry(channel.id, &mut drafts, now);
        }
        let mut changes = drafts.changes(self);
        changes.push(Change::PutChannel(Box::new(channel)));
        Ok(changes)
    }

    /// Plans the deletion of a channel, with its messages and with what it knows.
    pub fn delete_channel(&self, name_or_id: &str) -> Result<Vec<Change>, ChannelError> {
        let id = self.channel(name_or_id)?.id;
        let mut drafts = Drafts::default();
        for condition in self.conditions.values().filter(|condition| condition.told.contains_key(&id)) {
            if let Some(draft) = drafts.condition(self, condition.id) {
                draft.told.remove(&id);
            }
        }
        drafts.deliveries.extend(self.of_channel(id).map(|delivery| (delivery, None)));
        let mut changes = drafts.changes(self);
        changes.push(Change::RemoveChannel(id));
        Ok(changes)
    }

    fn check_name(&self, channel: &ChannelRecord) -> Result<(), ChannelError> {
        let is_taken = |other: &ChannelRecord| other.id != channel.id && same_name(&other.name, &channel.name);
        if self.channels.values().any(is_taken) {
            return Err(ChannelError::NameTaken { name: channel.name.clone() });
        }
        Ok(())
    }

    /// Ids of the messages of a channel.
    fn of_channel(&self, channel: Uuid) -> impl Iterator<Item = Uuid> {
        let of_it = self.deliveries.iter().filter(move |(_, delivery)| delivery.channel == channel);
        of_it.map(|(id, _)| *id)
    }

    /// Takes back what waits: it is planned again, as it is then, when the channel is in use again.
    fn withdraw(&self, channel: Uuid, drafts: &mut Drafts, now: Timestamp) {
        for condition in self.conditions.values() {
            let Some(draft) = drafts.condition(self, condition.id) else { continue };
            if let Some(telling) = draft.told.get_mut(&channel).filter(|of| of.given != of.known) {
                (telling.given, telling.time) = (telling.known, now);
            }
        }
        drafts.deliveries.extend(self.of_channel(channel).map(|id| (id, None)));
    }

    /// Makes messages due that wait, and plans those again that failed.
    pub(super) fn retry(&self, channel: Uuid, drafts: &mut Drafts, now: Timestamp) {
        for delivery in self.deliveries.values().filter(|delivery| delivery.channel == channel) {
            let id = delivery.message.id;
            if !self.in_flight.contains(&id) && !drafts.deliveries.contains_key(&id) {
                let due = crate::notice::Delivery { next: now, ..delivery.clone() };
                drafts.deliveries.insert(id, Some(due));
            }
        }
        for id in self.conditions.keys() {
            let Some(draft) = drafts.condition(self, *id) else { continue };
            if let Some(telling) = draft.told.get_mut(&channel).filter(|of| of.outcome == NoticeState::Failed) {
                telling.given = telling.known;
            }
        }
    }
}
