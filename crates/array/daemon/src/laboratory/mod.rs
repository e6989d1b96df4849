//! The laboratory on the array: runs of the white papers' cases on scratch volumes.
//!
//! A run is a process of its own, `windlass lab run`, that reaches the array over iSCSI as any host does. The array
//! makes two scratch volumes and a host with CHAP for it, reads its progress, and removes them when it has ended,
//! was cancelled, or has died, and at the next start of the array when the array itself was killed. Only one run
//! goes on at a time.
//!
//! * `archive`: records and results of runs in `STATE_DIR/lab`.
//! * `admission`: whether a run may begin.
//! * `scratch`: what it needs on the array.
//! * `child`: its process, and the reports that another process makes.
//! * `run`: a run from its beginning to its end.
//! * `shown`: results as the REST interface shows them.

mod admission;
mod archive;
mod child;
mod refusal;
mod run;
mod scratch;
mod shown;
#[cfg(test)]
mod tests;

pub(crate) use refusal::LabRefusal;
pub(crate) use scratch::{LABEL, is_scratch_host, is_scratch_volume};
pub use shown::lab_result;

use admission::Wanted;
use api::{LabCase, LabRun, LabRunCreate, LabRunState};
use archive::{Archive, Record};
use jiff::Timestamp;
use reactor::ArrayHandle;
use scratch::Scratch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Semaphore, watch};

/// Largest number of runs that are kept.
const KEPT: usize = 20;
/// Largest file of results in bytes.
pub(crate) const MAX_RESULTS_BYTES: usize = 8 << 20;
/// The program itself, also after an upgrade has replaced its file.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Reason for which a run is told to end.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stop {
    /// An administrator has cancelled it.
    Cancelled,
    /// The array stops.
    ArrayStops,
    /// Hosts wait too long for other volumes and shares.
    SlowHosts { p99_us: u64, limit_us: u64 },
}

/// A run that goes on.
struct Current {
    id: u64,
    stop: watch::Sender<Option<Stop>>,
    /// Completes when the run has ended: its sender is dropped.
    ended: watch::Receiver<()>,
}

/// Runs in memory.
#[derive(Default)]
struct Runs {
    known: BTreeMap<u64, LabRun>,
    current: Option<Current>,
}

/// The laboratory of an array.
pub(crate) struct Laboratory {
    archive: Archive,
    program: PathBuf,
    runs: Mutex<Runs>,
    /// Held while a report is made: one at a time.
    reporting: Semaphore,
    /// True once what an earlier run has left was removed, or is known to be there.
    recovered: watch::Sender<bool>,
}

impl Laboratory {
    /// Reads the records of earlier runs.
    pub(crate) fn open(state_dir: &Path) -> Self {
        let archive = Archive::at(state_dir);
        let known = archive.runs().into_iter().map(|run| (run.id, run)).collect();
        Self {
            archive,
            program: PathBuf::from(OWN_PROGRAM),
            runs: Mutex::new(Runs { known, current: None }),
            reporting: Semaphore::new(1),
            recovered: watch::Sender::new(false),
        }
    }

