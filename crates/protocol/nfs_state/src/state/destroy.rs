//! DESTROY_SESSION and DESTROY_CLIENTID (RFC 8881 §18.37, §18.50).

use std::time::Duration;

use nfs::v4::{Done, SessionId, Status};

use super::{Admitted, State};

impl State {
    /// DESTROY_SESSION, inside a request of that or another session, or alone. Errors: `BADSESSION`; `DELAY`: other
    /// requests are in progress.
    pub fn destroy_session(&mut self, id: &SessionId, within: Option<&Admitted>, now: Duration) -> Done {
        let key = self.sessions.find(id)?;
        let own = usize::from(within.is_some_and(|admitted| admitted.session() == key));
        if self.sessions.get(key).is_some_and(|session| session.busy() > own) {
            return Err(Status::DELAY);
        }
        self.remove_session(key, now);
        Ok(())
    }

    /// DESTROY_CLIENTID. Errors: `STALE_CLIENTID`; `CLIENTID_BUSY`: it has sessions or state.
    pub fn destroy_client(&mut self, id: u64, now: Duration) -> Done {
        let key = self.clients.find(id)?;
        let has_session = self.clients.get(key).is_some_and(|client| !client.sessions().is_empty());
        if has_session || self.files.held(key).is_live() {
            return Err(Status::CLIENTID_BUSY);
        }
        self.remove_client(key, now);
        Ok(())
    }
}
