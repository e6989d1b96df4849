//! The audit: who changed what. Lines of JSON in `STATE_DIR/audit/`, each with the SHA-256 of the one
//! before it.
//!
//! The intent of a change is durable before the change begins, and its result is appended when it
//! has ended. An intent without a result is that of a change during which the array stopped. If the
//! intent cannot be written, the change is refused.

mod files;
mod line;
mod log;
mod view;

pub(crate) use files::Name as FileName;
pub(crate) use line::{Author, Change, Intent, Outcome, Target};
pub(crate) use view::{Place, Query, Raw, View};

use jiff::Timestamp;
use log::Log;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Name of the directory, in the state directory.
const DIRECTORY: &str = "audit";

/// The audit of this array.
#[derive(Clone)]
pub(crate) struct Audit {
    directory: PathBuf,
    /// Absent before the first line, and after a failure: the next line opens the files again.
    log: Arc<Mutex<Option<Log>>>,
    /// Lines that this run has written, or tried to.
    written: Arc<AtomicU64>,
    /// Reads at a time: each has a file in memory.
    readers: Arc<Semaphore>,
}

impl Audit {
    /// Audit in a state directory. Touches nothing.
    pub(crate) fn of(state_dir: &Path) -> Self {
        let (log, written) = Default::default();
        Self { directory: state_dir.join(DIRECTORY), log, written, readers: Arc::new(Semaphore::new(1)) }
    }

    /// Writes an intent durably. Returns its number.
    pub(crate) async fn begin(&self, intent: Intent) -> anyhow::Result<u64> {
        self.with_log(move |log| log.append(line::Record::Intent(intent), true)).await
    }

    /// Writes the result of an intent. It becomes durable with the next intent at the latest.
    pub(crate) async fn end(&self, outcome: Outcome) -> anyhow::Result<()> {
        self.with_log(move |log| log.append(line::Record::Outcome(outcome), false)).await.map(drop)
    }

    /// Runs a function over the open files, on a thread for it.
    async fn with_log<T: Send + 'static>(
        &self,
        body: impl FnOnce(&mut Log) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let (log, directory) = (Arc::clone(&self.log), self.directory.clone());
        let written = Arc::clone(&self.written);
        let write = move || {
            let mut open = log.lock().unwrap_or_else(PoisonError::into_inner);
            // Whatever a failure has left, opening the files again repairs it.
            let mut present = match open.take() {
                Some(present) => present,
                None => Log::open(&directory, jiff::Timestamp::now())?,
            };
            let result = body(&mut present)?;
            *open = Some(present);
            written.fetch_add(1, Ordering::Relaxed);
            Ok(result)
        };
        tokio::task::spawn_blocking(write).await?
    }

    /// Reads entries, newest first.
    pub(crate) async fn list(&self, query: Query) -> anyhow::Result<Vec<View>> {
        self.read(move |directory| view::list(directory, &query)).await
    }

    /// Verifies all lines.
    pub(crate) async fn verify(&self) -> anyhow::Result<view::Verification> {
        let _turn = self.readers.acquire().await?;
        let directory = self.directory.clone();
        // Lines that are being written would look torn. What cannot be read leaves the log open.
        self.with_log(move |_| Ok(view::verify(&directory))).await?
    }

    /// Files with their numbers of first lines, oldest first.
    pub(crate) async fn files(&self) -> anyhow::Result<Vec<FileName>> {
        self.read(files::list).await
    }

    /// Complete lines of a file, of a time. A file that was removed meanwhile has none.
    pub(crate) async fn lines(
        &self,
        name: FileName,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> anyhow::Result<String> {
        let read = move |directory: &Path| {
            if directory.join(name.text()).try_exists()? {
                view::lines(directory, &name, since, until)
            } else {
                Ok(String::new())
            }
        };
        self.read(read).await
    }

    /// The oldest `limit` lines behind a place, and the place behind them.
    pub(crate) async fn after(&self, place: Place, limit: usize) -> anyhow::Result<(Vec<Raw>, Place)> {
        self.read(move |directory| view::after(directory, &place, limit)).await
    }

    /// Number of the last line; 0 if there is none.
    pub(crate) async fn last(&self) -> anyhow::Result<u64> {
        self.read(view::last).await
    }

    /// Number of lines that this run has written.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    async fn read<T: Send + 'static>(
        &self,
        body: impl FnOnce(&Path) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let _turn = self.readers.acquire().await?;
        let directory = self.directory.clone();
        tokio::task::spawn_blocking(move || body(&directory)).await?
    }
}

#[cfg(test)]
mod tests;
