//! Jobs: background work that takes longer than a second, executed step by step.
//!
//! Each kind of job has a file in this folder with its state ([`Work`]), which is sufficient to
//! continue, and its row ([`Kind`]): its step and the facts in which kinds differ. A job yields between two steps: while hosts are active, it uses only its
//! share of the time; otherwise it continues at once. A job never holds the lock on changes, so
//! administration does not wait for it, and it copes with the deletion of volumes.
//!
//! Each job stores its state as a document and continues after a restart. Its start, changes and
//! cancellation are durable before the reply; its progress is written periodically. The last
//! hundred ended jobs are listed until a restart. Sanitize operations, which hosts start and the
//! target executes, appear as jobs, too (`sanitize.rs`); their state is stored separately, and they
//! cannot be cancelled.

mod check;
mod error;
mod reclaim;
mod requests;
mod sanitize;
mod scrub;
mod view;

use crate::catalog::DynCatalog;
use crate::environment::yield_now;
use crate::events::{Draft, Severity};
use crate::record::{Document, load};
use crate::{CheckRecord, Control, ControlError, Noun, ScrubRecord};
use futures_util::StreamExt;
use futures_util::future::{FutureExt, LocalBoxFuture, ready};
use futures_util::lock::Mutex;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use pool::CatalogChange;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;
use uuid::Uuid;

pub use error::JobError;
pub use requests::{JobCancel, JobList, JobSet, JobShow, PoolCheck, PoolReclaim, PoolScrub, VolumeReclaim};
pub use view::{JobKind, JobReport, JobState, JobView, ReclaimReport, SanitizeReport};

/// Largest number of ended jobs in memory.
const REMEMBERED: usize = 100;
/// Time between two writes of a job's state.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);
/// Time without commands after which hosts are not active.
const ACTIVE: Duration = Duration::from_millis(500);
/// Shortest pause in favour of hosts: timers are no finer.
const LEAST_PAUSE: Duration = Duration::from_millis(5);
/// Longest pause, so that a job can be cancelled.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Approximate period over which a rate is averaged.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// A kind of job: every fact in which kinds differ.
trait Kind {
    /// Kind.
    fn kind(&self) -> JobKind;
    /// Subject: id and former name of a volume; absent for the pool.
    fn volume(&self) -> Option<(Uuid, &str)> {
        None
    }
    /// True if a host started the work: the job cannot be changed or cancelled, and neither stores
    /// its state nor raises events.
    fn is_of_host(&self) -> bool {
        false
    }
    /// Progress at the start.
    fn expected<'a>(&'a self, _catalog: &'a dyn DynCatalog) -> LocalBoxFuture<'a, Progress> {
        ready(Progress::default()).boxed_local()
    }
    /// Resets state that is lost in a restart.
    fn resume(&mut self, _progress: &mut Progress) {}
    /// Performs one step. Returns false at the end.
    fn step<'a>(
        &'a mut self,
        control: &'a Control,
        progress: &'a mut Progress,
    ) -> LocalBoxFuture<'a, Result<bool, ControlError>>;
    /// Releases the pool resources of a job that does not finish.
    fn abandon(&self, _catalog: &dyn DynCatalog) {}
    /// Result; of a running job, its result so far.
    fn report(&self, now: Timestamp) -> JobReport;
    /// Short text of the result.
    fn summary(&self) -> String;
    /// True if the result needs no attention.
    fn is_clean(&self) -> bool {
        true
    }
    /// Result of the finished job that is stored for the pool.
    fn pool_result(&self, _now: Timestamp) -> Option<PoolResult> {
        None
    }
}

/// Result of a finished job that is stored for the pool.
enum PoolResult {
    Scrub(ScrubRecord),
    Check(CheckRecord),
}

/// State of a job, sufficient to continue it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Work {
    Reclaim(reclaim::Work),
    Scrub(scrub::Work),
    Check(check::Work),
    /// Stored in the operation's own document.
    #[serde(skip)]
    Sanitize(sanitize::Work),
}

/// Progress of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Progress {
    done: u64,
    total: u64,
}

/// Stored form of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobRecord {
    id: Uuid,
    started: Timestamp,
    share_percent: Option<u8>,
    progress: Progress,
    work: Work,
}

impl Document for JobRecord {
    const PREFIX: &'static str = "job/";
    fn key(&self) -> String {
        format!("{}{}", Self::PREFIX, self.id)
    }
}

