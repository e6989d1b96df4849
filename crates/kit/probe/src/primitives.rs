//! The primitives, one per file.

pub(crate) mod alerts;
pub(crate) mod ats;
pub(crate) mod unmap;
pub(crate) mod xcopy;
pub(crate) mod zero;

use crate::scratch::Scratch;
use crate::subject::{Probed, Subject};
use crate::verdict::{self, Status};
use data_mover::DeviceError;

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

/// Verdict on a primitive of a logical unit.
pub type Verdict = verdict::Verdict<Primitive>;

impl Verdict {
    /// Verdict after a failed command; `Err` when the session broke. Without space, or under
    /// another host's reservation, the primitive counts as not tried.
    pub(crate) fn failed(primitive: Primitive, error: DeviceError) -> Result<Self, DeviceError> {
        let status = match &error {
            DeviceError::Full | DeviceError::ReservationConflict => Status::Unknown,
            _ => Status::NotSupported,
        };
        if error.is_lost() { Err(error) } else { Ok(Self::new(primitive, status, error.to_string())) }
    }
}

#[cfg(test)]
mod liars;
