//! NFSv3, version 3 of program 100003, RFC 1813: the 22 procedures with arguments and results.
//!
//! Sections are those of RFC 1813. A procedure that fails returns attributes as well: results are
//! `Result<…Ok, Failure<…>>`.

mod attributes;
mod directory;
mod file;
mod status;

pub use attributes::*;
pub use directory::*;
pub use file::*;
pub use status::{Failure, Status};

use xdr::Opaque;

/// Version of the NFS program.
pub const VERSION: u32 = 3;
/// Longest handle (NFS3_FHSIZE, §2.4).
pub const MAX_HANDLE_BYTES: u32 = 64;
/// Most entries of one READDIR or READDIRPLUS that are decoded.
pub const MAX_ENTRIES: u32 = 65_536;

/// Handle of a file: `nfs_fh3`, 1 to 64 bytes (§2.6).
pub type Filehandle = Opaque<MAX_HANDLE_BYTES, 1>;
/// Name in a directory: `filename3` (§2.5). Any bytes, and as many as the message has: a name that
/// is too long for the file system is refused there.
pub type Name = Opaque<{ u32::MAX }>;
/// Target of a symbolic link: `nfspath3` (§2.5).
pub type Path = Opaque<{ u32::MAX }>;
/// Verifier of a write, a creation or a cookie (§2.4).
pub type Verifier = [u8; 8];

onc_rpc::procedures! {
    /// Request of a client.
    Request,
    /// Results of a request.
    Results;
    /// Nothing, §3.3.0.
    0 => Null "NULL",
    /// Attributes of a file, §3.3.1.
    1 => GetAttributes "GETATTR" (file: Filehandle) -> (results: Result<Attributes, Status>),
    /// Changes attributes, §3.3.2.
    2 => SetAttributes "SETATTR" (arguments: SetAttributesArguments) -> (results: Result<WccData, Failure<WccData>>),
    /// File of a name, §3.3.3.
    3 => Lookup "LOOKUP" (what: DirectoryEntry) -> (results: Result<LookupOk, Failure<Option<Attributes>>>),
    /// Permissions of the caller, §3.3.4.
    4 => Access "ACCESS" (arguments: AccessArguments) -> (results: Result<AccessOk, Failure<Option<Attributes>>>),
    /// Target of a symbolic link, §3.3.5.
    5 => ReadLink "READLINK" (link: Filehandle) -> (results: Result<ReadLinkOk, Failure<Option<Attributes>>>),
    /// Reads from a file, §3.3.6.
    6 => Read "READ" (arguments: ReadArguments) -> (results: Result<ReadOk, Failure<Option<Attributes>>>),
    /// Writes to a file, §3.3.7.
    7 => Write "WRITE" (arguments: WriteArguments) -> (results: Result<WriteOk, Failure<WccData>>),
    /// Creates a regular file, §3.3.8.
    8 => Create "CREATE" (arguments: CreateArguments) -> (results: Result<CreateOk, Failure<WccData>>),
    /// Creates a directory, §3.3.9.
    9 => MakeDirectory "MKDIR" (arguments: MakeDirectoryArguments) -> (results: Result<CreateOk, Failure<WccData>>),
    /// Creates a symbolic link, §3.3.10.
    10 => SymbolicLink "SYMLINK" (arguments: SymbolicLinkArguments) -> (results: Result<CreateOk, Failure<WccData>>),
    /// Creates a special file, §3.3.11.
    11 => MakeNode "MKNOD" (arguments: MakeNodeArguments) -> (results: Result<CreateOk, Failure<WccData>>),
    /// Removes a name of a file, §3.3.12.
    12 => Remove "REMOVE" (what: DirectoryEntry) -> (results: Result<WccData, Failure<WccData>>),
    /// Removes a directory, §3.3.13.
    13 => RemoveDirectory "RMDIR" (what: DirectoryEntry) -> (results: Result<WccData, Failure<WccData>>),
    /// Renames a file, §3.3.14.
    14 => Rename "RENAME" (arguments: RenameArguments) -> (results: Result<RenameWcc, Failure<RenameWcc>>),
    /// Gives a file another name, §3.3.15.
    15 => Link "LINK" (arguments: LinkArguments) -> (results: Result<LinkWcc, Failure<LinkWcc>>),
    /// Names of a directory, §3.3.16.
    16 => ReadDirectory "READDIR" (arguments: ReadDirectoryArguments)
        -> (results: Result<ReadDirectoryOk, Failure<Option<Attributes>>>),
    /// Names of a directory with attributes and handles, §3.3.17.
    17 => ReadDirectoryPlus "READDIRPLUS" (arguments: ReadDirectoryPlusArguments)
        -> (results: Result<ReadDirectoryPlusOk, Failure<Option<Attributes>>>),
    /// Space of a file system, §3.3.18.
    18 => FileSystemStatistics "FSSTAT" (root: Filehandle)
        -> (results: Result<FileSystemStatistics, Failure<Option<Attributes>>>),
    /// Limits of a file system, §3.3.19.
    19 => FileSystemInformation "FSINFO" (root: Filehandle)
        -> (results: Result<FileSystemInformation, Failure<Option<Attributes>>>),
    /// POSIX limits, §3.3.20.
    20 => PathConfiguration "PATHCONF" (file: Filehandle)
        -> (results: Result<PathConfiguration, Failure<Option<Attributes>>>),
    /// Makes written data durable, §3.3.21.
    21 => Commit "COMMIT" (arguments: CommitArguments) -> (results: Result<CommitOk, Failure<WccData>>),
}

#[cfg(test)]
mod tests;
