//! Reshare job: blocks of a volume that a host has copied share those of the original again. Content is compared before
//! anything is shared; a dry run compares and changes nothing.

use super::{Context, JobKind, JobReport, Kind, Progress, ReshareReport};
use crate::catalog::DynCatalog;
use crate::condition::Noun;
use crate::directory::sources::Found;
use crate::error::ControlError;
use crate::record::object_id;
use crate::volumes::record::{SourceRecord, VolumeRecord};
use futures_util::future::{FutureExt, LocalBoxFuture};
use jiff::Timestamp;
use pool::{ObjectId, PoolError, Reshare};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// State of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Work {
    /// Id and name of the volume.
    volume: (Uuid, String),
    #[serde(with = "object_id")]
    object: ObjectId,
    /// Volume or snapshot whose blocks it shares.
    with: SourceRecord,
    #[serde(with = "object_id")]
    with_object: ObjectId,
    offset_bytes: u64,
    report: ReshareReport,
}

impl Work {
    pub fn new(record: &VolumeRecord, with: Found, shift_bytes: i64, compare_only: bool) -> Self {
        let report = ReshareReport { with: with.name, shift_bytes, compare_only, ..ReshareReport::default() };
        Self {
            volume: (record.id, record.name.clone()),
            object: record.object,
            with: with.record,
            with_object: with.object,
            offset_bytes: 0,
            report,
        }
    }

    /// True if both do the same with the same objects.
    pub fn is_the_same_as(&self, other: &Self) -> bool {
        let kind = |work: &Self| (work.report.shift_bytes, work.report.compare_only);
        self.with_object == other.with_object && kind(self) == kind(other)
    }

    /// Performs one step. Returns false at the end.
    pub async fn step(&mut self, context: &dyn Context, progress: &mut Progress) -> Result<bool, ControlError> {
        let reshare = Reshare {
            object: self.object,
            with: self.with_object,
            offset: self.offset_bytes,
            shift_bytes: self.report.shift_bytes,
            compare_only: self.report.compare_only,
        };
        match context.catalog().reshare(reshare).await {
            Ok(step) => {
                for reason in &step.damaged {
                    // The damaged page may belong to the volume or to the other object.
                    context.report_damage(reason, None);
                }
                progress.done = progress.done.saturating_add(step.scanned_bytes);
                let next = step.next;
                self.report.add(&step);
                self.offset_bytes = next.unwrap_or(self.offset_bytes);
                Ok(next.is_some())
            }
            Err(error) => Err(self.failure(context, error)),
        }
    }

    fn failure(&self, context: &dyn Context, error: PoolError) -> ControlError {
        let is_gone = |object| context.catalog().object(object).is_none();
        let deleted = |noun, name: &str| ControlError::DeletedMeanwhile { noun, name: name.to_owned() };
        match error {
            _ if is_gone(self.object) => deleted(Noun::Volume, &self.volume.1),
            _ if is_gone(self.with_object) => {
                let noun = match self.with {
                    SourceRecord::Snapshot(_) => Noun::Snapshot,
                    // No share is a source of blocks.
                    SourceRecord::Volume(_) | SourceRecord::Share(_) => Noun::Volume,
                };
                deleted(noun, &self.report.with)
            }
            PoolError::Damaged(reason) => ControlError::Damaged { reason: context.report_damage(&reason, None) },
            error => context.pool_error(error),
        }
    }
}

impl Kind for Work {
    fn kind(&self) -> JobKind {
        JobKind::Reshare
    }

    fn volume(&self) -> Option<(Uuid, &str)> {
        Some((self.volume.0, self.volume.1.as_str()))
    }

    fn expected<'a>(&'a self, catalog: &'a dyn DynCatalog) -> LocalBoxFuture<'a, Progress> {
        async move {
            let total = catalog.object(self.object).map_or(0, |object| object.mapped_bytes);
            Progress { done: 0, total }
        }
        .boxed_local()
    }

    fn report(&self, _now: Timestamp) -> JobReport {
        JobReport::Reshare(self.report.clone())
    }

    fn summary(&self) -> String {
        let ReshareReport { shared_bytes, freed_bytes, compare_only, .. } = self.report;
        let [shared, freed] = [shared_bytes, freed_bytes].map(text::size::format);
        let with = &self.report.with;
        match compare_only {
            true => format!("{shared} can be shared with {with}, which frees {freed}"),
            false => format!("{shared} shared with {with}, {freed} freed"),
        }
    }
}
