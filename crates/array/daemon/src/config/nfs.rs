//! Section `[nfs]`: the NFS server, which a listen address starts.

use super::file::Nfs;
use super::wrong;
use crate::ServeError;
use nfs_state::{MAX_LEASE, MIN_LEASE};
use std::net::SocketAddr;
use std::time::Duration;

/// Default lease.
const DEFAULT_LEASE_SECONDS: u64 = 30;
/// Default number of clients of NFSv4.
const DEFAULT_CLIENTS: u32 = 4096;
/// Largest number of clients of NFSv4, which their ids have room for.
const MAX_CLIENTS: u32 = 1 << 16;
/// Default memory of kept replies.
const DEFAULT_REPLAY_BYTES: u64 = 32 << 20;
/// Memory of kept replies: at least and at most.
const REPLAY_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// Configuration of the NFS server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NfsConfiguration {
    /// Addresses to listen on; without one, NFS is not served.
    pub listen: Vec<SocketAddr>,
    /// Versions of the protocol.
    pub versions: NfsVersions,
    /// True if portmap and rpcbind are served, on the same addresses.
    pub portmap: bool,
    /// Lease of clients of NFSv4.
    pub lease: Duration,
    /// Most clients of NFSv4.
    pub max_clients: u32,
    /// Memory of the replies that sessions of NFSv4 keep.
    pub replay_memory_bytes: u64,
}

/// Versions of NFS that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NfsVersions {
    /// NFSv3 with MOUNT.
    pub v3: bool,
    /// NFSv4.1 and 4.2.
    pub v4: bool,
}

impl Default for NfsConfiguration {
    /// Built-in values: NFS is not served.
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            versions: NfsVersions { v3: true, v4: true },
            portmap: false,
            lease: Duration::from_secs(DEFAULT_LEASE_SECONDS),
            max_clients: DEFAULT_CLIENTS,
            replay_memory_bytes: DEFAULT_REPLAY_BYTES,
        }
    }
}

impl NfsConfiguration {
    /// Merges options over the section over the built-in values.
    pub(super) fn merge(listen: &[SocketAddr], section: Nfs) -> Result<Self, ServeError> {
        let listen = match (listen.is_empty(), section.listen) {
            (false, _) => listen.to_vec(),
            (true, listen) => listen.unwrap_or_default().into_iter().map(|address| address.0).collect(),
        };
        let built_in = Self::default();
        let configuration = Self {
            listen,
            versions: section.versions.map_or(Ok(built_in.versions), |names| versions(&names))?,
            portmap: section.portmap.unwrap_or(built_in.portmap),
            lease: section.lease_seconds.map_or(built_in.lease, Duration::from_secs),
            max_clients: section.max_clients.unwrap_or(built_in.max_clients),
            replay_memory_bytes: section.replay_memory.map_or(built_in.replay_memory_bytes, |size| size.0),
        };
        configuration.check()?;
        Ok(configuration)
    }

    fn check(&self) -> Result<(), ServeError> {
        if !(MIN_LEASE..=MAX_LEASE).contains(&self.lease) {
            let (given, [least, most]) = (self.lease.as_secs(), [MIN_LEASE, MAX_LEASE].map(|lease| lease.as_secs()));
            return Err(wrong(format!("[nfs] lease_seconds = {given}: a lease has {least} to {most} seconds")));
        }
        if !(1..=MAX_CLIENTS).contains(&self.max_clients) {
            return Err(wrong(format!("[nfs] max_clients = {}: 1 to {MAX_CLIENTS}", self.max_clients)));
        }
        if !REPLAY_BYTES.contains(&self.replay_memory_bytes) {
            let [least, most] = [*REPLAY_BYTES.start(), *REPLAY_BYTES.end()].map(api::size::format);
            return Err(wrong(format!("[nfs] replay_memory: {least} to {most}")));
        }
        Ok(())
    }

    /// Returns the configuration as a section; `None` if NFS is not served.
    pub(super) fn to_section(&self) -> Option<Nfs> {
        let named =
            |served: bool, names: &[&str]| names.iter().filter(|_| served).map(|name| (*name).to_owned()).collect();
        let [v3, v4]: [Vec<String>; 2] = [named(self.versions.v3, &["3"]), named(self.versions.v4, &["4.1", "4.2"])];
        (!self.listen.is_empty()).then(|| Nfs {
            listen: Some(self.listen.iter().copied().map(super::file::PortalAddress).collect()),
            versions: Some([v3, v4].concat()),
            portmap: Some(self.portmap),
            lease_seconds: Some(self.lease.as_secs()),
            max_clients: Some(self.max_clients),
            replay_memory: Some(super::file::Size(self.replay_memory_bytes)),
        })
    }
}

/// Reads names of versions. 4.1 and 4.2 are one server: a host chooses.
fn versions(names: &[String]) -> Result<NfsVersions, ServeError> {
    let has = |name| names.iter().any(|given| given == name);
    if let Some(other) = names.iter().find(|name| !["3", "4.1", "4.2"].contains(&name.as_str())) {
        return Err(wrong(format!("[nfs] versions: {other:?} is none of \"3\", \"4.1\" and \"4.2\"")));
    }
    if has("4.1") != has("4.2") {
        return Err(wrong("[nfs] versions: \"4.1\" and \"4.2\" are served together or not at all".to_owned()));
    }
    match (has("3"), has("4.2")) {
        (false, false) => Err(wrong("[nfs] versions is empty: name \"3\", or \"4.1\" and \"4.2\"".to_owned())),
        (v3, v4) => Ok(NfsVersions { v3, v4 }),
    }
}
