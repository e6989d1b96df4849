//! The running array as `control` sees it: passes changes to the units and then to the protocols,
//! and returns running state as plain numbers.

use super::super::array::Reactor;
use super::super::frontend::Frontend;
use block::VolumeId;
use control::{
    Bucket, Change, ConnectionCounters, Directory, Histogram, Live, OffloadRow, Portal, Refusal, RefusalCount,
    Registration, Reservations, SessionInfo, VolumeCounters,
};
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use media::Media;
use pool::ObjectId;
use scsi_target::{Grant, LogicalUnitConfig, Profile};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use unit::reservations::RegistrationInfo;
use unit::{ClientId, LatencyHistogram, Reason, ReasonCounts};

/// Implementation of [`Live`] in the reactor.
pub(crate) struct LiveArray<M: Media + 'static> {
    reactor: Rc<Reactor<M>>,
    frontends: Vec<Rc<dyn Frontend>>,
    /// Portals of all frontends, in the order of the configuration.
    portals: Vec<Portal>,
    /// How every logical unit presents itself.
    profile: Profile,
    /// Volumes with writes that are not to be any more.
    unsettled: RefCell<BTreeSet<VolumeId>>,
}

impl<M: Media + 'static> LiveArray<M> {
    pub fn new(
        reactor: Rc<Reactor<M>>,
        frontends: Vec<Rc<dyn Frontend>>,
        portals: Vec<Portal>,
        profile: Profile,
    ) -> Self {
        Self { reactor, frontends, portals, profile, unsettled: RefCell::default() }
    }

    /// Everything in the directory, at the start.
    pub fn load(&self, directory: &Directory) {
        for volume in directory.volumes() {
            self.add(directory, volume.object);
        }
        self.grant(directory);
        self.set_port_groups(directory);
        *self.reactor.directory.borrow_mut() = Some(directory.clone());
    }

    fn add(&self, directory: &Directory, object: ObjectId) {
        let Some(record) = directory.volume_of(object) else { return };
        self.reactor.target.add_logical_unit(LogicalUnitConfig {
            unit: self.reactor.units.add(self.reactor.pool.volume(object), &record.name),
            naa: *record.naa.as_bytes(),
            serial: record.naa.serial(),
            profile: self.profile,
        });
    }

    fn set_port_groups(&self, directory: &Directory) {
        let (ports, groups) = super::port_groups::of(directory);
        self.reactor.target.set_port_groups(ports, groups);
    }

    /// Makes the target's grants those of the directory.
    fn grant(&self, directory: &Directory) {
        let target = &self.reactor.target;
        let mut wanted: BTreeMap<VolumeId, BTreeMap<Option<String>, u16>> = BTreeMap::new();
        for (object, host, lun) in directory.grants() {
            let volume = wanted.entry(VolumeId(object.0)).or_default();
            match host {
                None => {
                    volume.insert(None, lun);
                }
                Some(host) => volume.extend(host.iqns.iter().map(|iqn| (Some(iqn.clone()), lun))),
            }
        }
        let volumes: Vec<VolumeId> = directory.volumes().map(|v| VolumeId(v.object.0)).collect();
        // What goes first: a number may have moved from one volume to another.
        for &volume in &volumes {
            for grant in target.grants(volume) {
                let kept = wanted.get(&volume).and_then(|w| w.get(&grant.initiator)) == Some(&grant.lun);
                if !kept {
                    target.revoke(volume, grant.initiator.as_deref());
                    self.unsettled.borrow_mut().insert(volume);
                }
            }
        }
        for (volume, grants) in wanted {
            let existing = target.grants(volume);
            for (initiator, lun) in grants {
                let grant = Grant { initiator, lun };
                if !existing.contains(&grant)
                    && let Err(error) = target.set_access(volume, grant)
                {
                    tracing::error!(volume = volume.0, %error, "a grant could not be made");
                }
            }
        }
    }
}