/// Job in memory.
struct Job {
    id: Uuid,
    started: Timestamp,
    share_percent: Cell<Option<u8>>,
    cancelled: Cell<bool>,
    progress: Cell<Progress>,
    rate: Cell<Rate>,
    state: RefCell<JobState>,
    finished: Cell<Option<Timestamp>>,
    /// State after the last step.
    work: RefCell<Work>,
}

/// Average speed.
#[derive(Clone, Copy, Default)]
struct Rate {
    since: Option<Duration>,
    done: u64,
    per_second: Option<u64>,
}

impl Rate {
    /// Updates the average from time and progress once enough time has elapsed.
    fn update(&mut self, now: Duration, done: u64) {
        let Some(since) = self.since else {
            (self.since, self.done) = (Some(now), done);
            return;
        };
        let elapsed = now.saturating_sub(since);
        if elapsed < Duration::from_secs(1) {
            return;
        }
        let speed = u128::from(done.saturating_sub(self.done)) * 1000 / elapsed.as_millis().max(1);
        let weight = elapsed.min(RATE_WINDOW).as_millis();
        let window = RATE_WINDOW.as_millis();
        let average = match self.per_second {
            None => speed,
            Some(before) => (u128::from(before) * (window - weight) + speed * weight) / window,
        };
        self.per_second = Some(u64::try_from(average).unwrap_or(u64::MAX));
        (self.since, self.done) = (Some(now), done);
    }
}

/// All jobs.
pub(crate) struct Jobs {
    all: RefCell<BTreeMap<Uuid, Rc<Job>>>,
    /// Jobs that no task executes yet.
    waiting: RefCell<Vec<Rc<Job>>>,
    /// Held while job documents are written, so that an administrator's change is not overwritten
    /// by an older state.
    documents: Mutex<()>,
    waker: RefCell<Option<Waker>>,
    default_share_percent: u8,
    /// Number of hosts' commands at the last check, and the time of its last change.
    commands: Cell<u64>,
    active_at: Cell<Option<Duration>>,
}

impl Jobs {
    /// Loads interrupted jobs. They continue as soon as [`Control::background`] runs.
    pub fn load(catalog: &dyn DynCatalog, default_share_percent: u8) -> Result<Self, ControlError> {
        let jobs = Self {
            all: RefCell::default(),
            waiting: RefCell::default(),
            documents: Mutex::new(()),
            waker: RefCell::default(),
            default_share_percent,
            commands: Cell::new(0),
            active_at: Cell::new(None),
        };
        for JobRecord { id, started, share_percent, mut progress, mut work } in load(catalog)? {
            work.of_kind_mut().resume(&mut progress);
            jobs.add(Job::new(id, started, share_percent, progress, work));
        }
        Ok(jobs)
    }

    fn add(&self, job: Job) -> Rc<Job> {
        let job = Rc::new(job);
        self.all.borrow_mut().insert(job.id, Rc::clone(&job));
        self.waiting.borrow_mut().push(Rc::clone(&job));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        job
    }

    /// Drops the oldest ended jobs.
    fn forget(&self) {
        let mut all = self.all.borrow_mut();
        let mut ended: Vec<(Option<Timestamp>, Uuid)> =
            all.values().filter(|job| !job.is_running()).map(|job| (job.finished.get(), job.id)).collect();
        ended.sort_unstable();
        for (_, id) in ended.iter().take(ended.len().saturating_sub(REMEMBERED)) {
            all.remove(id);
        }
    }

    /// Finds a job by its id or by its unique beginning or end.
    fn find(&self, name: &str) -> Result<Rc<Job>, ControlError> {
        the_one_named(name, self.all.borrow().values().map(Rc::clone), |job| job.id)
    }

    /// Running job of the same kind and subject.
    fn running_same(&self, work: &Work) -> Option<Rc<Job>> {
        let same = |job: &&Rc<Job>| job.is_running() && !job.cancelled.get() && job.work.borrow().is_the_same_as(work);
        self.all.borrow().values().find(same).cloned()
    }

    /// True if hosts have sent commands recently.
    fn hosts_are_active(&self, commands: u64, now: Duration) -> bool {
        if self.commands.replace(commands) != commands {
            self.active_at.set(Some(now));
        }
        self.active_at.get().is_some_and(|at| now.saturating_sub(at) < ACTIVE)
    }
}

impl Job {
    fn new(id: Uuid, started: Timestamp, share_percent: Option<u8>, progress: Progress, work: Work) -> Self {
        Self {
            id,
            started,
            share_percent: Cell::new(share_percent),
            cancelled: Cell::new(false),
            progress: Cell::new(progress),
            rate: Cell::new(Rate::default()),
            state: RefCell::new(JobState::Running),
            finished: Cell::new(None),
            work: RefCell::new(work),
        }
    }

