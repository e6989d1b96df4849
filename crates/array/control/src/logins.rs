//! Login attempts of initiators: the last ones, with their outcomes.

use crate::error::ControlError;
use crate::facts::Facts;
use crate::live::{LoginAttempt, LoginOutcome};
use crate::page::{Column, Listed, column};
use crate::read::Read;
use jiff::Timestamp;
use std::sync::Arc;

/// Lists login attempts, newest first: those that match every field that is set.
#[derive(Clone, Debug, Default)]
pub struct LoginList {
    /// Only of this host, by name or id.
    pub host: Option<String>,
    /// Only with this outcome.
    pub outcome: Option<LoginOutcome>,
    /// Only those whose last attempt was at this time or later.
    pub since: Option<Timestamp>,
    /// Only those after which the initiator could use no volume.
    pub refused: bool,
}

/// Login attempt with names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginView {
    /// Host that has the claimed name now.
    pub host: Option<String>,
    /// The attempt.
    pub attempt: Arc<LoginAttempt>,
}

impl Read for LoginList {
    type Reply = Vec<LoginView>;
    const NAME: &'static str = "login-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<LoginView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for LoginList {
    type View = LoginView;
    type Row = Arc<LoginAttempt>;
    const DESCENDING: bool = true;
    const COLUMNS: &'static [Column<Self::Row>] = &[
        column("time", |_, row| row.time.into()),
        column("initiator", |_, row| row.knock.initiator.as_str().into()),
        column("host", |facts, row| host_name(facts, row).into()),
        column("from", |_, row| row.knock.from.to_string().as_str().into()),
        column("count", |_, row| row.count.into()),
    ];

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, Self::Row)>, ControlError> {
        let host = self.host.as_deref().map(|host| facts.directory().host(host)).transpose()?;
        let of_host = |row: &LoginAttempt| {
            let found = || facts.directory().host_of(&row.knock.initiator);
            host.is_none_or(|host| found().is_some_and(|found| found.id == host.id))
        };
        let matches = |row: &Arc<LoginAttempt>| {
            self.outcome.is_none_or(|outcome| row.knock.outcome == outcome)
                && self.since.is_none_or(|since| row.time >= since)
                && (!self.refused || row.knock.outcome != LoginOutcome::Ok)
                && of_host(row)
        };
        let rows = facts.logins().into_iter().rev().filter(matches);
        Ok(rows.map(|row| (format!("{:020}", row.sequence), row)).collect())
    }

    fn texts(facts: &dyn Facts, row: &Self::Row) -> Vec<String> {
        let texts = [row.knock.initiator.clone(), row.knock.from.to_string(), row.knock.portal.to_string()];
        texts.into_iter().chain(host_name(facts, row).map(str::to_owned)).collect()
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<Self::Row>) -> Vec<LoginView> {
        rows.into_iter().map(|attempt| view(facts, attempt)).collect()
    }
}

/// An attempt with the present name of its host.
pub(crate) fn view(facts: &dyn Facts, attempt: Arc<LoginAttempt>) -> LoginView {
    LoginView { host: host_name(facts, &attempt).map(str::to_owned), attempt }
}

fn host_name<'a>(facts: &'a dyn Facts, row: &LoginAttempt) -> Option<&'a str> {
    facts.directory().host_of(&row.knock.initiator).map(|host| host.name.as_str())
}
