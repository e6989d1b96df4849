//! Changes of the catalog: objects are created, cloned, resized, rolled back and deleted, documents
//! are stored. One record holds a list of changes and makes it atomic.

use crate::core::Core;
use crate::core::admission::SMALL_BYTES;
use crate::core::operation::broken;
use crate::geometry::{NARROW_LEVEL, blocks_for, level_for};
use crate::log::record::Shared;
use crate::map::reserves::{Ask, Purpose, TABLE_PATH};

use crate::interface::operation::Output;
use crate::interface::{CatalogChange, PoolError};
use crate::log::record;
use crate::mutations::{Mutation, leaves_out};

use crate::core::progress::Progress;
use crate::schedule::step::Step;

use media::{FEATURE_CEILING, FEATURE_LOCKS, FEATURE_PATCHES, FEATURE_REPLICAS, FEATURE_WIDE, Media};

impl<M: Media> Core<M> {
    pub(in crate::core) fn catalog_step(&mut self, changes: &[CatalogChange], progress: &mut Progress) -> Step {
        if let Err(error) = self.map.objects().validate(changes) {
            return Step::Fail(error.into());
        }
        let bytes = record::catalog_bytes(changes);
        if !self.log.could_fit(bytes) {
            return Step::Fail(PoolError::BadDocument { key: "(all changes of one commit)".into(), bytes }.into());
        }
        for feature in changes.iter().filter_map(feature_of) {
            if !self.takes_feature(feature) {
                return Step::LogFull;
            }
        }
        if let Err(error) = self.map.catalog_stays_below_ceilings(changes) {
            return Step::Fail(error.into());
        }
        if !self.map.plan_catalog(changes) || !self.map.need().is_empty() {
            return Step::Wait;
        }
        // Changes that only remove, and documents that replace ones at least as large, must work in
        // a full pool.
        let creates = |c: &&CatalogChange| {
            matches!(
                c,
                CatalogChange::CreateVolume { .. }
                    | CatalogChange::CreateCapture { .. }
                    | CatalogChange::CloneObject { .. }
            )
        };
        let created = changes.iter().filter(creates).count() as u64;
        let growth = self.map.growth_of_documents(changes);
        let deletes = changes.iter().any(|c| matches!(c, CatalogChange::DeleteObject { .. }));
        // A document takes its space when the next checkpoint stores it.
        let stored = self.map.blocks_of_documents(changes) + 1;
        let promise = self.map.promise_of_changes(changes);
        let table = TABLE_PATH * (1 + created.min(1)) + self.map.blocks_of_created(changes);
        let blocks = self.map.need().allocations + table + stored;
        let ask = if deletes || (created == 0 && growth == 0) {
            let purpose = if promise == 0 { Purpose::Freeing } else { Purpose::Storing };
            Ask { passing: blocks, promise, purpose, ..Ask::default() }
        } else {
            let small = created == 0 && promise == 0 && growth <= SMALL_BYTES as u64;
            let purpose = if small { Purpose::Locking } else { Purpose::Storing };
            Ask { lasting: blocks, promise, purpose, ..Ask::default() }
        };
        if let Err(step) = self.room(ask, progress) {
            return step;
        }
        if !self.log_takes(bytes) {
            return Step::LogFull;
        }
        if self.map.assign_catalog(changes).is_none() {
            self.stop("the map contradicts itself (catalog)");
            return broken();
        }
        self.end_differences(changes);
        let mut shared = Vec::new();
        for change in changes {
            if let CatalogChange::SetReservation { id, reservation: Some(_) } = change
                && let Some(object) = self.map.objects().get(*id)
            {
                shared.push(Shared { object: *id, blocks: object.shared, pages: object.pages_due });
            }
        }
        self.log.append(|out| record::encode_catalog(out, changes, &shared));
        Step::Durable(Output::Done)
    }

    /// Ends the differences that compare an object whose content or size these changes have replaced.
    fn end_differences(&mut self, changes: &[CatalogChange]) {
        for change in changes {
            if let CatalogChange::DeleteObject { id }
            | CatalogChange::Resize { id, .. }
            | CatalogChange::Rollback { id, .. } = change
            {
                self.remembered.differences_mut().note_replaced(*id);
            }
        }
    }

    /// True if the superblock says that the pool has this feature. Otherwise requests the checkpoint that says
    /// so: a program that does not know the feature must refuse the pool before the first record of it is in
    /// the log.
    pub(super) fn takes_feature(&mut self, feature: u64) -> bool {
        if self.has_feature(feature) {
            return true;
        }
        // An address space will want patches: one checkpoint says both.
        let together_with = if feature == FEATURE_WIDE { FEATURE_PATCHES } else { 0 };
        self.medium.require_features(together_with);
        if !self.checkpoints.in_flight() {
            self.checkpoints.request();
        }
        false
    }

    /// True if the superblock says that the pool has this feature. Otherwise the next checkpoint will say so.
    pub(super) fn has_feature(&mut self, feature: u64) -> bool {
        if self.media().features() & feature != 0 || leaves_out(Mutation::Mark) {
            return true;
        }
        self.medium.require_features(feature);
        false
    }
}

/// Feature that a change needs: earlier releases do not know maps of more than four levels (volumes above 16 TiB,
/// address spaces), ceilings, locks, and replicas.
fn feature_of(change: &CatalogChange) -> Option<u64> {
    match change {
        CatalogChange::CreateVolume { size_bytes, .. }
        | CatalogChange::CreateCapture { size_bytes, .. }
        | CatalogChange::Resize { size_bytes, .. } => {
            (level_for(blocks_for(*size_bytes)) > NARROW_LEVEL).then_some(FEATURE_WIDE)
        }
        CatalogChange::SetCeiling { ceiling_bytes, .. } => ceiling_bytes.map(|_| FEATURE_CEILING),
        CatalogChange::Lock { .. } | CatalogChange::Unlock { .. } => Some(FEATURE_LOCKS),
        CatalogChange::SetReplica { .. } => Some(FEATURE_REPLICAS),
        CatalogChange::CloneObject { .. }
        | CatalogChange::DeleteObject { .. }
        | CatalogChange::SetWriteCache { .. }
        | CatalogChange::SetZeroDetection { .. }
        | CatalogChange::SetReservation { .. }
        | CatalogChange::Rollback { .. }
        | CatalogChange::PutDocument { .. }
        | CatalogChange::DeleteDocument { .. } => None,
    }
}
