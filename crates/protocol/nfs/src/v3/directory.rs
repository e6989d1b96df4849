//! Names: LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR, RENAME, LINK, READDIR, READDIRPLUS.

use xdr::{List, types};

use super::{Attributes, Device, Filehandle, MAX_ENTRIES, Name, NewAttributes, Path, Verifier, WccData};

types! {
    /// Name in a directory: `diropargs3` (§3.2).
    struct DirectoryEntry {
        /// Directory.
        directory: Filehandle,
        /// Name.
        name: Name,
    }

    /// `LOOKUP3resok` (§3.3.3).
    struct LookupOk {
        /// File.
        file: Filehandle,
        /// Attributes of the file.
        attributes: Option<Attributes>,
        /// Attributes of the directory.
        directory: Option<Attributes>,
    }

    /// Treatment of an existing name in CREATE: `createhow3` (§3.3.8).
    union CreateHow {
        /// Uses the file.
        0 => Unchecked(attributes: NewAttributes),
        /// Fails.
        1 => Guarded(attributes: NewAttributes),
        /// Fails, unless the file was created with the same verifier.
        2 => Exclusive(verifier: Verifier),
    }

    /// `CREATE3args` (§3.3.8).
    struct CreateArguments {
        /// Where.
        entry: DirectoryEntry,
        /// How.
        how: CreateHow,
    }

    /// Results of the procedures that create: `CREATE3resok` (§3.3.8) and its equals of MKDIR,
    /// SYMLINK and MKNOD.
    struct CreateOk {
        /// New file.
        file: Option<Filehandle>,
        /// Its attributes.
        attributes: Option<Attributes>,
        /// Attributes of the directory around the operation.
        wcc: WccData,
    }

    /// `MKDIR3args` (§3.3.9).
    struct MakeDirectoryArguments {
        /// Where.
        entry: DirectoryEntry,
        /// Attributes of the directory.
        attributes: NewAttributes,
    }

    /// `SYMLINK3args` (§3.3.10).
    struct SymbolicLinkArguments {
        /// Where.
        entry: DirectoryEntry,
        /// Attributes of the link.
        attributes: NewAttributes,
        /// Target.
        target: Path,
    }

    /// Device to create: `devicedata3` (§3.3.11).
    struct NewDevice {
        /// Attributes.
        attributes: NewAttributes,
        /// Numbers.
        device: Device,
    }

    /// Special file to create: `mknoddata3` (§3.3.11). The kinds that other procedures create are
    /// decoded, and refused with `BADTYPE` by the server.
    union MakeNode {
        /// Regular file: not created by MKNOD.
        1 => Regular,
        /// Directory: not created by MKNOD.
        2 => Directory,
        /// Block device.
        3 => Block(device: NewDevice),
        /// Character device.
        4 => Character(device: NewDevice),
        /// Symbolic link: not created by MKNOD.
        5 => Link,
        /// Socket.
        6 => Socket(attributes: NewAttributes),
        /// Named pipe.
        7 => Fifo(attributes: NewAttributes),
    }

    /// `MKNOD3args` (§3.3.11).
    struct MakeNodeArguments {
        /// Where.
        entry: DirectoryEntry,
        /// What.
        what: MakeNode,
    }

    /// `RENAME3args` (§3.3.14).
    struct RenameArguments {
        /// Old name.
        from: DirectoryEntry,
        /// New name.
        to: DirectoryEntry,
    }

    /// Results of RENAME, whether it succeeded or failed (§3.3.14).
    struct RenameWcc {
        /// Attributes of the directory of the old name around the operation.
        from: WccData,
        /// Attributes of the directory of the new name around the operation.
        to: WccData,
    }

    /// `LINK3args` (§3.3.15).
    struct LinkArguments {
        /// File.
        file: Filehandle,
        /// Its new name.
        entry: DirectoryEntry,
    }

    /// Results of LINK, whether it succeeded or failed (§3.3.15).
    struct LinkWcc {
        /// Attributes of the file.
        attributes: Option<Attributes>,
        /// Attributes of the directory around the operation.
        wcc: WccData,
    }

    /// `READDIR3args` (§3.3.16).
    struct ReadDirectoryArguments {
        /// Directory.
        directory: Filehandle,
        /// Cookie of the last entry that the client has; 0 at the start.
        cookie: u64,
        /// Verifier of that cookie.
        verifier: Verifier,
        /// Longest results.
        count_bytes: u32,
    }

    /// Entry of READDIR: `entry3` (§3.3.16).
    struct Entry {
        /// Number of the file.
        fileid: u64,
        /// Name.
        name: Name,
        /// Position behind the entry.
        cookie: u64,
    }

    /// `READDIR3resok` (§3.3.16).
    struct ReadDirectoryOk {
        /// Attributes of the directory.
        attributes: Option<Attributes>,
        /// Verifier of the cookies.
        verifier: Verifier,
        /// Entries.
        entries: List<Entry, MAX_ENTRIES>,
        /// Whether these are the last ones.
        eof: bool,
    }

    /// `READDIRPLUS3args` (§3.3.17).
    struct ReadDirectoryPlusArguments {
        /// Directory.
        directory: Filehandle,
        /// Cookie of the last entry that the client has; 0 at the start.
        cookie: u64,
        /// Verifier of that cookie.
        verifier: Verifier,
        /// Most bytes of names, numbers and cookies.
        directory_count_bytes: u32,
        /// Longest results.
        max_count_bytes: u32,
    }

    /// Entry of READDIRPLUS: `entryplus3` (§3.3.17).
    struct EntryPlus {
        /// Number of the file.
        fileid: u64,
        /// Name.
        name: Name,
        /// Position behind the entry.
        cookie: u64,
        /// Attributes.
        attributes: Option<Attributes>,
        /// Handle.
        handle: Option<Filehandle>,
    }

    /// `READDIRPLUS3resok` (§3.3.17).
    struct ReadDirectoryPlusOk {
        /// Attributes of the directory.
        attributes: Option<Attributes>,
        /// Verifier of the cookies.
        verifier: Verifier,
        /// Entries.
        entries: List<EntryPlus, MAX_ENTRIES>,
        /// Whether these are the last ones.
        eof: bool,
    }
}
