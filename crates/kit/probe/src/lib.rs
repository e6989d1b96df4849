//! What would a VMware host conclude about this logical unit? Against any iSCSI target, without root.
//!
//! Read-only, a primitive is Supported when the unit announces it, and the reason says so. With a write test it is *proved*: done on a scratch range,
//! looked at, timed, and the bytes on the wire counted; then the range is as it was. Nobody else may use the unit meanwhile: one whose datastore a living host
//! has mounted is refused, and a range that somebody else writes to is left to him. One file a primitive below `primitives`.
#![forbid(unsafe_code)]

mod primitives;
mod report;
mod scratch;
mod subject;

pub use primitives::{Primitive, Status, Verdict};
pub use report::Report;

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

/// Why nothing can be said.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// No session.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// No logical unit.
    #[error(transparent)]
    Unit(#[from] FindError),
    /// A command that every unit knows failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The unit is too small, or its blocks are too large, for a scratch range.
    #[error("{0}")]
    NoScratch(String),
    /// The scratch range could not be put back; it is named.
    #[error(
        "the write test failed ({reason}), and {blocks} blocks from LBA {lba} on could not be put back as they were"
    )]
    NotRestored {
        /// First block.
        lba: u64,
        /// Blocks.
        blocks: u64,
        /// What happened.
        reason: DeviceError,
    },
    /// A host that is alive has the unit's datastore mounted.
    #[error("the logical unit holds the datastore {datastore}, which {host} has mounted")]
    Mounted {
        /// Name of the datastore.
        datastore: String,
        /// The host.
        host: String,
    },
    /// The scratch range holds what the write test did not write.
    #[error(
        "somebody else writes to blocks {first} to {last}; the write test was ended, and what is there now is left as it is"
    )]
    SomebodyElse {
        /// First block.
        first: u64,
        /// Last block.
        last: u64,
    },
    /// A signal asked for the end; what the write test wrote was put back.
    #[error("interrupted")]
    Interrupted,
    /// The runtime could not be made.
    #[error("cannot start: {0}")]
    Start(#[from] std::io::Error),
}

impl ProbeError {
    fn somebody_else(at: Extent) -> Self {
        Self::SomebodyElse { first: at.lba, last: at.lba.saturating_add(at.blocks.saturating_sub(1)) }
    }

    /// There was no space to put the range back.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::NotRestored { reason: DeviceError::Full, .. })
    }

    /// The range was not put back because the session broke: another one may do it.
    fn is_lost(&self) -> bool {
        matches!(self, Self::NotRestored { reason, .. } if reason.is_lost())
    }
}

/// How long an array that went away in the middle of a write test is waited for, and how often it is tried.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(500);

/// How to probe.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Prove each primitive on a scratch range.
    pub write_test: bool,
    /// Settings of the sessions.
    pub session: initiator::Options,
}

/// Probes a logical unit; on a runtime of its own.
pub fn probe(url: &Url, options: &Options) -> Result<Report, ProbeError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, probe_here(url, options))
}

async fn probe_here(url: &Url, options: &Options) -> Result<Report, ProbeError> {
    let first = Session::connect(url, &options.session).await?;
    let second = Session::connect(url, &options.session.other_way(1)).await?;
    let subject =
        Subject { unit: LogicalUnit::find(&first, url.lun).await?, other: LogicalUnit::find(&second, url.lun).await? };
    let inquiry = subject.unit.inquiry(None).await?;
    let mut report = Report::new(&subject, &inquiry, options.write_test);
    if options.write_test {
        check_not_mounted(&subject.unit).await?;
        // From here on a signal does not end the program by itself.
        let mut interrupts = Interrupts::watch()?;
        let scratch = Scratch::take(&subject).await?;
        let verdicts = RefCell::default();
        let proved = tokio::select! {
            proved = prove(&subject, &scratch, &verdicts) => proved,
            () = interrupts.next() => Err(ProbeError::Interrupted),
        };
        // Whatever came of it, the range is put back first; and what was sent lands before that.
        tokio::join!(first.at_rest(options.session.timeout), second.at_rest(options.session.timeout));
        let restored = match scratch.restore(&subject.unit).await {
            Err(lost) if lost.is_lost() => restore_anew(url, options, &subject, &scratch, lost).await,
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

/// Puts back what was there over a new session, as soon as there is one; `lost` when there is none for long.
async fn restore_anew(
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
        let Ok(session) = Session::connect(url, &options.session.other_way(2)).await else { continue };
        let Ok(unit) = LogicalUnit::find(&session, url.lun).await else { continue };
        // Not into another one that has its place now.
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

/// Adds what is found to the verdicts, one after the other: what is known is of use even when the rest cannot be.
async fn prove<D: Probed>(
    subject: &Subject<D>,
    scratch: &Scratch,
    verdicts: &RefCell<Vec<Verdict>>,
) -> Result<(), ProbeError> {
    for primitive in Primitive::ALL {
        let verdict = primitive.prove(subject, scratch).await?;
        // What somebody else has written says nothing of the unit, and must not be written over by the next one.
        scratch.check(&subject.unit).await?;
        verdicts.borrow_mut().push(verdict);
    }
    Ok(())
}
