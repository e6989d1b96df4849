//! Execution of jobs: their steps in turn, pauses in favour of hosts, stored progress, results.

use super::{Context, Job, JobState, JobView, Kind, PoolResult, Progress, Work};
use crate::catalog::DynCatalog;
use crate::control::Control;
use crate::directory::Directory;
use crate::environment::yield_now;
use crate::error::ControlError;
use crate::events::{Draft, Severity};
use crate::record::Document;
use futures_util::StreamExt;
use futures_util::future::{FutureExt, LocalBoxFuture};
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use pool::{CatalogChange, ObjectId, Place, PoolError};
use std::cell::Ref;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// Time between two writes of a job's state.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);
/// Shortest pause in favour of hosts: timers are no finer.
const LEAST_PAUSE: Duration = Duration::from_millis(5);
/// Longest pause, so that a job can be cancelled.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl Context for Control {
    fn catalog(&self) -> &dyn DynCatalog {
        &**self.catalog()
    }

    fn directory(&self) -> Ref<'_, Directory> {
        self.directory()
    }

    fn now(&self) -> Timestamp {
        self.environment().now()
    }

    fn pool_error(&self, error: PoolError) -> ControlError {
        self.pool_error(error)
    }

    fn report_damage(&self, sentence: &str, object: Option<ObjectId>) -> String {
        self.report_damage(sentence, object)
    }

    fn report_bad(&self, places: Vec<Place>) -> LocalBoxFuture<'_, ()> {
        self.report_bad(places).boxed_local()
    }
}

impl Control {
    /// Executes jobs and watches thresholds, incidents and the pool's state. Never ends; must be
    /// polled from start to stop of the array.
    pub async fn background(&self) {
        let mut running = FuturesUnordered::new();
        running.push(self.watch().boxed_local());
        running.push(self.yield_trash().boxed_local());
        running.push(self.watch_locks().boxed_local());
        std::future::poll_fn(|context| {
            self.jobs().waker.replace(Some(context.waker().clone()));
            let waiting = self.jobs().waiting.take();
            running.extend(waiting.into_iter().map(|job| self.run_job(job).boxed_local()));
            while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
            Poll::Pending
        })
        .await
    }

    pub(super) fn job_view(&self, job: &Job) -> JobView {
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

    pub(super) fn job_subject(&self, work: &dyn Kind) -> String {
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
            let step = work.step(self, &mut progress).await;
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

    fn hosts_are_active(&self) -> bool {
        self.jobs().hosts_are_active(self.live().commands(), self.environment().monotonic())
    }

    /// Time that background work other than jobs owes to hosts, after it has worked for some, by the default share of
    /// jobs. Nothing while no host is active.
    pub fn owed_to_hosts(&self, worked: Duration) -> Duration {
        if self.hosts_are_active() { owed_for(worked, self.jobs().default_share_percent) } else { Duration::ZERO }
    }

    /// Pauses in favour of hosts. Returns the time still owed to them.
    async fn give_way(&self, job: &Job, owed: Duration, worked: Duration) -> Duration {
        let share = job.share_percent.get().unwrap_or(self.jobs().default_share_percent);
        let owed = if self.hosts_are_active() { owed + owed_for(worked, share) } else { Duration::ZERO };
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

/// Time owed to hosts for work that may take `share` percent of the time.
fn owed_for(worked: Duration, share: u8) -> Duration {
    let share = u32::from(share.clamp(1, 100));
    worked * (100 - share) / share
}
