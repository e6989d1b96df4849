//! Views of `control` as types of `api`.

use api::{
    ANY_HOST, Access, Chap, GeneratedSecrets, Health, Host, HostLun, Latency, LatencyBucket, OffloadRefusal,
    OffloadRefusalCount, OffloadStatistics, OffloadTotal, Pool, PoolState, Portal, Session, Snapshot, Source,
    SourceKind, Status, Volume, VolumeLun,
};
use control::{
    AccessView, Histogram, HostView, OffloadView, PoolView, Primitive, RefusalCount, RefusalView, Secret, SessionView,
    SnapshotView, StatusView, VolumeView,
};

/// What stands for the name of a volume that is gone.
const DELETED: &str = "(deleted)";

pub(super) fn volume(view: VolumeView) -> Volume {
    Volume {
        id: view.record.id,
        naa: view.record.naa.to_string(),
        serial: view.record.naa.serial(),
        name: view.record.name,
        size_bytes: view.object.size_bytes,
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        snapshots: view.snapshots,
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
            .map(|unit| VolumeLun { host: host_name(unit.name), lun: unit.lun, iscsi_url: unit.iscsi_url })
            .collect(),
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
    }
}

pub(super) fn host(view: HostView) -> Host {
    let text = |secret: Secret| secret.expose().to_owned();
    Host {
        id: view.record.id,
        name: view.record.name,
        iqns: view.record.iqns,
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
        host: host_name(view.host),
        host_id: view.record.host,
        lun: view.record.lun,
        iscsi_url: view.iscsi_url,
        created: view.record.created,
    }
}

pub(super) fn offload(view: OffloadView) -> OffloadStatistics {
    let row = view.row;
    OffloadStatistics {
        volume: view.volume.unwrap_or_else(|| DELETED.to_owned()),
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

pub(super) fn refusal(view: RefusalView) -> OffloadRefusal {
    OffloadRefusal {
        sequence: view.refusal.sequence,
        time: view.refusal.time,
        volume: view.volume.unwrap_or_else(|| DELETED.to_owned()),
        initiator: view.refusal.initiator,
        host: view.host,
        primitive: view.refusal.primitive.name().to_owned(),
        reason_code: view.refusal.reason_code.to_owned(),
        reason: view.refusal.reason.to_owned(),
        detail: view.refusal.detail,
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

pub(super) fn portals(portals: Vec<control::Portal>, target: &str) -> Vec<Portal> {
    let portal = |portal: control::Portal| Portal {
        protocol: "iscsi".to_owned(),
        listen: portal.listen.to_string(),
        advertised: portal.advertised,
        target: target.to_owned(),
    };
    portals.into_iter().map(portal).collect()
}

pub(super) fn pool(view: PoolView) -> Pool {
    Pool {
        name: view.name,
        state: match view.state {
            control::PoolState::Healthy => PoolState::Healthy,
            control::PoolState::Full => PoolState::Full,
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
        let mut total =
            OffloadTotal { primitive: primitive.name().to_owned(), commands: 0, refused: 0, host_bytes_avoided: 0 };
        for row in rows {
            total.commands = total.commands.saturating_add(row.commands);
            total.refused = total.refused.saturating_add(row.refused);
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
        portals: portals(view.portals, &view.target),
        target: view.target,
        volumes: view.pool.volumes,
        snapshots: view.pool.snapshots,
        hosts: view.hosts,
        sessions: view.sessions,
        pools: vec![pool(view.pool)],
    }
}

fn host_name(name: Option<String>) -> String {
    name.unwrap_or_else(|| ANY_HOST.to_owned())
}
