//! Tries of messages, and their results.

use super::{Change, Drafts, Notices};
use crate::channel::ChannelRecord;
use crate::condition::Telling;
use crate::notice::{Delivery, Message};
use api::{ChannelOutcome, NoticeState};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Waits after the first and second try that failed. With the limits of time of three tries they last ten minutes.
const WAITS: [SignedDuration; 2] = [SignedDuration::from_secs(120), SignedDuration::from_secs(390)];

/// Message to be sent now.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Channel with its secrets.
    pub channel: ChannelRecord,
    /// The message.
    pub message: Message,
}

impl Notices {
    /// Messages to be sent now, at most one of a channel, in the order in which they were planned. They are in flight
    /// until [`Self::ended`].
    pub fn take_due(&mut self, now: Timestamp) -> Vec<Dispatch> {
        let busy = self.in_flight.iter().filter_map(|id| self.deliveries.get(id)).map(|delivery| delivery.channel);
        let mut busy: BTreeSet<Uuid> = busy.collect();
        // A wait longer than any of ours is that of a clock that was set back.
        let longest = WAITS.into_iter().max().unwrap_or(SignedDuration::ZERO);
        let is_due = |delivery: &&Delivery| delivery.next <= now || delivery.next.duration_since(now) > longest;
        let mut due: Vec<&Delivery> = self.deliveries.values().filter(is_due).collect();
        due.sort_by_key(|delivery| (delivery.next, delivery.message.time, delivery.message.id));
        let mut dispatches = Vec::new();
        for delivery in due {
            let Some(channel) = self.channels.get(&delivery.channel).filter(|channel| channel.enabled) else {
                continue;
            };
            if busy.insert(channel.id) {
                dispatches.push(Dispatch { channel: channel.clone(), message: delivery.message.clone() });
            }
        }
        self.in_flight.extend(dispatches.iter().map(|dispatch| dispatch.message.id));
        dispatches
    }

    /// Plans what follows from the end of a try. `result`: the peer's words, or the reason for the failure.
    pub fn ended(&self, message: Uuid, result: &Result<String, String>, now: Timestamp) -> Vec<Change> {
        // Its channel was deleted or disabled meanwhile.
        let Some(delivery) = self.deliveries.get(&message) else { return Vec::new() };
        let mut drafts = Drafts::default();
        let (tries, is_sent) = (delivery.tries.saturating_add(1), result.is_ok());
        let (Ok(detail) | Err(detail)) = result;
        let wait = WAITS.get(usize::from(tries) - 1).filter(|_| !is_sent);
        let next = wait.and_then(|wait| now.checked_add(*wait).ok());
        let outcome = match (is_sent, next) {
            (true, _) => NoticeState::Sent,
            (false, Some(_)) => NoticeState::Queued,
            (false, None) => NoticeState::Failed,
        };
        drafts.deliveries.insert(message, next.map(|next| Delivery { tries, next, ..delivery.clone() }));
        for covered in &delivery.covered {
            let Some(draft) = drafts.condition(self, covered.alert) else { continue };
            let present = Self::telling(draft, delivery.channel, now);
            let known = if is_sent { covered.severity } else { present.known };
            let telling = Telling { known, outcome, detail: detail.clone(), time: now, ..present };
            draft.told.insert(delivery.channel, telling);
        }
        self.conclude(delivery.channel, result, outcome == NoticeState::Failed, drafts, now)
    }

    /// Plans what follows from the end of a test.
    pub fn tested(&self, channel: Uuid, result: &Result<String, String>, now: Timestamp) -> Vec<Change> {
        self.conclude(channel, result, false, Drafts::default(), now)
    }

    /// Notes the result of a channel. One that works again is told of what failed and still holds.
    fn conclude(
        &self,
        channel: Uuid,
        result: &Result<String, String>,
        gave_up: bool,
        mut drafts: Drafts,
        now: Timestamp,
    ) -> Vec<Change> {
        let Some(present) = self.channels.get(&channel) else { return drafts.changes(self) };
        let outcome = if result.is_ok() { NoticeState::Sent } else { NoticeState::Failed };
        let (Ok(detail) | Err(detail)) = result;
        let last = Some(ChannelOutcome { time: now, outcome, detail: detail.clone() });
        let failing = result.is_err() && (gave_up || present.failing);
        if result.is_ok() && present.failing {
            self.retry(channel, &mut drafts, now);
        }
        let mut changes = drafts.changes(self);
        changes.push(Change::PutChannel(Box::new(ChannelRecord { failing, last, ..present.clone() })));
        changes
    }
}
