//! Conversion of `control`'s views to types of `api`.

use api::{
    Access, AccessState, Alert, BadRange, Chap, CheckReport, Event, GeneratedSecrets, Health, Host, HostLun, Job,
    JobState, KeptBySnapshot, Latency, LatencyBucket, OffloadEnding, OffloadRefusal, OffloadRefusalCount,
    OffloadStatistics, OffloadTotal, Pool, PoolState, PortGroup, Portal, ReclaimReport, Registration, ReservationType,
    Reservations, Reserve, SanitizeMethod, SanitizeReport, ScrubReport, Session, Severity, Snapshot, Source,
    SourceKind, StateOrigin, Status, TreeNode, Unmapped, Volume, VolumeLun, VolumeSpace, Warning,
};
use control::{
    AccessView, AlertView, CheckRecord, Commitment, Histogram, HostView, JobReport, JobView, OffloadView, PoolView,
    PortGroupView, PortalView, Primitive, RefusalCount, RefusalView, RegistrationView, ReservationView,
    ReservationsView, ScrubRecord, Secret, SessionView, SnapshotView, SpaceView, StatusView, TreeView, VolumeView,
};

/// Stands for the name of a volume that was deleted meanwhile.
const DELETED: &str = "(deleted)";

pub(super) fn volume(view: VolumeView) -> Volume {
    Volume {
        id: view.record.id,
        naa: view.record.naa.to_string(),
        serial: view.record.naa.serial(),
        name: view.record.name,
        pool: view.pool,
        size_bytes: view.object.size_bytes,
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        shared_bytes: shared(view.object.mapped_bytes, view.unique_bytes),
        snapshot_bytes: view.snapshot_bytes,
        snapshots: view.snapshots,
        reserve: if view.object.reservation.is_some() { Reserve::Thick } else { Reserve::Thin },
        overwrite_reserve_percent: view.object.reservation.map(|reservation| reservation.overwrite_percent),
        promised_bytes: view.object.promised_bytes,
        zero_detection: view.object.zero_detection,
        warn_percent: view.record.warn_percent,
        critical_percent: view.record.critical_percent,
        write_cache: view.object.write_cache,
        source: view.source.map(|source| Source {
            kind: if source.snapshot { SourceKind::Snapshot } else { SourceKind::Volume },
            id: source.id,
            name: source.name,
        }),
        created: view.record.created,
        luns: view
            .luns
            .into_iter()
            .map(|unit| VolumeLun { host: unit.name.unwrap_or_default(), lun: unit.lun, iscsi_url: unit.iscsi_url })
            .collect(),
        warnings: view.warnings.into_iter().map(warning).collect(),
    }
}

fn warning(warning: control::Warning) -> Warning {
    Warning { code: warning.code.to_owned(), message: warning.message }
}

/// Mapped bytes that are not unique. Both are counted at different times, so either may be larger.
fn shared(mapped_bytes: u64, unique_bytes: Option<u64>) -> Option<u64> {
    unique_bytes.map(|unique_bytes| mapped_bytes.saturating_sub(unique_bytes))
}

pub(super) fn reserve(reserve: Reserve) -> control::Reserve {
    match reserve {
        Reserve::Thick => control::Reserve::Thick,
        Reserve::Thin => control::Reserve::Thin,
    }
}

pub(super) fn space(view: SpaceView) -> VolumeSpace {
    let kept = view.unmapped.kept.into_iter();
    VolumeSpace {
        volume: view.volume,
        provisioned_bytes: view.object.size_bytes,
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        shared_bytes: shared(view.object.mapped_bytes, view.unique_bytes),
        snapshot_bytes: view.snapshot_bytes,
        promised_bytes: view.object.promised_bytes,
        unmapped: Unmapped {
            commands: view.unmapped.commands,
            requested_bytes: view.unmapped.requested_bytes,
            deallocated_bytes: view.unmapped.deallocated_bytes,
            unaligned_bytes: view.unmapped.unaligned_bytes,
            below_grain_commands: view.unmapped.below_grain_commands,
            kept: kept
                .map(|kept| KeptBySnapshot { snapshot: kept.snapshot, unique_bytes: kept.unique_bytes })
                .collect(),
        },
    }
}

