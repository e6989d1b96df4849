//! `nfs client list`, `nfs lock list` and `nfs grace show`.
//!
//! The lists are made when they are asked for, in parts between which hosts are served.

use super::NfsClientError;
use crate::condition::Noun;
use crate::control::Control;
use crate::environment::yield_now;
use crate::error::ControlError;
use crate::live::{NfsClientInfo, NfsGrace, NfsLockInfo, NfsPart, NfsPosition};
use crate::request::Request;
use pool::ObjectId;
use std::collections::BTreeMap;

/// Most elements between which no other task runs: less than a millisecond.
const PER_TURN: usize = 256;

/// Lists clients of NFSv4, in the order of the server's table.
#[derive(Clone, Debug)]
pub struct NfsClientList {
    /// Position: 0, or that of an earlier part.
    pub from: NfsPosition,
    /// Most clients.
    pub most: usize,
}

/// Lists locked ranges of files, by file and offset, with the files in the order of the server's table.
#[derive(Clone, Debug)]
pub struct NfsLockList {
    /// Share by name or id, or snapshot as `SHARE@SNAPSHOT`; all if absent.
    pub share: Option<String>,
    /// Position: 0, or that of an earlier part.
    pub from: NfsPosition,
    /// Most ranges.
    pub most: usize,
}

/// Shows the grace period.
#[derive(Clone, Copy, Debug)]
pub struct NfsGraceShow;

/// Locked range with the name of its share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsLockView {
    /// Name of the share, or of its snapshot as `SHARE@SNAPSHOT`; absent if it was deleted meanwhile.
    pub share: Option<String>,
    /// The range.
    pub lock: NfsLockInfo,
}

/// Collects at most `most` elements. `part` gives at most so many from a position on, and `view` converts them.
///
/// Errors: `NotServed`.
async fn collect<T, V>(
    from: NfsPosition,
    most: usize,
    part: impl Fn(NfsPosition, usize) -> Option<NfsPart<T>>,
    mut view: impl FnMut(T) -> V,
) -> Result<NfsPart<V>, ControlError> {
    let mut all = NfsPart { elements: Vec::new(), next: Some(from) };
    while let Some(position) = all.next
        && all.elements.len() < most
    {
        if position != from {
            yield_now().await;
        }
        let part = part(position, PER_TURN.min(most - all.elements.len())).ok_or(NfsClientError::NotServed)?;
        all.elements.extend(part.elements.into_iter().map(&mut view));
        all.next = part.next;
    }
    Ok(all)
}

impl Request for NfsClientList {
    type Reply = NfsPart<NfsClientInfo>;
    const NAME: &'static str = "nfs-client-list";

    async fn run(&self, control: &Control) -> Result<NfsPart<NfsClientInfo>, ControlError> {
        collect(self.from, self.most, |from, most| control.live().nfs_clients(from, most), |client| client).await
    }
}

impl Request for NfsLockList {
    type Reply = NfsPart<NfsLockView>;
    const NAME: &'static str = "nfs-lock-list";

    async fn run(&self, control: &Control) -> Result<NfsPart<NfsLockView>, ControlError> {
        let of = self.share.as_ref().map(|name| control.directory().exported(name)).transpose()?;
        let mut names = BTreeMap::new();
        let view = |lock: NfsLockInfo| {
            let share = names.entry(lock.share).or_insert_with(|| exported_name(control, lock.share)).clone();
            NfsLockView { share, lock }
        };
        collect(self.from, self.most, |from, most| control.live().nfs_locks(of, from, most), view).await
    }
}

/// Name of the share in an object, or of the snapshot of one.
fn exported_name(control: &Control, object: ObjectId) -> Option<String> {
    let directory = control.directory();
    let share = directory.share_of(object).map(|share| share.name.clone());
    let snapshot = || directory.snapshots().find(|snapshot| snapshot.object == object);
    share.or_else(|| snapshot().map(|snapshot| directory.full_name(snapshot)))
}

impl Request for NfsGraceShow {
    type Reply = NfsGrace;
    const NAME: &'static str = "nfs-grace-show";

    async fn run(&self, control: &Control) -> Result<NfsGrace, ControlError> {
        control.live().nfs_grace().ok_or_else(|| NfsClientError::NotServed.into())
    }
}

impl NfsClientError {
    /// Error for an id that no client has.
    pub(super) fn no_client(id: u64) -> ControlError {
        ControlError::NotFound { noun: Noun::NfsClient, name: format!("{id:016x}") }
    }
}
