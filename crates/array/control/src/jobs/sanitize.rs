//! Sanitize operations as jobs: a host starts them, and the SCSI target executes them. The job
//! shows the progress and waits for the end. Its state is the operation's own document
//! ([`crate::SanitizeRecord`]), and it cannot be cancelled: by SBC-4 §4.11 an operation ends only
//! when it is done or has failed.

use super::{JobKind, JobReport, Kind, Progress, SanitizeReport};
use crate::error::ControlError;
use crate::jobs::error::JobError;
use jiff::Timestamp;
use pool::ObjectId;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use uuid::Uuid;

/// Progress reported by the side that works; shared between that side and the job.
#[derive(Debug, Default)]
pub(super) struct Told {
    progress: Cell<Progress>,
    ended: RefCell<Option<Result<(), ControlError>>>,
    waiting: RefCell<Option<Waker>>,
}

impl Told {
    /// Nothing reported but the expected work.
    pub fn new(progress: Progress) -> Self {
        Self { progress: Cell::new(progress), ..Self::default() }
    }

    /// Takes progress.
    pub fn advanced(&self, progress: Progress) {
        self.progress.set(progress);
        self.wake();
    }

    /// Takes the end.
    pub fn end(&self, result: Result<(), ControlError>) {
        self.ended.replace(Some(result));
        self.wake();
    }

    /// Waits for progress. Returns false at the end.
    pub async fn step(&self, progress: &mut Progress) -> Result<bool, ControlError> {
        poll_fn(|context| {
            if let Some(ended) = self.ended.borrow().clone() {
                return Poll::Ready(ended.map(|()| false));
            }
            let now = self.progress.get();
            if now != *progress {
                *progress = now;
                return Poll::Ready(Ok(true));
            }
            self.waiting.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await
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
    /// `passes`: passes of an overwrite.
    pub fn new(volume: Uuid, object: ObjectId, name: String, passes: Option<u8>, progress: Progress) -> Self {
        let told = Rc::new(Told::new(progress));
        Self { volume, object, name, report: SanitizeReport { passes }, told }
    }

    /// Name of the volume at the start of the job.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the operation is on the volume in `object` and has not ended.
    pub fn is_unfinished_on(&self, object: ObjectId) -> bool {
        self.object == object && self.told.ended.borrow().is_none()
    }

    /// Takes progress.
    pub fn advanced(&self, progress: Progress) {
        self.told.advanced(progress);
    }

    /// Ends the operation.
    pub fn end(&self, result: Result<(), ControlError>) {
        self.told.end(result);
    }

    /// Waits for progress. Returns false at the end.
    pub async fn step(&self, progress: &mut Progress) -> Result<bool, ControlError> {
        self.told.step(progress).await
    }
}

impl Kind for Work {
    fn kind(&self) -> JobKind {
        JobKind::Sanitize
    }

    fn volume(&self) -> Option<(Uuid, &str)> {
        Some((self.volume, &self.name))
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn refusal(&self, id: Uuid, wanted: &'static str) -> JobError {
        JobError::SanitizeGoesOn { id: id.to_string(), wanted }
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
