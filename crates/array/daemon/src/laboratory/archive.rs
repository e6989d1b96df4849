//! Runs in `STATE_DIR/lab`: a directory for each, with its record (`run.json`), what it measured (`results.json`, as
//! `windlass lab run` saves it) and its report (`report.html`). Files are replaced atomically, and belong to the
//! owner of the array alone.

use super::MAX_RESULTS_BYTES;
use super::scratch::Scratch;
use anyhow::Context;
use api::{LabRun, LabRunState};
use reactor::state_files::{sync_directory, write_private};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Directory below the state directory.
const DIRECTORY: &str = "lab";
const RECORD: &str = "run.json";
const RESULTS: &str = "results.json";
const REPORT: &str = "report.html";
/// Largest report in bytes.
pub(super) const MAX_REPORT_BYTES: usize = 32 << 20;

/// Record of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) run: LabRun,
    /// What it has made on the array; absent when nothing of it is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scratch: Option<Scratch>,
}

/// The files.
#[derive(Clone, Debug)]
pub(super) struct Archive {
    directory: PathBuf,
}

impl Archive {
    pub(super) fn at(state_dir: &Path) -> Self {
        Self { directory: state_dir.join(DIRECTORY) }
    }

    fn path(&self, id: u64, name: &str) -> PathBuf {
        self.directory.join(id.to_string()).join(name)
    }

    /// Place of the results of a run.
    pub(super) fn results_path(&self, id: u64) -> PathBuf {
        self.path(id, RESULTS)
    }

    /// Numbers of all runs that have a directory.
    fn ids(&self) -> Vec<u64> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                tracing::warn!(directory = %self.directory.display(), %error, "runs of the laboratory cannot be read");
                return Vec::new();
            }
        };
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut ids: Vec<u64> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
        ids.sort_unstable();
        ids
    }

    fn records(&self) -> Vec<Record> {
        self.ids().into_iter().filter_map(|id| self.record(id)).collect()
    }

    /// Record of a run. One that cannot be read is reported, and left as it is.
    fn record(&self, id: u64) -> Option<Record> {
        let path = self.path(id, RECORD);
        let read = read(&path, MAX_RESULTS_BYTES).and_then(|bytes| Ok(serde_json::from_slice::<Record>(&bytes)?));
        match read {
            Ok(record) if record.run.id == id => Some(record),
            Ok(_) => {
                tracing::warn!(path = %path.display(), "the record of a run is that of another one");
                None
            }
            Err(error) => {
                tracing::warn!(path = %path.display(), error = format!("{error:#}"), "the record of a run cannot be read");
                None
            }
        }
    }

    /// All runs.
    pub(super) fn runs(&self) -> Vec<LabRun> {
        self.records().into_iter().map(|record| record.run).collect()
    }

    /// Records of runs that have not ended, or have left something on the array.
    pub(super) fn unfinished(&self) -> Vec<Record> {
        let is_unfinished = |record: &Record| record.scratch.is_some() || record.run.state == LabRunState::Running;
        self.records().into_iter().filter(is_unfinished).collect()
    }

    /// Number of the next run: after the last one that is known, and after each that has a directory.
    pub(super) fn next_id(&self, last: Option<u64>) -> u64 {
        last.max(self.ids().into_iter().next_back()).unwrap_or(0).saturating_add(1)
    }

    /// Writes a record.
    pub(super) async fn write(&self, record: Record) -> anyhow::Result<()> {
        let path = self.path(record.run.id, RECORD);
        let text = serde_json::to_vec_pretty(&record)?;
        write(path, text).await
    }

    /// Keeps results.
    pub(super) async fn write_results(&self, id: u64, bytes: Vec<u8>) -> anyhow::Result<()> {
        write(self.path(id, RESULTS), bytes).await
    }

    /// Keeps a report.
    pub(super) async fn write_report(&self, id: u64, bytes: Vec<u8>) -> anyhow::Result<()> {
        write(self.path(id, REPORT), bytes).await
    }

    /// Results of a run.
    pub(super) async fn results(&self, id: u64) -> anyhow::Result<Vec<u8>> {
        let path = self.path(id, RESULTS);
        tokio::task::spawn_blocking(move || read(&path, MAX_RESULTS_BYTES)).await?
    }

    /// True if a run has saved results.
    pub(super) fn has_results(&self, id: u64) -> bool {
        self.path(id, RESULTS).is_file()
    }

    /// Report of a run.
    pub(super) async fn report(&self, id: u64) -> anyhow::Result<Vec<u8>> {
        let path = self.path(id, REPORT);
        tokio::task::spawn_blocking(move || read(&path, MAX_REPORT_BYTES)).await?
    }

    /// Removes the files of a run.
    pub(super) async fn remove(&self, id: u64) {
        let directory = self.directory.join(id.to_string());
        let removed = tokio::task::spawn_blocking(move || fs::remove_dir_all(directory)).await;
        if let Ok(Err(error)) = removed
            && error.kind() != ErrorKind::NotFound
        {
            tracing::warn!(run = id, %error, "the files of a run cannot be removed");
        }
    }
}

/// Reads a file of `most` bytes at most.
fn read(path: &Path, most: usize) -> anyhow::Result<Vec<u8>> {
    let about = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    File::open(path).with_context(about)?.take(limit).read_to_end(&mut bytes).with_context(about)?;
    anyhow::ensure!(bytes.len() <= most, "{} has more than {most} bytes", path.display());
    Ok(bytes)
}

/// Replaces a file, in a directory that is made if needed. It is durable on return.
async fn write(path: PathBuf, bytes: Vec<u8>) -> anyhow::Result<()> {
    let written = tokio::task::spawn_blocking(move || {
        let about = || format!("cannot write {}", path.display());
        let directory = path.parent().with_context(about)?;
        fs::create_dir_all(directory).with_context(about)?;
        write_private(&path, &bytes)?;
        // The name of the directory.
        directory.parent().map_or(Ok(()), sync_directory).with_context(about)
    });
    written.await?
}
