//! Shares and export rules.

use super::offload::latency;
use super::volumes::shared;
use super::{copy_policy, squash, warning};
use crate::http::problem::Fault;
use api::{
    Deallocated, Export, KeptBySnapshot, NfsVersion, Share, ShareHost, ShareHostAddress, ShareIo, ShareSpace, Source,
    SourceKind,
};
use axum::http::StatusCode;
use control::{ExportCheckView, ExportTo, ExportView, Protocols, ShareIoView, ShareView, SpaceView};

pub(in crate::http) fn share(view: ShareView) -> Share {
    let root = view.record.root;
    Share {
        id: view.record.id,
        path: format!("/{}", view.record.name),
        name: view.record.name,
        pool: view.pool,
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        shared_bytes: shared(view.object.mapped_bytes, view.unique_bytes),
        snapshot_bytes: view.snapshot_bytes,
        snapshots: view.snapshots,
        promised_bytes: view.object.promised_bytes,
        quota_bytes: view.object.ceiling_bytes,
        protocols: versions(view.record.protocols),
        copy: copy_policy(view.record.copy),
        owner_uid: root.uid,
        owner_gid: root.gid,
        mode: format!("{:04o}", root.mode),
        fsid: format!("{:016x}", view.record.fsid),
        epoch: view.record.epoch,
        source: view.source.map(|source| Source {
            kind: if source.snapshot { SourceKind::Snapshot } else { SourceKind::Share },
            id: source.id,
            name: source.name,
        }),
        created: view.record.created,
        exports: view.exports.into_iter().map(export).collect(),
        portals: view.portals,
        warnings: view.warnings.into_iter().map(warning).collect(),
    }
}

pub(in crate::http) fn share_space(view: SpaceView) -> ShareSpace {
    let kept = |kept: control::KeptBy| KeptBySnapshot { snapshot: kept.snapshot, unique_bytes: kept.unique_bytes };
    let freed = view.unmapped;
    ShareSpace {
        share: view.volume,
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        shared_bytes: shared(view.object.mapped_bytes, view.unique_bytes),
        snapshot_bytes: view.snapshot_bytes,
        promised_bytes: view.object.promised_bytes,
        deallocated: Deallocated {
            operations: freed.commands,
            requested_bytes: freed.requested_bytes,
            deallocated_bytes: freed.deallocated_bytes,
            unaligned_bytes: freed.unaligned_bytes,
            below_grain_operations: freed.below_grain_commands,
        },
        kept: freed.kept.into_iter().map(kept).collect(),
    }
}

pub(in crate::http) fn share_io(view: ShareIoView) -> ShareIo {
    let share = view.record.name;
    view.counters.map_or_else(
        || ShareIo { share: share.clone(), ..ShareIo::default() },
        |counters| ShareIo {
            share: share.clone(),
            reads: counters.io.reads,
            read_bytes: counters.io.read_bytes,
            writes: counters.io.writes,
            written_bytes: counters.io.written_bytes,
            read_latency: latency(&counters.latency.read),
            write_latency: latency(&counters.latency.write),
        },
    )
}

pub(in crate::http) fn export(view: ExportView) -> Export {
    let (host_id, group_id) = match view.record.to {
        ExportTo::Host(host) => (Some(host), None),
        ExportTo::Group(group) => (None, Some(group)),
        ExportTo::Network(_) | ExportTo::Any => (None, None),
    };
    Export {
        share: view.share,
        share_id: view.record.share,
        host: view.grantee.word(),
        host_id,
        group_id,
        read_only: view.record.read_only,
        squash: squash(view.record.squash),
        anonymous_uid: view.record.anonymous_uid,
        anonymous_gid: view.record.anonymous_gid,
        privileged_port: view.record.privileged_port,
        created: view.record.created,
    }
}

pub(in crate::http) fn share_host(view: ExportCheckView) -> ShareHost {
    let address = |(address, rule): (_, Option<_>)| ShareHostAddress { address, rule: rule.map(export) };
    let addresses = view.addresses.into_iter().map(address).collect();
    ShareHost { share: view.share, host: view.host, addresses }
}

fn versions(protocols: Protocols) -> Vec<NfsVersion> {
    let all = [(protocols.v3, NfsVersion::V3), (protocols.v4, NfsVersion::V4)];
    all.into_iter().filter(|(on, _)| *on).map(|(_, version)| version).collect()
}

pub(in crate::http) fn protocols(versions: &[NfsVersion]) -> Protocols {
    Protocols { v3: versions.contains(&NfsVersion::V3), v4: versions.contains(&NfsVersion::V4) }
}

/// Permission bits in octal digits.
pub(in crate::http) fn mode(digits: &str) -> Result<u32, Fault> {
    let is_octal = !digits.is_empty() && digits.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    is_octal.then(|| u32::from_str_radix(digits, 8).ok()).flatten().ok_or_else(|| Fault::InvalidRequest {
        status: StatusCode::UNPROCESSABLE_ENTITY,
        detail: format!("mode {digits:?} is not possible: permission bits are octal digits, such as 0755"),
    })
}
