//! Probe of a logical unit: what would a VMware host conclude about it? Works against any iSCSI
//! target, without root. [`nfs`] is the same for a share of any NFS server.
//!
//! Without a write test, a primitive is Supported when the unit announces it, and the reason says
//! so. With a write test it is *proved*: carried out on a scratch range, verified, timed, and its
//! bytes on the wire counted; then the range is restored. No other host may use the unit meanwhile:
//! a unit whose datastore a living host has mounted is refused, and blocks that another host writes
//! to are left alone. Each primitive has a file in `primitives`.
#![forbid(unsafe_code)]

pub mod nfs;
mod primitives;
mod report;
mod scratch;
mod subject;
mod verdict;

pub use primitives::{Primitive, Verdict};
pub use report::Report;
pub use verdict::Status;

use data_mover::{DataMover, Device, DeviceError, Extent, Settings};
use datastore::Datastore;
use initiator::url::Url;
use initiator::{Interrupts, LogicalUnit, ProbeError as FindError, Session, SessionError, SystemClock};
use scratch::Scratch;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use subject::{Probed, Subject};
use thiserror::Error;

/// Reason why a probe failed.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The session failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The logical unit was not found or cannot be used.
    #[error(transparent)]
    Unit(#[from] FindError),
    /// A mandatory command failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The unit is too small, or its blocks are too large, for a scratch range.
    #[error("{0}")]
    NoScratch(String),
    /// The scratch range could not be restored.
    #[error("the write test failed ({reason}), and {blocks} blocks from LBA {lba} on could not be restored")]
    NotRestored {
        /// First block of the range.
        lba: u64,
        /// Number of blocks.
        blocks: u64,
        /// Error of the device.
        reason: DeviceError,
    },
    /// A living host has the unit's datastore mounted.
    #[error("the logical unit holds the datastore {datastore}, which {host} has mounted")]
    Mounted {
        /// Name of the datastore.
        datastore: String,
        /// Name of the host.
        host: String,
    },
    /// The scratch range holds data that the write test did not write.
    #[error(
        "another host or process writes to blocks {first} to {last}; the write test ended, and their present content is kept"
    )]
    ForeignWrite {
        /// First block.
        first: u64,
        /// Last block.
        last: u64,
    },
    /// A signal ended the probe; the scratch range was restored.
    #[error("interrupted")]
    Interrupted,
    /// The runtime could not be created.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
}

impl ProbeError {
    fn foreign_write(at: Extent) -> Self {
        Self::ForeignWrite { first: at.lba, last: at.lba.saturating_add(at.blocks.saturating_sub(1)) }
    }

    /// Whether the range could not be restored for lack of space.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::NotRestored { reason: DeviceError::Full, .. })
    }

    /// Whether the range was not restored because the session broke: another session may do it.
    fn is_lost(&self) -> bool {
        matches!(self, Self::NotRestored { reason, .. } if reason.is_lost())
    }
}

/// Time for which an array that disappeared during a write test is waited for, and the pause
/// between tries.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(500);

/// Parameters of a probe.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Prove each primitive on a scratch range.
    pub write_test: bool,
    /// Settings of the sessions.
    pub session: initiator::Options,
}

/// Probes a logical unit, on its own runtime.
pub fn probe(url: &Url, options: &Options) -> Result<Report, ProbeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, probe_here(url, options))
}

async fn probe_here(url: &Url, options: &Options) -> Result<Report, ProbeError> {
    let first = Session::connect(url, &options.session).await?;
    let second = Session::connect(url, &options.session.with_other_isid(1)).await?;
    let subject =
        Subject { unit: LogicalUnit::find(&first, url.lun).await?, other: LogicalUnit::find(&second, url.lun).await? };
    let inquiry = subject.unit.inquiry(None).await?;
    let mut report = Report::new(&subject, &inquiry, options.write_test);
    if options.write_test {
        check_not_mounted(&subject.unit).await?;
        // From here on a signal does not end the program at once.
        let mut interrupts = Interrupts::watch()?;
        let scratch = Scratch::take(&subject).await?;
        let verdicts = RefCell::default();
        let proved = tokio::select! {
            proved = prove(&subject, &scratch, &verdicts) => proved,
            () = interrupts.next() => Err(ProbeError::Interrupted),
        };
        // In any case the range is restored first, after all commands sent have landed.
        tokio::join!(first.wait_idle(options.session.timeout), second.wait_idle(options.session.timeout));
        let restored = match scratch.restore(&subject.unit).await {
            Err(lost) if lost.is_lost() => restore_over_a_new_session(url, options, &subject, &scratch, lost).await,
            restored => restored,
        };
        report.verdicts = verdicts.into_inner();
        match restored.and(proved) {
            Err(ProbeError::Interrupted) => return Err(ProbeError::Interrupted),
            ended => report.failed = ended.err(),
        }
    } else {
        report.verdicts = Primitive::ALL.iter().map(|primitive| primitive.announced(&subject)).collect();
    }
    if report.failed.is_none() {
        report.verdicts.push(primitives::alerts::verdict(&subject).await?);
        first.logout().await?;
        second.logout().await?;
    }
    Ok(report)
}

async fn check_not_mounted(unit: &LogicalUnit) -> Result<(), ProbeError> {
    let mover = Rc::new(DataMover::new(Settings::default(), Rc::new(SystemClock::default())));
    match Datastore::mounted_by(Rc::new(unit.clone()), mover).await? {
        None => Ok(()),
        Some((datastore, slot)) => Err(ProbeError::Mounted { datastore, host: slot.host }),
    }
}

/// Restores the range over a new session, as soon as one can be opened; returns `lost` if none can
/// for long.
async fn restore_over_a_new_session(
    url: &Url,
    options: &Options,
    subject: &Subject,
    scratch: &Scratch,
    lost: ProbeError,
) -> Result<(), ProbeError> {
    scratch.recall();
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        tokio::time::sleep(RETRY).await;
        let Ok(session) = Session::connect(url, &options.session.with_other_isid(2)).await else { continue };
        let Ok(unit) = LogicalUnit::find(&session, url.lun).await else { continue };
        // Not on another unit that has its place now.
        if unit.identity().naa == subject.identity().naa && unit.identity().blocks == subject.identity().blocks {
            match scratch.restore(&unit).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_lost() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Err(lost)
}

/// Proves the primitives one after the other. Verdicts are added as they are found, because they
/// are useful even if later ones are missing.
async fn prove<D: Probed>(
    subject: &Subject<D>,
    scratch: &Scratch,
    verdicts: &RefCell<Vec<Verdict>>,
) -> Result<(), ProbeError> {
    for primitive in Primitive::ALL {
        let verdict = primitive.prove(subject, scratch).await?;
        // Another host's data says nothing about the unit, and the next primitive must not
        // overwrite it.
        scratch.check(&subject.unit).await?;
        verdicts.borrow_mut().push(verdict);
    }
    Ok(())
}
