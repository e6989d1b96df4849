//! `snapshot tree`: the descendants of a volume or share: its snapshots, clones of either, and so on.

use crate::directory::{Content, Directory};
use crate::error::ControlError;
use crate::facts::Facts;
use crate::pools::count;
use crate::read::Read;
use crate::volumes::record::SourceRecord;
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Shows a volume or share and its descendants, each after its parent.
#[derive(Clone, Debug)]
pub struct SnapshotTree {
    /// Name or id of the volume or share.
    pub volume: String,
}

/// Volume, share or snapshot in a tree.
#[derive(Clone, Debug)]
pub struct TreeView {
    /// Distance from the root.
    pub depth: u64,
    /// True for a snapshot, false for a volume or share.
    pub snapshot: bool,
    /// True for a share and its snapshots.
    pub of_share: bool,
    /// Id.
    pub id: Uuid,
    /// Parent; absent for the root.
    pub parent: Option<Uuid>,
    /// Name; `volume@name` for a snapshot.
    pub name: String,
    /// Object.
    pub object: ObjectInfo,
    /// Bytes that deleting it alone would free.
    pub unique_bytes: Option<u64>,
    /// Number of direct descendants.
    pub dependents: u64,
    /// Creation time.
    pub created: Timestamp,
}

/// Volume, share or snapshot before its space is counted.
struct Node {
    depth: u64,
    id: Uuid,
    parent: Option<Uuid>,
    snapshot: bool,
    of_share: bool,
    name: String,
    object: ObjectId,
    created: jiff::Timestamp,
    dependents: u64,
}

impl Read for SnapshotTree {
    type Reply = Vec<TreeView>;
    const NAME: &'static str = "snapshot-tree";
    const FRESH_COUNTS: bool = true;

    fn counted(&self, facts: &dyn Facts) -> Vec<Vec<ObjectId>> {
        let Ok(root) = facts.directory().content(&self.volume) else { return Vec::new() };
        nodes(facts.directory(), &root).into_iter().map(|node| vec![node.object]).collect()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<TreeView>, ControlError> {
        let directory = facts.directory();
        let view = |node: Node| {
            let Node { depth, id, parent, snapshot, of_share, name, object, created, dependents } = node;
            let unique_bytes = facts.unique_bytes(&[object]);
            // Objects that were deleted meanwhile are omitted.
            let object = facts.object(object)?;
            Some(TreeView { depth, snapshot, of_share, id, parent, name, object, unique_bytes, dependents, created })
        };
        Ok(nodes(directory, &directory.content(&self.volume)?).into_iter().filter_map(view).collect())
    }
}

/// The root and its descendants, each after its parent, in order of creation.
fn nodes(directory: &Directory, root: &Content) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut seen = BTreeSet::new();
    let first = if root.is_share { SourceRecord::Share(root.id) } else { SourceRecord::Volume(root.id) };
    let mut waiting = vec![(0, None, first, root.is_share)];
    while let Some((depth, parent, source, above)) = waiting.pop() {
        // A volume may have the content of a file.
        let of_share = above && !matches!(source, SourceRecord::Volume(_));
        let (id, snapshot) = match source {
            SourceRecord::Volume(id) | SourceRecord::Share(id) => (id, false),
            SourceRecord::Snapshot(id) => (id, true),
        };
        // Contradicting documents could form a cycle.
        if !seen.insert(id) {
            continue;
        }
        let mut children: Vec<(jiff::Timestamp, Uuid, SourceRecord)> = directory
            .clones_of(source)
            .map(|volume| (volume.created, volume.id, SourceRecord::Volume(volume.id)))
            .collect();
        let shares = directory.share_clones_of(source);
        children.extend(shares.map(|share| (share.created, share.id, SourceRecord::Share(share.id))));
        let node = if snapshot {
            directory.snapshot_by_id(id).map(|record| (directory.full_name(record), record.object, record.created))
        } else {
            let own = directory.snapshots_of(id);
            children.extend(own.map(|snapshot| (snapshot.created, snapshot.id, SourceRecord::Snapshot(snapshot.id))));
            let volume = directory.volume_by_id(id).map(|record| (record.name.clone(), record.object, record.created));
            volume.or_else(|| {
                directory.share_by_id(id).map(|record| (record.name.clone(), record.object, record.created))
            })
        };
        let Some((name, object, created)) = node else { continue };
        // The stack pops the last element first.
        children.sort_unstable_by_key(|(created, id, _)| std::cmp::Reverse((*created, *id)));
        let dependents = count(children.len());
        nodes.push(Node { depth, id, parent, snapshot, of_share, name, object, created, dependents });
        waiting.extend(children.into_iter().map(|(_, _, child)| (depth + 1, Some(id), child, of_share)));
    }
    nodes
}
