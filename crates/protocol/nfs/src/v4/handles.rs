//! Handles and permissions: GETFH, PUTFH, SAVEFH and others without arguments; ACCESS.

use xdr::types;

types! {
    /// `ACCESS4args` (§18.1).
    struct AccessArguments {
        /// Wanted permissions: bits of [`access`].
        access: u32,
    }

    /// `ACCESS4resok` (§18.1).
    struct AccessOk {
        /// Those of the wanted permissions that make sense for the file.
        supported: u32,
        /// Those of them that the caller has.
        access: u32,
    }
}

/// Permissions of ACCESS (§18.1, RFC 8276 §8.3).
pub mod access {
    /// Read a file or directory.
    pub const READ: u32 = 0x001;
    /// Look up a name in a directory.
    pub const LOOKUP: u32 = 0x002;
    /// Rewrite a file, or change entries of a directory.
    pub const MODIFY: u32 = 0x004;
    /// Append to a file, or add entries to a directory.
    pub const EXTEND: u32 = 0x008;
    /// Delete an entry of a directory.
    pub const DELETE: u32 = 0x010;
    /// Execute a file.
    pub const EXECUTE: u32 = 0x020;
    /// Read extended attributes.
    pub const XATTR_READ: u32 = 0x040;
    /// Change extended attributes.
    pub const XATTR_WRITE: u32 = 0x080;
    /// List extended attributes.
    pub const XATTR_LIST: u32 = 0x100;
}