    fn is_running(&self) -> bool {
        *self.state.borrow() == JobState::Running
    }

    /// True if the state is stored in a job document.
    fn is_kept(&self) -> bool {
        !self.work.borrow().of_kind().is_of_host()
    }

    fn record(&self) -> JobRecord {
        JobRecord {
            id: self.id,
            started: self.started,
            share_percent: self.share_percent.get(),
            progress: self.progress.get(),
            work: self.work.borrow().clone(),
        }
    }
}

impl Work {
    fn of_kind(&self) -> &dyn Kind {
        match self {
            Self::Reclaim(work) => work,
            Self::Scrub(work) => work,
            Self::Check(work) => work,
            Self::Sanitize(work) => work,
        }
    }

    fn of_kind_mut(&mut self) -> &mut dyn Kind {
        match self {
            Self::Reclaim(work) => work,
            Self::Scrub(work) => work,
            Self::Check(work) => work,
            Self::Sanitize(work) => work,
        }
    }

    /// True if the jobs have the same kind and subject, of which only one runs at a time.
    fn is_the_same_as(&self, other: &Self) -> bool {
        let (one, other) = (self.of_kind(), other.of_kind());
        let volume = |work: &dyn Kind| work.volume().map(|(id, _)| id);
        one.kind() == other.kind() && volume(one) == volume(other) && !one.is_of_host()
    }
}

impl Control {
    /// Executes jobs and watches thresholds, incidents and the pool's state. Never ends; must be
    /// polled from start to stop of the array.
    pub async fn background(&self) {
        let mut running = FuturesUnordered::new();
        running.push(self.watch().boxed_local());
        std::future::poll_fn(|context| {
            self.jobs().waker.replace(Some(context.waker().clone()));
            let waiting = self.jobs().waiting.take();
            running.extend(waiting.into_iter().map(|job| self.run_job(job).boxed_local()));
            while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
            Poll::Pending
        })
        .await
    }

    fn job_view(&self, job: &Job) -> JobView {
        let work = job.work.borrow();
        let work = work.of_kind();
        let Progress { done, total } = job.progress.get();
        let state = job.state.borrow().clone();
        let rate_per_second = job.rate.get().per_second.filter(|_| state == JobState::Running);
        let now = job.finished.get().unwrap_or_else(|| self.environment().now());
        JobView {
            id: job.id,
            kind: work.kind(),
            subject: self.job_subject(work),
            done,
            total,
            rate_per_second,
            eta_seconds: rate_per_second.and_then(|rate| total.saturating_sub(done).checked_div(rate)),
            share_percent: job.share_percent.get().unwrap_or(self.jobs().default_share_percent),
            started: job.started,
            finished: job.finished.get(),
            summary: work.summary(),
            report: work.report(now),
            state,
        }
    }

    fn job_subject(&self, work: &dyn Kind) -> String {
        let Some((id, name)) = work.volume() else { return self.pool().name().to_owned() };
        self.directory().volume_by_id(id).map_or_else(|| name.to_owned(), |volume| volume.name.clone())
    }

    /// Executes a job until it ends.
    async fn run_job(&self, job: Rc<Job>) {
        let mut work = job.work.borrow().clone();
        let mut saved_at = self.environment().monotonic();
        let mut owed = Duration::ZERO;
        let ended = loop {
            if job.cancelled.get() {
                work.of_kind().abandon(&**self.catalog());
                break JobState::Cancelled;
            }
            let before = self.environment().monotonic();
            let mut progress = job.progress.get();
            let step = work.of_kind_mut().step(self, &mut progress).await;
            progress.total = progress.total.max(progress.done);
            job.work.replace(work.clone());
            // The last step may also be cancelled, because the reply to the cancellation has been
            // sent.
            if job.cancelled.get() {
                work.of_kind().abandon(&**self.catalog());
                break JobState::Cancelled;
            }
            match step {
                Ok(true) => {}
                Ok(false) => {
                    progress.done = progress.total;
                    job.progress.set(progress);
                    break JobState::Done;
                }
                Err(error) => {
                    work.of_kind().abandon(&**self.catalog());
                    break JobState::Failed(error.to_string());
                }
            }
            job.progress.set(progress);
            let now = self.environment().monotonic();
            let mut rate = job.rate.get();
            rate.update(now, progress.done);
            job.rate.set(rate);
            if now.saturating_sub(saved_at) >= SAVE_INTERVAL {
                self.save_job(&job).await;
                saved_at = now;
            }
            owed = self.give_way(&job, owed, now.saturating_sub(before)).await;
        };
        self.end_job(&job, &work, ended).await;
    }

