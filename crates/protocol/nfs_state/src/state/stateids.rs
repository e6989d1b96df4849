//! TEST_STATEID and FREE_STATEID (RFC 8881 §18.48, §18.38).

use nfs::v4::{Done, Stateid};

use super::{ClientRef, State};

impl State {
    /// TEST_STATEID: one status for each stateid. Special stateids are `BAD_STATEID`.
    pub fn test_stateid(&self, client: ClientRef, stateids: &[Stateid]) -> Vec<Done> {
        stateids.iter().map(|stateid| self.files.find(client.0, stateid).map(drop)).collect()
    }

    /// FREE_STATEID. A client that has freed all that it lost may reclaim again after a restart. Errors:
    /// `BAD_STATEID`, `OLD_STATEID`; `LOCKS_HELD`: an open, or a lock with ranges.
    pub fn free_stateid(&mut self, client: ClientRef, stateid: &Stateid) -> Done {
        let complete = self.client(client)?.is_reclaim_complete();
        self.files.free(client.0, stateid)?;
        if complete && !self.files.held(client.0).has_lost() {
            self.write_record(client.0);
        }
        Ok(())
    }
}
