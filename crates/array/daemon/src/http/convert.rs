//! Conversion of `control`'s views to types of `api`.

mod connect;
mod effect;
mod files;
mod history;
mod nfs;
mod offload;
mod qos;
mod schedules;
mod shares;
mod trash;
mod volumes;

use crate::severity::severity;
use api::{
    Access, AccessState, Acknowledgement, Alert, BadRange, Chap, CheckReport, CopyPolicy, Event, Forecast,
    ForecastSlope, Freeable, FreeableKind, GeneratedSecrets, Growing, Health, Host, HostLun, Job, JobState,
    KeptBySnapshot, LoginOutcome, NoticeState, OffloadEnding, OffloadTotal, Pool, PoolState, PortGroup, Portal,
    PrimitiveStatus, ReclaimReport, Registration, ReservationType, Reservations, Reserve, ReshareReport,
    SanitizeMethod, SanitizeReport, ScrubReport, Session, SessionParameters, Squash, StateOrigin, Status, Told,
    Warning,
};
pub(super) use connect::{connect_state, host_warning, login, plan};
use control::{
    AccessView, AlertView, CheckRecord, Commitment, ForecastView, HostView, JobReport, JobView, PoolView,
    PortGroupView, PortalView, Primitive, RegistrationView, ReservationView, ReservationsView, ScrubRecord, Secret,
    SessionView, StatusView,
};
pub(super) use effect::effect;
pub(super) use files::{file, file_range, file_view, segment};
pub(super) use history::{history, sample, series_info};
pub(super) use nfs::{nfs_client, nfs_client_id, nfs_grace, nfs_lock};
use notification::alert_id;
pub(super) use offload::{offload, offload_sums, refusal};
use pool::Growth;
pub(super) use qos::{burst, burst_or_none, detached, qos_policy};
pub(super) use schedules::{schedule, schedule_preview, wanted_keep, wanted_when};
pub(super) use shares::{export, mode, protocols, share, share_host, share_io, share_space};
use std::sync::Arc;
pub(super) use trash::{restored, trash_noun, trashed};
pub(super) use volumes::{snapshot, space, tree_node, volume};

pub(super) fn forecast(view: ForecastView) -> Forecast {
    let ForecastView { basis_days, slope, warn_at, critical_at, full_at, full_earliest, full_latest } = view;
    let slope_bytes_per_day = slope.map(|control::Slope { low, mid, high }| {
        let [low, mid, high] = [low, mid, high].map(|bytes| bytes.round() as i64);
        ForecastSlope { low, mid, high }
    });
    Forecast { basis_days, slope_bytes_per_day, warn_at, critical_at, full_at, full_earliest, full_latest }
}

/// Object that could be deleted, without its last use, which the history knows.
pub(super) fn freeable(view: control::FreeableView) -> Freeable {
    let control::FreeableView { kind, id, name, of_share, snapshots, frees_bytes, since, locked_until } = view;
    let last_used = None;
    Freeable { kind: freeable_kind(kind), id, name, of_share, snapshots, frees_bytes, since, last_used, locked_until }
}

/// Stands for the name of a volume that was deleted meanwhile.
const DELETED: &str = "(deleted)";

/// Conversions between types of `control` and `api` with the same variants or the same fields. Both
/// exist because `api` is a contract with clients, which only grows, while those of `control` are
/// free to change or are stored; what is the same is said once, here. The compiler refuses a
/// variant or field of the left side that is missing.
macro_rules! same {
    ($($visibility:vis enum $name:ident: $from:path => $to:path { $($variant:ident),* })*) => {$(
        $visibility const fn $name(value: $from) -> $to {
            use {$from as From, $to as To};
            match value {
                $(From::$variant => To::$variant),*
            }
        }
    )*};
    ($($visibility:vis struct $name:ident: $from:path => $to:path { $($field:ident),* })*) => {$(
        $visibility fn $name(value: $from) -> $to {
            use {$from as From, $to as To};
            let From { $($field),* } = value;
            To { $($field: $field.into()),* }
        }
    )*};
}