    /// Writes the progress of a job.
    async fn save_job(&self, job: &Job) {
        let _documents = self.jobs().documents.lock().await;
        if job.cancelled.get() || !job.is_kept() {
            return;
        }
        // Progress that cannot be stored is repeated after a restart.
        if let Ok(put) = job.record().put() {
            let _not_kept = self.catalog().commit(vec![put]).await;
        }
    }

    /// Pauses in favour of hosts. Returns the time still owed to them.
    async fn give_way(&self, job: &Job, owed: Duration, worked: Duration) -> Duration {
        let share = u32::from(job.share_percent.get().unwrap_or(self.jobs().default_share_percent).clamp(1, 100));
        let active = self.jobs().hosts_are_active(self.live().commands(), self.environment().monotonic());
        let owed = if active { owed + worked * (100 - share) / share } else { Duration::ZERO };
        if owed < LEAST_PAUSE {
            yield_now().await;
            return owed;
        }
        let pause = owed.min(LONGEST_PAUSE);
        self.environment().sleep(pause).await;
        yield_now().await;
        // Time above the longest pause is dropped: a step that waited long did not work all the
        // time.
        Duration::ZERO
    }

    /// Stores the result and deletes the state.
    async fn end_job(&self, job: &Job, work: &Work, mut ended: JobState) {
        let documents = self.jobs().documents.lock().await;
        if job.cancelled.get() {
            ended = JobState::Cancelled;
        }
        let now = self.environment().now();
        let mut changes: Vec<CatalogChange> = job.is_kept().then(|| job.record().delete()).into_iter().collect();
        let work = work.of_kind();
        let result = (ended == JobState::Done).then(|| work.pool_result(now)).flatten();
        changes.extend(match &result {
            Some(PoolResult::Scrub(record)) => record.put().ok(),
            Some(PoolResult::Check(record)) => record.put().ok(),
            None => None,
        });
        if !changes.is_empty()
            && let Err(error) = self.catalog().commit(changes).await
            && ended == JobState::Done
        {
            ended = JobState::Failed(format!("its result could not be kept: {}", self.pool_error(error)));
        }
        drop(documents);
        match result {
            Some(PoolResult::Scrub(record)) => self.pool().scrubbed(record),
            Some(PoolResult::Check(record)) => self.pool().checked(record),
            None => {}
        }
        let (kind, subject) = (work.kind().name(), self.job_subject(work));
        let report = work.summary();
        let event = match &ended {
            // The operation's own code raises the event.
            _ if !job.is_kept() => None,
            JobState::Done | JobState::Running => Some((
                if work.is_clean() { Severity::Info } else { Severity::Critical },
                "job-done",
                format!("{kind} of {subject}: {report}"),
            )),
            // The cancel request raised the event.
            JobState::Cancelled => None,
            JobState::Failed(reason) => {
                Some((Severity::Warning, "job-failed", format!("{kind} of {subject} failed: {reason}")))
            }
        };
        job.state.replace(ended);
        job.finished.set(Some(now));
        self.jobs().forget();
        if let Some((severity, code, message)) = event {
            self.raise(Draft::new(severity, code, subject, message));
        }
    }

    /// Changes that store the state of every running job at a stop.
    pub(crate) fn jobs_to_keep(&self) -> Vec<CatalogChange> {
        let all = self.jobs().all.borrow();
        let running = all.values().filter(|job| job.is_running() && !job.cancelled.get() && job.is_kept());
        running.filter_map(|job| job.record().put().ok()).collect()
    }
}

/// Returns the only job whose id begins or ends with `name`.
fn the_one_named<J>(name: &str, jobs: impl IntoIterator<Item = J>, id: impl Fn(&J) -> Uuid) -> Result<J, ControlError> {
    let wanted = name.to_ascii_lowercase();
    let mut fitting = jobs.into_iter().filter(|job| {
        let id = id(job).to_string();
        wanted.len() >= 4 && (id.starts_with(&wanted) || id.ends_with(&wanted))
    });
    match (fitting.next(), fitting.next()) {
        (Some(job), None) => Ok(job),
        _ => Err(ControlError::NotFound { noun: Noun::Job, name: name.to_owned() }),
    }
}
