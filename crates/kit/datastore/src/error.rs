//! Errors of datastore operations.

use data_mover::{DeviceError, UpdateError};
use thiserror::Error;

/// Reason why a datastore operation failed.
#[derive(Clone, Debug, Error)]
pub enum DatastoreError {
    /// The logical unit failed a command.
    #[error(transparent)]
    Device(DeviceError),
    /// Other hosts kept the logical unit reserved.
    #[error("the logical unit stayed reserved by other hosts")]
    Reserved,
    /// The logical unit has no datastore.
    #[error("there is no datastore on this logical unit")]
    NoDatastore,
    /// The logical unit has a datastore, or other data that is not zeros.
    #[error("the logical unit holds data")]
    NotEmpty,
    /// The format version of the datastore is unknown to this program.
    #[error("the datastore has format version {0}; this program knows version 1")]
    Version(u32),
    /// The requested datastore does not fit the logical unit.
    #[error("{0}")]
    Geometry(String),
    /// A metadata sector is damaged.
    #[error("sector {lba} is damaged: {what}")]
    Damaged {
        /// LBA of the sector.
        lba: u64,
        /// What is wrong with the sector.
        what: &'static str,
    },
    /// Living hosts have all heartbeat slots.
    #[error("all {0} heartbeat slots are taken by other hosts")]
    TooManyHosts(u32),
    /// Another host considered this one dead, and may have taken over its locks. This host must
    /// write nothing until it has mounted the datastore again.
    #[error("this host has lost its heartbeat to another host; mount the datastore again")]
    Evicted,
    /// The heartbeat could not be renewed in time; a later renewal may still succeed.
    #[error("this host has not been able to renew its heartbeat for {0} s")]
    LeaseExpired(u64),
    /// A living host holds the lock.
    #[error("{name} is locked by host {host}")]
    Locked {
        /// Name of the file.
        name: String,
        /// Name of the host that holds the lock.
        host: String,
    },
    /// No such file.
    #[error("there is no file {0}")]
    NoSuchFile(String),
    /// A file of this name exists.
    #[error("file {0} exists")]
    Exists(String),
    /// An interrupted copy has this name; it can be continued.
    #[error("{0} is an interrupted copy")]
    Partial(String),
    /// The name is not valid.
    #[error("{0:?} cannot be the name of a file: 1 to 200 bytes, no control characters, no slash at either end")]
    Name(String),
    /// Every file record is in use.
    #[error("all {0} files of the datastore are in use")]
    TooManyFiles(u32),
    /// No free block.
    #[error("the datastore is full")]
    Full,
    /// The disk was read without a lock, because other disks were based on it, and that ended
    /// meanwhile. The data may mix two states of the disk, or be another disk's.
    #[error("{0} was changed by another host while it was read")]
    Changed(String),
    /// Other disks are based on this one.
    #[error("{0} is the base of other disks")]
    HasChildren(String),
    /// The range reaches beyond the end of the disk, or is not in whole sectors.
    #[error("{bytes} bytes at {offset} are not whole sectors within a disk of {size}")]
    Range {
        /// Offset in bytes.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
        /// Size of the disk in bytes.
        size: u64,
    },
    /// The operation is not possible for this disk.
    #[error("{0}")]
    Unsuitable(String),
}

impl DatastoreError {
    /// Whether other files can still be worked on: the array refused a command, or a sector is
    /// damaged.
    pub(crate) fn is_of_one_file(&self) -> bool {
        let refused = |error: &DeviceError| {
            matches!(error, DeviceError::Refused { .. } | DeviceError::NotSupported(_) | DeviceError::Full)
        };
        matches!(self, Self::Damaged { .. }) || matches!(self, Self::Device(error) if refused(error))
    }
}

impl From<DeviceError> for DatastoreError {
    fn from(error: DeviceError) -> Self {
        match error {
            DeviceError::Withdrawn(Some(seconds)) => Self::LeaseExpired(seconds),
            DeviceError::Withdrawn(None) => Self::Evicted,
            error => Self::Device(error),
        }
    }
}

impl From<UpdateError> for DatastoreError {
    fn from(error: UpdateError) -> Self {
        match error {
            UpdateError::Device(error) => error.into(),
            UpdateError::Reserved(_) => Self::Reserved,
        }
    }
}
