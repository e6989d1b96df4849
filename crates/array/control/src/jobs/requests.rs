//! Requests for jobs: start, list, show, set, cancel.

use super::{Job, JobRecord, JobView, Work, reclaim, reshare, scrub, the_one_named};
use crate::control::Control;
use crate::effect::{Rehearsal, Rehearsed};
use crate::environment::new_id;
use crate::error::ControlError;
use crate::events::Draft;
use crate::facts::Facts;
use crate::jobs::error::JobError;
use crate::page::{Column, Listed, column};
use crate::read::Read;
use crate::record::Document;
use crate::request::{Outcome, Request};
use std::rc::Rc;
use text::size::exact;

/// Bytes of a block, the unit in which volumes share content.
const SHARED_BYTES: i64 = 4096;

/// Starts a job that frees stored zeros of a volume.
#[derive(Clone, Debug)]
pub struct VolumeReclaim {
    /// Name or id of the volume.
    pub volume: String,
    /// Percent of the time while hosts are active; absent: as configured.
    pub share_percent: Option<u8>,
}

/// Starts a job that shares blocks of a volume with equal ones of another volume or of a snapshot.
#[derive(Clone, Debug)]
pub struct VolumeReshare {
    /// Name or id of the volume.
    pub volume: String,
    /// Volume by name or id, or snapshot as `VOLUME@SNAPSHOT`, whose blocks it shares then.
    pub with: String,
    /// Bytes from a place of the volume to the corresponding place there, a multiple of 4 096.
    pub shift_bytes: i64,
    /// True to compare, and to change nothing.
    pub compare_only: bool,
    /// Percent of the time while hosts are active; absent: as configured.
    pub share_percent: Option<u8>,
}

/// Starts a job that frees stored zeros of all volumes.
#[derive(Clone, Debug)]
pub struct PoolReclaim {
    /// Name of the pool.
    pub pool: String,
    /// Percent of the time while hosts are active; absent: as configured.
    pub share_percent: Option<u8>,
}

/// Starts a job that reads and verifies all stored data.
#[derive(Clone, Debug)]
pub struct PoolScrub {
    /// Name of the pool.
    pub pool: String,
    /// Percent of the time while hosts are active; absent: as configured.
    pub share_percent: Option<u8>,
}

/// Starts a job that checks map, reference counts and counters.
#[derive(Clone, Debug)]
pub struct PoolCheck {
    /// Name of the pool.
    pub pool: String,
    /// Percent of the time while hosts are active; absent: as configured.
    pub share_percent: Option<u8>,
}

/// Lists jobs, newest first.
#[derive(Clone, Debug)]
pub struct JobList;

/// Shows one job.
#[derive(Clone, Debug)]
pub struct JobShow {
    /// Id, or a unique beginning or end of it.
    pub job: String,
}

/// Changes the share of a running job.
#[derive(Clone, Debug)]
pub struct JobSet {
    /// As in [`JobShow`].
    pub job: String,
    /// Percent of the time while hosts are active.
    pub share_percent: u8,
}

/// Cancels a running job.
#[derive(Clone, Debug)]
pub struct JobCancel {
    /// As in [`JobShow`].
    pub job: String,
}

impl Request for VolumeReclaim {
    type Reply = Outcome<JobView>;
    const NAME: &'static str = "volume-reclaim";

    async fn run(&self, control: &Control) -> Result<Outcome<JobView>, ControlError> {
        let record = control.directory().volume(&self.volume)?.clone();
        control.start_job(Work::Reclaim(reclaim::Work::of_volume(&record)), self.share_percent).await
    }

    fn event(&self, outcome: &Outcome<JobView>) -> Option<Draft> {
        started(outcome)
    }
}

impl Rehearsed for VolumeReclaim {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        let record = control.directory().volume(&self.volume)?.clone();
        let mapped_bytes = control.object(record.object)?.mapped_bytes;
        let work = Work::Reclaim(reclaim::Work::of_volume(&record));
        control.rehearse_reclaim(&work, self.share_percent, &format!("the {} of the volume", exact(mapped_bytes)))
    }
}

impl Request for VolumeReshare {
    type Reply = Outcome<JobView>;
    const NAME: &'static str = "volume-reshare";

