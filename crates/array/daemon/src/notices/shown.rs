//! What the array shows of notification: marks at alerts, and the alert that a channel fails.

use crate::report::report;
use crate::severity::{known_severity, severity};
use control::{
    AlertAcknowledged, AlertNote, AlertNoteTable, AlertNotesSet, AlertTold, AlertView, EndedAlertView,
    ManagementCondition, ToldState,
};
use notification::{Alert, Condition, EndedAlert, Notices, ToldBefore};
use reactor::ArrayHandle;
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

/// Alerts as notification takes them.
pub(crate) fn alerts(views: Vec<AlertView>) -> Vec<Alert> {
    let alert = |view: AlertView| Alert {
        code: view.code.to_owned(),
        subject: view.subject,
        severity: severity(view.severity),
        since: view.since,
        message: view.message,
        help: view.help.to_owned(),
    };
    views.into_iter().map(alert).collect()
}

/// What the array shows at present.
#[derive(Default)]
pub(super) struct Shown {
    notes: AlertNoteTable,
    failing: BTreeSet<Uuid>,
    alert: Option<String>,
    is_known: bool,
}

impl Shown {
    /// Shows what has changed: marks of alerts, channels that fail with their descriptions, and why none works.
    pub(super) async fn update(
        &mut self,
        notes: AlertNoteTable,
        failing: Vec<(Uuid, String)>,
        trouble: Option<String>,
        array: &ArrayHandle,
    ) {
        // A new process shows nothing yet; one whose array could not be reached tries again.
        if notes != self.notes && array.call(AlertNotesSet { notes: notes.clone() }).await.is_ok() {
            self.notes = notes;
        }
        let lines: Vec<&str> = trouble.iter().map(String::as_str).chain(failing.iter().map(|(_, of)| &**of)).collect();
        let alert = (!lines.is_empty()).then(|| lines.join("; "));
        // Channels that failed before the start have had their event.
        let is_new = |(id, _): &&(Uuid, String)| self.is_known && !self.failing.contains(id);
        let new: Vec<&str> = failing.iter().filter(is_new).map(|(_, line)| &**line).collect();
        let event = (!new.is_empty()).then(|| new.join("; "));
        if alert != self.alert || event.is_some() {
            report(array, ManagementCondition::NotificationFailing, event, alert.clone()).await;
            self.alert = alert;
        }
        self.failing = failing.into_iter().map(|(id, _)| id).collect();
        self.is_known = true;
    }
}

/// Channels that fail, each with what its peer said.
pub(super) fn failing(notices: &Notices) -> Vec<(Uuid, String)> {
    let line = |of: &notification::ChannelRecord| {
        let words = of.last.as_ref().map(|last| last.detail.as_str()).unwrap_or_default();
        (of.id, format!("the channel {} does not work: {words}", of.name))
    };
    notices.failing().into_iter().map(line).collect()
}

fn acknowledged(of: &notification::Acknowledged) -> AlertAcknowledged {
    let notification::Acknowledged { by, time, note, until } = of.clone();
    AlertAcknowledged { by, time, note, until }
}

const fn told_state(outcome: api::NoticeState) -> ToldState {
    match outcome {
        api::NoticeState::Queued => ToldState::Queued,
        api::NoticeState::Sent => ToldState::Sent,
        api::NoticeState::Failed => ToldState::Failed,
        api::NoticeState::Quiet => ToldState::Quiet,
    }
}

/// Alerts that have ended.
pub(crate) fn ended(notices: &Notices) -> Vec<Arc<EndedAlertView>> {
    let told = |of: &ToldBefore| {
        let (channel, time, detail) = (of.channel.clone(), of.time, of.detail.clone());
        AlertTold { channel, time, state: told_state(of.outcome), detail }
    };
    let view = |of: &EndedAlert| EndedAlertView {
        code: of.code.clone(),
        severity: known_severity(of.severity),
        subject: of.subject.clone(),
        since: of.since,
        ended: of.ended,
        message: of.message.clone(),
        help: of.help.clone(),
        note: AlertNote {
            acknowledged: of.acknowledged.as_ref().map(acknowledged),
            told: of.told.iter().map(told).collect(),
        },
    };
    notices.ended_alerts().map(|of| Arc::new(view(of))).collect()
}

/// Marks of all alerts that have some.
pub(super) fn notes(notices: &Notices) -> AlertNoteTable {
    let note = |condition: &Condition| {
        let acknowledged = condition.acknowledged.as_ref().map(acknowledged);
        let told = condition.told.iter().filter_map(|(channel, telling)| {
            let channel = notices.channel_of(*channel)?.name.clone();
            let state = told_state(telling.outcome);
            Some(AlertTold { channel, time: telling.time, state, detail: telling.detail.clone() })
        });
        let mut told: Vec<AlertTold> = told.collect();
        told.sort_by(|one, other| one.channel.cmp(&other.channel));
        AlertNote { acknowledged, told }
    };
    let holds = notices.conditions().filter(|condition| condition.ended.is_none());
    let marked = holds.map(|condition| ((condition.code.clone(), condition.subject.clone()), note(condition)));
    let marked = marked.filter(|(_, note)| *note != AlertNote::default());
    marked.map(|(key, note)| (key, Arc::new(note))).collect()
}
