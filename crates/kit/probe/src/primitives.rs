//! The primitives, one a file.

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

/// VMware's three words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It works, or is announced.
    Supported,
    /// It does not.
    NotSupported,
    /// It could not be tried.
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

/// What a host may hand to an array.
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
    /// Thin-provisioning thresholds: the array's signals that space runs out.
    Alerts,
}

impl Primitive {
    /// Those that a VMware host shows.
    pub(crate) const ALL: [Self; 4] = [Self::Ats, Self::Xcopy, Self::Zero, Self::Unmap];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ats => "ats",
            Self::Xcopy => "xcopy",
            Self::Zero => "zero",
            Self::Unmap => "unmap",
            Self::Alerts => "alerts",
        }
    }

    /// Its name in the output of esxcli.
    pub(crate) fn esxcli_name(self) -> Option<&'static str> {
        match self {
            Self::Ats => Some("ATS Status"),
            Self::Xcopy => Some("Clone Status"),
            Self::Zero => Some("Zero Status"),
            Self::Unmap => Some("Delete Status"),
            Self::Alerts => None,
        }
    }

    /// Does it on the scratch range, and looks at what came of it.
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

    /// What follows from what the unit says of itself.
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

/// What is to be said of a primitive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Which.
    pub primitive: Primitive,
    /// Its status.
    pub status: Status,
    /// Why.
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

    /// What follows from a command that failed; `Err` when nothing follows because the session broke. Without space, or past another host's reservation,
    /// nothing was tried.
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

/// Commands timed.
const REPEATS: u32 = 9;

/// Runs a command some times. Returns the median time, and the bytes on the wire of one, which `wire` counts.
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

/// Data that no unit holds by chance, different for each seed and nowhere zero.
pub(crate) fn pattern(seed: u64, bytes: usize) -> bytes::Bytes {
    let words = (1..=bytes as u64 / 8).map(|word| (word ^ seed << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    words.flat_map(u64::to_be_bytes).collect()
}
