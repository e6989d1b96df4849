//! Cases of files: the work of VAAI for NAS on a file server. The files are in a mounted directory
//! (`mounted`), by the calls that a file system offers, or in a share over NFSv4.2 (`share`), without a
//! mount. The cases know neither.
//!
//! A call that the file system lacks is reported with its errno or status. All files are in a directory
//! of the case, which is removed in any event.

mod clone;
mod content;
mod copy;
mod extents;
mod file_system;
mod files;
mod findings;
mod many_clones;
mod mounted;
mod place;
mod reserve;
mod share;
mod stat;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;
mod thick_clone;

pub use place::Place;

use crate::results::{CaseResult, Paper};
use files::Files;
use findings::Findings;
use nfs_client::ClientError;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use thiserror::Error;

/// A case of files.
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
    NasCase { name: "nas-thick-clone", title: thick_clone::TITLE, paper: thick_clone::paper, run: thick_clone::run },
    NasCase { name: "nas-many-clones", title: many_clones::TITLE, paper: many_clones::paper, run: many_clones::run },
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
pub enum NasError {
    /// The user cancelled the case.
    #[error("cancelled")]
    Cancelled,
    /// The file system lacks the call.
    #[error("the file system does not support {call}: {error}")]
    Unsupported {
        /// Name of the call.
        call: &'static str,
        /// Error with the errno or the status.
        error: String,
    },
    /// No space is left.
    #[error("{doing}: {error}")]
    Full {
        /// Operation and file.
        doing: String,
        /// Error with the errno or the status.
        error: String,
    },
    /// Any other error of the operating system.
    #[error("{doing}: {error}")]
    Io {
        /// Operation and file.
        doing: String,
        /// Error with the errno.
        error: io::Error,
    },
    /// Any other error of an NFS server.
    #[error("{doing}: {error}")]
    Nfs {
        /// Operation and file.
        doing: String,
        /// Error of the call.
        error: ClientError,
    },
}

/// Wraps an error with the operation and the file.
pub(crate) fn doing<E: Into<io::Error>>(what: &'static str, path: &Path) -> impl FnOnce(E) -> NasError {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    move |error| {
        let (doing, error) = (format!("cannot {what} {name}"), error.into());
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                NasError::Full { doing, error: error.to_string() }
            }
            _ => NasError::Io { doing, error },
        }
    }
}

/// Working directory and settings of a case.
pub(crate) struct Bench<'a> {
    files: Box<dyn Files>,
    settings: NasSettings,
    cancelled: &'a AtomicBool,
}

impl Bench<'_> {
    /// Files of the case.
    pub(crate) fn files(&self) -> &dyn Files {
        &*self.files
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
}

/// Runs a case in a new directory of a place. Errors are recorded in the result, with the values found
/// until then.
pub fn run(case: &str, place: &Place, settings: &NasSettings) -> CaseResult {
    run_until(case, place, settings, &AtomicBool::new(false))
}

/// Like [`run`], until `cancelled` becomes true.
pub fn run_until(case: &str, place: &Place, settings: &NasSettings, cancelled: &AtomicBool) -> CaseResult {
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
    let outcome = place.open().and_then(|files| {
        let bench = Bench { files, settings, cancelled };
        findings.notes.push(bench.files().sentence());
        let outcome = (known.run)(&bench, &mut findings);
        let closed = bench.files.close();
        outcome.and(closed)
    });
    match outcome {
        Ok(()) => {}
        Err(NasError::Cancelled) => findings.skipped = Some("cancelled".into()),
        Err(error @ NasError::Unsupported { .. }) => findings.skipped = Some(error.to_string()),
        Err(error) => findings.failures.push(error.to_string()),
    }
    findings.result(known.name, known.title, (known.paper)(), started.elapsed().as_secs_f64())
}
