//! `snapshot tree`: the descendants of a volume: its snapshots, clones of either, and so on.

use crate::directory::Directory;
use crate::error::ControlError;
use crate::facts::Facts;
use crate::pools::count;
use crate::read::Read;
use crate::volumes::record::SourceRecord;
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Shows a volume and its descendants, each after its parent.
#[derive(Clone, Debug)]
pub struct SnapshotTree {
    /// Name or id of the volume.
    pub volume: String,
}

/// Volume or snapshot in a tree.
#[derive(Clone, Debug)]
pub struct TreeView {
    /// Distance from the root.
    pub depth: u64,
    /// True for a snapshot, false for a volume.
    pub snapshot: bool,
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

/// Volume or snapshot before its space is counted.
struct Node {
    depth: u64,
    id: Uuid,
    parent: Option<Uuid>,
    snapshot: bool,
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
        let Ok(volume) = facts.directory().volume(&self.volume) else { return Vec::new() };
        nodes(facts.directory(), volume.id).into_iter().map(|node| vec![node.object]).collect()
    }

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<TreeView>, ControlError> {
        let directory = facts.directory();
        let view = |node: Node| {
            let Node { depth, id, parent, snapshot, name, object, created, dependents } = node;
            let unique_bytes = facts.unique_bytes(&[object]);
            // Objects that were deleted meanwhile are omitted.
            let object = facts.object(object)?;
            Some(TreeView { depth, snapshot, id, parent, name, object, unique_bytes, dependents, created })
        };
        Ok(nodes(directory, directory.volume(&self.volume)?.id).into_iter().filter_map(view).collect())
    }
}

/// The volume and its descendants, each after its parent, in order of creation.
fn nodes(directory: &Directory, root: Uuid) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![(0, None, SourceRecord::Volume(root))];
    while let Some((depth, parent, source)) = waiting.pop() {
        let (id, snapshot) = match source {
            SourceRecord::Volume(id) => (id, false),
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
        let node = if snapshot {
            directory.snapshot_by_id(id).map(|record| (directory.full_name(record), record.object, record.created))
        } else {
            let own = directory.snapshots_of(id);
            children.extend(own.map(|snapshot| (snapshot.created, snapshot.id, SourceRecord::Snapshot(snapshot.id))));
            directory.volume_by_id(id).map(|record| (record.name.clone(), record.object, record.created))
        };
        let Some((name, object, created)) = node else { continue };
        // The stack pops the last element first.
        children.sort_unstable_by_key(|(created, id, _)| std::cmp::Reverse((*created, *id)));
        let dependents = count(children.len());
        nodes.push(Node { depth, id, parent, snapshot, name, object, created, dependents });
        waiting.extend(children.into_iter().map(|(_, _, child)| (depth + 1, Some(id), child)));
    }
    nodes
}
