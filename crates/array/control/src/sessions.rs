//! Sessions: list and drop.

use crate::{Control, ControlError, Noun, Reply, SessionInfo, SessionView, User, UserKind};
use pool::Catalog;

impl<C: Catalog + 'static> Control<C> {
    pub(crate) fn session_list(&self) -> Vec<SessionView> {
        let directory = self.directory();
        let host = |initiator: &str| directory.host_of(initiator).map(|host| host.name.clone());
        self.live
            .sessions()
            .into_iter()
            .map(|session| SessionView { host: host(&session.initiator), session })
            .collect()
    }

    pub(crate) fn session_drop(&self, id: u64) -> Result<Reply, ControlError> {
        if self.live.drop_session(id) {
            Ok(Reply::Done)
        } else {
            Err(ControlError::NotFound { noun: Noun::Session, name: id.to_string() })
        }
    }

    /// A session as a user of something.
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
