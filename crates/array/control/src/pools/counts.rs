//! Counts of unique bytes for volumes, snapshots and copy tokens.

use super::unique::{Patience, UNFINISHED};
use crate::control::Control;
use pool::{ObjectId, PoolError};
use uuid::Uuid;

impl Control {
    /// Bytes that deleting these objects together would free, as last counted.
    pub(crate) fn last_count(&self, objects: &[ObjectId]) -> Option<u64> {
        self.pool().unique.last(objects)
    }

    /// Counts the bytes that deleting a volume or share, and deleting all its snapshots, would free.
    pub(crate) async fn count_content(&self, object: ObjectId, id: Uuid, patience: &mut Patience) {
        self.count(&[object], patience).await;
        let snapshots = self.directory().snapshot_objects(id);
        if !snapshots.is_empty() {
            self.count(&snapshots, patience).await;
        }
    }

    /// Counts the bytes that deleting these objects together would free. Damage of one object is
    /// reported and does not affect the counts of others.
    pub(crate) async fn count(&self, objects: &[ObjectId], patience: &mut Patience) {
        let changes = self.catalog().changes();
        if let Err(PoolError::Damaged(reason)) =
            self.pool().unique.of(self.catalog(), &**self.environment(), objects, patience).await
        {
            // Other errors: an object was deleted meanwhile, or the pool stopped, which has its own
            // event.
            self.report_damage(&reason, objects.first().copied());
        }
        // An unfinished traversal is checked again even if nothing changes.
        self.publish_count(objects, if self.pool().unique.is_running(objects) { UNFINISHED } else { changes });
    }

    /// Time that a request waits for counts.
    pub(crate) fn patience(&self) -> Patience {
        Patience::new(&**self.environment())
    }

    /// Drops counts of deleted objects once they are many, and returns true if it did.
    pub(crate) fn forget_unique_counts(&self, most: usize, exists: impl Fn(&[ObjectId]) -> bool) -> bool {
        let are_many = self.pool().unique.len() > most;
        if are_many {
            self.pool().unique.retain(exists);
        }
        are_many
    }
}
