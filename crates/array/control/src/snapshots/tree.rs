//! `snapshot tree`: the descendants of a volume: its snapshots, clones of either, and so on.

use crate::pools::count;
use crate::{Control, ControlError, Directory, Request, SourceRecord};
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

impl Request for SnapshotTree {
    type Reply = Vec<TreeView>;
    const NAME: &'static str = "snapshot-tree";

    async fn run(&self, control: &Control) -> Result<Vec<TreeView>, ControlError> {
        let nodes = {
            let directory = control.directory();
            nodes(&directory, directory.volume(&self.volume)?.id)
        };
        let mut patience = control.patience();
        let mut views = Vec::with_capacity(nodes.len());
        for Node { depth, id, parent, snapshot, name, object, created, dependents } in nodes {
            // What was deleted meanwhile is left out.
            if let Some((object, unique_bytes)) = control.space_of(object, &mut patience).await {
                views.push(TreeView { depth, snapshot, id, parent, name, object, unique_bytes, dependents, created });
            }
        }
        Ok(views)
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
            .volumes
            .values()
            .filter(|volume| volume.source == Some(source))
            .map(|volume| (volume.created, volume.id, SourceRecord::Volume(volume.id)))
            .collect();
        let node = if snapshot {
            directory.snapshots.get(&id).map(|record| (directory.full_name(record), record.object, record.created))
        } else {
            let own = directory.snapshots.values().filter(|snapshot| snapshot.volume == id);
            children.extend(own.map(|snapshot| (snapshot.created, snapshot.id, SourceRecord::Snapshot(snapshot.id))));
            directory.volumes.get(&id).map(|record| (record.name.clone(), record.object, record.created))
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