pub(super) fn tree_node(view: TreeView) -> TreeNode {
    TreeNode {
        depth: view.depth,
        kind: if view.snapshot { SourceKind::Snapshot } else { SourceKind::Volume },
        id: view.id,
        parent_id: view.parent,
        name: view.name,
        size_bytes: view.object.size_bytes,
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        dependents: view.dependents,
        created: view.created,
    }
}

pub(super) fn job(view: JobView) -> Job {
    let (state, error) = match view.state {
        control::JobState::Running => (JobState::Running, None),
        control::JobState::Done => (JobState::Done, None),
        control::JobState::Failed(reason) => (JobState::Failed, Some(reason)),
        control::JobState::Cancelled => (JobState::Cancelled, None),
    };
    let (mut reclaim, mut scrub, mut check, mut sanitize) = (None, None, None, None);
    match view.report {
        JobReport::Reclaim(report) => {
            reclaim = Some(ReclaimReport {
                volumes: report.volumes,
                scanned_bytes: report.scanned_bytes,
                deallocated_bytes: report.deallocated_bytes,
            });
        }
        JobReport::Scrub(record) => scrub = Some(scrub_report(record)),
        JobReport::Check(record) => check = record.map(check_report),
        JobReport::Sanitize(report) => {
            let method = if report.passes.is_some() { SanitizeMethod::Overwrite } else { SanitizeMethod::BlockErase };
            sanitize = Some(SanitizeReport { method, passes: report.passes });
        }
    }
    Job {
        id: view.id,
        kind: view.kind.name().to_owned(),
        subject: view.subject,
        state,
        done: view.done,
        total: view.total,
        unit: view.kind.unit().to_owned(),
        rate_per_second: view.rate_per_second,
        eta_seconds: view.eta_seconds,
        share_percent: view.share_percent,
        started: view.started,
        finished: view.finished,
        error,
        reclaim,
        scrub,
        check,
        sanitize,
    }
}

fn scrub_report(record: ScrubRecord) -> ScrubReport {
    let range = |range: control::BadRange| BadRange {
        volume: range.volume,
        in_volume: range.in_volume,
        snapshots: range.snapshots,
        lba: range.lba,
        blocks: range.blocks,
    };
    ScrubReport {
        started: record.started,
        finished: record.finished,
        verified_bytes: record.verified_bytes,
        bad_blocks: record.bad_blocks,
        bad: record.bad.into_iter().map(range).collect(),
        damaged: record.damaged,
    }
}

fn check_report(record: CheckRecord) -> CheckReport {
    CheckReport {
        started: record.started,
        finished: record.finished,
        objects: record.objects,
        pages: record.pages,
        blocks: record.blocks,
        count: record.count,
        findings: record.findings,
    }
}

pub(super) const fn wanted_severity(severity: Severity) -> control::Severity {
    match severity {
        Severity::Info => control::Severity::Info,
        Severity::Warning => control::Severity::Warning,
        Severity::Critical => control::Severity::Critical,
    }
}

fn severity(severity: control::Severity) -> Severity {
    match severity {
        control::Severity::Info => Severity::Info,
        control::Severity::Warning => Severity::Warning,
        control::Severity::Critical => Severity::Critical,
    }
}

pub(super) fn event(event: control::Event) -> Event {
    let control::Event { id, time, severity: how, code, subject, message } = event;
    Event { id, time, severity: severity(how), code, subject, message }
}

pub(super) fn alert(view: AlertView) -> Alert {
    Alert {
        code: view.code.to_owned(),
        severity: severity(view.severity),
        subject: view.subject,
        since: view.since,
        message: view.message,
        help: view.help.to_owned(),
    }
}

