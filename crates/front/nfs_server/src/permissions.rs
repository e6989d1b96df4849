//! Permissions as ACCESS names them, RFC 1813 §3.3.4, RFC 8881 §18.1, RFC 8276 §8.3. The bits are the
//! same in all versions.

use nfs::v4::handles::access::{DELETE, EXECUTE, EXTEND, LOOKUP, MODIFY, READ, XATTR_LIST, XATTR_READ, XATTR_WRITE};
use vfs::policy::Permissions;
use vfs::{Attributes, Caller, Kind};

/// Bits about a file of this kind that have a meaning.
pub(crate) const fn meaningful(kind: Kind) -> u32 {
    const XATTRS: u32 = XATTR_READ | XATTR_WRITE | XATTR_LIST;
    match kind {
        Kind::File => READ | MODIFY | EXTEND | EXECUTE | XATTRS,
        Kind::Directory => READ | LOOKUP | MODIFY | EXTEND | DELETE | XATTRS,
        Kind::Symlink | Kind::BlockDevice | Kind::CharacterDevice | Kind::Fifo | Kind::Socket => READ | MODIFY | EXTEND,
    }
}

/// Bits that a caller has, by the mode bits; on a read-only export none that changes anything.
pub(crate) fn granted(file: &Attributes, caller: &Caller, read_only: bool) -> u32 {
    let Permissions { read, write, execute } = Permissions::of(file, caller);
    let directory = file.kind == Kind::Directory;
    let mut bits = 0;
    if read {
        bits |= READ | XATTR_READ | XATTR_LIST;
    }
    if execute {
        bits |= if directory { LOOKUP } else { EXECUTE };
    }
    // Entries of a directory are changed with execute permission alone.
    if write && !read_only && (execute || !directory) {
        bits |= MODIFY | EXTEND | DELETE;
    }
    if write && !read_only {
        bits |= XATTR_WRITE;
    }
    bits & meaningful(file.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pseudo;
    use crate::shares::Shares;
    use vfs::{Anonymous, Squash, Timestamp};

    fn bits(kind: Kind, mode: u16, user: u32, read_only: bool) -> u32 {
        let root = pseudo::attributes(&Shares::<()>::new(Timestamp::default()), 0);
        let file = Attributes { kind, mode, user: 10, group: 10, ..root };
        let caller = Caller::new(user, user, &[], Squash::None, Anonymous { user: 0, group: 0 });
        granted(&file, &caller, read_only)
    }

    #[test]
    fn root_has_everything_but_the_execution_of_what_is_no_program() {
        assert_eq!(bits(Kind::File, 0o644, 0, false) & 0x3f, 0x0d);
        assert_eq!(bits(Kind::File, 0o744, 0, false) & 0x3f, 0x2d);
        assert_eq!(bits(Kind::Directory, 0, 0, false) & 0x3f, 0x1f);
    }

    #[test]
    fn a_read_only_export_grants_no_change() {
        assert_eq!(bits(Kind::File, 0o666, 0, true), READ | XATTR_READ | XATTR_LIST);
        assert_eq!(bits(Kind::Directory, 0o777, 1, true), READ | LOOKUP | XATTR_READ | XATTR_LIST);
    }

    #[test]
    fn mode_bits_decide_for_users() {
        assert_eq!(bits(Kind::File, 0o604, 1, false), READ | XATTR_READ | XATTR_LIST);
        assert_eq!(bits(Kind::File, 0o200, 10, false), MODIFY | EXTEND | XATTR_WRITE);
        assert_eq!(bits(Kind::Directory, 0o200, 10, false), XATTR_WRITE);
        assert_eq!(bits(Kind::Directory, 0o300, 10, false), LOOKUP | MODIFY | EXTEND | DELETE | XATTR_WRITE);
        assert_eq!(bits(Kind::Symlink, 0o777, 1, false), READ | MODIFY | EXTEND);
    }
}