same! {
    enum access_state: control::AccessState => AccessState {
        ActiveOptimized, ActiveNonOptimized, Standby, Unavailable, Transitioning
    }
    pub(super) enum wanted_access_state: AccessState => control::AccessState {
        ActiveOptimized, ActiveNonOptimized, Standby, Unavailable, Transitioning
    }
    enum copy_policy: control::CopyPolicy => CopyPolicy { Share, Physical }
    pub(super) enum wanted_copy_policy: CopyPolicy => control::CopyPolicy { Share, Physical }
    enum squash: control::Squash => Squash { None, Root, All }
    pub(super) enum wanted_squash: Squash => control::Squash { None, Root, All }
    pub(super) enum health: control::Health => Health { Healthy, Degraded, Failed }
    enum login_outcome: control::LoginOutcome => LoginOutcome {
        Ok, UnknownInitiator, ChapFailed, NotGranted, Full, Redirected, UnknownTarget, Protocol
    }
    pub(super) enum wanted_login_outcome: LoginOutcome => control::LoginOutcome {
        Ok, UnknownInitiator, ChapFailed, NotGranted, Full, Redirected, UnknownTarget, Protocol
    }
    enum primitive_status: control::PrimitiveStanding => PrimitiveStatus { Supported, NotSupported, Unknown }
    enum offload_ending: control::Ending => OffloadEnding { Refused, Failed, Ineffective }
    pub(super) enum wanted_ending: OffloadEnding => control::Ending { Refused, Failed, Ineffective }
    enum pool_state: control::PoolState => PoolState { Healthy, LowSpace, Damaged, Full, BelowFull, Stopped }
    enum reservation_type: control::ReservationType => ReservationType {
        WriteExclusive, ExclusiveAccess, WriteExclusiveRegistrantsOnly, ExclusiveAccessRegistrantsOnly,
        WriteExclusiveAllRegistrants, ExclusiveAccessAllRegistrants
    }
    pub(super) enum reserve: Reserve => control::Reserve { Thick, Thin }
    pub(super) enum volume_has: api::VolumeHas => control::VolumeHas { Alert, NoHost, OpenAccess, Snapshots }
    pub(super) enum share_has: api::ShareHas => control::ShareHas { Alert, NoHost, OpenAccess, Snapshots }
    pub(super) enum host_has: api::HostHas => control::HostHas { Session, NoSession, NoVolume, NoChap }
    enum freeable_kind: control::FreeableKind => FreeableKind { Trash, Snapshot, Volume, Share }
    enum notice_state: control::ToldState => NoticeState { Queued, Sent, Failed, Quiet }
    enum state_origin: control::StateOrigin => StateOrigin { None, Explicit, Implicit }
}

same! {
    struct bad_range: control::BadRange => BadRange { volume, in_volume, snapshots, lba, blocks }
    struct check_report: CheckRecord => CheckReport { started, finished, objects, pages, blocks, count, findings }
    struct reclaim_report: control::ReclaimReport => ReclaimReport { volumes, scanned_bytes, deallocated_bytes }
    struct acknowledgement: control::AlertAcknowledged => Acknowledgement { by, time, note, until }
    struct warning: control::Warning => Warning { code, message }
    struct kept: control::KeptBy => KeptBySnapshot { snapshot, unique_bytes }
}

fn reshare_report(report: control::ReshareReport) -> ReshareReport {
    let control::ReshareReport { with, shift_bytes, compare_only, scanned_bytes, compared_bytes, .. } = report;
    let control::ReshareReport { shared_bytes, freed_bytes, already_bytes, different_bytes, .. } = report;
    ReshareReport {
        with,
        offset_bytes: shift_bytes,
        compare_only,
        scanned_bytes,
        compared_bytes,
        shared_bytes,
        freed_bytes,
        already_bytes,
        different_bytes,
        unreadable_bytes: report.unreadable_bytes,
    }
}

