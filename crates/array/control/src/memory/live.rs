//! Running target that only records what it was asked for.

use super::limits::MemoryLimits;
use super::rollbacks::MemoryRollbacks;
use crate::directory::Directory;
use crate::exports::{ExportHosts, ExportRule};
use crate::live::{
    Change, ClientOffloadRow, ConnectionCounters, Live, LoginAttempt, LoginAttempts, NfsClientInfo, NfsGrace,
    NfsLockInfo, NfsPart, NfsPosition, OffloadRow, Portal, RefusedLogins, Reservations, SessionInfo,
    ShareRollbackError, UnitFacts, VolumeCounters,
};
use crate::live_files::LiveFiles;
use futures_util::future::LocalBoxFuture;
use pool::ObjectId;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use unit::{LogEntry, StoreError, VolumeId};

/// State that was returned last where only changes are.
#[derive(Debug, Default)]
struct Told {
    sessions: RefCell<BTreeMap<u64, SessionInfo>>,
    refusals: RefCell<Vec<LogEntry>>,
}

/// Running target that only records calls and returns preset values.
#[derive(Debug, Default)]
pub struct MemoryLive {
    /// Published changes in order.
    pub published: RefCell<Vec<Change>>,
    /// Sessions to report.
    pub sessions: RefCell<Vec<SessionInfo>>,
    /// Portals to report.
    pub portals: RefCell<Vec<Portal>>,
    /// Offload rows to report.
    pub offload: RefCell<Vec<OffloadRow>>,
    /// Answer for the clients of a share, by object.
    pub offload_by_client: RefCell<BTreeMap<u64, Vec<ClientOffloadRow>>>,
    /// Refusals to report.
    pub refusals: RefCell<Vec<LogEntry>>,
    /// Volume counters to report.
    pub counters: RefCell<Vec<VolumeCounters>>,
    /// Registrations and reservations to report, by object.
    pub reservations: RefCell<BTreeMap<u64, Reservations>>,
    /// Connections to report.
    pub connections: Cell<ConnectionCounters>,
    /// State of the NFS server to report; none if there is none.
    pub nfs: RefCell<Option<MemoryNfs>>,
    /// Number of parts of lists of the NFS server that were asked for.
    pub nfs_parts: Cell<usize>,
    /// True if hosts send a command between any two reads of the command counter.
    pub busy: Cell<bool>,
    commands: Cell<u64>,
    told: Told,
    /// Login attempts to report.
    pub logins: RefCell<LoginAttempts>,
    /// Result of the next [`Live::take_refused_logins`].
    pub refused_logins: RefCell<Option<RefusedLogins>>,
    /// Shares that were rolled back.
    pub rollbacks: MemoryRollbacks,
    /// File systems; absent if no files are served.
    pub files: RefCell<Option<Rc<dyn LiveFiles>>>,
    /// Reason why the pool stopped.
    pub stopped: RefCell<Option<String>>,
    /// Policies, and what they did.
    pub limits: MemoryLimits,
}

impl Live for MemoryLive {
    fn publish(&self, change: &Change, _directory: &Directory) {
        self.published.borrow_mut().push(change.clone());
    }

