//! Work of the management plane as jobs: another thread executes it and reports its progress. The job shows the
//! progress and waits for the end. Its state is stored nowhere: such work ends with the array. It cannot be
//! cancelled.

use super::sanitize::Told;
use super::{Job, JobKind, JobReport, JobView, Kind, Progress, the_one_named};
use crate::control::Control;
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::{Draft, Severity};
use crate::jobs::error::JobError;
use crate::request::Request;
use jiff::Timestamp;
use std::rc::Rc;
use uuid::Uuid;

/// Work of the management plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagementWork {
    /// Applies a plan of the configuration.
    Apply,
    /// Makes a support bundle.
    Bundle,
}

/// Shows work that the management plane has begun as a job.
#[derive(Clone, Copy, Debug)]
pub struct ManagementJobStart {
    /// The work.
    pub work: ManagementWork,
    /// Number of its steps.
    pub total: u64,
}

/// Reports progress of such a job.
#[derive(Clone, Copy, Debug)]
pub struct ManagementJobProgress {
    /// Id of the job.
    pub job: Uuid,
    /// Steps that are done.
    pub done: u64,
    /// Number of steps.
    pub total: u64,
}

/// Reports the end of such a job.
#[derive(Clone, Debug)]
pub struct ManagementJobEnd {
    /// Id of the job.
    pub job: Uuid,
    /// Short text of the result, or the reason of the failure.
    pub result: Result<String, String>,
}

/// State of the job.
#[derive(Clone, Debug)]
pub(super) struct Work {
    kind: ManagementWork,
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
    pub async fn step(&self, progress: &mut Progress) -> Result<bool, ControlError> {
        self.told.step(progress).await
    }
}

impl Kind for Work {
    fn kind(&self) -> JobKind {
        match self.kind {
            ManagementWork::Apply => JobKind::Apply,
            ManagementWork::Bundle => JobKind::Bundle,
        }
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn refusal(&self, id: Uuid, wanted: &'static str) -> JobError {
        JobError::GoesOn { id: id.to_string(), wanted }
    }

    fn report(&self, _now: Timestamp) -> JobReport {
        JobReport::Management
    }

    fn summary(&self) -> String {
        match self.kind {
            ManagementWork::Apply => "the configuration is applied".to_owned(),
            ManagementWork::Bundle => "the support bundle is made".to_owned(),
        }
    }
}

impl Request for ManagementJobStart {
    type Reply = JobView;
    const NAME: &'static str = "management-job-start";

    async fn run(&self, control: &Control) -> Result<JobView, ControlError> {
        let progress = Progress { done: 0, total: self.total };
        let work = Work { kind: self.work, told: Rc::new(Told::new(progress)) };
        let id = new_id(&**control.environment());
        // The work takes no time of the reactor, but that of its requests.
        let job = Job::new(id, control.environment().now(), Some(100), progress, super::Work::Management(work));
        let job = control.jobs().add(job);
        Ok(control.job_view(&job))
    }

    fn event(&self, view: &JobView) -> Option<Draft> {
        Some(Draft::info("job-started", &view.subject, format!("{} of {} started", view.kind.name(), view.subject)))
    }
}

impl Request for ManagementJobProgress {
    type Reply = ();
    const NAME: &'static str = "management-job-progress";

    async fn run(&self, control: &Control) -> Result<(), ControlError> {
        let Self { job, done, total } = *self;
        control.management_work(job)?.told.advanced(Progress { done, total });
        Ok(())
    }
}

impl Request for ManagementJobEnd {
    type Reply = (String, JobKind);
    const NAME: &'static str = "management-job-end";

    async fn run(&self, control: &Control) -> Result<(String, JobKind), ControlError> {
        let work = control.management_work(self.job)?;
        let kind = work.kind();
        work.told.end(match &self.result {
            Ok(_) => Ok(()),
            Err(reason) => Err(JobError::ManagementFailed { reason: reason.clone() }.into()),
        });
        Ok((control.job_subject(&work), kind))
    }

    fn event(&self, (subject, kind): &(String, JobKind)) -> Option<Draft> {
        let kind = kind.name();
        Some(match &self.result {
            Ok(summary) => Draft::info("job-done", subject, format!("{kind} of {subject}: {summary}")),
            Err(reason) => {
                let message = format!("{kind} of {subject} failed: {reason}");
                Draft::new(Severity::Warning, "job-failed", subject, message)
            }
        })
    }
}

impl Control {
    fn management_work(&self, id: Uuid) -> Result<Work, ControlError> {
        let all = self.jobs().all.borrow();
        let job = the_one_named(&id.to_string(), all.values(), |job| job.id)?;
        match &*job.work.borrow() {
            super::Work::Management(work) if job.is_running() => Ok(work.clone()),
            _ => Err(JobError::Ended { id: id.to_string(), state: job.state.borrow().name() }.into()),
        }
    }
}
