//! RECLAIM_COMPLETE, and what the grace period permits (RFC 8881 §18.51, §8.4.2).

use std::time::Duration;

use nfs::v4::{Done, Status};

use super::{ClientRef, State};
use crate::mutations::{Mutation, leaves_out};

impl State {
    /// RECLAIM_COMPLETE. The record of the client is written with it. That of one file system has no effect.
    /// `COMPLETE_ALREADY`: the client has sent it.
    pub fn reclaim_complete(&mut self, client: ClientRef, one_file_system: bool, now: Duration) -> Done {
        let complete = self.client(client)?.is_reclaim_complete();
        if one_file_system {
            return Ok(());
        }
        if complete {
            return Err(Status::COMPLETE_ALREADY);
        }
        if let Some(found) = self.clients.get_mut(client.0) {
            found.set_reclaim_complete();
            self.grace.completed(found.owner());
        }
        self.grace.end_if_due(now);
        self.write_record(client.0);
        Ok(())
    }

    /// Whether a client may get new state, or reclaim old one.
    pub(super) fn check_grace(&mut self, client: ClientRef, reclaim: bool, now: Duration) -> Result<(), Status> {
        self.grace.end_if_due(now);
        let client = self.client(client)?;
        let (complete, owner) = (client.is_reclaim_complete(), client.owner());
        match reclaim {
            false if (self.grace.is_active() && !leaves_out(Mutation::Grace)) || !complete => Err(Status::GRACE),
            true if !complete && self.grace.is_used_up(owner) => Err(Status::RECLAIM_BAD),
            true if complete || !self.grace.may_reclaim(owner) => Err(Status::NO_GRACE),
            _ => Ok(()),
        }
    }

    /// Notes that a client has got state: new state needs a record, and reclaimed state has one. New state takes the
    /// records of clients that have not completed.
    pub(super) fn granted(&mut self, client: ClientRef, reclaim: bool, now: Duration) {
        if reclaim {
            return self.grace.reclaimed(now);
        }
        for owner in self.grace.new_state_granted() {
            self.records.remove(&owner);
        }
        self.write_record(client.0);
    }
}