fn scrub_report(record: ScrubRecord) -> ScrubReport {
    let ScrubRecord { started, finished, verified_bytes, bad_blocks, bad, damaged } = record;
    let bad = bad.into_iter().map(bad_range).collect();
    ScrubReport { started, finished, verified_bytes, bad_blocks, bad, damaged }
}

pub(super) fn job(view: JobView) -> Job {
    let (state, error) = match view.state {
        control::JobState::Running => (JobState::Running, None),
        control::JobState::Done => (JobState::Done, None),
        control::JobState::Failed(reason) => (JobState::Failed, Some(reason)),
        control::JobState::Cancelled => (JobState::Cancelled, None),
    };
    let (mut reclaim, mut reshare, mut scrub, mut check, mut sanitize) = (None, None, None, None, None);
    match view.report {
        JobReport::Reclaim(report) => reclaim = Some(reclaim_report(report)),
        JobReport::Reshare(report) => reshare = Some(reshare_report(report)),
        JobReport::Scrub(record) => scrub = Some(scrub_report(record)),
        JobReport::Check(record) => check = record.map(check_report),
        JobReport::Sanitize(report) => {
            let method = if report.passes.is_some() { SanitizeMethod::Overwrite } else { SanitizeMethod::BlockErase };
            sanitize = Some(SanitizeReport { method, passes: report.passes });
        }
        JobReport::Management => {}
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
        reshare,
        scrub,
        check,
        sanitize,
    }
}

pub(super) fn event(event: control::Event) -> Event {
    let control::Event { id, time, severity: how, code, subject, message } = event;
    Event { id, time, severity: severity(how), code, subject, message }
}

fn told(told: control::AlertTold) -> Told {
    let control::AlertTold { channel, time, state, detail } = told;
    Told { channel, time, outcome: notice_state(state), detail }
}

pub(super) fn alert(view: AlertView) -> Alert {
    let note = view.note.map(Arc::unwrap_or_clone).unwrap_or_default();
    Alert {
        id: alert_id(view.code, &view.subject),
        code: view.code.to_owned(),
        severity: severity(view.severity),
        subject: view.subject,
        since: view.since,
        message: view.message,
        help: view.help.to_owned(),
        acknowledged: note.acknowledged.map(acknowledgement),
        told: note.told.into_iter().map(told).collect(),
        ended: None,
    }
}

pub(super) fn ended_alert(view: Arc<control::EndedAlertView>) -> Alert {
    let control::EndedAlertView { code, severity: of, subject, since, ended, message, help, note } =
        Arc::unwrap_or_clone(view);
    Alert {
        id: alert_id(&code, &subject),
        code,
        severity: severity(of),
        subject,
        since,
        message,
        help,
        acknowledged: note.acknowledged.map(acknowledgement),
        told: note.told.into_iter().map(told).collect(),
        ended: Some(ended),
    }
}

pub(super) fn host(view: HostView) -> Host {
    let text = |secret: Secret| secret.expose().to_owned();
    let (qos_policy, qos_held) = qos::limited(view.limited);
    Host {
        id: view.record.id,
        name: view.record.name,
        iqns: view.record.initiators.into_iter().map(String::from).collect(),
        addresses: view.record.addresses,
        chap: view.record.chap.map(|chap| Chap { user: chap.user, mutual_user: chap.mutual.map(|mutual| mutual.user) }),
        sessions: view.sessions,
        primitives: view.primitives.into_iter().map(connect::primitive).collect(),
        luns: view
            .luns
            .into_iter()
            .map(|unit| HostLun {
                volume: unit.name.unwrap_or_else(|| DELETED.to_owned()),
                lun: unit.lun,
                iscsi_url: unit.iscsi_url,
            })
            .collect(),
        qos_policy,
        qos_held,
        warnings: view.warnings.into_iter().map(host_warning).collect(),
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
        key: (!is_reserve).then(|| reservation_key(registration.key)),
        holder: registration.holder,
        reservation_type: if is_reserve { Some(ReservationType::Reserve) } else { kind.map(reservation_type) },
    }
}