pub(super) fn snapshot(view: SnapshotView) -> Snapshot {
    Snapshot {
        id: view.record.id,
        name: view.record.name,
        volume: view.volume,
        volume_id: view.record.volume,
        size_bytes: view.object.size_bytes,
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        created: view.record.created,
        dependents: view.dependents,
        group_id: view.record.group,
    }
}

pub(super) fn host(view: HostView) -> Host {
    let text = |secret: Secret| secret.expose().to_owned();
    Host {
        id: view.record.id,
        name: view.record.name,
        iqns: view.record.initiators.into_iter().map(String::from).collect(),
        chap: view.record.chap.map(|chap| Chap { user: chap.user, mutual_user: chap.mutual.map(|mutual| mutual.user) }),
        sessions: view.sessions,
        luns: view
            .luns
            .into_iter()
            .map(|unit| HostLun {
                volume: unit.name.unwrap_or_else(|| DELETED.to_owned()),
                lun: unit.lun,
                iscsi_url: unit.iscsi_url,
            })
            .collect(),
        created: view.record.created,
        generated: view.generated.map(|generated| GeneratedSecrets {
            chap_secret: generated.chap.map(text),
            mutual_chap_secret: generated.mutual.map(text),
        }),
    }
}

pub(super) fn access(view: AccessView) -> Access {
    Access {
        volume: view.volume,
        volume_id: view.record.volume,
        host: view.grantee.word(),
        host_id: view.record.host,
        group_id: view.record.group,
        lun: view.record.lun,
        iscsi_url: view.iscsi_url,
        created: view.record.created,
    }
}

pub(super) fn offload(view: OffloadView) -> OffloadStatistics {
    let row = view.row;
    OffloadStatistics {
        volume: view.volume,
        deleted: view.deleted,
        primitive: row.primitive.name().to_owned(),
        commands: row.commands,
        ok: row.ok,
        refused: row.refused,
        miscompares: row.miscompares,
        errors: row.errors,
        bytes: row.bytes,
        host_bytes_avoided: row.host_bytes_avoided,
        cloned_bytes: row.cloned_bytes,
        copied_bytes: row.copied_bytes,
        deallocated_bytes: row.deallocated_bytes,
        unaligned_bytes: row.unaligned_bytes,
        latency: latency(&row.latency),
        refusals: reasons(&row.refusals),
        failures: reasons(&row.failures),
        ineffective: reasons(&row.ineffective),
    }
}

fn latency(histogram: &Histogram) -> Latency {
    let bounded = histogram.buckets.iter().map(|bucket| (Some(bucket.upper_us), bucket.count));
    let buckets = bounded.chain([(None, histogram.above)]).filter(|(_, count)| *count > 0);
    Latency {
        average_us: histogram.average_us(),
        p50_us: histogram.quantile_us(500),
        p99_us: histogram.quantile_us(990),
        histogram: buckets.map(|(upper_us, count)| LatencyBucket { upper_us, count }).collect(),
    }
}

fn reasons(counts: &[RefusalCount]) -> Vec<OffloadRefusalCount> {
    let count = |count: &RefusalCount| OffloadRefusalCount {
        reason_code: count.reason_code.to_owned(),
        reason: count.reason.to_owned(),
        count: count.count,
    };
    counts.iter().map(count).collect()
}

const fn offload_ending(ending: control::Ending) -> OffloadEnding {
    match ending {
        control::Ending::Refused => OffloadEnding::Refused,
        control::Ending::Failed => OffloadEnding::Failed,
        control::Ending::Ineffective => OffloadEnding::Ineffective,
    }
}

pub(super) const fn wanted_ending(ending: OffloadEnding) -> control::Ending {
    match ending {
        OffloadEnding::Refused => control::Ending::Refused,
        OffloadEnding::Failed => control::Ending::Failed,
        OffloadEnding::Ineffective => control::Ending::Ineffective,
    }
}

