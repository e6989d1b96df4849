//! Status of procedures, RFC 1813 §2.6.

use std::num::NonZeroU32;

use xdr::{Reader, Writer, Xdr, XdrError};

use crate::status::statuses;

statuses! {
    /// Why a procedure failed: `nfsstat3` other than NFS3_OK.
    Status {
        /// Not owner.
        PERM = 1,
        /// No such file or directory.
        NOENT = 2,
        /// I/O error.
        IO = 5,
        /// No such device.
        NXIO = 6,
        /// Permission denied.
        ACCES = 13,
        /// The name exists.
        EXIST = 17,
        /// Hard link or rename across file systems.
        XDEV = 18,
        /// No such device.
        NODEV = 19,
        /// Not a directory.
        NOTDIR = 20,
        /// Is a directory.
        ISDIR = 21,
        /// Invalid argument, or an operation that the kind of file does not have.
        INVAL = 22,
        /// File too large.
        FBIG = 27,
        /// No space left.
        NOSPC = 28,
        /// Read-only file system.
        ROFS = 30,
        /// Too many hard links.
        MLINK = 31,
        /// Name too long.
        NAMETOOLONG = 63,
        /// Directory not empty.
        NOTEMPTY = 66,
        /// Quota exceeded.
        DQUOT = 69,
        /// The handle's file is gone.
        STALE = 70,
        /// Too many levels of remote in path.
        REMOTE = 71,
        /// Invalid handle.
        BADHANDLE = 10001,
        /// The guard of SETATTR does not match.
        NOT_SYNC = 10002,
        /// Stale cookie of READDIR or READDIRPLUS.
        BAD_COOKIE = 10003,
        /// Operation not supported.
        NOTSUPP = 10004,
        /// Buffer or request too small.
        TOOSMALL = 10005,
        /// Failure of the server without another status.
        SERVERFAULT = 10006,
        /// The type of file is not supported.
        BADTYPE = 10007,
        /// Not now; the client repeats the request later.
        JUKEBOX = 10008,
    }
}

/// Status and what a procedure returns besides when it fails: the `resfail` of its union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure<T> {
    /// Why it failed.
    pub status: Status,
    /// Attributes, as far as they are known.
    pub details: T,
}

impl<T: Xdr> xdr::Failure for Failure<T> {
    fn code(&self) -> NonZeroU32 {
        self.status.code()
    }
    fn encode_details(&self, writer: &mut Writer) {
        self.details.encode(writer);
    }
    fn decode_details(code: NonZeroU32, reader: &mut Reader) -> Result<Self, XdrError> {
        Ok(Self { status: Status::decode_details(code, reader)?, details: T::decode(reader)? })
    }
}

#[cfg(any(test, feature = "testing"))]
impl<T: xdr::Sample> xdr::Sample for Failure<T> {
    fn sample(random: &xdr::Random) -> Self {
        Self { status: Status::sample(random), details: T::sample(random) }
    }
}
