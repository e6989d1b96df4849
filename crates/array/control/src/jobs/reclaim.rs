//! Reclaim job: finds stored blocks of zeros (written before zero detection was on, or copied) and
//! frees them.

use super::{Context, JobKind, JobReport, Kind, Progress, ReclaimReport};
use crate::catalog::{DynCatalog, each_object, first_object};
use crate::condition::Noun;
use crate::error::ControlError;
use crate::record::object_id;
use crate::volumes::record::VolumeRecord;
use futures_util::future::{FutureExt, LocalBoxFuture};
use jiff::Timestamp;
use pool::{ObjectId, ObjectInfo, ObjectKind, PoolError};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// State of the job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Work {
    /// Id and name of a single volume; absent: all volumes up to `last`.
    volume: Option<(Uuid, String)>,
    /// Volume being scanned.
    #[serde(with = "object_id")]
    object: ObjectId,
    offset_bytes: u64,
    /// Last volume; later ones are not scanned.
    #[serde(with = "object_id")]
    last: ObjectId,
    report: ReclaimReport,
}

impl Work {
    pub fn of_volume(record: &VolumeRecord) -> Self {
        let volume = Some((record.id, record.name.clone()));
        Self { volume, object: record.object, offset_bytes: 0, last: record.object, report: ReclaimReport::default() }
    }

    /// Work on all volumes, of which the first one is to be found.
    pub fn of_volumes(catalog: &dyn DynCatalog) -> Self {
        let (object, last) = (ObjectId(0), catalog.last_object_id());
        Self { volume: None, object, offset_bytes: 0, last, report: ReclaimReport::default() }
    }

    pub async fn of_all(catalog: &dyn DynCatalog) -> Self {
        let work = Self::of_volumes(catalog);
        // Without a volume, the first one is after the last one.
        let first = first_object(catalog, work.object, work.last, is_volume).await;
        Self { object: first.unwrap_or(ObjectId(work.last.0.saturating_add(1))), ..work }
    }

    /// Performs one step. Returns false at the end.
    pub async fn step(&mut self, context: &dyn Context, progress: &mut Progress) -> Result<bool, ControlError> {
        if self.object > self.last {
            return Ok(false);
        }
        match context.catalog().reclaim_zeros(self.object, self.offset_bytes).await {
            Ok(step) => {
                self.report.scanned_bytes = self.report.scanned_bytes.saturating_add(step.scanned_bytes);
                self.report.deallocated_bytes = self.report.deallocated_bytes.saturating_add(step.deallocated_bytes);
                progress.done = progress.done.saturating_add(step.scanned_bytes);
                if let Some(next) = step.next {
                    self.offset_bytes = next;
                    return Ok(true);
                }
                self.report.volumes = self.report.volumes.saturating_add(1);
            }
            // A deleted volume has nothing left to reclaim.
            Err(_) if context.catalog().object(self.object).is_none() => {
                if let Some((_, name)) = self.volume.clone() {
                    return Err(ControlError::DeletedMeanwhile { noun: Noun::Volume, name });
                }
            }
            // Damage of one volume does not end a job over all volumes.
            Err(PoolError::Damaged(reason)) => {
                let reason = context.report_damage(&reason, Some(self.object));
                if self.volume.is_some() {
                    return Err(ControlError::Damaged { reason });
                }
            }
            Err(error) => return Err(context.pool_error(error)),
        }
        self.offset_bytes = 0;
        let from = ObjectId(self.object.0.saturating_add(1));
        match first_object(context.catalog(), from, self.last, is_volume).await {
            Some(next) => {
                self.object = next;
                Ok(true)
            }
            None => Ok(false),
        }
    }
}

impl Kind for Work {
    fn kind(&self) -> JobKind {
        JobKind::Reclaim
    }

    fn volume(&self) -> Option<(Uuid, &str)> {
        self.volume.as_ref().map(|(id, name)| (*id, name.as_str()))
    }

    fn expected<'a>(&'a self, catalog: &'a dyn DynCatalog) -> LocalBoxFuture<'a, Progress> {
        async move {
            let mut total = 0_u64;
            if self.volume.is_some() {
                total = catalog.object(self.object).map_or(0, |object| object.mapped_bytes);
            } else {
                each_object(catalog, |object| {
                    if is_volume(object) && object.id <= self.last {
                        total = total.saturating_add(object.mapped_bytes);
                    }
                })
                .await;
            }
            Progress { done: 0, total }
        }
        .boxed_local()
    }

    fn report(&self, _now: Timestamp) -> JobReport {
        JobReport::Reclaim(self.report)
    }

    fn summary(&self) -> String {
        let ReclaimReport { deallocated_bytes, scanned_bytes, .. } = self.report;
        format!("{} of zeros freed of {}", text::size::format(deallocated_bytes), text::size::format(scanned_bytes))
    }
}

fn is_volume(object: &ObjectInfo) -> bool {
    object.kind == ObjectKind::Volume && !object.is_replica
}
