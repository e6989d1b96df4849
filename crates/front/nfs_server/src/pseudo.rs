//! The pseudo file system of NFSv4: one directory that lists the shares, RFC 8881 §7.3. It is read-only,
//! and shows a caller the shares that it may use.

use crate::access::Refusal;
use crate::shares::{Share, Shares};
use onc_rpc::auth::Credential;
use std::net::SocketAddr;
use std::rc::Rc;
use vfs::{Attributes, ChangeValue, Cookie, Device, FileId, Kind, Limits};

/// Number of the pseudo root.
pub(crate) const ROOT: FileId = FileId(1);

/// Numbers of the entries start here: above all numbers of files, which have 40 bits.
const FIRST_ENTRY: u64 = 1 << 62;

/// Limits of the pseudo file system, for clients that ask before they know a share.
pub(crate) const LIMITS: Limits = Limits {
    grain_bytes: 4096,
    file_bytes: 1 << 44,
    io_bytes: 1 << 20,
    move_bytes: 1 << 24,
    listed_entries: 128,
    links: 65_000,
    xattr_bytes: 65_536,
    xattr_names: 256,
};

/// Number of the entry of a share: what `mounted_on_fileid` of the share's root says.
pub(crate) const fn entry(object: u64) -> FileId {
    FileId(FIRST_ENTRY | object)
}

/// Cookie of the entry of a share. It stays the same whatever other shares do.
pub(crate) const fn cookie(object: u64) -> Cookie {
    Cookie(Cookie::FIRST.0.saturating_add(object))
}

/// Whether NFSv4 shows a share to a caller. A wrong port is no reason to hide it.
pub(crate) fn shows<F>(share: &Share<F>, client: SocketAddr, credential: &Credential) -> bool {
    share.protocols.v4 && share.rules.permit(client, credential) != Err(Refusal::NoRule)
}

/// The shares that a caller sees, by cookie.
pub(crate) fn entries<F>(shares: &Shares<F>, client: SocketAddr, credential: &Credential) -> Vec<Rc<Share<F>>> {
    shares.iter().filter(|share| shows(share, client, credential)).cloned().collect()
}

/// Attributes of the pseudo root, with that many visible shares.
pub(crate) fn attributes<F>(shares: &Shares<F>, visible: usize) -> Attributes {
    let changed = shares.changed();
    let seconds = u64::try_from(changed.seconds()).unwrap_or(0);
    Attributes {
        file: ROOT,
        kind: Kind::Directory,
        mode: 0o555,
        links: u32::try_from(visible).unwrap_or(u32::MAX).saturating_add(2),
        user: 0,
        group: 0,
        size_bytes: 0,
        used_bytes: 0,
        device: Device::default(),
        // Nanoseconds, so that a later run has larger ones.
        change: ChangeValue(seconds.saturating_mul(1_000_000_000).saturating_add(changed.nanoseconds().into())),
        accessed: changed,
        modified: changed,
        changed,
        born: changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Hosts, Rule, Rules};
    use crate::shares::Protocols;
    use std::net::{IpAddr, Ipv4Addr};
    use vfs::{Name, Timestamp};

    const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 2000);

    /// Shares with these objects and rules, each served by version 4 or not.
    fn shares(all: impl IntoIterator<Item = (u64, Rules, bool)>) -> Shares<()> {
        let mut shares = Shares::new(Timestamp::default());
        for (object, rules, v4) in all {
            let share = Share {
                name: Name::try_from(object.to_string().as_str()).unwrap_or_else(|error| panic!("{error}")),
                object,
                epoch: 0,
                fsid: nfs::v4::FileSystemId { major: object, minor: 0 },
                file_system: Rc::new(()),
                rules,
                protocols: Protocols { v3: true, v4 },
                copy: crate::CopyPolicy::default(),
                counted: None,
            };
            assert_eq!(shares.publish(share, Timestamp::default()), Ok(()));
        }
        shares
    }

    #[test]
    fn a_caller_sees_the_shares_that_it_may_use() {
        let any = || Rules(vec![Rule::new(Hosts::Any)]);
        let other = Rules(vec![Rule::new(Hosts::Host([IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))].into()))]);
        let privileged = Rules(vec![Rule { privileged_port: true, ..Rule::new(Hosts::Any) }]);
        let shares = shares([
            (9, any(), true),
            (3, privileged, true),
            (4, other, true),
            (5, Rules::default(), true),
            (6, any(), false),
        ]);
        let seen = entries(&shares, CLIENT, &Credential::None);
        assert_eq!(seen.iter().map(|share| share.object).collect::<Vec<_>>(), [3, 9]);
    }

    #[test]
    fn a_change_of_shares_changes_the_directory() {
        let mut shares = shares([(1, Rules::default(), true)]);
        let before = attributes(&shares, 0).change;
        assert!(shares.withdraw(1, Timestamp::default()));
        assert!(attributes(&shares, 0).change > before);
        assert_eq!(attributes(&shares, 3).links, 5);
    }
}
