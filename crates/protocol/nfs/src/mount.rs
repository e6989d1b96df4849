//! MOUNT, version 3 of program 100005, RFC 1813 appendix I.

use onc_rpc::auth::Flavor;
use xdr::{Array, List, Opaque, types};

use crate::status::statuses;
use crate::v3::Filehandle;

/// Number of the program.
pub const PROGRAM: u32 = 100_005;
/// Version.
pub const VERSION: u32 = 3;
/// Longest path (MNTPATHLEN).
pub const MAX_PATH_BYTES: u32 = 1024;
/// Longest name of a host or group (MNTNAMLEN).
pub const MAX_NAME_BYTES: u32 = 255;
/// Most flavors of a mounted directory that are decoded.
const MAX_FLAVORS: u32 = 64;
/// Most entries of a list that are decoded.
const MAX_ENTRIES: u32 = 65_536;

/// Path of a directory on the server: `dirpath`.
pub type Path = Opaque<MAX_PATH_BYTES>;
/// Name of a host or group: `name`.
pub type Name = Opaque<MAX_NAME_BYTES>;

statuses! {
    /// Why a directory was not mounted: `mountstat3`.
    Status {
        /// Not owner.
        PERM = 1,
        /// No such file or directory.
        NOENT = 2,
        /// I/O error.
        IO = 5,
        /// Permission denied.
        ACCES = 13,
        /// Not a directory.
        NOTDIR = 20,
        /// Invalid argument.
        INVAL = 22,
        /// Path too long.
        NAMETOOLONG = 63,
        /// Operation not supported.
        NOTSUPP = 10004,
        /// Failure of the server.
        SERVERFAULT = 10006,
    }
}

types! {
    /// Mounted directory: `mountres3_ok`.
    struct Mounted {
        /// Handle of the directory.
        handle: Filehandle,
        /// Accepted flavors, the preferred one first.
        flavors: Array<Flavor, MAX_FLAVORS>,
    }

    /// Entry of the list of mounts: `mountbody`.
    struct MountEntry {
        /// Client.
        host: Name,
        /// Mounted directory.
        directory: Path,
    }

    /// Entry of the list of exports: `exportnode`.
    struct Export {
        /// Exported directory.
        directory: Path,
        /// Clients that may mount it; none stands for all.
        groups: List<Name, MAX_ENTRIES>,
    }
}

onc_rpc::procedures! {
    /// Request of a client.
    Request,
    /// Results of a request.
    Results;
    /// Nothing.
    0 => Null "NULL",
    /// Mounts a directory.
    1 => Mount "MNT" (directory: Path) -> (mounted: Result<Mounted, Status>),
    /// List of mounts.
    2 => Dump "DUMP" -> (mounts: List<MountEntry, MAX_ENTRIES>),
    /// Removes a mount of the caller from the list.
    3 => Unmount "UMNT" (directory: Path),
    /// Removes all mounts of the caller from the list.
    4 => UnmountAll "UMNTALL",
    /// List of exported directories.
    5 => Export "EXPORT" -> (exports: List<Export, MAX_ENTRIES>),
}
