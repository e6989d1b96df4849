//! Names: CREATE, LINK, LOOKUP, READDIR, READLINK, REMOVE, RENAME, SECINFO, SECINFO_NO_NAME.

use xdr::{Array, List, Opaque, types};

use super::attributes::Fattr;
use super::{Bitmap, ChangeInfo, Device, Name, Text, Verifier};

/// Most entries of one READDIR that are decoded.
pub const MAX_ENTRIES: u32 = 65_536;
/// Most flavors of SECINFO that are decoded.
const MAX_FLAVORS: u32 = 64;

types! {
    /// Object to create: `createtype4` (§18.4). Other kinds are refused with `BADTYPE` by the server.
    union CreateType else Other {
        /// Symbolic link to a target.
        5 => Link(target: Text),
        /// Block device.
        3 => Block(device: Device),
        /// Character device.
        4 => Character(device: Device),
        /// Socket.
        6 => Socket,
        /// Named pipe.
        7 => Fifo,
        /// Directory.
        2 => Directory,
    }

    /// `CREATE4args` (§18.4).
    struct CreateArguments {
        /// What.
        kind: CreateType,
        /// Its name in the current directory.
        name: Name,
        /// Its attributes.
        attributes: Fattr,
    }

    /// `CREATE4resok` (§18.4).
    struct CreateOk {
        /// Change of the directory.
        change: ChangeInfo,
        /// Attributes that were set.
        set: Bitmap,
    }

    /// `READDIR4args` (§18.23).
    struct ReadDirectoryArguments {
        /// Cookie of the last entry that the client has; 0 at the start.
        cookie: u64,
        /// Verifier of that cookie.
        verifier: Verifier,
        /// Hint: most bytes of names and cookies.
        directory_count_bytes: u32,
        /// Longest `READDIR4resok`.
        max_count_bytes: u32,
        /// Wanted attributes.
        wanted: Bitmap,
    }

    /// Entry of READDIR: `entry4` (§18.23).
    struct Entry {
        /// Position behind the entry.
        cookie: u64,
        /// Name.
        name: Name,
        /// Attributes.
        attributes: Fattr,
    }

    /// `READDIR4resok` (§18.23).
    struct ReadDirectoryOk {
        /// Verifier of the cookies.
        verifier: Verifier,
        /// Entries.
        entries: List<Entry, MAX_ENTRIES>,
        /// Whether these are the last ones.
        eof: bool,
    }

    /// `RENAME4args` (§18.26).
    struct RenameArguments {
        /// Name in the saved directory.
        old: Name,
        /// Name in the current directory.
        new: Name,
    }

    /// `RENAME4resok` (§18.26).
    struct RenameOk {
        /// Change of the saved directory.
        source: ChangeInfo,
        /// Change of the current directory.
        target: ChangeInfo,
    }

    /// Flavor of SECINFO: `secinfo4` (§18.29). Flavors other than RPCSEC_GSS have nothing after them.
    union SecurityFlavor else Other {
        /// RPCSEC_GSS.
        6 => Gss(mechanism: GssMechanism),
    }

    /// `rpcsec_gss_info` (§18.29).
    struct GssMechanism {
        /// Object identifier.
        oid: Opaque<255>,
        /// Quality of protection.
        quality: u32,
        /// Service: 1 none, 2 integrity, 3 privacy (RFC 2203 §5.3.1).
        service: u32,
    }

    /// What SECINFO_NO_NAME is about: `secinfo_style4` (§18.45).
    enum SecurityStyle {
        /// The current handle.
        Current = 0,
        /// Its parent.
        Parent = 1,
    }
}

/// `SECINFO4resok` (§18.29).
pub type SecurityFlavors = Array<SecurityFlavor, MAX_FLAVORS>;
