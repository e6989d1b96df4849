//! Acknowledgements of alerts.

use super::{Change, Drafts, Notices};
use crate::condition::{Acknowledged, Alert, Condition, alert_id};
use crate::error::ChannelError;
use jiff::Timestamp;
use uuid::Uuid;

/// Longest note in characters.
const MAX_NOTE: usize = 500;

impl Notices {
    /// Conditions that are not forgotten, by id.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.conditions.values()
    }

    /// Active alert by id, or by its code if it is the only one.
    pub fn find<'a>(alerts: &'a [Alert], id_or_code: &str) -> Result<&'a Alert, ChannelError> {
        let id = id_or_code.parse::<Uuid>().ok();
        let fits = |alert: &&Alert| alert.code == id_or_code || id == Some(alert_id(&alert.code, &alert.subject));
        let fitting: Vec<&Alert> = alerts.iter().filter(fits).collect();
        match fitting[..] {
            [alert] => Ok(alert),
            [] => Err(ChannelError::NoAlert { name: id_or_code.to_owned() }),
            _ => Err(ChannelError::SeveralAlerts { code: id_or_code.to_owned(), count: fitting.len() }),
        }
    }

    /// Plans an acknowledgement of an active alert, or its end. A later one replaces an earlier one.
    pub fn acknowledge(&self, alert: &Alert, acknowledged: Option<Acknowledged>) -> Result<Vec<Change>, ChannelError> {
        if let Some(Acknowledged { note, until, time, .. }) = &acknowledged {
            let invalid = |field, reason: &str| Err(ChannelError::InvalidSetting { field, reason: reason.to_owned() });
            if note.chars().count() > MAX_NOTE {
                return invalid("note", "a note has at most 500 characters");
            }
            if until.is_some_and(|until| until <= *time) {
                return invalid("until", "the time is past");
            }
        }
        let id = alert_id(&alert.code, &alert.subject);
        let mut drafts = Drafts::default();
        if drafts.condition(self, id).is_none() {
            drafts.conditions.insert(id, Condition::new(alert));
        }
        if let Some(draft) = drafts.condition(self, id) {
            draft.acknowledged = acknowledged;
        }
        Ok(drafts.changes(self))
    }
}

/// Ends an acknowledgement whose time is over: channels that know of the alert are told again.
pub(super) fn expire(condition: &mut Condition, now: Timestamp) {
    let is_over = |of: &Acknowledged| of.until.is_some_and(|until| until <= now);
    if condition.acknowledged.as_ref().is_some_and(is_over) {
        condition.acknowledged = None;
        condition.told.values_mut().for_each(|telling| telling.again = telling.known.is_some());
    }
}
