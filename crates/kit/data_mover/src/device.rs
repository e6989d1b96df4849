//! A logical unit as a host sees it.

use bytes::Bytes;
use std::fmt;
use std::rc::Rc;
use thiserror::Error;

/// A run of logical blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First logical block.
    pub lba: u64,
    /// Number of logical blocks.
    pub blocks: u64,
}

/// Identity that a host determines when it finds a logical unit (INQUIRY, READ CAPACITY).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of logical blocks.
    pub blocks: u64,
    /// Size of a logical block in bytes.
    pub block_bytes: u32,
    /// NAA designator of VPD page 83h, by which EXTENDED COPY names the logical unit; `None` when
    /// the unit has none.
    pub naa: Option<[u8; 16]>,
    /// Vendor and product identification, the same for all units of one array.
    pub array: String,
    /// Limits that the logical unit announces.
    pub limits: Limits,
}

impl Identity {
    /// The NAA designator in hexadecimal, as long as its type says: 8 bytes, which [`Self::naa`] has padded, or 16
    /// (SPC-4 §7.8.6.6).
    pub fn naa_digits(&self) -> Option<String> {
        let naa = self.naa?;
        let length = if naa.first().is_some_and(|byte| byte >> 4 == 6) { 16 } else { 8 };
        Some(naa.iter().take(length).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Limits of one command, in logical blocks; 0 where the primitive is not supported. VPD pages B0h and B2h, RECEIVE
/// COPY OPERATING PARAMETERS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// MAXIMUM COMPARE AND WRITE LENGTH.
    pub compare_and_write: u32,
    /// MAXIMUM WRITE SAME LENGTH; `u32::MAX` when the unit names none.
    pub write_same: u64,
    /// MAXIMUM UNMAP LBA COUNT.
    pub unmap: u64,
    /// MAXIMUM UNMAP BLOCK DESCRIPTOR COUNT.
    pub unmap_descriptors: u32,
    /// OPTIMAL UNMAP GRANULARITY.
    pub unmap_granularity: u32,
    /// MAXIMUM SEGMENT LENGTH of EXTENDED COPY.
    pub copy_segment: u64,
    /// MAXIMUM SEGMENT DESCRIPTOR COUNT.
    pub copy_segments: u16,
}

/// One segment of an EXTENDED COPY between two logical units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyDescriptor {
    /// First block of the source.
    pub source_lba: u64,
    /// First block of the destination.
    pub destination_lba: u64,
    /// Number of blocks.
    pub blocks: u16,
}

/// Provisioning status of a run of blocks (GET LBA STATUS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LbaStatus {
    /// Run of blocks.
    pub extent: Extent,
    /// False for blocks that are not mapped and read as zeros.
    pub mapped: bool,
}

/// Outcome of a COMPARE AND WRITE that was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The block was equal; the new data is written.
    Written,
    /// The block was different; nothing is written.
    Miscompare,
}

/// Sense key, additional sense code and qualifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sense {
    /// Sense key.
    pub key: u8,
    /// Additional sense code.
    pub code: u8,
    /// Additional sense code qualifier.
    pub qualifier: u8,
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}h/{:02x}h/{:02x}h", self.key, self.code, self.qualifier)
    }
}

/// Reason why a command failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// The logical unit does not know the command (5h/20h/00h), or does not announce what it needs.
    #[error("the logical unit does not support {0}")]
    NotSupported(&'static str),
    /// Another host has the logical unit reserved.
    #[error("another host has reserved the logical unit")]
    ReservationConflict,
    /// The array has no space for the data (7h/27h/07h).
    #[error("the array has no space left for this logical unit (sense 7h/27h/07h)")]
    Full,
    /// CHECK CONDITION.
    #[error("{command} was refused with sense {sense}")]
    Refused {
        /// Name of the command.
        command: &'static str,
        /// Sense of the answer.
        sense: Sense,
    },
    /// Any other status.
    #[error("{command} ended with status {status:02x}h")]
    Status {
        /// Name of the command.
        command: &'static str,
        /// SCSI status of the answer.
        status: u8,
    },
    /// The connection is lost; the effect of the command is unknown.
    #[error("{0}")]
    Lost(String),
    /// No answer came in time, and the connection is given up; the effect of the command is
    /// unknown.
    #[error("{0}")]
    TimedOut(String),
    /// [`crate::DataMover::interrupt`] was called.
    #[error("interrupted")]
    Interrupted,
    /// The permit of a [`crate::Patient`] has ended, and the command was not sent: another host may
    /// own the blocks by now. Holds the seconds since the permit was last renewed, or `None` when
    /// it was withdrawn permanently.
    #[error("this host may no longer write there")]
    Withdrawn(Option<u64>),
}

