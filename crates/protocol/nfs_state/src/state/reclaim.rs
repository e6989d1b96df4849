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

    /// Whether I/O without an open, or beyond its access, is safe: in the grace period it may be against an open that
    /// is not yet reclaimed, if a client had one that denies others access. `GRACE`: it is not (RFC 8881 §8.4.2.1).
    pub(super) fn check_grace_io(&mut self, now: Duration) -> Result<(), Status> {
        self.grace.end_if_due(now);
        match self.grace.may_deny() && !leaves_out(Mutation::GraceIo) {
            true => Err(Status::GRACE),
            false => Ok(()),
        }
    }

    /// Notes that a client has got state, which denies others access or not: new state needs a record, and reclaimed
    /// state has one. New state takes the records of clients that have not completed.
    pub(super) fn granted(&mut self, client: ClientRef, reclaim: bool, denies: bool, now: Duration) {
        if let Some(client) = self.clients.get_mut(client.0).filter(|_| denies) {
            client.set_denies();
        }
        if reclaim {
            return self.grace.reclaimed(now);
        }
        for owner in self.grace.new_state_granted() {
            self.records.remove(&owner);
        }
        self.write_record(client.0);
    }
}
