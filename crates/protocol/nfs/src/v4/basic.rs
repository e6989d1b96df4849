//! Types that many operations have in common, RFC 8881 §3.2 and §3.3.

use xdr::{Opaque, types};

use super::Status;

/// Longest handle (NFS4_FHSIZE).
pub const MAX_HANDLE_BYTES: u32 = 128;
/// Longest owner, scope or server owner (NFS4_OPAQUE_LIMIT).
pub const MAX_OPAQUE_BYTES: u32 = 1024;

/// Handle of a file: `nfs_fh4`, 0 to 128 bytes.
pub type Filehandle = Opaque<MAX_HANDLE_BYTES>;
/// Name in a directory: `component4`. Any bytes, and as many as the message has: whether it is UTF-8
/// and short enough is decided where names are used.
pub type Name = Opaque<{ u32::MAX }>;
/// Text or data of any length: `utf8string`, `linktext4`, `attrlist4` and others.
pub type Text = Opaque<{ u32::MAX }>;
/// Verifier: `verifier4`.
pub type Verifier = [u8; 8];
/// Session: `sessionid4`.
pub type SessionId = [u8; 16];
/// Outcome of an operation without results: `nfsstat4`.
pub type Done = Result<(), Status>;

types! {
    /// Name of some state, and its version: `stateid4` (§3.3.12, §8.2).
    #[derive(Copy)]
    struct Stateid {
        /// Version of the state.
        seqid: u32,
        /// State.
        other: [u8; 12],
    }

    /// Time since 1970: `nfstime4` (§3.3.1).
    struct Time {
        /// Seconds.
        seconds: i64,
        /// Nanoseconds, to be below 10^9.
        nanoseconds: u32,
    }

    /// Numbers of a device: `specdata4` (§3.3.8).
    struct Device {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32,
    }

    /// File system: `fsid4` (§3.3.5).
    struct FileSystemId {
        /// First half.
        major: u64,
        /// Second half.
        minor: u64,
    }

    /// Change attribute of a directory around an operation: `change_info4` (§3.3.7).
    struct ChangeInfo {
        /// Whether both values are from the same step as the operation.
        atomic: bool,
        /// Before.
        before: u64,
        /// After.
        after: u64,
    }

    /// Owner of opens or locks: `state_owner4` (§3.3.13).
    struct StateOwner {
        /// Client; in NFSv4.1 not used, as the session says it.
        client: u64,
        /// Name that the client chose.
        owner: Opaque<MAX_OPAQUE_BYTES>,
    }

    /// Kind of a file: `nfs_ftype4` (§3.2).
    enum FileType {
        /// Regular file.
        Regular = 1,
        /// Directory.
        Directory = 2,
        /// Block device.
        Block = 3,
        /// Character device.
        Character = 4,
        /// Symbolic link.
        Link = 5,
        /// Socket.
        Socket = 6,
        /// Named pipe.
        Fifo = 7,
        /// Directory of named attributes.
        AttributeDirectory = 8,
        /// Named attribute.
        NamedAttribute = 9,
    }

    /// How durable a write has to be, or is: `stable_how4` (§18.32).
    enum Stable {
        /// Perhaps only in memory.
        Unstable = 0,
        /// Data and what is needed to read it.
        DataSync = 1,
        /// Data and all attributes.
        FileSync = 2,
    }

    /// Transport address: `netaddr4` (§3.3.9).
    struct NetworkAddress {
        /// Network id of RFC 5665, for example `tcp`.
        network_id: Text,
        /// Universal address of RFC 5665.
        address: Text,
    }
}

impl Stateid {
    /// Anonymous stateid (§8.2.3).
    pub const ANONYMOUS: Self = Self { seqid: 0, other: [0; 12] };
    /// READ bypass stateid (§8.2.3).
    pub const READ_BYPASS: Self = Self { seqid: u32::MAX, other: [0xff; 12] };
    /// The current stateid of a COMPOUND (§8.2.3).
    pub const CURRENT: Self = Self { seqid: 1, other: [0; 12] };
    /// Invalid stateid, which CLOSE returns (§8.2.3).
    pub const INVALID: Self = Self { seqid: u32::MAX, other: [0; 12] };
}
