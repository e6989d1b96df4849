//! Sessions: list and drop.

use crate::condition::{Noun, User, UserKind};
use crate::control::Control;
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::live::SessionInfo;
use crate::page::Listed;
use crate::read::Read;
use crate::request::Request;

/// Lists all sessions.
#[derive(Clone, Debug)]
pub struct SessionList;

/// Drops a session; the initiator may log in again.
#[derive(Clone, Debug)]
pub struct SessionDrop {
    /// Number of the session.
    pub id: u64,
}

/// Session with names.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// Host of the initiator.
    pub host: Option<String>,
    /// State of the session.
    pub session: SessionInfo,
}

impl Read for SessionList {
    type Reply = Vec<SessionView>;
    const NAME: &'static str = "session-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<SessionView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for SessionList {
    type View = SessionView;
    type Row = SessionInfo;

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, SessionInfo)>, ControlError> {
        let mut rows: Vec<(String, SessionInfo)> =
            facts.sessions().iter().map(|session| (format!("{:020}", session.id), session.clone())).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(rows)
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<SessionInfo>) -> Vec<SessionView> {
        let host = |initiator: &str| facts.directory().host_of(initiator).map(|host| host.name.clone());
        rows.into_iter().map(|session| SessionView { host: host(&session.initiator), session }).collect()
    }
}

impl Request for SessionDrop {
    type Reply = ();
    const NAME: &'static str = "session-drop";

    async fn run(&self, control: &Control) -> Result<(), ControlError> {
        if control.live().drop_session(self.id) {
            Ok(())
        } else {
            Err(ControlError::NotFound { noun: Noun::Session, name: self.id.to_string() })
        }
    }

    fn event(&self, (): &()) -> Option<Draft> {
        Some(Draft::info("session-dropped", self.id.to_string(), format!("session {} dropped", self.id)))
    }
}

impl Control {
    /// Session as a user of an object.
    pub(crate) fn session_user(&self, session: &SessionInfo) -> User {
        let now = self.environment().now();
        let last = session.last_io.map_or("no I/O yet".to_owned(), |time| {
            format!("last I/O {} s ago", now.duration_since(time).as_secs().max(0))
        });
        let description =
            format!("{} from {}, {last} (id {})", session.initiator, session.peer_address.ip(), session.id);
        User { kind: UserKind::Session, description }
    }
}
