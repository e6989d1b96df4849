//! Sanitize operations as jobs: a host starts them, and the SCSI target executes them. The job
//! shows the progress and waits for the end. Its state is the operation's own document
//! ([`crate::SanitizeRecord`]), and it cannot be cancelled: by SBC-4 §4.11 an operation ends only
//! when it is done or has failed.

use super::{Job, JobKind, JobReport, Kind, Progress, SanitizeReport};
use crate::{Control, ControlError, JobError, Noun, SanitizeJob, SanitizeRecord};
use futures_util::future::{FutureExt, LocalBoxFuture};
use jiff::Timestamp;
use pool::ObjectId;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use uuid::Uuid;

/// Progress reported by the target; shared between the target's side and the job.
#[derive(Debug, Default)]
struct Told {
    progress: Cell<Progress>,
    ended: RefCell<Option<Result<(), ControlError>>>,
    waiting: RefCell<Option<Waker>>,
}

impl Told {
    fn end(&self, result: Result<(), ControlError>) {
        self.ended.replace(Some(result));
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }
}

/// State of the job.
#[derive(Clone, Debug)]
pub(super) struct Work {
    volume: Uuid,
    object: ObjectId,
    /// Name of the volume at the start of the job.
    name: String,
    report: SanitizeReport,
    told: Rc<Told>,
}

impl PartialEq for Work {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.told, &other.told)
    }
}

impl Eq for Work {}

impl Work {
    /// Waits for progress. Returns false at the end.
    async fn advance(&self, progress: &mut Progress) -> Result<bool, ControlError> {
        poll_fn(|context| {
            if let Some(ended) = self.told.ended.borrow().clone() {
                return Poll::Ready(ended.map(|()| false));
            }
            let now = self.told.progress.get();
            if now != *progress {
                *progress = now;
                return Poll::Ready(Ok(true));
            }
            self.told.waiting.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await
    }
}

impl Kind for Work {
    fn kind(&self) -> JobKind {
        JobKind::Sanitize
    }

    fn volume(&self) -> Option<(Uuid, &str)> {
        Some((self.volume, &self.name))
    }

    fn is_of_host(&self) -> bool {
        true
    }

    fn step<'a>(
        &'a mut self,
        _control: &'a Control,
        progress: &'a mut Progress,
    ) -> LocalBoxFuture<'a, Result<bool, ControlError>> {
        self.advance(progress).boxed_local()
    }

    fn report(&self, _now: Timestamp) -> JobReport {
        JobReport::Sanitize(self.report)
    }

    fn summary(&self) -> String {
        match self.report.passes {
            None => "everything is erased".to_owned(),
            Some(1) => "everything is overwritten".to_owned(),
            Some(passes) => format!("everything is overwritten in {passes} passes"),
        }
    }
}

impl Control {
    /// Shows an operation in progress as a job, if it is not shown already.
    pub(crate) fn show_sanitize(&self, object: ObjectId, name: String, record: &SanitizeRecord) {
        let Some(SanitizeJob { id, started }) = record.job.clone() else { return };
        if self.sanitize_of(object).is_some() {
            return;
        }
        let total = self.catalog().object(object).map_or(0, |info| info.size_bytes);
        let progress = Progress { done: 0, total };
        let told = Told { progress: Cell::new(progress), ..Told::default() };
        let work = Work {
            volume: record.volume,
            object,
            name,
            report: SanitizeReport { passes: record.overwrite.as_ref().map(|overwrite| overwrite.count) },
            told: Rc::new(told),
        };
        // The target limits the rate; the job only waits.
        self.jobs().add(Job::new(id, started, Some(100), progress, super::Work::Sanitize(work)));
    }

    /// Takes a progress report of the target on the volume in `object`: bytes done of the volume's
    /// total.
    pub fn sanitize_progress(&self, object: ObjectId, done: u64, total: u64) {
        if let Some(work) = self.sanitize_of(object) {
            work.told.progress.set(Progress { done, total });
            work.told.wake();
        }
    }

    /// Ends the job when the target stops working on the volume in `object`. An operation whose end
    /// was not stored before with [`Control::store_sanitize_operation`] has failed.
    pub fn sanitize_stopped(&self, object: ObjectId) {
        let Some(work) = self.sanitize_of(object) else { return };
        let error = if self.catalog().object(object).is_none() {
            ControlError::DeletedMeanwhile { noun: Noun::Volume, name: work.name.clone() }
        } else {
            let reason = "its end could not be stored".to_owned();
            JobError::SanitizeFailed { volume: work.name.clone(), reason }.into()
        };
        work.told.end(Err(error));
    }

    /// Ends the job of an operation whose end has been stored.
    pub(crate) fn sanitize_ended(&self, object: ObjectId, result: Result<(), ControlError>) {
        if let Some(work) = self.sanitize_of(object) {
            work.told.end(result);
        }
    }

    /// Unfinished operation on the volume in `object`.
    fn sanitize_of(&self, object: ObjectId) -> Option<Work> {
        let all = self.jobs().all.borrow();
        all.values().filter(|job| job.is_running()).find_map(|job| match &*job.work.borrow() {
            super::Work::Sanitize(work) if work.object == object && work.told.ended.borrow().is_none() => {
                Some(work.clone())
            }
            _ => None,
        })
    }
}