    async fn run(&self, control: &Control) -> Result<Outcome<JobView>, ControlError> {
        let (record, with) = {
            let directory = control.directory();
            (directory.volume(&self.volume)?.clone(), directory.volume_source(&self.with)?)
        };
        if self.shift_bytes % SHARED_BYTES != 0 {
            let reason = format!("an offset is a multiple of {}", exact(SHARED_BYTES.unsigned_abs()));
            return Err(ControlError::InvalidSetting(reason));
        }
        if with.object == record.object && self.shift_bytes == 0 {
            return Err(JobError::ReshareWithItself { volume: record.name }.into());
        }
        let work = reshare::Work::new(&record, with, self.shift_bytes, self.compare_only);
        control.start_job(Work::Reshare(work), self.share_percent).await
    }

    fn event(&self, outcome: &Outcome<JobView>) -> Option<Draft> {
        started(outcome)
    }
}

impl Request for PoolReclaim {
    type Reply = Outcome<JobView>;
    const NAME: &'static str = "pool-reclaim";

    async fn run(&self, control: &Control) -> Result<Outcome<JobView>, ControlError> {
        control.pool_named(Some(&self.pool))?;
        control.start_job(Work::Reclaim(reclaim::Work::of_all(&**control.catalog()).await), self.share_percent).await
    }

    fn event(&self, outcome: &Outcome<JobView>) -> Option<Draft> {
        started(outcome)
    }
}

impl Rehearsed for PoolReclaim {
    fn rehearse(&self, control: &Control) -> Result<Rehearsal, ControlError> {
        control.pool_named(Some(&self.pool))?;
        let work = Work::Reclaim(reclaim::Work::of_volumes(&**control.catalog()));
        control.rehearse_reclaim(&work, self.share_percent, "all volumes")
    }
}

impl Request for PoolScrub {
    type Reply = Outcome<JobView>;
    const NAME: &'static str = "pool-scrub";

    async fn run(&self, control: &Control) -> Result<Outcome<JobView>, ControlError> {
        control.pool_named(Some(&self.pool))?;
        let work = scrub::Work::new(&**control.catalog(), control.environment().now());
        control.start_job(Work::Scrub(work), self.share_percent).await
    }

    fn event(&self, outcome: &Outcome<JobView>) -> Option<Draft> {
        started(outcome)
    }
}

impl Request for PoolCheck {
    type Reply = Outcome<JobView>;
    const NAME: &'static str = "pool-check";

    async fn run(&self, control: &Control) -> Result<Outcome<JobView>, ControlError> {
        control.pool_named(Some(&self.pool))?;
        control.start_job(Work::Check(super::check::Work::new(control.environment().now())), self.share_percent).await
    }

    fn event(&self, outcome: &Outcome<JobView>) -> Option<Draft> {
        started(outcome)
    }
}

impl Read for JobList {
    type Reply = Vec<JobView>;
    const NAME: &'static str = "job-list";

    fn answer(&self, facts: &dyn Facts) -> Result<Vec<JobView>, ControlError> {
        self.all(facts)
    }
}

impl Listed for JobList {
    type View = JobView;
    type Row = JobView;
    const DESCENDING: bool = true;
    const COLUMNS: &'static [Column<JobView>] = &[
        column("kind", |_, job| job.kind.name().into()),
        column("subject", |_, job| job.subject.as_str().into()),
        column("state", |_, job| job.state.name().into()),
        column("started", |_, job| job.started.into()),
        column("finished", |_, job| job.finished.into()),
    ];

    /// Ids are ordered by time.
    fn rows(&self, facts: &dyn Facts) -> Result<Vec<(String, JobView)>, ControlError> {
        let mut rows: Vec<(String, JobView)> = facts.jobs().into_iter().map(|job| (job.id.to_string(), job)).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
        Ok(rows)
    }

    fn texts(_facts: &dyn Facts, job: &JobView) -> Vec<String> {
        vec![job.id.to_string(), job.kind.name().to_owned(), job.subject.clone(), job.state.name().to_owned()]
    }

    fn views(&self, _facts: &dyn Facts, rows: Vec<JobView>) -> Vec<JobView> {
        rows
    }
}

impl Read for JobShow {
    type Reply = JobView;
    const NAME: &'static str = "job-show";

    fn answer(&self, facts: &dyn Facts) -> Result<JobView, ControlError> {
        the_one_named(&self.job, facts.jobs(), |job| job.id)
    }
}

impl Request for JobSet {
    type Reply = JobView;
    const NAME: &'static str = "job-set";

    async fn run(&self, control: &Control) -> Result<JobView, ControlError> {
        check_share(Some(self.share_percent))?;
        let _documents = control.jobs().documents.lock().await;
        let job = control.running_job(&self.job)?;
        check_ours(&job, "made faster or slower")?;
        let record = JobRecord { share_percent: Some(self.share_percent), ..job.record() };
        control.store(vec![record.put()?]).await?;
        job.share_percent.set(Some(self.share_percent));
        Ok(control.job_view(&job))
    }

