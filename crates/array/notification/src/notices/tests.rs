//! The rules, in virtual time: each has a test that fails without it.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod deliveries;
mod settings;
mod stories;

use super::{Change, Dispatch, Notices};
use crate::channel::NewChannel;
use crate::condition::{Acknowledged, Alert, Telling, alert_id};
use crate::notice::Kind;
use api::{ChannelSettings, QuietHours, Severity, SyslogSettings, SyslogTransport};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

/// Notification of an array in virtual time. Its store is what was applied.
struct Desk {
    notices: Notices,
    now: Timestamp,
    next_id: u128,
    alerts: Vec<Alert>,
    /// Dispatches that no test has looked at.
    sent: Vec<Dispatch>,
    /// Result of each try.
    peer: Result<String, String>,
}

fn syslog(server: &str) -> ChannelSettings {
    ChannelSettings::Syslog(SyslogSettings {
        server: server.to_owned(),
        port: None,
        transport: SyslogTransport::Udp,
        facility: None,
        ca: None,
        audit: false,
    })
}

impl Desk {
    fn new() -> Self {
        let now = "2026-07-01T12:00:00Z".parse().unwrap();
        let (notices, peer) = (Notices::default(), Ok("250 ok".to_owned()));
        Self { notices, now, next_id: 0, alerts: Vec::new(), sent: Vec::new(), peer }
    }

    /// With one channel, `ops`, for warnings and worse.
    fn with_channel() -> Self {
        let mut desk = Self::new();
        desk.channel("ops", |_| {});
        desk
    }

    fn channel(&mut self, name: &str, edit: impl FnOnce(&mut NewChannel)) -> Uuid {
        self.next_id += 1;
        let mut new = NewChannel {
            id: Uuid::from_u128(self.next_id),
            name: name.to_owned(),
            settings: syslog("192.0.2.1"),
            min_severity: Severity::Warning,
            codes: Vec::new(),
            quiet_hours: None,
            enabled: true,
        };
        edit(&mut new);
        let id = new.id;
        let changes = self.notices.create_channel(new, self.now).unwrap();
        self.apply(changes);
        id
    }

    fn apply(&mut self, changes: Vec<Change>) {
        changes.into_iter().for_each(|change| self.notices.apply(change));
    }

    fn raise(&mut self, code: &str, severity: Severity) {
        self.clear(code);
        self.alerts.push(Alert {
            code: code.to_owned(),
            subject: "p0".to_owned(),
            severity,
            since: self.now,
            message: format!("{code} holds"),
            help: "act".to_owned(),
        });
    }

    fn clear(&mut self, code: &str) {
        self.alerts.retain(|alert| alert.code != code);
    }

    /// Runs the second that begins now.
    fn second(&mut self) {
        let changes = self.notices.observe(&self.alerts, self.now);
        self.apply(changes);
        let next_id = &mut self.next_id;
        let mut new_id = || {
            *next_id += 1;
            Uuid::from_u128(*next_id)
        };
        let changes = self.notices.plan(self.now, &mut new_id);
        self.apply(changes);
        while let due @ [_, ..] = &*self.notices.take_due(self.now) {
            let due = due.to_vec();
            for dispatch in due {
                let changes = self.notices.ended(dispatch.message.id, &self.peer, self.now);
                self.apply(changes);
                self.sent.push(dispatch);
            }
        }
        self.now += SignedDuration::from_secs(1);
    }

    fn seconds(&mut self, count: u32) {
        (0..count).for_each(|_| self.second());
    }

    /// Messages since the last look, as `CHANNEL KIND CODE SEVERITY`, or the number of notices of a digest.
    fn told(&mut self) -> Vec<String> {
        let shown = |dispatch: &Dispatch| match &dispatch.message.notices[..] {
            [notice] => format!(
                "{} {} {} {}",
                dispatch.channel.name,
                notice.kind.name(),
                notice.code,
                crate::render::text::severity(notice.severity)
            ),
            notices => format!("{} digest {}", dispatch.channel.name, notices.len() + dispatch.message.left_out),
        };
        self.sent.drain(..).map(|dispatch| shown(&dispatch)).collect()
    }

    /// Ends the process and starts another one with what is stored.
    fn restart(&mut self) {
        let records = self.notices.records();
        self.notices = Notices::default();
        self.apply(records);
    }

    fn telling(&self, code: &str, channel: &str) -> Telling {
        let channel = self.notices.channel(channel).unwrap().id;
        let condition = self.notices.conditions().find(|of| of.id == alert_id(code, "p0")).unwrap();
        condition.told.get(&channel).cloned().unwrap()
    }

    fn acknowledge(&mut self, code: &str, until: Option<Timestamp>) {
        let alert = Notices::find(&self.alerts, code).unwrap().clone();
        let (by, note, time) = ("anna".to_owned(), "on it".to_owned(), self.now);
        let changes = self.notices.acknowledge(&alert, Some(Acknowledged { by, time, note, until })).unwrap();
        self.apply(changes);
    }
}