pub(super) fn refusal(view: RefusalView) -> OffloadRefusal {
    OffloadRefusal {
        sequence: view.refusal.sequence,
        time: view.refusal.time,
        volume: view.volume,
        deleted: view.deleted,
        initiator: view.refusal.initiator,
        host: view.host,
        primitive: view.refusal.primitive.name().to_owned(),
        ending: offload_ending(view.refusal.ending),
        reason_code: view.refusal.reason_code.to_owned(),
        reason: view.refusal.reason.to_owned(),
        detail: view.refusal.detail,
    }
}

pub(super) fn reservation(view: ReservationView) -> Registration {
    let ReservationView { volume, registration, reservation_type: kind, is_reserve } = view;
    let RegistrationView { registration, host, group } = registration;
    Registration {
        volume,
        initiator: registration.initiator,
        isid: format!("{:012x}", registration.isid),
        host,
        portal_id: registration.target_port,
        group,
        key: (!is_reserve).then(|| format!("{:#018x}", registration.key)),
        holder: registration.holder,
        reservation_type: if is_reserve { Some(ReservationType::Reserve) } else { kind.map(reservation_type) },
    }
}

pub(super) fn reservations(view: ReservationsView) -> Reservations {
    let kind = view.reservations.reservation_type.map(reservation_type);
    Reservations {
        volume: view.volume.clone(),
        reservation_type: if view.reserved_by.is_some() { Some(ReservationType::Reserve) } else { kind },
        generation: view.reservations.generation,
        persistent: view.reservations.persistent,
        conflicts: view.reservations.conflicts,
        registrations: view.rows().map(reservation).collect(),
    }
}

fn reservation_type(kind: control::ReservationType) -> ReservationType {
    match kind {
        control::ReservationType::WriteExclusive => ReservationType::WriteExclusive,
        control::ReservationType::ExclusiveAccess => ReservationType::ExclusiveAccess,
        control::ReservationType::WriteExclusiveRegistrantsOnly => ReservationType::WriteExclusiveRegistrantsOnly,
        control::ReservationType::ExclusiveAccessRegistrantsOnly => ReservationType::ExclusiveAccessRegistrantsOnly,
        control::ReservationType::WriteExclusiveAllRegistrants => ReservationType::WriteExclusiveAllRegistrants,
        control::ReservationType::ExclusiveAccessAllRegistrants => ReservationType::ExclusiveAccessAllRegistrants,
    }
}

pub(super) fn session(view: SessionView) -> Session {
    Session {
        id: view.session.id,
        initiator: view.session.initiator,
        host: view.host,
        portal: view.session.portal.to_string(),
        peer_address: view.session.peer_address.to_string(),
        since: view.session.since,
        last_io: view.session.last_io,
        commands: view.session.commands,
        read_bytes: view.session.read_bytes,
        written_bytes: view.session.written_bytes,
    }
}

pub(super) fn portal(view: PortalView) -> Portal {
    Portal {
        id: view.identifier,
        protocol: "iscsi".to_owned(),
        listen: view.portal.listen.to_string(),
        advertised: view.portal.advertised,
        target: view.target,
        group: view.group,
        state: access_state(view.state),
        redirect_permanently: view.redirect.as_ref().is_some_and(|redirect| redirect.permanently),
        redirect: view.redirect.map(|redirect| redirect.address),
    }
}

pub(super) fn port_group(view: PortGroupView) -> PortGroup {
    PortGroup {
        id: view.record.identifier,
        state: access_state(view.record.state),
        preferred: view.record.preferred,
        origin: match view.record.origin {
            control::StateOrigin::None => StateOrigin::None,
            control::StateOrigin::Explicit => StateOrigin::Explicit,
            control::StateOrigin::Implicit => StateOrigin::Implicit,
        },
        portals: view.portals,
        sessions: view.sessions,
    }
}

fn access_state(state: control::AccessState) -> AccessState {
    match state {
        control::AccessState::ActiveOptimized => AccessState::ActiveOptimized,
        control::AccessState::ActiveNonOptimized => AccessState::ActiveNonOptimized,
        control::AccessState::Standby => AccessState::Standby,
        control::AccessState::Unavailable => AccessState::Unavailable,
        control::AccessState::Transitioning => AccessState::Transitioning,
    }
}

