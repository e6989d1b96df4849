//! The running array as `control` sees it: passes changes to the units and then to the protocols,
//! and returns running state as plain numbers.

use super::super::ArrayUnits;
use super::super::admission::Admissions;
use super::super::frontends::Frontends;
use super::super::nfs::Nfs;
use super::super::nfs::files::AllFiles;
use super::super::nfs::rollback::roll_back;
use super::super::nfs::rules as rules_of;
use super::super::state::Reactor;
use block::VolumeId;
use control::{
    Change, ClientOffloadRow, ConnectionCounters, Directory, ExportRule, Live, LiveFiles, LoginAttempt, NfsClientInfo,
    NfsGrace, NfsLockInfo, NfsPart, NfsPosition, OffloadRow, Portal, RefusedLogins, Registration, Reservations,
    SessionInfo, ShareRollbackError, UnitFacts, VolumeCounters,
};
use futures_util::future::LocalBoxFuture;
use media::Media;
use nfs_server::{ClientOffload, ShareStatistics, Statistics};
use pool::ObjectId;
use qos::{HostId, Limits, PolicyId, Report};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use unit::StoreError;
use unit::reservations::RegistrationInfo;
use unit::{LogEntry, VolumeOffload};

/// Implementation of [`Live`] in the reactor.
pub(crate) struct LiveArray<M: Media + 'static> {
    reactor: Rc<Reactor<M>>,
    pub frontends: Frontends<M>,
    /// Portals of all frontends, in the order of the configuration.
    portals: Vec<Portal>,
    /// Volumes whose content was replaced while writes were in flight.
    unsettled: RefCell<BTreeSet<VolumeId>>,
}

impl<M: Media + 'static> LiveArray<M> {
    pub fn new(reactor: Rc<Reactor<M>>, frontends: Frontends<M>, portals: Vec<Portal>) -> Self {
        Self { reactor, frontends, portals, unsettled: RefCell::default() }
    }

    /// Units of all volumes.
    pub fn units(&self) -> &Rc<ArrayUnits<M>> {
        &self.reactor.units
    }

    /// Limits of volumes and hosts.
    pub fn admissions(&self) -> &Rc<Admissions> {
        &self.reactor.admissions
    }

    /// Publishes the whole directory, at the start.
    pub fn load(&self, directory: &Directory) {
        for volume in directory.volumes() {
            self.add(directory, volume.object);
        }
        for frontend in self.frontends.iter() {
            frontend.load(directory);
        }
    }

    fn add(&self, directory: &Directory, object: ObjectId) {
        if let Some(volume) = directory.volume_of(object) {
            self.reactor.units.add(self.reactor.pool.volume(object), &volume.name);
        }
    }

    /// Makes a change of a volume in its unit. Everything else is a matter of the protocols.
    fn publish_to_units(&self, change: &Change, directory: &Directory) {
        let units = &self.reactor.units;
        match change {
            Change::VolumeAdded { object } => self.add(directory, *object),
            Change::VolumeRemoved { object } => {
                units.remove(VolumeId(object.0));
            }
            Change::VolumeRenamed { object } => {
                if let Some(volume) = directory.volume_of(*object) {
                    units.rename(VolumeId(object.0), &volume.name);
                }
            }
            Change::VolumeRolledBack { object, .. } => {
                units.replace_device(VolumeId(object.0), self.reactor.pool.volume(*object));
                self.unsettled.borrow_mut().insert(VolumeId(object.0));
            }
            // The device knows its size and its write cache; the rest is about hosts.
            Change::VolumeResized { .. }
            | Change::WriteCacheChanged { .. }
            | Change::ThresholdReached { .. }
            | Change::ThresholdsChanged { .. }
            | Change::PortGroupTransitionBegins { .. }
            | Change::PortGroupTransitionFailed
            | Change::PortGroupsChanged
            | Change::AccessGranted { .. }
            | Change::AccessRevoked { .. }
            | Change::GroupAccessChanged { .. }
            | Change::HostChanged { .. }
            | Change::ShareAdded { .. }
            | Change::ShareRemoved { .. }
            | Change::ShareChanged { .. }
            | Change::ExportsChanged { .. }
            | Change::HostGroupChanged { .. }
            | Change::HostRemoved { .. } => {}
        }
    }
}

