//! Which messages are due to which channel: the difference between what its peer was given and what holds.

use super::{Change, Drafts, NOTIFICATION_FAILING, Notices, Planned, WINDOW};
use crate::channel::ChannelRecord;
use crate::condition::{Condition, Telling};
use crate::notice::{Covered, Delivery, Kind, Message, Notice};
use crate::quiet::is_quiet;
use api::{NoticeState, Severity};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Largest number of messages of a channel in a minute; more become a digest.
const MAX_MESSAGES: usize = 20;
/// Largest number of notices in a digest; the others are counted.
const MAX_NOTICES: usize = 100;

/// Time for which the end of an alert is kept for a channel that could not be told of it and may work again.
const KEPT_FAILURE: SignedDuration = SignedDuration::from_hours(24);

/// News that a channel may be told now.
struct News {
    notice: Notice,
    covered: Covered,
}

impl Notices {
    /// Plans the messages that are due. `new_id` makes the identity of each.
    pub fn plan(&self, now: Timestamp, new_id: &mut dyn FnMut() -> Uuid) -> Vec<Change> {
        let mut drafts = Drafts::default();
        let waiting = self.waiting_pairs();
        let mut order: Vec<&Condition> = self.conditions.values().collect();
        order.sort_by_key(|condition| (std::cmp::Reverse(condition.severity), condition.since, condition.id));
        for channel in self.channels.values().filter(|channel| channel.enabled) {
            let mut news = Vec::new();
            for condition in &order {
                let waits = waiting.get(&(channel.id, condition.id)).copied();
                news.extend(self.consider(channel, condition, waits, &mut drafts, now));
            }
            self.write(channel, news, &mut drafts, now, new_id);
        }
        self.forget(drafts, now)
    }

    /// Message that waits, for each channel and alert.
    fn waiting_pairs(&self) -> BTreeMap<(Uuid, Uuid), Uuid> {
        let pairs = |delivery: &Delivery| {
            let (channel, id) = (delivery.channel, delivery.message.id);
            delivery.covered.iter().map(|of| ((channel, of.alert), id)).collect::<Vec<_>>()
        };
        self.deliveries.values().flat_map(pairs).collect()
    }

    /// News of a condition for a channel, if it may be told now. `waits`: the message that tells of it.
    fn consider(
        &self,
        channel: &ChannelRecord,
        condition: &Condition,
        waits: Option<Uuid>,
        drafts: &mut Drafts,
        now: Timestamp,
    ) -> Option<News> {
        if waits.is_some_and(|id| self.in_flight.contains(&id)) {
            return None;
        }
        let mut telling = Self::telling(condition, channel.id, now);
        let severity = match condition.ended {
            Some(_) => None,
            // A channel that knows of an alert is told how it goes on, whatever its rules.
            None if telling.known.is_some() || channel.wants(condition) => Some(condition.severity),
            None => None,
        };
        let again = telling.again && severity.is_some();
        if severity == telling.given && !again {
            return None;
        }
        if let Some(id) = waits {
            self.replace(id, condition.id, drafts);
            telling.given = telling.known;
        }
        if severity == telling.known && !again {
            // A change that was undone before the peer knew of it.
            let draft = drafts.condition(self, condition.id)?;
            match telling.known {
                Some(_) => {
                    (telling.given, telling.outcome, telling.time) = (telling.known, NoticeState::Sent, now);
                    draft.told.insert(channel.id, telling);
                }
                None => drop(draft.told.remove(&channel.id)),
            }
            return None;
        }
        if waits.is_some() {
            drafts.condition(self, condition.id)?.told.insert(channel.id, telling.clone());
        }
        if !self.may_tell(channel, condition, &telling, severity, drafts, now) {
            return None;
        }
        let kind = match (telling.known, severity) {
            (None, _) => Kind::Raised,
            (Some(_), Some(_)) if again => Kind::Raised,
            (Some(_), Some(_)) => Kind::Changed,
            (Some(_), None) => Kind::Cleared,
        };
        Some(News { notice: notice(condition, kind), covered: Covered { alert: condition.id, severity } })
    }

    /// True if nothing keeps the channel from being told now. Notes if quiet hours do.
    fn may_tell(
        &self,
        channel: &ChannelRecord,
        condition: &Condition,
        telling: &Telling,
        severity: Option<Severity>,
        drafts: &mut Drafts,
        now: Timestamp,
    ) -> bool {
        let is_acknowledged = condition.acknowledged.is_some() && condition.ended.is_none();
        // It would fail, too.
        let is_about_itself = channel.failing && condition.code == NOTIFICATION_FAILING;
        if is_acknowledged || is_about_itself {
            return false;
        }
        let is_critical = telling.known.max(severity) == Some(Severity::Critical);
        let waits_for_the_day = channel.quiet_hours.as_ref().is_some_and(|hours| is_quiet(hours, now)) && !is_critical;
        if waits_for_the_day && telling.outcome != NoticeState::Quiet {
            let (outcome, detail) = (NoticeState::Quiet, "waits for the end of the quiet hours".to_owned());
            let quiet = Telling { outcome, detail, time: now, ..telling.clone() };
            if let Some(draft) = drafts.condition(self, condition.id) {
                draft.told.insert(channel.id, quiet);
            }
        }
        !waits_for_the_day
    }