/// Text of a reservation key.
fn reservation_key(key: u64) -> String {
    format!("{key:#018x}")
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
        mss_bytes: view.session.mss_bytes,
        parameters: session_parameters(view.session.parameters),
    }
}

pub(super) const fn session_parameters(of: control::SessionParameters) -> SessionParameters {
    SessionParameters {
        header_digest: of.header_digest,
        data_digest: of.data_digest,
        initial_r2t: of.initial_r2t,
        immediate_data: of.immediate_data,
        initiator_segment_bytes: of.initiator_segment_bytes,
        target_segment_bytes: of.target_segment_bytes,
        max_burst_bytes: of.max_burst_bytes,
        first_burst_bytes: of.first_burst_bytes,
        max_outstanding_r2t: of.max_outstanding_r2t,
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
        origin: state_origin(view.record.origin),
        portals: view.portals,
        sessions: view.sessions,
    }
}

pub(super) fn pool(view: PoolView) -> Pool {
    Pool {
        name: view.name,
        state: pool_state(view.state),
        stopped_reason: view.stopped,
        size_bytes: view.space.size_bytes,
        used_bytes: view.space.used_bytes,
        free_bytes: view.space.free_bytes,
        metadata_bytes: view.space.metadata_bytes,
        provisioned_bytes: view.provisioned_bytes,
        mapped_bytes: view.mapped_bytes,
        volumes: view.volumes,
        shares: view.shares,
        snapshots: view.snapshots,
        promised_bytes: view.space.promised_bytes,
        available_bytes: view.available_bytes,
        reclaimable_bytes: view.space.reclaimable_bytes,
        unique_bytes: view.unique_bytes,
        snapshot_bytes: view.snapshot_bytes,
        token_bytes: view.token_bytes,
        trash_bytes: view.trash.bytes,
        trash: view.trash.objects,
        trash_seconds: view.trash.seconds,
        trash_lock_seconds: view.trash.lock_seconds,
        latency_alert_us: view.latency_alert_us,
        shared_bytes: view.shared_bytes,
        commitment_percent: percent(view.provisioned_bytes, view.space.size_bytes),
        commitment_limit_percent: match view.limits.commitment {
            Commitment::Unlimited => None,
            Commitment::Percent(percent) => Some(percent),
        },
        warn_percent: view.limits.warn_percent,
        critical_percent: view.limits.critical_percent,
        scrub: view.examined.scrub.map(scrub_report),
        check: view.examined.check.map(check_report),
        growing: view.growing.map(growing),
        warnings: view.warnings.into_iter().map(warning).collect(),
    }
}

fn growing(growth: Growth) -> Growing {
    match growth {
        Growth::Size(bytes) => Growing { size_bytes: Some(bytes), device: None },
        Growth::Device(path) => Growing { size_bytes: None, device: Some(path.display().to_string()) },
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
            total.commands = total.commands.saturating_add(row.counters.commands);
            total.refused = total.refused.saturating_add(row.counters.refused);
            total.errors = total.errors.saturating_add(row.counters.errors);
            total.host_bytes_avoided = total.host_bytes_avoided.saturating_add(row.counters.host_bytes_avoided);
        }
        total
    };
    let shown = |total: &(Primitive, OffloadTotal)| total.0.is_of_volumes() || total.1.commands > 0;
    let totals = Primitive::ALL.into_iter().map(|primitive| (primitive, total(primitive)));
    let totals = totals.filter(shown).map(|(_, total)| total);
    Status {
        health: health(view.health),
        version: crate::VERSION.to_owned(),
        array_id: view.array_id,
        started: view.started,
        uptime_seconds: view.uptime_seconds,
        // Shares are not used by every array: their primitives are shown once they were used.
        offload: totals.collect(),
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
