//! Probe of a share: what may a host leave to the server? Works against any server of NFSv4.1 or
//! NFSv4.2.
//!
//! Without a write test, a primitive is Supported when the server announces it, or knows its operation:
//! that is called on a directory, where it can do nothing. With a write test it is *proved* on files in a
//! directory of the probe, which is removed at the end: carried out, its effect verified, timed, and its
//! bytes on the wire counted. Each primitive has a file.

mod announced;
mod clone;
mod copy;
mod exactly_once;
mod fault;
mod free;
mod primitive;
mod read_plus;
mod report;
mod reserve;
mod scratch;
mod seek;
mod statistics;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests;
mod v3;
mod write_same;
mod xattr;

pub use primitive::{Primitive, Verdict};
pub use report::Report;

use initiator::Interrupts;
use nfs::v4::Status;
use nfs_client::url::Url;
use nfs_client::{ClientError, Identity, Session, Share};
use scratch::Scratch;
use std::cell::RefCell;
use std::time::Duration;
use thiserror::Error;

/// Time for which a call is repeated while the server is not reachable.
const PATIENCE: Duration = Duration::from_secs(10);
/// Calls in flight at most.
const SLOTS: u32 = 8;

/// Reason why a probe failed.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// A call failed that has nothing to do with a primitive.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The directory of the probe could not be removed.
    #[error("the directory {directory} could not be removed from the share: {reason}")]
    NotRemoved {
        /// Name of the directory.
        directory: String,
        /// Error of the call.
        reason: ClientError,
    },
    /// A signal ended the probe; its directory was removed.
    #[error("interrupted")]
    Interrupted,
    /// The runtime could not be created.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
}

/// Parameters of a probe.
#[derive(Clone, Debug)]
pub struct Options {
    /// Prove each primitive in a directory of the probe.
    pub write_test: bool,
    /// Time limit for each answer.
    pub timeout: Duration,
}

/// Probes the share or directory of a URL, on its own runtime.
pub fn probe(url: &Url, options: &Options) -> Result<Report, ProbeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        // A signal does not end the program at once, so that the directory is removed.
        let mut interrupts = Interrupts::watch()?;
        probe_here(url, options, interrupts.next()).await
    })
}

async fn probe_here(url: &Url, options: &Options, interrupted: impl Future<Output = ()>) -> Result<Report, ProbeError> {
    let (session, minor) = connect(url, options).await?;
    let share = Share::find(&session, &url.share).await?;
    let directory = share.directory(url).await?;
    let mut report = Report::new(&session, minor, options.write_test);
    if options.write_test {
        let scratch = Scratch::create(share, directory, url, minor, options.timeout).await?;
        let verdicts = RefCell::default();
        let proved = tokio::select! {
            proved = prove(&scratch, &verdicts) => proved,
            () = interrupted => Err(ProbeError::Interrupted),
        };
        report.verdicts = verdicts.into_inner();
        match scratch.remove().await.and(proved) {
            Err(ProbeError::Interrupted) => return Err(ProbeError::Interrupted),
            ended => report.failed = ended.err(),
        }
    } else {
        let scratch = Scratch::without_directory(share, directory, url, minor, options.timeout);
        report.verdicts = announced::verdicts(&scratch).await?;
    }
    if report.failed.is_none() {
        session.end().await?;
    }
    Ok(report)
}

/// A session with the highest minor version that the server has.
async fn connect(url: &Url, options: &Options) -> Result<(Session, u32), ProbeError> {
    let (owner, verifier) = scratch::unique_name()?;
    let identity = Identity::root(owner, verifier);
    let settings = nfs_client::Options { minor: 2, slots: SLOTS, timeout: options.timeout, patience: PATIENCE };
    match Session::connect(&url.server(), &identity, settings).await {
        Err(ClientError::Status { status: Status::MINOR_VERS_MISMATCH, .. }) => {
            let settings = nfs_client::Options { minor: 1, ..settings };
            Ok((Session::connect(&url.server(), &identity, settings).await?, 1))
        }
        session => Ok((session?, 2)),
    }
}

/// Proves the primitives one after the other. Verdicts are added as they are found, because they
/// are useful even if later ones are missing.
async fn prove(scratch: &Scratch, verdicts: &RefCell<Vec<Verdict>>) -> Result<(), ProbeError> {
    for primitive in Primitive::ALL {
        let verdict = primitive.prove(scratch).await?;
        verdicts.borrow_mut().push(verdict);
    }
    Ok(())
}