impl<M: Media + 'static> LiveArray<M> {
    /// Counters of reads and writes of a volume; absent if there were none.
    fn counters(&self, volume: ObjectId) -> Option<VolumeCounters> {
        let unit = self.reactor.units.get(VolumeId(volume.0))?;
        let io = unit.statistics.io();
        let queue_depth = unit.statistics.commands_in_flight();
        if io.reads + io.writes + queue_depth == 0 {
            return None;
        }
        Some(VolumeCounters { volume, io, queue_depth, latency: unit.statistics.latency() })
    }

    /// Rows of the primitives used on a volume.
    fn offload(&self, volume: ObjectId) -> Vec<OffloadRow> {
        let unit = self.reactor.units.get(VolumeId(volume.0)).into_iter();
        unit.flat_map(|unit| unit.offload(false)).filter(|row| row.statistics.commands > 0).map(offload_row).collect()
    }

    /// Statistics of shares, if NFS is served.
    fn shares(&self) -> Option<&Statistics> {
        self.frontends.nfs.as_deref().map(Nfs::statistics)
    }

    fn reservations(&self, volume: ObjectId) -> Reservations {
        let Some(unit) = self.reactor.units.get(VolumeId(volume.0)) else { return Reservations::default() };
        let report = unit.reservation_report();
        let registration = |info: RegistrationInfo| Registration {
            initiator: info.registrant.name,
            isid: u64::try_from(info.registrant.instance).unwrap_or_default(),
            target_port: info.registrant.target_port,
            key: info.key,
            holder: info.holder,
        };
        let client = |client| self.frontends.iter().find_map(|frontend| frontend.client(client));
        Reservations {
            registrations: report.registrations.into_iter().map(registration).collect(),
            reservation_type: report.reservation_type,
            persistent: report.persists,
            generation: report.generation,
            reserved_by: report.reserved_by.and_then(client),
            conflicts: report.conflicts,
        }
    }
}

impl<M: Media + 'static> Live for LiveArray<M> {
    fn publish(&self, change: &Change, directory: &Directory) {
        self.publish_to_units(change, directory);
        for frontend in self.frontends.iter() {
            frontend.publish(change, directory);
        }
    }

    fn clear(&self, volume: ObjectId) -> LocalBoxFuture<'static, ()> {
        let reactor = Rc::clone(&self.reactor);
        Box::pin(async move { reactor.units.clear_commands(VolumeId(volume.0)).await })
    }

    fn clear_reservations(&self, volume: ObjectId) -> LocalBoxFuture<'static, Result<usize, StoreError>> {
        let reactor = Rc::clone(&self.reactor);
        Box::pin(async move { reactor.units.clear_reservations(VolumeId(volume.0)).await.unwrap_or(Ok(0)) })
    }

    fn roll_back_share(
        &self,
        share: ObjectId,
        snapshot: ObjectId,
    ) -> LocalBoxFuture<'static, Result<(), ShareRollbackError>> {
        roll_back(&self.reactor, self.frontends.nfs.as_ref(), share, snapshot)
    }

    fn files(&self) -> Option<Rc<dyn LiveFiles>> {
        self.frontends.nfs.as_ref().map(|nfs| Rc::new(AllFiles(Rc::clone(nfs))) as Rc<dyn LiveFiles>)
    }

    fn settled(&self) -> LocalBoxFuture<'static, ()> {
        let (reactor, volumes) = (Rc::clone(&self.reactor), self.unsettled.take());
        let frontends: Vec<_> = self.frontends.iter().map(|frontend| frontend.settled()).collect();
        Box::pin(async move {
            for frontend in frontends {
                frontend.await;
            }
            for volume in volumes {
                reactor.units.writes_done(volume).await;
            }
        })
    }

    fn sessions(&self) -> Vec<SessionInfo> {
        self.frontends.iter().flat_map(|frontend| frontend.sessions()).collect()
    }

    fn drop_session(&self, id: u64) -> bool {
        self.frontends.iter().any(|frontend| frontend.drop_session(id))
    }

    fn nfs_clients(&self, from: NfsPosition, most: usize) -> Option<NfsPart<NfsClientInfo>> {
        self.frontends.nfs.as_ref().map(|nfs| nfs.clients(from, most))
    }

    fn nfs_locks(&self, of: Option<ObjectId>, from: NfsPosition, most: usize) -> Option<NfsPart<NfsLockInfo>> {
        self.frontends.nfs.as_ref().map(|nfs| nfs.locks(of, from, most))
    }

    fn nfs_grace(&self) -> Option<NfsGrace> {
        self.frontends.nfs.as_ref().map(|nfs| nfs.grace())
    }

    fn nfs_portals(&self) -> Vec<String> {
        self.frontends.nfs.as_ref().map(|nfs| nfs.portals().to_vec()).unwrap_or_default()
    }

    fn deciding_export(&self, share: ObjectId, address: IpAddr) -> Option<usize> {
        self.frontends.nfs.as_ref()?.deciding_rule(share, address)
    }

    fn decide_exports(&self, rules: Vec<ExportRule>, addresses: &[IpAddr]) -> Vec<Option<usize>> {
        let rules = rules_of(rules);
        addresses.iter().map(|address| rules.deciding(*address)).collect()
    }

    fn nfs_addresses(&self) -> Vec<IpAddr> {
        self.frontends.nfs.as_ref().map(|nfs| nfs.addresses()).unwrap_or_default()
    }

    fn expire_nfs_client(&self, id: u64) -> Option<LocalBoxFuture<'static, bool>> {
        self.frontends.nfs.as_ref().map(|nfs| nfs.expire_client(id))
    }

    fn portals(&self) -> Vec<Portal> {
        self.portals.clone()
    }

    fn take_changed_sessions(&self) -> Vec<(u64, Option<SessionInfo>)> {
        self.frontends.iter().flat_map(|frontend| frontend.take_changed_sessions()).collect()
    }

    fn deleted_offload(&self) -> Vec<OffloadRow> {
        let shares = self.shares().map(Statistics::deleted_offload).unwrap_or_default();
        self.reactor.units.deleted_offload().into_iter().chain(shares).map(offload_row).collect()
    }

    fn unit(&self, volume: ObjectId) -> UnitFacts {
        if let Some(statistics) = self.shares()
            && let Some(share) = statistics.share(volume.0)
        {
            return share_facts(volume, statistics, &share);
        }
        UnitFacts {
            counters: self.counters(volume),
            offload: self.offload(volume),
            offload_by_client: Vec::new(),
            reservations: self.reservations(volume),
        }
    }

    fn take_used_units(&self, most: usize) -> Vec<ObjectId> {
        let volumes = self.reactor.units.take_used(most);
        let left = most.saturating_sub(volumes.len());
        let shares = self.shares().map(|statistics| statistics.take_used(left)).unwrap_or_default();
        volumes.into_iter().map(|volume| ObjectId(volume.0)).chain(shares.into_iter().map(ObjectId)).collect()
    }

    fn refusals(&self, since: u64) -> Vec<LogEntry> {
        self.reactor.units.refusals(since)
    }

    fn take_changed_refusals(&self) -> Vec<LogEntry> {
        self.reactor.units.take_changed_refusals()
    }

    fn connections(&self) -> ConnectionCounters {
        let counters = self.frontends.iter().map(|frontend| frontend.connections());
        counters.reduce(add_connections).unwrap_or_default()
    }

    fn logins(&self) -> Vec<Arc<LoginAttempt>> {
        self.frontends.iter().flat_map(|frontend| frontend.logins()).collect()
    }

    fn take_changed_logins(&self) -> Option<Vec<Arc<LoginAttempt>>> {
        self.frontends.iter().find_map(|frontend| frontend.take_changed_logins())
    }

    fn take_refused_logins(&self) -> Option<RefusedLogins> {
        self.frontends.iter().find_map(|frontend| frontend.take_refused_logins())
    }

    fn commands(&self) -> u64 {
        self.frontends.iter().map(|frontend| frontend.commands()).fold(0, u64::saturating_add)
    }

    fn set_policy(&self, policy: PolicyId, limits: Option<(Limits, bool)>) {
        self.reactor.admissions.set_policy(policy, limits);
    }

    fn set_volume_policy(&self, volume: VolumeId, policy: Option<PolicyId>) {
        self.reactor.admissions.set_volume_policy(volume, policy);
    }

    fn set_host_policy(&self, host: HostId, policy: Option<PolicyId>) {
        self.reactor.admissions.set_host_policy(host, policy);
    }

    fn held(&self) -> Report {
        self.reactor.admissions.report()
    }

    fn pool_stopped(&self) -> Option<String> {
        self.reactor.pool.with_core(|core| core.stopped().map(str::to_owned))
    }
}

