//! Limits of a file system, and the checks of ranges against them.

use crate::FsError;

/// Limits of a file system. They must not change while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Unit that is mapped, shared and freed as a whole; clones are aligned to it.
    pub grain_bytes: u32,
    /// Largest size of a file.
    pub file_bytes: u64,
    /// Longest read and write of one call.
    pub io_bytes: u32,
    /// Most bytes that are moved for one request of a host, in as many calls as that takes. At least 1 MiB, which
    /// [`FileSystem::copy_range`](crate::FileSystem::copy_range) moves in one call.
    pub move_bytes: u64,
    /// Most entries of one listing.
    pub listed_entries: usize,
    /// Most names of a file that is not a directory.
    pub links: u32,
    /// Most bytes of names and values of a file's extended attributes.
    pub xattr_bytes: u32,
    /// Most extended attributes of a file.
    pub xattr_names: u32,
}

impl Limits {
    /// End of a range that has to lie within the largest file. [`FsError::BadRange`]: beyond 64 bits.
    pub fn end(&self, offset_bytes: u64, length_bytes: u64) -> Result<u64, FsError> {
        let end = offset_bytes.checked_add(length_bytes).ok_or(FsError::BadRange)?;
        self.check_size(end)?;
        Ok(end)
    }

    /// [`FsError::FileTooLarge`] for a size that no file can have.
    pub const fn check_size(&self, size_bytes: u64) -> Result<(), FsError> {
        if size_bytes > self.file_bytes {
            return Err(FsError::FileTooLarge { limit_bytes: self.file_bytes });
        }
        Ok(())
    }

    /// [`FsError::TooLong`] for more bytes than one call may read or write.
    pub fn check_io(&self, bytes: u64) -> Result<(), FsError> {
        let limit_bytes = u64::from(self.io_bytes);
        if bytes > limit_bytes { Err(FsError::TooLong { bytes, limit_bytes }) } else { Ok(()) }
    }

    /// Checks offsets and length of a clone: multiples of the grain, except that the length may end
    /// with the source.
    pub fn check_clone(&self, from: u64, to: u64, length: u64, source_size: u64) -> Result<(), FsError> {
        let unit = u64::from(self.grain_bytes);
        let ends_with_the_source = from.checked_add(length) == Some(source_size);
        let aligned = [from, to, length].map(|bytes| bytes.is_multiple_of(unit));
        if !(aligned[0] && aligned[1] && (aligned[2] || ends_with_the_source)) {
            return Err(FsError::Misaligned { unit_bytes: self.grain_bytes });
        }
        Ok(())
    }
}

/// [`FsError::Overlap`] if two ranges of `length` bytes of one file have a byte in common.
pub const fn check_overlap(from: u64, to: u64, length: u64) -> Result<(), FsError> {
    if length > from.abs_diff(to) { Err(FsError::Overlap) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::LIMITS;

    #[test]
    fn a_range_ends_within_the_largest_file() {
        assert_eq!(LIMITS.end(0, 1 << 44), Ok(1 << 44));
        assert_eq!(LIMITS.end(1, 1 << 44), Err(FsError::FileTooLarge { limit_bytes: 1 << 44 }));
        assert_eq!(LIMITS.end(u64::MAX, 1), Err(FsError::BadRange));
    }

    #[test]
    fn a_clone_is_aligned_or_ends_with_its_source() {
        let misaligned = Err(FsError::Misaligned { unit_bytes: 4096 });
        assert_eq!(LIMITS.check_clone(4096, 0, 8192, 1 << 20), Ok(()));
        assert_eq!(LIMITS.check_clone(4096, 0, 100, 4196), Ok(()));
        assert_eq!(LIMITS.check_clone(4096, 0, 100, 4197), misaligned);
        assert_eq!(LIMITS.check_clone(1, 0, 4096, 1 << 20), misaligned);
        assert_eq!(LIMITS.check_clone(0, 1, 4096, 1 << 20), misaligned);
    }

    #[test]
    fn ranges_overlap_when_they_are_longer_than_their_distance() {
        assert_eq!(check_overlap(0, 10, 10), Ok(()));
        assert_eq!(check_overlap(10, 0, 11), Err(FsError::Overlap));
        assert_eq!(check_overlap(5, 5, 1), Err(FsError::Overlap));
        assert_eq!(check_overlap(5, 5, 0), Ok(()));
    }
}