    /// The same with another program in the place of its own.
    #[cfg(test)]
    fn with_program(self, program: PathBuf) -> Self {
        Self { program, ..self }
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All cases, in the order of the papers.
    pub(crate) fn cases() -> Vec<LabCase> {
        shown::cases()
    }

    /// All runs, the newest first, without their points.
    pub(crate) fn list(&self) -> Vec<LabRun> {
        let runs = self.runs();
        runs.known.values().rev().map(|run| LabRun { points: Vec::new(), ..run.clone() }).collect()
    }

    /// One run.
    pub(crate) fn show(&self, id: u64) -> Result<LabRun, LabRefusal> {
        self.runs().known.get(&id).cloned().ok_or(LabRefusal::NoRun { id })
    }

    /// Begins a run. Its record is durable before anything is made on the array.
    pub(crate) async fn start(
        self: &Arc<Self>,
        request: LabRunCreate,
        by: String,
        array: &ArrayHandle,
    ) -> Result<LabRun, LabRefusal> {
        let wanted = Wanted::of(request)?;
        // What an interrupted run has left comes first.
        let mut recovered = self.recovered.subscribe();
        let _is_recovered = recovered.wait_for(|recovered| *recovered).await.is_ok();
        wanted.check_space(array).await?;
        let scratch = Scratch::new(&wanted).map_err(|reason| LabRefusal::Unavailable { reason })?;
        let (stop, stopped) = watch::channel(None);
        let (end, ended) = watch::channel(());
        let run = loop {
            let mut ending = {
                let mut runs = self.runs();
                let is_running = |id| runs.known.get(&id).is_some_and(|run| run.state == LabRunState::Running);
                match &runs.current {
                    Some(current) if is_running(current.id) => return Err(LabRefusal::Running { id: current.id }),
                    // It has its result, and older runs are being forgotten.
                    Some(current) => current.ended.clone(),
                    None => {
                        let run = wanted.run(self.archive.next_id(runs.known.keys().next_back().copied()), by);
                        runs.current = Some(Current { id: run.id, stop, ended });
                        runs.known.insert(run.id, run.clone());
                        break run;
                    }
                }
            };
            let _ended = ending.changed().await;
        };
        let record = Record { run: run.clone(), scratch: Some(scratch.clone()) };
        if let Err(error) = self.archive.write(record).await {
            let mut runs = self.runs();
            runs.known.remove(&run.id);
            runs.current = None;
            return Err(LabRefusal::Unavailable { reason: format!("{error:#}") });
        }
        let (laboratory, array, id) = (Arc::clone(self), array.clone(), run.id);
        tokio::spawn(async move {
            run::run(&laboratory, &array, id, wanted, scratch, stopped).await;
            laboratory.forget().await;
            laboratory.runs().current = None;
            drop(end);
        });
        Ok(run)
    }

    /// Tells a run to end. One that has ended is returned as it is.
    pub(crate) fn cancel(&self, id: u64) -> Result<LabRun, LabRefusal> {
        self.tell(id, Stop::Cancelled);
        self.show(id)
    }

    /// Tells a run to end, unless it was told already.
    fn tell(&self, id: u64, why: Stop) {
        let mut runs = self.runs();
        let Some(current) = runs.current.as_ref().filter(|current| current.id == id) else { return };
        current.stop.send_if_modified(|stop| {
            let is_first = stop.is_none();
            if is_first {
                *stop = Some(why);
            }
            is_first
        });
        if let Some(now) = runs.known.get_mut(&id).and_then(|run| run.now.as_mut()) {
            now.ending = true;
        }
    }

    /// Keeps results that were measured elsewhere, to compare them.
    pub(crate) async fn upload(&self, bytes: Vec<u8>, by: String) -> Result<LabRun, LabRefusal> {
        let malformed = |reason: String| LabRefusal::Malformed { reason };
        let parsed = shown::parse(&bytes).map_err(malformed)?;
        let id = {
            let mut runs = self.runs();
            let id = self.archive.next_id(runs.known.keys().next_back().copied());
            // Its place: another one gets the next number.
            runs.known.insert(id, shown::uploaded(id, &parsed, by));
            id
        };
        let kept = async {
            let unavailable = |error: anyhow::Error| LabRefusal::Unavailable { reason: format!("{error:#}") };
            self.archive.write_results(id, bytes).await.map_err(unavailable)?;
            let report = self.report_of(&[id]).await.map_err(|reason| LabRefusal::Malformed { reason })?;
            self.archive.write_report(id, report).await.map_err(unavailable)?;
            let run = self.show(id)?;
            self.archive.write(Record { run: run.clone(), scratch: None }).await.map_err(unavailable)?;
            Ok(run)
        };
        let kept = kept.await;
        if kept.is_err() {
            self.runs().known.remove(&id);
            self.archive.remove(id).await;
        }
        self.forget().await;
        kept
    }

    /// Results of a run, as `windlass lab run` saves them.
    pub(crate) async fn results(&self, id: u64) -> Result<Vec<u8>, LabRefusal> {
        self.with_report(id)?;
        self.archive.results(id).await.map_err(|error| LabRefusal::Unavailable { reason: format!("{error:#}") })
    }

    /// Report of a run as an HTML page; with another run, their comparison.
    pub(crate) async fn report(&self, id: u64, with: Option<u64>) -> Result<Vec<u8>, LabRefusal> {
        self.with_report(id)?;
        let unavailable = |reason: String| LabRefusal::Unavailable { reason };
        match with {
            None => self.archive.report(id).await.map_err(|error| unavailable(format!("{error:#}"))),
            Some(other) => {
                self.with_report(other)?;
                self.report_of(&[id, other]).await.map_err(unavailable)
            }
        }
    }

    /// A run that has a report.
    fn with_report(&self, id: u64) -> Result<LabRun, LabRefusal> {
        let run = self.show(id)?;
        if run.has_report { Ok(run) } else { Err(LabRefusal::NoReport { id }) }
    }

    /// Has a process make the report of these runs, whose results are in the archive.
    async fn report_of(&self, ids: &[u64]) -> Result<Vec<u8>, String> {
        let _turn = self.reporting.acquire().await.map_err(|error| error.to_string())?;
        let files = ids.iter().map(|id| self.archive.results_path(*id)).collect::<Vec<_>>();
        child::report(&self.program, &files).await
    }

    /// Changes a run in memory.
    fn change(&self, id: u64, change: impl FnOnce(&mut LabRun)) {
        if let Some(run) = self.runs().known.get_mut(&id) {
            change(run);
        }
    }

    /// Removes the oldest runs that have ended, beyond the number that is kept.
    async fn forget(&self) {
        let gone: Vec<u64> = {
            let mut runs = self.runs();
            let ended = runs.known.values().filter(|run| run.state != LabRunState::Running).map(|run| run.id);
            let gone: Vec<u64> = ended.take(runs.known.len().saturating_sub(KEPT)).collect();
            gone.iter().for_each(|id| drop(runs.known.remove(id)));
            gone
        };
        for id in gone {
            self.archive.remove(id).await;
        }
    }

    /// Removes what runs have left on the array that an earlier process of the array did not end.
    pub(crate) async fn recover(self: Arc<Self>, array: ArrayHandle) {
        for mut record in self.archive.unfinished() {
            let id = record.run.id;
            let left = match &record.scratch {
                Some(scratch) => scratch.remove(&array).await,
                None => Vec::new(),
            };
            if !left.is_empty() {
                tracing::warn!(
                    run = id,
                    ?left,
                    "a run of the laboratory has left something, which the next start removes"
                );
            }
            if record.run.state == LabRunState::Running {
                record.run.state = LabRunState::Failed;
                record.run.reason = Some("the array ended during the run".to_owned());
                record.run.finished = Some(Timestamp::now());
            }
            record.run.now = None;
            record.run.left = left;
            if record.run.left.is_empty() {
                record.scratch = None;
            }
            if self.archive.has_results(id) && !record.run.has_report {
                record.run.has_report = self.make_report(id).await;
            }
            self.change(id, |run| *run = record.run.clone());
            if let Err(error) = self.archive.write(record).await {
                tracing::warn!(run = id, error = format!("{error:#}"), "the record of a run could not be written");
            }
        }
        scratch::remove_unknown(&array).await;
        self.recovered.send_replace(true);
    }

    /// Makes and keeps the report of a run. Returns false if its results cannot be read.
    async fn make_report(&self, id: u64) -> bool {
        let made = match self.report_of(&[id]).await {
            Ok(report) => self.archive.write_report(id, report).await.map_err(|error| format!("{error:#}")),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = &made {
            tracing::warn!(run = id, reason, "the report of a run of the laboratory could not be made");
        }
        made.is_ok()
    }

    /// Ends the present run, and waits until nothing of it is left.
    pub(crate) async fn stop(&self) {
        let current = self.runs().current.as_ref().map(|current| (current.id, current.ended.clone()));
        if let Some((id, mut ended)) = current {
            self.tell(id, Stop::ArrayStops);
            // An error is the end of the sender, which is that of the run.
            while ended.changed().await.is_ok() {}
        }
    }
}
