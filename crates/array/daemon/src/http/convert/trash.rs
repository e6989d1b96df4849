//! The trash.

use super::warning;
use api::{Restored, TrashKind, Trashed};
use control::{Noun, TrashView};

pub(in crate::http) fn trashed(view: TrashView) -> Trashed {
    let naa = match &view.record.what {
        control::Trashed::Volume(volume) => Some(volume.naa.to_string()),
        control::Trashed::Share(_) | control::Trashed::Snapshot(_) => None,
    };
    Trashed {
        id: view.record.what.id(),
        kind: kind(view.record.what.noun()),
        name: view.name,
        naa,
        size_bytes: view.size_bytes,
        snapshots: view.snapshots,
        grants: number(view.record.grants.len()),
        holds_bytes: view.unique_bytes,
        deleted: view.record.deleted,
        until: view.record.until,
        locked_until: view.locked_until,
    }
}

pub(in crate::http) fn restored(view: control::Restored) -> Restored {
    Restored {
        id: view.id,
        kind: kind(view.noun),
        name: view.name,
        snapshots: number(view.snapshots),
        grants: number(view.grants),
        warnings: view.warnings.into_iter().map(warning).collect(),
    }
}

/// Noun of a kind.
pub(in crate::http) const fn trash_noun(kind: TrashKind) -> Noun {
    match kind {
        TrashKind::Volume => Noun::Volume,
        TrashKind::Share => Noun::Share,
        TrashKind::Snapshot => Noun::Snapshot,
    }
}

/// Kind of an object; the trash has no others.
const fn kind(noun: Noun) -> TrashKind {
    match noun {
        Noun::Share => TrashKind::Share,
        Noun::Snapshot => TrashKind::Snapshot,
        _ => TrashKind::Volume,
    }
}

fn number(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