    /// Takes an alert out of a message that waits; the message goes with its last one.
    fn replace(&self, delivery: Uuid, alert: Uuid, drafts: &mut Drafts) {
        let draft = drafts.deliveries.entry(delivery).or_insert_with(|| self.deliveries.get(&delivery).cloned());
        if let Some(present) = draft {
            present.covered.retain(|of| of.alert != alert);
            present.message.notices.retain(|of| of.alert != alert);
            present.message.left_out = present.covered.len().saturating_sub(present.message.notices.len());
            if present.covered.is_empty() {
                *draft = None;
            }
        }
    }

    /// Writes messages of the news of a channel: one each, or one digest if that is too many.
    fn write(
        &self,
        channel: &ChannelRecord,
        news: Vec<News>,
        drafts: &mut Drafts,
        now: Timestamp,
        new_id: &mut dyn FnMut() -> Uuid,
    ) {
        if news.is_empty() {
            return;
        }
        // The future of a clock that was set back counts as past.
        let is_recent = |at: Timestamp| at <= now && now.duration_since(at) < WINDOW;
        let recent = self.recent.get(&channel.id).into_iter().flatten().filter(|of| is_recent(of.at));
        let (digests, single): (Vec<&Planned>, Vec<&Planned>) = recent.partition(|of| of.is_digest);
        let is_digest = single.len() + news.len() > MAX_MESSAGES || !digests.is_empty();
        let groups: Vec<Vec<News>> = if !is_digest {
            news.into_iter().map(|of| vec![of]).collect()
        } else if digests.is_empty() {
            vec![news]
        } else {
            // They are planned again when the minute of the last digest is over.
            return;
        };
        for group in groups {
            let id = new_id();
            for News { covered, .. } in &group {
                let Some(draft) = drafts.condition(self, covered.alert) else { continue };
                let present = Self::telling(draft, channel.id, now);
                let (outcome, detail) = (NoticeState::Queued, String::new());
                let telling = Telling { given: covered.severity, again: false, outcome, detail, time: now, ..present };
                draft.told.insert(channel.id, telling);
            }
            let (notices, covered): (Vec<Notice>, Vec<Covered>) =
                group.into_iter().map(|of| (of.notice, of.covered)).unzip();
            let left_out = notices.len().saturating_sub(MAX_NOTICES);
            let notices = notices.into_iter().take(MAX_NOTICES).collect();
            let message = Message { id, time: now, is_test: false, notices, left_out };
            let delivery = Delivery { channel: channel.id, message, covered, is_digest, tries: 0, next: now };
            drafts.deliveries.insert(id, Some(delivery));
        }
    }

    /// Removes conditions that have ended and of whose end no channel has to be told.
    fn forget(&self, mut drafts: Drafts, now: Timestamp) -> Vec<Change> {
        let waits = |id: Uuid| {
            let covers = |delivery: &Delivery| delivery.covered.iter().any(|of| of.alert == id);
            let is_left = |(of, delivery): (&Uuid, &Delivery)| !drafts.deliveries.contains_key(of) && covers(delivery);
            self.deliveries.iter().any(is_left) || drafts.deliveries.values().flatten().any(covers)
        };
        let is_over = |condition: &&Condition| {
            let condition = drafts.conditions.get(&condition.id).unwrap_or(condition);
            let is_settled = |(channel, telling): (&Uuid, &Telling)| {
                let is_told = telling.known.is_none() && telling.given.is_none();
                let is_old = now.duration_since(telling.time).abs() >= KEPT_FAILURE;
                let gave_up = telling.outcome == NoticeState::Failed && telling.given.is_none() && is_old;
                is_told || gave_up || !self.channels.get(channel).is_some_and(|of| of.enabled)
            };
            condition.ended.is_some() && condition.told.iter().all(is_settled) && !waits(condition.id)
        };
        let over: Vec<Uuid> = self.conditions.values().filter(is_over).map(|condition| condition.id).collect();
        over.iter().for_each(|id| drop(drafts.conditions.remove(id)));
        let mut changes = drafts.changes(self);
        changes.extend(over.into_iter().map(Change::RemoveCondition));
        changes
    }
}

fn notice(condition: &Condition, kind: Kind) -> Notice {
    Notice {
        kind,
        alert: condition.id,
        code: condition.code.clone(),
        subject: condition.subject.clone(),
        severity: condition.severity,
        since: condition.since,
        ended: condition.ended,
        message: condition.message.clone(),
        help: condition.help.clone(),
    }
}
