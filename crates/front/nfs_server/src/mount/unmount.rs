//! UMNT and UMNTALL, RFC 1813 appendix I §5.2.3 and §5.2.4. Both succeed whatever was mounted.

use super::mounts::Mounts;
use super::path;
use nfs::mount::Path;
use std::cell::RefCell;
use std::net::IpAddr;

/// Removes a mount of the client from the list.
pub(super) fn one(mounts: &RefCell<Mounts>, client: IpAddr, path: &Path) {
    if let Ok(names) = path::components(path) {
        mounts.borrow_mut().remove(client, &path::normal(&names));
    }
}

/// Removes all mounts of the client from the list.
pub(super) fn all(mounts: &RefCell<Mounts>, client: IpAddr) {
    mounts.borrow_mut().remove_all(client);
}
