//! Cases of a mounted directory: the work of VAAI for NAS on a file server, by the calls that a
//! file system offers. A clone is FICLONE or copy_file_range, a reservation is fallocate, extended
//! statistics are SEEK_HOLE, blocks and shared extents.
//!
//! A call that the file system lacks is reported with its errno. All files are in a directory of
//! the case, which is removed in any event. The code does not depend on the file system; tests run
//! in a temporary directory.

mod clone;
mod content;
mod copy;
mod extents;
mod file_system;
mod findings;
mod reserve;
mod stat;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;

pub use file_system::subject;

use crate::results::{CaseResult, Paper};
use findings::Findings;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tempfile::TempDir;
use thiserror::Error;

/// A case of a mounted directory.
#[derive(Clone, Copy, Debug)]
pub struct NasCase {
    /// Name, as in `nas-clone`.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    paper: fn() -> Paper,
    run: fn(&Bench<'_>, &mut Findings) -> Result<(), NasError>,
}

/// All cases, in the order of the papers.
pub const CASES: &[NasCase] = &[
    NasCase { name: "nas-clone", title: clone::TITLE, paper: clone::paper, run: clone::run },
    NasCase { name: "nas-reserve", title: reserve::TITLE, paper: reserve::paper, run: reserve::run },
    NasCase { name: "nas-stat", title: stat::TITLE, paper: stat::paper, run: stat::run },
];

/// Finds a case by name.
pub fn find(name: &str) -> Option<&'static NasCase> {
    CASES.iter().find(|case| case.name == name)
}

/// Result in the paper for the case of this name; empty when there is no such case.
pub fn paper(name: &str) -> Paper {
    find(name).map(|case| (case.paper)()).unwrap_or_default()
}

/// Scale of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NasSettings {
    /// Rounds of off and on, at least one.
    pub pairs: u32,
    /// Size of the file in bytes; at least 1 MiB, in whole MiB. A case writes at most eight times
    /// as much.
    pub size: u64,
}

/// Reason why a case ended early.
#[derive(Debug, Error)]
pub(crate) enum NasError {
    /// The user cancelled the case.
    #[error("cancelled")]
    Cancelled,
    /// The file system lacks the call.
    #[error("the file system does not support {call}: {error}")]
    Unsupported {
        /// Name of the call.
        call: &'static str,
        /// Error with the errno.
        error: io::Error,
    },
    /// Any other error.
    #[error("{doing}: {error}")]
    Io {
        /// Operation and file.
        doing: String,
        /// Error with the errno.
        error: io::Error,
    },
}

/// Wraps an error with the operation and the file.
pub(crate) fn doing<E: Into<io::Error>>(what: &'static str, path: &Path) -> impl FnOnce(E) -> NasError {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    move |error| NasError::Io { doing: format!("cannot {what} {name}"), error: error.into() }
}

/// Working directory and settings of a case.
pub(crate) struct Bench<'a> {
    scratch: TempDir,
    settings: NasSettings,
    cancelled: &'a AtomicBool,
}

impl Bench<'_> {
    /// Path of a file of the case.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Directory of all files of the case.
    pub(crate) fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// Size of the file in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.settings.size
    }

    /// Numbers of the rounds, from 1 on.
    pub(crate) fn rounds(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.settings.pairs
    }

    /// Checks for cancellation; long work calls it regularly.
    pub(crate) fn check_cancelled(&self) -> Result<(), NasError> {
        if self.cancelled.load(Ordering::Relaxed) { Err(NasError::Cancelled) } else { Ok(()) }
    }

    /// Removes a file that a round no longer needs.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), NasError> {
        std::fs::remove_file(path).map_err(doing("remove", path))
    }
}

/// Runs a case in a new directory below `directory`. Errors are recorded in the result, with the
/// values found until then.
pub fn run(case: &str, directory: &Path, settings: &NasSettings) -> CaseResult {
    run_until(case, directory, settings, &AtomicBool::new(false))
}

/// Like [`run`], until `cancelled` becomes true.
pub fn run_until(case: &str, directory: &Path, settings: &NasSettings, cancelled: &AtomicBool) -> CaseResult {
    let started = Instant::now();
    let Some(known) = find(case) else {
        let failures = vec![format!("there is no case {case}")];
        return CaseResult { case: case.to_owned(), failures, ..CaseResult::default() };
    };
    let settings = NasSettings {
        pairs: settings.pairs.max(1),
        size: settings.size.next_multiple_of(content::MIB).max(content::MIB),
    };
    let mut findings = Findings::default();
    let scratch = tempfile::Builder::new()
        .prefix("windlass-lab-")
        .tempdir_in(directory)
        .map_err(doing("create a directory in", directory));
    let outcome = scratch.and_then(|scratch| {
        let bench = Bench { scratch, settings, cancelled };
        findings.notes.push(file_system::sentence(bench.directory()));
        let outcome = (known.run)(&bench, &mut findings);
        let path = bench.directory().to_owned();
        // Closed explicitly, because the guard's drop would hide an error.
        outcome.and(bench.scratch.close().map_err(doing("remove", &path)))
    });
    match outcome {
        Ok(()) => {}
        Err(NasError::Cancelled) => findings.skipped = Some("cancelled".into()),
        Err(error @ NasError::Unsupported { .. }) => findings.skipped = Some(error.to_string()),
        Err(error) => findings.failures.push(error.to_string()),
    }
    findings.result(known.name, known.title, (known.paper)(), started.elapsed().as_secs_f64())
}
