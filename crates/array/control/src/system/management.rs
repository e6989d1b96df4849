//! Conditions that the management plane finds: refused sign-ins, files of the state directory that cannot be used,
//! a forecast, and channels that cannot be told of alerts.

use crate::events::Severity;
use crate::events::view::AlertView;
use jiff::Timestamp;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Condition of the management plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagementCondition {
    /// Sign-ins are refused because of wrong names or passwords.
    SignInFailed,
    /// The audit cannot be written.
    AuditNotWritten,
    /// The history has reached its limit, and values were removed.
    HistoryLimited,
    /// The history cannot be written.
    HistoryNotWritten,
    /// The history could not be read, and a new one has begun.
    HistoryUnreadable,
    /// A pool is full within two weeks, if it goes on growing as it did.
    PoolFullSoon,
    /// A channel could not be told of an alert in three tries.
    NotificationFailing,
    /// The audit could not be forwarded to a channel for a minute.
    AuditNotForwarded,
    /// Reads and writes of hosts were slower for five minutes than the pool's setting.
    CommandsSlow,
}

impl ManagementCondition {
    /// Code of its event and of its alert.
    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::SignInFailed => "sign-in-failed",
            Self::AuditNotWritten => "audit-not-written",
            Self::HistoryLimited => "history-limit",
            Self::HistoryNotWritten => "history-not-written",
            Self::HistoryUnreadable => "history-unreadable",
            Self::PoolFullSoon => "pool-full-soon",
            Self::NotificationFailing => "notification-failing",
            Self::AuditNotForwarded => "audit-not-forwarded",
            Self::CommandsSlow => "commands-slow",
        }
    }

    const fn help(self) -> &'static str {
        match self {
            Self::SignInFailed => "this may be an attempt to guess passwords: the audit has names and addresses",
            Self::AuditNotWritten | Self::HistoryNotWritten => "free space in the state directory, or repair it",
            Self::HistoryLimited => "raise [history] limit in the configuration to keep more",
            Self::PoolFullSoon => "grow the pool, or free space: snapshots, the trash, reclaim",
            Self::HistoryUnreadable => "delete the file that was moved aside when it is no longer needed",
            Self::NotificationFailing => "correct the channel or its peer, and test it",
            Self::CommandsSlow => "see which volumes are busiest, and what the disks below the pool do",
            Self::AuditNotForwarded => "correct the channel or its peer: what is missing is forwarded then",
        }
    }
}

/// Conditions that hold, each with its start and description.
#[derive(Default)]
pub(crate) struct Management(RefCell<BTreeMap<ManagementCondition, (Timestamp, String)>>);

impl Management {
    /// Notes that a condition holds, with its description, or that it has ended.
    pub(super) fn set(&self, condition: ManagementCondition, alert: Option<&String>, now: Timestamp) {
        let mut holding = self.0.borrow_mut();
        match alert {
            Some(message) => holding.entry(condition).or_insert_with(|| (now, String::new())).1.clone_from(message),
            None => drop(holding.remove(&condition)),
        }
    }

    /// Alerts while conditions hold.
    pub(crate) fn alerts(&self) -> Vec<AlertView> {
        let alert = |(condition, (since, message)): (&ManagementCondition, &(Timestamp, String))| AlertView {
            code: condition.code(),
            severity: Severity::Warning,
            subject: "array".to_owned(),
            since: *since,
            message: message.clone(),
            help: condition.help(),
            note: None,
        };
        self.0.borrow().iter().map(alert).collect()
    }
}
