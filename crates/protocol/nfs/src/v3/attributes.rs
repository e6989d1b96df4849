//! Attributes, and the procedures that are about them: GETATTR, SETATTR, ACCESS, FSSTAT, FSINFO,
//! PATHCONF.

use xdr::types;

use super::Filehandle;

types! {
    /// Kind of a file: `ftype3` (§2.6).
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
    }

    /// Numbers of a device: `specdata3` (§2.6).
    struct Device {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32,
    }

    /// Time since 1970: `nfstime3` (§2.6).
    struct Time {
        /// Seconds, not signed.
        seconds: u32,
        /// Nanoseconds.
        nanoseconds: u32,
    }

    /// Attributes of a file: `fattr3` (§2.6).
    struct Attributes {
        /// Kind.
        kind: FileType,
        /// Permission bits.
        mode: u32,
        /// Number of hard links.
        links: u32,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
        /// Size in bytes.
        size_bytes: u64,
        /// Bytes that the file takes.
        used_bytes: u64,
        /// Device of a special file.
        device: Device,
        /// File system.
        fsid: u64,
        /// Number of the file in its file system.
        fileid: u64,
        /// Last access.
        accessed: Time,
        /// Last change of the content.
        modified: Time,
        /// Last change of the attributes.
        changed: Time,
    }

    /// Attributes from before an operation: `wcc_attr` (§2.6).
    struct WccAttributes {
        /// Size in bytes.
        size_bytes: u64,
        /// Last change of the content.
        modified: Time,
        /// Last change of the attributes.
        changed: Time,
    }

    /// Attributes around an operation, for weak cache consistency: `wcc_data` (§2.6).
    struct WccData {
        /// Before it.
        before: Option<WccAttributes>,
        /// After it.
        after: Option<Attributes>,
    }

    /// New value of a time: `set_atime` and `set_mtime` (§2.6).
    union SetTime {
        /// Left as it is.
        0 => DontChange,
        /// Time of the server.
        1 => ServerTime,
        /// Time of the client.
        2 => ClientTime(time: Time),
    }

    /// Attributes to set: `sattr3` (§2.6). Absent ones are left as they are, or have a default in a
    /// new file.
    struct NewAttributes {
        /// Permission bits.
        mode: Option<u32>,
        /// Owner.
        uid: Option<u32>,
        /// Group.
        gid: Option<u32>,
        /// Size in bytes.
        size_bytes: Option<u64>,
        /// Last access.
        accessed: SetTime,
        /// Last change of the content.
        modified: SetTime,
    }

    /// `SETATTR3args` (§3.3.2).
    struct SetAttributesArguments {
        /// File.
        file: Filehandle,
        /// New attributes.
        attributes: NewAttributes,
        /// Time of the last change that the file must have: `sattrguard3`.
        guard: Option<Time>,
    }

    /// `ACCESS3args` (§3.3.4).
    struct AccessArguments {
        /// File.
        file: Filehandle,
        /// Wanted permissions: bits of [`access`].
        access: u32,
    }

    /// `ACCESS3resok` (§3.3.4).
    struct AccessOk {
        /// Attributes of the file.
        attributes: Option<Attributes>,
        /// Those of the wanted permissions that the caller has.
        access: u32,
    }

    /// `FSSTAT3resok` (§3.3.18).
    struct FileSystemStatistics {
        /// Attributes of the root.
        attributes: Option<Attributes>,
        /// Size of the file system.
        total_bytes: u64,
        /// Free bytes.
        free_bytes: u64,
        /// Free bytes that the caller may use.
        available_bytes: u64,
        /// Number of files that there can be.
        total_files: u64,
        /// Number of free file slots.
        free_files: u64,
        /// Number of free file slots that the caller may use.
        available_files: u64,
        /// Seconds for which these numbers are not expected to change.
        unchanging_seconds: u32,
    }

    /// `FSINFO3resok` (§3.3.19).
    struct FileSystemInformation {
        /// Attributes of the root.
        attributes: Option<Attributes>,
        /// Longest READ.
        max_read_bytes: u32,
        /// Preferred length of a READ.
        preferred_read_bytes: u32,
        /// Suggested multiple of the length of a READ.
        read_multiple_bytes: u32,
        /// Longest WRITE.
        max_write_bytes: u32,
        /// Preferred length of a WRITE.
        preferred_write_bytes: u32,
        /// Suggested multiple of the length of a WRITE.
        write_multiple_bytes: u32,
        /// Preferred length of a READDIR.
        preferred_read_directory_bytes: u32,
        /// Largest file.
        max_file_bytes: u64,
        /// Granularity of times.
        time_delta: Time,
        /// Bits of [`properties`].
        properties: u32,
    }

    /// `PATHCONF3resok` (§3.3.20).
    struct PathConfiguration {
        /// Attributes of the file.
        attributes: Option<Attributes>,
        /// Most hard links of a file.
        max_links: u32,
        /// Longest name in bytes.
        max_name_bytes: u32,
        /// Whether longer names are refused, and not cut.
        no_truncation: bool,
        /// Whether only the superuser may change an owner.
        chown_restricted: bool,
        /// Whether names that differ only in case are equal.
        case_insensitive: bool,
        /// Whether the case of names is kept.
        case_preserving: bool,
    }
}

/// Permissions of ACCESS (§3.3.4).
pub mod access {
    /// Read a file or directory.
    pub const READ: u32 = 0x01;
    /// Look up a name in a directory.
    pub const LOOKUP: u32 = 0x02;
    /// Rewrite a file, or change entries of a directory.
    pub const MODIFY: u32 = 0x04;
    /// Append to a file, or add entries to a directory.
    pub const EXTEND: u32 = 0x08;
    /// Delete an entry of a directory.
    pub const DELETE: u32 = 0x10;
    /// Execute a file.
    pub const EXECUTE: u32 = 0x20;
}

/// Properties of FSINFO (§3.3.19).
pub mod properties {
    /// Hard links.
    pub const LINK: u32 = 0x01;
    /// Symbolic links.
    pub const SYMLINK: u32 = 0x02;
    /// PATHCONF is the same for all files.
    pub const HOMOGENEOUS: u32 = 0x08;
    /// SETATTR sets times.
    pub const CANSETTIME: u32 = 0x10;
}
