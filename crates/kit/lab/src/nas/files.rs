//! Files of a case: the interface that cases use, whatever serves it.

use super::NasError;

/// Room of a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) size: u64,
    /// Free bytes for this user.
    pub(crate) free: u64,
    /// Free bytes in all; the space of a file is measured by these.
    pub(crate) unused: u64,
}

/// Extended statistics of a file, and its data, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Length of the file.
    pub(crate) capacity: u64,
    /// Allocated blocks, including shared ones.
    pub(crate) used: u64,
    /// Data that is not a hole.
    pub(crate) data: u64,
    /// Part of `used` that no other file shares; `None` where this is not reported.
    pub(crate) unshared: Option<u64>,
}

/// Way to reserve a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reserve {
    /// The host writes zeros.
    WriteZeros,
    /// Space that reads as zeros.
    Lazy,
    /// Space that was written with zeros.
    Eager,
}

/// Way to copy a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// The host reads and writes.
    ReadWrite,
    /// The blocks are shared.
    Clone,
    /// The file system or its server chooses the method.
    CopyRange,
}

/// Creates the same files for another thread.
pub(crate) type Another = Box<dyn FnOnce() -> Result<Box<dyn Files>, NasError> + Send>;

/// Files in the directory of a case. Calls block.
///
/// Errors: [`NasError::Unsupported`] for a call that the file system lacks, [`NasError::Full`] without
/// space.
pub(crate) trait Files {
    /// Creates an empty file.
    fn create(&self, name: &str) -> Result<(), NasError>;

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<(), NasError>;

    /// Length of a file in bytes.
    fn size(&self, name: &str) -> Result<u64, NasError>;

    /// Sets the length of a file.
    fn set_size(&self, name: &str, bytes: u64) -> Result<(), NasError>;

    /// Fills the buffer from a file, which must reach that far.
    fn read(&self, name: &str, offset: u64, buffer: &mut [u8]) -> Result<(), NasError>;

    /// Writes all of the data.
    fn write(&self, name: &str, offset: u64, data: &[u8]) -> Result<(), NasError>;

    /// Makes what was written durable.
    fn sync(&self, name: &str) -> Result<(), NasError>;

    /// Lets the next reads come from the storage, as far as this is known to be possible.
    fn forget(&self, name: &str);

    /// Shares all of a file with a new one.
    fn share(&self, from: &str, to: &str) -> Result<(), NasError>;

    /// Copies a range to the same place of another file, and returns how much of it was copied.
    fn copy_range(&self, from: &str, to: &str, offset: u64, length: u64) -> Result<u64, NasError>;

    /// Reserves space for the first bytes of a file, by the lazy or the eager way.
    fn reserve(&self, how: Reserve, name: &str, bytes: u64) -> Result<(), NasError>;

    /// Space of a file. It must be synced: blocks that are not yet allocated are in none of the numbers.
    fn usage(&self, name: &str) -> Result<Usage, NasError>;

    /// Room of the file system; `None` when it does not report it.
    fn room(&self) -> Option<Room>;

    /// Bytes that this host has exchanged with the server; `None` for a file system without one.
    fn server_bytes(&self) -> Option<u64>;

    /// Describes the file system in a sentence.
    fn sentence(&self) -> String;

    /// Name of the call of a method.
    fn call_of(&self, method: Method) -> &'static str;

    /// Name of the call of a reservation.
    fn call_of_reserve(&self, how: Reserve) -> &'static str;

    /// Files of a small file system of their own, which cases may fill; an error where that is not to be had.
    fn small(&self) -> Result<Box<dyn Files>, NasError>;

    /// The same files for another thread: over NFS, those of another host.
    fn another(&self) -> Another;

    /// Removes the directory with everything in it.
    fn close(self: Box<Self>) -> Result<(), NasError>;
}