impl<M: Media + 'static> Live for LiveArray<M> {
    fn publish(&self, change: &Change, directory: &Directory) {
        let target = &self.reactor.target;
        match change {
            Change::VolumeAdded { object } => self.add(directory, *object),
            Change::VolumeRemoved { object } => {
                self.reactor.units.remove(VolumeId(object.0));
                target.remove_logical_unit(VolumeId(object.0));
            }
            Change::VolumeResized { object, .. } => target.resized(VolumeId(object.0)),
            // Whoever sees it learns that its capacity may have changed; that the content did, no unit attention says.
            Change::VolumeRolledBack { object, .. } => {
                self.reactor.units.replace_device(VolumeId(object.0), self.reactor.pool.volume(*object));
                target.resized(VolumeId(object.0));
                self.unsettled.borrow_mut().insert(VolumeId(object.0));
            }
            Change::ThresholdReached { object, .. } => {
                target.soft_threshold_reached(object.map(|object| VolumeId(object.0)));
            }
            Change::ThresholdsChanged { object } => {
                target.thresholds_changed(object.map(|object| VolumeId(object.0)));
            }
            Change::WriteCacheChanged { object, .. } => target.write_cache_changed(VolumeId(object.0)),
            Change::PortGroupTransitionBegins { groups } => target.begin_port_group_transition(groups),
            Change::PortGroupTransitionFailed => target.port_group_transition_failed(),
            Change::PortGroupsChanged => self.set_port_groups(directory),
            Change::AccessGranted { .. }
            | Change::AccessRevoked { .. }
            | Change::HostChanged { .. }
            | Change::HostGroupChanged { .. }
            | Change::HostRemoved { .. } => self.grant(directory),
        }
        *self.reactor.directory.borrow_mut() = Some(directory.clone());
        for frontend in &self.frontends {
            frontend.publish(change, directory);
        }
    }

    fn clear(&self, volume: ObjectId) -> LocalBoxFuture<'static, ()> {
        let reactor = Rc::clone(&self.reactor);
        Box::pin(async move { reactor.units.clear_commands(VolumeId(volume.0)).await })
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

    fn portals(&self) -> Vec<Portal> {
        self.portals.clone()
    }

    fn offload_statistics(&self) -> Vec<OffloadRow> {
        self.reactor
            .units
            .offload()
            .into_iter()
            .filter(|row| row.statistics.commands > 0)
            .map(|row| OffloadRow {
                volume: ObjectId(row.volume.0),
                primitive: row.primitive,
                commands: row.statistics.commands,
                ok: row.statistics.ok,
                refused: row.statistics.refused,
                miscompares: row.statistics.miscompares,
                errors: row.statistics.errors,
                bytes: row.statistics.bytes,
                host_bytes_avoided: row.statistics.host_bytes_avoided,
                cloned_bytes: row.statistics.cloned_bytes,
                copied_bytes: row.statistics.copied_bytes,
                deallocated_bytes: row.statistics.deallocated_bytes,
                unaligned_bytes: row.statistics.unaligned_bytes,
                latency: histogram(&row.statistics.latency),
                refusals: reasons(&row.statistics.refusals),
                ineffective: reasons(&row.statistics.ineffective),
            })
            .collect()
    }

    fn offload_log(&self, limit: usize) -> Vec<Refusal> {
        let mut entries = self.reactor.units.refusals(0);
        let surplus = entries.len().saturating_sub(limit);
        entries.drain(..surplus);
        entries
            .into_iter()
            .map(|entry| Refusal {
                sequence: entry.sequence,
                time: i64::try_from(entry.unix_ms)
                    .ok()
                    .and_then(|ms| Timestamp::from_millisecond(ms).ok())
                    .unwrap_or(Timestamp::UNIX_EPOCH),
                volume: ObjectId(entry.volume.0),
                initiator: entry.initiator,
                primitive: entry.primitive,
                reason_code: entry.reason.code(),
                reason: entry.reason.words(),
                detail: entry.detail,
            })
            .collect()
    }

    fn volume_counters(&self) -> Vec<VolumeCounters> {
        let directory = self.reactor.directory.borrow();
        let Some(directory) = &*directory else { return Vec::new() };
        directory
            .volumes()
            .filter_map(|volume| {
                let unit = self.reactor.units.get(VolumeId(volume.object.0))?;
                let io = unit.statistics.io();
                let queue_depth = unit.statistics.commands_in_flight();
                if io.reads + io.writes + queue_depth == 0 {
                    return None;
                }
                let latency = unit.statistics.latency();
                Some(VolumeCounters {
                    volume: volume.object,
                    reads: io.reads,
                    writes: io.writes,
                    read_bytes: io.read_bytes,
                    written_bytes: io.written_bytes,
                    queue_depth,
                    read_latency: histogram(&latency.read),
                    write_latency: histogram(&latency.write),
                })
            })
            .collect()
    }

    fn connections(&self) -> ConnectionCounters {
        let counters = self.frontends.iter().map(|frontend| frontend.connections());
        counters.reduce(add_connections).unwrap_or_default()
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
        let client = |client: ClientId| {
            let nexus = self.reactor.target.nexus_of(client)?;
            let registrant = scsi_target::registrant(&nexus.initiator_port, nexus.relative_target_port);
            // An initiator port without a parseable name has no ISID.
            let isid = registrant.and_then(|registrant| u64::try_from(registrant.instance).ok()).unwrap_or_default();
            let target_port = nexus.relative_target_port;
            Some(Registration { initiator: nexus.initiator, isid, target_port, key: 0, holder: true })
        };
        Reservations {
            registrations: report.registrations.into_iter().map(registration).collect(),
            reservation_type: report.reservation_type,
            persistent: report.persists,
            generation: report.generation,
            reserved_by: report.reserved_by.and_then(client),
            conflicts: report.conflicts,
        }
    }

    fn commands(&self) -> u64 {
        self.frontends.iter().map(|frontend| frontend.commands()).fold(0, u64::saturating_add)
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

fn reasons(counts: &ReasonCounts) -> Vec<RefusalCount> {
    let count =
        |(reason, count): (Reason, u64)| RefusalCount { reason_code: reason.code(), reason: reason.words(), count };
    counts.given().map(count).collect()
}

fn histogram(latency: &LatencyHistogram) -> Histogram {
    // The last bucket has no upper bound.
    let (above, bounded) = latency.buckets.split_last().map_or((0, &[][..]), |(last, rest)| (*last, rest));
    let buckets = (0u32..)
        .zip(bounded)
        .map(|(i, count)| Bucket { upper_us: LatencyHistogram::upper_bound_us(i), count: *count })
        .collect();
    Histogram { buckets, above, sum_us: latency.sum_ns / 1000 }
}
