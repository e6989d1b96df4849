//! Sessions: list and drop.

use crate::events::Draft;
use crate::{Control, ControlError, Noun, Request, SessionInfo, User, UserKind};

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

impl Request for SessionList {
    type Reply = Vec<SessionView>;
    const NAME: &'static str = "session-list";

    async fn run(&self, control: &Control) -> Result<Vec<SessionView>, ControlError> {
        let directory = control.directory();
        let host = |initiator: &str| directory.host_of(initiator).map(|host| host.name.clone());
        let sessions = control.live.sessions().into_iter();
        Ok(sessions.map(|session| SessionView { host: host(&session.initiator), session }).collect())
    }
}

impl Request for SessionDrop {
    type Reply = ();
    const NAME: &'static str = "session-drop";

    async fn run(&self, control: &Control) -> Result<(), ControlError> {
        if control.live.drop_session(self.id) {
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
        let now = self.environment.now();
        let last = session.last_io.map_or("no I/O yet".to_owned(), |time| {
            format!("last I/O {} s ago", now.duration_since(time).as_secs().max(0))
        });
        let description =
            format!("{} from {}, {last} (id {})", session.initiator, session.peer_address.ip(), session.id);
        User { kind: UserKind::Session, description }
    }
}