    fn event(&self, view: &JobView) -> Option<Draft> {
        let (kind, subject) = (view.kind.name(), &view.subject);
        let message = format!("{kind} of {subject} changed: share {} %", self.share_percent);
        Some(Draft::info("job-changed", subject, message))
    }
}

impl Request for JobCancel {
    type Reply = Outcome<JobView>;
    const NAME: &'static str = "job-cancel";

    /// Once the reply is sent, no later start of the array resumes the job. It ends after its
    /// current step.
    async fn run(&self, control: &Control) -> Result<Outcome<JobView>, ControlError> {
        let _documents = control.jobs().documents.lock().await;
        let job = control.running_job(&self.job)?;
        check_ours(&job, "cancelled")?;
        let changed = !job.cancelled.get();
        if changed {
            control.store(vec![job.record().delete()]).await?;
            job.cancelled.set(true);
        }
        Ok(Outcome { view: control.job_view(&job), changed })
    }

    fn event(&self, outcome: &Outcome<JobView>) -> Option<Draft> {
        let JobView { kind, subject, summary, .. } = &outcome.view;
        let message = format!("{} of {subject} cancelled: {summary}", kind.name());
        outcome.changed.then(|| Draft::info("job-cancelled", subject, message))
    }
}

/// Event of a started job.
fn started(outcome: &Outcome<JobView>) -> Option<Draft> {
    let JobView { kind, subject, .. } = &outcome.view;
    let message = format!("{} of {subject} started", kind.name());
    outcome.changed.then(|| Draft::info("job-started", subject, message))
}

impl Control {
    /// Starts a job, or returns the running one of the same kind and subject.
    async fn start_job(&self, work: Work, share_percent: Option<u8>) -> Result<Outcome<JobView>, ControlError> {
        check_share(share_percent)?;
        if let Some(job) = self.jobs().running_same(&work) {
            return Ok(Outcome::unchanged(self.job_view(&job)));
        }
        // Without the lock, which changes of other jobs wait for: the sum over all objects takes long.
        let progress = work.of_kind().expected(&**self.catalog()).await;
        let _documents = self.jobs().documents.lock().await;
        // Another request may have started it meanwhile.
        if let Some(job) = self.jobs().running_same(&work) {
            return Ok(Outcome::unchanged(self.job_view(&job)));
        }
        let id = new_id(&**self.environment());
        let job = Job::new(id, self.environment().now(), share_percent, progress, work);
        self.store(vec![job.record().put()?]).await?;
        let job = self.jobs().add(job);
        Ok(Outcome::changed(self.job_view(&job)))
    }

    /// What a job that frees stored zeros would do. `read`: what it reads.
    fn rehearse_reclaim(&self, work: &Work, share_percent: Option<u8>, read: &str) -> Result<Rehearsal, ControlError> {
        check_share(share_percent)?;
        if let Some(job) = self.jobs().running_same(work) {
            let message = format!("job {} does so already: no other one starts", job.id);
            return Ok(Rehearsal::default().warns("running-already", message));
        }
        let message = format!("stored zeros are found by reading {read}: the job reports how much it freed");
        Ok(Rehearsal::default().warns("not-known-before", message))
    }

    /// Views of all jobs, oldest first.
    pub(crate) fn job_views(&self) -> Vec<JobView> {
        self.jobs().all.borrow().values().map(|job| self.job_view(job)).collect()
    }

    fn running_job(&self, name: &str) -> Result<Rc<Job>, ControlError> {
        let job = self.jobs().find(name)?;
        if job.is_running() {
            return Ok(job);
        }
        let state = job.state.borrow().name();
        Err(JobError::Ended { id: job.id.to_string(), state }.into())
    }
}

/// Refuses changes of jobs whose work is done elsewhere.
fn check_ours(job: &Job, wanted: &'static str) -> Result<(), ControlError> {
    let work = job.work.borrow();
    if work.of_kind().is_elsewhere() {
        return Err(work.of_kind().refusal(job.id, wanted).into());
    }
    Ok(())
}

/// Checks a share of the time.
fn check_share(share_percent: Option<u8>) -> Result<(), ControlError> {
    match share_percent {
        Some(0 | 101..) => Err(ControlError::InvalidSetting("a share of the time is 1 to 100 percent".to_owned())),
        _ => Ok(()),
    }
}
