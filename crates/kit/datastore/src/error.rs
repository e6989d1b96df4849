//! What can go wrong.

use data_mover::{DeviceError, UpdateError};
use thiserror::Error;

/// Why an operation on a datastore did not succeed.
#[derive(Clone, Debug, Error)]
pub enum DatastoreError {
    /// The logical unit did not carry out a command.
    #[error(transparent)]
    Device(DeviceError),
    /// Other hosts kept the logical unit reserved.
    #[error("the logical unit stayed reserved by other hosts")]
    Reserved,
    /// There is no datastore on the logical unit.
    #[error("there is no datastore on this logical unit")]
    NoDatastore,
    /// There is one, or something else that is not zeros.
    #[error("the logical unit holds data")]
    NotEmpty,
    /// The datastore is of a version that this program does not know.
    #[error("the datastore has format version {0}; this program knows version 1")]
    Version(u32),
    /// What was asked for does not fit the logical unit.
    #[error("{0}")]
    Geometry(String),
    /// A sector does not hold what it should.
    #[error("sector {lba} is damaged: {what}")]
    Damaged {
        /// Its LBA.
        lba: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// All heartbeat slots are taken by hosts that are alive.
    #[error("all {0} heartbeat slots are taken by other hosts")]
    TooManyHosts(u32),
    /// Another host thought this one dead, and may have taken over its locks. Nothing may be written until the datastore is mounted
    /// again.
    #[error("this host has lost its heartbeat to another host; mount the datastore again")]
    Evicted,
    /// The heartbeat could not be renewed in time; it may come back.
    #[error("this host has not been able to renew its heartbeat for {0} s")]
    LeaseExpired(u64),
    /// A lock is held by a host that is alive.
    #[error("{name} is locked by host {host}")]
    Locked {
        /// The file.
        name: String,
        /// Name of the host.
        host: String,
    },
    /// No such file.
    #[error("there is no file {0}")]
    NoSuchFile(String),
    /// There is one already.
    #[error("file {0} exists")]
    Exists(String),
    /// A copy of this name was interrupted, and may go on.
    #[error("{0} is a copy that was interrupted")]
    Partial(String),
    /// A name that cannot be one.
    #[error("{0:?} cannot be the name of a file: 1 to 200 bytes, no control characters, no slash at either end")]
    Name(String),
    /// Every file record is in use.
    #[error("all {0} files of the datastore are in use")]
    TooManyFiles(u32),
    /// No free block.
    #[error("the datastore is full")]
    Full,
    /// The disk was read without a lock, as others were based on it, and that ended meanwhile: what was read is of two times, or another disk's.
    #[error("{0} was changed by another host while it was read")]
    Changed(String),
    /// Other disks are based on this one.
    #[error("{0} is the base of other disks")]
    HasChildren(String),
    /// Beyond the end of the disk, or not in whole sectors.
    #[error("{bytes} bytes at {offset} are not whole sectors within a disk of {size}")]
    Range {
        /// Offset in bytes.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
        /// Size of the disk in bytes.
        size: u64,
    },
    /// What was asked for makes no sense for this disk.
    #[error("{0}")]
    Unsuitable(String),
}

impl DatastoreError {
    /// True when other files can be worked on all the same: the array refused a command, or a sector is damaged.
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
