//! The primitives, one per file.

pub(crate) mod alerts;
pub(crate) mod ats;
pub(crate) mod unmap;
pub(crate) mod xcopy;
pub(crate) mod zero;

use crate::scratch::Scratch;
use crate::subject::{Probed, Subject};
use data_mover::DeviceError;
use std::fmt;
use std::time::{Duration, Instant};

/// Status in VMware's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The primitive works, or is announced.
    Supported,
    /// The primitive does not work, or is not announced.
    NotSupported,
    /// The primitive could not be tried.
    Unknown,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Supported => "Supported",
            Self::NotSupported => "Not supported",
            Self::Unknown => "Unknown",
        })
    }
}

/// Work that a host may offload to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// COMPARE AND WRITE.
    Ats,
    /// EXTENDED COPY.
    Xcopy,
    /// WRITE SAME.
    Zero,
    /// UNMAP.
    Unmap,
    /// Thin-provisioning thresholds: the array's signals that space is running out.
    Alerts,
}

impl Primitive {
    /// Primitives that a VMware host shows.
    pub(crate) const ALL: [Self; 4] = [Self::Ats, Self::Xcopy, Self::Zero, Self::Unmap];

    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ats => "ats",
            Self::Xcopy => "xcopy",
            Self::Zero => "zero",
            Self::Unmap => "unmap",
            Self::Alerts => "alerts",
        }
    }

    /// Name in the output of esxcli.
    pub(crate) fn esxcli_name(self) -> Option<&'static str> {
        match self {
            Self::Ats => Some("ATS Status"),
            Self::Xcopy => Some("Clone Status"),
            Self::Zero => Some("Zero Status"),
            Self::Unmap => Some("Delete Status"),
            Self::Alerts => None,
        }
    }

    /// Carries out the primitive on the scratch range, and verifies the result.
    pub(crate) async fn prove<D: Probed>(
        self,
        subject: &Subject<D>,
        scratch: &Scratch,
    ) -> Result<Verdict, DeviceError> {
        match self {
            Self::Ats => ats::prove(subject, scratch).await,
            Self::Xcopy => xcopy::prove(subject, scratch).await,
            Self::Zero => zero::prove(subject, scratch).await,
            Self::Unmap => unmap::prove(subject, scratch).await,
            Self::Alerts => alerts::verdict(subject).await,
        }
    }

    /// Verdict that follows from the unit's announcements.
    pub(crate) fn announced<D: Probed>(self, subject: &Subject<D>) -> Verdict {
        let limits = subject.identity().limits;
        let (announced, from) = match self {
            Self::Ats => (limits.compare_and_write > 0, "MAXIMUM COMPARE AND WRITE LENGTH of VPD page B0h"),
            Self::Xcopy => (limits.copy_segments > 0, "RECEIVE COPY OPERATING PARAMETERS"),
            Self::Zero => (limits.write_same > 0, "VPD page B0h"),
            Self::Unmap => (limits.unmap > 0, "MAXIMUM UNMAP LBA COUNT of VPD page B0h and LBPU of B2h"),
            Self::Alerts => (false, "the mode page"),
        };
        match announced {
            true => {
                Verdict::new(self, Status::Supported, format!("announced, not tried ({from}): --write-test proves it"))
            }
            false => Verdict::new(self, Status::NotSupported, format!("not announced by {from}")),
        }
    }
}

/// Verdict on a primitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Primitive.
    pub primitive: Primitive,
    /// Status of the primitive.
    pub status: Status,
    /// Reason for the status.
    pub reason: String,
    /// Median time of one command.
    pub latency: Option<Duration>,
    /// TCP payload of one command, both ways, in bytes.
    pub wire_bytes: Option<u64>,
}

impl Verdict {
    pub(crate) fn new(primitive: Primitive, status: Status, reason: impl Into<String>) -> Self {
        Self { primitive, status, reason: reason.into(), latency: None, wire_bytes: None }
    }

    /// Verdict after a failed command; `Err` when the session broke. Without space, or under
    /// another host's reservation, the primitive counts as not tried.
    pub(crate) fn failed(primitive: Primitive, error: DeviceError) -> Result<Self, DeviceError> {
        let status = match &error {
            DeviceError::Full | DeviceError::ReservationConflict => Status::Unknown,
            _ => Status::NotSupported,
        };
        if error.is_lost() { Err(error) } else { Ok(Self::new(primitive, status, error.to_string())) }
    }

    pub(crate) fn wrong(primitive: Primitive, reason: impl Into<String>) -> Self {
        Self::new(primitive, Status::NotSupported, reason)
    }
}

/// Number of timed commands.
const REPEATS: u32 = 9;

/// Runs a command several times. Returns the median time, and the average bytes on the wire per
/// command, which `wire` counts.
pub(crate) async fn timed<E>(
    wire: impl Fn() -> u64,
    mut command: impl AsyncFnMut(u32) -> Result<(), E>,
) -> Result<(Duration, u64), E> {
    let before = wire();
    let mut times = Vec::new();
    for round in 0..REPEATS {
        let started = Instant::now();
        command(round).await?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    Ok((median, (wire() - before) / u64::from(REPEATS)))
}

#[cfg(test)]
mod liars;

/// Data that no unit holds by chance, different for each seed and without zero words.
pub(crate) fn pattern(seed: u64, bytes: usize) -> bytes::Bytes {
    random::pattern(seed, bytes as u64).into()
}