    fn clear(&self, _volume: ObjectId) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn clear_reservations(&self, volume: ObjectId) -> LocalBoxFuture<'static, Result<usize, StoreError>> {
        let cleared = self.reservations.borrow_mut().remove(&volume.0);
        let removed = cleared.map_or(0, |of| of.registrations.len() + usize::from(of.reserved_by.is_some()));
        Box::pin(std::future::ready(Ok(removed)))
    }

    fn roll_back_share(
        &self,
        share: ObjectId,
        snapshot: ObjectId,
    ) -> LocalBoxFuture<'static, Result<(), ShareRollbackError>> {
        let result = self.rollbacks.fail.take().map_or(Ok(()), Err);
        self.rollbacks.done.borrow_mut().extend(result.is_ok().then_some((share, snapshot)));
        Box::pin(std::future::ready(result))
    }

    fn files(&self) -> Option<Rc<dyn LiveFiles>> {
        self.files.borrow().clone()
    }

    fn settled(&self) -> LocalBoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn sessions(&self) -> Vec<SessionInfo> {
        self.sessions.borrow().clone()
    }

    fn drop_session(&self, id: u64) -> bool {
        let mut sessions = self.sessions.borrow_mut();
        let before = sessions.len();
        sessions.retain(|session| session.id != id);
        sessions.len() != before
    }

    fn portals(&self) -> Vec<Portal> {
        self.portals.borrow().clone()
    }

    /// Elements have their index as position.
    fn nfs_clients(&self, from: NfsPosition, most: usize) -> Option<NfsPart<NfsClientInfo>> {
        self.nfs_parts.set(self.nfs_parts.get() + 1);
        self.nfs.borrow().as_ref().map(|nfs| part(&nfs.clients, from, most, |_| true))
    }

    fn nfs_locks(&self, of: Option<ObjectId>, from: NfsPosition, most: usize) -> Option<NfsPart<NfsLockInfo>> {
        self.nfs_parts.set(self.nfs_parts.get() + 1);
        let is_of = |lock: &NfsLockInfo| of.is_none_or(|of| of == lock.share);
        self.nfs.borrow().as_ref().map(|nfs| part(&nfs.locks, from, most, is_of))
    }

    fn nfs_grace(&self) -> Option<NfsGrace> {
        self.nfs.borrow().as_ref().map(|nfs| nfs.grace)
    }

    fn nfs_portals(&self) -> Vec<String> {
        self.nfs.borrow().as_ref().map(|nfs| nfs.portals.clone()).unwrap_or_default()
    }

    /// The first rule decides about all addresses.
    fn deciding_export(&self, _: ObjectId, _: IpAddr) -> Option<usize> {
        self.nfs.borrow().as_ref().map(|_| 0)
    }

    /// Of rules, one that names a host decides about its addresses, and else the last one of all others.
    fn decide_exports(&self, rules: Vec<ExportRule>, addresses: &[IpAddr]) -> Vec<Option<usize>> {
        let decide = |address: &IpAddr| {
            let is_of = |rule: &ExportRule| matches!(&rule.hosts, ExportHosts::Host(own) if own.contains(address));
            let is_other = |rule: &ExportRule| !matches!(&rule.hosts, ExportHosts::Host(_));
            rules.iter().position(is_of).or_else(|| rules.iter().rposition(is_other))
        };
        addresses.iter().map(decide).collect()
    }

    fn nfs_addresses(&self) -> Vec<IpAddr> {
        self.nfs.borrow().as_ref().map(|nfs| nfs.addresses.clone()).unwrap_or_default()
    }

    fn expire_nfs_client(&self, id: u64) -> Option<LocalBoxFuture<'static, bool>> {
        let mut nfs = self.nfs.borrow_mut();
        let nfs = nfs.as_mut()?;
        nfs.locks.retain(|lock| lock.client != id);
        let found = nfs.clients.iter().any(|client| client.id == id);
        Some(Box::pin(std::future::ready(found)))
    }

    fn take_changed_sessions(&self) -> Vec<(u64, Option<SessionInfo>)> {
        let now: BTreeMap<u64, SessionInfo> =
            self.sessions.borrow().iter().map(|session| (session.id, session.clone())).collect();
        let before = self.told.sessions.replace(now.clone());
        let ended = before.keys().filter(|id| !now.contains_key(id)).map(|id| (*id, None));
        let changed = now.iter().filter(|(id, session)| before.get(id) != Some(session));
        ended.chain(changed.map(|(id, session)| (*id, Some(session.clone())))).collect()
    }

    fn unit(&self, volume: ObjectId) -> UnitFacts {
        UnitFacts {
            counters: self.counters.borrow().iter().find(|counters| counters.volume == volume).cloned(),
            offload: self.offload.borrow().iter().filter(|row| row.volume == volume).cloned().collect(),
            offload_by_client: self.offload_by_client.borrow().get(&volume.0).cloned().unwrap_or_default(),
            reservations: self.reservations.borrow().get(&volume.0).cloned().unwrap_or_default(),
        }
    }

    /// Returns every volume for which the test has set values, at each call.
    fn take_used_units(&self, most: usize) -> Vec<ObjectId> {
        let mut used: BTreeSet<ObjectId> = self.counters.borrow().iter().map(|counters| counters.volume).collect();
        used.extend(self.offload.borrow().iter().map(|row| row.volume));
        used.extend(self.reservations.borrow().keys().map(|object| ObjectId(*object)));
        used.into_iter().take(most).collect()
    }

    /// Returns all rows; the caller omits present volumes.
    fn deleted_offload(&self) -> Vec<OffloadRow> {
        self.offload.borrow().clone()
    }

    fn refusals(&self, since: u64) -> Vec<LogEntry> {
        self.refusals.borrow().iter().filter(|refusal| refusal.sequence >= since).cloned().collect()
    }

    fn take_changed_refusals(&self) -> Vec<LogEntry> {
        let present = self.refusals.borrow().clone();
        let before = self.told.refusals.replace(present.clone());
        present.into_iter().filter(|entry| !before.contains(entry)).collect()
    }

    fn connections(&self) -> ConnectionCounters {
        self.connections.get()
    }

    fn logins(&self) -> Vec<Arc<LoginAttempt>> {
        self.logins.borrow().all()
    }

    fn take_changed_logins(&self) -> Option<Vec<Arc<LoginAttempt>>> {
        self.logins.borrow_mut().take_changed()
    }

    fn take_refused_logins(&self) -> Option<RefusedLogins> {
        self.refused_logins.take()
    }

    fn commands(&self) -> u64 {
        self.commands.set(self.commands.get() + u64::from(self.busy.get()));
        self.commands.get()
    }

    fn set_policy(&self, policy: qos::PolicyId, limits: Option<(qos::Limits, bool)>) {
        self.limits.set_policy(policy, limits);
    }

    fn set_volume_policy(&self, volume: VolumeId, policy: Option<qos::PolicyId>) {
        self.limits.set_volume_policy(volume, policy);
    }

    fn set_host_policy(&self, host: qos::HostId, policy: Option<qos::PolicyId>) {
        self.limits.set_host_policy(host, policy);
    }

    fn held(&self) -> qos::Report {
        self.limits.report.borrow().clone()
    }

    fn pool_stopped(&self) -> Option<String> {
        self.stopped.borrow().clone()
    }
}

/// Part of a list of elements that have their index as position: those wanted of `most`.
fn part<T: Clone>(all: &[T], from: NfsPosition, most: usize, wanted: impl Fn(&T) -> bool) -> NfsPart<T> {
    let from = usize::try_from(from).unwrap_or(usize::MAX).min(all.len());
    let end = from.saturating_add(most).min(all.len());
    let elements = all[from..end].iter().filter(|element| wanted(element)).cloned().collect();
    NfsPart { next: (end < all.len()).then_some(end as NfsPosition), elements }
}

/// State of an NFS server.
#[derive(Clone, Debug, Default)]
pub struct MemoryNfs {
    /// Clients of NFSv4.
    pub clients: Vec<NfsClientInfo>,
    /// Locked ranges.
    pub locks: Vec<NfsLockInfo>,
    /// Grace period.
    pub grace: NfsGrace,
    /// Addresses of the server.
    pub portals: Vec<String>,
    /// Addresses with connections.
    pub addresses: Vec<IpAddr>,
}