impl DeviceError {
    /// Whether the effect of the command is unknown: [`Self::Lost`] and [`Self::TimedOut`].
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::TimedOut(_))
    }
}

/// Callback that returns false when nothing may be sent any more; called before each send.
pub type Gate = Rc<dyn Fn() -> bool>;

/// A logical unit as a host sees it. Commands may overlap in time; every later read of any host
/// returns an acknowledged write.
///
/// Lengths of data are multiples of [`Identity::block_bytes`]. The unit refuses a command that
/// reaches beyond its end.
pub trait Device {
    /// Identity of the unit, determined when it was found.
    fn identity(&self) -> &Identity;

    /// READ.
    async fn read(&self, extent: Extent) -> Result<Bytes, DeviceError>;

    /// WRITE.
    async fn write(&self, lba: u64, data: Bytes) -> Result<(), DeviceError>;

    /// COMPARE AND WRITE; both images have the same length, at most [`Limits::compare_and_write`].
    async fn compare_and_write(&self, lba: u64, expected: Bytes, new: Bytes) -> Result<Compared, DeviceError>;

    /// WRITE SAME of zeros, at most [`Limits::write_same`] blocks. With `unmap` the array may free
    /// the blocks if they then read as zeros.
    async fn write_zeros(&self, extent: Extent, unmap: bool) -> Result<(), DeviceError>;

    /// UNMAP of at most [`Limits::unmap_descriptors`] extents, [`Limits::unmap`] blocks in all.
    async fn unmap(&self, extents: &[Extent]) -> Result<(), DeviceError>;

    /// EXTENDED COPY from the logical unit named `source` to this one, at most [`Limits::copy_segments`] descriptors.
    async fn extended_copy(&self, source: &[u8; 16], segments: &[CopyDescriptor]) -> Result<(), DeviceError>;

    /// GET LBA STATUS from `lba` on: adjacent runs, the first beginning at `lba`. At least one run;
    /// fewer than all when they do not fit one answer.
    ///
    /// Errors: [`DeviceError::NotSupported`] also when unmapped blocks may read as other data than
    /// zeros (LBPRZ).
    async fn lba_status(&self, lba: u64) -> Result<Vec<LbaStatus>, DeviceError>;

    /// Scope of a reservation: devices that return the same value are reserved together. Differs
    /// from the designator where the device is a part of a logical unit.
    fn reserves(&self) -> Option<[u8; 16]> {
        self.identity().naa
    }

    /// RESERVE (6). Errors: [`DeviceError::ReservationConflict`] when another host holds a
    /// reservation.
    async fn reserve(&self) -> Result<(), DeviceError>;

    /// RELEASE (6).
    async fn release(&self) -> Result<(), DeviceError>;

    /// READ under a reservation of this host. It is not retried after a unit attention, which may
    /// mean that the reservation has ended: this returns [`DeviceError::ReservationConflict`].
    async fn read_reserved(&self, extent: Extent) -> Result<Bytes, DeviceError>;

    /// WRITE under a reservation of this host, with the same rule.
    async fn write_reserved(&self, lba: u64, data: Bytes) -> Result<(), DeviceError>;

    /// LOGICAL UNIT RESET: ends any reservation, and gives every host a unit attention.
    ///
    /// Errors: [`DeviceError::NotSupported`].
    async fn reset(&self) -> Result<(), DeviceError>;

    /// Stops sending once the gate is closed, including commands in a queue: a host that was
    /// stopped must not finish what it had begun. Later commands fail with [`DeviceError::Lost`].
    /// Devices without queues may ignore the gate.
    fn only_while(&self, gate: Gate) {
        drop(gate);
    }
}
