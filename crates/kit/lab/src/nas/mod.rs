//! The cases of a mounted directory: what VAAI for NAS does with a file server, done by the calls that a file system offers. A clone is FICLONE or
//! copy_file_range, a reservation is fallocate, extended statistics are SEEK_HOLE, blocks and shared extents.
//!
//! Whatever the file system cannot do is said with the call and its errno. All files are below a directory of the case's own, which is removed
//! whatever happens. Nothing here knows which file system it is; tests run in a temporary directory.

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
    /// Its name, as in `nas-clone`.
    pub name: &'static str,
    /// One line that says what it does.
    pub title: &'static str,
    paper: fn() -> Paper,
    run: fn(&Bench<'_>, &mut Findings) -> Result<(), NasError>,
}

/// All of them, in the order of the papers.
pub const CASES: &[NasCase] = &[
    NasCase { name: "nas-clone", title: clone::TITLE, paper: clone::paper, run: clone::run },
    NasCase { name: "nas-reserve", title: reserve::TITLE, paper: reserve::paper, run: reserve::run },
    NasCase { name: "nas-stat", title: stat::TITLE, paper: stat::paper, run: stat::run },
];

/// The case of this name.
pub fn find(name: &str) -> Option<&'static NasCase> {
    CASES.iter().find(|case| case.name == name)
}

/// What the paper found that the case of this name is of; nothing when there is none.
pub fn paper(name: &str) -> Paper {
    find(name).map(|case| (case.paper)()).unwrap_or_default()
}

/// How large a case is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NasSettings {
    /// Rounds of off and on, at least one.
    pub pairs: u32,
    /// Bytes of the file; at least 1 MiB, in whole MiB. A case writes at most eight times as much.
    pub size: u64,
}

/// Why a case ended early.
#[derive(Debug, Error)]
pub(crate) enum NasError {
    /// Somebody does not want to wait.
    #[error("cancelled")]
    Cancelled,
    /// The file system does not know the call.
    #[error("the file system does not do {call}: {error}")]
    Unsupported {
        /// The call.
        call: &'static str,
        /// With the errno.
        error: io::Error,
    },
    /// Anything else.
    #[error("{doing}: {error}")]
    Io {
        /// What was done to which file.
        doing: String,
        /// With the errno.
        error: io::Error,
    },
}

/// Puts what was done before an error.
pub(crate) fn doing<E: Into<io::Error>>(what: &'static str, path: &Path) -> impl FnOnce(E) -> NasError {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    move |error| NasError::Io { doing: format!("cannot {what} {name}"), error: error.into() }
}

/// Where a case works.
pub(crate) struct Bench<'a> {
    scratch: TempDir,
    settings: NasSettings,
    cancelled: &'a AtomicBool,
}

impl Bench<'_> {
    /// A file of the case.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The directory that all files are in.
    pub(crate) fn directory(&self) -> &Path {
        self.scratch.path()
    }

    /// Bytes of the file.
    pub(crate) fn size(&self) -> u64 {
        self.settings.size
    }

    /// The rounds.
    pub(crate) fn rounds(&self) -> std::ops::RangeInclusive<u32> {
        1..=self.settings.pairs
    }

    /// To be called now and then by what takes long.
    pub(crate) fn go_on(&self) -> Result<(), NasError> {
        if self.cancelled.load(Ordering::Relaxed) { Err(NasError::Cancelled) } else { Ok(()) }
    }

    /// Removes a file that a round has no use for any more.
    pub(crate) fn remove(&self, path: &Path) -> Result<(), NasError> {
        std::fs::remove_file(path).map_err(doing("remove", path))
    }
}

/// Runs a case in a directory of its own below `directory`. It does not fail: what went wrong is in the result, beside what was found until then.
pub fn run(case: &str, directory: &Path, settings: &NasSettings) -> CaseResult {
    run_until(case, directory, settings, &AtomicBool::new(false))
}

/// [`run`], until `cancelled` becomes true.
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
        .map_err(doing("make a directory in", directory));
    let outcome = scratch.and_then(|scratch| {
        let bench = Bench { scratch, settings, cancelled };
        findings.notes.push(file_system::sentence(bench.directory()));
        let outcome = (known.run)(&bench, &mut findings);
        let path = bench.directory().to_owned();
        // Not left to the guard's drop, which would say nothing.
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
