//! The beginning, the changes and the end of conditions.

use super::acknowledge::expire;
use super::{Change, Drafts, Notices};
use crate::condition::{Alert, Condition, alert_id};
use crate::ended::{EndedAlert, outlived};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Time for which an alert has to be absent to have ended. Covers the start of an array, whose first check of
/// thresholds comes after its first list of alerts, and alerts that come and go.
const ABSENCE: SignedDuration = SignedDuration::from_secs(15);

impl Notices {
    /// Compares the conditions with the active alerts. Notes since when conditions are absent; all else is planned.
    pub fn observe(&mut self, alerts: &[Alert], now: Timestamp) -> Vec<Change> {
        let mut drafts = Drafts::default();
        let mut seen = BTreeSet::new();
        for alert in alerts {
            let id = alert_id(&alert.code, &alert.subject);
            seen.insert(id);
            self.absent.remove(&id);
            match self.conditions.get(&id) {
                None => drop(drafts.conditions.insert(id, Condition::new(alert))),
                Some(condition) if condition.ended.is_some() => {
                    // It has returned before all channels knew of its end.
                    let since = alert.since;
                    if let Some(draft) = drafts.condition(self, id) {
                        draft.renew(alert);
                        draft.since = since;
                    }
                }
                Some(condition) if condition.severity != alert.severity => {
                    let is_worse = alert.severity > condition.severity;
                    let Some(draft) = drafts.condition(self, id) else { continue };
                    draft.renew(alert);
                    // What was acknowledged is less than what holds now.
                    if is_worse {
                        draft.acknowledged = None;
                    }
                }
                Some(_) => {}
            }
        }
        let gone: Vec<_> = self.conditions.values().filter(|of| of.ended.is_none() && !seen.contains(&of.id)).collect();
        let gone: Vec<_> = gone.into_iter().map(|condition| condition.id).collect();
        let mut ends = Vec::new();
        for id in gone {
            let since = *self.absent.entry(id).or_insert(now);
            // A clock that was set back must not keep the condition for ever.
            if now.duration_since(since).abs() >= ABSENCE
                && let Some(draft) = drafts.condition(self, id)
            {
                let name_of = |channel: Uuid| self.channels.get(&channel).map(|of| of.name.clone());
                ends.push(EndedAlert::of(draft, now, name_of));
                draft.ended = Some(now);
                draft.acknowledged = None;
            }
        }
        let acknowledged: Vec<_> =
            self.conditions.values().filter(|of| of.acknowledged.is_some()).map(|of| of.id).collect();
        for id in acknowledged {
            if let Some(draft) = drafts.condition(self, id) {
                expire(draft, now);
            }
        }
        let mut changes = drafts.changes(self);
        changes.extend(outlived(&self.ended, ends.len(), now).map(Change::RemoveEnded));
        changes.extend(ends.into_iter().map(|end| Change::PutEnded(Box::new(end))));
        changes
    }
}