/// Adds the counters of two frontends.
fn add_connections(one: ConnectionCounters, other: ConnectionCounters) -> ConnectionCounters {
    ConnectionCounters {
        with_session: one.with_session + other.with_session,
        without_session: one.without_session + other.without_session,
        max_sessions: one.max_sessions + other.max_sessions,
        max_without_session: one.max_without_session + other.max_without_session,
        displaced: one.displaced + other.displaced,
        logins_failed: one.logins_failed + other.logins_failed,
        sessions_full: one.sessions_full + other.sessions_full,
        login_timeouts: one.login_timeouts + other.login_timeouts,
        protocol_errors: one.protocol_errors + other.protocol_errors,
    }
}

fn share_facts(object: ObjectId, statistics: &Statistics, share: &ShareStatistics) -> UnitFacts {
    let io = share.unit.io();
    let used = io.reads + io.writes > 0;
    let client = |row: ClientOffload| ClientOffloadRow {
        client: row.client,
        primitive: row.primitive,
        counters: row.statistics,
    };
    UnitFacts {
        counters: used.then(|| VolumeCounters { volume: object, io, queue_depth: 0, latency: share.unit.latency() }),
        offload: share.offload(false).into_iter().map(offload_row).collect(),
        offload_by_client: statistics.clients(object.0).into_iter().map(client).collect(),
        reservations: Reservations::default(),
    }
}

fn offload_row(row: VolumeOffload) -> OffloadRow {
    OffloadRow { volume: ObjectId(row.volume.0), name: row.name, primitive: row.primitive, counters: row.statistics }
}