pub(super) fn wanted_access_state(state: AccessState) -> control::AccessState {
    match state {
        AccessState::ActiveOptimized => control::AccessState::ActiveOptimized,
        AccessState::ActiveNonOptimized => control::AccessState::ActiveNonOptimized,
        AccessState::Standby => control::AccessState::Standby,
        AccessState::Unavailable => control::AccessState::Unavailable,
        AccessState::Transitioning => control::AccessState::Transitioning,
    }
}

pub(super) fn pool(view: PoolView) -> Pool {
    Pool {
        name: view.name,
        state: match view.state {
            control::PoolState::Healthy => PoolState::Healthy,
            control::PoolState::LowSpace => PoolState::LowSpace,
            control::PoolState::Damaged => PoolState::Damaged,
            control::PoolState::Full => PoolState::Full,
            control::PoolState::BelowFull => PoolState::BelowFull,
            control::PoolState::Stopped => PoolState::Stopped,
        },
        stopped_reason: view.stopped,
        size_bytes: view.space.size_bytes,
        used_bytes: view.space.used_bytes,
        free_bytes: view.space.free_bytes,
        metadata_bytes: view.space.metadata_bytes,
        provisioned_bytes: view.provisioned_bytes,
        mapped_bytes: view.mapped_bytes,
        volumes: view.volumes,
        snapshots: view.snapshots,
        promised_bytes: view.space.promised_bytes,
        available_bytes: view.available_bytes,
        reclaimable_bytes: view.space.reclaimable_bytes,
        unique_bytes: view.unique_bytes,
        snapshot_bytes: view.snapshot_bytes,
        token_bytes: view.token_bytes,
        shared_bytes: view.shared_bytes,
        commitment_percent: percent(view.provisioned_bytes, view.space.size_bytes),
        commitment_limit_percent: match view.limits.commitment {
            Commitment::Unlimited => None,
            Commitment::Percent(percent) => Some(percent),
        },
        warn_percent: view.limits.warn_percent,
        critical_percent: view.limits.critical_percent,
        scrub: view.scrub.map(scrub_report),
        check: view.check.map(check_report),
        warnings: view.warnings.into_iter().map(warning).collect(),
    }
}

pub(super) fn health(health: control::Health) -> Health {
    match health {
        control::Health::Healthy => Health::Healthy,
        control::Health::Degraded => Health::Degraded,
        control::Health::Failed => Health::Failed,
    }
}

pub(super) fn status(view: StatusView) -> Status {
    let total = |primitive: Primitive| {
        let rows = view.offload.iter().filter(|row| row.primitive == primitive);
        let mut total = OffloadTotal {
            primitive: primitive.name().to_owned(),
            commands: 0,
            refused: 0,
            errors: 0,
            host_bytes_avoided: 0,
        };
        for row in rows {
            total.commands = total.commands.saturating_add(row.commands);
            total.refused = total.refused.saturating_add(row.refused);
            total.errors = total.errors.saturating_add(row.errors);
            total.host_bytes_avoided = total.host_bytes_avoided.saturating_add(row.host_bytes_avoided);
        }
        total
    };
    Status {
        health: health(view.health),
        version: crate::VERSION.to_owned(),
        array_id: view.array_id,
        started: view.started,
        uptime_seconds: view.uptime_seconds,
        offload: Primitive::ALL.into_iter().map(total).collect(),
        portals: view.portals.into_iter().map(portal).collect(),
        target: view.target,
        volumes: view.pool.volumes,
        snapshots: view.pool.snapshots,
        hosts: view.hosts,
        sessions: view.sessions,
        pools: vec![pool(view.pool)],
        alerts: view.alerts.into_iter().map(alert).collect(),
        jobs: view.jobs.into_iter().map(job).collect(),
    }
}

/// Percentage, rounded down.
fn percent(part: u64, whole: u64) -> u64 {
    let percent = (u128::from(part) * 100).checked_div(u128::from(whole)).unwrap_or(0);
    u64::try_from(percent).unwrap_or(u64::MAX)
}
