//! The list of mounts, for DUMP. It is only information: a client that is not in it is served all the
//! same, and nothing of it outlives a restart.

use bytes::Bytes;
use std::collections::VecDeque;
use std::net::IpAddr;

/// Longest list; new mounts take the place of the oldest. What the list contains fits into one reply.
pub(super) const MOST_BYTES: usize = 512 << 10;
/// Length of a mount besides its path: address, and numbers of the list.
const MOUNT_BYTES: usize = 64;

/// Mounted directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    /// Address of the client.
    pub client: IpAddr,
    /// Object of the share.
    pub object: u64,
    /// Path.
    pub path: Bytes,
}

/// The list of mounts.
#[derive(Debug, Default)]
pub(crate) struct Mounts {
    list: VecDeque<Mounted>,
    bytes: usize,
}

impl Mounted {
    fn bytes(&self) -> usize {
        MOUNT_BYTES + self.path.len()
    }
}

impl Mounts {
    /// Adds a mount as the newest.
    pub(super) fn add(&mut self, mounted: Mounted) {
        self.retain(|other| *other != mounted);
        self.bytes += mounted.bytes();
        self.list.push_back(mounted);
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.list.pop_front()
        {
            self.bytes -= oldest.bytes();
        }
    }

    /// Removes a mount of a client.
    pub(super) fn remove(&mut self, client: IpAddr, path: &[u8]) {
        self.retain(|mounted| mounted.client != client || *mounted.path != *path);
    }

    /// Removes all mounts of a client.
    pub(super) fn remove_all(&mut self, client: IpAddr) {
        self.retain(|mounted| mounted.client != client);
    }

    /// All mounts, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Mounted> {
        self.list.iter()
    }

    fn retain(&mut self, keep: impl Fn(&Mounted) -> bool) {
        self.list.retain(keep);
        self.bytes = self.list.iter().map(Mounted::bytes).sum();
    }
}
