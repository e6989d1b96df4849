//! Lists of alerts by their state: those that hold, by whether somebody looks after them, and those that have ended.

use super::{AlertList, AlertNote, AlertView, Severity};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::page::{Column, Listed, column};
use crate::read::Read;
use jiff::Timestamp;
use std::sync::Arc;

/// Lists active alerts that are acknowledged, or those that are not. Otherwise as [`AlertList`].
#[derive(Clone, Debug)]
pub struct AlertsMarked {
    /// True for acknowledged ones.
    pub acknowledged: bool,
}

impl Read for AlertsMarked {
    type Reply = Vec<AlertView>;
    const NAME: &'static str = "alerts-marked";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<AlertView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for AlertsMarked {
    type View = AlertView;
    type Row = AlertView;
    const COLUMNS: &'static [Column<AlertView>] = AlertList::COLUMNS;

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, AlertView)>, ControlError> {
        let is_marked = |alert: &AlertView| alert.note.as_ref().is_some_and(|note| note.acknowledged.is_some());
        let mut rows = AlertList.rows(facts)?;
        rows.retain(|(_, alert)| is_marked(alert) == self.acknowledged);
        Ok(rows)
    }

    fn texts(facts: &dyn Facts, alert: &AlertView) -> Vec<String> {
        AlertList::texts(facts, alert)
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<AlertView>) -> Vec<AlertView> {
        AlertList.views(facts, rows)
    }
}

/// Alert that has ended. The management plane keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedAlertView {
    /// Stable name of the condition.
    pub code: String,
    /// Last severity.
    pub severity: Severity,
    /// Name of the object concerned.
    pub subject: String,
    /// Start.
    pub since: Timestamp,
    /// End.
    pub ended: Timestamp,
    /// Text of the alert.
    pub message: String,
    /// Advice for the administrator.
    pub help: String,
    /// Its acknowledgement, and who had been told.
    pub note: AlertNote,
}

/// Lists alerts that have ended, the last end first.
#[derive(Clone, Debug)]
pub struct EndedAlertList {
    /// All that are kept.
    pub alerts: Vec<Arc<EndedAlertView>>,
}

impl Read for EndedAlertList {
    type Reply = Vec<Arc<EndedAlertView>>;
    const NAME: &'static str = "ended-alert-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Self::Reply, ControlError> {
        self.all(facts)
    }
}

impl Listed for EndedAlertList {
    type View = Arc<EndedAlertView>;
    type Row = Arc<EndedAlertView>;
    const DESCENDING: bool = true;
    const COLUMNS: &'static [Column<Self::Row>] = &[
        column("ended", |_, alert| alert.ended.into()),
        column("severity", |_, alert| (alert.severity as u64).into()),
        column("code", |_, alert| alert.code.as_str().into()),
        column("subject", |_, alert| alert.subject.as_str().into()),
        column("since", |_, alert| alert.since.into()),
    ];

    fn rows(&self, _facts: &dyn Facts) -> Result<Vec<(String, Self::Row)>, ControlError> {
        let key = |alert: &EndedAlertView| {
            format!("{:030} {} {}", alert.ended.as_nanosecond().max(0), alert.code, alert.subject)
        };
        let mut rows: Vec<_> = self.alerts.iter().map(|alert| (key(alert), Arc::clone(alert))).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
        Ok(rows)
    }

    fn texts(_facts: &dyn Facts, alert: &Self::Row) -> Vec<String> {
        vec![alert.code.clone(), alert.subject.clone(), alert.message.clone()]
    }

    fn views(&self, _facts: &dyn Facts, rows: Vec<Self::Row>) -> Vec<Self::View> {
        rows
    }
}
