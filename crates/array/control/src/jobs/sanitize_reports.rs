//! Reports of the SCSI target about sanitize operations, which their jobs show (`sanitize.rs`).

use super::sanitize::Work;
use super::{Job, JobError, Progress};
use crate::condition::Noun;
use crate::control::Control;
use crate::error::ControlError;
use crate::sanitize::record::{SanitizeJob, SanitizeRecord};
use pool::ObjectId;

impl Control {
    /// Shows an operation in progress as a job, if it is not shown already.
    pub(crate) fn show_sanitize(&self, object: ObjectId, name: String, record: &SanitizeRecord) {
        let Some(SanitizeJob { id, started }) = record.job.clone() else { return };
        if self.sanitize_of(object).is_some() {
            return;
        }
        let total = self.catalog().object(object).map_or(0, |info| info.size_bytes);
        let progress = Progress { done: 0, total };
        let passes = record.overwrite.as_ref().map(|overwrite| overwrite.count);
        let work = Work::new(record.volume, object, name, passes, progress);
        // The target limits the rate; the job only waits.
        self.jobs().add(Job::new(id, started, Some(100), progress, super::Work::Sanitize(work)));
    }

    /// Takes a progress report of the target on the volume in `object`: bytes done of the volume's
    /// total.
    pub fn sanitize_progress(&self, object: ObjectId, done: u64, total: u64) {
        if let Some(work) = self.sanitize_of(object) {
            work.advanced(Progress { done, total });
        }
    }

    /// Ends the job when the target stops working on the volume in `object`. An operation whose end
    /// was not stored before with [`Control::store_sanitize_operation`] has failed.
    pub fn sanitize_stopped(&self, object: ObjectId) {
        let Some(work) = self.sanitize_of(object) else { return };
        let error = if self.catalog().object(object).is_none() {
            ControlError::DeletedMeanwhile { noun: Noun::Volume, name: work.name().to_owned() }
        } else {
            let reason = "its end could not be stored".to_owned();
            JobError::SanitizeFailed { volume: work.name().to_owned(), reason }.into()
        };
        work.end(Err(error));
    }

    /// Ends the job of an operation whose end has been stored.
    pub(crate) fn sanitize_ended(&self, object: ObjectId, result: Result<(), ControlError>) {
        if let Some(work) = self.sanitize_of(object) {
            work.end(result);
        }
    }

    /// Unfinished operation on the volume in `object`.
    fn sanitize_of(&self, object: ObjectId) -> Option<Work> {
        let all = self.jobs().all.borrow();
        all.values().filter(|job| job.is_running()).find_map(|job| match &*job.work.borrow() {
            super::Work::Sanitize(work) if work.is_unfinished_on(object) => Some(work.clone()),
            _ => None,
        })
    }
}
