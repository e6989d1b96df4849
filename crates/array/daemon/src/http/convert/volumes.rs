//! Volumes, snapshots and their space.

use super::{kept, qos, warning};
use api::{Reserve, Snapshot, Source, SourceKind, TreeNode, Unmapped, Volume, VolumeLun, VolumeSpace};
use control::{SnapshotView, SourceRecord, SpaceView, TreeView, VolumeView};
use pool::ObjectInfo;

pub(in crate::http) fn volume(view: VolumeView) -> Volume {
    let (qos_policy, qos_held) = qos::limited(view.limited);
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
            kind: match view.record.source {
                _ if source.snapshot => SourceKind::Snapshot,
                Some(SourceRecord::Share(_)) => SourceKind::Share,
                _ => SourceKind::Volume,
            },
            id: source.id,
            name: source.name,
        }),
        labels: view.record.labels,
        created: view.record.created,
        luns: view
            .luns
            .into_iter()
            .map(|unit| VolumeLun { host: unit.name.unwrap_or_default(), lun: unit.lun, iscsi_url: unit.iscsi_url })
            .collect(),
        qos_policy,
        qos_held,
        warnings: view.warnings.into_iter().map(warning).collect(),
    }
}

/// Mapped bytes that are not unique. Both are counted at different times, so either may be larger.
pub(super) fn shared(mapped_bytes: u64, unique_bytes: Option<u64>) -> Option<u64> {
    unique_bytes.map(|unique_bytes| mapped_bytes.saturating_sub(unique_bytes))
}

pub(in crate::http) fn space(view: SpaceView) -> VolumeSpace {
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
            kept: view.unmapped.kept.into_iter().map(kept).collect(),
        },
    }
}

pub(in crate::http) fn tree_node(view: TreeView) -> TreeNode {
    TreeNode {
        depth: view.depth,
        kind: match (view.snapshot, view.of_share) {
            (true, _) => SourceKind::Snapshot,
            (false, true) => SourceKind::Share,
            (false, false) => SourceKind::Volume,
        },
        id: view.id,
        parent_id: view.parent,
        name: view.name,
        size_bytes: size_bytes(&view.object),
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        dependents: view.dependents,
        created: view.created,
    }
}

/// Size that hosts see: none of a share.
fn size_bytes(object: &ObjectInfo) -> u64 {
    if object.is_address_space() { 0 } else { object.size_bytes }
}

pub(in crate::http) fn snapshot(view: SnapshotView) -> Snapshot {
    Snapshot {
        id: view.record.id,
        name: view.record.name,
        volume: view.volume,
        volume_id: view.record.volume,
        of_share: view.of_share,
        size_bytes: size_bytes(&view.object),
        mapped_bytes: view.object.mapped_bytes,
        unique_bytes: view.unique_bytes,
        created: view.record.created,
        dependents: view.dependents,
        group_id: view.record.group,
        schedule: view.schedule,
        pinned: view.record.pinned,
        locked_until: view.record.locked_until,
    }
}
