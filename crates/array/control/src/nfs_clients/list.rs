//! `nfs client list`, `nfs lock list` and `nfs grace show`.

use super::NfsClientError;
use crate::condition::Noun;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::live::{NfsClientInfo, NfsFacts, NfsGrace, NfsLockInfo};
use crate::page::Listed;
use crate::read::Read;

/// Lists the clients of NFSv4, by id.
#[derive(Clone, Debug)]
pub struct NfsClientList;

/// Lists the locked ranges of files in a share, by file and offset.
#[derive(Clone, Debug)]
pub struct NfsLockList {
    /// Name or id; all shares if absent.
    pub share: Option<String>,
}

/// Shows the grace period.
#[derive(Clone, Debug)]
pub struct NfsGraceShow;

/// Locked range with the name of its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsLockView {
    /// Name of the share, or of its snapshot; absent if it was deleted meanwhile.
    pub share: Option<String>,
    /// The range.
    pub lock: NfsLockInfo,
}

/// State of the NFS server. Errors: `NotServed`.
fn served(facts: &dyn Facts) -> Result<&NfsFacts, ControlError> {
    facts.nfs().ok_or_else(|| NfsClientError::NotServed.into())
}

impl Read for NfsClientList {
    type Reply = Vec<NfsClientInfo>;
    const NAME: &'static str = "nfs-client-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<NfsClientInfo>, ControlError> {
        self.all(facts)
    }
}

impl Listed for NfsClientList {
    type View = NfsClientInfo;
    type Row = NfsClientInfo;

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, NfsClientInfo)>, ControlError> {
        let clients = served(facts)?.clients.iter();
        let mut rows: Vec<_> = clients.map(|client| (format!("{:016x}", client.id), client.clone())).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(rows)
    }

    fn views(&self, _: &dyn Facts, rows: Vec<NfsClientInfo>) -> Vec<NfsClientInfo> {
        rows
    }
}

impl Read for NfsLockList {
    type Reply = Vec<NfsLockView>;
    const NAME: &'static str = "nfs-lock-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<NfsLockView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for NfsLockList {
    type View = NfsLockView;
    type Row = NfsLockInfo;

    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, NfsLockInfo)>, ControlError> {
        let share = match &self.share {
            Some(name) => Some(facts.directory().share(name)?.object),
            None => None,
        };
        let locks = served(facts)?.locks.iter().filter(|lock| share.is_none_or(|share| share == lock.share));
        // Owners of shared locks may lock the same range.
        let key = |(number, lock): (usize, &NfsLockInfo)| {
            format!("{:016x} {:016x} {:016x} {number:08x}", lock.share.0, lock.file, lock.offset_bytes)
        };
        let mut rows: Vec<_> = locks.enumerate().map(|lock| (key(lock), lock.1.clone())).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(rows)
    }

    fn views(&self, facts: &dyn Facts, rows: Vec<NfsLockInfo>) -> Vec<NfsLockView> {
        let view = |lock: NfsLockInfo| {
            let share = facts.directory().share_of(lock.share).map(|share| share.name.clone());
            NfsLockView { share, lock }
        };
        rows.into_iter().map(view).collect()
    }
}

impl Read for NfsGraceShow {
    type Reply = NfsGrace;
    const NAME: &'static str = "nfs-grace-show";

    fn answer(&self, facts: &dyn Facts) -> Result<NfsGrace, ControlError> {
        Ok(served(facts)?.grace)
    }
}

impl NfsClientError {
    /// Error for an id that no client has.
    pub(super) fn no_client(id: u64) -> ControlError {
        ControlError::NotFound { noun: Noun::NfsClient, name: format!("{id:016x}") }
    }
}
