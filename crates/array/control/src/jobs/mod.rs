//! Jobs: background work that takes longer than a second, executed step by step.
//!
//! Each kind of job has a file in this folder with its state ([`Work`]), which is sufficient to
//! continue, its step, and its row ([`Kind`]): the facts in which kinds differ. A step reaches the
//! array through [`Context`]. A job yields between two steps: while hosts are active, it uses only
//! its share of the time; otherwise it continues at once. A job never holds the lock on changes, so
//! administration does not wait for it, and it copes with the deletion of volumes.
//!
//! Each job stores its state as a document and continues after a restart. Its start, changes and
//! cancellation are durable before the reply; its progress is written periodically. The last
//! hundred ended jobs are listed until a restart. Work that is done elsewhere appears as jobs, too, which cannot be
//! cancelled: sanitize operations, which hosts start and the target executes (`sanitize.rs`, `sanitize_reports.rs`),
//! whose state is stored separately, and work of the management plane (`management.rs`).

mod check;
mod context;
pub(crate) mod error;
mod management;
mod reclaim;
mod requests;
mod reshare;
mod run;
mod sanitize;
mod sanitize_reports;
mod scrub;
pub(crate) mod view;

use crate::catalog::DynCatalog;
use crate::condition::Noun;
use crate::error::ControlError;
use crate::pools::record::{CheckRecord, ScrubRecord};
use crate::record::{Document, load};
use context::Context;
use futures_util::future::{FutureExt, LocalBoxFuture, ready};
use futures_util::lock::Mutex;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;
use uuid::Uuid;

pub use error::JobError;
pub use management::{ManagementJobEnd, ManagementJobProgress, ManagementJobStart, ManagementWork};
pub use requests::{
    JobCancel, JobList, JobSet, JobShow, PoolCheck, PoolReclaim, PoolScrub, VolumeReclaim, VolumeReshare,
};
pub use view::{JobKind, JobReport, JobState, JobView, ReclaimReport, ReshareReport, SanitizeReport};

/// Largest number of ended jobs in memory.
const REMEMBERED: usize = 100;
/// Time without commands after which hosts are not active.
const ACTIVE: Duration = Duration::from_millis(500);
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
    /// True if the work is done elsewhere: by the target for a host, or by the management plane. The job cannot be
    /// changed or cancelled, and neither stores its state nor raises events.
    fn is_elsewhere(&self) -> bool {
        false
    }
    /// Refusal of a change of a job whose work is done elsewhere.
    fn refusal(&self, id: Uuid, wanted: &'static str) -> JobError {
        JobError::GoesOn { id: id.to_string(), wanted }
    }
    /// Progress at the start.
    fn expected<'a>(&'a self, _catalog: &'a dyn DynCatalog) -> LocalBoxFuture<'a, Progress> {
        ready(Progress::default()).boxed_local()
    }
    /// Resets state that is lost in a restart.
    fn resume(&mut self, _progress: &mut Progress) {}
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
    Reshare(reshare::Work),
    Scrub(scrub::Work),
    Check(check::Work),
    /// Stored in the operation's own document.
    #[serde(skip)]
    Sanitize(sanitize::Work),
    /// Stored nowhere.
    #[serde(skip)]
    Management(management::Work),
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
    /// Loads interrupted jobs. They continue as soon as [`Control::background`](crate::Control::background) runs.
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
        !self.work.borrow().of_kind().is_elsewhere()
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
            Self::Reshare(work) => work,
            Self::Scrub(work) => work,
            Self::Check(work) => work,
            Self::Sanitize(work) => work,
            Self::Management(work) => work,
        }
    }

    fn of_kind_mut(&mut self) -> &mut dyn Kind {
        match self {
            Self::Reclaim(work) => work,
            Self::Reshare(work) => work,
            Self::Scrub(work) => work,
            Self::Check(work) => work,
            Self::Sanitize(work) => work,
            Self::Management(work) => work,
        }
    }

    /// Performs one step. Returns false at the end.
    async fn step(&mut self, context: &dyn Context, progress: &mut Progress) -> Result<bool, ControlError> {
        match self {
            Self::Reclaim(work) => work.step(context, progress).await,
            Self::Reshare(work) => work.step(context, progress).await,
            Self::Scrub(work) => work.step(context, progress).await,
            Self::Check(work) => work.step(context, progress).await,
            Self::Sanitize(work) => work.step(progress).await,
            Self::Management(work) => work.step(progress).await,
        }
    }

    /// True if the jobs have the same kind and subject, of which only one runs at a time.
    fn is_the_same_as(&self, other: &Self) -> bool {
        if let (Self::Reshare(one), Self::Reshare(other)) = (self, other)
            && !one.is_the_same_as(other)
        {
            return false;
        }
        let (one, other) = (self.of_kind(), other.of_kind());
        let volume = |work: &dyn Kind| work.volume().map(|(id, _)| id);
        one.kind() == other.kind() && volume(one) == volume(other) && !one.is_elsewhere()
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
