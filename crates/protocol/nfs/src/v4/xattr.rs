//! Extended attributes, RFC 8276: GETXATTR, LISTXATTRS, REMOVEXATTR, SETXATTR. Names are without
//! `user.`.

use xdr::{Array, types};

use super::{Name, Text};

/// Most names of one LISTXATTRS that are decoded.
pub const MAX_NAMES: u32 = 4096;

types! {
    /// What SETXATTR does with a name that exists or not: `setxattr_option4` (RFC 8276 §8.4.2).
    enum SetOption {
        /// Creates or replaces.
        Either = 0,
        /// Fails if it exists.
        Create = 1,
        /// Fails if it does not exist.
        Replace = 2,
    }

    /// `SETXATTR4args` (RFC 8276 §8.4.2).
    struct SetArguments {
        /// What is done.
        option: SetOption,
        /// Name.
        name: Name,
        /// Value.
        value: Text,
    }

    /// `LISTXATTRS4args` (RFC 8276 §8.4.3).
    struct ListArguments {
        /// Cookie of the last answer; 0 at the start.
        cookie: u64,
        /// Longest `LISTXATTRS4resok`.
        max_count_bytes: u32,
    }

    /// `LISTXATTRS4resok` (RFC 8276 §8.4.3).
    struct ListOk {
        /// Position behind the last name.
        cookie: u64,
        /// Names.
        names: Array<Name, MAX_NAMES>,
        /// Whether these are the last ones.
        eof: bool,
    }
}
